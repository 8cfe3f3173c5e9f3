"""Shares in clusters of any sizes: two of the same items, one carried to another mix of items, and how many more items
would narrow one."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, one_each
from axisjudge.stats.clusters import (
    AGREEMENT_ICC,
    OUTCOME_ICC,
    PRIOR_DEGREES,
    Alike,
    by_number,
    clustered_variance,
    effective_clusters,
    joined_effect,
    normal_part,
    relative_weights,
)
from axisjudge.stats.estimate import ClusteredShare, E, Estimate, counts_of, many, nothing_of
from axisjudge.stats.proportions import (
    FEWEST_FOR_WILSON,
    clopper_pearson_interval,
    cluster_codes,
    clustered_ends,
    lean_to_unseen,
    no_nearer_than_share,
    score_interval,
    share_at,
    t_quantile,
)

Floats = NDArray[np.float64]


def paired_share_difference(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    alike: Alike = "items",
    ci_level: float = 0.95,
) -> Estimate:
    """First share minus second on the items that have both: the share that only the first hits minus the other way.

    With d = 1, 0 or -1 by item, and e the design effect that `clustered_variance` finds for n items (expected
    correlation of agreement, as both saw the same items),

        half length = t (sqrt(e (V0 + 1 / n^2)) + u / n)
        u           = h - sqrt(h) - most, at most the items that differ

    V0 is that of independent items, joined by one more item that differs. u is what one more cluster, as hard as the
    hardest seen, may add on that side beyond the `most` by which one has hit more in any: h is the most that the one
    hit, or the other missed, in one cluster, whichever is less, sqrt(h) what chance alone moves there. It is apart by
    side, and 0 where every item is its own cluster and weighs the same. Arrays that are the same have an interval of
    about 0. Where one side is constant the difference is the other's share, and no end is nearer than that share's.

    Parameters
    ----------
    first, second : array of 1, 0 or NaN, shape (n_items,)
        Or of what lies between, as where a tie is shared.
    weights, alike
        As in `clustered_proportion`.

    Notes
    -----
    Judges are right or wrong on whole queries of many steps: one of 50 carries a third of some differences, and is
    missing from a third of the studies that redraw 50. Steps of AgentProcessBench, 12, 25 and 50 redrawn queries, pairs
    of judges that this was not made on: covered in .984 to .998, .91 at least, .05 of pairs below .93 at most (t .92,
    .71, .46; bootstrap-t .92, .77, .47), 1.5 to 2.1 times as wide as that t; a bet by query is 5 to 9 times. Nothing
    between holds: half of u covers .93 at least at 12 queries (1.5 times), .86 at 50, three quarters .90 at 50. Of
    runs, where t holds, .965 to .991 and .917 at least, 1.06 to 1.16 times as wide, 1.28 times at 12 hotpotqa queries.

    Where all items of a task turn together (correlation 1) and changes are few, 14 to 45 tasks show too little of them:
    covered in .53 to .97, in .90 and more up to a correlation of .3 (48 drawn designs of tasks and three of items).
    Room for tasks unlike those seen mends that at 1.1 to 1.6 times the width everywhere, and hides gains that are real.

    References
    ----------
    Agresti and Min (2005), Stat. Med. 24:729-740, doi:10.1002/sim.1781 (items added to a paired difference).
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    one_each("second", other, one.size)
    moved = one - other
    kept = ~np.isnan(moved)
    moved, groups = moved[kept], cluster_codes(clusters, one.size, ways=2)[kept]
    weight = relative_weights(weights, kept, groups=groups, alike=alike)
    ways = [np.unique(way, return_inverse=True)[1] for way in by_number(groups)]
    sizes = np.bincount(ways[-1], weights=weight)
    counts = {"n_items": moved.size, "n_missing": one.size - moved.size, "n_clusters": sizes.size}
    result = partial(Estimate, **counts_of(clusters, cluster_unit, ci_level, **counts))
    if not sizes.size:
        return result(estimate=math.nan, reason="no value is given")
    difference, differing = (float(np.average(each, weights=weight)) for each in (moved, np.abs(moved)))
    if sizes.size < 2:
        return result(estimate=difference, reason=f"all values are of one {cluster_unit}")
    influence = weight * (moved - difference) / moved.size
    spread = clustered_variance(influence, groups, weights=weight, prior=AGREEMENT_ICC)
    error = math.sqrt(spread.variance + spread.design_effect / effective_clusters(weight) ** 2)
    one, other, n = one[kept], other[kept], moved.size

    def unseen(hit: Floats, missed: Floats, more: Floats) -> float:
        """What one more cluster, as hard as the hardest seen, may add on one side."""
        hits, misses, most = (float(np.bincount(ways[0], weights=weight * each).max()) for each in (hit, missed, more))
        hardest = min(hits, misses)
        return max(0.0, min(hardest - math.sqrt(hardest) - max(most, 0.0), differing * n)) / n

    t = t_quantile(spread.degrees, ci_level)
    low = max(-1.0, difference - t * (error + unseen(other, 1 - one, -moved)))
    high = min(1.0, difference + t * (error + unseen(one, 1 - other, moved)))
    given = None if clusters is None else groups
    how: dict[str, Any] = {"weights": None if weights is None else weight, "alike": alike, "ci_level": ci_level}
    low, high = no_nearer_than_share((low, high), one, other, given, **how)
    method = f"paired difference with one item and one cluster unseen, t on {spread.degrees:.1f} degrees"
    return result(estimate=difference, ci_low=low, ci_high=high, method=method)


#: A stratum of fewer clusters does not show how far its clusters differ, and a mix that leans on it has no interval.
FEWEST_OF_STRATUM = 5
#: More of a mix than this, of which there is no item, leaves bounds too far apart to say anything.
MOST_UNCOVERED = 0.2


def uncovered(mix: Mapping[str, float], seen: Collection[str]) -> tuple[float, str]:
    """Which share of a mix is of strata that are not among those `seen`, and why that matters; "" where none is."""
    lacking = [name for name, part in mix.items() if part > 0 and name not in seen]
    share = sum(mix[name] for name in lacking) / sum(mix.values())
    few = f" ({MOST_UNCOVERED:.0%} at most can be bounded)" if share > MOST_UNCOVERED else ""
    return share, f"the mix gives {share:.0%} to {' and '.join(lacking)}, of which no item counts{few}" * bool(lacking)


def bounded(covered: E, share: float, reason: str) -> E:
    """An estimate of the rest of a mix as bounds of the whole, whatever holds of the `share` that is not covered.

    With l and u its ends, (1 - m) l to (1 - m) u + m: the interval of the rest, where of the share m none, or all, are
    hits. There is no estimate, and no bound where m is above `MOST_UNCOVERED`.

    References
    ----------
    Manski (1990), Am. Econ. Rev. 80:319-323 (bounds where nothing is known of a part).
    """
    if not share:
        return covered
    low, high = (1 - share) * covered.ci_low, (1 - share) * covered.ci_high + share
    within = replace(covered, estimate=math.nan, ci_low=low, ci_high=high, reason=reason)
    return nothing_of(covered, reason) if share > MOST_UNCOVERED or math.isnan(low) else within


def standardised_share(
    values: ArrayLike,
    strata: ArrayLike,
    mix: Mapping[str, float],
    clusters: ArrayLike | None = None,
    *,
    cluster_unit: str = "cluster",
    expected_icc: float = OUTCOME_ICC,
    ci_level: float = 0.95,
) -> ClusteredShare:
    r"""The share of ones carried to another mix of strata (direct standardisation), clusters as units.

    .. math:: \hat\theta = \sum_s m_s \hat p_s, \qquad
              u_i = m_s \frac{y_i - \hat p_s}{n_s} \sqrt{\frac{K_s}{K_s - 1}}, \qquad
              V_0 = \sum_s \frac{m_s^2}{n_s} \tilde p_s (1 - \tilde p_s), \quad
              \tilde p_s = \frac{n_s \hat p_s + 2 \hat\theta}{n_s + 2}

    with n_s items in K_s effective clusters of stratum s, and the interval Wilson's at theta (1 - theta) / V_0 items
    over the design effect of the influences u_i, added up over clusters whatever strata their items are of. Drawn to
    the whole by two items, a stratum without a hit is not taken for certain. t has no more degrees than the strata's
    clusters carry (Satterthwaite). Of independent items the interval is the exact one, at no more than Kish's items,
    while either outcome was seen fewer than 15 times (Korn and Graubard).

    Parameters
    ----------
    values : array of 0, 1 or NaN, shape (n_items,)
    strata : array of str or None, shape (n_items,)
        Items of no stratum (None), or of one without weight, do not count.
    mix : mapping of str to float
        The share of each stratum in the mix that is meant, up to a factor.
    clusters, cluster_unit, expected_icc, ci_level
        As in `clustered_proportion`.

    Returns
    -------
    ClusteredShare
        Where strata with weight hold no item, an interval that holds whatever they are (`bounded`), and no estimate;
        without an interval where one that does holds fewer than five clusters.

    Raises
    ------
    InputError
        Strata of another length, or a mix that is negative or all nought.

    Notes
    -----
    What holds within strata must be alike here and there: only the mix is carried.

    References
    ----------
    Cochran (1977), Sampling Techniques, section 5A.8 (post-stratified means). Cole and Stuart (2010), Am. J. Epidemiol.
    172:107-115, doi:10.1093/aje/kwq084 (weights to a target population). Korn and Graubard (1998), Survey Methodology
    24:193-201. Satterthwaite (1946), doi:10.2307/3002019.

    Examples
    --------
    >>> standardised_share([1] * 5 + [0] * 15 + [1] * 15 + [0] * 5, ["a"] * 20 + ["b"] * 20, {"a": 0.9, "b": 0.1})
    ClusteredShare(0.300 [0.156 to 0.499], 40 items in 40 items)
    """
    outcome, names = np.asarray(values, dtype=np.float64), np.asarray(strata, dtype=object)
    one_each("strata", names, outcome.size)
    share = np.array([*mix.values()], dtype=np.float64)
    if not (share >= 0).all() or not 0 < share.sum() < math.inf:
        raise InputError("mix", "must be shares of 0 or more, and not all 0", dict(mix))
    seen = set(names[~np.isnan(outcome)])
    left_out, why = uncovered(mix, seen)
    if 0 < left_out < 1:
        rest = {name: part for name, part in mix.items() if name in seen}
        how: dict[str, Any] = {"cluster_unit": cluster_unit, "expected_icc": expected_icc, "ci_level": ci_level}
        return bounded(standardised_share(values, strata, rest, clusters, **how), left_out, why)
    of = {name: number for number, name in enumerate(name for name, part in mix.items() if part > 0)}
    share = share[share > 0] / share.sum()
    stratum = np.array([of.get(name, -1) for name in names], dtype=np.intp)
    kept = ~np.isnan(outcome) & (stratum >= 0)
    groups = np.unique(cluster_codes(clusters, outcome.size)[kept], return_inverse=True)[1]
    y, stratum = outcome[kept], stratum[kept]
    cells = np.zeros((share.size, groups.max(initial=-1) + 1))
    np.add.at(cells, (stratum, groups), 1.0)
    n, n_clusters, unit = cells.sum(axis=1), (cells > 0).sum(axis=1), "item" if clusters is None else cluster_unit
    counts = {"n_items": y.size, "n_missing": int(np.isnan(outcome).sum()), "n_clusters": cells.shape[1]}
    result = partial(ClusteredShare, **counts_of(clusters, unit, ci_level, **counts))
    if why:
        return result(estimate=math.nan, reason=why)
    p = np.bincount(stratum, weights=y) / n
    estimate = float(share @ p)
    for name, number in of.items():
        if n_clusters[number] < FEWEST_OF_STRATUM:
            there = f"{name} has {many(int(n_clusters[number]), unit)}"
            return result(estimate=estimate, reason=f"{there}; a mix needs {FEWEST_OF_STRATUM} of each")
    k = np.array([effective_clusters(row) for row in cells])
    influence = (share * np.sqrt(k / (k - 1)) / n)[stratum] * (y - p[stratum])
    spread = clustered_variance(influence, groups, weights=(share / n)[stratum], prior=expected_icc)
    drawn, whole = (n * p + 2 * estimate) / (n + 2), estimate * (1 - estimate)
    parts = share**2 / n * (drawn * (1 - drawn) if whole > 0 else 1.0)
    items = (whole or 1.0) / float(parts.sum()) / spread.design_effect
    of_strata = (share**2 / k).sum() ** 2 / (share**4 / k**2 / np.maximum(k - 1, 1)).sum()
    degrees = min(spread.degrees, float(of_strata) + PRIOR_DEGREES)
    lean, weight, alone = spread.lean, (share / n)[stratum], cells.sum(axis=0).max() <= 1
    if not alone:
        hits, sizes = np.bincount(groups, weights=weight * y), np.bincount(groups, weights=weight)
        lean = lean_to_unseen(lean, estimate, hits, sizes)
    if alone and min(y.sum(), y.size - y.sum()) < FEWEST_FOR_WILSON:
        items = min(items, 1 / float((share**2 / n).sum()))
        (low, high), name = clopper_pearson_interval(estimate * items, items, ci_level=ci_level), "Clopper-Pearson"
    else:
        (low, high), name = clustered_ends(estimate, items, degrees, lean, ci_level), "Wilson"
    return result(
        estimate=estimate,
        ci_low=float(low),
        ci_high=float(high),
        method=f"standardised, {name} at {items:.1f} items, t on {degrees:.1f} degrees",
        effective_clusters=spread.effective_clusters,
        design_effect=y.size / items,
        degrees=degrees,
        lean=lean,
    )


def cluster_correlation(first: ArrayLike, second: ArrayLike, clusters: ArrayLike | None) -> float:
    """Correlation of two shares over the residuals of clusters' totals; 0 where one does not vary."""
    totals = []
    for values in (first, second):
        given = np.asarray(values, dtype=np.float64)
        kept = ~np.isnan(given)
        residual = np.where(kept, np.nan_to_num(given) - given[kept].mean(), 0.0)
        totals.append(np.bincount(cluster_codes(clusters, given.size), weights=residual))
    norm = math.sqrt(float((totals[0] ** 2).sum() * (totals[1] ** 2).sum()))
    return float(totals[0] @ totals[1]) / norm if norm else 0.0


def more_for_half_width(share: ClusteredShare, half_width: float) -> int | None:
    """How many more items of the same kind would bring the interval to +- `half_width`; None where nobody can say.

    Clusters are taken to grow in number as the items do, with the design effect seen, at the share in the middle of
    the interval.

    Examples
    --------
    >>> from axisjudge.stats.proportions import clustered_proportion
    >>> more_for_half_width(clustered_proportion([1] * 9 + [0] * 5), 0.1)
    74
    """
    in_open_unit_interval("half_width", half_width)
    if math.isnan(share.ci_low):
        return None
    centre = (share.ci_low + share.ci_high) / 2
    n = share.n_items

    def width(items: int) -> float:
        low, high = _at_more(share, centre, items)
        return (high - low) / 2

    return _least(width, half_width, n) - n


def more_for_upper_end(share: ClusteredShare, limit: float) -> int | None:
    """How many more items of the same kind would bring the upper end down to `limit`; None where no number would.

    As `more_for_half_width`, at the share seen.

    Examples
    --------
    >>> from axisjudge.stats.proportions import clustered_proportion
    >>> more_for_upper_end(clustered_proportion([1] * 5 + [0] * 95), 0.1)
    42
    """
    if math.isnan(share.ci_high) or share.estimate >= limit:
        return None
    return _least(lambda items: _at_more(share, share.estimate, items)[1], limit, share.n_items) - share.n_items


def _at_more(share: ClusteredShare, centre: float, items: int) -> tuple[float, float]:
    """The interval around `centre` if there were so many items, clusters growing in number as items do."""
    growth, lean = items / share.n_items, share.lean
    further = {name: getattr(lean, name) / math.sqrt(growth) for name in ("skewed", "unseen")}
    lean, degrees = replace(lean, **further, clusters=lean.clusters * growth), share.effective_clusters * (growth - 1)
    more = replace(share, estimate=centre, n_items=items, degrees=share.degrees + degrees, lean=lean)
    return share_at(more, share.ci_level).in_short[1:]


def _least(value: Callable[[int], float], limit: float, n: int) -> int:
    """The least number from `n` on at which a falling value is no more than `limit`."""
    most = n
    while value(most) > limit:
        most *= 2
    least = n
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if value(middle) <= limit else (middle + 1, most)
    return least


def upper_end_at(
    share: float,
    clusters: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    expected_icc: float = OUTCOME_ICC,
    ci_level: float = 0.95,
) -> float:
    """Where `clustered_proportion` would end (nothing unseen) if this share were seen in items of these clusters.

    What a study can show is known from this before any label is: with the least design effect that could be seen. NaN
    where all items are of one cluster.

    Parameters
    ----------
    share : float
    clusters, weights : array, shape (n_items,)
        Of the items that count.
    expected_icc : float
        As in `clustered_proportion`.

    Examples
    --------
    >>> tasks = [task for task in range(50) for _ in range(4)]
    >>> round(upper_end_at(0.05, tasks), 3)
    0.106
    """
    groups = cluster_codes(clusters, np.size(clusters))
    weight = relative_weights(weights, np.ones(groups.size, dtype=bool))
    sizes = np.bincount(groups, weights=weight)
    n_eff, items = effective_clusters(sizes), effective_clusters(weight)
    if sizes.size < 2:
        return math.nan
    largest = items / n_eff
    seen = n_eff - 1 if largest <= 1 + 1e-12 else (n_eff - 1) * normal_part(share)  # 1: every item its own cluster
    effect, degrees = joined_effect(1.0, largest, seen, expected_icc)
    return score_interval(share, items / effect, t_quantile(degrees, ci_level))[1]
