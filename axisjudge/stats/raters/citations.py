"""Cited steps: whether they exist, and whether two judges point at the same evidence beyond what chance gives."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from axisjudge.checks import InputError
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_mean, clustered_proportion


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
        if len(other) != len(reference):
            raise InputError(name, f"needs one entry for each of the {len(reference)} items", len(other))
