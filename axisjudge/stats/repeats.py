"""Evidence that two judges point at, and the same judge asked again: cited steps, self-agreement, flips."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, one_each
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import bounded_share, cluster_codes, clustered_mean, clustered_proportion

Floats = NDArray[np.float64]

#: Items with a verdict of every judge and repeat below which a split of variance, which has no interval, is noise.
FEWEST_ITEMS = 10
#: With fewer judges their variance is a guess: with two, the interval of their SD is x 0.45 to x 32.
FEWEST_JUDGES = 5
#: The same of occasions (builds, days), whose noise is measured between four of one judge or more.
FEWEST_OCCASIONS = 4


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


#: Digits of a mean confidence: the last ones hang on the order in which repeats are added, and decide at an edge.
MEAN_DIGITS = 12


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
    mean = (np.where(given, confidence, 0.0).sum(axis=1) / np.maximum(given.sum(axis=1), 1)).round(MEAN_DIGITS)
    mean[~given.any(axis=1)] = np.nan
    bands = []
    for low, high in itertools.pairwise(edges):
        inside = (mean >= low) & ((mean <= high) if high == edges[-1] else (mean < high))
        values = np.where(inside, flipped, np.nan)
        if not np.isnan(values).all():
            flips = clustered_proportion(values, clusters, cluster_unit=cluster_unit, ci_level=ci_level)
            bands.append(ConfidenceBand(low, high, flips))
    return bands


@dataclass(frozen=True)
class VarianceComponents:
    """Variance of 0/1 verdicts by expected mean squares; negative estimates are shown as they come.

    With k judges asked r times on each of b occasions, the variance of the panel's mean verdict on an item is

        judge / k + item_judge / k + (occasion + item_occasion) / (k b) + error / (k b r)

    `task` and `item` are of items, `item` within tasks where several share one. `occasion` is what a judge as a whole
    is off by on one occasion (a build, a day), `item_occasion` what it changes on single items from occasion to
    occasion and holds through the repeats of one; both are NaN below `FEWEST_OCCASIONS` of them, as repeats of one
    occasion say nothing of another. With fewer than five judges `judge` is NaN and `bias`, each judge's mean minus the
    panel's, stands in its place: judges are fixed. What one repeat cannot tell apart, the component above holds:
    `item_judge` with one occasion, `item_occasion` with several.
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
    task: float = math.nan
    occasion: float = math.nan
    item_occasion: float = math.nan
    n_occasions: int = 1


def variance_components(
    ratings: ArrayLike, *, occasions: ArrayLike | None = None, tasks: ArrayLike | None = None
) -> VarianceComponents:
    """Components of variance of 0/1 verdicts over tasks, items, judges, occasions and repeats.

    Occasions o lie within judges j (each has builds of its own), items i across both. With b occasions of r repeats,
    k judges and n items in tasks of m_t:

        error         = MS_error                              item_occasion = (MS_io - MS_error) / r
        occasion      = (MS_o - MS_io) / (n r)                item_judge    = (MS_ij - MS_io) / (b r)
        judge         = (MS_j - MS_ij - MS_o + MS_io) / (n b r)
        item          = (MS_i:t - MS_ij) / (k b r)            task          = (MS_t - MS_i:t) / (m k b r)

    with m = (n - sum m_t^2 / n) / (n_tasks - 1); on one occasion MS_io and MS_o are MS_error.

    Parameters
    ----------
    ratings : array, shape (n_items, n_judges, n_repeats)
        0/1 verdicts. Items that lack a verdict of any judge and repeat are left out and counted.
    occasions : array, shape (n_repeats,), optional
        The occasion of each repeat; all of one by default. Of each occasion as many repeats count as the one with the
        fewest has.
    tasks : array, shape (n_items,), optional
        Without it, or where each task has one item, `item` is of both.

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, chapter 4, doi:10.1002/9780470316856.
    """
    cube = np.asarray(ratings, dtype=np.float64)
    if cube.ndim != 3 or cube.shape[1] < 2:
        raise InputError("ratings", "must be items x judges x repeats with two judges or more", cube.shape)
    if not np.isin(cube[~np.isnan(cube)], (0.0, 1.0)).all():
        raise InputError("ratings", "must be 0, 1 or NaN", np.unique(cube[~np.isnan(cube)])[:5].tolist())
    of = cluster_codes(np.zeros(cube.shape[2]) if occasions is None else occasions, cube.shape[2])
    groups = cluster_codes(tasks, len(cube))
    r = int(np.bincount(of).min())
    cube = cube[:, :, np.concatenate([np.flatnonzero(of == one)[:r] for one in range(of.max() + 1)])]
    complete = ~np.isnan(cube).any(axis=(1, 2))
    n, k, b, missing = int(complete.sum()), cube.shape[1], int(of.max()) + 1, int((~complete).sum())
    cube = cube[complete].reshape(n, k, b, r)
    counts = {"n_items": n, "n_judges": k, "n_repeats": r, "n_missing": missing, "n_occasions": b}
    if n < FEWEST_ITEMS:
        reason = f"{n} items have a verdict of every judge and repeat; a split of their variance takes {FEWEST_ITEMS}"
        return VarianceComponents(math.nan, math.nan, math.nan, math.nan, (), reason=reason, **counts)
    grand, cell, day = cube.mean(), cube.mean(axis=(2, 3)), cube.mean(axis=(0, 3))
    item, judge, seen = cell.mean(axis=1), cell.mean(axis=0), cube.mean(axis=3)
    ms_error = ((cube - seen[..., None]) ** 2).sum() / (n * k * b * (r - 1)) if r > 1 else math.nan
    ms_item_judge = b * r * ((cell - item[:, None] - judge + grand) ** 2).sum() / ((n - 1) * (k - 1))
    ms_judge = n * b * r * ((judge - grand) ** 2).sum() / (k - 1)
    ms_occasion = ms_item_occasion = of_repeats = ms_error if r > 1 else 0.0
    if b > 1:
        moved = seen - cell[..., None] - day + judge[:, None]
        ms_item_occasion = r * (moved**2).sum() / (k * (n - 1) * (b - 1))
        ms_occasion = n * r * ((day - judge[:, None]) ** 2).sum() / (k * (b - 1))
    between = ms_judge - ms_item_judge - ms_occasion + ms_item_occasion
    of_task, of_item = _task_and_item(item, groups[complete], k * b * r, ms_item_judge)
    few, short = k < FEWEST_JUDGES, b < FEWEST_OCCASIONS
    reasons = [f"{k} judges are too few for a variance of judges: their biases are given"] if few else []
    if short and b > 1:
        reasons += [f"{b} occasions are too few for a variance of occasions: it takes {FEWEST_OCCASIONS}"]
    return VarianceComponents(
        item=of_item,
        judge=math.nan if few else float(between / (n * b * r)),
        item_judge=float((ms_item_judge - ms_item_occasion) / (b * r)),
        error=float(ms_error),
        bias=tuple((judge - grand).tolist()),
        reason="; ".join(reasons),
        task=of_task,
        occasion=math.nan if short else float((ms_occasion - ms_item_occasion) / (n * r)),
        item_occasion=math.nan if short else float((ms_item_occasion - of_repeats) / r),
        **counts,
    )


def _task_and_item(mean: Floats, groups: NDArray[np.intp], replies: int, ms_item_judge: float) -> tuple[float, float]:
    """Components of tasks (NaN where none has two items) and of items within them, by the means of items."""
    codes = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    n, n_tasks = mean.size, sizes.size
    if not 1 < n_tasks < n:
        whole = replies * ((mean - mean.mean()) ** 2).sum() / (n - 1)
        return math.nan, float((whole - ms_item_judge) / replies)
    of_task = np.bincount(codes, weights=mean) / sizes
    within = replies * ((mean - of_task[codes]) ** 2).sum() / (n - n_tasks)
    between = replies * (sizes * (of_task - mean.mean()) ** 2).sum() / (n_tasks - 1)
    m = (n - (sizes**2).sum() / n) / (n_tasks - 1)
    return float((between - within) / (m * replies)), float((within - ms_item_judge) / replies)


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


# Cited steps: whether they exist, and whether two judges point at the same evidence beyond what chance gives.


@dataclass(frozen=True)
class CitationOverlap:
    """Evidence that two judges share, on the items where both cite a step.

    `overlap` is the mean Jaccard index |A and B| / |A or B| of their cited steps; `chance` its mean expectation had
    each judge cited as many steps of the same trajectory at random; `excess` the mean difference of the two; `distance`
    the mean number of steps from a cited step to the nearest one of the other judge. `n_one` and `n_none` count items
    where one judge, or neither, cites anything.
    """

    overlap: Estimate
    chance: float
    excess: Estimate
    distance: Estimate
    n_both: int
    n_one: int
    n_none: int


def citation_validity(
    cited: Sequence[Collection[int]],
    invalid: Sequence[Collection[int]],
    *,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "item",
    ci_level: float = 0.95,
) -> Estimate:
    """Share of a judge's citations whose step exists.

    Parameters
    ----------
    cited : sequence of collections of int, shape (n_items,)
        The steps cited for each item, those that do not exist included.
    invalid : sequence of collections of int, shape (n_items,)
        Those of them that do not exist.
    clusters : array, shape (n_items,), optional
        Which items belong together; by default the citations of one item are one cluster.
    """
    _same_length(cited, invalid=invalid)
    labels = np.arange(len(cited)) if clusters is None else np.asarray(clusters)
    exists = [step not in set(wrong) for steps, wrong in zip(cited, invalid, strict=True) for step in steps]
    owner = [label for label, steps in zip(labels, cited, strict=True) for _ in steps]
    return clustered_proportion(np.array(exists, dtype=float), owner, cluster_unit=cluster_unit, ci_level=ci_level)


def citation_overlap(
    first: Sequence[Collection[int]],
    second: Sequence[Collection[int]],
    n_steps: Sequence[int],
    *,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> CitationOverlap:
    """Overlap of two judges' cited steps, minus what chance gives within the trajectory.

    Parameters
    ----------
    first, second : sequence of collections of int, shape (n_items,)
        The steps each judge cites; steps outside the trajectory are left out.
    n_steps : sequence of int, shape (n_items,)
        Steps of each trajectory.
    clusters : array, shape (n_items,), optional
        Which items belong together.
    """
    _same_length(first, second=second, n_steps=n_steps)
    pairs = [
        (_existing(one, steps), _existing(other, steps), steps)
        for one, other, steps in zip(first, second, n_steps, strict=True)
    ]
    overlap = np.array([jaccard(one, other) if one and other else math.nan for one, other, _ in pairs])
    chance = np.array(
        [chance_jaccard(len(one), len(other), steps) if one and other else math.nan for one, other, steps in pairs]
    )
    distance = np.array([step_distance(one, other) for one, other, _ in pairs])
    both = ~np.isnan(overlap)
    neither = sum(not one and not other for one, other, _ in pairs)

    def mean(values: ArrayLike) -> Estimate:
        return clustered_mean(values, clusters, cluster_unit=cluster_unit, ci_level=ci_level)

    return CitationOverlap(
        overlap=mean(overlap),
        chance=float(chance[both].mean()) if both.any() else math.nan,
        excess=mean(overlap - chance),
        distance=mean(distance),
        n_both=int(both.sum()),
        n_one=len(pairs) - int(both.sum()) - neither,
        n_none=neither,
    )


def jaccard(first: Collection[int], second: Collection[int]) -> float:
    """|A and B| / |A or B|; NaN when both are empty.

    Examples
    --------
    >>> jaccard([19, 22], [19, 22, 24])
    0.6666666666666666
    """
    one, other = set(first), set(second)
    return len(one & other) / len(one | other) if one | other else math.nan


def chance_jaccard(n_first: int, n_second: int, n_steps: int) -> float:
    """Expected Jaccard index of two random sets of `n_first` and `n_second` among `n_steps` steps.

    The sum over x of x / (n_first + n_second - x) with hypergeometric weights.
    """
    if not 0 <= n_first <= n_steps or not 0 <= n_second <= n_steps:
        raise InputError("n_first, n_second", f"must lie between 0 and the {n_steps} steps", (n_first, n_second))
    shared = range(max(1, n_first + n_second - n_steps), min(n_first, n_second) + 1)
    ways = [math.comb(n_first, x) * math.comb(n_steps - n_first, n_second - x) for x in shared]
    total = math.comb(n_steps, n_second)
    return sum(x / (n_first + n_second - x) * (n_ways / total) for x, n_ways in zip(shared, ways, strict=True))


def step_distance(first: Collection[int], second: Collection[int]) -> float:
    """Mean steps from a cited step to the nearest of the other judge, both ways alike; NaN when one cites nothing."""
    if not first or not second:
        return math.nan
    apart = np.abs(np.array(sorted(first))[:, None] - np.array(sorted(second)))
    return float(apart.min(axis=1).mean() + apart.min(axis=0).mean()) / 2


def same_verdict_other_evidence(
    first_verdict: Sequence[object],
    second_verdict: Sequence[object],
    first: Sequence[Collection[int]],
    second: Sequence[Collection[int]],
) -> list[int]:
    """Positions of the items where two judges give one verdict, both cite steps, and share none."""
    _same_length(first, second=second, first_verdict=first_verdict, second_verdict=second_verdict)
    return [
        position
        for position, (verdict, one, other) in enumerate(zip(first_verdict, first, second, strict=True))
        if verdict is not None and verdict == second_verdict[position] and one and other and not set(one) & set(other)
    ]


def _existing(steps: Collection[int], n_steps: int) -> set[int]:
    return {step for step in steps if 0 <= step < n_steps}


def _same_length(reference: Sequence[object], **others: Sequence[object]) -> None:
    for name, other in others.items():
        one_each(name, other, len(reference))
