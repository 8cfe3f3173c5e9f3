"""Corrected failure rates of a panel: what people would say, from many verdicts and few labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from axisjudge.labels.draw import DrawProblem
from axisjudge.labels.panel import LabelledPanel
from axisjudge.stats.rates.corrected_agents import CorrectedRates, corrected_by_agent
from axisjudge.stats.rates.correction import CorrectedRate, Sampling, corrected_rate


def corrected_rates(
    panel: LabelledPanel, judge: int, *, ci_level: float = 0.95, seed: int = 0
) -> CorrectedRates | None:
    """Corrected rates of the judge at a position of the panel; None where the scale knows no failure."""
    if panel.failing is None:
        return None

    def rate(rows: NDArray[np.bool_], level: float) -> CorrectedRate:
        return corrected_of(panel, judge, rows, ci_level=level, seed=seed)

    return corrected_by_agent(rate, panel.agents, panel.asked[:, judge], ci_level=ci_level)


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
