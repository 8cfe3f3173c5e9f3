"""Event logs made by hand, and what is read from them."""

import json
from pathlib import Path
from typing import Any

from axisjudge.readers import Reading, read_trajectories
from axisjudge.trajectory import Trajectory


def at(second: float) -> str:
    return f"2026-05-04T10:00:{second:06.3f}Z"


def log(path: Path, *events: dict[str, Any] | str) -> Reading:
    """What is read from a file with these lines."""
    path.write_text("".join((e if isinstance(e, str) else json.dumps(e)) + "\n" for e in events), encoding="utf-8")
    return read_trajectories(path)


def only(reading: Reading) -> Trajectory:
    (trajectory,) = reading.trajectories
    return trajectory


def counted(reading: Reading) -> dict[tuple[str, str], int]:
    return {(warning.rule, warning.detail): warning.count for warning in reading.warnings}


def outline(trajectory: Trajectory) -> list[tuple[str, str]]:
    """Role (or kind) and text, a call as its name and arguments."""
    return [
        (step.kind or step.role, step.content + "".join(f" [{c.name} {c.arguments}]" for c in step.tool_calls))
        for step in trajectory.steps
    ]


def claude(kind: str, content: Any, second: float, *, name: str | None = None, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": name or f"msg_{second}", "model": "claude-opus-4-1"}
    return {"type": kind, "message": message, "sessionId": "s1", "timestamp": at(second), **more}


def use(name: str, identity: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def gave(identity: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **more}


def codex(second: float, payload: dict[str, Any], kind: str = "response_item") -> dict[str, Any]:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def output(identity: str, value: Any, kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": identity, "output": value}


def function(identity: str, arguments: str = "{}", name: str = "shell") -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": arguments, "call_id": identity}


def item(kind: str, identity: str, event: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": f"item.{event}", "item": {"id": identity, "type": kind, **more}}
