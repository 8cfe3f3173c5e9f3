"""What spans tell by OpenInference's attributes (``openinference.span.kind``, ``llm.*``, ``message.*``, ``tool.*``).

Who writes them: the instrumentations of OpenInference, and Phoenix and Arize, which keep them.
Source: https://github.com/Arize-ai/openinference (spec/llm_spans.md, spec/tool_calling.md,
python/openinference-semantic-conventions).
"""

from ast import literal_eval
from typing import Any

from axisjudge.readers.events import as_text, dict_of, json_of, listed, text_at
from axisjudge.readers.trace_spans import Piece, Span, flat, numbered, pieces_of, plain

FORMAT = "openinference"
KIND = "openinference.span.kind"


def recognise(span: Span) -> bool:
    """Whether a span states its kind in OpenInference's way."""
    return isinstance(flat(span.attributes).get(KIND), str)


def model_of(span: Span) -> str | None:
    """The model that answered, else the one that was asked."""
    return text_at(flat(span.attributes), "llm.response.model_name", "llm.model_name", "llm.request.model_name")


def pieces_before(span: Span) -> list[Piece]:
    """What a model call was given: its messages so far; where there are none, its plain input."""
    attributes = flat(span.attributes)
    if attributes.get(KIND) != "LLM":
        return []
    return _pieces(attributes, "llm.input_messages") or _plain(attributes.get("input.value"), "user")


def pieces_after(span: Span) -> list[Piece]:
    """What a model call gave back."""
    attributes = flat(span.attributes)
    if attributes.get(KIND) != "LLM":
        return []
    stated = _pieces(attributes, "llm.output_messages")
    return stated or ([] if span.failed else _plain(attributes.get("output.value"), "assistant"))


def tool_piece(span: Span) -> Piece | None:
    """The call that a tool's span stands for, its text what came back; None for any other span."""
    attributes = flat(span.attributes)
    if attributes.get(KIND) != "TOOL":
        return None
    result = json_of(attributes.get("output.value"))
    message = result if isinstance(result, dict) and "tool_call_id" in result else {}
    identity = text_at(message, "tool_call_id") or text_at(attributes, "tool_call.id", "tool.id")
    text = plain(message["content"]) if "content" in message else as_text(attributes.get("output.value"))
    given = arguments_in(attributes.get("input.value"))
    return Piece("call", text=text, id=identity, name=text_at(attributes, "tool.name") or span.name, given=given)


def arguments_in(value: Any) -> Any:
    """The arguments that a tool's run was given: as JSON, or as Python shows an object."""
    if isinstance(value, str) and value.lstrip().startswith("{") and isinstance(json_of(value), str):
        try:
            return literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value
    return value


def tools_offered(span: Span) -> list[dict[str, Any]]:
    """The definitions of the tools that a model call offers."""
    offered = (
        json_of(dict_of(record, "tool").get("json_schema")) for record in numbered(flat(span.attributes), "llm.tools")
    )
    return [record for record in offered if isinstance(record, dict)]


def _pieces(attributes: dict[str, Any], prefix: str) -> list[Piece]:
    return pieces_of([_message(dict_of(record, "message")) for record in numbered(attributes, prefix)])


def _message(stated: dict[str, Any]) -> dict[str, Any]:
    """A message of OpenInference as the message of a chat."""
    message = {"role": stated.get("role"), "content": stated.get("content"), "name": stated.get("name")}
    if "tool_call_id" in stated:  # Anthropic's results come back in a message of the user
        return message | {"role": "tool", "tool_call_id": stated["tool_call_id"]}
    if parts := [_part(part) for part in listed(stated.get("contents")) if isinstance(part, dict)]:
        text = stated.get("content")
        written = any(part.get("type") == "text" for part in parts)
        message["content"] = parts if written or not text else [{"type": "text", "text": text}, *parts]
    calls = [dict_of(call, "tool_call") for call in listed(stated.get("tool_calls")) if isinstance(call, dict)]
    old = {"name": stated.get("function_call_name"), "arguments": stated.get("function_call_arguments_json")}
    return message | {"tool_calls": calls, "function_call": old if any(old.values()) else None}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    call, stated = dict_of(part, "tool_call"), dict_of(part, "message_content")
    if call:
        return {"type": "tool_use", "id": call.get("id"), **dict_of(call, "function")}
    return {
        "type": stated.get("type"),
        "text": text_at(stated, "text") or text_at(dict_of(stated, "audio"), "transcript"),
    }


def _plain(value: Any, role: str) -> list[Piece]:
    """The pieces of a plain input or output: the messages in it, else its text."""
    stated = json_of(value)
    if isinstance(stated, dict) and isinstance(messages := stated.get("messages"), list):
        return pieces_of(messages)
    return pieces_of([{"role": role, "content": as_text(value)}]) if value else []
