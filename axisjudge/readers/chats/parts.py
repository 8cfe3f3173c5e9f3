"""The parts of a message's content, whoever's words they are in: text, thinking, calls, and what came back."""

from typing import Any, Literal, NamedTuple

from axisjudge.readers.chats.records import list_of_objects
from axisjudge.readers.events import ENCRYPTED, Steps, as_text, dict_of, text_at, type_of
from axisjudge.readers.messages import (
    Note,
    Unread,
    arguments_of,
    at,
    carries_call,
    chat_calls,
    field,
    left_out,
    made,
    refuse_unread,
    role_of,
    word,
)
from axisjudge.trajectory import Role, ToolCall

_TEXTS = {"text", "input_text", "output_text"}
_CALLS = {
    *("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "invalid_tool_call"),
    *("server_tool_call", "tool-call"),
}
_RESULTS = {"tool_result", "server_tool_result", "tool-result", "tool_call_response", "server_tool_call_response"}
#: Results of Anthropic's own tools: ``web_search_tool_result``, ``mcp_tool_result``, ...
_RESULT_ENDING = "_tool_result"
#: Where a result stands in its part, or beside the call in the call's own part.
_HELD = ("content", "output", "result", "response", "server_tool_call_response")
_MESSAGE = ("role", "content", "tool_calls", "function_call", "tool_call_id", "tool_name", "tool_responses")


class MessagePart(NamedTuple):
    """A part of a message; a result has its text, the id and name of its call, and whether it failed."""

    kind: Literal["text", "thinking", "call", "result"]
    text: str = ""
    call: ToolCall | None = None
    id: str | None = None
    name: str | None = None
    error: bool | None = None


def names_part_of_call(part: dict[str, Any]) -> bool:
    """Whether a part is one of Anthropic's blocks that calls a tool or holds what came back."""
    kind = type_of(part)
    return kind in ("tool_use", "server_tool_use", "mcp_tool_use", "tool_result") or (kind.endswith(_RESULT_ENDING))


def parts_of(content: Any, where: str, notes: list[Note]) -> list[MessagePart]:
    """The parts of a message's content: text, null, one part, or a list of parts and texts.

    Raises
    ------
    InputError
        At a part that may carry a call or a result and is of no known kind, or whose call has no name.
    """
    if content is None or isinstance(content, str):
        return [MessagePart("text", content)] if content else []
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        raise Unread(where, content)
    parts: list[MessagePart] = []
    for number, record in enumerate(content):
        place = at(where, number)
        part = part_of(record, place, notes)
        parts += [] if part is None else [part]
        if part and part.call and any(record.get(key) is not None for key in _HELD):
            parts.append(_result(record, place, notes)._replace(id=part.call.id, name=part.call.name))
    return parts


def part_of(part: Any, where: str, notes: list[Note]) -> MessagePart | None:
    """One part of a content; None where it holds nothing to read."""
    if isinstance(part, str):
        return MessagePart("text", part)
    if not isinstance(part, dict):
        raise Unread(where, part)
    kind = type_of(part)
    if kind in _TEXTS or ("type" not in part and isinstance(part.get("text"), str) and not carries_call(part, depth=1)):
        return MessagePart("text", field(part, "text" if "text" in part else "content", str, where))
    if kind == "refusal":
        return MessagePart("text", field(part, "refusal", str, where))
    if kind in ("thinking", "reasoning", "redacted_thinking"):
        return _thinking(part, where, notes)
    if kind in _CALLS:
        return MessagePart("call", call=_call(part, where))
    if kind in _RESULTS or (kind.endswith(_RESULT_ENDING)):
        return _result(part, where, notes)
    if carries_call(part):
        raise Unread(where, part)
    return MessagePart("text", left_out(kind, where, notes))


def _thinking(part: dict[str, Any], where: str, notes: list[Note]) -> MessagePart | None:
    entries = [*list_of_objects(part.get("summary")), *list_of_objects(part.get("thinking"))]
    texts = (text_at(entry, "text") for entry in entries)
    text = text_at(part, "thinking", "reasoning", "text", "content") or "\n".join(filter(None, texts))
    if not text:
        notes.append(Note(where, ENCRYPTED, str(part.get("type"))))
    return MessagePart("thinking", text) if text else None


def _call(part: dict[str, Any], where: str) -> ToolCall:
    given = next((part[key] for key in ("input", "args", "arguments", "server_tool_call") if key in part), None)
    arguments, problem = arguments_of(given)
    name = text_at(part, "name", "toolName")
    if name is None:
        raise Unread(at(where, "name"), part)
    if server := text_at(part, "server_name"):
        name = f"mcp__{server}__{name}"
    if part["type"] == "invalid_tool_call":
        problem = text_at(part, "error") or problem
    return made(
        ToolCall,
        where,
        id=word(part.get("id") or part.get("toolCallId")),
        name=name,
        arguments=arguments if problem is None else as_text(given),
        arguments_error=problem,
    )


def _result(part: dict[str, Any], where: str, notes: list[Note]) -> MessagePart:
    content = next((part[key] for key in _HELD if part.get(key) is not None), None)
    failed = part.get("is_error", part.get("isError")) is True or part.get("status") == "error" or _failed(content)
    name = text_at(part, "toolName")
    names = ("tool_use_id", "tool_call_id", "toolCallId", *(["id"] if type_of(part).endswith("_response") else []))
    identity = next((word(part[key]) for key in names if part.get(key)), None)
    return MessagePart("result", result_text(content, where, notes), id=identity, name=name, error=failed)


def _failed(content: Any) -> bool:
    """Whether the content of a provider's own tool is an error, or that of a program which ended with one."""
    inner = content if isinstance(content, dict) else {}
    kind = str(inner.get("type"))
    code = inner.get("return_code")
    return kind.endswith(("_error", "error-text", "error-json")) or (type(code) is int and code != 0)


def result_text(content: Any, where: str, notes: list[Note]) -> str:
    """What a tool gave back as text: texts joined, pictures and documents marked as such, anything else as JSON."""
    if isinstance(content, list) and content and all(isinstance(part, str | dict) for part in content):
        return "\n".join(_shown_part(part, where, notes) for part in content)
    if isinstance(content, dict) and isinstance(content.get("value"), str):  # AI SDK: {type: text, value}
        return str(content["value"])
    return as_text(content)


def _shown_part(part: Any, where: str, notes: list[Note]) -> str:
    if isinstance(part, str):
        return part
    kind = str(part.get("type"))
    if kind in _TEXTS and isinstance(part.get("text"), str):
        return str(part["text"])
    if kind in ("image", "document", "image_url", "input_image", "input_file", "file", "audio", "media", "video"):
        return left_out(kind, where, notes)
    return as_text(part)


def grow(steps: Steps, role: Role, parts: list[MessagePart], message: str, timestamp: str | None = None) -> None:
    """Add the parts of one message; what stands between two results is one step."""
    for part in parts:
        if part.kind == "text":
            steps.text(role, part.text, timestamp, message=message)
        elif part.kind == "thinking":
            steps.thinking(part.text, timestamp)
        elif part.call:
            steps.call(part.call, timestamp, message=message)
        else:
            steps.result(part.id, part.text, timestamp, error=part.error, name=part.name)


def add_message(steps: Steps, message: dict[str, Any], where: str, *, role: Role | None = None) -> None:
    """Add a message with a role: its content, and calls or results that stand beside the content.

    Calls that stand both in the content and beside it count once, by their ids.
    """
    steps.where = where
    refuse_unread(message, where, _MESSAGE)
    role = role or role_of(message, where)
    timestamp = word(message.get("timestamp"))
    if role == "tool" and not _holds_results(message.get("content")):
        _answer(steps, message, where, timestamp)
        return
    parts = parts_of(message.get("content"), at(where, "content"), steps.notes)
    known = {part.call.id for part in parts if part.call and part.call.id}
    asked = chat_calls(message, "user" if role == "user" else "assistant", where)
    parts += [MessagePart("call", call=call) for call in asked if call.id is None or call.id not in known]
    if not parts and not message.get("content"):
        parts = [MessagePart("text", word(message.get("refusal")) or "")]
    grow(steps, role, parts, where, timestamp)


def _holds_results(content: Any) -> bool:
    """Whether a tool's message holds parts that say themselves which call they answer."""
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and type_of(part) in _RESULTS for part in parts)


def _answer(steps: Steps, message: dict[str, Any], where: str, timestamp: str | None) -> None:
    """A tool's message: one result, or those of several calls in ``tool_responses``."""
    answers = message.get("tool_responses") or [message]
    for answer in answers if isinstance(answers, list) else [answers]:
        if not isinstance(answer, dict):
            raise Unread(where, answer)
        stated = answer.get("error", answer.get("is_error"))
        named = dict_of(answer, "function").get("name") or answer.get("tool_name")
        if message.get("role") == "function":
            named = answer.get("name")
        steps.result(
            word(answer.get("tool_call_id")),
            result_text(answer.get("content"), at(where, "content"), steps.notes),
            timestamp,
            error=stated if isinstance(stated, bool) else None,
            name=word(named),
        )
