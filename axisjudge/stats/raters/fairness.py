"""Where a judge is unfair: does it find failures, or spare flawless runs, less often in one stratum than elsewhere?

For strata of items (agents, domains, lengths) and a share p of right verdicts among the items that count (those that
people fail for a sensitivity), each stratum s is set against all others r:

    D_s = p_s - p_r        MOVER of two clustered shares, tasks as units

A stratum's p value is the level at which that interval reaches 0, so that interval and test agree. Tasks that have
items on both sides make the two shares move together: the correlation of their totals over tasks, less its own error
on Fisher's z, enters MOVER from 10 effective tasks on either side.

References
----------
Holland and Wainer (1993), Differential Item Functioning. Zou and Donner (2008), doi:10.1002/sim.3095 (MOVER).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.results import Result, columns
from axisjudge.stats.comparisons.sign_flips import holm
from axisjudge.stats.estimate import ClusteredShare, Estimate, difference_ends
from axisjudge.stats.rates.clustered import cluster_correlation
from axisjudge.stats.rates.proportions import FEWEST_CLUSTERS, clustered_proportion, share_at

Floats = NDArray[np.float64]

#: Level of Holm's correction over all judges and strata of one question.
LEVEL = 0.05
#: p values are not told more exactly than this.
_LEAST_P = 1e-6
_HALVINGS = 24


@dataclass(frozen=True, eq=False)
class StratumShare(Result):
    """The share in one stratum, its difference from all other strata, and the p value of that (NaN without one)."""

    stratum: str
    share: ClusteredShare
    difference: Estimate
    p_value: float


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

    _keys = columns(
        "judge measure stratum=of.stratum share=of.share.in_short less_elsewhere=of.difference.in_short",
        "n_items=of.share.n_items p_adjusted within answer",
    )

    judge: str
    measure: str
    of: StratumShare
    p_adjusted: float
    within: float

    @property
    def answer(self) -> Fair:
        """Whether a difference is shown."""
        if math.isnan(self.p_adjusted):
            return Fair.NOT_TRIED
        return Fair.DIFFERS if self.p_adjusted <= LEVEL else Fair.NOT_SHOWN


def stratum_shares(
    right: ArrayLike,
    strata: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    tested: bool = True,
) -> tuple[StratumShare, ...]:
    """The share of ones in each stratum, set against all other strata together.

    Parameters
    ----------
    right : array of 1, 0 or NaN, shape (n_items,)
        NaN values do not count: for a sensitivity, all items that people did not fail.
    strata : array of str or None, shape (n_items,)
        Items of no stratum (None) do not count.
    clusters : array, shape (n_items,), optional
        The task of each item; without it items are independent.
    cluster_unit, ci_level
        What a cluster is, and the level of each interval by itself.
    tested : bool
        Without it p values, which ask for many intervals, are left out (NaN).

    Returns
    -------
    tuple of StratumShare
        One for each stratum in the order of names.

    Raises
    ------
    InputError
        Arrays of two lengths, or fewer than two strata.
    """
    in_open_unit_interval("ci_level", ci_level)
    outcome, names = np.asarray(right, dtype=np.float64), np.asarray(strata, dtype=object)
    if names.shape != outcome.shape:
        raise InputError("strata", f"needs one entry for each of the {outcome.size} items", names.shape)
    of_some = np.array([name is not None for name in names], dtype=bool)
    every = sorted(set(names[of_some].tolist()))
    if len(every) < 2:
        raise InputError("strata", "must be two or more", every)
    groups = None if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1][of_some]
    given = outcome[of_some]
    counts = ~np.isnan(given)
    n_clusters = int(counts.sum()) if groups is None else np.unique(groups[counts]).size
    shares = []
    for name in every:
        mine = names[of_some] == name
        here, rest = (
            clustered_proportion(np.where(side, given, np.nan), groups, cluster_unit=cluster_unit, ci_level=ci_level)
            for side in (mine, ~mine)
        )

        correlation = _together(here, rest, np.where(mine, given, np.nan), np.where(mine, np.nan, given), groups)

        def difference(
            level: float, here: ClusteredShare = here, rest: ClusteredShare = rest, correlation: float = correlation
        ) -> Estimate:
            moved = share_difference(share_at(here, level), share_at(rest, level), correlation)
            return replace(moved, n_clusters=n_clusters)

        p_value = _p_value(difference(ci_level), difference) if tested else math.nan
        shares.append(StratumShare(name, here, difference(ci_level), p_value))
    return tuple(shares)


def fair_shares(
    right: Mapping[tuple[str, str], Floats],
    strata: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> tuple[StratumFairness, ...]:
    """Each judge's shares by measure (of `right`, as `stratum_shares` takes them) in each stratum, tested together."""

    def compared(level: float, *, tested: bool = True) -> list[tuple[str, str, StratumShare]]:
        shares = {
            name: stratum_shares(of, strata, clusters, cluster_unit=cluster_unit, ci_level=level, tested=tested)
            for name, of in right.items()
        }
        return [(*name, each) for name, every in shares.items() for each in every]

    tried = compared(ci_level)
    p_adjusted = holm([each.p_value for *_, each in tried])
    family = max(1, int(np.isfinite(p_adjusted).sum()))
    at_once = [each.difference for *_, each in compared(1 - (1 - ci_level) / family, tested=False)]
    return tuple(
        StratumFairness(judge, measure, each, float(p), max(abs(wide.ci_low), abs(wide.ci_high)))
        for (judge, measure, each), p, wide in zip(tried, p_adjusted, at_once, strict=True)
    )


def _together(
    here: ClusteredShare, rest: ClusteredShare, mine: Floats, others: Floats, groups: NDArray[np.intp] | None
) -> float:
    """The correlation of two shares over tasks, less its standard error on Fisher's z; 0 where few tasks show it."""
    worth = min(here.effective_clusters, rest.effective_clusters)
    if groups is None or not worth >= FEWEST_CLUSTERS:
        return 0.0
    seen = min(0.99, cluster_correlation(mine, others, groups))
    return max(0.0, math.tanh(math.atanh(seen) - 1 / math.sqrt(worth - 3)))


def share_difference(first: ClusteredShare, second: ClusteredShare, correlation: float = 0.0) -> Estimate:
    """First share minus second, of different items, by MOVER with the correlation of the two.

    Examples
    --------
    >>> share_difference(clustered_proportion([1] * 18 + [0] * 2), clustered_proportion([1] * 10 + [0] * 10))
    Estimate(0.400 [0.085 to 0.644], 40 items in 40 items)
    """
    gap = first.estimate - second.estimate
    result = partial(
        Estimate,
        estimate=gap,
        n_items=first.n_items + second.n_items,
        n_clusters=first.n_clusters + second.n_clusters,
        cluster_unit=first.cluster_unit,
        ci_level=first.ci_level,
    )
    if math.isnan(first.ci_low) or math.isnan(second.ci_low):
        return result(reason=first.reason or second.reason)
    low, high = difference_ends(first, second, correlation)
    return result(ci_low=max(-1.0, low), ci_high=min(1.0, high), method="MOVER of two shares")


def _p_value(difference: Estimate, at: Callable[[float], Estimate]) -> float:
    """1 - the level at which the interval just holds 0; NaN without an interval."""
    if math.isnan(difference.ci_low):
        return math.nan
    least, most = _LEAST_P, 1 - _LEAST_P
    if not _holds_zero(at(1 - least)):
        return least
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        least, most = (middle, most) if _holds_zero(at(1 - middle)) else (least, middle)
    return most


def _holds_zero(difference: Estimate) -> bool:
    return difference.ci_low <= 0 <= difference.ci_high


def post_stratified_sum(rates: list[Estimate], sizes: ArrayLike) -> Estimate:
    """The rate of all items from rates of strata, sum_s W_s p_s with W_s the stratum's share of the items, by MOVER.

    Parameters
    ----------
    rates : list of Estimate
        One of each stratum, of different items.
    sizes : array, shape (n_strata,)
        Items in each stratum.

    References
    ----------
    Zou and Donner (2008), doi:10.1002/sim.3095.
    """
    size = np.asarray(sizes, dtype=np.float64)
    weight = size / size.sum()
    point = np.array([rate.estimate for rate in rates])
    estimate = float(weight @ point)
    result = partial(
        Estimate,
        estimate=estimate,
        n_items=sum(rate.n_items for rate in rates),
        n_missing=sum(rate.n_missing for rate in rates),
        n_clusters=sum(rate.n_clusters for rate in rates),
        cluster_unit=rates[0].cluster_unit,
        ci_level=rates[0].ci_level,
    )
    if reasons := [rate.reason for rate in rates if math.isnan(rate.ci_low)]:
        return result(reason=reasons[0])
    low, high = (np.array([getattr(rate, end) for rate in rates]) for end in ("ci_low", "ci_high"))
    below, above = (float(np.sqrt(((weight * gap) ** 2).sum())) for gap in (point - low, high - point))
    ends = max(0.0, estimate - below), min(1.0, estimate + above)
    return result(ci_low=ends[0], ci_high=ends[1], method="MOVER over strata of their own")
