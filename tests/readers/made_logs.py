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
