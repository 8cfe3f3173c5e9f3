"""Pieces of conversation, as the records of traces tell them, and the messages that they come from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from axisjudge.readers.chats import gemini_contents
from axisjudge.readers.chats.parts import part_of
from axisjudge.readers.chats.response_items import ITEMS, add_item
from axisjudge.readers.events import Steps, as_text, dict_of, json_of, listed, text_at, type_of
from axisjudge.readers.messages import ROLES, call_of, refuse_unread
from axisjudge.trajectory import Role, ToolCall

_ROLES: dict[str, Role] = {**ROLES, "human": "user", "model": "assistant", "ai": "assistant"}
_READ = ("role", "content", "parts", "tool_calls", "function_call", "tool_call_id", "name")


@dataclass(frozen=True)
class Piece:
    """A piece of conversation: ``text``, ``thinking``, ``call`` or ``result``; `error` is a result's, where stated."""

    kind: str
    role: Role = "assistant"
    text: str = ""
    id: str | None = None
    name: str | None = None
    given: Any = None
    error: bool | None = None

    @cached_property
    def content(self) -> str:
        """Equal for two records of the same piece, whatever their ids."""
        if self.kind == "call":
            given = json_of(self.given)
            return json.dumps([self.kind, self.name, given or {}], sort_keys=True, default=str)
        return json.dumps([self.kind, None if self.kind == "result" else self.role, self.text])

    def is_same(self, other: "Piece") -> bool:
        """Whether both tell the same piece: by their ids where both have one, else by what they hold."""
        if self.kind != other.kind:
            return False
        return self.id == other.id if self.id and other.id else self.content == other.content

    def call(self) -> ToolCall:
        """The call that the piece stands for."""
        return call_of("", self.name or "unknown", self.given, id=self.id)


def pieces_of(messages: list[Any]) -> list[Piece]:
    """The pieces of a list of messages, in any of the usual forms; what is no object is left out."""
    return [piece for message in messages if isinstance(message, dict) for piece in _of_message(message)]


def _of_message(message: dict[str, Any]) -> Iterator[Piece]:
    if "role" not in message and type_of(message) in ITEMS:
        yield from _of_item(message)
        return
    role = _ROLES.get(str(message.get("role")), "assistant")
    content = json_of(message.get("content")) if str(message.get("content"))[:2] == "[{" else message.get("content")
    parts = message.get("parts", content)
    if role == "tool" and not isinstance(message.get("parts"), list):
        identity, name = text_at(message, "tool_call_id", "id"), text_at(message, "name")
        yield Piece("result", "tool", plain(content), identity, name, error=_flag(message, "is_error"))
        return
    refuse_unread(message, "message", _READ)
    stated = [
        piece for part in (parts if isinstance(parts, list) else [parts]) if part for piece in _of_part(part, role)
    ]
    yield from stated
    calls = [piece for piece in stated if piece.kind == "call"]  # some tell a call as a part and once more beside them
    for record in listed(json_of(message.get("tool_calls"))):
        if isinstance(record, dict):
            inner = dict_of(record, "function") or record
            given = inner.get("arguments", inner.get("args"))
            piece = Piece("call", id=text_at(record, "id"), name=text_at(inner, "name"), given=given)
            twin = next((call for call in calls if call.is_same(piece)), None)
            if twin is None:
                yield piece
            else:
                calls.remove(twin)


def _of_item(item: dict[str, Any]) -> Iterator[Piece]:
    """An item of OpenAI's Responses that is no message: a call, a result, both of a provider's tool, or a thought."""
    steps = Steps()
    add_item(steps, item, "item")
    for step in steps.all():
        if step.role == "tool":
            yield Piece("result", "tool", step.content, step.tool_call_id, step.tool_name, error=step.error)
        elif step.content:
            yield Piece("thinking" if step.kind == "thinking" else "text", step.role, step.content)
        yield from (Piece("call", id=call.id, name=call.name, given=call.arguments) for call in step.tool_calls)


def _of_part(part: Any, role: Role) -> Iterator[Piece]:
    """A part of a message: an item, a part with a type, or one of Gemini's, whose key says what it is."""
    if not isinstance(part, dict):
        yield Piece("text", role, as_text(part))
    elif type_of(part) in ITEMS - {"reasoning"}:
        yield from _of_item(part)
    else:
        read = gemini_contents.part_of if "type" not in part and "content" not in part else part_of
        if (stated := read(part, "part", [])) is None:
            return
        if stated.call is not None:
            yield Piece("call", id=stated.call.id, name=stated.call.name, given=stated.call.arguments)
        else:
            speaker: Role = {"result": "tool", "thinking": "assistant"}.get(stated.kind, role)  # type: ignore[assignment]
            yield Piece(stated.kind, speaker, stated.text, stated.id, stated.name, error=stated.error)


def _flag(record: dict[str, Any], key: str) -> bool | None:
    value = record.get(key)
    return value if isinstance(value, bool) else None


def plain(content: Any) -> str:
    """A tool's content as text: typed parts give their texts, anything else is shown as it is."""
    if isinstance(content, dict) and isinstance(content.get("content"), list):
        return plain(content["content"])
    if isinstance(content, list) and content and all(isinstance(part, dict) and "text" in part for part in content):
        return "\n".join(as_text(part["text"]) for part in content)
    return as_text(content)
