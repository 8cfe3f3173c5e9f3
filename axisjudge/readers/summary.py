"""Counts over trajectories: what ``axisjudge read`` prints."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from axisjudge.results import Result
from axisjudge.trajectory import Trajectory

#: A trajectory, or what was made of it.
Made = TypeVar("Made")

NOT_STATED = "not stated"
_TOTALS = (
    *("trajectories", "empty", "steps", "user_tool_calls", "tool_errors"),
    *("with_tool_schemas", "with_policy"),
)


@dataclass(frozen=True)
class FileRead:
    """A file that was read: its path as given, its format, and how many trajectories came of it."""

    path: str
    format: str
    trajectories: int


@dataclass(frozen=True)
class RefusedFile:
    """A file that was not read, or not whole, and why: one line with the place, the rule, what was found, the cure."""

    path: str
    reason: str


@dataclass(frozen=True)
class ReadWarning:
    """Something odd that did not stop the reading: the file, the (first) place in it, the rule, what was found.

    `count` is how often it was there.
    """

    file: str
    position: str
    rule: str
    detail: str = ""
    count: int = 1


@dataclass(frozen=True)
class Summary(Result):
    """What is in these trajectories: the content of ``axisjudge read``.

    Attributes
    ----------
    trajectories, empty, tasks, steps : int
        `empty` counts runs without messages, `tasks` the distinct tasks (within their domains).
    agents, domains, endings : dict
        Trajectories per agent, domain and termination; ``not stated`` where the source is silent.
    agent_tool_calls, user_tool_calls, tool_errors : int
        `tool_errors` counts results that the source marks as errors.
    call_durations : dict
        Where the durations of the agent's calls come from: ``stated`` by the agent, ``timestamps``, ``unknown``.
    tools : dict
        The agent's calls per tool name, most frequent first.
    with_tool_schemas, with_policy : int
        Trajectories that carry them.
    rewards : dict
        ``n``, ``mean`` (NaN when no trajectory has a reward) and ``missing``.
    warnings : dict
        How many per rule.
    """

    files: int
    trajectories: int
    empty: int
    agents: dict[str, int]
    tasks: int
    domains: dict[str, int]
    steps: int
    agent_tool_calls: int
    user_tool_calls: int
    tool_errors: int
    call_durations: dict[str, int]
    tools: dict[str, int]
    with_tool_schemas: int
    with_policy: int
    rewards: dict[str, float]
    endings: dict[str, int]
    warnings: dict[str, int]


@dataclass(frozen=True)
class FileEntry(Generic[Made]):
    """What stands at one position of a file: warnings, another file that it brings in, a trajectory or nothing.

    Of a trajectory `made` is itself, or what a worker made of it; `content` is alike in two of one id that are the
    same, `odd` warns of its steps, `kinds` names those of its tools that --tool-kind is about, and `lacking` says that
    the tools file has nothing for its domain.
    """

    form: str
    position: str
    notes: tuple[ReadWarning, ...]
    brought_in: Path | None = None
    made: Made | None = None
    id: str = ""
    content: tuple[object, ...] = ()
    odd: tuple[ReadWarning, ...] = ()
    kinds: frozenset[str] = frozenset()
    lacking: ReadWarning | None = None


#: What the summary takes of one trajectory, by what is counted.
RunCounts = dict[str, Counter[Any]]
_NAMES = ("agents", "domains", "endings", "tools", "call_durations")


def counted(trajectory: Trajectory) -> RunCounts:
    """What the summary takes of a trajectory."""
    steps, reward = trajectory.steps, trajectory.reward
    calls = Counter(call.name for step in steps for call in step.agent_calls)
    totals = {
        "trajectories": 1,
        "empty": not steps,
        "steps": len(steps),
        "with_tool_schemas": trajectory.tools is not None,
        "with_policy": trajectory.policy is not None,
        "user_tool_calls": sum(len(step.tool_calls) for step in steps) - calls.total(),
        "tool_errors": sum(step.error is True for step in steps),
    }
    return {
        "agents": Counter([trajectory.agent or NOT_STATED]),
        "domains": Counter([trajectory.domain or NOT_STATED]),
        "endings": Counter([trajectory.termination or NOT_STATED]),
        "tasks": Counter([(trajectory.domain, trajectory.task_id) if trajectory.task_id else (None, trajectory.id)]),
        "rewards": Counter([] if reward is None else [reward]),
        "tools": calls,
        "call_durations": Counter(source or "unknown" for _, _, source in trajectory.call_durations),
        "totals": Counter(totals),
    }


def summarise(runs: Iterable[RunCounts], *, files: int = 0, warnings: Iterable[ReadWarning] = ()) -> Summary:
    """Counts over trajectories, which may be a stream, each `counted`."""
    whole: dict[str, Counter[Any]] = defaultdict(Counter)
    for run in runs:
        for name, counts in run.items():
            whole[name].update(counts)
    for warning in warnings:
        whole["warnings"][warning.rule] += warning.count
    rewards, totals = whole["rewards"], whole["totals"]
    n = rewards.total()
    mean = math.fsum(rewards.elements()) / n if n else math.nan
    counts_of: dict[str, Any] = {name: dict(whole[name].most_common()) for name in (*_NAMES, "warnings")}
    return Summary(
        files=files,
        tasks=len(whole["tasks"]),
        agent_tool_calls=whole["tools"].total(),
        rewards={"n": n, "mean": mean, "missing": totals["trajectories"] - n},
        **counts_of | {name: totals[name] for name in _TOTALS},
    )
