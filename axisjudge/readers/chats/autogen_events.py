"""AutoGen's AgentChat (0.4 and later): messages and events that name their ``source``.

Who writes it: ``TaskResult`` (``{messages, stop_reason}``), the events of ``run_stream``, one a line or in a list, and
saved states (``message_thread``, ``message_buffer``; of an agent ``llm_context.messages``). Schema:
https://microsoft.github.io/autogen/stable/reference/python/autogen_agentchat.messages.html and
https://microsoft.github.io/autogen/stable/reference/python/autogen_core.models.html.

Who is the user: the source ``user``, and every source that user input was requested of. All others are agents.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers import messages as chat
from axisjudge.readers.chats.parts import (
    Conversation,
    MessagePart,
    grow,
    is_record_or_list,
    list_of_objects,
    parts_of,
    records_in,
)
from axisjudge.readers.events import NO_STEP, as_text, dict_of, text_at
from axisjudge.trajectory import Role

FORMAT = "autogen_events"
_MESSAGES = {"TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "ToolCallSummaryMessage"}
_OF_MODELS = {"SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage"}
_NO_STEPS = {"SelectSpeakerEvent", "SelectorEvent", "UserInputRequestedEvent", "ModelClientStreamingChunkEvent"}
_EVENTS = {"ToolCallRequestEvent", "ToolCallExecutionEvent", "CodeGenerationEvent", "CodeExecutionEvent"}
_EVENTS |= {"ThoughtEvent", "MemoryQueryEvent"}
_KINDS = _MESSAGES | _OF_MODELS | _NO_STEPS | _EVENTS
_THREADS = ("messages", "message_thread", "message_buffer")
_INSIDE = ("llm_context", "agent_states", "agent_state", "state")


def recognise(value: Any) -> bool:
    """Whether the JSON value holds messages of AgentChat or of its models, or a result or state with such."""
    return _are_messages(value) or is_record_or_list(value, lambda record: bool(list(_threads(record, ""))))


def read(value: Any, where: str, folder: Path) -> Iterator[chat.Found]:
    """The conversations of a file; of a saved team those that any of its members keeps, each one once."""
    if _are_messages(value):
        yield _conversation({}, value, where, where)
        return
    for place, record in records_in(value, where):
        threads = list(_threads(record, place))
        for spot, messages in threads:
            yield _conversation(record if len(threads) == 1 else {}, messages, spot or where, spot)


def _are_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    return bool(messages) and all(_is_message(message) for message in messages)


def _is_message(value: dict[str, Any]) -> bool:
    kind = str(value.get("type"))
    if kind in _OF_MODELS:
        return "content" in value
    known = kind in _KINDS or kind.startswith("StructuredMessage") or kind.endswith(("Event", "Message"))
    return known and isinstance(value.get("source"), str)


def _threads(record: dict[str, Any], where: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The lists of messages that a result or a saved state holds, with their places."""
    for key in _THREADS:
        if _are_messages(record.get(key)):
            yield chat.at(where, key), record[key]
            return
    for key in _INSIDE:
        inner = record.get(key)
        if isinstance(inner, dict):
            yield from _threads(inner, chat.at(where, key))
            if key == "agent_states":
                for name, state in inner.items():
                    if isinstance(state, dict):
                        yield from _threads(state, chat.at(where, key, name))


def _conversation(
    record: dict[str, Any], messages: list[dict[str, Any]], where: str, where_messages: str
) -> chat.Found:
    steps = Conversation(FORMAT, where, record)
    run = _Run(messages, steps)
    for number, message in enumerate(chat.objects(messages, where_messages)):
        run.add(message, chat.at(where_messages, number))
    agents = sorted({step.agent for step in run.steps.all() if step.agent and step.role == "assistant"})
    return steps.found(
        termination=chat.word(record.get("stop_reason")), meta={"agents": agents} if len(agents) > 1 else {}
    )


class _Run:
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
            self._results(chat.members(message, "content", where), where, time)
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
        elif kind in _KINDS or kind.startswith("StructuredMessage"):
            self._message(message, kind, source, where, time)
        elif chat.carries_call({key: value for key, value in message.items() if key != "models_usage"}):
            raise chat.Unread(where, kind)
        else:
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
        self._results(results, where, time)
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

    def _results(self, records: list[dict[str, Any]], where: str, time: str | None) -> None:
        for record in records:
            stated = record.get("is_error")
            identity = chat.word(record.get("call_id") or None)
            failed = stated if isinstance(stated, bool) else None
            self.steps.result(
                identity, as_text(record.get("content")), time, error=failed, name=text_at(record, "name")
            )
            self.answered |= {identity} if identity else set()
