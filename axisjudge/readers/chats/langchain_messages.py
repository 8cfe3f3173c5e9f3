"""LangChain's messages, as LangChain and LangGraph keep them.

Who writes it: ``messages_to_dict`` and the file chat history (``{type, data}``), ``dumpd`` and ``dumps`` of Python and
``JSON.stringify`` of JavaScript (``{lc, id, kwargs}``), ``model_dump`` and LangGraph's states, threads and streams
(``{messages: [{type, content}]}``, also in ``values``, ``channel_values``, ``output``; of a stream of updates
``{node: {messages}}``, one a line). Schema:
https://reference.langchain.com/python/langchain_core/messages/.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers import messages as chat
from axisjudge.readers.chats.parts import (
    Conversation,
    MessagePart,
    grow,
    is_record_or_list,
    list_of_objects,
    parts_of,
    records_in,
    result_text,
)
from axisjudge.readers.chats.response_items import ITEMS, add_item
from axisjudge.readers.events import Steps, as_text, dict_of, text_at, type_of
from axisjudge.trajectory import Role, ToolCall

FORMAT = "langchain_messages"
_KINDS = ("human", "system", "developer", "tool", "function", "chat", "remove")
_CLASSES = {"AIMessage": "ai", **{f"{kind.capitalize()}Message": kind for kind in _KINDS}}
_TYPES: dict[str, Role] = {"human": "user", "ai": "assistant", "system": "system", "developer": "system"}
_KEYS = ("type", "content", "tool_calls", "invalid_tool_calls", "tool_call_chunks", "tool_call_id", "additional_kwargs")
_INSIDE = ("values", "channel_values", "output", "outputs", "state", "kwargs")


def recognise(value: Any) -> bool:
    """Whether the JSON value holds LangChain messages, a state with them, or a list of such states."""
    return (
        _are_messages(value)
        or bool(_updates(value))
        or is_record_or_list(value, lambda record: _messages_in(record) is not None)
    )


def read(value: Any, where: str, folder: Path) -> Iterator[chat.Found]:
    """The conversations of a file."""
    if messages := value if _are_messages(value) else _updates(value):
        yield _conversation({}, messages, where, where)
        return
    for position, record in records_in(value, where):
        inside = _messages_in(record)
        if inside is None:
            raise InputError(position, "must be a state with messages of LangChain", sorted(record)[:6])
        path, messages = inside
        yield _conversation(record, messages, position, chat.at(position, path))


def _are_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    return bool(messages) and all(_is_message(message) for message in messages)


def _is_message(value: dict[str, Any]) -> bool:
    if "lc" in value:
        names = value.get("id")
        return isinstance(names, list) and bool(names) and _class_of(names[-1]) is not None
    kind = _kind_of(value.get("type"))
    if kind is None or ("role" in value and kind != "chat"):
        return False
    return isinstance(value.get("data"), dict) or "content" in value or kind == "remove"


def _class_of(name: Any) -> str | None:
    return _CLASSES.get(str(name).removesuffix("Chunk"))


def _kind_of(name: Any) -> str | None:
    return _class_of(name) or (name if name in _CLASSES.values() else None)


def _messages_in(record: dict[str, Any], depth: int = 2) -> tuple[str, list[dict[str, Any]]] | None:
    """Where a record keeps messages of LangChain, and those; None where it keeps none."""
    if _are_messages(record.get("messages")):
        return "messages", record["messages"]
    for key in _INSIDE if depth else ():
        if isinstance(inner := record.get(key), dict) and (found := _messages_in(inner, depth - 1)):
            return f"{key}.{found[0]}", found[1]
    return None


def _updates(value: Any) -> list[dict[str, Any]]:
    """The messages of a graph's stream of updates, a list of ``{node: {messages}}``; none where it is none."""
    steps = [step for update in list_of_objects(value) for step in update.values() if isinstance(step, dict)]
    stated = [step["messages"] for step in steps if "messages" in step]
    alone = all("messages" not in update and len(update) == 1 for update in list_of_objects(value))
    return [message for messages in stated for message in messages] if alone and all(map(_are_messages, stated)) else []


def _conversation(
    record: dict[str, Any], messages: list[dict[str, Any]], where: str, where_messages: str
) -> chat.Found:
    steps = Conversation(FORMAT, where, record)
    models: Counter[str] = Counter()
    ended = None
    for number, raw in enumerate(chat.objects(messages, where_messages)):
        position = chat.at(where_messages, number)
        message = _plain(raw, position)
        _add(steps, message, position)
        stated = dict_of(message, "response_metadata")
        models.update(filter(None, [text_at(stated, "model_name", "model")]))
        if message["type"] == "ai":
            ended = text_at(stated, "finish_reason", "stop_reason")
    return steps.found(
        identity=chat.word(record.get("thread_id") or record.get("run_id")),
        agent=models.most_common(1)[0][0] if models else None,
        termination=ended,
        meta={"models": list(models)} if len(models) > 1 else {},
    )


def _plain(message: dict[str, Any], where: str) -> dict[str, Any]:
    """A message of any of the forms with its type and fields side by side."""
    if "lc" in message:
        if not isinstance(message.get("kwargs"), dict):
            raise chat.Unread(where, message.get("repr", message))
        return {**message["kwargs"], "type": _class_of(message["id"][-1])}
    inner = message["data"] if isinstance(message.get("data"), dict) else message
    return {**inner, "type": _kind_of(message["type"])}


def _add(steps: Steps, message: dict[str, Any], where: str) -> None:
    steps.where, steps.agent = where, None
    kind = message["type"]
    chat.refuse_unread(message, where, _KEYS)
    if kind == "remove":
        steps.notes.append(chat.Note(where, "an event that is no step", "remove"))
    elif kind in ("tool", "function"):
        _result(steps, message, where)
    elif kind == "ai":
        _agent(steps, message, where)
    else:
        parts = parts_of(message.get("content"), chat.at(where, "content"), steps.notes)
        grow(
            steps,
            chat.role_of(message, where) if kind == "chat" else _TYPES[kind],
            parts or [MessagePart("text")],
            where,
        )


def _result(steps: Steps, message: dict[str, Any], where: str) -> None:
    if message.get("artifact") is not None:
        steps.notes.append(chat.Note(where, "what a tool kept from the model is left out", "artifact"))
    status = message.get("status")
    steps.result(
        chat.word(message.get("tool_call_id")),
        result_text(message.get("content"), chat.at(where, "content"), steps.notes),
        None,
        error=status == "error" if isinstance(status, str) else None,
        name=chat.word(message.get("name")),
    )


def _agent(steps: Steps, message: dict[str, Any], where: str) -> None:
    """The agent's message: its parts, its calls, those that could not be parsed, and those of the provider's tools.

    Calls stand in ``tool_calls`` and often in the content too, or in ``additional_kwargs`` as OpenAI writes them; each
    counts once, by its id.
    """
    steps.agent = text_at(message, "name")
    beside = dict_of(message, "additional_kwargs")
    calls = [*_calls(message, "tool_calls", where), *_calls(message, "invalid_tool_calls", where)]
    if not calls:
        calls = list(chat.chat_calls(beside, "assistant", chat.at(where, "additional_kwargs")))
    if not calls:
        calls = _calls(message, "tool_call_chunks", where)
    known = {call.id for call in calls if call.id}
    reasoning = text_at(beside, "reasoning_content")
    grow(steps, "assistant", [MessagePart("thinking", reasoning)] if reasoning else [], where)
    content, items = _content(message.get("content"), known)
    parts = parts_of(content, chat.at(where, "content"), steps.notes)
    parts = [part for part in parts if part.call is None or not part.call.id or part.call.id not in known]
    grow(steps, "assistant", parts, where)
    for item in [*items, *list_of_objects(beside.get("tool_outputs"))]:
        add_item(steps, item, where)
    grow(steps, "assistant", [MessagePart("call", call=call) for call in calls], where)
    if not (parts or calls or items or reasoning or message.get("content")):
        grow(steps, "assistant", [MessagePart("text")], where)
    steps.agent = None


def _content(content: Any, known: set[str]) -> tuple[Any, list[dict[str, Any]]]:
    """Content without OpenAI's items, and those items that ``tool_calls`` does not hold already."""
    if not isinstance(content, list):
        return content, []
    is_item = [isinstance(part, dict) and type_of(part) in ITEMS - {"reasoning"} for part in content]
    items = [part for part, telling in zip(content, is_item, strict=True) if telling]
    rest = [part for part, telling in zip(content, is_item, strict=True) if not telling]
    return rest, [item for item in items if not {chat.word(item.get("call_id")), chat.word(item.get("id"))} & known]


def _calls(message: dict[str, Any], key: str, where: str) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for number, record in enumerate(chat.members(message, key, where)):
        position = chat.at(where, key, number)
        if "function" in record:  # OpenAI's form, as some stores keep it
            calls += chat.chat_calls({"tool_calls": [record]}, "assistant", position)
            continue
        arguments, problem = chat.arguments_of(record.get("args", record.get("arguments")))
        if key == "invalid_tool_calls":
            problem = text_at(record, "error") or problem or "LangChain could not parse it"
            arguments = as_text(record.get("args"))
        name = text_at(record, "name")
        if name is None and key == "tool_calls":
            raise chat.Unread(chat.at(position, "name"), record)
        identity = chat.word(record.get("id"))
        calls.append(
            chat.made(
                ToolCall, position, id=identity, name=name or "unknown", arguments=arguments, arguments_error=problem
            )
        )
    return calls
