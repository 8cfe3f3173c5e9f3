"""Case-weighted agreement: agreement in the population reweighted by how confident the judges are.

'Weighted kappa' means something else (distances between categories). Confidences must be on one scale first:
recalibrated or rank-normalised with a map frozen on the calibration split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, all_in_unit_interval, one_of
from axisjudge.stats.agreement.coefficient_intervals import leave_one_cluster_out, shows_few
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, Coefficient
from axisjudge.stats.agreement.patterns import RatingPatterns, rating_patterns
from axisjudge.stats.clusters import effective_clusters
from axisjudge.stats.estimate import Ends, Estimate
from axisjudge.stats.rates.proportions import FEWEST_CLUSTERS, jackknife_interval

Floats = NDArray[np.float64]

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
    few clusters carry it, and these are counted as effective ones; with fewer than 10 clusters, 5 disagreements or 5
    uses of the rarer categories by each rater there is none. Shuffling within judge
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
    if patterns.n_clusters() < FEWEST_CLUSTERS or shows_few(patterns):
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
    """Two-sided p of the difference, each judge's confidences shuffled among its equal verdicts of a stratum."""
    sums = coefficient.sums(patterns.codes, patterns.categories)[patterns.pattern]
    unweighted = float(coefficient.estimate(sums.sum(axis=0), patterns.categories))
    n_items, n_raters = matrix.shape
    as_far = 0
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
    return (1 + as_far) / (1 + PERMUTATIONS)


def _shuffled_within(values: Floats, keys: Floats, size: int, rng: np.random.Generator) -> Floats:
    """`size` shuffles of `values` among the rows with equal keys."""
    drawn = np.empty((size, values.size))
    group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    for number in range(int(group.max(initial=-1)) + 1):
        members = np.flatnonzero(group == number)
        drawn[:, members] = rng.permuted(np.tile(values[members], (size, 1)), axis=1)
    return drawn
