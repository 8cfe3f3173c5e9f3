"""tau-bench (the first version): a list of runs with task_id, reward, info, trial and traj, a list of chat messages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers.expectations import tau_bench_expectations
from axisjudge.readers.messages import Found, Note, at, chat_steps, content_id, field, made, objects, reward_of, word
from axisjudge.trajectory import Trajectory

FORMAT = "tau_bench"


def recognise(value: Any) -> bool:
    """Whether the JSON value holds tau-bench runs (one, or a list of them)."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "traj" in first and "task_id" in first


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The runs of a tau-bench results file. It names no agent, no domain and no ids."""
    return read_runs(value, where, FORMAT)


def read_runs(value: Any, where: str, source: str) -> Iterator[Found]:
    """The runs of a file of tau-bench's shape, marked as read from `source`."""
    runs = objects(value, where) if isinstance(value, list) else [value]
    for number, run in enumerate(runs):
        position = at(where, number) if isinstance(value, list) else where
        notes: list[Note] = []
        steps = chat_steps(objects(run.get("traj"), at(position, "traj")), at(position, "traj"), notes)
        details = field(run, "info", dict, position, {})
        task_id, trial = word(run.get("task_id")), word(run.get("trial"))
        trajectory = made(
            Trajectory,
            position,
            id=content_id(steps, task_id, trial),
            source=source,
            task_id=task_id,
            reward=reward_of(run.get("reward"), at(position, "reward")),
            termination="error" if "error" in details else None,
            steps=steps,
            meta=_meta(run, details),
        )
        yield Found(position, trajectory, tuple(notes))


def _meta(run: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    judged = details.get("reward_info")
    breakdown = judged.get("info") if isinstance(judged, dict) else None
    known = {"trial": run.get("trial"), "reward_breakdown": breakdown, "error": details.get("error")}
    known["expected"] = tau_bench_expectations(run)
    return {key: value for key, value in known.items() if value is not None}
