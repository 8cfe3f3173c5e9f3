"""Formulas of the agreement coefficients, each as sums over rating patterns and a function of those sums.

Every coefficient is 1 - (observed disagreement) / (disagreement expected by chance); they differ in what they take for
chance. `sums` maps patterns to the numbers that are added over items; `disagreements` turns the added numbers (last
axis; any number of resamples before it) into observed and expected disagreement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.stats.clusters import by_number, relative_weights
from axisjudge.stats.proportions import cluster_codes

# Ratings as counts of distinct rating patterns: what raters said together, and how often.
# Every agreement coefficient is a function of sums over items, and items with one pattern contribute alike. Counting
# patterns once makes the cost of resampling independent of the number of items.

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Up to so many possible patterns are counted in a table; beyond it the patterns that occur are sorted.
_TABLE_LIMIT = 1 << 22


@dataclass(frozen=True, eq=False)
class RatingPatterns:
    """The distinct rows of an items x raters matrix.

    `codes` (patterns x raters) holds positions in `categories`, -1 where a rating is missing; `items` how many items
    show each pattern and `counts` their weight (the same without weights); `pattern` and `cluster` the pattern and the
    cluster of each row (rows x 2 where items are grouped in two ways), which stands for `times` items.
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
        """How many items with two ratings or more each cluster has, of two ways the fewer; none without any."""
        of = by_number(self.cluster[self.compared])[-1]
        sizes = np.bincount(of, weights=self.times[self.compared], minlength=1)
        return np.asarray(sizes[sizes > 0], dtype=np.float64)

    def n_clusters(self) -> int:
        """How many clusters the items with two ratings or more come from, of two ways the fewer."""
        return self.cluster_sizes().size if self.grouped else int(self.items[self.paired].sum())

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
    clusters : array, shape (n_items,) or (n_items, 2), optional
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
    groups = cluster_codes(clusters, pattern.size, ways=2)
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
        grouped=clusters is not None and int(groups.max(axis=0, initial=-1).min()) + 1 < number.sum(),
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
        unknown = np.unique(matrix[~known])[:5].tolist()
        raise InputError("ratings", f"must be one of the categories {values.tolist()} or NaN", unknown)
    codes[np.isnan(matrix)] = -1
    return codes


def _distinct(codes: Ints, n_categories: int) -> tuple[Ints, Ints]:
    """Distinct rows, and which of them each row is."""
    n_raters = codes.shape[1]
    base = n_categories + 1
    if base**n_raters > _TABLE_LIMIT:
        rows, pattern = np.unique(codes, axis=0, return_inverse=True)
        return rows, pattern.reshape(-1).astype(np.intp)
    power = base ** np.arange(n_raters)
    number = (codes + 1) @ power
    occurs = np.flatnonzero(np.bincount(number, minlength=1))
    position = np.zeros(base**n_raters, dtype=np.intp)
    position[occurs] = np.arange(occurs.size)
    return (occurs[:, None] // power % base - 1).astype(np.intp), position[number]


Sums = Callable[[Ints, Floats], Floats]
Disagreements = Callable[[Floats, Floats], tuple[Floats, Floats]]
Distance = Callable[[Floats], Floats]
#: Between categories that were used so often.
SquaredDistance = Callable[[Floats, Floats], Floats]
#: What a difference between two categories means: other or the same, nearer or farther, a distance.
Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class Coefficient:
    """One agreement coefficient: `sums(codes, categories)` -> (patterns, terms); `disagreements(sums, categories)`.

    `column` heads it in tables that show several coefficients, by default its name; with "" it is computed only where
    it is asked for by name. Where two share a column, two raters get the one that stands first. `levels` are those of
    the scales whose tables show it.
    """

    name: str
    label: str
    sums: Sums
    disagreements: Disagreements
    two_raters: bool = False
    declared_categories: bool = False
    ordered: bool = False
    column: str | None = None
    levels: tuple[Level, ...] = ("nominal",)

    @property
    def heading(self) -> str:
        """Its column in tables; empty where they do not show it."""
        return self.name if self.column is None else self.column

    def estimate(self, sums: Floats, categories: Floats) -> Floats:
        """The coefficient of each set of sums; NaN where chance leaves no room for disagreement."""
        observed, expected = self.disagreements(sums, categories)
        return coefficient(observed, expected)

    def value(self, patterns: RatingPatterns) -> float:
        """The coefficient of all the items of `patterns`."""
        totals = patterns.counts @ self.sums(patterns.codes, patterns.categories)
        return float(self.estimate(totals, patterns.categories))


def coefficient(observed: Floats, expected: Floats) -> Floats:
    """1 - observed / expected disagreement; NaN where none is expected."""
    possible = expected > 1e-12
    return np.where(possible, 1 - observed / np.where(possible, expected, 1.0), np.nan)


# distances between categories, 0 (same) to 1 (farthest apart)


def nominal_distance(categories: Floats) -> Floats:
    """1 for any two different categories."""
    return np.asarray(1.0 - np.eye(categories.size))


def linear_distance(categories: Floats) -> Floats:
    """|a - b| over the range of the categories' values (not of their positions)."""
    return np.asarray(np.abs(categories[:, None] - categories) / _span(categories))


def quadratic_distance(categories: Floats) -> Floats:
    """(a - b)^2 over the squared range of the categories' values."""
    return np.asarray(linear_distance(categories) ** 2)


def _span(categories: Floats) -> float:
    return float(np.ptp(categories)) or 1.0 if categories.size else 1.0


# what patterns add up to


def category_counts(codes: Ints, n_categories: int) -> Floats:
    """r_pk: how many raters gave category k in pattern p."""
    counts: Floats = (codes[:, :, None] == np.arange(n_categories)).sum(axis=1).astype(np.float64)
    return counts


def _pair_table(codes: Ints, categories: Floats) -> Floats:
    """The two raters' joint table, flattened; items with one rating add nothing."""
    first, second = (codes[:, rater, None] == np.arange(categories.size) for rater in (0, 1))
    joint: Floats = (first[:, :, None] & second[:, None, :]).astype(np.float64)
    return joint.reshape(len(codes), categories.size**2)


def _unit_means(distance: Distance) -> Sums:
    """Mean disagreement of the pairs in an item and its share of each category, with the items that have them."""

    def sums(codes: Ints, categories: Floats) -> Floats:
        r = category_counts(codes, categories.size)
        n = r.sum(axis=1)
        pairs = np.maximum(n * (n - 1), 1.0)
        disagreement = np.einsum("pk,kl,pl->p", r, distance(categories), r) / pairs
        shares = r / np.maximum(n, 1.0)[:, None]
        return np.column_stack([np.where(n >= 2, disagreement, 0.0), n >= 2, n >= 1, shares])

    return sums


def _coincidences(codes: Ints, categories: Floats) -> Floats:
    """Krippendorff's coincidence table: pairs of ratings in an item, each item with m ratings weighing m."""
    r = category_counts(codes, categories.size)
    n = r.sum(axis=1)
    pairs = r[:, :, None] * r[:, None, :] - r[:, :, None] * np.eye(categories.size)
    return np.asarray((pairs / np.maximum(n - 1, 1.0)[:, None, None]).reshape(len(codes), categories.size**2))


# observed and expected disagreement


def _ratio(part: Floats, whole: Floats) -> Floats:
    undefined = np.full(np.broadcast(part, whole).shape, np.nan)
    return np.asarray(np.divide(part, whole, out=undefined, where=whole > 0))


def _percent(sums: Floats, categories: Floats) -> tuple[Floats, Floats]:
    observed = _ratio(sums[..., 0], sums[..., 1])
    return observed, np.ones_like(observed)


def _square(sums: Floats, n_categories: int) -> Floats:
    return sums.reshape(*sums.shape[:-1], n_categories, n_categories)


def _cohen(distance: Distance) -> Disagreements:
    def disagreements(sums: Floats, categories: Floats) -> tuple[Floats, Floats]:
        table = _ratio(_square(sums, categories.size), sums.sum(axis=-1)[..., None, None])
        row, column, d = table.sum(axis=-1), table.sum(axis=-2), distance(categories)
        return np.einsum("...kl,kl->...", table, d), np.einsum("...k,kl,...l->...", row, d, column, optimize=True)

    return disagreements


def _scott(sums: Floats, categories: Floats) -> tuple[Floats, Floats]:
    table = _ratio(_square(sums, categories.size), sums.sum(axis=-1)[..., None, None])
    share = (table.sum(axis=-1) + table.sum(axis=-2)) / 2
    return 1 - np.einsum("...kk->...", table), 1 - (share**2).sum(axis=-1)


def _fleiss(distance: Distance) -> Disagreements:
    def disagreements(sums: Floats, categories: Floats) -> tuple[Floats, Floats]:
        observed = _ratio(sums[..., 0], sums[..., 1])
        share = _ratio(sums[..., 3:], sums[..., 2, None])
        return observed, np.einsum("...k,kl,...l->...", share, distance(categories), share, optimize=True)

    return disagreements


def _gwet(distance: Distance) -> Disagreements:
    def disagreements(sums: Floats, categories: Floats) -> tuple[Floats, Floats]:
        q = categories.size
        observed = _ratio(sums[..., 0], sums[..., 1])
        share = _ratio(sums[..., 3:], sums[..., 2, None])
        if q < 2:  # one possible category: nothing could be said differently
            return observed, np.zeros_like(observed)
        agreement_weights = (1 - distance(categories)).sum()
        return observed, 1 - agreement_weights * (share * (1 - share)).sum(axis=-1) / (q * (q - 1))

    return disagreements


def _krippendorff(squared_distance: SquaredDistance) -> Disagreements:
    def disagreements(sums: Floats, categories: Floats) -> tuple[Floats, Floats]:
        o = _square(sums, categories.size)
        n_c = o.sum(axis=-1)
        n = n_c.sum(axis=-1)
        d = squared_distance(n_c, categories)
        observed = _ratio((o * d).sum(axis=(-2, -1)), n)
        expected = np.einsum("...k,...kl,...l->...", n_c, np.broadcast_to(d, o.shape), n_c, optimize=True)
        return observed, _ratio(expected, n * (n - 1))

    return disagreements


def _ordinal_distance(n_c: Floats, categories: Floats) -> Floats:
    """Squared count of ratings from one category to the other, half of each end's own; as a share of all ratings."""
    below = np.cumsum(n_c, axis=-1) - n_c / 2  # mid-rank of each category
    total = np.maximum(n_c.sum(axis=-1), 1e-300)[..., None, None]
    return np.asarray(((below[..., :, None] - below[..., None, :]) / total) ** 2)


def _of_cohen(name: str, label: str, distance: Distance, **fields: Any) -> Coefficient:
    return Coefficient(name, label, _pair_table, _cohen(distance), two_raters=True, **fields)


def _of_fleiss(name: str, label: str, distance: Distance, **fields: Any) -> Coefficient:
    return Coefficient(name, label, _unit_means(distance), _fleiss(distance), **fields)


def _of_gwet(name: str, label: str, distance: Distance, **fields: Any) -> Coefficient:
    return Coefficient(name, label, _unit_means(distance), _gwet(distance), declared_categories=True, **fields)


def _of_krippendorff(name: str, metric: str, distance: SquaredDistance, **fields: Any) -> Coefficient:
    return Coefficient(name, f"Krippendorff's alpha, {metric}", _coincidences, _krippendorff(distance), **fields)


def _however_often(distance: Distance) -> SquaredDistance:
    return lambda n_c, categories: distance(categories)


#: Categories in order: computed where it is asked for by name, or shown where all questions have an order.
_ORDERED: dict[str, Any] = {"ordered": True, "column": ""}
_ORDINAL: dict[str, Any] = {"ordered": True, "levels": ("ordinal",)}
_QUADRATIC: dict[str, Any] = {"column": "quadratic_kappa", **_ORDINAL}
_OF_WORDS: tuple[Level, ...] = ("nominal", "ordinal")
_AGREED = _unit_means(nominal_distance)

#: Every agreement coefficient offered, by name.
COEFFICIENTS: dict[str, Coefficient] = {
    each.name: each
    for each in (
        Coefficient("percent_agreement", "percent agreement", _AGREED, _percent, column="percent", levels=_OF_WORDS),
        _of_cohen("cohen_kappa", "Cohen's kappa", nominal_distance, column="kappa"),
        _of_cohen("cohen_kappa_linear", "Cohen's kappa, linear weights", linear_distance, **_ORDERED),
        _of_cohen("cohen_kappa_quadratic", "Cohen's kappa, quadratic weights", quadratic_distance, **_QUADRATIC),
        Coefficient("scott_pi", "Scott's pi", _pair_table, _scott, two_raters=True, column=""),
        _of_fleiss("fleiss_kappa", "Fleiss' kappa", nominal_distance, column="kappa"),
        _of_fleiss("fleiss_kappa_quadratic", "Fleiss' kappa, quadratic weights", quadratic_distance, **_QUADRATIC),
        _of_gwet("gwet_ac1", "Gwet's AC1", nominal_distance, column="ac1"),
        _of_gwet("gwet_ac2_linear", "Gwet's AC2, linear weights", linear_distance, **_ORDERED),
        _of_gwet("gwet_ac2_quadratic", "Gwet's AC2, quadratic weights", quadratic_distance, column="ac2", **_ORDINAL),
        _of_krippendorff("krippendorff_alpha", "nominal", _however_often(nominal_distance), column="alpha"),
        _of_krippendorff(
            "krippendorff_alpha_ordinal", "ordinal", _ordinal_distance, column="ordinal_alpha", **_ORDINAL
        ),
        _of_krippendorff("krippendorff_alpha_interval", "interval", _however_often(quadratic_distance), **_ORDERED),
    )
}


def coefficient_names(n_raters: int, level: Level = "nominal") -> dict[str, str]:
    """The coefficients of a table by their columns: kappa is Cohen's for two raters and Fleiss' for more.

    Those of `level`; none for ``interval``, whose numbers are no categories (`axisjudge.stats.agreement.measured`).
    """
    names: dict[str, str] = {}
    for each in COEFFICIENTS.values():
        if each.heading and level in each.levels and (n_raters == 2 or not each.two_raters):
            names.setdefault(each.heading, each.name)
    return names


def coefficient_columns(level: Level = "nominal") -> tuple[str, ...]:
    """The columns of a table of agreement on scales of `level`, however many raters a row has."""
    shown = [each.heading for each in COEFFICIENTS.values() if each.heading and level in each.levels]
    return tuple(dict.fromkeys(shown))


def coefficient_of_two(level: Level) -> str:
    """The coefficient that says how far two raters agree beyond chance, on a scale of words of `level`."""
    return "cohen_kappa_quadratic" if level == "ordinal" else "cohen_kappa"


def alpha_of(level: Level) -> str:
    """Krippendorff's alpha of `level`."""
    return "krippendorff_alpha" if level == "nominal" else f"krippendorff_alpha_{level}"
