"""Confidence sequences and e-values by betting: intervals and evidence that hold at every look at once, with tasks
as units.

Task c has y_c hits among m_c items, no task more than M. For a candidate rate p two players bet on x_c - p w_c with
x_c = y_c / M and w_c = m_c / M, which is 0 on average where p is the rate sum y / sum m in the long run:

    capital up      K+_t(p) = prod_c (1 + min(l_c, 1/2 / p)       (x_c - p w_c))
    capital down    K-_t(p) = prod_c (1 - min(l_c, 1/2 / (1 - p)) (x_c - p w_c))
    bet             l_t = sqrt(2 log(2 / alpha) / (s^2_{t-1} t log(1 + t)))
    spread          s^2_t = (1/4 + sum e_c^2) / (t + 1),   e_c = x_c - r_c w_c,   r_t = (1/2 + sum x) / (1 + sum w)

Nobody gets rich by betting on a fair game: under the true p the mean of both capitals ever reaches 1 / alpha with
probability at most alpha (Ville). The rates at which neither half of the money has done so are the interval, after
every task; what was outside once stays outside. With tasks of one size this is the hedged capital sequence of
Waudby-Smith and Ramdas; a difference of two versions d in [-1, 1] is bet on as (d + 1) / 2.

K+ falls and K- rises in p, so that each end is where one of them crosses. Ends stand on a grid of `GRID` steps, rounded
outwards.

References
----------
Waudby-Smith and Ramdas (2024), JRSS B 86:1-27, doi:10.1093/jrsssb/qkad009 (theorem 3, equations 24 to 26). Ville
(1939), Etude critique de la notion de collectif. Ramdas, Gruenwald, Vovk and Shafer (2023), doi:10.1214/23-STS894.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, in_unit_interval, one_each
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate, plural
from axisjudge.stats.proportions import wilson_interval

Floats = NDArray[np.float64]

#: Steps of candidate rates between 0 and 1.
GRID = 1000
#: Share of the capital that a player risks on one task at most.
MOST_RISKED = 0.5


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ConfidenceSequence(Estimate):
    """An estimate with an interval that holds at every look: `lows` and `highs` after each task, in the tasks' order.

    `ci_low` and `ci_high` are the last of them. Intervals only shrink, each within the one before.
    """

    lows: Floats
    highs: Floats

    def tasks_until(self, half_width: float) -> int | None:
        """After how many tasks the interval was first within +- `half_width`; None where it never was."""
        narrow = np.flatnonzero(self.highs - self.lows <= 2 * half_width + 1e-12)
        return int(narrow[0]) + 1 if narrow.size else None


class Tasks(NamedTuple):
    """Hits and items of each task, in the order in which the tasks came."""

    hits: Floats
    items: Floats
    n_missing: int


def betting_sequence(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    largest: int | None = None,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> ConfidenceSequence:
    """The rate of ones among `values` with an interval that holds at every look, tasks as units.

    Parameters
    ----------
    values : array in [0, 1] or NaN, shape (n_items,)
        In the order in which they came; NaN values do not count.
    clusters : array, shape (n_items,), optional
        The task of each item; tasks stand in the order of their first item, and one looks between tasks, not within.
        Without it every item is a task of its own.
    largest : int, optional
        The most items that a task can have, as known before the first look; by default of the tasks that are there.
    cluster_unit, ci_level
        What a cluster is, and the level of the whole sequence.

    Returns
    -------
    ConfidenceSequence

    Raises
    ------
    InputError
        Values outside [0, 1], clusters of another length, or a task of more than `largest` items.

    Examples
    --------
    >>> betting_sequence([0, 1] * 50)
    ConfidenceSequence(0.500 [0.337 to 0.651], 100 items in 100 items)
    """
    in_open_unit_interval("ci_level", ci_level)
    tasks = by_task(values, clusters)
    unit = "item" if clusters is None else cluster_unit
    return _sequence(tasks, largest, unit, ci_level, low=0.0)


def change_sequence(
    before: ArrayLike,
    after: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    largest: int | None = None,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> ConfidenceSequence:
    """Rate after minus rate before on the same items, with an interval that holds at every look.

    Parameters
    ----------
    before, after : array in [0, 1] or NaN, shape (n_items,)
        Items that lack one of them do not count.
    clusters, largest, cluster_unit, ci_level
        As in `betting_sequence`.

    Raises
    ------
    InputError
        As in `betting_sequence`; or arrays of two lengths.
    """
    in_open_unit_interval("ci_level", ci_level)
    tasks = by_task(halfway(before, after), clusters)
    unit = "item" if clusters is None else cluster_unit
    return _sequence(tasks, largest, unit, ci_level, low=-1.0)


def halfway(before: ArrayLike, after: ArrayLike) -> Floats:
    """Differences after - before in [-1, 1] as values in [0, 1], (d + 1) / 2; 1/2 is no change."""
    old, new = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    one_each("after", new, old.size, of="items before")
    return (new - old + 1) / 2


def by_task(values: ArrayLike, clusters: ArrayLike | None) -> Tasks:
    """Hits and items of each task in the order of first items; NaN values do not count."""
    given = np.asarray(values, dtype=np.float64)
    kept = ~np.isnan(given)
    if given.ndim != 1 or ((given[kept] < 0) | (given[kept] > 1)).any():
        raise InputError("values", "must be one row within [0, 1], or NaN", values)
    group = np.arange(given.size) if clusters is None else np.asarray(clusters)
    one_each("clusters", group, given.size)
    number: dict[object, int] = {}
    codes = np.array([number.setdefault(each, len(number)) for each in group[kept].tolist()], dtype=np.intp)
    hits = np.bincount(codes, weights=given[kept], minlength=len(number)).astype(np.float64)
    return Tasks(hits, np.bincount(codes, minlength=len(number)).astype(np.float64), int((~kept).sum()))


def relative(tasks: Tasks, largest: int | None) -> tuple[Floats, Floats]:
    """Hits x and items w of each task as shares of the largest task.

    Raises
    ------
    InputError
        A task has more items than `largest`.
    """
    most = tasks.items.max(initial=1.0) if largest is None else float(largest)
    if (tasks.items > most).any():
        raise InputError("largest", "is the most items that any task can have", largest, f"say {tasks.items.max():g}")
    return tasks.hits / most, tasks.items / most


def capital(x: Floats, w: Floats, rates: ArrayLike, alpha: float) -> tuple[Floats, Floats]:
    """Log capital of both players after each task at each candidate rate, each of shape (n_tasks, n_rates).

    Parameters
    ----------
    x, w : array, shape (n_tasks,)
        Hits and items as shares of the largest task.
    rates : array, shape (n_rates,)
        Candidate rates p in [0, 1].
    alpha : float
        The level for which bets are sized.
    """
    bet, p = bets(x, w, alpha)[:, None], np.asarray(rates, dtype=np.float64)
    gain = x[:, None] - p * w[:, None]
    with np.errstate(divide="ignore"):
        up = np.log1p(np.minimum(bet, MOST_RISKED / p) * gain)
        down = np.log1p(-np.minimum(bet, MOST_RISKED / (1 - p)) * gain)
    return np.cumsum(up, axis=0), np.cumsum(down, axis=0)


def bets(x: Floats, w: Floats, alpha: float) -> Floats:
    """The bet on each task, from the tasks before it alone; shape (n_tasks,)."""
    t = np.arange(1, x.size + 1)
    rate = (0.5 + np.cumsum(x)) / (1 + np.cumsum(w))
    spread = (0.25 + np.cumsum((x - rate * w) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], spread[:-1]])[: x.size]
    return np.sqrt(2 * math.log(2 / alpha) / (before * t * np.log1p(t)))


def _sequence(tasks: Tasks, largest: int | None, unit: str, ci_level: float, *, low: float) -> ConfidenceSequence:
    """The sequence of values that were brought from [low, 1] to [0, 1], and back."""
    n = int(tasks.items.sum())
    result = partial(ConfidenceSequence, ci_level=ci_level, cluster_unit=unit, n_clusters=tasks.items.size)
    result = partial(result, n_items=n, n_missing=tasks.n_missing)
    if not n:
        nothing, reason = np.empty(0), "no item counts: a rate needs at least one"
        return result(estimate=math.nan, lows=nothing, highs=nothing, reason=reason)
    x, w = relative(tasks, largest)
    rates, threshold = np.linspace(0, 1, GRID + 1), math.log(2 / (1 - ci_level))
    up, down = capital(x, w, rates, 1 - ci_level)
    below = np.logical_or.accumulate(up >= threshold, axis=0).sum(axis=1)  # K+ falls in p: the first so many are out
    above = np.logical_or.accumulate(down >= threshold, axis=0).sum(axis=1)
    ends = np.maximum(below - 1, 0) / GRID, 1 - np.maximum(above - 1, 0) / GRID
    lows, highs = (low + (1 - low) * end for end in ends)
    estimate = low + (1 - low) * float(x.sum() / w.sum())
    if lows[-1] > highs[-1]:
        reason = f"no rate fits all {plural(unit)} in this order: it changed on the way, or the order was not random"
        return result(estimate=estimate, lows=lows, highs=highs, reason=reason)
    last = partial(result, ci_low=float(lows[-1]), ci_high=float(highs[-1]), method="betting, holds at every look")
    return last(estimate=estimate, lows=lows, highs=highs)


# What looking after every item costs, against a number of items fixed in advance.

#: Longest sequence that is tried; narrower intervals are not worth a person's labels.
MOST_ITEMS = 8192
_BITS = MOST_ITEMS.bit_length() - 1


class Price(NamedTuple):
    """Items until an interval is within +- `half_width`: fixed in advance, and looked at after every item."""

    rate: float
    half_width: float
    fixed: int
    looking: int

    @property
    def times(self) -> float:
        """How many times the items."""
        return self.looking / self.fixed


def price_of_looking(rate: float, half_width: float, *, ci_level: float = 0.95) -> Price:
    """Items that a betting sequence needs to come within +- `half_width`, and those that Wilson's interval needs.

    Both are counted on items that fail as evenly as the rate allows (van der Corput's order), one to a task.

    Raises
    ------
    InputError
        A rate or half width outside (0, 1), or a half width that would take more than 8,192 items.

    Examples
    --------
    >>> price_of_looking(0.2, 0.1)
    Price(rate=0.2, half_width=0.1, fixed=60, looking=149)
    """
    in_open_unit_interval("rate", rate)
    in_open_unit_interval("half_width", half_width)
    hits = (_van_der_corput() < rate).astype(np.float64)
    counts = range(1, MOST_ITEMS + 1)
    fixed = 1 + bisect_left(counts, -half_width, key=lambda n: -_half_width(rate, n, ci_level))
    n = 3 * fixed + 32
    while fixed <= MOST_ITEMS // 4:
        looking = betting_sequence(hits[:n], ci_level=ci_level).tasks_until(half_width)
        if looking is not None:
            return Price(rate, half_width, fixed, looking)
        if n >= MOST_ITEMS:
            break
        n *= 2
    raise InputError("half_width", f"would take more than {MOST_ITEMS:,} items", half_width, "ask for less")


def _half_width(rate: float, n: int, ci_level: float) -> float:
    low, high = wilson_interval(rate * n, n, ci_level=ci_level)
    return (high - low) / 2


def _van_der_corput() -> np.ndarray:
    """Numbers 0, 1/2, 1/4, 3/4, 1/8 ...: every stretch of them is spread evenly over [0, 1)."""
    number = np.arange(1 << _BITS)
    return sum((((number >> bit) & 1) / 2.0 ** (bit + 1) for bit in range(_BITS)), np.zeros(number.size))


# Evidence that may be looked at as often as one likes: e-values against no change, and against no drift.
#
# An e-value is the capital of somebody who bets against the hypothesis, from 1: under it the capital ever reaches
# 1 / alpha with probability at most alpha, so that max(e) >= 20 is a finding at .05 whenever one stops.
#
# References
# ----------
# Vovk and Wang (2021), Annals of Statistics 49:1736-1754, doi:10.1214/20-AOS2020. Waudby-Smith and Ramdas (2024),
# doi:10.1093/jrsssb/qkad009. Shin, Ramdas and Rinaldo (2024), doi:10.51387/23-NEJSDS51 (sums over starting points).

#: Occasions without a change that measure how far whole occasions differ: fewer leave two degrees of freedom or none.
FEWEST_NULL = 4
#: Shifts that bets on drift are made for, in standard deviations of an occasion.
EXPECTED_SHIFTS = (2.0, 8.0)


@dataclass(frozen=True, eq=False)
class SequenceEvidence(Result):
    """E-values after each unit, and the first unit after which they say stop at `level` (None: never).

    `p_value` holds at every look: 1 / the largest e-value so far.
    """

    e_values: Floats
    level: float
    unit: str

    @property
    def largest(self) -> float:
        """The largest e-value so far; 1 before the first unit."""
        return float(self.e_values.max(initial=1.0))

    @property
    def p_value(self) -> float:
        """Probability, at most, of ever seeing so much evidence where there is nothing."""
        return 1 / self.largest

    @property
    def stopped_at(self) -> int | None:
        """After how many units the evidence sufficed."""
        enough = np.flatnonzero(self.e_values >= (1 - 1e-12) / self.level)
        return int(enough[0]) + 1 if enough.size else None


def evidence_of_rate(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    rate: float,
    largest: int | None = None,
    cluster_unit: str = "task",
    level: float = 0.05,
) -> SequenceEvidence:
    """Evidence against the hypothesis that the rate of ones is `rate`, after each task.

    Half of the money bets on more and half on less: e = (K+ + K-) / 2.

    Parameters
    ----------
    values, clusters, largest, cluster_unit
        As in `betting_sequence`.
    rate : float
        The hypothesis, in [0, 1].
    level : float
        For which bets are sized.

    Examples
    --------
    >>> evidence_of_rate([1] * 20, rate=0.5).stopped_at
    10
    """
    in_unit_interval("rate", rate)
    in_open_unit_interval("level", level)
    x, w = relative(by_task(values, clusters), largest)
    up, down = capital(x, w, [rate], level)
    e_values = (np.exp(up[:, 0]) + np.exp(down[:, 0])) / 2
    return SequenceEvidence(e_values, level, "item" if clusters is None else cluster_unit)


def evidence_of_change(
    before: ArrayLike,
    after: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    largest: int | None = None,
    cluster_unit: str = "task",
    level: float = 0.05,
) -> SequenceEvidence:
    """Evidence against the hypothesis that two versions have one rate, after each task.

    Parameters
    ----------
    before, after : array in [0, 1] or NaN, shape (n_items,)
        Items that lack one of them do not count.
    clusters, largest, cluster_unit, level
        As in `evidence_of_rate`.
    """
    halves = halfway(before, after)
    return evidence_of_rate(halves, clusters, rate=0.5, largest=largest, cluster_unit=cluster_unit, level=level)


def evidence_of_drift(rates: ArrayLike, *, resolution: float = 0.0, level: float = 0.05) -> SequenceEvidence:
    r"""Evidence that a judge's rate has left where it was, by more than occasions differ anyhow.

    The hypothesis: rates of occasions are independent and normal about one mean, with any standard deviation s. The bet
    for a change after occasion j expects a shift of d s for all that follow, d ~ N(0, T^2). With the mean and s given
    their right Haar prior under both, the ratio of the two after t occasions depends on neither:

    .. math:: B_{jt} = (1 + T^2 q)^{-1/2} \left(1 - \frac{T^2 c^2}{(1 + T^2 q) R}\right)^{-(t - 1)/2}

    with R the sum of squares about the mean, c the sum of the occasions after j about that mean, and q = j (t - j) / t.
    The money is spread evenly over T in `EXPECTED_SHIFTS` and over the beginnings j = 4, 5, ... as
    1 / ((j - 3) (j - 2)), since the first four occasions are taken as unchanged: they measure the noise. What is not
    bet yet stays as it is.

    Parameters
    ----------
    rates : array in [0, 1], shape (n_occasions,)
        The rate on one anchor set on each occasion, the first one first. Occasions are the units, since a whole
        occasion can be off: its tasks and its repeats do not count as so many looks.
    resolution : float
        The least standard deviation that is believed (one verdict among the items): rates that were equal by chance
        make no later change sure. It can only lower the evidence.
    level : float
        Probability of ever calling drift where there is none.

    Returns
    -------
    SequenceEvidence
        One e-value for each occasion after the first; 1 up to the fourth.

    Notes
    -----
    Simulated with 10 and 20 occasions of a judge that never changes (300 series a cell): called in .00 to .03 of series
    where deviations are normal, in .00 to .04 with t of 3 degrees of freedom. It fails over 20 occasions with a
    probit SD of .3 that are skewed (exponential, .10) or follow each other (autocorrelation .5, .17). These designs
    took part in choosing it; none was held back.

    References
    ----------
    Perez-Ortiz, Lardy, de Heide and Grunwald (2024), Annals of Statistics 52(4):1410-1432, doi:10.1214/24-AOS2394 (the
    ratio under the right Haar prior is an e-process). Shin, Ramdas and Rinaldo (2024), doi:10.51387/23-NEJSDS51.

    Examples
    --------
    The first occasion after the change (the fifth):

    >>> evidence_of_drift([0.20, 0.22, 0.19, 0.21, 0.40, 0.41, 0.40, 0.41]).stopped_at
    4
    """
    in_open_unit_interval("level", level)
    rate = np.asarray(rates, dtype=np.float64)
    if rate.ndim != 1 or rate.size < 2 or not ((rate >= 0) & (rate <= 1)).all():
        raise InputError("rates", "must be one row of two occasions or more within [0, 1]", rates)
    return SequenceEvidence(
        np.array([_drifted(rate[:t], resolution) for t in range(2, rate.size + 1)]), level, "occasion"
    )


def _drifted(rate: Floats, resolution: float) -> float:
    """The capital after these occasions."""
    t = rate.size
    if t <= FEWEST_NULL:
        return 1.0
    about = rate - rate.mean()
    squares = float(about @ about) + (t - 1) * resolution**2
    if not squares:
        return 1.0
    j = np.arange(FEWEST_NULL, t)
    q, c = j * (t - j) / t, about.sum() - np.cumsum(about)[j - 1]
    money = 1 / ((j - FEWEST_NULL + 1) * (j - FEWEST_NULL + 2))
    spread = 1 + np.array(EXPECTED_SHIFTS)[:, None] ** 2 * q
    left = np.maximum(1 - (spread - 1) / q * c**2 / (spread * squares), 1e-12)
    with np.errstate(over="ignore"):
        ratio = left ** (-(t - 1) / 2) / np.sqrt(spread)
    return float((ratio.mean(axis=0) * money).sum() + 1 / (t - FEWEST_NULL + 1))


def occasion_means(occasions: Sequence[ArrayLike]) -> Floats:
    """The mean of every occasion over the same items and the same number of runs; NaN for one without verdicts.

    An occasion of fewer runs has more noise, so that only the first runs of the others are taken; an item that lacks
    a verdict in one of them is left out of all.
    """
    judged = [np.asarray(each, dtype=np.float64).reshape(len(np.asarray(each)), -1) for each in occasions]
    given = [each[:, ~np.isnan(each).all(axis=0)] for each in judged]
    there = [each for each in given if each.shape[1]]
    if not there:
        return np.full(len(judged), float("nan"))
    fewest = min(each.shape[1] for each in there)
    complete = ~np.isnan(np.hstack([each[:, :fewest] for each in there])).any(axis=1)
    if not complete.any():
        return np.full(len(judged), float("nan"))
    return np.array([each[complete, :fewest].mean() if each.shape[1] else float("nan") for each in given])


def evidence_of_runs(occasions: Sequence[ArrayLike], *, level: float = 0.05) -> SequenceEvidence | None:
    """Evidence of drift from verdicts of repeated runs; None before a fifth occasion (noise of occasions not measured).

    Parameters
    ----------
    occasions : sequence of array of 1, 0 or NaN, each of shape (n_items, n_runs)
        Verdicts on the same items, the first occasion first (`occasion_means` says which of them count).
    """
    means = occasion_means(occasions)
    rates = means[~np.isnan(means)]
    if len(rates) <= FEWEST_NULL:
        return None
    return evidence_of_drift(rates, resolution=1 / len(np.asarray(occasions[0])), level=level)
