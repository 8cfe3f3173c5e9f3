"""A judge's failure rates of several agents, corrected: each agent, all together, and how they rank."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.results import Result, plain
from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.stats.correction import CorrectedRate, corrected_difference, corrected_rank_sets, pairwise_level
from axisjudge.stats.estimate import Estimate

ALL_AGENTS = "all agents"


@dataclass(frozen=True, eq=False)
class CorrectedRates(Result):
    """One judge's failure rates on one question, corrected: of all agents together and of each.

    `differences` holds (agent, other agent, first minus second); `ranks` the simultaneous rank sets of `agents`.
    """

    overall: CorrectedRate
    by_agent: dict[str, CorrectedRate] = field(default_factory=dict)
    differences: tuple[tuple[str, str, Estimate], ...] = ()
    ranks: RankSets | None = None

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents in the order of `ranks`."""
        return tuple(self.by_agent)

    @property
    def apart(self) -> bool:
        """Whether some agents can be told apart."""
        return self.ranks is not None and not self.ranks.tied

    @property
    def listed(self) -> list[tuple[str, CorrectedRate, str]]:
        """All agents together and then each: name, rate, and the ranks that it may hold (empty where not ranked)."""
        ranks = {}
        if self.ranks is not None and not self.ranks.refusal:
            ends = zip(self.agents, self.ranks.rank_low, self.ranks.rank_high, strict=True)
            ranks = {agent: f"{low} to {high}" if low < high else f"{low}" for agent, low, high in ends}
        each = [(agent, rate, ranks.get(agent, "")) for agent, rate in self.by_agent.items()]
        return [(ALL_AGENTS, self.overall, ""), *each]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; of single agents and of differences the estimates in short."""
        by_agent = {agent: _in_short(rate) for agent, rate in self.by_agent.items()}
        gaps = [{"agent": one, "other": other, "difference": gap.in_short} for one, other, gap in self.differences]
        values: dict[str, Any] = plain({**self.named_values(), "by_agent": by_agent, "differences": gaps})
        return values


def _in_short(corrected: CorrectedRate) -> dict[str, Any]:
    rates = {name: getattr(corrected, name).in_short for name in ("rate", "apparent", "labels_alone")}
    n_items, n_missing = corrected.rate.n_items, corrected.rate.n_missing
    rest = {"warnings": corrected.warnings, "refusal": corrected.refusal}
    return {**rates, "n_items": n_items, "n_labelled": n_items - n_missing, **rest}


def corrected_by_agent(
    rate: Callable[[NDArray[np.bool_], float], CorrectedRate],
    agents: NDArray[np.object_],
    asked: NDArray[np.bool_],
    *,
    ci_level: float = 0.95,
) -> CorrectedRates:
    """The corrected rate of all items that were asked, and of those of each agent where there are two or more.

    Parameters
    ----------
    rate : callable
        Gives the corrected rate of some items (a mask) at a level.
    agents : array, shape (n_items,)
        The agent of each item; None where it is not named.
    asked : array of bool, shape (n_items,)
    """
    names = sorted({agent for agent in agents[asked] if agent is not None})
    if len(names) < 2:
        return CorrectedRates(rate(asked, ci_level))
    rows_of = {agent: asked & (agents == agent) for agent in names}
    by_agent = {agent: rate(rows, ci_level) for agent, rows in rows_of.items()}
    level = pairwise_level(len(names), ci_level)
    return CorrectedRates(
        overall=rate(asked, ci_level),
        by_agent=by_agent,
        differences=tuple(
            (one, other, corrected_difference(by_agent[one], by_agent[other]))
            for one, other in itertools.combinations(names, 2)
        ),
        ranks=corrected_rank_sets([rate(rows, level) for rows in rows_of.values()], ci_level=ci_level),
    )
