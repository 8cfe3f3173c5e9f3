"""Messages in the forms in which LangChain and the wrappers of model clients record them, as chat messages."""

from typing import Any

from axisjudge.readers.chats.parts import BESIDE, names_part_of_call
from axisjudge.readers.chats.response_items import ITEMS
from axisjudge.readers.events import dict_of, json_of, listed, text_at
from axisjudge.readers.messages import Unread, carries_call, refuse_unread
from axisjudge.readers.trace_spans import SPEAKERS

_KINDS = ("human", "ai", "system", "developer", "tool", "function")
_ITEMS = ITEMS | {"message"}
_READ = (
    *("type", "role", "content", "parts", "tool_calls", "invalid_tool_calls", "function_call", "tool_call_id", "name"),
    *("additional_kwargs", "tool_call_chunks", "response_metadata"),
)
#: Where inputs and outputs hold their messages, the surest first.
_KEYS = (
    *("messages", "generations", "choices", "candidates", "message", "output", "input", "contents"),
    *("prompts", "prompt", "content", "text"),
)


def is_message(value: Any) -> bool:
    """Whether a JSON value is one message, in any of the forms."""
    if not isinstance(value, dict):
        return False
    if "role" in value:
        return bool(value.keys() & {"content", "tool_calls", "parts", "function_call"})
    return _is_constructor(value) or value.get("type") in _ITEMS or (_role(value) is not None and _has_content(value))


def messages_in(messages: Any, role: str) -> list[dict[str, Any]]:
    """The messages that a run's inputs or outputs hold; plain text is one of this role."""
    messages = json_of(messages)
    if isinstance(messages, str):
        return [{"role": role, "content": messages}] if messages.strip() else []
    if isinstance(messages, list):
        if len(messages) == 2 and all(isinstance(part, str) for part in messages) and messages[0] in SPEAKERS:
            return [{"role": SPEAKERS[messages[0]], "content": messages[1]}]  # ("human", "Hello.")
        if any(
            _is_part(member) for member in messages
        ):  # the content of one message, as Anthropic's client gives it back
            return [{"role": role, "content": messages}]
        return [message for member in messages for message in messages_in(member, role)]
    if not isinstance(messages, dict):
        return []
    if is_message(messages):
        return [message_of(messages)]
    if isinstance(messages.get("tool_calls"), list) and messages["tool_calls"]:
        return [message_of({"role": role, **messages})]
    heads = (messages.get(key) for key in ("system", "instructions", "system_instruction"))
    before = [{"role": "system", "content": head} for head in heads if head and isinstance(head, str | list)]
    list_key = next((key for key in _KEYS if messages.get(key)), None)
    if list_key is not None:
        return before + messages_in(messages[list_key], role)
    texts = [value for value in messages.values() if isinstance(value, str)]
    stated = before or (messages_in(texts[0], role) if len(messages) == len(texts) == 1 else [])
    if not stated and carries_call(messages):
        raise Unread("inputs or outputs of a run", sorted(messages))
    return stated


def _is_part(member: Any) -> bool:
    """Whether a member of a list is a part of a content that holds a call or a result, and no message."""
    return isinstance(member, dict) and "role" not in member and names_part_of_call(member) and not is_message(member)


def message_of(record: dict[str, Any]) -> dict[str, Any]:
    """One message as a chat message: ``role``, ``content``, ``tool_calls``, ``tool_call_id``, ``name``."""
    if record.get("type") in _ITEMS and "role" not in record:
        return {"role": "assistant", **record} if record["type"] == "message" else record
    kind = _role(record)
    fields = dict_of(record, "kwargs") if _is_constructor(record) else dict_of(record, "data") or record
    more = dict_of(fields, "additional_kwargs")
    refuse_unread(fields, "message", _READ)
    calls = [*(listed(fields.get("tool_calls")) or listed(more.get("tool_calls")))]
    calls += [{**call, "arguments": call.get("args")} for call in listed(fields.get("invalid_tool_calls"))]
    if asked := fields.get("function_call") or more.get("function_call"):
        calls += [] if calls else [{"function": asked}]
    message: dict[str, Any] = {
        **{key: held[key] for held in (more, fields) for key in BESIDE if held.get(key)},
        "role": fields.get("role") if "role" in record else kind or fields.get("role"),
        "content": fields.get("content"),
        "tool_calls": calls,
        "tool_call_id": fields.get("tool_call_id"),
        "name": fields.get("name"),
    }
    if "parts" in fields:
        message["parts"] = fields["parts"]
    if isinstance(status := fields.get("status"), str) and message["role"] == "tool":
        message["is_error"] = status == "error"
    return message


def finish_in(response: Any, depth: int = 6) -> str | None:
    """The reason why a model stopped, wherever its outputs state it."""
    if depth and isinstance(response, dict):
        stated = text_at(response, "finish_reason", "stop_reason")
        return stated or next(filter(None, (finish_in(inner, depth - 1) for inner in response.values())), None)
    if depth and isinstance(response, list):
        return next(filter(None, (finish_in(inner, depth - 1) for inner in reversed(response))), None)
    return None


def _is_constructor(record: dict[str, Any]) -> bool:
    return record.get("type") == "constructor" and isinstance(record.get("kwargs"), dict) and _role(record) is not None


def _has_content(record: dict[str, Any]) -> bool:
    return "content" in record or "content" in dict_of(record, "data")


def _role(record: dict[str, Any]) -> str | None:
    """The role of a LangChain message by its ``type``, else by the name of its class."""
    kind = record.get("type")
    if kind == "constructor":
        name = str(listed(record.get("id"))[-1:])
        kind = dict_of(record, "kwargs").get("type") or name.strip("[]'")
    if not isinstance(kind, str):
        return None
    plain = kind.removesuffix("Chunk").removesuffix("Message").lower()
    known = SPEAKERS[plain] if plain in _KINDS else None
    return known or (str(dict_of(record, "kwargs").get("role", "user")) if plain == "chat" else None)
