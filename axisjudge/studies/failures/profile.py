"""How often a panel fails each agent on each axis: the profile, per domain, and as one was published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from textwrap import fill
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.figures import theme
from axisjudge.stats.comparisons.paired import holm
from axisjudge.stats.comparisons.ranking import count_contrast
from axisjudge.stats.correction import ALL_AGENTS
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.studies._shared.frames import Table, frame_of, kind_of, table_of, to_polars
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import many
from axisjudge.studies.failures import sentences as say
from axisjudge.studies.failures.panel import MEASURES, Cell, Panel, failures_of, panel_of, rate_over_tasks


class FailureProfile(
    Part, name="profile", caption="Failures per agent and axis", behind={"word": "correct\nincorrect"}
):
    """Failed runs per agent and axis and, last, over all agents; `rule` says whose word fails a run (`MEASURES`)."""

    panel: Panel
    cells: tuple[Cell, ...]
    totals: tuple[Cell, ...]
    rewards: NDArray[np.float64]
    success_at: float
    ci_level: float
    rule: str = "any"

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents, by name."""
        return self.panel.agent_names

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes, in the project's order."""
        return self.panel.axes

    @property
    def failed(self) -> NDArray[np.float64]:
        """Runs x axes: 1 where the run fails the axis by the profile's rule, 0 where not, NaN undecided."""
        return self.panel.failed(self.rule)

    @property
    def succeeded(self) -> NDArray[np.float64]:
        """Per run: 1 where the end task succeeded, 0 where not, NaN without a reward."""
        return np.where(np.isnan(self.rewards), np.nan, (self.rewards >= self.success_at - 1e-9).astype(float))

    def by(self, rule: str) -> Self:
        """The same verdicts by another rule: ``any`` or ``consensus``."""
        return replace(self, rule=one_of("rule", rule, MEASURES))

    def cell(self, agent: str, axis: str) -> Cell:
        """One agent (or ``all agents``) on one axis.

        Raises
        ------
        InputError
            There is no such agent or axis.
        """
        for cell in self.totals if agent == ALL_AGENTS else self.cells:
            if (cell.agent, cell.axis) == (agent, axis):
                return cell
        raise InputError("cell", "no such agent and axis", f"{agent}, {axis}")

    @property
    def table(self) -> Table:
        """One row per agent and axis and, last, per axis over all agents, by both rules."""
        return frame_of((*self.cells, *self.totals), Cell._keys, self.kind)

    answer = property(say.extremes)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """A map of axes by agents, count, n and interval in each cell."""
        agents = (*self.agents, ALL_AGENTS)
        cells = [[self.cell(agent, axis).failures(self.rule) for agent in agents] for axis in self.axes]
        panel = self.panel
        sample = f"{many(len(panel.judges), 'judge')}, {many(len(panel.runs), 'run')}"
        rates = [[(cell.count, cell.rate) for cell in row] for row in cells]
        rates += [[self._over_axes(agent) for agent in agents]] if len(self.axes) > 1 else []
        agreed = [[self.cell(agent, axis).failures("consensus") for agent in agents] for axis in self.axes]
        both = self.rule == "any" and len(panel.judges) > 1
        marks = [[of.count if of.rate.n_items else None for of in row] for row in agreed] if both else None
        rows = (*self.axes, _ALL_AXES)[: len(rates)]
        title = f"Failed runs per axis and agent: {MEASURES[self.rule]}"
        note = f"{self.ci_level:.0%} intervals over tasks; {sample}, {many(len(set(panel.clusters)), 'task')}"
        note += "; ● n: runs that all judges fail" if marks else ""
        return plot_rates(rows, agents, rates, title, note, marks=marks, ax=ax)

    def _over_axes(self, agent: str) -> tuple[int, Estimate]:
        """Failures of an agent on any of the axes, each run and axis alike, of those decided."""
        of_agent = np.array([agent in (ALL_AGENTS, name) for name in self.panel.agents])
        failed = self.failed[of_agent]
        clusters = np.repeat(np.array(self.panel.clusters)[of_agent], failed.shape[1])
        rate = clustered_proportion(failed.ravel(), clusters, cluster_unit="task", ci_level=self.ci_level)
        return int(np.nansum(failed)), rate

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {
            "judges": list(self.panel.judges),
            "cells": [cell.to_dict() for cell in (*self.cells, *self.totals)],
            "success": {agent: success_of(self, agent).to_dict() for agent in self.agents},
            "repeats_left_out": self.panel.repeats_left_out,
            "ci_level": self.ci_level,
        }


def failure_profile(
    ratings: Any,
    rewards: Any = None,
    *,
    rule: str = "any",
    judges: Sequence[str] | None = None,
    cluster: str = "cluster_id",
    repeat: int = 0,
    success_at: float = 1.0,
    ci_level: float = 0.95,
) -> FailureProfile:
    """How often each agent fails on each axis by the word of a panel of judges, with intervals over clusters.

    Parameters
    ----------
    ratings : table
        A ratings table of one or several judges (polars, pandas, arrow, or a dict of columns).
    rewards : table or sequence of Trajectory, optional
        Columns trajectory_id and reward, or the runs themselves; a run succeeds at `success_at` or more.
    rule : str
        Whose word fails a run: ``any`` judge says incorrect, or ``consensus``: all that decide, two at least, do.
    judges : sequence of str, optional
        Which raters make the panel; by default all but the planted truth and people.
    cluster : str
        The column of what is independent: intervals, ranks and tests take it as the unit.
    repeat : int
        Which repeat of the judges; the others are counted as left out.
    ci_level : float
        Level of intervals, of rank sets and (its complement) of tests.

    Raises
    ------
    InputError
        No verdicts of judges on whole trajectories, or two ratings of one judge on one run and axis.

    Notes
    -----
    An undecided verdict (uncertain, lost, not rated) is never scored. A run counts for the any-judge rate when at least
    one judge decided; for the consensus when two did, or one decided otherwise than incorrect. What undecided verdicts
    could change at most stands in `best` and `worst`.
    """
    given = isinstance(ratings, Panel)
    panel = ratings if given else panel_of(ratings, judges=judges, repeat=repeat, cluster=cluster)
    profile = _of_panel(panel, _rewards(panel, rewards), success_at, ci_level)
    return profile.by(rule)


def _of_panel(panel: Panel, rewards: NDArray[np.float64], success_at: float, ci_level: float) -> FailureProfile:
    agents, axes = np.array(panel.agents), range(len(panel.axes))
    parts = {agent: panel.where(agents == agent) for agent in panel.agent_names}
    return FailureProfile(
        panel,
        tuple(failures_of(part, agent, axis, ci_level) for agent, part in parts.items() for axis in axes),
        tuple(failures_of(panel, ALL_AGENTS, axis, ci_level) for axis in axes),
        rewards,
        success_at,
        ci_level,
        kind=panel.kind,
        made_up=panel.made_up,
    )


def reward_table(trajectories: Sequence[Any]) -> pl.DataFrame:
    """trajectory_id and reward of every trajectory, null where the source gives none."""
    rows = {"trajectory_id": [run.id for run in trajectories], "reward": [run.reward for run in trajectories]}
    return pl.DataFrame(rows, schema={"trajectory_id": pl.String, "reward": pl.Float64})


def _rewards(panel: Panel, rewards: Any) -> NDArray[np.float64]:
    if rewards is None:
        return np.full(len(panel.runs), np.nan)
    given = reward_table(rewards) if isinstance(rewards, list | tuple) else rewards
    table = to_polars(given, ("trajectory_id", "reward"), where="rewards").drop_nulls("reward")
    if table["trajectory_id"].is_duplicated().any():
        raise InputError("rewards", "one row for each trajectory", table["trajectory_id"].mode()[0])
    known = dict(table.iter_rows())
    return np.array([known.get(run, math.nan) for run in panel.runs], dtype=float)


def success_of(profile: FailureProfile, agent: str) -> Estimate:
    """The end-task success rate of one agent."""
    mine = np.array(profile.panel.agents) == agent
    return rate_over_tasks(profile.succeeded[mine], np.array(profile.panel.clusters)[mine], profile.ci_level)


class DomainProfiles(Part, name="domains", caption="Failures per domain and axis, all agents"):
    """One profile for each domain that the ratings name; `unnamed` runs name none and are in no part."""

    _keys: ClassVar = {"unnamed": "unnamed", "domains": "parts"}

    parts: Mapping[str, FailureProfile]
    unnamed: int

    @property
    def table(self) -> Table:
        """One row per domain and axis, over all agents."""
        rows = [
            {"domain": domain, **cell.named_values()} for domain, part in self.parts.items() for cell in part.totals
        ]
        return table_of(rows, self.kind)

    @property
    def answer(self) -> str:
        """How many domains there are, and which axis fails most in each."""
        return say.domains({domain: (part.panel, part.totals) for domain, part in self.parts.items()})


def by_domain(profile: FailureProfile) -> DomainProfiles:
    """The same profile for each domain apart."""
    panel, domains = profile.panel, np.array(profile.panel.domains, dtype=object)
    parts = {}
    for domain in sorted({domain for domain in panel.domains if domain is not None}):
        mine = domains == domain
        parts[domain] = _of_panel(panel.where(mine), profile.rewards[mine], profile.success_at, profile.ci_level)
    return DomainProfiles(parts, panel.domains.count(None), kind=panel.kind, made_up=profile.made_up)


@dataclass(frozen=True)
class Contrast:
    """Two agents on one axis, with Fisher's p value (the pairing by task was not published)."""

    axis: str
    agents: tuple[str, str]
    counts: tuple[int, int]
    p_value: float


class PublishedProfile(
    Part, name="published", caption="Four findings of the study, and what its data allow", of_ratings=False
):
    """Published counts of failed runs per axis and agent, n runs each, one run a task."""

    axes: tuple[str, ...]
    agents: tuple[str, ...]
    counts: dict[tuple[str, str], int]
    n: int
    rates: dict[tuple[str, str], Estimate]
    contrasts: tuple[Contrast, ...]
    ci_level: float

    @property
    def smallest_p(self) -> float:
        """The smallest p value among all contrasts of two agents on one axis."""
        return min(contrast.p_value for contrast in self.contrasts)

    @property
    def n_apart(self) -> int:
        """How many contrasts tell two agents apart after Holm's correction."""
        return int((holm([contrast.p_value for contrast in self.contrasts]) <= 1 - self.ci_level).sum())

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The counts with their exact intervals."""
        cells = [[(self.counts[axis, agent], self.rates[axis, agent]) for agent in self.agents] for axis in self.axes]
        title = "Failed runs per axis and agent, as published: any judge says incorrect"
        note = f"{self.ci_level:.0%} exact intervals; 2 judges, {self.n} runs an agent, {self.n} tasks"
        return plot_rates(self.axes, self.agents, cells, title, note, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        cells = [
            {"axis": axis, "agent": agent, "incorrect": count, **self.rates[axis, agent].to_dict()}
            for (axis, agent), count in self.counts.items()
        ]
        return {"cells": cells, "n": self.n, "smallest_p": self.smallest_p, "n_contrasts": len(self.contrasts)}

    @property
    def table(self) -> Table:
        """One row a published finding: what the counts are, and what so few tasks allow."""
        of = {agent: np.array([self.counts[axis, agent] for axis in self.axes]) for agent in self.agents}
        fewest, *_, most = sorted(self.agents, key=lambda agent: of[agent].sum())
        first, second = min(combinations(self.agents, 2), key=lambda pair: np.abs(of[pair[0]] - of[pair[1]]).sum())
        differ = [axis for axis, by in zip(self.axes, of[first] - of[second], strict=True) if by]
        spared = [(axis, agent) for axis in self.axes for agent in (first, second) if not self.counts[axis, agent]]
        open_to = max((self.rates[cell].ci_high for cell in spared), default=1.0)
        axis = max(self.axes, key=lambda axis: sum(self.counts[axis, agent] for agent in self.agents))
        by_agent = [self.counts[axis, agent] for agent in self.agents]
        least = {agent: min(each.p_value for each in self.contrasts if agent in each.agents) for agent in self.agents}
        rows = [
            *(
                say.extreme_agent(which, agent, of[agent].sum(), self.n * len(self.axes), least[agent], self.ci_level)
                for which, agent in (("strongest", fewest), ("weakest", most))
            ),
            say.alike((first, second), differ, self.n, open_to),
            say.most_failed(axis, by_agent, self.n, self.rates[axis, self.agents[int(np.argmax(by_agent))]]),
        ]
        return table_of(rows, self.kind)

    answer = property(say.published)


def published_profile(counts: Any, *, ci_level: float = 0.95) -> PublishedProfile:
    """Published counts with exact intervals and the contrasts of agents within an axis.

    Parameters
    ----------
    counts : table
        Columns axis, agent, incorrect, n: one row per axis and agent, n the same everywhere and one run a task.

    Raises
    ------
    InputError
        A cell is missing or stands twice, or n differs.
    """
    table = to_polars(counts, ("axis", "agent", "incorrect", "n"), where="counts")
    axes = tuple(table["axis"].unique(maintain_order=True))
    agents = tuple(table["agent"].unique(maintain_order=True))
    incorrect = {(row["axis"], row["agent"]): row["incorrect"] for row in table.iter_rows(named=True)}
    if not len(incorrect) == table.height == len(axes) * len(agents):
        rule = "one row for each axis and agent"
        raise InputError("counts", rule, f"{table.height} rows, {len(axes)} axes, {len(agents)} agents")
    if table["n"].n_unique() != 1:
        raise InputError("counts", "n must be the same in every cell", sorted(set(table["n"])))
    n = int(table["n"][0])
    return PublishedProfile(
        axes=axes,
        agents=agents,
        counts=incorrect,
        n=n,
        rates={
            key: clustered_proportion([1] * count + [0] * (n - count), ci_level=ci_level)
            for key, count in incorrect.items()
        },
        contrasts=tuple(
            Contrast(axis, (one, other), counts, count_contrast(*counts, n))
            for axis in axes
            for one, other in combinations(agents, 2)
            for counts in [(incorrect[axis, one], incorrect[axis, other])]
        ),
        ci_level=ci_level,
        kind=kind_of(counts),
    )


#: The row of all axes together, each run and axis alike.
_ALL_AXES = "all axes"
#: Agents that stand beside each other; more stand below each other.
_BESIDE = 8


def plot_rates(
    axes: Sequence[str],
    agents: Sequence[str],
    cells: Sequence[Sequence[tuple[int, Estimate]]],
    title: str,
    note: str,
    *,
    marks: Sequence[Sequence[int | None]] | None = None,
    ax: theme.Axes | None = None,
) -> theme.Axes:
    """Failure rates, axes down and agents across; each cell says count, n and interval, so colour is never needed.

    Where there are many agents they stand down and the axes across. `marks` are second counts of the cells, a number
    beside a dot.
    """
    down = len(agents) > _BESIDE
    names_of_axes = [fill(theme.in_words(axis), 16) if down else theme.in_words(axis) for axis in axes]
    names_of_agents = [agent if down else fill(agent, 16) or agent for agent in agents]
    rows, columns = (names_of_agents, names_of_axes) if down else (names_of_axes, names_of_agents)
    names = max(1.9, 0.5 + theme.LABEL / 120 * min(theme.LONGEST, max(map(len, rows))))  # inches
    ax = theme.new_axes(names + 1.35 * len(columns), 1.0 + 0.62 * len(rows)) if ax is None else ax
    rates = np.array([[rate.estimate for _, rate in row] for row in cells])
    highest = max(0.1, float(np.nanmax(rates, initial=0)))  # near shades would look alike on a scale to 1
    theme.plot_heatmap((rates.T if down else rates) / highest, ax=ax, rows=rows, columns=columns)
    for axis, line in enumerate(cells):
        for agent, (count, rate) in enumerate(line):
            row, column = (agent, axis) if down else (axis, agent)
            if not rate.n_items:
                theme.cell_text(ax, row, column, "not judged", quiet=True, fontsize=theme.SMALL)
                continue
            bare, share = f"{count}/{rate.n_items}", f" ({rate.estimate:.0%})" * (axes[axis] == _ALL_AXES)
            more = marks[axis][agent] if marks and axis < len(marks) else None
            write = partial(theme.cell_text, ax, row, label=theme.PHONE)  # a phone shows the fraction alone
            shown: dict[str, Any] = {"fontsize": theme.LABEL + 1.5, "label": f"{theme.PHONE}{bare}"}
            write(column, f"{bare}{share}", down=-0.15, **shown)
            write(column, theme.percent_ends(rate), down=0.22, fontsize=theme.SMALL)
            if more is not None:
                write(column + 0.34, f"●{more}", down=-0.15, fontsize=theme.LABEL)
    if ALL_AGENTS in agents[1:]:
        apart = ax.axhline if down else ax.axvline
        apart(agents.index(ALL_AGENTS), color="white", linewidth=5)
    if _ALL_AXES in axes[1:]:
        (ax.axvline if down else ax.axhline)(axes.index(_ALL_AXES), color="white", linewidth=5)
    theme.dress(ax, title)
    theme.describe(ax, f"in each cell failed runs of those decided, the darkest with the highest rate; {note}")
    ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.QUIET, loc="left")
    return ax
