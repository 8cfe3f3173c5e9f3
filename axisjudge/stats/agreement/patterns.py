"""Ratings as counts of distinct rating patterns: what raters said together, and how often.

Every agreement coefficient is a function of sums over items, and items with one pattern contribute alike. Counting
patterns once makes the cost of resampling independent of the number of items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.stats.clusters import relative_weights
from axisjudge.stats.rates.proportions import cluster_codes

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Up to so many possible patterns are counted in a table; beyond it the patterns that occur are sorted.
_TABLE_LIMIT = 1 << 22


@dataclass(frozen=True, eq=False)
class RatingPatterns:
    """The distinct rows of an items x raters matrix.

    `codes` (patterns x raters) holds positions in `categories`, -1 where a rating is missing; `items` how many items
    show each pattern and `counts` their weight (the same without weights); `pattern` and `cluster` the pattern and the
    cluster of each row, which stands for `times` items.
    """

    codes: Ints
    items: Floats
    counts: Floats
    categories: Floats
    pattern: Ints
    cluster: Ints
    times: Floats
    weights: Floats | None
    grouped: bool

    @property
    def n_raters(self) -> int:
        """How many raters there are."""
        return int(self.codes.shape[1])

    @property
    def n_ratings(self) -> Ints:
        """How many ratings each pattern has."""
        return np.asarray((self.codes >= 0).sum(axis=1), dtype=np.intp)

    @property
    def paired(self) -> NDArray[np.bool_]:
        """Which patterns have two ratings or more, and so something to compare."""
        return self.n_ratings >= 2

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Which rows have two ratings or more."""
        return np.asarray(self.paired[self.pattern], dtype=np.bool_)

    @property
    def groups(self) -> Ints | None:
        """The cluster of each row with two ratings or more; None where every item is its own."""
        return self.cluster[self.compared] if self.grouped else None

    def cluster_sizes(self) -> Floats:
        """How many items with two ratings or more each cluster has; clusters without any are left out."""
        sizes = np.bincount(self.cluster[self.compared], weights=self.times[self.compared], minlength=1)
        return np.asarray(sizes[sizes > 0], dtype=np.float64)

    def n_clusters(self) -> int:
        """How many clusters the items with two ratings or more come from."""
        if not self.grouped:
            return int(self.items[self.paired].sum())
        return int(np.count_nonzero(np.bincount(self.cluster[self.paired[self.pattern]], minlength=1)))

    def clusters_alike(self) -> RatingPatterns:
        """The same with weights by which each cluster of items with two ratings or more counts alike."""
        kept = self.compared
        weights = np.zeros(kept.size)
        weights[kept] = relative_weights(
            None, kept, groups=self.cluster[kept], times=self.times[kept], alike="clusters" if self.grouped else "items"
        )
        counts = np.bincount(self.pattern, weights=self.times * weights, minlength=len(self.codes)).astype(np.float64)
        return replace(self, weights=weights, counts=counts)

    def of(self, raters: Sequence[int]) -> RatingPatterns:
        """The same items as some of the raters saw them."""
        return replace(self, codes=self.codes[:, list(raters)])


def rating_patterns(
    ratings: ArrayLike,
    *,
    categories: Sequence[float] | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    times: ArrayLike | None = None,
    rows: ArrayLike | None = None,
) -> RatingPatterns:
    """Count the distinct patterns of an items x raters matrix.

    Parameters
    ----------
    ratings : array, shape (n_items, n_raters)
        Label values; NaN where a rater gave none.
    categories : sequence of float, optional
        All values that could be given; by default those that occur.
    clusters : array, shape (n_items,), optional
        Which items belong together.
    weights : array, shape (n_items,), optional
        Weights of items, 1 each by default.
    times : array, shape (n_items,), optional
        How many items of one cluster each row stands for: a count of like items says as much as the items.
    rows : array of int, optional
        Which row of `ratings` each item shows, where the rows are patterns; clusters, weights and times are then as
        many as `rows`.
    """
    matrix = _checked(ratings)
    values = _declared(matrix, categories)
    codes, pattern = _distinct(_coded(matrix, values), values.size)
    if rows is not None:
        pattern = pattern[np.asarray(rows)]
    groups = cluster_codes(clusters, pattern.size)
    weight = None if weights is None else _checked_weights(weights, pattern.size)
    number = np.ones(pattern.size) if times is None else _checked_weights(times, pattern.size)
    items = np.bincount(pattern, weights=number, minlength=len(codes)).astype(np.float64)
    return RatingPatterns(
        codes=codes,
        items=items,
        counts=items
        if weight is None
        else np.bincount(pattern, weights=number * weight, minlength=len(codes)).astype(np.float64),
        categories=values,
        pattern=pattern,
        cluster=groups,
        times=number,
        weights=weight,
        grouped=clusters is not None and int(groups.max(initial=-1)) + 1 < number.sum(),
    )


def _checked(ratings: ArrayLike) -> Floats:
    try:
        matrix = np.asarray(ratings, dtype=np.float64)
    except (TypeError, ValueError):
        cure = "code words as numbers (RatingMatrix.codes) and missing ratings as NaN"
        raise InputError("ratings", "must be numbers", np.asarray(ratings).dtype, cure) from None
    if matrix.ndim != 2 or matrix.shape[1] < 2:
        raise InputError("ratings", "must be items x raters with two raters or more", matrix.shape)
    if np.isinf(matrix).any():
        raise InputError("ratings", "must be finite or NaN")
    return matrix


def _checked_weights(weights: ArrayLike, n_items: int) -> Floats:
    weight = np.asarray(weights, dtype=np.float64)
    if weight.shape != (n_items,) or not (weight >= 0).all() or np.isinf(weight).any():
        raise InputError("weights", f"must be {n_items} finite numbers of 0 or more, one for each item", weight)
    return weight


def _declared(matrix: Floats, categories: Sequence[float] | None) -> Floats:
    if categories is None:
        return np.unique(matrix[~np.isnan(matrix)])
    values = np.asarray(categories, dtype=np.float64)
    if values.ndim != 1 or np.unique(values).size != values.size or not np.isfinite(values).all():
        raise InputError("categories", "must be distinct numbers", categories)
    return np.sort(values)


def _coded(matrix: Floats, values: Floats) -> Ints:
    if values.size == 0:
        if not np.isnan(matrix).all():
            raise InputError("categories", "must hold every value that occurs", [])
        return np.full(matrix.shape, -1, dtype=np.intp)
    if np.array_equal(values, np.arange(values.size)):  # codes already: the common case, spared a search
        codes = np.nan_to_num(matrix, nan=-1.0).astype(np.intp)
        known = np.isnan(matrix) | ((codes == matrix) & (codes >= 0) & (codes < values.size))
    else:
        codes = np.minimum(np.searchsorted(values, matrix), values.size - 1)
        known = np.isnan(matrix) | (values[codes] == matrix)
    if not known.all():
        found = np.unique(matrix[~known])[:5].tolist()
        raise InputError("ratings", f"must be one of the categories {values.tolist()} or NaN", found)
    codes[np.isnan(matrix)] = -1
    return codes.astype(np.intp, copy=False)


def _distinct(codes: Ints, n_categories: int) -> tuple[Ints, Ints]:
    """Distinct rows, and which of them each row is."""
    n_raters = codes.shape[1]
    base = n_categories + 1
    if base**n_raters > _TABLE_LIMIT:
        rows, pattern = np.unique(codes, axis=0, return_inverse=True)
        return rows, pattern.reshape(-1).astype(np.intp)
    place = base ** np.arange(n_raters)
    number = (codes + 1) @ place
    occurs = np.flatnonzero(np.bincount(number, minlength=1))
    position = np.zeros(base**n_raters, dtype=np.intp)
    position[occurs] = np.arange(occurs.size)
    return (occurs[:, None] // place % base - 1).astype(np.intp), position[number]
