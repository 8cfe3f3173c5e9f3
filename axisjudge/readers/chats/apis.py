"""Conversations as APIs of models take them: Anthropic Messages, OpenAI Responses, Bedrock Converse, the AI SDK."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers.chats.parts import (
    Conversation,
    Exchange,
    add_message,
    exchange,
    format_of_lists,
    format_of_records,
    is_record_or_list,
    list_of_objects,
    names_part_of_call,
    records_in,
    schemas,
)
from axisjudge.readers.chats.response_items import CALLS, ITEMS, add_items, hosted_names
from axisjudge.readers.events import as_text, dict_of, text_at, type_of
from axisjudge.readers.messages import Note, ReadRun, Unread, ValueFormat, at, members, objects, text_of, word
from axisjudge.trajectory import ToolSchema

# Anthropic's Messages API: requests (``messages``, ``system``, ``tools``), responses, batch files, lists of messages.
#
# Who writes it: programs that keep what they send to and get from the API, its SDKs, and the Message Batches API
# (``{custom_id, params}`` for requests, ``{custom_id, result}`` for results). Schema:
# https://docs.anthropic.com/en/api/messages and https://docs.anthropic.com/en/api/creating-message-batches; block
# types are those of the ``anthropic`` package, ``ContentBlock`` and ``BetaContentBlock``.

_ANTHROPIC = "anthropic_messages"
_ENDINGS = ("succeeded", "errored", "canceled", "expired")


def _is_anthropic(value: Any) -> bool:
    """Whether the JSON value holds messages with Anthropic's blocks, a request or response of the API, or a batch."""
    return _is_anthropic_messages(value) or is_record_or_list(value, _is_anthropic_record)


def _read_anthropic(value: Any, where: str, folder: Path) -> Iterator[ReadRun]:
    """The conversations of a file; a response that the record holds follows its request."""
    if _is_anthropic_messages(value):
        value = {"messages": value}
        yield _anthropic_conversation(Exchange(value, {}, value, where), where, where)
        return
    for path, record in records_in(value, where):
        if not _is_anthropic_record(record) and "messages" not in record:
            raise InputError(path, "must be a request or a response of the Messages API", sorted(record)[:6])
        parts = exchange(record, path)
        if _is_response(record):
            parts = Exchange(record if "messages" in record else {}, record, record, path)
        yield _anthropic_conversation(parts, path, at(parts.position, "messages"))


def _is_anthropic_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    return bool(messages) and all("role" in message for message in messages) and _has_blocks(messages)


def _is_anthropic_record(record: dict[str, Any]) -> bool:
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


def _anthropic_conversation(parts: Exchange, where: str, where_messages: str) -> ReadRun:
    request, response, outer, _ = parts
    steps = Conversation(_ANTHROPIC, where, outer)
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
    return steps.finish(
        identity=identity,
        agent=word(response.get("model") or request.get("model")),
        termination=word(last.get("stop_reason")) or (word(ended.get("type")) if ended else None),
        policy=_anthropic_policy(request, where, steps.notes),
        tools=_anthropic_tools(request, where, steps.notes),
        hosted=_hosted([*messages, response]),
        meta=failure,
    )


def _hosted(messages: list[dict[str, Any]]) -> set[str]:
    """The names under which the provider's own tools were called: its code tool goes by several."""
    parts = [part for message in messages for part in list_of_objects(message.get("content"))]
    return {as_text(part.get("name")) for part in parts if type_of(part) == "server_tool_use"}


def _anthropic_policy(request: dict[str, Any], where: str, notes: list[Note]) -> str | None:
    system = request.get("system")
    return text_of(system, at(where, "system"), notes) or None if isinstance(system, str | list) else None


def _anthropic_tools(request: dict[str, Any], where: str, notes: list[Note]) -> tuple[ToolSchema, ...] | None:
    """The tools of a request; None where it has none or takes some from a server that it does not list."""
    if request.get("tools") is None:
        return None
    path = at(where, "tools")
    records = members(request, "tools", where)
    sets = [as_text(record.get("type")) for record in records if "name" not in record and "function" not in record]
    if sets or request.get("mcp_servers"):
        notes.append(Note(path, "the tools are not listed one by one, so none is known", ", ".join(sets) or "MCP"))
        return None
    return schemas([(at(path, n), record) for n, record in enumerate(records)], notes, path)


# OpenAI's Responses API: response objects (``output``), requests (``input``), both, batch files, lists of items.
#
# Who writes it: programs that keep what they send to and get from the API (``response.model_dump()``), its batch
# files, conversations and lists of input items of the API, and the Agents SDK (``result.to_input_list()``). Schema:
# https://platform.openai.com/docs/api-reference/responses. The item types are those of the ``openai`` package.

_RESPONSES = "openai_responses"
_LISTS = ("input", "output", "items", "data")
_VERSION = re.compile(r"(_preview)?(_\d{4}_?\d\d_?\d\d)?$")


def _is_items(value: Any) -> bool:
    """Whether a list holds nothing but items and messages, and among them an item that no chat message could be."""
    items = list_of_objects(value)
    telling = any(type_of(item) in ITEMS or (type_of(item) == "message" and _has_typed_text(item)) for item in items)
    return telling and all("role" in item or type_of(item) in ITEMS or set(item) == {"id"} for item in items)


def _has_typed_text(item: dict[str, Any]) -> bool:
    kinds = {type_of(part) for part in list_of_objects(item.get("content"))}
    return bool(kinds & {"input_text", "output_text"})


def _is_responses_record(record: dict[str, Any]) -> bool:
    if "messages" in record:
        return False
    request, response, *_ = exchange(record, "")
    if "response" in (request.get("object"), response.get("object")):
        return True
    asks = list_of_objects(request.get("input"))
    return any(_is_items(inner.get(key)) for inner in (request, response) for key in _LISTS) or (
        bool(asks) and all("role" in item for item in asks) and ("model" in request or "output" in request)
    )


def _responses_conversation(record: dict[str, Any], where: str) -> ReadRun:
    request, response, outer, position = exchange(record, where)
    steps = Conversation(_RESPONSES, where, outer)
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
    return steps.finish(
        identity=word(response.get("id")),
        agent=word(response.get("model") or request.get("model")),
        termination=word(dict_of(response, "incomplete_details").get("reason") or response.get("status")),
        policy=_responses_policy(request, response, position, steps.notes),
        tools=_responses_tools(request if request.get("tools") is not None else response, items, position, steps.notes),
        hosted=hosted_names(items),
    )


def _responses_policy(request: dict[str, Any], response: dict[str, Any], where: str, notes: list[Note]) -> str | None:
    given = request.get("instructions") or response.get("instructions")
    if isinstance(given, list):
        path = at(where, "instructions")
        items = [one if isinstance(one, dict) else {"content": one} for one in given]
        return "\n".join(text_of(item.get("content"), path, notes) for item in items) or None
    return word(given)


def _responses_tools(
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


# Amazon Bedrock's Converse API: messages whose parts are ``toolUse`` and ``toolResult``, without a type.
#
# Who writes it: programs that call ``converse`` of the Bedrock runtime, and Strands Agents, which keeps its messages
# in this form. Schema: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.

_BEDROCK = "bedrock_converse"


def _is_bedrock_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    parts = [part for message in messages for part in list_of_objects(message.get("content"))]
    return all("role" in message for message in messages) and any(
        "type" not in part and (isinstance(part.get("toolUse"), dict) or isinstance(part.get("toolResult"), dict))
        for part in parts
    )


def _is_bedrock_record(record: dict[str, Any]) -> bool:
    request, response, *_ = exchange(record, "")
    answer = dict_of(response or record, "output").get("message")
    return _is_bedrock_messages(request.get("messages")) or _is_bedrock_messages([answer]) or "toolConfig" in request


def _bedrock_conversation(record: dict[str, Any], where: str) -> ReadRun:
    request, response, outer, position = exchange(record, where)
    steps = Conversation(_BEDROCK, where, outer)
    messages = [] if request.get("messages") is None else objects(request["messages"], at(position, "messages"))
    response = response or (request if "output" in request else {})
    answer = dict_of(dict_of(response, "output"), "message")
    for number, message in enumerate([*messages, answer] if answer and answer not in messages else messages):
        spot = at(position, "messages", number)
        content = message.get("content")
        inside = (
            content
            if isinstance(content, str)
            else [_bedrock_typed(part) for part in objects(content, at(spot, "content"))]
        )
        add_message(steps, {**message, "content": inside}, spot)
    system = [{"type": "text", **part} for part in list_of_objects(request.get("system")) if "text" in part]
    return steps.finish(
        agent=word(request.get("modelId")),
        termination=word(response.get("stopReason")),
        policy=text_of(system, at(position, "system"), steps.notes) or None,
        tools=_bedrock_tools(request, position, steps.notes),
    )


def _bedrock_typed(part: dict[str, Any]) -> dict[str, Any]:
    """A part with the type that its one key stands for."""
    if call := dict_of(part, "toolUse"):
        return {"type": "tool_use", "id": call.get("toolUseId"), "name": call.get("name"), "input": call.get("input")}
    if result := dict_of(part, "toolResult"):
        content = [_typed_result(inner) for inner in list_of_objects(result.get("content"))]
        failed = result.get("status") == "error"
        return {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": content, "is_error": failed}
    if thought := dict_of(part, "reasoningContent"):
        return {"type": "thinking", "thinking": text_at(dict_of(thought, "reasoningText"), "text") or ""}
    return {"type": next((key for key in part if key not in ("text", "cachePoint")), "text"), **part}


def _typed_result(part: dict[str, Any]) -> dict[str, Any]:
    if "json" in part:
        return {"type": "text", "text": as_text(part["json"])}
    return {"type": next(iter(part), "text"), **part}


def _bedrock_tools(request: dict[str, Any], where: str, notes: list[Note]) -> tuple[ToolSchema, ...] | None:
    if not isinstance(request.get("toolConfig"), dict):
        return None
    path = at(where, "toolConfig.tools")
    specifications = [dict_of(tool, "toolSpec") for tool in members(request["toolConfig"], "tools", where)]
    records = [
        (at(path, number), {**tool, "inputSchema": dict_of(dict_of(tool, "inputSchema"), "json")})
        for number, tool in enumerate(specifications)
        if tool
    ]
    return schemas(records, notes, path)


# Vercel's AI SDK: model messages (parts ``tool-call``, ``tool-result``) and the messages of its user interfaces.
#
# Who writes it: programs that keep ``messages`` and ``response.messages`` of ``generateText``, and chats that store
# ``UIMessage`` (``{role, parts}``, a part of type ``tool-NAME`` for a call together with its result). Schema:
# https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message and https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-
# message.

_AI_SDK = "ai_sdk"
_MODEL_PARTS = {"tool-call", "tool-result"}
_DONE = {"output-available": False, "result": False, "output-error": True, "output-denied": True}
_NO_PARTS = ("step-start", "source-url", "source-document")


def _are_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    parts = [part for message in messages for part in list_of_objects(message.get("content"))]
    shown = [part for message in messages for part in list_of_objects(message.get("parts"))]
    typed = bool(shown) and all(isinstance(part.get("type"), str) for part in shown)
    return all("role" in message for message in messages) and (
        typed or any(type_of(part) in _MODEL_PARTS for part in parts)
    )


def _ai_sdk_conversation(
    record: dict[str, Any], messages: list[dict[str, Any]], where: str, where_messages: str
) -> ReadRun:
    steps = Conversation(_AI_SDK, where, record)
    for number, message in enumerate(messages):
        path = at(where_messages, number)
        if isinstance(message.get("parts"), list):
            parts = objects(message["parts"], at(path, "parts"))
            message = {**message, "content": [typed for part in parts for typed in _ai_sdk_typed(part, path)]}
            message = {key: value for key, value in message.items() if key not in ("parts", "toolInvocations")}
        add_message(steps, message, path)
    return steps.finish(agent=word(record.get("model")), policy=text_at(record, "system"))


def _ai_sdk_typed(part: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """A part of the user interface as parts of a model's message: a call stands together with its result."""
    kind = str(part.get("type"))
    if kind == "tool-invocation":
        part = dict_of(part, "toolInvocation")
    if kind.startswith("tool-") or kind == "dynamic-tool":
        name = text_at(part, "toolName") or kind.removeprefix("tool-")
        identity = part.get("toolCallId")
        if not part:
            raise Unread(where, kind)
        yield {
            "type": "tool-call",
            "toolCallId": identity,
            "toolName": name,
            "input": part.get("input", part.get("args")),
        }
        output = next((part[key] for key in ("output", "result", "errorText") if part.get(key) is not None), None)
        if (state := str(part.get("state"))) in _DONE or output is not None:
            failed = _DONE.get(state, part.get("errorText") is not None)
            yield {"type": "tool-result", "toolCallId": identity, "toolName": name, "output": output, "isError": failed}
    elif kind not in _NO_PARTS:
        yield part


RESPONSES = format_of_records(_RESPONSES, _is_items, "items", _is_responses_record, _responses_conversation)
APIS = (
    format_of_records(_BEDROCK, _is_bedrock_messages, "messages", _is_bedrock_record, _bedrock_conversation),
    format_of_lists(_AI_SDK, _are_messages, "messages", _ai_sdk_conversation),
    ValueFormat(_ANTHROPIC, _is_anthropic, _read_anthropic),
)
