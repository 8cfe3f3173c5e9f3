"""Published failure counts, and what so few tasks allow to be said of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from axisjudge.checks import InputError
from axisjudge.results import columns
from axisjudge.stats.comparisons.ranking import count_contrast
from axisjudge.stats.comparisons.sign_flips import holm
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies._shared.frames import Kind, Table, kind_of, rows_of, table_of, to_polars
from axisjudge.studies.failures import sentences as say
from axisjudge.studies.failures.profiles import RateGrid


@dataclass(frozen=True)
class Contrast:
    """Two agents on one axis, with Fisher's p value (the pairing by task was not published)."""

    axis: str
    agents: tuple[str, str]
    counts: tuple[int, int]
    p_value: float


@dataclass(frozen=True)
class PublishedProfile:
    """Published counts of failed runs per axis and agent, n runs each, one run a task."""

    of_ratings: ClassVar[bool] = False  # published figures; a page's banner does not concern them
    axes: tuple[str, ...]
    agents: tuple[str, ...]
    counts: dict[tuple[str, str], int]
    n: int
    rates: dict[tuple[str, str], Estimate]
    contrasts: tuple[Contrast, ...]
    ci_level: float
    kind: Kind

    @property
    def smallest_p(self) -> float:
        """The smallest p value among all contrasts of two agents on one axis."""
        return min(contrast.p_value for contrast in self.contrasts)

    def grid(self) -> RateGrid:
        """The counts with their intervals, to be drawn."""
        return RateGrid(
            axes=self.axes,
            agents=self.agents,
            counts=tuple(tuple(self.counts[axis, agent] for agent in self.agents) for axis in self.axes),
            rates=tuple(tuple(self.rates[axis, agent] for agent in self.agents) for axis in self.axes),
            title="Failed runs per axis and agent, as published: any judge says incorrect",
            note=f"{self.ci_level:.0%} exact intervals; 2 judges, {self.n} runs an agent, {self.n} tasks",
        )

    def to_frame(self) -> Table:
        """One row per axis and agent."""
        rates = rows_of((self.rates[cell] for cell in self.counts), columns("rate=estimate low=ci_low high=ci_high"))
        rows = [
            {"axis": axis, "agent": agent, "incorrect": count, "n": self.n} | rate
            for ((axis, agent), count), rate in zip(self.counts.items(), rates, strict=True)
        ]
        return table_of(rows, self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        cells = [
            {"axis": axis, "agent": agent, "incorrect": count, **self.rates[axis, agent].to_dict()}
            for (axis, agent), count in self.counts.items()
        ]
        return {"cells": cells, "n": self.n, "smallest_p": self.smallest_p, "n_contrasts": len(self.contrasts)}

    def findings(self) -> Table:
        """One row a published finding: what the counts are, and what so few tasks allow."""
        of = {agent: np.array([self.counts[axis, agent] for axis in self.axes]) for agent in self.agents}
        fewest, *_, most = sorted(self.agents, key=lambda agent: of[agent].sum())
        first, second = min(combinations(self.agents, 2), key=lambda pair: np.abs(of[pair[0]] - of[pair[1]]).sum())
        differ = [axis for axis, by in zip(self.axes, of[first] - of[second], strict=True) if by]
        spared = [(axis, agent) for axis in self.axes for agent in (first, second) if not self.counts[axis, agent]]
        open_to = max((self.rates[cell].ci_high for cell in spared), default=1.0)
        axis = max(self.axes, key=lambda axis: sum(self.counts[axis, agent] for agent in self.agents))
        by_agent = [self.counts[axis, agent] for agent in self.agents]
        rows = [
            *(
                say.extreme_agent(which, agent, of[agent].sum(), self.n * len(self.axes), self._least_p(agent))
                for which, agent in (("strongest", fewest), ("weakest", most))
            ),
            say.alike((first, second), differ, self.n, open_to),
            say.most_failed(axis, by_agent, self.n, self.rates[axis, self.agents[int(np.argmax(by_agent))]]),
        ]
        return table_of(rows, self.kind)

    def _least_p(self, agent: str) -> float:
        return min(contrast.p_value for contrast in self.contrasts if agent in contrast.agents)

    @property
    def sentence(self) -> str:
        """What the counts allow to be said."""
        least = min(self.contrasts, key=lambda contrast: contrast.p_value)
        apart = int((holm([contrast.p_value for contrast in self.contrasts]) <= 1 - self.ci_level).sum())
        widest = max(self.rates.values(), key=lambda rate: rate.ci_high - rate.ci_low)
        none = next((rate for key, rate in self.rates.items() if self.counts[key] == 0), None)
        where = (least.counts, least.axis, least.p_value)
        return say.published(self.n, widest, none, len(self.contrasts), where, apart)


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
