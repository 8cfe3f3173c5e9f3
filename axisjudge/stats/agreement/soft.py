"""Soft agreement: beliefs instead of verdicts, corrected for chance; and agreement reweighted by how confident
judges are.

A belief is the probability a judge gives to "correct": its confidence c with verdict correct, 1 - c with incorrect, 1/2
with uncertain (whatever c), and missing with not_applicable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, all_in_unit_interval, one_of
from axisjudge.stats.agreement.coefficient_intervals import PERFECT, leave_one_cluster_out, shows_few
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, Coefficient, RatingPatterns, rating_patterns
from axisjudge.stats.clusters import effective_clusters, halved_degrees
from axisjudge.stats.estimate import Ends, Estimate, many, too_few_clusters, without_interval
from axisjudge.stats.proportions import FEWEST_CLUSTERS, cluster_codes, jackknife_interval

Floats = NDArray[np.float64]

#: Degrees that are left where one cluster holds all items that both put on the rarer side.
LEAST_RARER = 2.0
#: With fewer effective clusters half of their degrees is less than one, and t is no bound any more.
FEWEST_EFFECTIVE = 3.0
#: What the words mean to a judge that is sure.
_SURE = {"correct": 1.0, "incorrect": 0.0, "uncertain": 0.5}


@dataclass(frozen=True, kw_only=True, repr=False)
class SoftAgreement(Estimate):
    """Chance-corrected soft agreement.

    `raw` is 1 - the mean distance of beliefs on one item, `chance` the same over all pairs of items. `raw` misleads:
    two judges that always hedge near 1/2 score high whatever they judge. `ceiling` is the `soft_ceiling`: what the
    figure would be had the two given the same verdicts with these confidences.
    """

    raw: float
    chance: float
    ceiling: float


@dataclass(frozen=True, eq=False)
class SoftChange:
    """A change of raw soft agreement, item by item: `total` = `flips` + `hedging`.

    `flipped` counts the verdicts that changed. Where none did, all of the change is hedging: the judges moved their
    confidence, not their minds, and that is never progress.
    """

    total: Floats
    flips: Floats
    hedging: Floats
    flipped: int

    def sentence(self) -> str:
        """The mean change, split."""
        total, flips, hedging = (float(np.nanmean(part)) for part in (self.total, self.flips, self.hedging))
        if not self.flipped:
            return f"raw agreement {total:+z.2f}, all of it hedging: no verdict changed, so that none of it is progress"
        flipped = many(self.flipped, "flipped verdict")
        return f"raw agreement {total:+z.2f}: {flips:+z.2f} by {flipped}, {hedging:+z.2f} by hedging"


def beliefs(verdicts: Sequence[object] | NDArray[Any], confidences: ArrayLike) -> Floats:
    """Belief in "correct" of each verdict with its confidence; NaN where there is no side or no confidence.

    Examples
    --------
    >>> beliefs(["correct", "incorrect", "uncertain", "not_applicable"], [0.9, 0.9, 0.9, 0.9])
    array([0.9, 0.1, 0.5, nan])
    """
    confidence = np.asarray(confidences, dtype=np.float64)
    words = np.asarray(verdicts, dtype=object)
    if words.shape != confidence.shape:
        raise InputError("confidences", f"needs the shape of the verdicts {words.shape}", confidence.shape)
    all_in_unit_interval("confidences", confidence)
    sure = np.array([_SURE.get(str(word), math.nan) for word in words.ravel()]).reshape(words.shape)
    return np.where(sure == 0.5, 0.5, np.where(sure == 1.0, confidence, sure + 1 - confidence))


def raw_soft_agreement(first: ArrayLike, second: ArrayLike) -> Floats:
    """1 - |b1 - b2|, for a single item only: averaged over items it rewards hedging.

    Examples
    --------
    >>> raw_soft_agreement(beliefs(["incorrect"], [0.95]), beliefs(["correct"], [0.97])).round(2)
    array([0.08])
    """
    return np.asarray(1 - np.abs(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)))


def soft_agreement(
    beliefs_of_two: ArrayLike,
    *,
    squared: bool = False,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> SoftAgreement:
    """Agreement of two judges' beliefs beyond chance.

    k_soft = 1 - sum_i |b_i1 - b_i2| / ((1/n) sum_i sum_j |b_i1 - b_j2|): the mean distance on the same item over the
    mean distance of one judge's belief from the other's on any item. For beliefs of 0 and 1 it is Cohen's kappa; with
    squared distances Lin's concordance correlation.

    Parameters
    ----------
    beliefs_of_two : array, shape (n_items, 2)
        Beliefs of the two judges, on confidences recalibrated or rank-normalised with a frozen map; NaN where missing.
    squared : bool
        Squared instead of absolute distances.
    clusters : array, shape (n_items,), optional
        Which items belong together.

    Notes
    -----
    The interval is the delete-one-cluster jackknife on Fisher's z with t on half the degrees of freedom of the
    effective clusters, but on 3 where there are. What exceeds chance are items that both judges put on the rarer side;
    where few clusters hold them, t has one degree less than those are worth (Kish), but 2. In 30 cells of 12 to 50
    clusters with 3 to 10% of failures and 3 or 10% of verdicts wrong (500 replicates each) it covers .972 in the mean
    and .940 +- .011 at least, .944 and .908 without that. With fewer than 10 clusters, or fewer than 5 items on which
    the judges take different sides or of the rarer side, there is none: with sharp confidences it would cover .54 at 20
    items and .86 at 100. Beside the figure belongs its `ceiling`.

    References
    ----------
    King and Chinchilli (2001), Stat. Med. 20:2131-2147, doi:10.1002/sim.845.
    """
    pair = _of_two(beliefs_of_two)
    groups = cluster_codes(clusters, len(pair))
    kept = ~np.isnan(pair).any(axis=1)
    first, second = pair[kept].T
    groups = np.unique(groups[kept], return_inverse=True)[1]
    n_clusters = int(groups.max(initial=-1)) + 1
    same, row, column, inside = _cluster_distances(first, second, groups, n_clusters, squared)
    n = np.bincount(groups, minlength=n_clusters).astype(np.float64)
    estimate = float(_corrected(same.sum(), row.sum(), n.sum()))
    if math.isnan(estimate):
        equal = "all beliefs are equal, so that chance alone agrees"
        ends = Ends(reason=equal if first.size else "no item has two beliefs")
    elif n_clusters < FEWEST_CLUSTERS:
        ends = too_few_clusters(n_clusters, FEWEST_CLUSTERS)
    elif shows_few(rating_patterns(np.sign(pair[kept] - 0.5))):
        rarer = "too few items on which the judges take different sides, or of the rarer side"
        ends = Ends(reason=rarer)
    else:
        moved = _corrected(same.sum() - same, row.sum() - row - column + inside, n.sum() - n)
        degrees = min(halved_degrees(effective_clusters(n) - 1), _degrees_of_rarer(pair[kept], groups))
        low, high = jackknife_interval(estimate, moved, scale="fisher", degrees=degrees, ci_level=ci_level)
        ends = Ends(low, high, "jackknife-t over clusters on Fisher’s z") if low == low else without_interval(PERFECT)
    mean = same.sum() / first.size if first.size else math.nan
    return SoftAgreement(
        estimate=estimate,
        **ends._asdict(),
        ci_level=ci_level,
        n_items=first.size,
        n_raters=2,
        n_missing=int(np.isnan(pair).sum()),
        n_clusters=n_clusters,
        cluster_unit="item" if clusters is None else cluster_unit,
        raw=float(1 - mean),
        chance=float(1 - row.sum() / first.size**2) if first.size else math.nan,
        ceiling=soft_ceiling(pair, squared=squared),
    )


def _degrees_of_rarer(pair: Floats, groups: NDArray[np.intp]) -> float:
    """Effective clusters of the items that both put on the rarer side, less one, but `LEAST_RARER`."""
    sides = np.sign(pair - 0.5)
    rarer = 1 if sides.sum() < 0 else -1
    return max(effective_clusters(np.bincount(groups[(sides == rarer).all(axis=1)])) - 1, LEAST_RARER)


def _of_two(beliefs: ArrayLike) -> Floats:
    pair = np.asarray(beliefs, dtype=np.float64)
    if pair.ndim != 2 or pair.shape[1] != 2:
        raise InputError("beliefs_of_two", "must be items x 2", pair.shape)
    return pair


def soft_ceiling(beliefs_of_two: ArrayLike, *, squared: bool = False) -> float:
    """Soft agreement with identical verdicts and these confidences: what unequal confidence alone leaves of 1.

    Each judge's sides are given to both in turn, and the two figures averaged. Confidence is the distance of a belief
    from 1/2, as ranks that enter as (1 + rank) / 2 have it.

    Parameters
    ----------
    beliefs_of_two : array, shape (n_items, 2)
        As in `soft_agreement`; items without both are left out.

    Examples
    --------
    Judges of one mind with unrelated confidences:

    >>> rng = np.random.default_rng(0)
    >>> sure = (1 + rng.random((2000, 2))) / 2
    >>> side = rng.random(2000) < 0.9
    >>> of_two = np.where(side[:, None], sure, 1 - sure)
    >>> round(soft_agreement(of_two).estimate, 1) == round(soft_ceiling(of_two), 1)
    True
    """
    pair = _of_two(beliefs_of_two)
    pair = pair[~np.isnan(pair).any(axis=1)]
    far, items = np.abs(pair - 0.5), np.arange(len(pair))
    ceilings = []
    for side in np.sign(pair - 0.5).T:
        one, other = (0.5 + side[:, None] * far).T
        same, across, *_ = _cluster_distances(one, other, items, items.size, squared)
        ceilings.append(float(_corrected(same.sum(), across.sum(), items.size)))
    return float(np.mean(ceilings))


def split_change(
    verdicts_before: ArrayLike, confidences_before: ArrayLike, verdicts_after: ArrayLike, confidences_after: ArrayLike
) -> SoftChange:
    """Split the change of raw soft agreement between two rubric versions into verdict flips and hedging.

    Flips is what changing the verdicts does at the confidences before and at those after, averaged; hedging is what
    changing the confidences does at the verdicts before and after, averaged. The two add up to the change.

    Parameters
    ----------
    verdicts_before, confidences_before, verdicts_after, confidences_after : array, shape (n_items, 2)
        Verdict words and confidences of the two judges on the same items.

    Examples
    --------
    Between versions 1 and 2 of the published rubric one judge went from incorrect .95 to incorrect .60:

    >>> words = [["incorrect", "correct"]]
    >>> change = split_change(words, [[0.95, 0.97]], words, [[0.60, 0.96]])
    >>> change.sentence()
    'raw agreement +0.36, all of it hedging: no verdict changed, so that none of it is progress'
    """
    words = [np.asarray(verdicts, dtype=object) for verdicts in (verdicts_before, verdicts_after)]
    sure = [np.asarray(confidences, dtype=np.float64) for confidences in (confidences_before, confidences_after)]
    at = [[raw_soft_agreement(*beliefs(word, confidence).T) for confidence in sure] for word in words]
    return SoftChange(
        total=at[1][1] - at[0][0],
        flips=((at[1][0] - at[0][0]) + (at[1][1] - at[0][1])) / 2,
        hedging=((at[0][1] - at[0][0]) + (at[1][1] - at[1][0])) / 2,
        flipped=int((words[0] != words[1]).sum()),
    )


def _corrected(same: ArrayLike, across: ArrayLike, n: ArrayLike) -> Floats:
    """1 - mean distance on one item / mean distance over all pairs of items."""
    chance = np.asarray(across, dtype=np.float64) / np.maximum(n, 1)
    possible = chance > 1e-12
    return np.where(possible, 1 - same / np.where(possible, chance, 1.0), np.nan)


def _cluster_distances(
    first: Floats, second: Floats, groups: NDArray[np.intp], n_clusters: int, squared: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """For each cluster: distances on its own items; of its first beliefs to all second; the reverse; inside it."""
    power = 2 if squared else 1

    def by_cluster(of: NDArray[np.intp], distances: Floats) -> Floats:
        return np.bincount(of, weights=distances, minlength=n_clusters).astype(np.float64)

    same = by_cluster(groups, np.abs(first - second) ** power)
    row = by_cluster(groups, _total_distance(first, second, squared))
    column = by_cluster(groups, _total_distance(second, first, squared))
    one, other = _pairs_inside(groups)
    return same, row, column, by_cluster(groups[one], np.abs(first[one] - second[other]) ** power)


def _pairs_inside(groups: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of all ordered pairs of items (an item with itself included) of one cluster."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    partners = sizes[groups[order]]
    start = (np.cumsum(sizes) - sizes)[groups[order]]
    step = np.arange(partners.sum()) - np.repeat(np.cumsum(partners) - partners, partners)
    return np.repeat(order, partners), order[np.repeat(start, partners) + step]


def _total_distance(points: Floats, others: Floats, squared: bool) -> Floats:
    """Sum of distances from each point to all others, by sorting instead of n x n differences."""
    if squared:
        return np.asarray(others.size * points**2 - 2 * points * others.sum() + (others**2).sum())
    ordered = np.sort(others)
    below = np.searchsorted(ordered, points)
    sum_below = np.concatenate([[0.0], np.cumsum(ordered)])[below]
    return np.asarray(points * below - sum_below + (ordered.sum() - sum_below) - points * (ordered.size - below))


# Case-weighted agreement: agreement in the population reweighted by how confident the judges are.
# 'Weighted kappa' means something else (distances between categories). Confidences must be on one scale first:
# recalibrated or rank-normalised with a map frozen on the calibration split.

PERMUTATIONS = 999
#: Weights of so many permutations x items are held at once.
_BLOCK = 4_000_000


@dataclass(frozen=True, kw_only=True, repr=False)
class CaseWeighted(Estimate):
    """A coefficient with items weighted by confidence, minus the same without weights.

    `estimate` is the difference, with its interval; `weighted` and `unweighted` are the two values. `kish_n` is the
    size (sum w)^2 / sum w^2 of an unweighted sample that would be as precise. `p_value` is of the null that confidence
    says nothing beyond the verdict: the difference when confidences are shuffled among equal verdicts of each judge.
    """

    coefficient: str
    weighted: float
    unweighted: float
    kish_n: float
    p_value: float
    combine: str


def case_weights(confidences: ArrayLike, combine: Literal["product", "minimum"] = "product") -> Floats:
    """One weight for each item: the product of the judges' confidences, or their minimum as the sensitivity check.

    NaN where a judge gives none.
    """
    one_of("combine", combine, ("product", "minimum"))
    confidence = np.asarray(confidences, dtype=np.float64)
    all_in_unit_interval("confidences", confidence)
    return np.asarray(confidence.prod(axis=1) if combine == "product" else confidence.min(axis=1))


def kish_n(weights: ArrayLike) -> float:
    """Kish's effective sample size, (sum w)^2 / sum w^2.

    References
    ----------
    Kish (1965), Survey Sampling, section 11.7.
    """
    weight = np.asarray(weights, dtype=np.float64)
    squares = float((weight**2).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0 else math.nan


def case_weighted(
    ratings: ArrayLike,
    confidences: ArrayLike,
    *,
    coefficient: str = "cohen_kappa",
    combine: Literal["product", "minimum"] = "product",
    strata: ArrayLike | None = None,
    categories: Sequence[float] | None = None,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> CaseWeighted:
    """A case-weighted coefficient against the unweighted value on the same items.

    Parameters
    ----------
    ratings, confidences : array, shape (n_items, n_raters)
        Label values and normalised confidences. Items without both from every judge are left out and counted.
    coefficient : str
        A name of `axisjudge.stats.agreement.coefficients.COEFFICIENTS`.
    combine : {"product", "minimum"}
        How confidences make a weight.
    strata : array, shape (n_items,), optional
        Items are shuffled within these (the axis, where axes are pooled), besides judge and verdict.
    categories, clusters, cluster_unit, ci_level, rng
        As in `axisjudge.stats.agreement.chance_corrected.gwet_ac1`.

    Notes
    -----
    The interval is the delete-one-cluster jackknife of the difference with t on half the degrees of freedom, because
    few clusters carry it, and these are counted as effective ones; with fewer than 10 clusters (or 3 effective ones),
    5 disagreements or 5 uses of the rarer categories by each rater there is none. Shuffling within judge
    alone would reject whenever confidence differs by verdict.
    """
    chosen = COEFFICIENTS[one_of("coefficient", coefficient, COEFFICIENTS)]
    matrix, confidence = np.asarray(ratings, dtype=np.float64), np.asarray(confidences, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape != confidence.shape:
        raise InputError("confidences", f"needs the shape of the ratings {matrix.shape}", confidence.shape)
    kept = ~np.isnan(matrix).any(axis=1) & ~np.isnan(confidence).any(axis=1)
    matrix, confidence = matrix[kept], confidence[kept]
    weights = case_weights(confidence, combine)
    groups = None if clusters is None else np.asarray(clusters)[kept]
    plain = rating_patterns(matrix, categories=categories, clusters=groups)
    heavy = rating_patterns(matrix, categories=categories, clusters=groups, weights=_mean_one(weights))
    weighted, unweighted = chosen.value(heavy), chosen.value(plain)
    ends = Ends(reason=_why_no_interval(weighted, unweighted, plain, weights))
    p_value = math.nan
    if not math.isnan(weighted - unweighted):
        layer = np.zeros(len(matrix)) if strata is None else np.unique(np.asarray(strata)[kept], return_inverse=True)[1]
        generator = np.random.default_rng(0 if rng is None else rng)
        p_value = _permutation_p(chosen, plain, matrix, confidence, layer, combine, weighted - unweighted, generator)
    if not ends.reason:
        left_out = leave_one_cluster_out(chosen, heavy)[1] - leave_one_cluster_out(chosen, plain)[1]
        # the few clusters with disagreements carry the difference, hence half of the degrees
        degrees = (effective_clusters(plain.cluster_sizes()) - 1) / 2
        interval = jackknife_interval(weighted - unweighted, left_out, degrees=degrees, ci_level=ci_level)
        ends = Ends(*interval, "jackknife-t over clusters")
    return CaseWeighted(
        estimate=weighted - unweighted,
        **ends._asdict(),
        ci_level=ci_level,
        n_items=len(matrix),
        n_raters=matrix.shape[1],
        n_missing=int((~kept).sum()),
        n_clusters=plain.n_clusters(),
        cluster_unit=cluster_unit if plain.grouped else "item",
        coefficient=coefficient,
        weighted=weighted,
        unweighted=unweighted,
        kish_n=kish_n(weights),
        p_value=p_value,
        combine=combine,
    )


def _mean_one(weights: Floats) -> Floats:
    """Weights scaled to a mean of 1, so that alpha's small-sample term sees as many items as there are."""
    total = weights.sum()
    return weights * (weights.size / total) if total > 0 else weights


def _why_no_interval(weighted: float, unweighted: float, patterns: RatingPatterns, weights: Floats) -> str:
    if not patterns.items.sum():
        return "no item has a rating and a confidence of every judge"
    if not weights.sum():
        return "all weights are nought"
    if math.isnan(weighted) or math.isnan(unweighted):
        return "all ratings are of one category, so that chance alone agrees always"
    if np.ptp(weights) < 1e-12:
        return "all confidences are equal: weighting changes nothing"
    few = patterns.n_clusters() < FEWEST_CLUSTERS or effective_clusters(patterns.cluster_sizes()) < FEWEST_EFFECTIVE
    if few or shows_few(patterns):
        return "too few clusters or disagreements"
    return ""


def _permutation_p(
    coefficient: Coefficient,
    patterns: RatingPatterns,
    matrix: Floats,
    confidence: Floats,
    layer: NDArray[np.float64] | NDArray[np.intp],
    combine: Literal["product", "minimum"],
    observed: float,
    rng: np.random.Generator,
) -> float:
    """Two-sided p of the difference, each judge's confidences shuffled among its equal verdicts of a stratum.

    Shuffles that leave the coefficient undefined, as all weight falls on one word, are not counted.
    """
    sums = coefficient.sums(patterns.codes, patterns.categories)[patterns.pattern]
    unweighted = float(coefficient.estimate(sums.sum(axis=0), patterns.categories))
    n_items, n_raters = matrix.shape
    as_far = defined = 0
    block = max(1, _BLOCK // n_items)
    for start in range(0, PERMUTATIONS, block):
        size = min(block, PERMUTATIONS - start)
        shuffled = np.ones((size, n_items)) if combine == "product" else np.full((size, n_items), np.inf)
        for rater in range(n_raters):
            drawn = _shuffled_within(confidence[:, rater], np.column_stack([matrix[:, rater], layer]), size, rng)
            shuffled = shuffled * drawn if combine == "product" else np.minimum(shuffled, drawn)
        weights = shuffled * (n_items / np.maximum(shuffled.sum(axis=1, keepdims=True), 1e-300))
        difference = coefficient.estimate(weights @ sums, patterns.categories) - unweighted
        as_far += int((np.abs(difference) >= abs(observed) - 1e-12).sum())
        defined += int(np.isfinite(difference).sum())
    return (1 + as_far) / (1 + defined)


def _shuffled_within(values: Floats, keys: Floats, size: int, rng: np.random.Generator) -> Floats:
    """`size` shuffles of `values` among the rows with equal keys."""
    drawn = np.empty((size, values.size))
    group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    for number in range(int(group.max(initial=-1)) + 1):
        members = np.flatnonzero(group == number)
        drawn[:, members] = rng.permuted(np.tile(values[members], (size, 1)), axis=1)
    return drawn
