"""The statistics that a plan may declare, on the verdicts of one question: for each group of judges, at any level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.protocol.plan import AnalysisPlan
from axisjudge.ratings import RatingMatrix
from axisjudge.stats.agreement.case_weighted import case_weighted
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, coefficient_names
from axisjudge.stats.agreement.soft import beliefs, soft_agreement
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies._shared.arrays import words_of
from axisjudge.studies._shared.coded import Coded

#: Gives the statistic with an interval at a level.
AtLevel = Callable[[float], Estimate]

NO_MAP = "no map of these judges' confidences was frozen in the plan"


def declared_statistics(
    matrix: RatingMatrix, coded: Coded, plan: AnalysisPlan, seed: int
) -> dict[tuple[str, ...], AtLevel]:
    """The plan's statistic by judges: all, every two, or (of a failure rate) each."""
    if plan.statistic == "failure_rate":
        return _failure_rates(matrix, coded)
    if plan.statistic in COEFFICIENTS:
        return _coefficients(matrix, coded, plan.statistic, seed)
    return {
        tuple(matrix.raters[rater] for rater in pair): _confident(matrix, coded, plan, list(pair), seed)
        for pair in itertools.combinations(range(len(matrix.raters)), 2)
    }


def _coefficients(matrix: RatingMatrix, coded: Coded, name: str, seed: int) -> dict[tuple[str, ...], AtLevel]:
    raters = matrix.raters
    drawn = dict.fromkeys([*coefficient_names(len(raters)).values(), name])  # as in a table of agreement

    @cache
    def at(level: float) -> dict[str, Agreement]:
        return agreement_coefficients(coded.codes, list(drawn), **coded.how, ci_level=level, rng=seed)

    def of(key: str, level: float) -> Estimate:
        return at(level)[key]

    if not COEFFICIENTS[name].two_raters or len(raters) == 2:
        return {raters: partial(of, name)}
    pairs = itertools.combinations(range(len(raters)), 2)
    return {(raters[one], raters[two]): partial(of, f"{name}[{one},{two}]") for one, two in pairs}


def _failure_rates(matrix: RatingMatrix, coded: Coded) -> dict[tuple[str, ...], AtLevel]:
    """Each judge's share of `incorrect`; a verdict without a side is a pass, or left out where the plan says so."""
    failed = matrix.categories.index("incorrect") if "incorrect" in matrix.categories else -1

    def rate(codes: NDArray[np.float64], level: float) -> Estimate:
        values = np.where(np.isnan(codes), np.nan, codes == failed)
        return clustered_proportion(values, **coded.groups, ci_level=level)

    return {(rater,): partial(rate, coded.codes[:, column]) for column, rater in enumerate(matrix.raters)}


def _confident(matrix: RatingMatrix, coded: Coded, plan: AnalysisPlan, pair: list[int], seed: int) -> AtLevel:
    """Soft or case-weighted agreement of two judges, on confidences normalised by the plan's frozen maps."""
    raters = [matrix.raters[rater] for rater in pair]
    if any(rater not in plan.maps for rater in raters):
        return lambda level: Estimate(estimate=math.nan, n_items=0, n_clusters=0, reason=NO_MAP)
    maps = [plan.confidence_map(rater) for rater in raters]
    normalised = [
        normal(matrix.confidences[:, at], source=normal.source) for normal, at in zip(maps, pair, strict=True)
    ]
    codes, sure = coded.codes[:, pair], np.column_stack(normalised)
    if plan.statistic == "soft_agreement":
        believed = beliefs(words_of(codes, matrix.categories), sure)
        return lambda level: soft_agreement(believed, **coded.groups, ci_level=level)
    combine: Any = "product" if plan.weighting == "none" else plan.weighting
    weighted = partial(case_weighted, codes, sure, combine=combine, rng=seed)
    return lambda level: weighted(**coded.how, ci_level=level)
