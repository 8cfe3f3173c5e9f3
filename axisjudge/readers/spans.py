"""Spans of OpenTelemetry traces, from Jaeger's and OTLP's JSON, and the pieces of conversation that they carry."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic_core import from_json

from axisjudge.readers.events import WRONG_SHAPE, Tally, dict_of, shown, text_at
from axisjudge.readers.messages import arguments_of, made
from axisjudge.trajectory import Role, ToolCall

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "tool": "tool",
}
_ARGUMENTS = ("gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "traceloop.entity.input")
_RESULTS = ("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "traceloop.entity.output")
_REQUEST, _RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
_INSIDE = "gen_ai.client.inference.operation.details"


class Span(NamedTuple):
    """A span: times in nanoseconds since 1970, attributes and events with their values as plain JSON."""

    trace: str
    id: str
    parent: str | None
    name: str
    start: int
    end: int
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    failed: bool
    problem: str

    def tools(self) -> list[dict[str, Any]]:
        """The definitions of the tools that a model call offers."""
        functions = numbered(self.attributes, "llm.request.functions")
        defined = listed(json_of(self.attributes.get("gen_ai.tool.definitions")))
        offered = [record for record in (*functions, *defined) if isinstance(record, dict)]
        return [{**record, "parameters": json_of(record.get("parameters"))} for record in offered]


class Piece(NamedTuple):
    """A piece of conversation: ``text``, ``thinking``, ``call`` or ``result``."""

    kind: str
    role: Role = "assistant"
    text: str = ""
    id: str | None = None
    name: str | None = None
    given: Any = None

    @property
    def key(self) -> str:
        """Equal for two records of the same piece: calls and results that have an id go by it."""
        if self.id:
            return f"{self.kind} {self.id}"
        return json.dumps([self.kind, self.role, self.text, self.name, shown(self.given)])

    def call(self) -> ToolCall:
        arguments, problem = arguments_of(self.given)
        return made(ToolCall, "", id=self.id, name=self.name or "unknown", arguments=arguments, arguments_error=problem)


def pieces_before(span: Span) -> list[Piece]:
    """What a model call was given: its messages so far."""
    attributes = _with_details(span)
    pieces = [Piece("text", "system", text) for text in _texts(attributes.get("gen_ai.system_instructions"))]
    pieces += _pieces(numbered(attributes, "gen_ai.prompt"))
    pieces += _pieces(listed(json_of(attributes.get("gen_ai.input.messages"))))
    if isinstance(request := json_of(attributes.get(_REQUEST)), dict):
        pieces += [
            Piece("text", "system", text) for text in _texts(dict_of(request, "config").get("system_instruction"))
        ]
        pieces += _pieces(listed(request.get("contents")))
    for name, event in span.events:
        if name.startswith("gen_ai.") and name.endswith(".message"):
            role = name.removeprefix("gen_ai.").removesuffix(".message")
            pieces += _pieces([{"role": role, **event}])
        elif name == "gen_ai.content.prompt":
            pieces += _pieces(listed(json_of(event.get("gen_ai.prompt"))))
    return pieces


def pieces_after(span: Span) -> list[Piece]:
    """What a model call gave back."""
    attributes = _with_details(span)
    pieces = _pieces(numbered(attributes, "gen_ai.completion"))
    pieces += _pieces(listed(json_of(attributes.get("gen_ai.output.messages"))))
    if isinstance(response := json_of(attributes.get(_RESPONSE)), dict):
        pieces += _pieces(listed(response.get("content")))
    for name, event in span.events:
        if name == "gen_ai.choice":
            message = json_of(event.get("message"))
            pieces += _pieces([{"role": "assistant", **(message if isinstance(message, dict) else event)}])
        elif name == "gen_ai.content.completion":
            pieces += _pieces(listed(json_of(event.get("gen_ai.completion"))))
    return pieces


def tool_piece(span: Span) -> Piece | None:
    """The call that a tool's span stands for, its text what came back; None for any other span."""
    attributes = span.attributes
    is_tool = (
        attributes.get("gen_ai.operation.name") == "execute_tool"
        or "gen_ai.tool.name" in attributes
        or attributes.get("traceloop.span.kind") == "tool"
    )
    if not is_tool:
        return None
    name = text_at(attributes, "gen_ai.tool.name", "traceloop.entity.name") or span.name.removeprefix("execute_tool ")
    given = next((attributes[key] for key in _ARGUMENTS if attributes.get(key) is not None), None)
    result = next((attributes[key] for key in _RESULTS if attributes.get(key) is not None), None)
    return Piece("call", text=shown(result), id=text_at(attributes, "gen_ai.tool.call.id"), name=name, given=given)


def _with_details(span: Span) -> dict[str, Any]:
    """The attributes of a span with those of the event that newer libraries put the messages into."""
    details = [event for name, event in span.events if name == _INSIDE]
    return {key: value for record in (span.attributes, *details) for key, value in record.items()}


def _texts(instructions: Any) -> Iterator[str]:
    for part in listed(json_of(instructions)):
        text = part if isinstance(part, str) else text_at(part, "content", "text") if isinstance(part, dict) else None
        if text:
            yield text


def _pieces(messages: list[Any]) -> list[Piece]:
    return [piece for message in messages if isinstance(message, dict) for piece in _of_message(message)]


def _of_message(message: dict[str, Any]) -> Iterator[Piece]:
    role = _ROLES.get(str(message.get("role")), "assistant")
    content = json_of(message.get("content")) if str(message.get("content"))[:2] == "[{" else message.get("content")
    parts = message.get("parts", content)
    if role == "tool" and not isinstance(message.get("parts"), list):
        yield Piece("result", "tool", _plain(content), text_at(message, "tool_call_id", "id"), text_at(message, "name"))
        return
    for part in parts if isinstance(parts, list) else [parts]:
        yield from _of_part(part, role)
    for record in listed(json_of(message.get("tool_calls"))):
        if isinstance(record, dict):
            inner = dict_of(record, "function") or record
            given = inner.get("arguments")
            yield Piece("call", id=text_at(record, "id"), name=text_at(inner, "name"), given=given)


def _of_part(part: Any, role: Role) -> Iterator[Piece]:
    if not isinstance(part, dict):
        if part:
            yield Piece("text", role, shown(part))
        return
    kind = part.get("type")
    if kind in ("tool_call", "tool_use"):
        given = part.get("arguments", part.get("input"))
        yield Piece("call", id=text_at(part, "id"), name=text_at(part, "name"), given=given)
    elif kind in ("tool_call_response", "tool_result"):
        response = next((part[key] for key in ("response", "result", "content") if key in part), None)
        yield Piece("result", "tool", _plain(response), text_at(part, "id", "tool_use_id"))
    elif asked := dict_of(part, "function_call"):
        yield Piece("call", id=text_at(asked, "id"), name=text_at(asked, "name"), given=asked.get("args"))
    elif told := dict_of(part, "function_response"):
        yield Piece("result", "tool", _plain(told.get("response")), text_at(told, "id"), text_at(told, "name"))
    elif kind in ("reasoning", "thinking") or part.get("thought") is True:
        yield Piece("thinking", text=text_at(part, "content", "text", "thinking") or "")
    else:
        yield Piece("text", role, text_at(part, "content", "text") or f"[{kind}]")


def _plain(content: Any) -> str:
    """A tool's content as text: typed parts give their texts, anything else is shown as it is."""
    if isinstance(content, dict) and isinstance(content.get("content"), list):
        return _plain(content["content"])
    if isinstance(content, list) and content and all(isinstance(part, dict) and "text" in part for part in content):
        return "\n".join(shown(part["text"]) for part in content)
    return shown(content)


def numbered(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The records that ``prefix.0.role``, ``prefix.0.tool_calls.0.name``, ``prefix.1.role`` stand for, in order."""
    whole: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(f"{prefix}."):
            continue
        *path, last = key.removeprefix(f"{prefix}.").split(".")
        place = whole
        for name in path:
            inner = place.setdefault(name, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[last] = value
    return [record for record in _in_order(whole) if isinstance(record, dict)]


def _in_order(value: Any) -> Any:
    """Objects whose names are all numbers as lists, in the order of the numbers."""
    if not isinstance(value, dict):
        return value
    inner = {name: _in_order(member) for name, member in value.items()}
    if inner and all(name.isdecimal() for name in inner):
        return [inner[name] for name in sorted(inner, key=int)]
    return inner


def json_of(value: Any) -> Any:
    """What JSON text stands for; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return from_json(value)
        except ValueError:
            return value
    return value


def listed(value: Any) -> list[Any]:
    """A list as it is, nothing for null, anything else as a list of one."""
    if isinstance(value, list):
        return value
    decoded = json_of(value)
    return decoded if isinstance(decoded, list) else [] if value is None else [value]


def spans_of(value: dict[str, Any], position: str, tally: Tally) -> Iterator[Span]:
    """All spans of an export; one without ids or times is counted and left out."""
    for make, record in _records(value):
        try:
            yield make(record)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            tally.add(WRONG_SHAPE, "a span without its ids, times or attributes", position)


def _records(value: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    if "data" in value:
        yield from ((_jaeger, span) for trace in listed(value["data"]) for span in _members(trace, "spans"))
        return
    inner = dict_of(value, "trace") or value
    for batch in (*_members(inner, "resourceSpans"), *_members(inner, "batches")):
        for scope in (*_members(batch, "scopeSpans"), *_members(batch, "instrumentationLibrarySpans")):
            yield from ((_otlp, span) for span in _members(scope, "spans"))


def _members(record: Any, key: str) -> list[Any]:
    members = record.get(key) if isinstance(record, dict) else None
    return members if isinstance(members, list) else []


def _jaeger(span: dict[str, Any]) -> Span:
    attributes = {str(tag["key"]): tag["value"] for tag in span.get("tags") or []}
    events = [{str(field["key"]): field["value"] for field in log["fields"]} for log in span.get("logs") or []]
    references = [link["spanID"] for link in span.get("references") or [] if link.get("refType") == "CHILD_OF"]
    start = int(span["startTime"]) * 1000
    return Span(
        trace=str(span["traceID"]),
        id=str(span["spanID"]),
        parent=str(references[0]) if references else None,
        name=str(span.get("operationName")),
        start=start,
        end=start + int(span["duration"]) * 1000,
        attributes=attributes,
        events=[(str(event.get("event")), event) for event in events],
        failed=attributes.get("error") is True or attributes.get("otel.status_code") == "ERROR",
        problem=str(attributes.get("otel.status_description") or ""),
    )


def _otlp(span: dict[str, Any]) -> Span:
    status = span.get("status") or {}
    return Span(
        trace=str(span["traceId"]),
        id=str(span["spanId"]),
        parent=text_at(span, "parentSpanId"),
        name=str(span.get("name")),
        start=int(span["startTimeUnixNano"]),
        end=int(span["endTimeUnixNano"]),
        attributes=_attributes(span),
        events=[(str(event.get("name")), _attributes(event)) for event in span.get("events") or []],
        failed=status.get("code") in (2, "STATUS_CODE_ERROR"),
        problem=str(status.get("message") or ""),
    )


def _attributes(record: dict[str, Any]) -> dict[str, Any]:
    return {str(attribute["key"]): _value(attribute.get("value")) for attribute in record.get("attributes") or []}


def _value(value: Any) -> Any:
    """The plain value of OTLP's ``{"stringValue": ...}`` and its like."""
    if not isinstance(value, dict) or not value:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "arrayValue":
        return [_value(member) for member in inner.get("values") or []]
    if kind == "kvlistValue":
        return {member["key"]: _value(member.get("value")) for member in inner.get("values") or []}
    return int(inner) if kind == "intValue" else inner
