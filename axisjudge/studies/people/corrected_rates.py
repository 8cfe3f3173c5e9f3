"""Corrected failure rates of agents: what people would say, from many verdicts and few labels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.results import Result
from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.reference import in_short
from axisjudge.stats.rates.correction import (
    CorrectedRate,
    Sampling,
    corrected_difference,
    corrected_rank_sets,
    corrected_rate,
    pairwise_level,
)
from axisjudge.studies.people.labelled_panel import DrawProblem, LabelledPanel

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
        return super().to_dict() | {
            "by_agent": {agent: _in_short(rate) for agent, rate in self.by_agent.items()},
            "differences": [
                {"agent": one, "other": other, "difference": in_short(gap)} for one, other, gap in self.differences
            ],
        }


def _in_short(rate: CorrectedRate) -> dict[str, Any]:
    return {
        **{name: in_short(getattr(rate, name)) for name in ("rate", "apparent", "labels_alone")},
        "n_items": rate.rate.n_items,
        "n_labelled": rate.rate.n_items - rate.rate.n_missing,
        "warnings": list(rate.warnings),
        "refusal": rate.refusal,
    }


def corrected_rates(
    panel: LabelledPanel, judge: int, *, ci_level: float = 0.95, seed: int = 0
) -> CorrectedRates | None:
    """Corrected rates of the judge at a position of the panel; None where the scale knows no failure."""
    if panel.failing is None:
        return None
    asked = panel.asked[:, judge]
    rate = partial(corrected_of, panel, judge, seed=seed)
    agents = sorted({agent for agent in panel.agents[asked] if agent is not None})
    if len(agents) < 2:
        return CorrectedRates(rate(asked, ci_level=ci_level))
    level = pairwise_level(len(agents), ci_level)
    rows_of = {agent: asked & (panel.agents == agent) for agent in agents}
    by_agent = {agent: rate(rows, ci_level=ci_level) for agent, rows in rows_of.items()}
    return CorrectedRates(
        overall=rate(asked, ci_level=ci_level),
        by_agent=by_agent,
        differences=tuple(
            (one, other, corrected_difference(by_agent[one], by_agent[other]))
            for one, other in itertools.combinations(agents, 2)
        ),
        ranks=corrected_rank_sets([rate(rows, ci_level=level) for rows in rows_of.values()], ci_level=ci_level),
    )


def corrected_of(
    panel: LabelledPanel, judge: int, rows: NDArray[np.bool_], *, ci_level: float = 0.95, seed: int = 0
) -> CorrectedRate:
    """The judge's failure rate on these items, corrected by the labels among them."""
    verdicts, labels = panel.failed(panel.judged[:, judge]), panel.failed(panel.reference)
    sampling, problem = _sampling(panel, panel.judges[judge])
    corrected = corrected_rate(
        verdicts[rows],
        labels[rows],
        sampling=sampling,
        probability=None if panel.drawn.probability is None else panel.drawn.probability[rows],
        clusters=None if panel.clusters is None else panel.clusters[rows],
        cluster_unit=panel.cluster_unit,
        ci_level=ci_level,
        rng=seed,
    )
    if not problem or not corrected.refusal:
        return corrected
    return replace(corrected, refusal=problem, rate=replace(corrected.rate, reason=problem))


def _sampling(panel: LabelledPanel, judge: str) -> tuple[Sampling, str]:
    """The way of drawing as this judge's correction may use it, and in words why it may not."""
    drawn = panel.drawn
    if drawn.problem:
        return "unknown", drawn.reason
    own = drawn.key in (None, f"{judge}: {panel.question}")
    if drawn.sampling == "by_judge_verdict" and drawn.probability is None and not own:
        return "unknown", DrawProblem.OTHER_JUDGE.format(drawn.key)
    return drawn.sampling, ""
