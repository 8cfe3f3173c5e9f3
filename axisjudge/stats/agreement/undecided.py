"""Verdicts that take no side, or were lost: what agreement could be at worst and at best, had they been given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients
from axisjudge.stats.agreement.coefficients import category_counts
from axisjudge.stats.agreement.patterns import Floats, Ints, RatingPatterns, rating_patterns


@dataclass(frozen=True)
class CaseBounds:
    """Agreement if every undecided or lost verdict had been given so as to lower it, or to raise it, the most.

    `n_items` counts all items and `n_undecided` those where a verdict is undecided or lost. Kappa's bounds are given
    for two raters and two categories, else NaN; `kappa_low` and `kappa_high` allow for the sampling of items too (see
    `kappa_when_decided`).
    """

    n_items: int
    n_undecided: int
    percent_worst: float
    percent_best: float
    kappa_worst: float = math.nan
    kappa_best: float = math.nan
    kappa_low: float = math.nan
    kappa_high: float = math.nan


class _Filling(NamedTuple):
    """Patterns with every gap filled; of the items that lack both verdicts a share is `first`, the rest `second`."""

    codes: Ints
    kappa: float
    share: float
    first: tuple[int, int]
    second: tuple[int, int]


def set_aside(ratings: ArrayLike, undecided: Sequence[float]) -> Floats:
    """The ratings with the values in `undecided` as NaN."""
    matrix = np.asarray(ratings, dtype=np.float64)
    aside = np.zeros(matrix.shape, dtype=bool)
    for value in undecided:
        aside |= matrix == value
    return np.where(aside, np.nan, matrix)


def case_bounds(ratings: ArrayLike, *, categories: Sequence[float], times: ArrayLike | None = None) -> CaseBounds:
    """Worst and best case of agreement over all ways to fill in the verdicts that are NaN.

    Parameters
    ----------
    ratings : array, shape (n_items, n_raters)
        Decided verdicts, each one of `categories`; NaN where a rater was undecided or its verdict was lost.
    categories : sequence of float
        What could have been said.
    times : array, shape (n_items,), optional
        How many items each row stands for, 1 by default.
    """
    patterns = rating_patterns(ratings, categories=categories, times=times)
    n_raters, n_items = patterns.n_raters, float(patterns.items.sum())
    open_ = n_raters - patterns.n_ratings
    undecided = int(patterns.items[open_ > 0].sum())
    if not n_items:
        return CaseBounds(0, 0, math.nan, math.nan)
    worst, best = (
        float(patterns.items @ _filled_agreement(patterns.codes, patterns.categories.size, end)) for end in (0, 1)
    )
    kappa = (math.nan, math.nan)
    if n_raters == 2 and patterns.categories.size == 2:
        lowest, highest = _kappa_fillings(patterns.codes, patterns.items)
        kappa = (lowest.kappa, highest.kappa)
    return CaseBounds(int(n_items), undecided, worst / n_items, best / n_items, *kappa)


def _filled_agreement(codes: Ints, n_categories: int, best: int) -> Floats:
    """Share of agreeing pairs when each open verdict goes to the item's commonest (best) or rarest (worst) category."""
    counts = category_counts(codes, n_categories)
    n_raters = codes.shape[1]
    row = np.arange(len(codes))
    for opening in range(1, n_raters + 1):
        chosen = counts.argmax(axis=1) if best else counts.argmin(axis=1)
        counts[row, chosen] += (codes < 0).sum(axis=1) >= opening
    return np.asarray((counts * (counts - 1)).sum(axis=1) / (n_raters * (n_raters - 1)))


def kappa_when_decided(
    ratings: ArrayLike,
    *,
    categories: Sequence[float],
    clusters: ArrayLike | None = None,
    times: ArrayLike | None = None,
    rows: ArrayLike | None = None,
    ci_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> tuple[float, float]:
    """An interval of Cohen's kappa, had every verdict been given, whatever it was and why ever it is missing.

    The lower end is that of the interval where every gap is filled so as to lower kappa the most, the upper end that
    where it is filled so as to raise it. Where verdicts are missing the more often the more two judges differ, the
    interval of those that were given covers .79 in one of six designs; this one covers 1.00 in all, a sixth to
    six sevenths wider (data/reference/coverage.csv).

    Parameters
    ----------
    ratings : array, shape (n_items, 2)
        Decided verdicts, each one of two `categories`; NaN where a rater was undecided or its verdict was lost.
    clusters, times, rows : array, optional
        As in `axisjudge.stats.agreement.patterns.rating_patterns`.

    Returns
    -------
    tuple of float
        NaN for other than two raters and two categories, and where kappa has no interval.
    """
    patterns = rating_patterns(ratings, categories=categories, clusters=clusters, times=times, rows=rows)
    if patterns.n_raters != 2 or patterns.categories.size != 2 or not patterns.items.sum():
        return math.nan, math.nan
    lowest, highest = (
        _kappa_of(patterns, filling, ci_level, rng) for filling in _kappa_fillings(patterns.codes, patterns.items)
    )
    return lowest.ci_low, highest.ci_high


def _kappa_of(
    patterns: RatingPatterns, filling: _Filling, ci_level: float, rng: np.random.Generator | int | None
) -> Agreement:
    both_open = np.asarray((patterns.codes < 0).all(axis=1))
    filled = np.where(both_open[:, None], np.array(filling.first), filling.codes)
    codes = np.vstack([filled, np.array([filling.second])])
    lacks = both_open[patterns.pattern]
    first = np.where(lacks, patterns.times * filling.share, patterns.times)
    times = np.concatenate([first, (patterns.times - first)[lacks]])
    rows = np.concatenate([patterns.pattern, np.full(lacks.sum(), len(codes) - 1)])
    cluster = np.concatenate([patterns.cluster, patterns.cluster[lacks]])
    kept = times > 0
    return agreement_coefficients(
        codes,
        ["cohen_kappa"],
        categories=(0, 1),
        clusters=cluster[kept] if patterns.grouped else None,
        times=times[kept],
        rows=rows[kept],
        ci_level=ci_level,
        rng=rng,
    )["cohen_kappa"]


def _kappa_fillings(codes: Ints, items: Floats) -> tuple[_Filling, _Filling]:
    """One-sided gaps filled against or with the other rater, over all splits of the items that lack both verdicts.

    With the margin of the rater who spoke fixed, a disagreement turned into agreement never lowers kappa.
    """
    one_open = (codes < 0).sum(axis=1) == 1
    both_open = float(items[(codes < 0).all(axis=1)].sum())
    split = np.arange(both_open + 1)
    fillings = []
    for same in (False, True):
        other = codes[:, ::-1] if same else np.where(codes[:, ::-1] >= 0, 1 - codes[:, ::-1], -1)
        filled = np.where((codes < 0) & one_open[:, None], other, codes)
        a, b, c, d = (items[(filled == cell).all(axis=1)].sum() for cell in ((0, 0), (0, 1), (1, 0), (1, 1)))
        table = (a + split, b, c, d + both_open - split) if same else (a, b + split, c + both_open - split, d)
        kappa = _kappa(*(np.asarray(cell, dtype=np.float64) for cell in table))
        at = 0 if np.isnan(kappa).all() else int(np.nanargmax(kappa) if same else np.nanargmin(kappa))
        share = split[at] / both_open if both_open else 0.0
        cells = ((0, 0), (1, 1)) if same else ((0, 1), (1, 0))
        fillings.append(_Filling(filled, float(kappa[at]), float(share), *cells))
    return fillings[0], fillings[1]


def _kappa(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Kappa of a 2 x 2 table, 2 (ad - bc) / ((a + b)(b + d) + (a + c)(c + d))."""
    chance = (a + b) * (b + d) + (a + c) * (c + d)
    return np.where(chance > 0, 2 * (a * d - b * c) / np.where(chance > 0, chance, 1.0), np.nan)
