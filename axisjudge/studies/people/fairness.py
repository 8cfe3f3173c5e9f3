"""Where judges are unfair: sensitivity and specificity by strata, and rates corrected by strata of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from axisjudge.results import Result
from axisjudge.stats.comparisons.sign_flips import holm
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.fairness import StratumShare, post_stratified_sum, stratum_shares
from axisjudge.stats.raters.reference import in_short
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies.people.corrected_rates import corrected_of
from axisjudge.studies.people.labelled_panel import LabelledPanel
from axisjudge.studies.people.strata import Strata

#: Level of Holm's correction over all judges and strata of one question.
LEVEL = 0.05

NO_LENGTHS = "it needs the runs themselves (trajectories)"


class Fair(StrEnum):
    """Whether a judge treats a stratum as the others."""

    DIFFERS = "differs"
    NOT_SHOWN = "no difference shown"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, eq=False)
class StratumFairness(Result):
    """One judge in one stratum by one measure: its share, the difference from elsewhere, and Holm's p value.

    `within` is the bound that this difference keeps together with all others of its question and way of sorting, at 95%
    (Bonferroni); NaN where it has no interval.
    """

    judge: str
    measure: str
    of: StratumShare
    p_adjusted: float
    within: float

    def to_dict(self) -> dict[str, Any]:
        """One flat row of plain values."""
        share, gap = in_short(self.of.share), in_short(self.of.difference)
        names = {"judge": self.judge, "measure": self.measure, "stratum": self.of.stratum}
        ends = {"share": share, "less_elsewhere": gap, "n_items": self.of.share.n_items}
        tested = {name: None if math.isnan(value) else value for name, value in
                  (("p_adjusted", self.p_adjusted), ("within", self.within))}  # fmt: skip
        return {**names, **ends, **tested, "answer": self.answer.value}

    @property
    def answer(self) -> Fair:
        """Whether a difference is shown."""
        if math.isnan(self.p_adjusted):
            return Fair.NOT_TRIED
        return Fair.DIFFERS if self.p_adjusted <= LEVEL else Fair.NOT_SHOWN


@dataclass(frozen=True, eq=False)
class OwnStrataRate(Result):
    """A judge's failure rate corrected by all labels together, and by each stratum's own labels and then joined."""

    judge: str
    together: Estimate
    own_strata: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Both rates in short."""
        return {"judge": self.judge, "together": in_short(self.together), "own_strata": in_short(self.own_strata)}


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
    tried = list(_tried(panel, names, ci_level))
    p_adjusted = holm([each.p_value for _, _, each in tried])
    family = max(1, int(np.isfinite(p_adjusted).sum()))
    at_once = [each.difference for _, _, each in _tried(panel, names, 1 - (1 - ci_level) / family, tested=False)]
    differences = tuple(
        StratumFairness(judge, measure, each, float(p), max(abs(wide.ci_low), abs(wide.ci_high)))
        for (judge, measure, each), p, wide in zip(tried, p_adjusted, at_once, strict=True)
    )
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


def _tried(
    panel: LabelledPanel, names: np.ndarray, ci_level: float, *, tested: bool = True
) -> Iterator[tuple[str, str, StratumShare]]:
    """Each judge's sensitivity and specificity in each stratum."""
    people = panel.failed(panel.reference)
    for number, judge in enumerate(panel.judges):
        said = np.where(panel.asked[:, number], panel.failed(panel.judged[:, number]), np.nan)
        right = np.where(np.isnan(said) | np.isnan(people), np.nan, said == people)
        for measure, among in (("sensitivity", people == 1), ("specificity", people == 0)):
            counted: Floats = np.where(among, right, np.nan)
            how = {"cluster_unit": panel.cluster_unit, "ci_level": ci_level, "tested": tested}
            for each in stratum_shares(counted, names, panel.clusters, **how):  # type: ignore[arg-type]
                yield judge, measure, each


def _own_strata(panel: LabelledPanel, number: int, names: np.ndarray, ci_level: float, seed: int) -> OwnStrataRate:
    sorted_rows = panel.asked[:, number] & np.array([name is not None for name in names])
    rows_of = [sorted_rows & (names == name) for name in sorted(set(names[sorted_rows]))]
    each = [corrected_of(panel, number, rows, ci_level=ci_level, seed=seed).rate for rows in rows_of]
    own = post_stratified_sum(each, [int(rows.sum()) for rows in rows_of])
    together = corrected_of(panel, number, sorted_rows, ci_level=ci_level, seed=seed).rate
    return OwnStrataRate(panel.judges[number], together, own)
