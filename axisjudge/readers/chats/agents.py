"""Messages of frameworks for agents: LangChain's and LangGraph's, and AutoGen's AgentChat."""

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
from axisjudge.readers.events import NO_STEP, Steps, as_text, dict_of, text_at, type_of
from axisjudge.trajectory import Role, ToolCall

# LangChain's messages, as LangChain and LangGraph keep them.
#
# Who writes it: ``messages_to_dict`` and the file chat history (``{type, data}``), ``dumpd`` and ``dumps`` of Python
# and ``JSON.stringify`` of JavaScript (``{lc, id, kwargs}``), ``model_dump`` and LangGraph's states, threads and
# streams (``{messages: [{type, content}]}``, also in ``values``, ``channel_values``, ``output``; of a stream of updates
# ``{node: {messages}}``, one a line). Schema: https://reference.langchain.com/python/langchain_core/messages/.

_LANGCHAIN = "langchain_messages"
_LANGCHAIN_KINDS = ("human", "system", "developer", "tool", "function", "chat", "remove")
_CLASSES = {"AIMessage": "ai", **{f"{kind.capitalize()}Message": kind for kind in _LANGCHAIN_KINDS}}
_TYPES: dict[str, Role] = {"human": "user", "ai": "assistant", "system": "system", "developer": "system"}
_KEYS = ("type", "content", "tool_calls", "invalid_tool_calls", "tool_call_chunks", "tool_call_id", "additional_kwargs")
_LANGCHAIN_INSIDE = ("values", "channel_values", "output", "outputs", "state", "kwargs")


def _is_langchain(value: Any) -> bool:
    """Whether the JSON value holds LangChain messages, a state with them, or a list of such states."""
    return (
        _are_langchain_messages(value)
        or bool(_updates(value))
        or is_record_or_list(value, lambda record: _messages_in(record) is not None)
    )


def _read_langchain(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """The conversations of a file."""
    if messages := value if _are_langchain_messages(value) else _updates(value):
        yield _langchain_conversation({}, messages, where, where)
        return
    for position, record in records_in(value, where):
        inside = _messages_in(record)
        if inside is None:
            raise InputError(position, "must be a state with messages of LangChain", sorted(record)[:6])
        path, messages = inside
        yield _langchain_conversation(record, messages, position, chat.at(position, path))


def _are_langchain_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    return bool(messages) and all(_is_langchain_message(message) for message in messages)


def _is_langchain_message(value: dict[str, Any]) -> bool:
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
    if _are_langchain_messages(record.get("messages")):
        return "messages", record["messages"]
    for key in _LANGCHAIN_INSIDE if depth else ():
        if isinstance(inner := record.get(key), dict) and (nested := _messages_in(inner, depth - 1)):
            return f"{key}.{nested[0]}", nested[1]
    return None


def _updates(value: Any) -> list[dict[str, Any]]:
    """The messages of a graph's stream of updates, a list of ``{node: {messages}}``; none where it is none."""
    steps = [step for update in list_of_objects(value) for step in update.values() if isinstance(step, dict)]
    stated = [step["messages"] for step in steps if "messages" in step]
    alone = all("messages" not in update and len(update) == 1 for update in list_of_objects(value))
    return (
        [message for messages in stated for message in messages]
        if alone and all(map(_are_langchain_messages, stated))
        else []
    )


def _langchain_conversation(
    record: dict[str, Any], messages: list[dict[str, Any]], where: str, where_messages: str
) -> chat.ReadRun:
    steps = Conversation(_LANGCHAIN, where, record)
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
    return steps.finish(
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
    chat.refuse_unread(message, where, _KEYS if dict_of(message, _KEYS[-1]) else _KEYS[:-1])
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
    for item in [*items, *chat.members(beside, "tool_outputs", where)]:
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
    if key == "tool_calls":  # in OpenAI's form too, as some stores keep them
        return [*chat.chat_calls({key: message.get(key)}, "assistant", where)]
    calls: list[ToolCall] = []
    for number, record in enumerate(chat.members(message, key, where)):
        position = chat.at(where, key, number)
        arguments, problem = chat.arguments_of(record.get("args", record.get("arguments")))
        if key == "invalid_tool_calls":
            problem = text_at(record, "error") or problem or "LangChain could not parse it"
            arguments = as_text(record.get("args"))
        about = {"id": chat.word(record.get("id")), "name": text_at(record, "name") or "unknown"}
        calls.append(chat.made(ToolCall, position, **about, arguments=arguments, arguments_error=problem))
    return calls


# AutoGen's AgentChat (0.4 and later): messages and events that name their ``source``.
#
# Who writes it: ``TaskResult`` (``{messages, stop_reason}``), the events of ``run_stream``, one a line or in a list,
# and saved states (``message_thread``, ``message_buffer``; of an agent ``llm_context.messages``). Schema:
# https://microsoft.github.io/autogen/stable/reference/python/autogen_agentchat.messages.html and
# https://microsoft.github.io/autogen/stable/reference/python/autogen_core.models.html.
#
# Who is the user: the source ``user``, and every source that user input was requested of. All others are agents.

_AUTOGEN = "autogen_events"
_MESSAGES = {"TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "ToolCallSummaryMessage"}
_OF_MODELS = {"SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage"}
_NO_STEPS = {"SelectSpeakerEvent", "SelectorEvent", "UserInputRequestedEvent", "ModelClientStreamingChunkEvent"}
_EVENTS = {"ToolCallRequestEvent", "ToolCallExecutionEvent", "CodeGenerationEvent", "CodeExecutionEvent"}
_EVENTS |= {"ThoughtEvent", "MemoryQueryEvent"}
_AUTOGEN_KINDS = _MESSAGES | _OF_MODELS | _NO_STEPS | _EVENTS
_THREADS = ("messages", "message_thread", "message_buffer")
_AUTOGEN_INSIDE = ("llm_context", "agent_states", "agent_state", "state")


def _is_autogen(value: Any) -> bool:
    """Whether the JSON value holds messages of AgentChat or of its models, or a result or state with such."""
    return _are_autogen_messages(value) or is_record_or_list(value, lambda record: bool(list(_threads(record, ""))))


def _read_autogen(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """The conversations of a file; of a saved team those that any of its members keeps, each one once."""
    if _are_autogen_messages(value):
        yield _autogen_conversation({}, value, where)
        return
    for path, record in records_in(value, where):
        threads = list(_threads(record, path))
        for spot, messages in threads:
            yield _autogen_conversation(record if len(threads) == 1 else {}, messages, spot)


def _are_autogen_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    return bool(messages) and all(_is_autogen_message(message) for message in messages)


def _is_autogen_message(value: dict[str, Any]) -> bool:
    kind = str(value.get("type"))
    if kind in _OF_MODELS:
        return "content" in value
    known = kind in _AUTOGEN_KINDS or kind.startswith("StructuredMessage") or kind.endswith(("Event", "Message"))
    return known and isinstance(value.get("source"), str)


def _threads(record: dict[str, Any], where: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The lists of messages that a result or a saved state holds, with their places."""
    for key in _THREADS:
        if _are_autogen_messages(record.get(key)):
            yield chat.at(where, key), record[key]
            return
    for key in _AUTOGEN_INSIDE:
        inner = record.get(key)
        if isinstance(inner, dict):
            yield from _threads(inner, chat.at(where, key))
            if key == "agent_states":
                for name, state in inner.items():
                    if isinstance(state, dict):
                        yield from _threads(state, chat.at(where, key, name))


def _autogen_conversation(record: dict[str, Any], messages: list[dict[str, Any]], where: str) -> chat.ReadRun:
    steps = Conversation(_AUTOGEN, where, record)
    run = _AutogenRun(messages, steps)
    for number, message in enumerate(chat.objects(messages, where)):
        run.add(message, chat.at(where, number))
    agents = sorted({step.agent for step in run.steps.all() if step.agent and step.role == "assistant"})
    return steps.finish(
        termination=chat.word(record.get("stop_reason")), meta={"agents": agents} if len(agents) > 1 else {}
    )


class _AutogenRun:
    """A conversation as it grows: its steps, the calls that were made, and who are users."""

    def __init__(self, messages: list[dict[str, Any]], steps: Conversation) -> None:
        self.steps = steps
        self.asked: set[str] = set()
        self.answered: set[str] = set()
        asked_of = {
            str(message.get("source")) for message in messages if message.get("type") == "UserInputRequestedEvent"
        }
        self.users = {"user", *asked_of}

    def add(self, message: dict[str, Any], where: str) -> None:
        kind, source = str(message.get("type")), text_at(message, "source")
        time = text_at(message, "created_at")
        self.steps.where, self.steps.agent = where, source
        if kind in _NO_STEPS:
            self.steps.notes.append(chat.Note(where, NO_STEP, kind))
        elif kind == "ThoughtEvent":
            self.steps.thinking(chat.field(message, "content", str, where), time)
        elif kind == "ToolCallRequestEvent" or (kind == "AssistantMessage" and isinstance(message["content"], list)):
            if thought := text_at(message, "thought"):
                self.steps.thinking(thought, time)
            self._calls(chat.members(message, "content", where), where, time)
        elif kind in ("ToolCallExecutionEvent", "FunctionExecutionResultMessage"):
            self._results(chat.members(message, "content", where), time)
        elif kind == "CodeGenerationEvent":
            call = chat.call_of(where, "code_executor", {"code_blocks": message.get("code_blocks")})
            text = MessagePart("text", as_text(message.get("content")))
            grow(self.steps, "assistant", [text, MessagePart("call", call=call)], where, time)
        elif kind == "CodeExecutionEvent":
            ran = chat.field(message, "result", dict, where)
            failed = ran.get("exit_code") != 0 if type(ran.get("exit_code")) is int else None
            self.steps.result(None, as_text(ran.get("output")), time, error=failed, name="code_executor")
        elif kind == "MemoryQueryEvent":
            self.steps.text("system", as_text(message.get("content")), time)
        else:
            known = kind in _AUTOGEN_KINDS or kind.startswith("StructuredMessage")
            if not known and chat.carries_call({key: message[key] for key in message if key != "models_usage"}):
                raise chat.Unread(where, kind)
            self._message(message, kind, source, where, time)

    def _message(self, message: dict[str, Any], kind: str, source: str | None, where: str, time: str | None) -> None:
        """A message; a summary of calls that no event told brings these first."""
        calls = [
            call for call in chat.members(message, "tool_calls", where) if chat.word(call.get("id")) not in self.asked
        ]
        results = [
            result
            for result in chat.members(message, "results", where)
            if chat.word(result.get("call_id")) not in self.answered
        ]
        self._calls(calls, where, time)
        self._results(results, time)
        role: Role = "user" if source in self.users or kind == "UserMessage" else "assistant"
        content = message.get("content")
        if kind == "SystemMessage":
            role = "system"
        if isinstance(content, dict):
            content = as_text(content)
        if isinstance(content, list):  # texts and pictures
            content = [
                part if isinstance(part, str) else {"type": "image", **dict_of({"": part}, "")} for part in content
            ]
        if thought := text_at(message, "thought"):
            self.steps.thinking(thought, time)
        parts = parts_of(content, chat.at(where, "content"), self.steps.notes)
        grow(self.steps, role, parts or [MessagePart("text")], where, time)

    def _calls(self, records: list[dict[str, Any]], where: str, time: str | None) -> None:
        for record in records:
            identity = chat.word(record.get("id") or None)
            call = chat.call_of(where, chat.field(record, "name", str, where), record.get("arguments"), id=identity)
            self.steps.call(call, time, message=where)
            self.asked |= {identity} if identity else set()

    def _results(self, records: list[dict[str, Any]], time: str | None) -> None:
        for record in records:
            stated = record.get("is_error")
            identity = chat.word(record.get("call_id") or None)
            failed = stated if isinstance(stated, bool) else None
            self.steps.result(
                identity, as_text(record.get("content")), time, error=failed, name=text_at(record, "name")
            )
            self.answered |= {identity} if identity else set()


AGENTS = (
    chat.ValueFormat(_LANGCHAIN, _is_langchain, _read_langchain),
    chat.ValueFormat(_AUTOGEN, _is_autogen, _read_autogen),
)
