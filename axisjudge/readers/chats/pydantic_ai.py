"""Messages of Pydantic AI: requests and responses whose parts say what they are by ``part_kind``.

Who writes it: ``result.all_messages_json()``, ``new_messages_json()`` and ``ModelMessagesTypeAdapter.dump_json``.
Source: pydantic/pydantic-ai, pydantic_ai_slim/pydantic_ai/messages.py.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers.chats.parts import Conversation, holds_list, list_of_objects, threads_in
from axisjudge.readers.events import ENCRYPTED, Steps, as_text, text_at, type_of
from axisjudge.readers.messages import (
    Found,
    Note,
    Unread,
    at,
    call_of,
    carries_call,
    field,
    left_out,
    members,
    word,
)
from axisjudge.trajectory import Role

FORMAT = "pydantic_ai"
_CALLS = ("tool-call", "builtin-tool-call")
_RETURNS = ("tool-return", "builtin-tool-return")


def recognise(value: Any) -> bool:
    """Whether the JSON value is a list of such messages, or a record or list of records with ``messages`` of them."""
    return holds_list(value, _are_messages, "messages")


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The conversations of a file."""
    return (_conversation(*thread) for thread in threads_in(value, where, _are_messages, "messages"))


def _are_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    return bool(messages) and all(
        message.get("kind") in ("request", "response") and isinstance(message.get("parts"), list)
        for message in messages
    )


def _conversation(record: dict[str, Any], messages: list[dict[str, Any]], where: str, where_messages: str) -> Found:
    steps = Conversation(FORMAT, where, record)
    for number, message in enumerate(messages):
        place = at(where_messages, number)
        for position, part in enumerate(members(message, "parts", place)):
            _add(steps, part, word(message.get("timestamp")), place, at(place, "parts", position))
    answers = [message for message in messages if message["kind"] == "response"]
    asked = filter(None, (text_at(message, "instructions") for message in messages))
    return steps.found(
        agent=next(filter(None, (text_at(answer, "model_name") for answer in answers)), None),
        termination=text_at(answers[-1], "finish_reason") if answers else None,
        policy=next(asked, None),
    )


def _add(steps: Steps, part: dict[str, Any], timestamp: str | None, message: str, where: str) -> None:
    steps.where = where
    kind = type_of(part, "part_kind")
    timestamp = text_at(part, "timestamp") or timestamp
    identity, name = word(part.get("tool_call_id")), text_at(part, "tool_name")
    if kind in ("system-prompt", "user-prompt"):
        role: Role = "system" if kind == "system-prompt" else "user"
        steps.text(role, _text(part.get("content"), where, steps.notes), timestamp)
    elif kind == "text":
        steps.text("assistant", field(part, "content", str, where), timestamp, message=message)
    elif kind == "thinking":
        if text := text_at(part, "content"):
            steps.thinking(text, timestamp)
        else:
            steps.notes.append(Note(where, ENCRYPTED, "thinking"))
    elif kind in _CALLS:
        called = call_of(where, field(part, "tool_name", str, where), part.get("args"), id=identity)
        steps.call(called, timestamp, message=message)
    elif kind in _RETURNS:
        failed = part.get("outcome") in ("failed", "denied") if "outcome" in part else None
        steps.result(identity, as_text(part.get("content")), timestamp, error=failed, name=name)
    elif kind == "retry-prompt":
        if name:
            steps.result(identity, as_text(part.get("content")), timestamp, error=True, name=name)
        else:
            steps.text("user", as_text(part.get("content")), timestamp)
    elif carries_call(part) or "tool" in kind:
        raise Unread(where, part)
    else:
        steps.text("assistant", left_out(kind, where, steps.notes), timestamp, message=message)


def _text(content: Any, where: str, notes: list[Note]) -> str:
    """A prompt: text, or a list of texts and of pictures and files, each of which leaves its kind."""
    texts = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict):
            texts.append(left_out(type_of(part, "kind"), where, notes))
        else:
            texts.append(as_text(part))
    return "\n".join(texts)
