"""What spans tell by the ``gen_ai.*`` attributes of OpenTelemetry, older and newer, and by those of three vendors.

Source: https://github.com/open-telemetry/semantic-conventions-genai, traceloop/openllmetry, google/adk-python,
vercel/ai (packages/ai/src/generate-text, its attributes ``ai.*``).
"""

from collections.abc import Iterator
from typing import Any

from axisjudge.readers.events import as_text, dict_of, json_of, listed, text_at
from axisjudge.readers.trace_spans import Piece, Span, numbered, pieces_of

#: What a call of a tool was given and gave back, by OpenTelemetry, Google, Traceloop and Vercel.
_ARGUMENTS, _RESULTS = zip(
    ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
    ("gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response"),
    ("traceloop.entity.input", "traceloop.entity.output"),
    ("ai.toolCall.args", "ai.toolCall.result"),
    strict=True,
)
_REQUEST, _RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
_INSIDE = "gen_ai.client.inference.operation.details"


def tools_offered(span: Span) -> list[dict[str, Any]]:
    """The definitions of the tools that a model call offers."""
    functions = numbered(span.attributes, "llm.request.functions")
    defined = listed(json_of(span.attributes.get("gen_ai.tool.definitions")))
    offered = [record for record in (*functions, *defined) if isinstance(record, dict)]
    return [{**record, "parameters": json_of(record.get("parameters"))} for record in offered]


def pieces_before(span: Span) -> list[Piece]:
    """What a model call was given: its messages so far."""
    attributes = _with_details(span)
    pieces = [Piece("text", "system", text) for text in _texts(attributes.get("gen_ai.system_instructions"))]
    pieces += pieces_of(numbered(attributes, "gen_ai.prompt"))
    for key in ("gen_ai.input.messages", "ai.prompt.messages", "pydantic_ai.all_messages"):
        pieces += pieces_of(listed(json_of(attributes.get(key))))
    if isinstance(request := json_of(attributes.get(_REQUEST)), dict):
        instructions = dict_of(request, "config").get("system_instruction")
        pieces += [Piece("text", "system", text) for text in _texts(instructions)]
        pieces += pieces_of(listed(request.get("contents")))
    for name, event in span.events:
        if name.startswith("gen_ai.") and name.endswith(".message"):
            role = name.removeprefix("gen_ai.").removesuffix(".message")
            pieces += pieces_of([{"role": role, **event}])
        elif name == "gen_ai.content.prompt":
            pieces += pieces_of(listed(json_of(event.get("gen_ai.prompt"))))
    return pieces


def pieces_after(span: Span) -> list[Piece]:
    """What a model call gave back."""
    attributes = _with_details(span)
    pieces = pieces_of(numbered(attributes, "gen_ai.completion"))
    pieces += pieces_of(listed(json_of(attributes.get("gen_ai.output.messages"))))
    pieces += _of_ai_sdk(attributes)
    if isinstance(response := json_of(attributes.get(_RESPONSE)), dict):
        pieces += pieces_of(listed(response.get("content")))
    for name, event in span.events:
        if name == "gen_ai.choice":
            message = json_of(event.get("message"))
            pieces += pieces_of([{"role": "assistant", **(message if isinstance(message, dict) else event)}])
        elif name == "gen_ai.content.completion":
            pieces += pieces_of(listed(json_of(event.get("gen_ai.completion"))))
    return pieces


def tool_piece(span: Span) -> Piece | None:
    """The call that a tool's span stands for, its text what came back; None for any other span."""
    attributes = span.attributes
    is_tool = (
        attributes.get("gen_ai.operation.name") == "execute_tool"
        or "gen_ai.tool.name" in attributes
        or "ai.toolCall.name" in attributes
        or attributes.get("traceloop.span.kind") == "tool"
    )
    if not is_tool:
        return None
    name = text_at(attributes, "gen_ai.tool.name", "ai.toolCall.name", "traceloop.entity.name")
    given = next((attributes[key] for key in _ARGUMENTS if attributes.get(key) is not None), None)
    result = next((attributes[key] for key in _RESULTS if attributes.get(key) is not None), None)
    return Piece(
        "call",
        text=as_text(result),
        id=text_at(attributes, "gen_ai.tool.call.id", "ai.toolCall.id"),
        name=name or span.name.removeprefix("execute_tool "),
        given=given,
    )


def _of_ai_sdk(attributes: dict[str, Any]) -> list[Piece]:
    calls = [call for call in listed(json_of(attributes.get("ai.response.toolCalls"))) if isinstance(call, dict)]
    text = text_at(attributes, "ai.response.text")
    parts = [{"type": "text", "text": text}] if text else []
    parts += [{**call, "type": "tool-call"} for call in calls]
    return pieces_of([{"role": "assistant", "parts": parts}] if parts else [])


def _with_details(span: Span) -> dict[str, Any]:
    """The attributes of a span with those of the event that newer libraries put the messages into."""
    details = [event for name, event in span.events if name == _INSIDE]
    return {key: value for record in (span.attributes, *details) for key, value in record.items()}


def _texts(instructions: Any) -> Iterator[str]:
    for part in listed(json_of(instructions)):
        text = part if isinstance(part, str) else text_at(part, "content", "text") if isinstance(part, dict) else None
        if text:
            yield text
