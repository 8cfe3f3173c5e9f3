"""Tables of AXIS Results: one row a run, means per agent, and where a run lost points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.protocol import no_such_run
from axisjudge.results import Result, columns
from axisjudge.scores.axis.judged.signals import SIGNALS
from axisjudge.scores.axis.result import DIMENSIONS, AxisResult
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_mean
from axisjudge.studies._shared.frames import rows_of

#: What is compared: the composite and the four dimensions.
QUANTITIES = ("composite", *DIMENSIONS)
_OF_INTERACTIONS = SIGNALS[:4]
_MOST_ROWS = 20
_MEAN = columns("mean=estimate low=ci_low high=ci_high runs=n_items tasks=n_clusters")


def chosen(results: Sequence[AxisResult], run_id: str = "") -> AxisResult:
    """The run of that id; without one that with the most failed or unnecessary interactions, the first of equals.

    Raises
    ------
    InputError
        When there is no run, or none of that id.
    """
    if not results:
        raise TooLittle("source", "holds no transcript")
    if not run_id:
        return max(results, key=lambda each: each.counts.errors + len(each.dimension("agent").necessity.unnecessary))
    for each in results:
        if each.trajectory_id == run_id:
            return each
    raise no_such_run("run_id", run_id, [each.trajectory_id for each in results])


def results_frame(results: Iterable[AxisResult]) -> pl.DataFrame:
    """One row a run: its composite or the ends of its interval, the dimensions, the slowest call, and its marks."""
    rows = [
        {
            "trajectory_id": each.trajectory_id,
            "agent": each.agent,
            "task": each.task_id,
            "axis_result": each.shown,
            "band": each.band,
            **{score_column(dimension.name): dimension.score for dimension in each.dimensions},
            "bounds": f"{each.bounds[0]:g} to {each.bounds[1]:g}",
            "interactions": each.counts.interactions,
            "errors": each.counts.errors,
            "slowest_call": _slowest(each),
            "weakest": "; ".join(map(str, each.insights)) or None,
            "marks": len(each.marks),
        }
        for each in results
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def score_column(dimension: str) -> str:
    """The column of a dimension's score: an agent has a name and a score."""
    return f"{dimension.removesuffix('_achievement')}_score"


@dataclass(frozen=True)
class AgentMeans(Result):
    """Mean scores of one agent's runs; intervals are over tasks where there are enough of them."""

    agent: str
    n_runs: int
    n_failed: int
    means: Mapping[str, Estimate]


def agent_means(results: Sequence[AxisResult], *, ci_level: float = 0.95) -> list[AgentMeans]:
    """Mean composite and dimensions per agent, clustered by task; failed runs count with their score of 0."""
    rows = []
    for agent in sorted({each.agent or "" for each in results}):
        runs = [each for each in results if (each.agent or "") == agent]
        tasks = [each.cluster_id for each in runs]
        means = {
            name: clustered_mean(values(runs, name), tasks, cluster_unit="task", ci_level=ci_level)
            for name in QUANTITIES
        }
        rows.append(AgentMeans(agent or "not stated", len(runs), sum(each.failed for each in runs), means))
    return rows


def means_frame(agents: Sequence[AgentMeans]) -> pl.DataFrame:
    """One row an agent and quantity, with the interval over tasks where there is one."""
    rows = [
        {"agent": each.agent, "quantity": name, **rows_of([mean], _MEAN)[0]}
        for each in agents
        for name, mean in each.means.items()
        if mean.n_items
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def weakest_signals(result: AxisResult) -> list[dict[str, Any]]:
    """Interactions with a signal below 1, the lowest first."""
    rows = [(lowest, row) for row in result.signal_rows if (lowest := _lowest(row)) < 1]
    return [row for _, row in sorted(rows, key=lambda each: each[0])]


def weakest_rows(result: AxisResult) -> pl.DataFrame:
    """The first twenty of `weakest_signals` as a table; unjudged signals are empty."""
    kinds = {"dimension": pl.String, "id": pl.Int64, "what": pl.String, "duration_ms": pl.Int64}
    schema = {**kinds, **dict.fromkeys(_OF_INTERACTIONS, pl.Float64), "reason": pl.String}
    rows = [{name: row[name] for name in schema} for row in weakest_signals(result)[:_MOST_ROWS]]
    return pl.DataFrame(rows, schema=schema)


def values(results: Sequence[AxisResult], quantity: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The composite or a dimension's score of every run; NaN where it has none."""
    scores = [each.composite if quantity == "composite" else each.dimension(quantity).score for each in results]
    return np.array([math.nan if score is None else score for score in scores], dtype=np.float64)


def _lowest(row: Mapping[str, Any]) -> float:
    signals: list[float] = [row[name] for name in _OF_INTERACTIONS if row[name] is not None]
    return min(signals)


def _slowest(result: AxisResult) -> str | None:
    slow = result.slowest
    return None if slow is None else f"#{slow.id} {slow.tool_name} {slow.duration_ms / 1000:,.1f} s"
