"""Where judges are unfair: sensitivity and specificity by strata, and rates corrected by strata of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from axisjudge.labels.panel import LabelledPanel
from axisjudge.ratings.strata import Strata
from axisjudge.results import Result, columns
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.fairness import Fair, StratumFairness, fair_shares, post_stratified_sum
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies.people.judges import corrected_of

NO_LENGTHS = "it needs the runs themselves (trajectories)"


@dataclass(frozen=True, eq=False)
class OwnStrataRate(Result):
    """A judge's failure rate corrected by all labels together, and by each stratum's own labels and then joined."""

    _keys = columns("judge together=together.in_short own_strata=own_strata.in_short")

    judge: str
    together: Estimate
    own_strata: Estimate


@dataclass(frozen=True, eq=False)
class QuestionFairness(Result):
    """All judges on one question, sorted `by` something; `refusal` says why nothing could be tried."""

    _keys = ("question", "by", "refusal", "differences", "rates")

    question: str
    by: str
    differences: tuple[StratumFairness, ...]
    rates: tuple[OwnStrataRate, ...]
    refusal: str = ""

    @property
    def unfair(self) -> tuple[StratumFairness, ...]:
        """The differences that hold after the correction."""
        return tuple(each for each in self.differences if each.answer is Fair.DIFFERS)

    @property
    def within(self) -> float:
        """No difference is larger than this, in share: all at once, at 95%; NaN where one has no interval."""
        tried = [each.within for each in self.differences if each.answer is not Fair.NOT_TRIED]
        return max(tried, default=math.nan)


def fairness(panel: LabelledPanel, strata: Strata, *, ci_level: float = 0.95, seed: int = 0) -> list[QuestionFairness]:
    """Every way of sorting the runs of one question."""
    return [_sorted_by(panel, by, of_run, ci_level, seed) for by, of_run in strata.items()]


def _sorted_by(
    panel: LabelledPanel, by: str, of_run: Mapping[str, str], ci_level: float, seed: int
) -> QuestionFairness:
    names = np.array([of_run.get(run) for run in panel.runs], dtype=object)
    if refusal := _refusal(panel, by, names):
        return QuestionFairness(panel.question, by, (), (), refusal)
    differences = fair_shares(_right(panel), names, panel.clusters, cluster_unit=panel.cluster_unit, ci_level=ci_level)
    rates = tuple(_own_strata(panel, number, names, ci_level, seed) for number in range(len(panel.judges)))
    return QuestionFairness(panel.question, by, differences, rates)


def _refusal(panel: LabelledPanel, by: str, names: np.ndarray) -> str:
    if panel.failing is None:
        return "no word of this scale means failure"
    if panel.drawn.chosen and panel.drawn.sampling != "by_human_label":
        return "labels were chosen: shares of right verdicts among them are not those of all items"
    if all(name is None for name in names):
        return NO_LENGTHS if by in ("length", "answer") else f"no run names its {by}"
    if len({name for name in names if name is not None}) < 2:
        return f"all runs are of one {by}"
    return ""


def _right(panel: LabelledPanel) -> dict[tuple[str, str], Floats]:
    """For each judge and measure, 1 where it says what people say, among what they fail or pass; NaN elsewhere."""
    people = panel.failed(panel.reference)
    right = {}
    for number, judge in enumerate(panel.judges):
        given = np.where(panel.asked[:, number], panel.failed(panel.judged[:, number]), np.nan)
        same = np.where(np.isnan(given) | np.isnan(people), np.nan, given == people)
        for measure, among in (("sensitivity", people == 1), ("specificity", people == 0)):
            right[judge, measure] = np.where(among, same, np.nan)
    return right


def _own_strata(panel: LabelledPanel, number: int, names: np.ndarray, ci_level: float, seed: int) -> OwnStrataRate:
    sorted_rows = panel.asked[:, number] & np.array([name is not None for name in names])
    rows_of = [sorted_rows & (names == name) for name in sorted(set(names[sorted_rows]))]
    each = [corrected_of(panel, number, rows, ci_level=ci_level, seed=seed).rate for rows in rows_of]
    own = post_stratified_sum(each, [int(rows.sum()) for rows in rows_of])
    together = corrected_of(panel, number, sorted_rows, ci_level=ci_level, seed=seed).rate
    return OwnStrataRate(panel.judges[number], together, own)
