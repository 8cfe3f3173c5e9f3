"""Amazon Bedrock's Converse API: messages whose parts are ``toolUse`` and ``toolResult``, without a type.

Who writes it: programs that call ``converse`` of the Bedrock runtime, and Strands Agents, which keeps its messages in
this form. Schema: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers.chats.parts import (
    Conversation,
    add_message,
    exchange,
    is_record_or_list,
    list_of_objects,
    records_in,
    schemas,
)
from axisjudge.readers.events import as_text, dict_of, text_at
from axisjudge.readers.messages import Found, Note, at, members, objects, text_of, word
from axisjudge.trajectory import ToolSchema

FORMAT = "bedrock_converse"


def recognise(value: Any) -> bool:
    """Whether the JSON value holds messages of the Converse API, or a request or response of it."""
    return _is_messages(value) or is_record_or_list(value, _is_record)


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The conversations of a file; the message of a response follows those of its request."""
    if _is_messages(value):
        value = {"messages": value}
    for place, record in records_in(value, where):
        yield _conversation(record, place)


def _is_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    parts = [part for message in messages for part in list_of_objects(message.get("content"))]
    return all("role" in message for message in messages) and any(
        "type" not in part and (isinstance(part.get("toolUse"), dict) or isinstance(part.get("toolResult"), dict))
        for part in parts
    )


def _is_record(record: dict[str, Any]) -> bool:
    request, response, *_ = exchange(record, "")
    answer = dict_of(response or record, "output").get("message")
    return _is_messages(request.get("messages")) or _is_messages([answer]) or "toolConfig" in request


def _conversation(record: dict[str, Any], where: str) -> Found:
    request, response, outer, position = exchange(record, where)
    steps = Conversation(FORMAT, where, outer)
    messages = [] if request.get("messages") is None else objects(request["messages"], at(position, "messages"))
    response = response or (request if "output" in request else {})
    answer = dict_of(dict_of(response, "output"), "message")
    for number, message in enumerate([*messages, answer] if answer and answer not in messages else messages):
        spot = at(position, "messages", number)
        content = message.get("content")
        inside = (
            content if isinstance(content, str) else [_typed(part) for part in objects(content, at(spot, "content"))]
        )
        add_message(steps, {**message, "content": inside}, spot)
    system = [{"type": "text", **part} for part in list_of_objects(request.get("system")) if "text" in part]
    return steps.found(
        agent=word(request.get("modelId")),
        termination=word(response.get("stopReason")),
        policy=text_of(system, at(position, "system"), steps.notes) or None,
        tools=_tools(request, position, steps.notes),
    )


def _typed(part: dict[str, Any]) -> dict[str, Any]:
    """A part with the type that its one key stands for."""
    if call := dict_of(part, "toolUse"):
        return {"type": "tool_use", "id": call.get("toolUseId"), "name": call.get("name"), "input": call.get("input")}
    if result := dict_of(part, "toolResult"):
        content = [_typed_result(inner) for inner in list_of_objects(result.get("content"))]
        failed = result.get("status") == "error"
        return {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": content, "is_error": failed}
    if thought := dict_of(part, "reasoningContent"):
        return {"type": "thinking", "thinking": text_at(dict_of(thought, "reasoningText"), "text") or ""}
    kind = next((key for key in part if key not in ("text", "cachePoint")), "text")
    return part if "type" in part or "text" in part else {"type": kind, **part}


def _typed_result(part: dict[str, Any]) -> dict[str, Any]:
    if "json" in part:
        return {"type": "text", "text": as_text(part["json"])}
    kind = next(iter(part), "text")
    return part if "type" in part else {"type": kind, **part}


def _tools(request: dict[str, Any], where: str, notes: list[Note]) -> tuple[ToolSchema, ...] | None:
    if not isinstance(request.get("toolConfig"), dict):
        return None
    place = at(where, "toolConfig.tools")
    specifications = [dict_of(tool, "toolSpec") for tool in members(request["toolConfig"], "tools", where)]
    records = [
        (at(place, number), {**tool, "inputSchema": dict_of(dict_of(tool, "inputSchema"), "json")})
        for number, tool in enumerate(specifications)
        if tool
    ]
    return schemas(records, notes, place)
