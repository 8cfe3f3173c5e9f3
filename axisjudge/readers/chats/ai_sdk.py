"""Vercel's AI SDK: model messages (parts ``tool-call``, ``tool-result``) and the messages of its user interfaces.

Who writes it: programs that keep ``messages`` and ``response.messages`` of ``generateText``, and chats that store
``UIMessage`` (``{role, parts}``, a part of type ``tool-NAME`` for a call together with its result). Schema:
https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message and https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers.chats.parts import Conversation, add_message, holds_list, list_of_objects, threads_in
from axisjudge.readers.events import dict_of, text_at, type_of
from axisjudge.readers.messages import Found, Unread, at, objects, word

FORMAT = "ai_sdk"
_MODEL_PARTS = {"tool-call", "tool-result"}
_DONE = {"output-available": False, "result": False, "output-error": True, "output-denied": True}
_NO_PARTS = ("step-start", "source-url", "source-document")


def recognise(value: Any) -> bool:
    """Whether the JSON value holds messages of the AI SDK, or a record with ``messages`` of it."""
    return holds_list(value, _are_messages, "messages")


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The conversations of a file."""
    return (_conversation(*thread) for thread in threads_in(value, where, _are_messages, "messages"))


def _are_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    parts = [part for message in messages for part in list_of_objects(message.get("content"))]
    shown = [part for message in messages for part in list_of_objects(message.get("parts"))]
    typed = bool(shown) and all(isinstance(part.get("type"), str) for part in shown)
    return all("role" in message for message in messages) and (
        typed or any(type_of(part) in _MODEL_PARTS for part in parts)
    )


def _conversation(record: dict[str, Any], messages: list[dict[str, Any]], where: str, where_messages: str) -> Found:
    steps = Conversation(FORMAT, where, record)
    for number, message in enumerate(messages):
        place = at(where_messages, number)
        if isinstance(message.get("parts"), list):
            parts = objects(message["parts"], at(place, "parts"))
            message = {**message, "content": [typed for part in parts for typed in _typed(part, place)]}
            message = {key: value for key, value in message.items() if key not in ("parts", "toolInvocations")}
        add_message(steps, message, place)
    return steps.found(agent=word(record.get("model")), policy=text_at(record, "system"))


def _typed(part: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
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
        if (state := str(part.get("state"))) in _DONE:
            output = next((part[key] for key in ("output", "result", "errorText") if part.get(key) is not None), None)
            failed = _DONE[state]
            yield {"type": "tool-result", "toolCallId": identity, "toolName": name, "output": output, "isError": failed}
    elif kind not in _NO_PARTS:
        yield part
