"""Which axis to fix first, and which agent fails least: rank sets, where 'cannot be told apart' is an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.analysis.frames import Kind, table_of
from axisjudge.analysis.panel import Panel
from axisjudge.analysis.profiles import ALL_AGENTS, MEASURES, FailureProfile
from axisjudge.analysis.words import listed, many
from axisjudge.checks import one_of
from axisjudge.stats.ranking import RankSets, rank_sets


@dataclass(frozen=True, eq=False)
class Ranking:
    """Names with their rank sets. `subject` says what is ranked and `quantity` by what; rank 1 has the most of it."""

    subject: str
    quantity: str
    names: tuple[str, ...]
    sets: RankSets
    kind: Kind = "polars"

    @property
    def first(self) -> tuple[str, ...]:
        """The names that may hold rank 1."""
        return tuple(self.names[j] for j in self.sets.first)

    @property
    def leader(self) -> str:
        """The name with the highest mean and that mean; it need not be told apart from others."""
        top = int(self.sets.order[0])
        return "–" if np.isnan(self.sets.means[top]) else f"{self.names[top]} ({self.sets.means[top]:.0%})"

    @property
    def answer(self) -> str:
        """What may hold rank 1, in a few words."""
        if self.sets.refusal:
            return f"not ranked: {self.sets.refusal}"
        return "cannot be told apart" if self.sets.tied else listed(self.first, "or")

    def to_frame(self) -> Any:
        """One row a name, highest first."""
        rows = [
            {
                "name": self.names[j],
                self.quantity.replace(" ", "_"): float(self.sets.means[j]),
                "rank_from": int(self.sets.rank_low[j]),
                "rank_to": int(self.sets.rank_high[j]),
                "tasks": self.sets.n_clusters,
            }
            for j in self.sets.order
        ]
        return table_of(rows, self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {"subject": self.subject, "quantity": self.quantity, "names": list(self.names), **self.sets.to_dict()}

    @property
    def sentence(self) -> str:
        """What the rank sets allow to be said."""
        sets, top = self.sets, self.first
        if sets.refusal:
            return f"{self._subject} are not ranked by {self.quantity}: {sets.refusal}."
        sure = f"{sets.ci_level:.0%} jointly, {many(sets.n_clusters, 'task')}"
        if sets.tied:
            return f"{self._subject} cannot be told apart by {self.quantity} ({sure})."
        if len(top) == 1:
            return f"Of {self.subject}, {top[0]} has the highest {self.quantity}, alone at rank 1 ({sure})."
        said = f"Of {self.subject}, {listed(top, 'or')} may have the highest {self.quantity} and cannot be told apart"
        below = [name for name in self.names if name not in top]
        rest = f". Not among them: {listed(below)}" if below else ""
        return f"{said} ({sure}){rest}."

    @property
    def _subject(self) -> str:
        return self.subject[0].upper() + self.subject[1:]


def rank_axes(
    profile: FailureProfile, *, agent: str = ALL_AGENTS, measure: str = "any", rng: np.random.Generator
) -> Ranking:
    """Rank the axes by how often they fail, for one agent or over all: which one to fix first."""
    failed = _failed(profile.panel, measure)
    if agent != ALL_AGENTS:
        one_of("agent", agent, profile.agents)
    kept = np.array([agent in (ALL_AGENTS, name) for name in profile.panel.agents])
    clusters = np.array(profile.panel.clusters)[kept]
    table = np.stack([_by_task(column, clusters) for column in failed[kept].T], axis=1)
    sets = rank_sets(table, ci_level=profile.ci_level, rng=rng)
    subject = f"the {len(profile.axes)} axes of {agent}"
    return Ranking(subject, _QUANTITY[measure], profile.axes, sets, profile.panel.kind)


def rank_agents(profile: FailureProfile, *, measure: str = "any", rng: np.random.Generator) -> Ranking:
    """Rank the agents by the share of axes on which their runs fail, all axes weighing the same."""
    failed = _failed(profile.panel, measure)
    counted = ~np.isnan(failed)
    share = np.where(counted.any(axis=1), np.nansum(failed, axis=1) / np.maximum(counted.sum(axis=1), 1), np.nan)
    return _agents(profile, share, f"{_QUANTITY[measure]} over axes", rng)


def rank_success(profile: FailureProfile, *, rng: np.random.Generator) -> Ranking:
    """Rank the agents by end-task success."""
    return _agents(profile, profile.succeeded, "success rate", rng)


def agents_by_task(profile: FailureProfile, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tasks x agents: the mean of a value of runs, NaN where an agent has none on a task."""
    agents, clusters = np.array(profile.panel.agents), np.array(profile.panel.clusters)
    columns = [_by_task(np.where(agents == agent, values, np.nan), clusters) for agent in profile.agents]
    return np.stack(columns, axis=1)


_QUANTITY = {"any": "any-judge failure rate", "consensus": "consensus failure rate"}


def _agents(profile: FailureProfile, values: NDArray[np.float64], quantity: str, rng: np.random.Generator) -> Ranking:
    sets = rank_sets(agents_by_task(profile, values), ci_level=profile.ci_level, rng=rng)
    subject = f"the {many(len(profile.agents), 'agent')}"
    return Ranking(subject, quantity, profile.agents, sets, profile.panel.kind)


def _failed(panel: Panel, measure: str) -> NDArray[np.float64]:
    one_of("measure", measure, MEASURES)
    return panel.any_judge() if measure == "any" else panel.consensus()


def _by_task(values: NDArray[np.float64], clusters: NDArray[Any]) -> NDArray[np.float64]:
    """Mean of the values of every task; NaN where there is none."""
    codes = np.unique(clusters, return_inverse=True)[1]
    given = ~np.isnan(values)
    counts = np.bincount(codes, weights=given)
    sums = np.bincount(codes, weights=np.where(given, values, 0.0))
    means: NDArray[np.float64] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means
