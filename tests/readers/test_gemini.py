"""Gemini CLI by hand: each odd case becomes the step it should be, or is counted."""

import json
from pathlib import Path
from typing import Any

from readers.made_logs import at, counted, log, only, outline

from axisjudge.readers import read_trajectories


def test_gemini_session(tmp_path: Path) -> None:
    def response(**told: str) -> list[dict[str, Any]]:
        return [{"functionResponse": {"id": "x", "name": "ls", "response": told}}]

    calls = [
        {
            "id": "a",
            "name": "ls",
            "args": {"p": 1},
            "result": response(output="P-1"),
            "status": "success",
            "timestamp": at(5),
        },
        {"id": "b", "name": "ls", "args": {}, "result": response(error="no"), "status": "error", "timestamp": at(6)},
        {"id": "c", "name": "ls", "args": {}, "result": None, "status": "cancelled", "timestamp": at(6)},
        {"id": "d", "name": "ls", "args": {}, "status": "executing"},
    ]
    thought = {"subject": "Plan", "description": "look", "timestamp": at(1)}
    messages = [
        {"id": "1", "type": "user", "timestamp": at(0), "content": [{"text": "Count."}]},
        {
            "id": "2",
            "type": "gemini",
            "timestamp": at(2),
            "content": "Looking.",
            "model": "gemini-2.5-pro",
            "thoughts": [thought],
            "toolCalls": calls,
        },
        {"id": "3", "type": "info", "timestamp": at(7), "content": "Update available"},
        {"id": "4", "type": "error", "timestamp": at(8), "content": "quota"},
        {"id": "5", "type": "telepathy", "timestamp": at(8), "content": "?"},
        {"id": "6", "type": "gemini", "timestamp": at(9), "content": "One.", "model": "gemini-2.5-pro"},
    ]
    file = tmp_path / "session.json"
    session = {"sessionId": "g1", "projectHash": "h", "messages": messages}
    file.write_text(json.dumps(session, indent=2))
    reading = read_trajectories(file)
    run = only(reading)
    assert outline(run) == [
        ("user", "Count."),
        ("thinking", "Plan: look"),
        ("assistant", "Looking. [ls {'p': 1}] [ls {}] [ls {}] [ls {}]"),
        ("tool", "P-1"),
        ("tool", "no"),
        ("tool", ""),
        ("error", "quota"),
        ("assistant", "One."),
    ]
    assert [step.timestamp for step in run.steps] == [at(second) for second in (0, 1, 2, 5, 6, 6, 8, 9)]
    assert [step.error for step in run.steps if step.role == "tool"] == [False, True, True]
    assert (run.id, run.agent, run.agent_family) == ("g1", "gemini-2.5-pro", "google")
    assert counted(reading) == {
        ("an event that is no step", "info"): 1,
        ("an event of unknown type is left out", "telepathy"): 1,
    }
    lines = log(tmp_path / "session.jsonl", session | {"messages": []}, *messages)
    assert outline(only(lines)) == outline(run), "one message a line, as newer versions write it"


def test_gemini_stream(tmp_path: Path) -> None:
    reading = log(
        tmp_path / "stream.jsonl",
        {"type": "init", "session_id": "g2", "model": "gemini-2.5-pro", "timestamp": at(0)},
        {"type": "message", "role": "user", "content": "Count.", "timestamp": at(0)},
        {"type": "message", "role": "assistant", "content": "Loo", "delta": True, "timestamp": at(1)},
        {"type": "message", "role": "assistant", "content": "king.", "delta": True, "timestamp": at(2)},
        {"type": "tool_use", "tool_name": "ls", "tool_id": "a", "parameters": {"p": 1}, "timestamp": at(3)},
        {
            "type": "tool_result",
            "tool_id": "a",
            "status": "error",
            "error": {"type": "x", "message": "no"},
            "timestamp": at(4),
        },
        {"type": "error", "severity": "warning", "message": "loop", "timestamp": at(5)},
        {
            "type": "result",
            "status": "error",
            "error": {"message": "quota"},
            "stats": {"tool_calls": 1},
            "timestamp": at(6),
        },
    )
    run = only(reading)
    assert outline(run) == [
        ("user", "Count."),
        ("assistant", "Looking."),
        ("assistant", " [ls {'p': 1}]"),
        ("tool", "no"),
        ("error", "loop"),
        ("error", "quota"),
    ]
    assert (run.id, run.termination, run.meta["axis_run"]) == ("g2", "error", {"error": "quota"})
    assert (run.steps[1].timestamp, run.steps[3].error) == (at(2), True)
