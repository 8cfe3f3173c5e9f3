"""Conversations as frameworks and data sets write them: Pydantic AI, smolagents, SWE-agent, ShareGPT, names."""

import json
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers import messages as chat
from axisjudge.readers import openai_chat
from axisjudge.readers.chats.in_text import read_calls
from axisjudge.readers.chats.parts import (
    Conversation,
    MessagePart,
    add_message,
    format_of_lists,
    grow,
    is_record_or_list,
    list_of_objects,
    parts_of,
    schemas,
    threads_in,
)
from axisjudge.readers.events import ENCRYPTED, Steps, as_text, dict_of, iso, json_of, listed, text_at, type_of
from axisjudge.trajectory import Role, Step, ToolCall

# Messages of Pydantic AI: requests and responses whose parts say what they are by ``part_kind``.
#
# Who writes it: ``result.all_messages_json()``, ``new_messages_json()`` and ``ModelMessagesTypeAdapter.dump_json``.
# Source: pydantic/pydantic-ai, pydantic_ai_slim/pydantic_ai/messages.py.

_PYDANTIC = "pydantic_ai"
_PYDANTIC_CALLS = ("tool-call", "builtin-tool-call")
_RETURNS = ("tool-return", "builtin-tool-return")


def _are_messages(value: Any) -> bool:
    messages = list_of_objects(value)
    return bool(messages) and all(
        message.get("kind") in ("request", "response") and isinstance(message.get("parts"), list)
        for message in messages
    )


def _pydantic_conversation(
    record: dict[str, Any], messages: list[dict[str, Any]], where: str, where_messages: str
) -> chat.ReadRun:
    steps = Conversation(_PYDANTIC, where, record)
    for number, message in enumerate(messages):
        path = chat.at(where_messages, number)
        for position, part in enumerate(chat.members(message, "parts", path)):
            _pydantic_add(steps, part, chat.word(message.get("timestamp")), path, chat.at(path, "parts", position))
    answers = [message for message in messages if message["kind"] == "response"]
    asked = filter(None, (text_at(message, "instructions") for message in messages))
    return steps.finish(
        agent=next(filter(None, (text_at(answer, "model_name") for answer in answers)), None),
        termination=text_at(answers[-1], "finish_reason") if answers else None,
        policy=next(asked, None),
    )


def _pydantic_add(steps: Steps, part: dict[str, Any], timestamp: str | None, message: str, where: str) -> None:
    steps.where = where
    kind = type_of(part, "part_kind")
    timestamp = text_at(part, "timestamp") or timestamp
    identity, name = chat.word(part.get("tool_call_id")), text_at(part, "tool_name")
    if kind in ("system-prompt", "user-prompt"):
        role: Role = "system" if kind == "system-prompt" else "user"
        steps.text(role, _text(part.get("content"), where, steps.notes), timestamp)
    elif kind == "text":
        steps.text("assistant", chat.field(part, "content", str, where), timestamp, message=message)
    elif kind == "thinking":
        if text := text_at(part, "content"):
            steps.thinking(text, timestamp)
        else:
            steps.notes.append(chat.Note(where, ENCRYPTED, "thinking"))
    elif kind in _PYDANTIC_CALLS:
        called = chat.call_of(where, chat.field(part, "tool_name", str, where), part.get("args"), id=identity)
        steps.call(called, timestamp, message=message)
    elif kind in _RETURNS:
        failed = part.get("outcome") in ("failed", "denied") if "outcome" in part else None
        steps.result(identity, as_text(part.get("content")), timestamp, error=failed, name=name)
    elif kind == "retry-prompt":
        if name:
            steps.result(identity, as_text(part.get("content")), timestamp, error=True, name=name)
        else:
            steps.text("user", as_text(part.get("content")), timestamp)
    elif chat.carries_call(part) or "tool" in kind:
        raise chat.Unread(where, part)
    else:
        steps.text("assistant", chat.left_out(kind, where, steps.notes), timestamp, message=message)


def _text(content: Any, where: str, notes: list[chat.Note]) -> str:
    """A prompt: text, or a list of texts and of pictures and files, each of which leaves its kind."""
    texts = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict):
            texts.append(chat.left_out(type_of(part, "kind"), where, notes))
        else:
            texts.append(as_text(part))
    return "\n".join(texts)


# The memory of smolagents: a list of steps, of which those of the agent hold calls and what was observed.
#
# Who writes it: ``agent.memory.get_full_steps()`` and ``get_succinct_steps()``, and ``RunResult.dict()`` (``steps``).
# What several calls of one step gave back is one text there; it is kept as the result of the first of them, and
# noted. Source: huggingface/smolagents, src/smolagents/memory.py.

_SMOLAGENTS = "smolagents"
_READ = ("tool_calls", "observations", "model_output", "model_output_message", "code_action", "model_input_messages")
_JOINT = "several calls have one observation, kept as the result of the first"


def _is_memory(value: Any) -> bool:
    steps = list_of_objects(value)
    return any("step_number" in step and bool(step.keys() & set(_READ)) for step in steps)


def _run(record: dict[str, Any], memory: list[dict[str, Any]], where: str, where_steps: str) -> chat.ReadRun:
    steps = Conversation(_SMOLAGENTS, where, record)
    for number, step in enumerate(memory):
        steps.where = position = chat.at(where_steps, number)
        if text := text_at(step, "system_prompt"):
            steps.text("system", text, None)
        elif "task" in step:
            steps.text("user", as_text(step["task"]), None)
        elif "step_number" in step or step.get("observations"):
            _act(steps, step, position)
        elif text := text_at(step, "plan"):
            steps.text("assistant", text, _moment(step))
        else:
            chat.refuse_unread(step, position, ("model_input_messages", "model_output_message"))
    state = text_at(record, "state")
    return steps.finish(termination=state)


def _act(steps: Steps, step: dict[str, Any], where: str) -> None:
    """One step of the agent: what it wrote, what it called, what it saw or what went wrong."""
    chat.refuse_unread(step, where, _READ)
    moment = _moment(step)
    calls = tuple(map(_named_argument, chat.chat_calls(step, "assistant", where)))
    written = step.get("model_output") or dict_of(step, "model_output_message").get("content")
    stated = parts_of(written, chat.at(where, "model_output"), steps.notes)
    parts = [part for part in stated if part.kind in ("text", "thinking")]
    grow(steps, "assistant", [*parts, *(MessagePart("call", call=call) for call in calls)], where, moment)
    failure = step.get("error") or None
    problem = as_text(failure.get("message", failure) if isinstance(failure, dict) else failure) or None
    seen = "\n".join(filter(None, (as_text(step.get("observations")), problem)))
    if step.get("observations_images"):
        seen = f"{seen}\n{chat.left_out('image', where, steps.notes)}".strip()
    if calls and (seen or step.get("observations") is not None):
        steps.notes += [chat.Note(where, _JOINT, ", ".join(call.name for call in calls))] if len(calls) > 1 else []
        steps.result(calls[0].id, seen, moment, error=problem is not None, name=calls[0].name)
    elif problem:
        steps.error(problem, moment)
    elif seen:
        steps.result(None, seen, moment, error=False)


def _named_argument(call: ToolCall) -> ToolCall:
    """A call whose one argument is text, as the interpreter's code is."""
    if call.arguments_error is None:
        return call
    name = "code" if call.name == "python_interpreter" else "input"
    return call.model_copy(update={"arguments": {name: call.arguments}, "arguments_error": None})


def _moment(step: dict[str, Any]) -> str | None:
    ended = dict_of(step, "timing").get("end_time")
    return iso(int(ended * 10**9)) if isinstance(ended, int | float) and abs(ended) < 1e11 else None


# SWE-agent's ``.traj`` and mini-SWE-agent's ``.traj.json``: an agent that works in a shell, one command a turn.
#
# What the model called as a tool is read as that call; a command that stands in its text is a call of ``bash``. The
# conversation of a ``.traj`` is its ``history``; demonstrations in it are no part of the run. Source: SWE-agent/SWE-
# agent, sweagent/types.py and docs/usage/trajectories.md; SWE-agent/mini-swe-agent, docs/usage/output_files.md and
# docs/advanced/v2_migration.md.

_SWE_AGENT = "swe_agent"
_FENCED = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\n(.*?)\n?```", re.DOTALL)


def _is_swe_agent(value: Any) -> bool:
    """Whether the JSON value is a trajectory of SWE-agent, or of mini-SWE-agent, which are messages with a mark."""
    if isinstance(value, dict):
        turns = list_of_objects(value.get("history"))
        marked = "trajectory" in value or any("action" in turn for turn in turns)
        return _is_mini(value) or (bool(turns) and marked and all("role" in turn for turn in turns))
    commands = (one["content"] for one in list_of_objects(value) if isinstance(one.get("content"), str))
    return any("```mswea_bash_command\n" in content for content in commands)


def _is_mini(value: dict[str, Any]) -> bool:
    marked = str(value.get("trajectory_format")).startswith("mini-swe-agent") or "mini_version" in dict_of(
        value, "info"
    )
    return marked and isinstance(value.get("messages"), list)


def _read_swe_agent(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """The one run of a file."""
    value = value if isinstance(value, dict) else {"messages": value}
    info, notes = dict_of(value, "info"), list[chat.Note]()
    replayed = json_of(value.get("replay_config"))
    replayed = replayed if isinstance(replayed, dict) else {}
    agent = text_at(dict_of(dict_of(replayed, "agent"), "model"), "name")
    record = {
        "messages": _of_history(value, where, notes) if "history" in value else _of_mini(value, where),
        "agent": agent or text_at(dict_of(dict_of(info, "config"), "model"), "model_name"),
        "task_id": text_at(value, "instance_id") or text_at(dict_of(replayed, "problem_statement"), "id"),
        "termination": text_at(info, "exit_status"),
    }
    for position, run, more, _ in openai_chat.read(record, where, folder):
        yield chat.ReadRun(position, run and run.model_copy(update={"source": _SWE_AGENT}), (*notes, *more))


def _of_history(value: dict[str, Any], where: str, notes: list[chat.Note]) -> list[dict[str, Any]]:
    """The messages of a history; where it dropped turns, as it does after some errors, all turns of the trajectory."""
    history, turns = value["history"], list_of_objects(value.get("trajectory"))
    if shown := sum(bool(turn.get("is_demo")) for turn in history):
        notes.append(chat.Note(chat.at(where, "history"), "a demonstration is no part of the run", "", shown))
    history = [turn for turn in history if not turn.get("is_demo")]
    commands = [turn for turn in turns if text_at(turn, "action")]
    kept = [turn for turn in history if turn.get("tool_calls") or text_at(turn, "action")]
    if len(commands) > len(kept):
        rule = "turns that the history leaves out are read from the trajectory"
        notes.append(chat.Note(chat.at(where, "history"), rule, "", len(commands) - len(kept)))
        history = [*takewhile(lambda turn: turn["role"] != "assistant", history)]
        for turn in turns:
            answer = {"role": "assistant", "content": turn.get("response"), **turn}
            history += [answer, {"role": "user", "content": turn.get("observation")}]
    messages = _answered([_turn(turn) for turn in history])
    if messages and turns and (calls := messages[-1].get("tool_calls")):  # the history ends before the last answer
        messages.append({"role": "tool", "tool_call_id": calls[-1].get("id"), "content": turns[-1].get("observation")})
    return messages


def _turn(turn: dict[str, Any]) -> dict[str, Any]:
    """A turn of the history as a message; a command outside of any call as a call of ``bash``."""
    message = {key: turn[key] for key in ("role", "content", "tool_calls") if turn.get(key) is not None}
    if turn["role"] == "tool":
        return {**message, "tool_call_id": next(iter(turn.get("tool_call_ids") or ()), None)}
    if turn["role"] == "assistant" and not turn.get("tool_calls") and (action := text_at(turn, "action")):
        return {"role": "assistant", "content": turn.get("thought"), **_command(action)}
    return message


def _of_mini(value: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """The messages; one block of commands, and no more, is what this agent runs, and an end is no turn."""
    messages = []
    for number, message in enumerate(value["messages"]):
        if not isinstance(message, dict) or message.get("object") == "response":
            raise chat.Unread(
                chat.at(where, "messages", number), message, cure="read the responses themselves: OpenAI's"
            )
        if message.get("role") == "assistant" and not message.get("tool_calls"):
            parts = parts_of(message.get("content"), chat.at(where, "messages", number), [])
            content = "\n".join(part.text for part in parts if part.kind == "text")
            commands = _FENCED.findall(content)
            if len(commands) == 1:
                message = {"role": "assistant", "content": _FENCED.sub("", content).strip(), **_command(commands[0])}
        if message.get("role") != "exit":
            messages.append({key: inner for key, inner in message.items() if key != "extra"})
    return _answered(messages)


def _command(text: str) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": "bash", "arguments": json.dumps({"command": text.strip()})}}]}


def _answered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with an id for each command; the user's word after one is what came of it."""
    whole: list[dict[str, Any]] = []
    for message in messages:
        before = (whole[-1].get("tool_calls") or [{}])[-1] if whole else {}
        for call in message.get("tool_calls") or ():
            call.setdefault("id", f"command-{len(whole)}")
        if message["role"] == "user" and str(before.get("id")).startswith("command-"):
            message = {**message, "role": "tool", "tool_call_id": before["id"]}
        whole.append(message)
    return whole


# ShareGPT: conversations whose turns are ``{from, value}``, as data sets for training keep them.
#
# Who writes it: sets for LLaMA-Factory (``human``, ``gpt``, ``function_call``, ``observation``; tools as JSON text),
# Axolotl, and those of Hermes and xLAM (``tool``), whose calls stand in the text (see `in_text`). Turns under
# ``conversations`` may also be ``{role, content}``. Schema: hiyouga/LLaMA-Factory, data/README.md.

_SHAREGPT = "sharegpt"
_SHAREGPT_ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "model", "chatgpt", "bot", "function_call", "tool_call"), "assistant"),
    **dict.fromkeys(("observation", "tool", "tool_response", "function_response", "ipython", "function"), "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
}
_SHAREGPT_CALLS = ("function_call", "tool_call")
_SHAREGPT_LISTS = ("conversations", "conversation", "messages")


def _is_sharegpt(value: Any) -> bool:
    """Whether the JSON value is a list of turns, or a record with ``conversations``, or a list of such."""
    return _are_turns(value) or is_record_or_list(value, lambda record: _sharegpt_list_in(record) is not None)


def _read_sharegpt(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """The conversations of a file."""
    threads = threads_in(value, where, _are_turns, lambda record: _sharegpt_list_in(record) or _SHAREGPT_LISTS[0])
    return (_sharegpt_conversation(*thread) for thread in threads)


def _sharegpt_list_in(record: dict[str, Any]) -> str | None:
    plain = list_of_objects(record.get("conversations"))
    if plain and all("role" in turn for turn in plain):
        return "conversations"
    return next((key for key in _SHAREGPT_LISTS if _are_turns(record.get(key))), None)


def _are_turns(value: Any) -> bool:
    turns = list_of_objects(value)
    return bool(turns) and all(isinstance(turn.get("from"), str) and "value" in turn for turn in turns)


def _sharegpt_conversation(
    record: dict[str, Any], turns: list[dict[str, Any]], where: str, where_turns: str
) -> chat.ReadRun:
    if record.get("chosen") is not None and record.get("rejected") is not None:
        rule = "has two answers, chosen and rejected, and a run has one"
        raise InputError(where, rule, cure="make each answer the end of a conversation of its own")
    steps = Conversation(_SHAREGPT, where, record)
    for number, turn in enumerate(turns):
        _sharegpt_add(steps, turn, chat.at(where_turns, number))
    tools = json_of(record.get("tools")) or None
    offered = [
        (chat.at(where, "tools", n), tool)
        for n, tool in enumerate(chat.objects(listed(tools), chat.at(where, "tools")))
    ]
    system = record.get("system") or record.get("system_prompt")
    return steps.finish(
        agent=chat.word(record.get("model")),
        policy=chat.text_of(system, chat.at(where, "system"), steps.notes) or None if isinstance(system, str) else None,
        tools=schemas(offered, steps.notes, chat.at(where, "tools")) if tools is not None else None,
    )


def _sharegpt_add(steps: Steps, turn: dict[str, Any], where: str) -> None:
    speaker = chat.field(turn, "from" if "from" in turn else "role", str, where)
    role = _SHAREGPT_ROLES.get(speaker.lower())
    if role is None:
        raise InputError(chat.at(where, "from"), f"must be one of {', '.join(_SHAREGPT_ROLES)}", speaker)
    content = turn["value"] if "value" in turn else turn.get("content")
    if speaker.lower() in _SHAREGPT_CALLS:
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
            steps.call(chat.call_of(where, one["name"], given, id=chat.word(one.get("id"))), None, message=where)
        return
    (step, *more) = read_calls((Step(index=0, role="assistant", content=str(content)),))
    if more or not step.tool_calls:
        raise chat.Unread(where, content)
    if step.content:
        steps.text("assistant", step.content, None, message=where)
    for call in step.tool_calls:
        steps.call(call, None, message=where)


# Chats of several agents whose messages name their speakers, as AutoGen 0.2 and AG2 keep them.
#
# Who writes it: ``ChatResult.chat_history``, ``GroupChat.messages``, ``agent.chat_messages``, and what is made from
# them (``history``); Swarm's responses. Each message has a ``name`` (Swarm: ``sender``) beside OpenAI's ``role``;
# some sets put the name into the role. Schema: https://docs.ag2.ai/latest/docs/api-reference/autogen/ChatResult and
# https://docs.ag2.ai/latest/docs/api-reference/autogen/ConversableAgent.
#
# A role there says whose side the history was kept on, not who is the user. So the roles are believed only where each
# name has one role, the first speaker is no assistant, and an assistant says something that is no call. Else the
# speaker ``user`` or ``human``, or the first who makes no call, is the user, and all others are agents.

_NAMED = "named_speakers"
_NAMED_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_NAMED_LISTS = ("messages", "chat_history", "history")


def _is_named(value: Any) -> bool:
    """Whether the JSON value is a chat with two named speakers or more, or one with AutoGen's joint tool messages."""
    return _is_chat(value) or is_record_or_list(value, lambda record: _named_list_in(record) is not None)


def _read_named(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """The chats of a file."""
    return (_named_conversation(*thread) for thread in threads_in(value, where, _is_chat, _key_of))


def _key_of(record: dict[str, Any]) -> str:
    return _named_list_in(record) or next((key for key in _NAMED_LISTS if key in record), _NAMED_LISTS[0])


def _named_list_in(record: dict[str, Any]) -> str | None:
    return next((key for key in _NAMED_LISTS if _is_chat(record.get(key))), None)


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
    return name if isinstance(name, str) and name else None if role in _NAMED_ROLES else str(role)


def _named_conversation(
    record: dict[str, Any], messages: list[dict[str, Any]], where: str, where_messages: str
) -> chat.ReadRun:
    named = {"id": record.get("id") or record.get("chat_id")}
    named |= {"task_id": record.get("task_id") or record.get("question_ID")}
    steps = Conversation(_NAMED, where, {**record, **named})
    roles = _roles(messages)
    if roles:
        stated = ", ".join(f"{name}: {role}" for name, role in roles.items())
        steps.notes.append(
            chat.Note(where, "roles tell whose history this is, so speakers are told apart by name", stated)
        )
    for number, message in enumerate(messages):
        speaker = _speaker(message)
        steps.agent = speaker or (message.get("name") if message["role"] == "tool" else None)
        role: Role | None = roles.get(speaker) if speaker else None
        add_message(steps, message, chat.at(where_messages, number), role=role)
    agents = sorted({step.agent for step in steps.all() if step.agent and step.role == "assistant"})
    system, path = record.get("system"), chat.at(where, "tools")
    tools = [(chat.at(path, n), tool) for n, tool in enumerate(chat.members(record, "tools", where))]
    return steps.finish(
        policy=chat.text_of(system, chat.at(where, "system"), steps.notes) or None if isinstance(system, str) else None,
        tools=schemas(tools, steps.notes, path) if record.get("tools") is not None else None,
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
    if (
        answers
        and all(len(roles) == 1 and roles <= _NAMED_ROLES for roles in stated.values())
        and stated[first] == {"user"}
    ):
        return {}
    user = next((name for name in stated if name.lower() in ("user", "human")), None)
    user = user or next((name for name in stated if name not in agents), None)
    return {name: "user" if name == user else "assistant" for name in stated}


#: Asked before and after the APIs that they resemble.
FIRST = (
    chat.ValueFormat(_SWE_AGENT, _is_swe_agent, _read_swe_agent),
    format_of_lists(_PYDANTIC, _are_messages, "messages", _pydantic_conversation),
    format_of_lists(_SMOLAGENTS, _is_memory, "steps", _run),
)
LAST = (chat.ValueFormat(_NAMED, _is_named, _read_named), chat.ValueFormat(_SHAREGPT, _is_sharegpt, _read_sharegpt))
