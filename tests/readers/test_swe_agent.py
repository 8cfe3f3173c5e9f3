"""SWE-agent's histories and mini-SWE-agent's messages: commands as calls, counted beside the raw JSON."""

import json
from pathlib import Path
from typing import Any

from readers.conversations import write

from axisjudge.readers import read_trajectories
from axisjudge.trajectory import Trajectory

SAID = [("Where is it?", "find_hall P-11"), ("I look.", 'open "halls.txt"'), ("Done.", "submit")]
CAME = ["hall 7", "1: hall 7", "sent"]


def history(*, calls: bool) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = [
        {"role": "system", "content": "You work in a shell."},
        {"role": "user", "content": "a demonstration", "is_demo": True},
        {"role": "user", "content": "Find P-11."},
    ]
    for number, ((thought, action), came) in enumerate(zip(SAID, CAME, strict=True)):
        turn = {"role": "assistant", "content": f"{thought}\n```\n{action}\n```", "thought": thought, "action": action}
        call = {"id": f"c{number}", "function": {"name": action.split()[0], "arguments": json.dumps({"line": action})}}
        turns.append({**turn, "content": thought, "tool_calls": [call]} if calls else turn)
        answer = {"role": "tool", "tool_call_ids": [f"c{number}"]} if calls else {"role": "user"}
        turns.append({**answer, "content": came})
    return turns[:-1]


def traj(*, calls: bool) -> dict[str, Any]:
    turns = [
        {"response": thought, "thought": thought, "action": action, "observation": came, "state": {}}
        for (thought, action), came in zip(SAID, CAME, strict=True)
    ]
    config = {"agent": {"model": {"name": "gpt-4o"}}, "problem_statement": {"id": "hall-11"}}
    info = {"exit_status": "submitted"}
    whole = {"environment": "main", "trajectory": turns, "history": history(calls=calls), "info": info}
    return {**whole, "replay_config": json.dumps(config)}


def read(path: Path) -> Trajectory:
    (run,) = read_trajectories(path).trajectories
    assert run.source == "swe_agent"
    return run


def told(run: Trajectory) -> list[tuple[str, str, list[str]]]:
    return [(step.role, step.content, [call.name for call in step.tool_calls]) for step in run.steps]


def test_a_command_is_a_call_of_bash_and_a_call_of_the_models_own_stays_one(tmp_path: Path) -> None:
    for calls, names in ((False, ["bash", "bash", "bash"]), (True, ["find_hall", "open", "submit"])):
        run = read(write(tmp_path / "hall-11.traj", traj(calls=calls)))
        assert (run.agent, run.task_id, run.termination) == ("gpt-4o", "hall-11", "submitted")
        agent = [("assistant", thought, [name]) for (thought, _), name in zip(SAID, names, strict=True)]
        answers = [("tool", came, list[str]()) for came in CAME]
        assert told(run)[2:] == [turn for pair in zip(agent, answers, strict=True) for turn in pair]
        assert all(step.tool_call_id for step in run.steps if step.role == "tool")
    assert run.steps[2].tool_calls[0].arguments == {"line": "find_hall P-11"}


def test_turns_that_the_history_dropped_are_read_and_counted(tmp_path: Path) -> None:
    value = traj(calls=False)
    del value["history"][5:7]
    reading = read_trajectories(write(tmp_path / "x.traj", value))
    assert [warning.count for warning in reading.warnings if "leaves out" in warning.rule] == [1]
    (run,) = reading.trajectories
    commands = [call.arguments for step in run.steps for call in step.tool_calls]
    assert commands == [{"command": action} for _, action in SAID]


def test_mini_runs_one_block_of_commands_and_no_more(tmp_path: Path) -> None:
    fence, two = "Look.\n\n```mswea_bash_command\nls -la\n```", "```bash\nls\n```\n```bash\npwd\n```"
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "One command.\n```mswea_bash_command\nyour command\n```"},
        {"role": "user", "content": "Find P-11."},
        {"role": "assistant", "content": fence, "extra": {"actions": [{"command": "ls -la"}]}},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\nhalls.txt\n</output>"},
        {"role": "assistant", "content": two},
        {"role": "user", "content": "Give one block."},
    ]
    told_ = {"exit_status": "Submitted", "config": {"model": {"model_name": "m"}}}
    whole = {
        "info": told_,
        "messages": [*messages, {"role": "exit", "content": ""}],
        "trajectory_format": "mini-swe-agent-1",
    }
    in_parts = [{**each, "content": [{"type": "text", "text": each["content"]}]} for each in messages[2:]]
    for value, agent in ((whole, "m"), (messages, None), ({**whole, "messages": [*messages[:2], *in_parts]}, "m")):
        run = read(write(tmp_path / "x.traj.json", value))
        assert run.agent == agent
        assert told(run)[2:] == [
            ("assistant", "Look.", ["bash"]),
            ("tool", "<returncode>0</returncode>\n<output>\nhalls.txt\n</output>", []),
            ("assistant", two, []),
            ("user", "Give one block.", []),
        ]
