r"""Clusters of any sizes: how many they are worth, and the variance and degrees of freedom of what they estimate.

An estimate's deviation is a sum over items of influences u_i (for a mean, (y_i - mean) / n), U_c those of cluster c.
With m_c items in cluster c and n in all,

    effective clusters     K = n^2 / sum m_c^2                                              (Kish)
    between clusters       V = K / (K - 1) sum U_c^2, on K - 1 degrees                      (linearised)
    independent items      V0 = n / (n - 1) sum u_i^2
    design effect          V / V0, from 1 to b = sum m_c^2 / n, that of clusters of identical items

Clusters of one size have K = G, their number. Where few carry most of the items, K is small and t wide, where a count
of clusters would promise too much.

Fewer than `FEW` effective clusters, and rare outcomes, hardly show a design effect. There what is seen is joined with
the effect d0 = 1 + (b - 1) r of an expected intraclass correlation r:

    design effect          (f0 d0 + f V / V0) / (f0 + f), on f0 + f degrees
    degrees expected       f0 = `PRIOR_DEGREES` [d0 / (d0 - 1)]^2, at most `MOST_PRIOR_DEGREES`
    degrees seen           f = (K - 1) min(1, 3 / kurtosis of the influences); 3 is that of a normal

r is known no better than to +-70%, for which a variance has 4 degrees; d0 of small clusters depends on it little, and
has more. A variance of heavy tails, as the share of a rare outcome has, is seen on fewer degrees than there are.

References
----------
Kish (1965), Survey Sampling, section 11.7. Liang and Zeger (1986), doi:10.1093/biomet/73.1.13 (the variance between
clusters). Smyth (2004), Stat. Appl. Genet. Mol. Biol. 3:3, doi:10.2202/1544-6115.1027 (a variance joined with degrees
of an expected one, and t on both).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError

Floats = NDArray[np.float64]

#: Intraclass correlation expected where clusters cannot show it: the upper end of task outcomes in public agent data.
OUTCOME_ICC = 0.3
#: The same of the errors of a judge or panel against people, which vary less between tasks than outcomes do: with .1
#: verdicts at a risk of .2 were let stand wrongly in .07 of studies of 12 queries.
ERROR_ICC = 0.2
#: The same of agreement, which varies less between tasks than outcomes do.
AGREEMENT_ICC = 0.1
#: The same of steps of the runs of one query: what gives design effects of up to 18 as measured on public step labels,
#: and holds where few long runs carry most of the errors.
STEP_ICC = 0.8
#: Degrees of freedom that it is worth, and with it the expected design effect of large clusters.
PRIOR_DEGREES = 4.0
#: However small the clusters are, many of them outweigh what was expected.
MOST_PRIOR_DEGREES = 12.0
#: With fewer effective clusters the expected design effect joins any estimate, not only that of a share.
FEW = 5.0
#: Degrees that halving leaves.
LEAST_HALVED = 3.0
_NORMAL_KURTOSIS = 3.0


@dataclass(frozen=True)
class ClusteredVariance:
    """Variance of an estimate over clusters; intervals take t on `degrees`."""

    variance: float
    degrees: float
    design_effect: float
    effective_clusters: float

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(self.variance)


def effective_clusters(sizes: ArrayLike, times: ArrayLike = 1.0) -> float:
    """How many clusters of one size these are worth, (sum m)^2 / sum m^2; 0 without items.

    `times` says how often each size occurs.

    References
    ----------
    Kish (1965), Survey Sampling, section 11.7.

    Examples
    --------
    >>> round(effective_clusters([60, 20, 10, 5, 5, 3] + [2] * 6), 1)
    3.2
    """
    size, number = np.asarray(sizes, dtype=np.float64), np.asarray(times, dtype=np.float64)
    return float((number * size).sum() ** 2 / (number * size**2).sum()) if size.any() else 0.0


def relative_weights(weights: ArrayLike | None, kept: NDArray[np.bool_]) -> Floats:
    """The weights of the items that count, of mean 1; exactly 1 where all are alike."""
    if weights is None:
        return np.ones(int(kept.sum()))
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != kept.shape:
        raise InputError("weights", f"needs one for each of the {kept.size} items", given.shape)
    used = given[kept]
    if not (np.isfinite(used) & (used > 0)).all():
        raise InputError("weights", "must be positive", used)
    return np.ones(used.size) if (used == used[:1]).all() else used / used.mean()


def effective_degrees(sizes: ArrayLike) -> float:
    """Degrees of freedom of a jackknife over clusters of these sizes: effective clusters less one, 1 at least."""
    return max(effective_clusters(sizes) - 1, 1.0)


def halved_degrees(degrees: float) -> float:
    """Half the degrees, for estimates that few clusters carry, but `LEAST_HALVED` where there are so many.

    With t on one or two degrees intervals of few effective clusters were two to four times as wide as needed.
    """
    return max(degrees / 2, min(degrees, LEAST_HALVED))


def clustered_variance(
    influence: ArrayLike,
    clusters: NDArray[np.intp] | None,
    *,
    weights: ArrayLike | None = None,
    times: ArrayLike | None = None,
    prior: float | None = None,
) -> ClusteredVariance:
    """Variance and degrees of freedom of an estimate, by the influence of each item.

    Parameters
    ----------
    influence : array, shape (n_items,)
        Each item's part in the estimate's deviation; they add up to 0.
    clusters : array of int, shape (n_items,)
        Cluster of each item (`proportions.cluster_codes`); two clusters or more. None where every item is its own.
    weights : array, shape (n_items,), optional
        Weights of items in the estimate; then clusters and items are counted by weight (Kish).
    times : array, shape (n_items,), optional
        How many like items of one cluster each entry stands for, 1 by default.
    prior : float, optional
        Join the design effect of this intraclass correlation also where there are many clusters: for shares, whose
        rarer outcome may be seen in few of them. Without it `OUTCOME_ICC` is joined below `FEW` effective clusters.
    """
    part = np.asarray(influence, dtype=np.float64)
    weight = np.ones(part.size) if weights is None else np.asarray(weights, dtype=np.float64)
    number = np.ones(part.size) if times is None else np.asarray(times, dtype=np.float64)
    items = effective_clusters(weight, number)
    worth = items if clusters is None else effective_clusters(np.bincount(clusters, weights=number * weight))
    largest = items / worth
    independent = items / (items - 1) * float((number * part**2).sum()) if items > 1 else 0.0
    if clusters is None or largest <= 1 + 1e-12:  # every item its own cluster
        return ClusteredVariance(independent, worth - 1, 1.0, worth)
    between = worth / (worth - 1) * float((np.bincount(clusters, weights=number * part) ** 2).sum())
    if prior is None and worth >= FEW:
        return ClusteredVariance(max(between, independent), worth - 1, _over(between, independent), worth)
    seen = (worth - 1) * normal_part_of(part, number)
    effect, degrees = joined_effect(
        min(_over(between, independent), largest), largest, seen, OUTCOME_ICC if prior is None else prior
    )
    return ClusteredVariance(effect * independent, degrees, effect, worth)


def joined_effect(effect: float, largest: float, degrees: float, icc: float) -> tuple[float, float]:
    """The design effect seen on `degrees`, joined with that of an expected intraclass correlation, and both's degrees.

    `largest` is the design effect of clusters of identical items.
    """
    expected = 1 + (largest - 1) * icc
    if expected <= 1 + 1e-12:
        return 1.0, degrees
    held = min(PRIOR_DEGREES * (expected / (expected - 1)) ** 2, MOST_PRIOR_DEGREES)
    return (held * expected + degrees * effect) / (held + degrees), held + degrees


def normal_part(share: float) -> float:
    """Which part of its degrees the variance of a share is seen on: 3 over the kurtosis of its ones and zeros."""
    variance = share * (1 - share)
    return min(1.0, _NORMAL_KURTOSIS * variance / (1 - 3 * variance)) if variance > 0 else 0.0


def normal_part_of(influence: ArrayLike, times: ArrayLike) -> float:
    """The same of any estimate by the influences of its items, each `times` over: 3 over their kurtosis; 0 of none."""
    square, number = np.asarray(influence, dtype=np.float64) ** 2, np.asarray(times, dtype=np.float64)
    fourth = float((number * square**2).sum())
    return min(1.0, _NORMAL_KURTOSIS * (number * square).sum() ** 2 / (number.sum() * fourth)) if fourth > 0 else 0.0


def _over(between: float, independent: float) -> float:
    return max(1.0, between / independent) if independent > 0 else 1.0
