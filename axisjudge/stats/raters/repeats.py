"""The same judge asked again: self-agreement, flips, and where the variance of a panel's mean verdict comes from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import bounded_share, clustered_proportion

Floats = NDArray[np.float64]

#: With fewer judges their variance is a guess: with two, the interval of their SD is x 0.45 to x 32.
FEWEST_JUDGES = 5


@dataclass(frozen=True)
class SelfAgreement:
    """How a judge agrees with itself.

    `agreement` is the share of equal pairs of repeats of an item, averaged over items with two or more; `flips` the
    share of these items on which the verdict ever changed, which grows with the number of repeats.
    """

    agreement: Estimate
    flips: Estimate


def self_agreement(
    ratings: ArrayLike, *, clusters: ArrayLike | None = None, cluster_unit: str = "cluster", ci_level: float = 0.95
) -> SelfAgreement:
    """Self-agreement and flip rate of one judge on one axis.

    Parameters
    ----------
    ratings : array, shape (n_items, n_repeats)
        Verdict codes; NaN where a repeat is missing.
    clusters : array, shape (n_items,), optional
        Which items belong together.

    Notes
    -----
    Of r repeats with q words the share of equal pairs cannot fall below that of words given equally often (1/3 for
    three repeats and two words). The interval is that of a proportion between this least share and 1.
    """
    matrix = np.asarray(ratings, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] < 2:
        raise InputError("ratings", "must be items x repeats with two repeats or more", matrix.shape)
    share = _equal_pairs(matrix)
    flipped = np.where(np.isnan(share), np.nan, share < 1)
    flips = clustered_proportion(flipped, clusters, cluster_unit=cluster_unit, ci_level=ci_level)
    least = _fewest_equal_pairs(matrix)
    above = bounded_share((share - least) / (1 - least), clusters, cluster_unit=cluster_unit, ci_level=ci_level)
    estimate, low, high = (least + (1 - least) * end for end in (above.estimate, above.ci_low, above.ci_high))
    agreement = replace(above, estimate=estimate, ci_low=low, ci_high=high)
    return SelfAgreement(agreement, flips)


@dataclass(frozen=True)
class ConfidenceBand:
    """Items whose mean confidence over repeats lies in [low, high), the last band closed."""

    low: float
    high: float
    flips: Estimate


def flips_by_confidence(
    ratings: ArrayLike,
    confidences: ArrayLike,
    *,
    edges: Sequence[float] = (0.0, 0.7, 0.9, 1.0),
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> list[ConfidenceBand]:
    """Share of items with a flip in each band of one judge's mean confidence; empty bands are left out.

    Parameters
    ----------
    ratings, confidences : array, shape (n_items, n_repeats)
        Verdict codes and confidences.
    edges : sequence of float
        Limits of the bands, rising.
    """
    matrix, confidence = np.asarray(ratings, dtype=np.float64), np.asarray(confidences, dtype=np.float64)
    if matrix.shape != confidence.shape:
        raise InputError("confidences", f"needs the shape of the ratings {matrix.shape}", confidence.shape)
    if len(edges) < 2 or any(low >= high for low, high in itertools.pairwise(edges)):
        raise InputError("edges", "must rise", list(edges))
    share = _equal_pairs(matrix)
    flipped = np.where(np.isnan(share), np.nan, share < 1)
    given = ~np.isnan(confidence)
    mean = np.where(given, confidence, 0.0).sum(axis=1) / np.maximum(given.sum(axis=1), 1)
    mean[~given.any(axis=1)] = np.nan
    found = []
    for low, high in itertools.pairwise(edges):
        inside = (mean >= low) & ((mean <= high) if high == edges[-1] else (mean < high))
        values = np.where(inside, flipped, np.nan)
        if not np.isnan(values).all():
            flips = clustered_proportion(values, clusters, cluster_unit=cluster_unit, ci_level=ci_level)
            found.append(ConfidenceBand(low, high, flips))
    return found


@dataclass(frozen=True)
class VarianceComponents:
    """Variance of 0/1 verdicts by expected mean squares; negative estimates are shown as they come.

    The variance of the panel's mean verdict on an item is `judge` / k + `item_judge` / k + `error` / (k r). With
    fewer than five judges `judge` is NaN and `bias`, each judge's mean minus the panel's, stands in its place: judges
    are fixed. With one repeat `item_judge` and `error` cannot be told apart, and `item_judge` holds both.
    """

    item: float
    judge: float
    item_judge: float
    error: float
    bias: tuple[float, ...]
    n_items: int
    n_judges: int
    n_repeats: int
    n_missing: int
    reason: str = ""


def variance_components(ratings: ArrayLike) -> VarianceComponents:
    """Components of variance of 0/1 verdicts over items, judges and repeats.

    Mean squares of the two-way layout: MS_item, MS_judge, MS_item.judge, MS_error; error = MS_error, item.judge =
    (MS_item.judge - MS_error) / r, judge = (MS_judge - MS_item.judge) / (n r), item = (MS_item - MS_item.judge) / (k
    r).

    Parameters
    ----------
    ratings : array, shape (n_items, n_judges, n_repeats)
        0/1 verdicts. Items that lack a verdict of any judge and repeat are left out and counted.

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, chapter 4, doi:10.1002/9780470316856.
    """
    cube = np.asarray(ratings, dtype=np.float64)
    if cube.ndim != 3 or cube.shape[1] < 2:
        raise InputError("ratings", "must be items x judges x repeats with two judges or more", cube.shape)
    if not np.isin(cube[~np.isnan(cube)], (0.0, 1.0)).all():
        raise InputError("ratings", "must be 0, 1 or NaN", np.unique(cube[~np.isnan(cube)])[:5].tolist())
    complete = ~np.isnan(cube).any(axis=(1, 2))
    cube = cube[complete]
    n, k, r = cube.shape
    missing = int((~complete).sum())
    if n < 2:
        reason = "fewer than two items have a verdict of every judge and repeat"
        return VarianceComponents(math.nan, math.nan, math.nan, math.nan, (), n, k, r, missing, reason)
    grand, cell = cube.mean(), cube.mean(axis=2)
    item, judge = cell.mean(axis=1), cell.mean(axis=0)
    ms_item = k * r * ((item - grand) ** 2).sum() / (n - 1)
    ms_judge = n * r * ((judge - grand) ** 2).sum() / (k - 1)
    interaction = cell - item[:, None] - judge + grand
    ms_item_judge = r * (interaction**2).sum() / ((n - 1) * (k - 1))
    ms_error = ((cube - cell[:, :, None]) ** 2).sum() / (n * k * (r - 1)) if r > 1 else math.nan
    few = k < FEWEST_JUDGES
    return VarianceComponents(
        item=float((ms_item - ms_item_judge) / (k * r)),
        judge=math.nan if few else float((ms_judge - ms_item_judge) / (n * r)),
        item_judge=float((ms_item_judge - ms_error) / r) if r > 1 else float(ms_item_judge),
        error=float(ms_error),
        bias=tuple((judge - grand).tolist()),
        n_items=n,
        n_judges=k,
        n_repeats=r,
        n_missing=missing,
        reason=f"{k} judges are too few for a variance of judges: their biases are given" if few else "",
    )


def _equal_pairs(matrix: Floats) -> Floats:
    """Share of equal pairs of repeats of each item; NaN with fewer than two."""
    given = ~np.isnan(matrix)
    n = given.sum(axis=1)
    categories = np.unique(matrix[given])
    counts = (matrix[:, :, None] == categories).sum(axis=1)
    pairs = np.where(n > 1, n * (n - 1), 1)
    return np.where(n > 1, (counts * (counts - 1)).sum(axis=1) / pairs, np.nan)


def _fewest_equal_pairs(matrix: Floats) -> float:
    """The least share of equal pairs that any item can have: its words given equally often."""
    given = ~np.isnan(matrix)
    n = given.sum(axis=1)
    n = n[n > 1]
    words = max(np.unique(matrix[given]).size, 2)
    often, left = n // words, n % words
    pairs = left * (often + 1) * often + (words - left) * often * (often - 1)
    return float((pairs / (n * (n - 1))).min(initial=1.0)) if n.size else 0.0
