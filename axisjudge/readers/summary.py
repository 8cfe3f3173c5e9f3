"""Counts over trajectories: what ``axisjudge read`` prints."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from axisjudge.results import Result
from axisjudge.trajectory import Trajectory

NOT_STATED = "not stated"
_TOTALS = (
    *("trajectories", "empty", "steps", "user_tool_calls", "tool_errors"),
    *("with_tool_schemas", "with_policy"),
)


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
    tools: dict[str, int]
    with_tool_schemas: int
    with_policy: int
    rewards: dict[str, float]
    endings: dict[str, int]
    warnings: dict[str, int]


def summarise(trajectories: Iterable[Trajectory], *, files: int = 0, warnings: Iterable[ReadWarning] = ()) -> Summary:
    """Counts over trajectories, which may be a stream."""
    agents: Counter[str] = Counter()
    domains: Counter[str] = Counter()
    endings: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    tasks = set()
    rewards = []
    for trajectory in trajectories:
        agents[trajectory.agent or NOT_STATED] += 1
        domains[trajectory.domain or NOT_STATED] += 1
        endings[trajectory.termination or NOT_STATED] += 1
        tasks.add((trajectory.domain, trajectory.task_id) if trajectory.task_id else trajectory.id)
        if trajectory.reward is not None:
            rewards.append(trajectory.reward)
        totals["trajectories"] += 1
        totals["empty"] += not trajectory.steps
        totals["steps"] += len(trajectory.steps)
        totals["with_tool_schemas"] += trajectory.tools is not None
        totals["with_policy"] += trajectory.policy is not None
        for step in trajectory.steps:
            tools.update(call.name for call in step.agent_calls)
            totals["user_tool_calls"] += len(step.tool_calls) - len(step.agent_calls)
            totals["tool_errors"] += step.error is True
    odd: Counter[str] = Counter()
    for warning in warnings:
        odd[warning.rule] += warning.count
    return Summary(
        files=files,
        agents=dict(agents.most_common()),
        tasks=len(tasks),
        domains=dict(domains.most_common()),
        agent_tool_calls=tools.total(),
        tools=dict(tools.most_common()),
        rewards={
            "n": len(rewards),
            "mean": math.fsum(rewards) / len(rewards) if rewards else math.nan,
            "missing": totals["trajectories"] - len(rewards),
        },
        endings=dict(endings.most_common()),
        warnings=dict(odd.most_common()),
        **{name: totals[name] for name in _TOTALS},
    )
