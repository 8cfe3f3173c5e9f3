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

    design effect          (g f0 d0 + f V / V0) / (g f0 + f), on f0 + f degrees
    degrees expected       f0 = `PRIOR_DEGREES` [d0 / (d0 - 1)]^2, at most `MOST_PRIOR_DEGREES`
    degrees seen           f = (K - 1) min(1, 3 / kurtosis of the influences); 3 is that of a normal
    giving way             g = min(1, 2 (1 - s)) where s = (V / V0 - 1) / (b - 1), the correlation seen, is above r

Clusters of nearly like items, as of an agent whose runs of a task all end alike, show that the expected correlation is
not theirs: it gives way from s = 1/2 on, and is nothing at 1.

A mean over items and the mean over clusters of their own means are two estimands, which part where the size of clusters
goes with their outcome. Then large clusters that were not drawn carry what the sample lacks, all to one side: every
linearised or jackknife interval falls short there, by half its misses and more, however many clusters there are. With
v_c = n U_c / m_c the mean deviation of cluster c, the end on that side takes, in place of t,

    items less clusters    D = -mean v_c, of terms d_c = (m_c / mean m - 1) v_c
    shown to what degree   a = min(1, 16 (G / K - 1)) [|D| / error(D) - 1/2], the last in [0, 1]
    quantile               t + b skewness(U) (2 t^2 + 1) / (6 sqrt G) + a max m / (n + max m) max v / (2 sqrt V)

The first of the two terms is Johnson's for a skewed sum, with b = a, or the skewness over its error sqrt(6 / G) in
place of the brackets where that is more; the second is half of what one more cluster of the largest size seen would
move the estimate by, were it the most extreme one seen. Clusters of about one size have a = b = 0; from a deviation of
sizes of a quarter of their mean on what they show counts whole (G / K - 1 is its square), as the largest of all may be
missing from a sample that looks even.

Where items share two things at once, as a task and a day, with V of each way of grouping and of both together,

    two ways               V = max(V_1 + V_2 - V_12, V_1, V_2), on the fewer degrees of the two

V_2, of the way of fewer clusters, is as seen on K - 1 degrees or joined with r = .1, whichever reaches further: as seen
60 tasks x 7 days were covered in .913 where days are skewed, joined 40 x 5 in .883 where they differ by SD 1 (probit);
joined with that of outcomes intervals were a third wider. A kind of day that was not seen is not allowed for. A way
of single items, or the same way again, is none (`by_number`).

r is known no better than to +-70%, for which a variance has 4 degrees; d0 of small clusters depends on it little, and
has more. A variance of heavy tails, as the share of a rare outcome has, is seen on fewer degrees than there are.

References
----------
Kish (1965), Survey Sampling, section 11.7. Liang and Zeger (1986), doi:10.1093/biomet/73.1.13 (the variance between
clusters). Smyth (2004), Stat. Appl. Genet. Mol. Biol. 3:3, doi:10.2202/1544-6115.1027 (a variance joined with degrees
of an expected one, and t on both). Cameron, Gelbach and Miller (2011), doi:10.1198/jbes.2010.07136 (two ways at once).
Davezies, D'Haultfoeuille and Guyonvarch (2021), doi:10.1214/20-AOS1981 (when that holds). Menzel (2021),
doi:10.3982/ECTA15383 (and when no interval can: where ways matter together alone).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, one_each, one_of

Floats = NDArray[np.float64]
#: What counts alike in an estimate: each item, or each cluster (a task, a query) whatever its size.
Alike = Literal["items", "clusters"]
ALIKE: tuple[Alike, ...] = get_args(Alike)

#: Intraclass correlation expected where clusters cannot show it: the upper end of task outcomes in public agent data.
OUTCOME_ICC = 0.3
#: The same of the errors of a judge or panel against people, which vary less between tasks than outcomes do: with .1
#: verdicts at a risk of .2 were let stand wrongly in .07 of studies of 12 queries.
ERROR_ICC = 0.2
#: The same of changes, which vary less between tasks than outcomes do. Agreement itself varies as outcomes do: in
#: public votes its correlation is .02 to .30 between judges, .03 to .25 between a judge and people, and with .1 percent
#: agreement of resampled queries was covered in .90.
AGREEMENT_ICC = 0.1
#: The same of what days or builds share, where they cross tasks; strong ones show in what is seen.
OCCASION_ICC = 0.1
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
#: Fewer clusters do not show whether their size goes with their outcome.
FEWEST_LEANING = 3
#: Squared relative deviation of sizes from which on they are uneven. With 1/4 AC1 of 20 redrawn hotpotqa queries was
#: covered in .948 (.914 at least): two of fifty hold 4 to 5 deviations, and those that remain differ by .26.
UNEVEN = 1 / 16
_NORMAL_KURTOSIS = 3.0
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Lean:
    """To which side an interval of uneven clusters reaches further, and how far.

    `sizes_t` is the t of items alike less clusters alike; `skewed` (per 2 t^2 + 1) and `unseen` are the two terms of
    the module's text, `upwards` says to which side. `below` and `above` are what a share would move by if all clusters
    were of a kind that none of `clusters` is (`proportions.clustered_ends`).
    """

    sizes_t: float = 0.0
    upwards: bool = True
    skewed: float = 0.0
    unseen: float = 0.0
    below: float = 0.0
    above: float = 0.0
    clusters: float = math.inf

    def quantiles(self, t: float) -> tuple[float, float]:
        """What takes the place of a quantile of t below and above an estimate."""
        further = t + self.skewed * (2 * t * t + 1) + self.unseen
        return (t, further) if self.upwards else (further, t)

    def t_of(self, deviations: float) -> float:
        """The t at which the longer side reaches so many standard errors; 0 where it always does."""
        if self.skewed <= 0:
            return max(0.0, deviations - self.unseen)
        short = deviations - self.unseen - self.skewed
        return (math.sqrt(1 + 8 * self.skewed * max(0.0, short)) - 1) / (4 * self.skewed)


NO_LEAN = Lean()


@dataclass(frozen=True)
class ClusteredVariance:
    """Variance of an estimate over clusters; intervals take t on `degrees`, further out to the side of `lean`."""

    variance: float
    degrees: float
    design_effect: float
    effective_clusters: float
    lean: Lean = NO_LEAN

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


def relative_weights(
    weights: ArrayLike | None,
    kept: NDArray[np.bool_],
    *,
    groups: NDArray[np.intp] | None = None,
    times: Floats | float = 1.0,
    alike: Alike = "items",
) -> Floats:
    """The weights of the items that count, of mean 1; exactly 1 where all are alike.

    Parameters
    ----------
    weights : array, shape (n_items,), optional
        1 each by default.
    kept : array of bool, shape (n_items,)
        Which items count.
    groups, times : array, shape (n_kept,), optional
        Their clusters (of two ways the first counts), and how many items each stands for.
    alike : str
        ``items``: each item counts alike, large clusters for more. ``clusters``: each cluster counts alike, whatever
        its size; its items share its weight.
    """
    groups = groups[:, 0] if groups is not None and groups.ndim == 2 else groups
    given = np.ones(kept.size) if weights is None else np.asarray(weights, dtype=np.float64)
    one_each("weights", given, kept.size)
    used = given[kept]
    if not (np.isfinite(used) & (used > 0)).all():
        raise InputError("weights", "must be positive", used)
    if one_of("alike", alike, ALIKE) == "clusters" and groups is not None:
        used = used / np.bincount(groups, weights=used * times)[groups]
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
    rare: bool = False,
) -> ClusteredVariance:
    """Variance and degrees of freedom of an estimate, by the influence of each item.

    Parameters
    ----------
    influence : array, shape (n_items,)
        Each item's part in the estimate's deviation; they add up to 0.
    clusters : array of int, shape (n_items,)
        Cluster of each item (`proportions.cluster_codes`); two clusters or more. None where every item is its own; of
        shape (n_items, 2) where they are grouped in two ways at once.
    weights : array, shape (n_items,), optional
        Weights of items in the estimate; then clusters and items are counted by weight (Kish).
    times : array, shape (n_items,), optional
        How many like items of one cluster each entry stands for, 1 by default.
    prior : float, optional
        Join the design effect of this intraclass correlation also where there are many clusters: for shares, whose
        rarer outcome may be seen in few of them. Without it `OUTCOME_ICC` is joined below `FEW` effective clusters.
    rare : bool
        Whether few items move the estimate, as those on which like judges differ: degrees seen are then by the kurtosis
        of what clusters add up to, where heavy tails of many items even out (the one seen, or that of independent
        items, whichever is more).
    """
    part = np.asarray(influence, dtype=np.float64)
    if clusters is not None and clusters.ndim == 2:
        return _two_ways(part, clusters, prior, weights=weights, times=times, rare=rare)
    weight = np.ones(part.size) if weights is None else np.asarray(weights, dtype=np.float64)
    number = np.ones(part.size) if times is None else np.asarray(times, dtype=np.float64)
    items = effective_clusters(weight, number)
    n_eff = items if clusters is None else effective_clusters(np.bincount(clusters, weights=number * weight))
    largest = items / n_eff
    independent = items / (items - 1) * float((number * part**2).sum()) if items > 1 else 0.0
    if clusters is None or largest <= 1 + 1e-12:  # every item its own cluster
        return ClusteredVariance(independent, n_eff - 1, 1.0, n_eff)
    totals, sizes = (np.bincount(clusters, weights=number * of) for of in (part, weight))
    between = n_eff / (n_eff - 1) * float((totals**2).sum())
    if prior is None and n_eff >= FEW:
        variance = max(between, independent)
        lean = lean_of(totals, sizes, math.sqrt(variance))
        return ClusteredVariance(variance, n_eff - 1, _over(between, independent), n_eff, lean)
    seen = (n_eff - 1) * normal_part_of(part, number)
    if rare and seen > 0:
        own = 1 + ((n_eff - 1) / seen - 1) * n_eff / items  # kurtosis of a cluster's sum of independent items, over 3
        spread = totals[sizes > 0] - totals[sizes > 0].mean()
        of_totals = 1 / max(normal_part_of(spread, np.ones(spread.size)), 1e-9)
        seen = (n_eff - 1) / max(1.0, own, of_totals)
    effect, degrees = joined_effect(
        min(_over(between, independent), largest), largest, seen, OUTCOME_ICC if prior is None else prior
    )
    lean = lean_of(totals, sizes, math.sqrt(effect * independent))
    return ClusteredVariance(effect * independent, degrees, effect, n_eff, lean)


def by_number(clusters: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The ways in which items are grouped, that of more effective clusters first; one of codes of shape (n_items,).

    A second way that groups nothing, as each item its own, or the same as the first, is none.
    """
    if clusters.ndim == 1:
        return [clusters]
    many, few = sorted(clusters.T, key=lambda way: -effective_clusters(np.bincount(way)))
    numbers = [np.unique(each).size for each in (many, few, many * (few.max(initial=0) + 1) + few)]
    return [few] if numbers[0] == many.size or len(set(numbers)) == 1 else [many, few]


def _two_ways(part: Floats, clusters: NDArray[np.intp], prior: float | None, **how: Any) -> ClusteredVariance:
    from scipy.special import stdtrit

    ways = by_number(clusters)
    if len(ways) == 1:
        return clustered_variance(part, ways[0], prior=prior, **how)
    many, few = ways
    both = np.unique(many * (few.max() + 1) + few, return_inverse=True)[1]
    of_many, of_both = (clustered_variance(part, way, prior=prior, **how) for way in (many, both))

    def joined(of_few: ClusteredVariance) -> ClusteredVariance:
        effects = [each.design_effect for each in (of_many, of_few, of_both)]
        effect = max(effects[0] + effects[1] - effects[2], *effects)
        lean = max(of_many.lean, of_few.lean, key=lambda each: each.skewed + each.unseen)
        variance = effect * of_both.variance / of_both.design_effect
        degrees = min(of_many.degrees, of_few.degrees)
        return ClusteredVariance(variance, degrees, effect, of_few.effective_clusters, lean)

    reaches = [joined(clustered_variance(part, few, prior=icc, **how)) for icc in (None, OCCASION_ICC)]
    return max(reaches, key=lambda each: each.design_effect * stdtrit(each.degrees, 0.975) ** 2)


def lean_of(totals: ArrayLike, sizes: ArrayLike, error: float) -> Lean:
    """To which side of an estimate an interval reaches further, by the influences of clusters and their sizes.

    Parameters
    ----------
    totals : array, shape (n_clusters,)
        The influence U_c of each cluster.
    sizes : array, shape (n_clusters,)
        Its items (or their weight); clusters without any are left out.
    error : float
        The standard error of the estimate.

    Returns
    -------
    Lean
        Of nothing, where there are fewer than three clusters, or nothing varies.
    """
    given = np.asarray(sizes, dtype=np.float64)
    total, size = np.asarray(totals, dtype=np.float64)[given > 0], given[given > 0]
    n_clusters, n = size.size, float(size.sum())
    if n_clusters < FEWEST_LEANING or not error > 0:
        return NO_LEAN
    own = n * total / size
    parts = (size / size.mean() - 1) * own
    spread = float(parts.std(ddof=1)) / math.sqrt(n_clusters)
    if not spread > _ROUNDING * max(1.0, float(np.abs(own).max())):
        return NO_LEAN
    sizes_t = -float(own.mean()) / spread
    centred = total - total.mean()
    skewness = float((centred**3).mean()) / float((centred**2).mean()) ** 1.5
    uneven = min(1.0, (n_clusters / effective_clusters(size) - 1) / UNEVEN)
    informative = uneven * min(1.0, max(0.0, abs(sizes_t) - 0.5))
    skewed = max(informative, uneven * min(1.0, abs(skewness) / math.sqrt(6 / n_clusters)))
    upwards = sizes_t > 0 if informative > 0 else skewness > 0
    largest, extreme = float(size.max()), max(0.0, float((own if upwards else -own).max()))
    return Lean(
        sizes_t,
        upwards,
        skewed * abs(skewness) / (6 * math.sqrt(n_clusters)),
        informative * largest / (n + largest) * extreme / (2 * error),
    )


def joined_effect(effect: float, largest: float, degrees: float, icc: float) -> tuple[float, float]:
    """The design effect seen on `degrees`, joined with that of an expected intraclass correlation, and both's degrees.

    `largest` is the design effect of clusters of identical items. Degrees stay where the expected effect gives way: on
    fewer, shares of nearly like items are covered in .003 more, the least covered as now, at widths 5 to 10% larger.
    """
    expected = 1 + (largest - 1) * icc
    if expected <= 1 + 1e-12:
        return 1.0, degrees
    held = min(PRIOR_DEGREES * (expected / (expected - 1)) ** 2, MOST_PRIOR_DEGREES)
    seen = (effect - 1) / (largest - 1)
    part = held * min(1.0, 2 * (1 - seen)) if seen > icc and degrees > 0 else held
    return (part * expected + degrees * effect) / (part + degrees), held + degrees


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


#: Items among which groups are dealt, and deals as far apart after which it is plain that chance does it.
MOST_DEALT, _FAR_ENOUGH = 10_000, 20


def shared_by_chance(
    values: ArrayLike, shared: ArrayLike, clusters: ArrayLike, *, draws: int = 999, seed: int = 0
) -> float:
    r"""How often chance alone would set rows that share something (a day, a build) as far apart from others; a p-value.

    .. math:: \sum_d \frac{1}{n_d} \Big( \sum_{i \in d} (y_i - \bar y_{c(i)}) \Big)^2

    over the groups d, beside the same with groups dealt anew among the items of each cluster c; where every cluster
    lies within one group, among whole clusters. Of more items than `MOST_DEALT` those of clusters drawn at random
    count. It ends at the 20th deal that sets them as far apart, after l deals, with p = 20 / l.

    Parameters
    ----------
    values : array of number or NaN, shape (n_items,)
    shared, clusters : array of int, shape (n_items,)
        Codes of the groups, and of the clusters that intervals allow for.

    References
    ----------
    Phipson and Smyth (2010), doi:10.2202/1544-6115.1585 (p-values of random permutations are never 0). Besag and
    Clifford (1991), doi:10.1093/biomet/78.2.301 (ending early).

    Examples
    --------
    Of each task two items on each of two days, and all of one day failed:

    >>> tasks, days = np.repeat(np.arange(12), 4), np.tile([0, 0, 1, 1], 12)
    >>> shared_by_chance(days == 0, days, tasks)
    0.001
    """
    y = np.asarray(values, dtype=np.float64)
    kept, rng = np.flatnonzero(~np.isnan(y)), np.random.default_rng(seed)
    if not kept.size:
        return 1.0
    if kept.size > MOST_DEALT:
        cluster = np.unique(np.asarray(clusters)[kept], return_inverse=True)[1]
        drawn = rng.permutation(cluster.max() + 1)[cluster] + rng.random(kept.size)
        kept = kept[np.argsort(drawn)[:MOST_DEALT]]
    group, cluster = (np.unique(np.asarray(each)[kept], return_inverse=True)[1] for each in (shared, clusters))
    y, first = y[kept], np.unique(cluster, return_index=True)[1]
    if (group == group[first][cluster]).all():
        y, group, cluster = np.bincount(cluster, weights=y) / np.bincount(cluster), group[first], np.zeros_like(first)
    order = np.argsort(cluster, kind="stable")
    y, group, cluster = y[order], group[order], cluster[order]
    centred, sizes = y - (np.bincount(cluster, weights=y) / np.bincount(cluster))[cluster], np.bincount(group)

    def apart(groups: NDArray[np.intp]) -> float:
        return float((np.bincount(groups, weights=centred) ** 2 / sizes).sum())

    seen, n_as_far = apart(group) * (1 - 1e-9), 0
    for n_dealt in range(1, draws + 1):
        n_as_far += apart(group[np.argsort(cluster + rng.random(group.size))]) >= seen
        if n_as_far == _FAR_ENOUGH:
            return n_as_far / n_dealt
    return (1 + n_as_far) / (draws + 1)
