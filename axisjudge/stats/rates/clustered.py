"""Shares of items that come in clusters of any sizes: one interval for sensitivity, precision and all their kin.

A share is a ratio of cluster totals, hits among the items of a cluster that count. Its interval is that of
`clustered_proportion`; beside it stands what the clusters are worth and what one item is divided by. Two shares, of the
same items or of others, are joined by MOVER.

References
----------
Zou and Donner (2008), Stat. Med. 27:1693-1702, doi:10.1002/sim.3095 (MOVER).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.stats.clusters import effective_clusters
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import (
    FEWEST_FOR_WILSON,
    clopper_pearson_interval,
    cluster_codes,
    score_interval,
    share_between_clusters,
    t_quantile,
    wilson_interval,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, repr=False)
class ClusteredShare(Estimate):
    """A share with its interval; `effective_clusters` is Kish's K, `design_effect` what one item is divided by.

    `degrees` are those of the interval's t, NaN where items are independent.
    """

    hits: int
    effective_clusters: float
    design_effect: float = 1.0
    degrees: float = math.nan


def clustered_share(
    values: ArrayLike, clusters: ArrayLike | None = None, *, cluster_unit: str = "cluster", ci_level: float = 0.95
) -> ClusteredShare:
    """The share of ones among `values`, with an interval that holds for clusters of unequal sizes.

    Parameters
    ----------
    values : array of 1, 0 or NaN, shape (n_items,)
        NaN values do not count: for a sensitivity, all items that people did not fail.
    clusters : array, shape (n_items,), optional
        Which items belong together; without it items are taken as independent, and the interval is Wilson's, or the
        exact one while either outcome was seen fewer than 15 times.
    cluster_unit : str
        What a cluster is ("task"); printed with the count.

    Returns
    -------
    ClusteredShare
        `n_missing` counts the NaN values. Without an interval where all items are of one cluster.

    Raises
    ------
    InputError
        Values other than 0, 1 and NaN, or clusters of another length.

    Examples
    --------
    >>> tasks = [task for task in range(5) for _ in range(4)]
    >>> clustered_share([1] * 19 + [0], tasks, cluster_unit="task")
    ClusteredShare(0.950 [0.632 to 0.995], 20 items in 5 tasks)
    """
    outcome, groups, kept = _counted(values, clusters)
    in_open_unit_interval("ci_level", ci_level)
    n, hits = outcome.size, int(outcome.sum())
    sizes = np.bincount(groups) if n else np.array([], dtype=np.intp)
    sizes = sizes[sizes > 0]
    independent = clusters is None or bool((sizes == 1).all())
    worth = effective_clusters(sizes)
    about: dict[str, Any] = {
        "ci_level": ci_level,
        "n_items": n,
        "n_missing": int((~kept).sum()),
        "n_clusters": sizes.size,
        "cluster_unit": "item" if clusters is None else cluster_unit,
        "hits": hits,
        "effective_clusters": worth,
    }
    if not n:
        reason = "no item counts: a share needs at least one"
        return ClusteredShare(estimate=math.nan, reason=reason, **about)
    share = hits / n
    if independent:
        exact = min(hits, n - hits) < FEWEST_FOR_WILSON
        low, high = (clopper_pearson_interval if exact else wilson_interval)(hits, n, ci_level=ci_level)
        method = "Clopper-Pearson" if exact else "Wilson"
        return ClusteredShare(estimate=share, ci_low=low, ci_high=high, method=method, **about)
    if sizes.size == 1:
        reason = f"all values are of one {cluster_unit}: how far clusters differ cannot be seen"
        return ClusteredShare(estimate=share, reason=reason, **about)
    low, high, variance = share_between_clusters(outcome, groups, ci_level)
    method = f"Wilson at n / {variance.design_effect:.2f}, t on {variance.degrees:.1f} degrees"
    about |= {"design_effect": variance.design_effect, "degrees": variance.degrees}
    return ClusteredShare(estimate=share, ci_low=low, ci_high=high, method=method, **about)


def paired_share_difference(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> Estimate:
    """First share minus second on the items that have both: the share that only the first hits minus the other way.

    The two shares are joined by MOVER with the correlation that their cluster totals show, where it is negative.

    Parameters
    ----------
    first, second : array of 1, 0 or NaN, shape (n_items,)

    References
    ----------
    Zou and Donner (2008), Stat. Med. 27:1693-1702, doi:10.1002/sim.3095.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape:
        raise InputError("second", f"needs one entry for each of the {one.size} items", other.shape)
    both = ~np.isnan(one) & ~np.isnan(other)
    ups, downs = (np.where(both, way, np.nan) for way in ((one > other), (one < other)))
    up, down = _shares(ups, downs, clusters=clusters, cluster_unit=cluster_unit, ci_level=ci_level)
    together = min(0.0, _correlation(ups, downs, clusters)) if both.any() else 0.0
    about = _about(up, n_missing=up.n_missing)
    difference = up.estimate - down.estimate
    if math.isnan(up.ci_low):
        return Estimate(estimate=difference, reason=up.reason, **about)
    low = difference - _joined(up.estimate - up.ci_low, down.ci_high - down.estimate, -together)
    high = difference + _joined(up.ci_high - up.estimate, down.estimate - down.ci_low, -together)
    method = f"MOVER of the shares that differ, {up.method}"
    return Estimate(estimate=difference, ci_low=max(-1.0, low), ci_high=min(1.0, high), method=method, **about)


def mean_of_shares(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> Estimate:
    """The plain mean of two shares of different items, as balanced accuracy is of sensitivity and specificity.

    MOVER with the correlation that the clusters' totals show, where it is positive.

    Parameters
    ----------
    first, second : array of 1, 0 or NaN, shape (n_items,)
    """
    one, other = _shares(first, second, clusters=clusters, cluster_unit=cluster_unit, ci_level=ci_level)
    n = one.n_items + other.n_items
    about = _about(one, n_items=n, n_missing=np.size(first) - n)
    mean = (one.estimate + other.estimate) / 2
    if math.isnan(one.ci_low) or math.isnan(other.ci_low):
        return Estimate(estimate=mean, reason=one.reason or other.reason, **about)
    together = 0.0 if clusters is None else max(0.0, _correlation(first, second, clusters))
    low = mean - _joined(one.estimate - one.ci_low, other.estimate - other.ci_low, together) / 2
    high = mean + _joined(one.ci_high - one.estimate, other.ci_high - other.estimate, together) / 2
    return Estimate(estimate=mean, ci_low=max(0.0, low), ci_high=min(1.0, high), method="MOVER of two shares", **about)


def more_for_half_width(share: ClusteredShare, half_width: float) -> int | None:
    """How many more items of the same kind would bring the interval to +- `half_width`; None where nobody can say.

    Clusters are taken to grow in number as the items do, with the design effect seen, at the share in the middle of
    the interval.

    Examples
    --------
    >>> more_for_half_width(clustered_share([1] * 9 + [0] * 5), 0.1)
    77
    """
    in_open_unit_interval("half_width", half_width)
    if math.isnan(share.ci_low):
        return None
    centre = (share.ci_low + share.ci_high) / 2
    n = share.n_items
    known = max(share.effective_clusters - 1, 1.0) if math.isnan(share.degrees) else share.degrees

    def width(items: int) -> float:
        degrees = share.effective_clusters * (items / n - 1) + known
        low, high = score_interval(centre, items / share.design_effect, t_quantile(degrees, share.ci_level))
        return (high - low) / 2

    most = n
    while width(most) > half_width:
        most *= 2
    least = n
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if width(middle) <= half_width else (middle + 1, most)
    return least - n


def _counted(values: ArrayLike, clusters: ArrayLike | None) -> tuple[Floats, NDArray[np.intp], NDArray[np.bool_]]:
    outcome = np.asarray(values, dtype=np.float64)
    if outcome.ndim != 1 or not np.isin(outcome[~np.isnan(outcome)], (0.0, 1.0)).all():
        raise InputError("values", "must be one row of 0, 1 or NaN", values)
    kept = ~np.isnan(outcome)
    return outcome[kept], cluster_codes(clusters, outcome.size)[kept], kept


def _correlation(first: ArrayLike, second: ArrayLike, clusters: ArrayLike | None) -> float:
    """Correlation of two shares over the clusters' residuals; 0 where one does not vary."""
    totals = []
    for values in (first, second):
        given = np.asarray(values, dtype=np.float64)
        kept = ~np.isnan(given)
        residual = np.where(kept, np.nan_to_num(given) - given[kept].mean(), 0.0)
        totals.append(np.bincount(cluster_codes(clusters, given.size), weights=residual))
    norm = math.sqrt(float((totals[0] ** 2).sum() * (totals[1] ** 2).sum()))
    return float(totals[0] @ totals[1]) / norm if norm else 0.0


def _joined(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one**2 + other**2 + 2 * correlation * one * other))


def _shares(*shares: ArrayLike, **options: Any) -> list[ClusteredShare]:
    return [clustered_share(values, **options) for values in shares]


def _about(share: ClusteredShare, **changed: int) -> dict[str, Any]:
    names = ("ci_level", "n_items", "n_missing", "n_clusters", "cluster_unit")
    return {**{name: getattr(share, name) for name in names}, **changed}
