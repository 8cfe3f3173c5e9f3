"""Chats of several agents whose messages name their speakers, as AutoGen 0.2 and AG2 keep them.

Who writes it: ``ChatResult.chat_history``, ``GroupChat.messages``, ``agent.chat_messages``, and what is made from them
(``history``); Swarm's responses.
Each message has a ``name`` (Swarm: ``sender``) beside OpenAI's ``role``; some sets put the name into the role. Schema:
https://docs.ag2.ai/latest/docs/api-reference/autogen/ChatResult and
https://docs.ag2.ai/latest/docs/api-reference/autogen/ConversableAgent.

A role there says whose side the history was kept on, not who is the user. So the roles are believed only where each
name has one role, the first speaker is no assistant, and an assistant says something that is no call. Else the speaker
``user`` or ``human``, or the first who makes no call, is the user, and all others are agents.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers.chats.parts import (
    Conversation,
    add_message,
    is_record_or_list,
    list_of_objects,
    schemas,
    threads_in,
)
from axisjudge.readers.messages import Found, Note, at, members, text_of
from axisjudge.trajectory import Role

FORMAT = "named_speakers"
_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_LISTS = ("messages", "chat_history", "history")


def recognise(value: Any) -> bool:
    """Whether the JSON value is a chat with two named speakers or more, or one with AutoGen's joint tool messages."""
    return _is_chat(value) or is_record_or_list(value, lambda record: _list_in(record) is not None)


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The chats of a file."""
    return (_conversation(*thread) for thread in threads_in(value, where, _is_chat, _key_of))


def _key_of(record: dict[str, Any]) -> str:
    return _list_in(record) or next((key for key in _LISTS if key in record), _LISTS[0])


def _list_in(record: dict[str, Any]) -> str | None:
    return next((key for key in _LISTS if _is_chat(record.get(key))), None)


def _is_chat(value: Any) -> bool:
    messages = list_of_objects(value)
    if not all(isinstance(message.get("role"), str) and "content" in message for message in messages):
        return False
    names = {speaker for message in messages if (speaker := _speaker(message))}
    return len(names) > 1 or any(message.get("tool_responses") for message in messages)


def _speaker(message: dict[str, Any]) -> str | None:
    """Who speaks: the message's name, or a role that is none of OpenAI's; None for tools and system messages."""
    role = message["role"]
    if role in ("tool", "function", "system", "developer"):
        return None
    name = message.get("name") or message.get("sender")
    return name if isinstance(name, str) and name else None if role in _ROLES else str(role)


def _conversation(record: dict[str, Any], messages: list[dict[str, Any]], where: str, where_messages: str) -> Found:
    named = {"id": record.get("id") or record.get("chat_id")}
    named |= {"task_id": record.get("task_id") or record.get("question_ID")}
    steps = Conversation(FORMAT, where, {**record, **named})
    roles = _roles(messages)
    if roles:
        stated = ", ".join(f"{name}: {role}" for name, role in roles.items())
        steps.notes.append(Note(where, "roles tell whose history this is, so speakers are told apart by name", stated))
    for number, message in enumerate(messages):
        speaker = _speaker(message)
        steps.agent = speaker or (message.get("name") if message["role"] == "tool" else None)
        role: Role | None = roles.get(speaker) if speaker else None
        add_message(steps, message, at(where_messages, number), role=role)
    agents = sorted({step.agent for step in steps.all() if step.agent and step.role == "assistant"})
    system, place = record.get("system"), at(where, "tools")
    tools = [(at(place, n), tool) for n, tool in enumerate(members(record, "tools", where))]
    return steps.found(
        policy=text_of(system, at(where, "system"), steps.notes) or None if isinstance(system, str) else None,
        tools=schemas(tools, steps.notes, place) if record.get("tools") is not None else None,
        meta={"agents": agents} if agents else {},
    )


def _roles(messages: list[dict[str, Any]]) -> dict[str, Role]:
    """The role of each speaker where the roles of the messages cannot be believed; empty where they can."""
    stated: dict[str, set[str]] = {}
    for message in messages:
        if speaker := _speaker(message):
            stated.setdefault(speaker, set()).add(str(message["role"]))
    unnamed_user = any(message["role"] == "user" and _speaker(message) is None for message in messages)
    if unnamed_user and all(roles == {"assistant"} for roles in stated.values()):
        return {}
    agents = {_speaker(message) for message in messages if message.get("tool_calls") or message.get("function_call")}
    answers = any(message["role"] == "assistant" and _speaker(message) not in agents for message in messages)
    answers |= any(
        message["role"] == "assistant" and not (message.get("tool_calls") or message.get("function_call"))
        for message in messages
    )
    first = next(iter(stated), "")
    if answers and all(len(roles) == 1 and roles <= _ROLES for roles in stated.values()) and stated[first] == {"user"}:
        return {}
    user = next((name for name in stated if name.lower() in ("user", "human")), None)
    user = user or next((name for name in stated if name not in agents), None)
    return {name: "user" if name == user else "assistant" for name in stated}
