"""OpenAI's Responses API: response objects (``output``), requests (``input``), both, batch files, lists of items.

Who writes it: programs that keep what they send to and get from the API (``response.model_dump()``), its batch files,
conversations and lists of input items of the API, and the Agents SDK (``result.to_input_list()``). Schema:
https://platform.openai.com/docs/api-reference/responses. The item types are those of the ``openai`` package.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers.chats.parts import (
    Conversation,
    exchange,
    is_record_or_list,
    list_of_objects,
    records_in,
    schemas,
)
from axisjudge.readers.chats.response_items import CALLS, ITEMS, add_items, hosted_names
from axisjudge.readers.events import as_text, dict_of, type_of
from axisjudge.readers.messages import Found, Note, at, members, objects, text_of, word
from axisjudge.trajectory import ToolSchema

FORMAT = "openai_responses"
_LISTS = ("input", "output", "items", "data")
_VERSION = re.compile(r"(_preview)?(_\d{4}_?\d\d_?\d\d)?$")


def recognise(value: Any) -> bool:
    """Whether the JSON value holds a response, a request with items, a batch of them, or a list of items."""
    return _is_items(value) or is_record_or_list(value, _is_record)


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The conversations of a file: what went in, then what came out."""
    if _is_items(value):
        value = {"items": value}
    for place, record in records_in(value, where):
        yield _conversation(record, place)


def _is_items(value: Any) -> bool:
    """Whether a list holds nothing but items and messages, and among them an item that no chat message could be."""
    items = list_of_objects(value)
    telling = any(type_of(item) in ITEMS or (type_of(item) == "message" and _has_typed_text(item)) for item in items)
    return telling and all("role" in item or type_of(item) in ITEMS or set(item) == {"id"} for item in items)


def _has_typed_text(item: dict[str, Any]) -> bool:
    kinds = {type_of(part) for part in list_of_objects(item.get("content"))}
    return bool(kinds & {"input_text", "output_text"})


def _is_record(record: dict[str, Any]) -> bool:
    if "messages" in record:
        return False
    request, response, *_ = exchange(record, "")
    if "response" in (request.get("object"), response.get("object")):
        return True
    asks = list_of_objects(request.get("input"))
    return any(_is_items(inner.get(key)) for inner in (request, response) for key in _LISTS) or (
        bool(asks) and all("role" in item for item in asks) and ("model" in request or "output" in request)
    )


def _conversation(record: dict[str, Any], where: str) -> Found:
    request, response, outer, position = exchange(record, where)
    steps = Conversation(FORMAT, where, outer)
    placed: list[tuple[str, dict[str, Any]]] = []
    response = response or request
    for source, key in ((request, "input"), (request, "items"), (request, "data"), (response, "output")):
        given = source.get(key)
        if isinstance(given, str):
            given = [{"role": "assistant" if key == "output" else "user", "content": given}]
        root = at(where, "response") if source is response and response is not request else position
        for number, item in enumerate([] if given is None else objects(given, at(root, key))):
            if "id" not in item or all(item != other for _, other in placed):  # input may repeat the output before it
                placed.append((at(root, key, number), item))
    items = [item for _, item in placed]
    add_items(steps, placed)
    if isinstance(response.get("error"), dict):
        steps.error(as_text(response["error"].get("message") or response["error"]), None)
    if earlier := request.get("previous_response_id") or response.get("previous_response_id"):
        steps.notes.append(Note(where, "what came before stands in another response", str(earlier)))
    return steps.found(
        identity=word(response.get("id")),
        agent=word(response.get("model") or request.get("model")),
        termination=word(dict_of(response, "incomplete_details").get("reason") or response.get("status")),
        policy=_policy(request, response, position, steps.notes),
        tools=_tools(request if request.get("tools") is not None else response, items, position, steps.notes),
        hosted=hosted_names(items),
    )


def _policy(request: dict[str, Any], response: dict[str, Any], where: str, notes: list[Note]) -> str | None:
    given = request.get("instructions") or response.get("instructions")
    if isinstance(given, list):
        place = at(where, "instructions")
        items = [one if isinstance(one, dict) else {"content": one} for one in given]
        return "\n".join(text_of(item.get("content"), place, notes) for item in items) or None
    return word(given)


def _tools(
    record: dict[str, Any], items: list[dict[str, Any]], where: str, notes: list[Note]
) -> tuple[ToolSchema, ...] | None:
    """The tools that were offered, with those that MCP servers listed; None where a server's are not on record."""
    if record.get("tools") is None:
        return None
    position = at(where, "tools")
    stated: list[tuple[str, dict[str, Any]]] = []
    lists = [item for item in items if type_of(item) == "mcp_list_tools" and item.get("tools")]
    listed = {word(item.get("server_label")): members(item, "tools", where) for item in lists}
    for number, tool in enumerate(members(record, "tools", where)):
        spot = at(position, number)
        if tool.get("type") == "mcp":
            label = word(tool.get("server_label"))
            if label not in listed:
                notes.append(Note(spot, "the tools of a server are not listed, so none is known", str(label)))
                return None
            stated += [(spot, {**inner, "name": f"mcp__{label}__{inner.get('name')}"}) for inner in listed[label]]
        elif tool.get("type") == "namespace":
            stated += [(at(spot, "tools"), inner) for inner in members(tool, "tools", spot)]
        else:
            stated.append((spot, tool))
    return schemas(stated, notes, position, named=_hosted_name)


def _hosted_name(tool: dict[str, Any]) -> str | None:
    """What the calls of a provider's own tool are called: ``web_search_preview_2025_03_11`` is ``web_search``."""
    kind = _VERSION.sub("", str(tool.get("type")))
    kind = {"computer_use": "computer", "programmatic_tool_calling": "program"}.get(kind, kind)
    return kind if {kind, f"{kind}_call"} & CALLS else None
