"""Anthropic's Messages API: requests (``messages``, ``system``, ``tools``), responses, batch files, lists of messages.

Who writes it: programs that keep what they send to and get from the API, its SDKs, and the Message Batches API
(``{custom_id, params}`` for requests, ``{custom_id, result}`` for results). Schema:
https://docs.anthropic.com/en/api/messages and https://docs.anthropic.com/en/api/creating-message-batches; block types
are those of the ``anthropic`` package, ``ContentBlock`` and ``BetaContentBlock``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers.chats.parts import (
    Conversation,
    Exchange,
    add_message,
    exchange,
    is_record_or_list,
    list_of_objects,
    names_part_of_call,
    records_in,
    schemas,
)
from axisjudge.readers.events import as_text, type_of
from axisjudge.readers.messages import Found, Note, at, members, objects, text_of, word
from axisjudge.trajectory import ToolSchema

FORMAT = "anthropic_messages"
_ENDINGS = ("succeeded", "errored", "canceled", "expired")


def recognise(value: Any) -> bool:
    """Whether the JSON value holds messages with Anthropic's blocks, a request or response of the API, or a batch."""
    return _is_messages(value) or is_record_or_list(value, _is_record)


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The conversations of a file; a response that the record holds follows its request."""
    if _is_messages(value):
        value = {"messages": value}
        yield _conversation(Exchange(value, {}, value, where), where, where)
        return
    for place, record in records_in(value, where):
        if not _is_record(record) and "messages" not in record:
            raise InputError(place, "must be a request or a response of the Messages API", sorted(record)[:6])
        parts = exchange(record, place)
        if _is_response(record):
            parts = Exchange(record if "messages" in record else {}, record, record, place)
        yield _conversation(parts, place, at(parts.position, "messages"))


def _is_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    return bool(messages) and all("role" in message for message in messages) and _has_blocks(messages)


def _is_record(record: dict[str, Any]) -> bool:
    request, response, outer, _ = exchange(record, "")
    ended = outer.get("result")
    if _is_response(record) or _is_response(response):
        return True
    if "custom_id" in record and isinstance(ended, dict) and ended.get("type") in _ENDINGS:
        return True
    messages = list_of_objects(request.get("messages"))
    if not messages or not all("role" in message for message in messages):
        return False
    tools = list_of_objects(request.get("tools"))
    plain = not any(message.get("tool_calls") or message["role"] not in ("user", "assistant") for message in messages)
    asks = ("system" in request and plain) or "anthropic_version" in request
    return asks or any("input_schema" in tool for tool in tools) or _has_blocks(messages)


def _is_response(record: dict[str, Any]) -> bool:
    return record.get("type") == "message" and record.get("role") == "assistant" and "stop_reason" in record


def _has_blocks(messages: list[dict[str, Any]]) -> bool:
    parts = [part for message in messages for part in list_of_objects(message.get("content"))]
    return any(
        names_part_of_call(part)
        or part.get("type") in ("tool_call", "tool_call_response")
        or part.get("type") == "redacted_thinking"
        or (part.get("type") == "thinking" and "thinking" in part)
        or (part.get("type") in ("image", "document") and "source" in part)
        for part in parts
    )


def _conversation(parts: Exchange, where: str, where_messages: str) -> Found:
    request, response, outer, _ = parts
    steps = Conversation(FORMAT, where, outer)
    messages = [] if request.get("messages") is None else objects(request["messages"], where_messages)
    for number, message in enumerate(messages):
        add_message(steps, message, at(where_messages, number))
    again = bool(messages) and messages[-1].get("content") == response.get("content")
    if response.get("content") is not None and not again:
        add_message(steps, {"role": "assistant", "content": response["content"]}, at(where, "response"))
    last = response or (messages[-1] if messages and messages[-1].get("role") == "assistant" else {})
    ended = outer.get("result") if isinstance(outer.get("result"), dict) else {}
    failure = {"error": ended["error"]} if ended and ended.get("error") else {}
    identity = word(response.get("id") or request.get("id"))
    return steps.found(
        identity=identity,
        agent=word(response.get("model") or request.get("model")),
        termination=word(last.get("stop_reason")) or (word(ended.get("type")) if ended else None),
        policy=_policy(request, where, steps.notes),
        tools=_tools(request, where, steps.notes),
        hosted=_hosted([*messages, response]),
        meta=failure,
    )


def _hosted(messages: list[dict[str, Any]]) -> set[str]:
    """The names under which the provider's own tools were called: its code tool goes by several."""
    parts = [part for message in messages for part in list_of_objects(message.get("content"))]
    return {as_text(part.get("name")) for part in parts if type_of(part) == "server_tool_use"}


def _policy(request: dict[str, Any], where: str, notes: list[Note]) -> str | None:
    system = request.get("system")
    return text_of(system, at(where, "system"), notes) or None if isinstance(system, str | list) else None


def _tools(request: dict[str, Any], where: str, notes: list[Note]) -> tuple[ToolSchema, ...] | None:
    """The tools of a request; None where it has none or takes some from a server that it does not list."""
    if request.get("tools") is None:
        return None
    place = at(where, "tools")
    records = members(request, "tools", where)
    sets = [as_text(record.get("type")) for record in records if "name" not in record and "function" not in record]
    if sets or request.get("mcp_servers"):
        notes.append(Note(place, "the tools are not listed one by one, so none is known", ", ".join(sets) or "MCP"))
        return None
    return schemas([(at(place, n), record) for n, record in enumerate(records)], notes, place)
