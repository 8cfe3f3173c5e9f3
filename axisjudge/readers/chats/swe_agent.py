"""SWE-agent's ``.traj`` and mini-SWE-agent's ``.traj.json``: an agent that works in a shell, one command a turn.

What the model called as a tool is read as that call; a command that stands in its text is a call of ``bash``. The
conversation of a ``.traj`` is its ``history``; demonstrations in it are no part of the run.
Source: SWE-agent/SWE-agent, sweagent/types.py and docs/usage/trajectories.md; SWE-agent/mini-swe-agent,
docs/usage/output_files.md and docs/advanced/v2_migration.md.
"""

import json
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from axisjudge.readers import openai_chat
from axisjudge.readers.chats.parts import list_of_objects
from axisjudge.readers.events import dict_of, json_of, text_at
from axisjudge.readers.messages import Found, Note, Unread, at

FORMAT = "swe_agent"
_FENCED = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\n(.*?)\n?```", re.DOTALL)


def recognise(value: Any) -> bool:
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


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The one run of a file."""
    value = value if isinstance(value, dict) else {"messages": value}
    info, notes = dict_of(value, "info"), list[Note]()
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
        yield Found(position, run and run.model_copy(update={"source": FORMAT}), (*notes, *more))


def _of_history(value: dict[str, Any], where: str, notes: list[Note]) -> list[dict[str, Any]]:
    """The messages of a history; where it dropped turns, as it does after some errors, all turns of the trajectory."""
    history, turns = value["history"], list_of_objects(value.get("trajectory"))
    if shown := sum(bool(turn.get("is_demo")) for turn in history):
        notes.append(Note(at(where, "history"), "a demonstration is no part of the run", "", shown))
    history = [turn for turn in history if not turn.get("is_demo")]
    commands = [turn for turn in turns if text_at(turn, "action")]
    kept = [turn for turn in history if turn.get("tool_calls") or text_at(turn, "action")]
    if len(commands) > len(kept):
        rule = "turns that the history leaves out are read from the trajectory"
        notes.append(Note(at(where, "history"), rule, "", len(commands) - len(kept)))
        history = [*takewhile(lambda turn: turn["role"] != "assistant", history)]
        for turn in turns:
            said = {"role": "assistant", "content": turn.get("response"), **turn}
            history += [said, {"role": "user", "content": turn.get("observation")}]
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
            raise Unread(at(where, "messages", number), message, cure="read the responses themselves: OpenAI's")
        content = message.get("content")
        if message.get("role") == "assistant" and isinstance(content, str) and not message.get("tool_calls"):
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
