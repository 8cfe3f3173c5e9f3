"""Agreement on measured numbers: Krippendorff's interval alpha and the intraclass correlations.

Numbers are taken as they are, never as categories, so that a scale may have as many values as there are items.

- The forms of the intraclass correlation bear McGraw and Wong's names. One-way (each item has raters of its own):
  ICC(1), ICC(k). Two-way (the same raters throughout): absolute agreement ICC(A,1), ICC(A,k), where a rater who is
  always higher disagrees; consistency ICC(C,1), ICC(C,k), where such a rater does not. 1 is of one rating, k of the
  mean of k. In Shrout and Fleiss' words these are (1,1), (1,k), (2,1), (2,k), (3,1), (3,k).
- Two-way forms take the items that all raters rated, the one-way forms and alpha those with two ratings or more.
- Intervals: of independent items with equally many ratings from the F distribution, which supposes normal scores;
  otherwise the leave-one-out influences of items on Fisher's z, added up over clusters, with the variance and the t of
  `axisjudge.stats.clusters`: .94 to .98 are covered with 20 clusters and more, also where raters have nothing in common
  on a fifth of the tasks (a jackknife with t on Kish's clusters less one: .92 to .96). They carry over to other items,
  not to other raters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, one_of
from axisjudge.stats.agreement.coefficient_intervals import PERFECT, linearised
from axisjudge.stats.estimate import Ends, NamedEstimate, many, too_few_clusters, without_interval
from axisjudge.stats.proportions import cluster_codes, on_scale

Floats = NDArray[np.float64]
Form = Literal["1", "k", "A,1", "A,k", "C,1", "C,k"]
FORMS: tuple[Form, ...] = ("1", "A,1", "C,1", "k", "A,k", "C,k")

#: Fewer clusters often lack the kind on which raters differ: of 12 tasks, where a fifth are of it, .86 were covered.
FEWEST = 20
#: Below this share of the squares of the scores a mean square is rounding, not variance.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, repr=False)
class MeasuredAgreement(NamedEstimate):
    """Agreement on numbers."""


def intraclass_correlation(
    ratings: ArrayLike,
    *,
    form: Form = "A,1",
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> MeasuredAgreement:
    """Intraclass correlation in one of McGraw and Wong's six forms.

    ICC(A,1) = (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n); the others in `FORMS` follow from the same mean
    squares of items (R), raters (C) and the rest (E).

    Parameters
    ----------
    ratings : array, shape (n_items, n_raters)
        Numbers in any unit; NaN where a rater gave none.
    form : {"1", "k", "A,1", "A,k", "C,1", "C,k"}
        One-way, absolute agreement or consistency; of one rating or of the mean of k.
    clusters : array, shape (n_items,), optional
        Which items belong together; without it items are taken as independent.
    cluster_unit : str
        What a cluster is, for the record.
    ci_level : float
        Level of the interval.

    Raises
    ------
    InputError
        The ratings are not numbers of items x raters, or the form is none of the six.

    References
    ----------
    Shrout and Fleiss (1979), Psychol. Bull. 86:420-428, doi:10.1037/0033-2909.86.2.420; McGraw and Wong (1996),
    Psychol. Methods 1:30-46, doi:10.1037/1082-989X.1.1.30.

    Examples
    --------
    Six targets rated by four judges (Shrout and Fleiss 1979, table 2):

    >>> scores = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> [round(intraclass_correlation(scores, form=form).estimate, 2) for form in FORMS]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    one_of("form", form, FORMS)
    in_open_unit_interval("ci_level", ci_level)
    matrix = _checked(ratings)
    two_way = form[0] in "AC"
    number = (~np.isnan(matrix)).sum(axis=1)
    kept = number == matrix.shape[1] if two_way else number >= 2
    used, groups = matrix[kept], cluster_codes(clusters, len(matrix))[kept]
    label = f"ICC({form})"
    if len(used) < 2:
        rule = "ratings of all raters" if two_way else "two ratings or more"
        seen = f"{many(len(used), 'item')} {'has' if len(used) == 1 else 'have'} {rule}"
        lacking = Ends(reason=f"{label}: {seen}, and two are needed")
        return _result(math.nan, lacking, matrix, used, groups, label, cluster_unit, ci_level)
    used = used - np.nanmean(used)
    sums = _two_way_sums(used) if two_way else _one_way_sums(used)
    single = _SINGLE[form[0]] if two_way else _one_way
    value = float(single(sums.sum(axis=0)))
    if math.isnan(value):
        equal = Ends(reason=f"{label}: all ratings are equal, so that nothing varies")
        return _result(value, equal, matrix, used, groups, label, cluster_unit, ci_level)
    if np.unique(groups).size == len(used) and np.ptp(number[kept]) == 0:
        low, high = _by_f(form, sums.sum(axis=0), used.shape[1] if two_way else int(number[kept][0]), value, ci_level)
        ends = without_interval(PERFECT) if math.isnan(low) else Ends(low, high, "F distribution")
    else:
        ends = _linearised(single, sums, groups, value, ci_level)
    if form.endswith("k"):
        total = float(number[kept].sum())  # how many ratings the mean of an item has, as unequal numbers count
        k = (total - float((number[kept] ** 2).sum()) / total) / (number[kept].size - 1)
        stepped_up = (k * each / (1 + (k - 1) * each) for each in (value, ends.ci_low, ends.ci_high))  # Spearman, Brown
        value, low, high = stepped_up
        ends = ends._replace(ci_low=low, ci_high=high)
    return _result(value, ends, matrix, used, groups, label, cluster_unit, ci_level)


def interval_alpha(
    ratings: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> MeasuredAgreement:
    """Krippendorff's alpha of numbers with squared distances, in one pass over the items.

    The value is that of `axisjudge.stats.agreement.chance_corrected.krippendorff_alpha` at the interval level, which
    counts categories and suits few values. Parameters are those of `intraclass_correlation`.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's alpha-reliability, https://repository.upenn.edu/asc_papers/43.

    Examples
    --------
    >>> round(interval_alpha([[1, 1], [2, 3], [4, 4], [5, 3]]).estimate, 3)
    0.706
    """
    in_open_unit_interval("ci_level", ci_level)
    matrix = _checked(ratings)
    kept = (~np.isnan(matrix)).sum(axis=1) >= 2
    used, groups = matrix[kept], cluster_codes(clusters, len(matrix))[kept]
    label = "Krippendorff's alpha, interval"
    if not len(used):
        lacking = Ends(reason=f"{label}: no item has ratings of two raters")
        return _result(math.nan, lacking, matrix, used, groups, label, cluster_unit, ci_level)
    used = used - np.nanmean(used)
    sums = _one_way_sums(used)
    value = float(_alpha(sums.sum(axis=0)))
    if math.isnan(value):
        ends = Ends(reason=f"{label}: all ratings are equal, so that chance alone agrees always")
    else:
        ends = _linearised(_alpha, sums, groups, value, ci_level)
    return _result(value, ends, matrix, used, groups, label, cluster_unit, ci_level)


def _checked(ratings: ArrayLike) -> Floats:
    try:
        matrix = np.asarray(ratings, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("ratings", "must be numbers", np.asarray(ratings).dtype) from None
    if matrix.ndim != 2 or matrix.shape[1] < 2 or np.isinf(matrix).any():
        raise InputError("ratings", "must be items x raters, finite or NaN, with two raters or more", matrix.shape)
    return matrix


# what items add up to


def _one_way_sums(used: Floats) -> Floats:
    """Of each item: 1, its ratings m, m^2, their sum, sum of squares, squared sum / m, and alpha's 2 m SS / (m - 1)."""
    m = (~np.isnan(used)).sum(axis=1).astype(np.float64)
    total, squares = np.nansum(used, axis=1), np.nansum(used**2, axis=1)
    within = np.maximum(squares - total**2 / m, 0.0)
    return np.column_stack([np.ones(len(used)), m, m**2, total, squares, total**2 / m, 2 * m * within / (m - 1)])


def _two_way_sums(used: Floats) -> Floats:
    """Of each item: 1, its sum of squares, its squared sum, and the rating of every rater."""
    return np.column_stack([np.ones(len(used)), (used**2).sum(axis=1), used.sum(axis=1) ** 2, used])


# coefficients of one rating, on sums (last axis)


def _alpha(sums: Floats) -> Floats:
    m, total, squares, within = (sums[..., at] for at in (1, 3, 4, 6))
    expected = 2 * (m * squares - total**2) / np.maximum(m * (m - 1), 1.0)
    return 1 - _quotient(within / m, expected, squares / m)


def _one_way(sums: Floats) -> Floats:
    n, total_n, squared_n = (sums[..., at] for at in range(3))
    k = (total_n - squared_n / total_n) / (n - 1)
    msb, msw = _one_way_squares(sums)
    return _quotient(msb - msw, msb + (k - 1) * msw, sums[..., 4])


def _one_way_squares(sums: Floats) -> tuple[Floats, Floats]:
    """Mean squares between items and within them."""
    n, total_n, _, total, squares, between = (sums[..., at] for at in range(6))
    return (between - total**2 / total_n) / (n - 1), np.maximum(squares - between, 0.0) / (total_n - n)


def _mean_squares(sums: Floats) -> tuple[Floats, Floats, Floats, Floats, int]:
    """Mean squares of items, raters and the rest, with n and k."""
    n, squares, item, raters = sums[..., 0], sums[..., 1], sums[..., 2], sums[..., 3:]
    k = raters.shape[-1]
    mean = raters.sum(axis=-1) ** 2 / (n * k)
    rows, columns = item / k - mean, (raters**2).sum(axis=-1) / n - mean
    rest = np.maximum(squares - mean - rows - columns, 0.0)
    return rows / (n - 1), columns / (k - 1), rest / ((n - 1) * (k - 1)), n, k


def _absolute(sums: Floats) -> Floats:
    msr, msc, mse, n, k = _mean_squares(sums)
    return _quotient(msr - mse, msr + (k - 1) * mse + k * (msc - mse) / n, sums[..., 1])


def _consistency(sums: Floats) -> Floats:
    msr, _, mse, _, k = _mean_squares(sums)
    return _quotient(msr - mse, msr + (k - 1) * mse, sums[..., 1])


_SINGLE: dict[str, Callable[[Floats], Floats]] = {"A": _absolute, "C": _consistency}


def _quotient(part: Floats, whole: Floats, size: Floats) -> Floats:
    possible = np.abs(whole) > _ROUNDING * np.maximum(size, 1e-300)
    return np.where(possible, part / np.where(possible, whole, 1.0), np.nan)


# intervals


def _by_f(form: str, sums: Floats, k: int, value: float, ci_level: float) -> tuple[float, float]:
    """McGraw and Wong's table 7, for one rating."""
    from scipy.special import fdtri

    tail = (1 + ci_level) / 2
    n = float(sums[0])
    if form[0] == "A":
        return _by_f_absolute(sums, value, tail)
    if form[0] == "C":
        msr, _, mse, _, _ = _mean_squares(sums)
        degrees = (n - 1) * (k - 1)
    else:
        msr, mse = _one_way_squares(sums)
        degrees = n * (k - 1)
    if not mse > _ROUNDING * float(msr):
        return math.nan, math.nan
    ratio = float(msr / mse)
    ends = ratio / float(fdtri(n - 1, degrees, tail)), ratio * float(fdtri(degrees, n - 1, tail))
    low, high = ((end - 1) / (end + k - 1) for end in ends)
    return low, high


def _by_f_absolute(sums: Floats, value: float, tail: float) -> tuple[float, float]:
    from scipy.special import fdtri

    msr, msc, mse, n, k = (float(each) for each in _mean_squares(sums))
    if value > 1 - _ROUNDING:
        return math.nan, math.nan
    a = k * value / (n * (1 - value))
    b = 1 + a * (n - 1)
    spread = (a * msc) ** 2 / (k - 1) + (b * mse) ** 2 / ((n - 1) * (k - 1))
    degrees = (a * msc + b * mse) ** 2 / spread
    below, above = float(fdtri(n - 1, degrees, tail)), float(fdtri(degrees, n - 1, tail))
    rest = k * msc + (k * n - k - n) * mse
    return n * (msr - below * mse) / (below * rest + n * msr), n * (above * msr - mse) / (rest + n * above * msr)


def _linearised(
    coefficient: Callable[[Floats], Floats],
    sums: Floats,
    groups: NDArray[np.intp],
    value: float,
    ci_level: float,
) -> Ends:
    codes = np.unique(groups, return_inverse=True)[1]
    if (n_clusters := int(codes.max()) + 1) < FEWEST:
        return too_few_clusters(n_clusters, FEWEST)
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = on_scale("fisher", coefficient(sums.sum(axis=0) - sums))
        moved = (left_out.mean() - left_out) * (len(sums) - 1) / len(sums)
    if not np.isfinite(moved).all():
        return without_interval(PERFECT)
    return linearised(value, moved, codes, ci_level=ci_level)


def _result(
    value: float,
    ends: Ends,
    matrix: Floats,
    used: Floats,
    groups: NDArray[np.intp],
    label: str,
    cluster_unit: str,
    ci_level: float,
) -> MeasuredAgreement:
    n_clusters = int(np.unique(groups).size)
    return MeasuredAgreement(
        estimate=value,
        **ends._asdict(),
        ci_level=ci_level,
        n_items=len(used),
        n_raters=matrix.shape[1],
        n_missing=int(np.isnan(matrix).sum()),
        n_clusters=n_clusters,
        cluster_unit=cluster_unit if n_clusters < len(used) else "item",
        label=label,
    )
