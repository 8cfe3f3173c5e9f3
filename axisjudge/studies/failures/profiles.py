"""Failure profiles: which axis fails how often for which agent, by the word of a panel of judges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.independent_panel import independent_panel
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.corrected_agents import ALL_AGENTS
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies._shared.arrays import mean_of
from axisjudge.studies._shared.frames import Table, frame_of, rows_of, table_of, to_polars, with_ends, with_own_ends
from axisjudge.studies._shared.words import many
from axisjudge.studies.failures.panel import MEASURES, Panel, panel_of


@dataclass(frozen=True)
class FailureRate:
    """How often a panel fails an axis, by one of the two `MEASURES`.

    `rate` is over the runs on which enough judges decided. `best` and `worst` are over all runs to which the axis
    applies, with every undecided verdict taken as correct and as incorrect. `independent` is the rate that the judges'
    own rates would give if their verdicts shared nothing.
    """

    count: int
    rate: Estimate
    best: float
    worst: float
    independent: Estimate


#: Columns of a table of failures by one measure, and where their figures stand.
_FIGURES = columns(
    "incorrect=count judged=rate.n_items", with_ends("rate", "rate"), "best worst", with_own_ends("independent")
)


@dataclass(frozen=True)
class Cell(Result):
    """One agent on one axis; ratings without a verdict are counted by their reason."""

    _keys = columns(
        "agent axis n_runs not_applicable uncertain lost not_rated",
        {f"any_{column}": f"any_judge.{path}" for column, path in _FIGURES.items()},
        {f"consensus_{column}": f"consensus.{path}" for column, path in _FIGURES.items()},
        "n_tasks=any_judge.rate.n_clusters method=any_judge.rate.method",
    )

    agent: str
    axis: str
    n_runs: int
    not_applicable: int
    uncertain: int
    lost: int
    not_rated: int
    any_judge: FailureRate
    consensus: FailureRate

    def failures(self, measure: str) -> FailureRate:
        """The failures by one of the two measures."""
        one_of("measure", measure, MEASURES)
        return self.any_judge if measure == "any" else self.consensus


@dataclass(frozen=True, eq=False)
class FailureProfile(Result):
    """FailureRate per agent and axis, over all agents, and the end-task success rate beside them."""

    panel: Panel
    cells: tuple[Cell, ...]
    totals: tuple[Cell, ...]
    rewards: NDArray[np.float64]
    success_at: float
    ci_level: float

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents, by name."""
        return self.panel.agent_names

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes, in the project's order."""
        return self.panel.axes

    @property
    def succeeded(self) -> NDArray[np.float64]:
        """Per run: 1 where the end task succeeded, 0 where not, NaN without a reward."""
        return np.where(np.isnan(self.rewards), np.nan, (self.rewards >= self.success_at - 1e-9).astype(float))

    def success(self, agent: str) -> Estimate:
        """The end-task success rate of one agent."""
        mine = np.array(self.panel.agents) == agent
        return _rate(self.succeeded[mine], np.array(self.panel.clusters)[mine], self.ci_level)

    def cell(self, agent: str, axis: str) -> Cell:
        """One agent (or ``all agents``) on one axis."""
        cells = self.totals if agent == ALL_AGENTS else self.cells
        found = [cell for cell in cells if (cell.agent, cell.axis) == (agent, axis)]
        if not found:
            raise InputError("cell", "no such agent and axis", f"{agent}, {axis}")
        return found[0]

    def grid(self, measure: str = "any") -> RateGrid:
        """The rates by one measure, all agents together in the last column."""
        columns = (*self.agents, ALL_AGENTS)
        rows = [[self.cell(agent, axis).failures(measure) for agent in columns] for axis in self.axes]
        return RateGrid(
            axes=self.axes,
            agents=columns,
            counts=tuple(tuple(cell.count for cell in row) for row in rows),
            rates=tuple(tuple(cell.rate for cell in row) for row in rows),
            title=f"Failed runs per axis and agent: {MEASURES[measure]}",
            note=f"{self.ci_level:.0%} intervals over tasks; {many(len(self.panel.judges), 'judge')}, "
            f"{many(len(self.panel.runs), 'run')}, {many(len(set(self.panel.clusters)), 'task')}",
        )

    def to_frame(self) -> Table:
        """One row per agent and axis and, last, per axis over all agents: a table of the kind that was passed in."""
        return frame_of((*self.cells, *self.totals), Cell._keys, self.panel.kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {
            "judges": list(self.panel.judges),
            "cells": [cell.to_dict() for cell in (*self.cells, *self.totals)],
            "success": {agent: self.success(agent).to_dict() for agent in self.agents},
            "repeats_left_out": self.panel.repeats_left_out,
            "ci_level": self.ci_level,
        }

    @property
    def success_table(self) -> Table:
        """Agents with their end-task success beside the mean number of axes that failed in a run."""
        success = columns("with_reward=n_items success=estimate low=ci_low high=ci_high")
        rows = [
            {"agent": agent, "runs": self.panel.agents.count(agent)}
            | rows_of([self.success(agent)], success)[0]
            | {f"axes_failed_{name}": self._axes_failed(agent, name) for name in MEASURES}
            for agent in self.agents
        ]
        return table_of(rows, self.panel.kind)

    def _axes_failed(self, agent: str, measure: str) -> float:
        return float(sum(self.cell(agent, axis).failures(measure).rate.estimate for axis in self.axes))


@dataclass(frozen=True)
class RateGrid:
    """Failure rates as a grid to be drawn: axes down, agents across; `title` and `note` say what, n and unit."""

    axes: tuple[str, ...]
    agents: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    rates: tuple[tuple[Estimate, ...], ...]
    title: str
    note: str

    @property
    def cells(self) -> list[dict[str, str]]:
        """One row an axis, one column an agent: failed runs of those decided, as the map's cells say."""
        return [
            {"axis": axis} | {agent: f"{n} of {rate.n_items}" for agent, n, rate in zip(self.agents, *row, strict=True)}
            for axis, *row in zip(self.axes, self.counts, self.rates, strict=True)
        ]


def failure_profile(
    ratings: Any,
    rewards: Any = None,
    *,
    judges: Sequence[str] | None = None,
    repeat: int = 0,
    success_at: float = 1.0,
    ci_level: float = 0.95,
) -> FailureProfile:
    """FailureRate per agent and axis, intervals by task; of a panel, or with arguments as `axisjudge.studies.failures`.

    Notes
    -----
    An undecided verdict (uncertain, lost, not rated) is never scored. A run counts for the any-judge rate when at least
    one judge decided; for the consensus when two did, or one decided otherwise than incorrect. What undecided verdicts
    could change at most stands in `best` and `worst`.
    """
    panel = ratings if isinstance(ratings, Panel) else panel_of(ratings, judges=judges, repeat=repeat)
    return profile_panel(panel, _rewards(panel, rewards), success_at=success_at, ci_level=ci_level)


def reward_table(trajectories: Sequence[Any]) -> pl.DataFrame:
    """trajectory_id and reward of every trajectory, null where the source gives none."""
    rows = {"trajectory_id": [run.id for run in trajectories], "reward": [run.reward for run in trajectories]}
    return pl.DataFrame(rows, schema={"trajectory_id": pl.String, "reward": pl.Float64})


def profile_panel(panel: Panel, rewards: NDArray[np.float64], *, success_at: float, ci_level: float) -> FailureProfile:
    """The profile of a panel's verdicts; `rewards` has one number for each of its runs, NaN where unknown."""
    agents = np.array(panel.agents)
    axes = range(len(panel.axes))
    parts = {agent: panel.where(agents == agent) for agent in panel.agent_names}
    return FailureProfile(
        panel=panel,
        cells=tuple(_cell(part, agent, axis, ci_level) for agent, part in parts.items() for axis in axes),
        totals=tuple(_cell(panel, ALL_AGENTS, axis, ci_level) for axis in axes),
        rewards=rewards,
        success_at=success_at,
        ci_level=ci_level,
    )


def _rewards(panel: Panel, rewards: Any) -> NDArray[np.float64]:
    if rewards is None:
        return np.full(len(panel.runs), np.nan)
    given = reward_table(rewards) if isinstance(rewards, list | tuple) else rewards
    table = to_polars(given, ("trajectory_id", "reward"), where="rewards").drop_nulls("reward")
    if table["trajectory_id"].is_duplicated().any():
        raise InputError("rewards", "one row for each trajectory", table["trajectory_id"].mode()[0])
    known = dict(table.iter_rows())
    return np.array([known.get(run, math.nan) for run in panel.runs], dtype=float)


def _cell(panel: Panel, agent: str, axis: int, ci_level: float) -> Cell:
    applicable = panel.applicable[:, axis]
    said = panel.incorrect[applicable, axis]
    clusters = panel.tasks[applicable]
    independent = independent_panel(said, clusters, ci_level=ci_level)
    worst, best = (np.nan_to_num(said, nan=taken) for taken in (1.0, 0.0))
    two = 1.0 if len(panel.judges) > 1 else math.nan  # a consensus takes two judges

    def failures(measure: str, best: NDArray[Any], worst: NDArray[Any], independent: Estimate) -> FailureRate:
        failed = panel.failed(measure)[applicable, axis]
        rate = _rate(failed, clusters, ci_level)
        return FailureRate(int(np.nansum(failed)), rate, mean_of(best), mean_of(worst), independent)

    return Cell(
        agent=agent,
        axis=panel.axes[axis],
        n_runs=len(panel.runs),
        not_applicable=int((~applicable).sum()),
        uncertain=int(panel.uncertain[:, axis].sum()),
        lost=int(panel.lost[:, axis].sum()),
        not_rated=int(panel.not_rated[:, axis].sum()),
        any_judge=failures("any", best.max(axis=1), worst.max(axis=1), independent.any_judge),
        consensus=failures("consensus", two * best.min(axis=1), two * worst.min(axis=1), independent.consensus),
    )


def _rate(values: NDArray[np.float64], clusters: NDArray[Any], ci_level: float) -> Estimate:
    """A proportion over tasks."""
    return clustered_proportion(values, clusters, cluster_unit="task", ci_level=ci_level)
