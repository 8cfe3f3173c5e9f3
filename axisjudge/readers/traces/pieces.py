"""Pieces of conversation, as the records of traces tell them, and the messages that they come from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic_core import from_json

from axisjudge.readers.events import dict_of, shown, text_at
from axisjudge.readers.messages import ROLES, call_of
from axisjudge.trajectory import Role, ToolCall

_ROLES: dict[str, Role] = {**ROLES, "human": "user", "model": "assistant", "ai": "assistant"}


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
    if message.get("type") in ("function_call", "function_call_output", "reasoning") and "role" not in message:
        yield from _of_item(message)
        return
    role = _ROLES.get(str(message.get("role")), "assistant")
    content = json_of(message.get("content")) if str(message.get("content"))[:2] == "[{" else message.get("content")
    parts = message.get("parts", content)
    if role == "tool" and not isinstance(message.get("parts"), list):
        identity, name = text_at(message, "tool_call_id", "id"), text_at(message, "name")
        yield Piece("result", "tool", plain(content), identity, name, error=_flag(message, "is_error"))
        return
    told: list[Piece] = []
    for part in parts if isinstance(parts, list) else [parts]:
        told += _of_part(part, role)
    yield from told
    calls = [piece for piece in told if piece.kind == "call"]  # some tell a call as a part and once more beside them
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
    """An item of OpenAI's Responses that is no message."""
    if item["type"] == "function_call":
        yield Piece("call", id=text_at(item, "call_id", "id"), name=text_at(item, "name"), given=item.get("arguments"))
    elif item["type"] == "function_call_output":
        yield Piece("result", "tool", plain(item.get("output")), text_at(item, "call_id"))
    else:
        texts = (text_at(part, "text") for part in listed(item.get("summary")) if isinstance(part, dict))
        if text := "\n".join(filter(None, texts)):
            yield Piece("thinking", text=text)


def _of_part(part: Any, role: Role) -> Iterator[Piece]:
    if not isinstance(part, dict):
        if part:
            yield Piece("text", role, shown(part))
        return
    kind = part.get("type")
    if kind in ("tool_call", "tool_use"):
        given = part.get("arguments", part.get("input", part.get("args")))
        yield Piece("call", id=text_at(part, "id"), name=text_at(part, "name"), given=given)
    elif kind in ("tool_call_response", "tool_result"):
        response = next((part[key] for key in ("response", "result", "content") if key in part), None)
        identity = text_at(part, "id", "tool_use_id")
        yield Piece("result", "tool", plain(response), identity, error=_flag(part, "is_error"))
    elif kind in ("function_call", "function_call_output"):
        yield from _of_item(part)
    elif asked := dict_of(part, "function_call"):
        yield Piece("call", id=text_at(asked, "id"), name=text_at(asked, "name"), given=asked.get("args"))
    elif told := dict_of(part, "function_response"):
        yield Piece("result", "tool", plain(told.get("response")), text_at(told, "id"), text_at(told, "name"))
    elif kind in ("reasoning", "thinking") or part.get("thought") is True:
        yield Piece("thinking", text=text_at(part, "content", "text", "thinking") or "")
    else:
        yield Piece("text", role, text_at(part, "content", "text") or f"[{kind}]")


def _flag(record: dict[str, Any], key: str) -> bool | None:
    value = record.get(key)
    return value if isinstance(value, bool) else None


def plain(content: Any) -> str:
    """A tool's content as text: typed parts give their texts, anything else is shown as it is."""
    if isinstance(content, dict) and isinstance(content.get("content"), list):
        return plain(content["content"])
    if isinstance(content, list) and content and all(isinstance(part, dict) and "text" in part for part in content):
        return "\n".join(shown(part["text"]) for part in content)
    return shown(content)


def json_of(value: Any) -> Any:
    """What JSON text stands for; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return from_json(value)
        except ValueError:
            return value
    return value


def listed(value: Any) -> list[Any]:
    """A list as it is, nothing for null, anything else as a list of one."""
    if isinstance(value, list):
        return value
    decoded = json_of(value)
    return decoded if isinstance(decoded, list) else [] if value is None else [value]
