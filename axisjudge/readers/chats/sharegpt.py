"""ShareGPT: conversations whose turns are ``{from, value}``, as data sets for training keep them.

Who writes it: sets for LLaMA-Factory (``human``, ``gpt``, ``function_call``, ``observation``; tools as JSON text),
Axolotl, and those of Hermes and xLAM (``tool``), whose calls stand in the text (see `in_text`). Turns under
``conversations`` may also be ``{role, content}``. Schema: hiyouga/LLaMA-Factory, data/README.md.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers.chats.in_text import read_calls
from axisjudge.readers.chats.parts import (
    Conversation,
    add_message,
    is_record_or_list,
    list_of_objects,
    schemas,
    threads_in,
)
from axisjudge.readers.events import Steps, json_of, listed
from axisjudge.readers.messages import Found, Unread, at, call_of, field, objects, text_of, word
from axisjudge.trajectory import Step

FORMAT = "sharegpt"
_ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "model", "chatgpt", "bot", "function_call", "tool_call"), "assistant"),
    **dict.fromkeys(("observation", "tool", "tool_response", "function_response", "ipython", "function"), "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
}
_CALLS = ("function_call", "tool_call")
_LISTS = ("conversations", "conversation", "messages")


def recognise(value: Any) -> bool:
    """Whether the JSON value is a list of turns, or a record with ``conversations``, or a list of such."""
    return _are_turns(value) or is_record_or_list(value, lambda record: _list_in(record) is not None)


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The conversations of a file."""
    threads = threads_in(value, where, _are_turns, lambda record: _list_in(record) or _LISTS[0])
    return (_conversation(*thread) for thread in threads)


def _list_in(record: dict[str, Any]) -> str | None:
    plain = list_of_objects(record.get("conversations"))
    if plain and all("role" in turn for turn in plain):
        return "conversations"
    return next((key for key in _LISTS if _are_turns(record.get(key))), None)


def _are_turns(value: Any) -> bool:
    turns = list_of_objects(value)
    return bool(turns) and all(isinstance(turn.get("from"), str) and "value" in turn for turn in turns)


def _conversation(record: dict[str, Any], turns: list[dict[str, Any]], where: str, where_turns: str) -> Found:
    if record.get("chosen") is not None and record.get("rejected") is not None:
        rule = "has two answers, chosen and rejected, and a run has one"
        raise InputError(where, rule, cure="make each answer the end of a conversation of its own")
    steps = Conversation(FORMAT, where, record)
    for number, turn in enumerate(turns):
        _add(steps, turn, at(where_turns, number))
    tools = json_of(record.get("tools")) or None
    offered = [(at(where, "tools", n), tool) for n, tool in enumerate(objects(listed(tools), at(where, "tools")))]
    system = record.get("system") or record.get("system_prompt")
    return steps.found(
        agent=word(record.get("model")),
        policy=text_of(system, at(where, "system"), steps.notes) or None if isinstance(system, str) else None,
        tools=schemas(offered, steps.notes, at(where, "tools")) if tools is not None else None,
    )


def _add(steps: Steps, turn: dict[str, Any], where: str) -> None:
    speaker = field(turn, "from" if "from" in turn else "role", str, where)
    role = _ROLES.get(speaker.lower())
    if role is None:
        raise InputError(at(where, "from"), f"must be one of {', '.join(_ROLES)}", speaker)
    content = turn["value"] if "value" in turn else turn.get("content")
    if speaker.lower() in _CALLS:
        _call(steps, content, where)
        return
    message = {name: inner for name, inner in turn.items() if name not in ("from", "value")}
    add_message(steps, {**message, "role": role, "content": content}, where)


def _call(steps: Steps, content: Any, where: str) -> None:
    """A turn that is a call: JSON, a list of such, or text with a call in a form of the model's own."""
    steps.where = where
    records = listed(json_of(content))
    if records and all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in records):
        for one in records:
            given = next((one[key] for key in ("arguments", "parameters", "args") if key in one), None)
            steps.call(call_of(where, one["name"], given, id=word(one.get("id"))), None, message=where)
        return
    (step, *more) = read_calls((Step(index=0, role="assistant", content=str(content)),))
    if more or not step.tool_calls:
        raise Unread(where, content)
    if step.content:
        steps.text("assistant", step.content, None, message=where)
    for call in step.tool_calls:
        steps.call(call, None, message=where)
