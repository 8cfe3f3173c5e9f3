"""Confidence sequences by betting: intervals that hold at every look at once, with tasks as units.

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
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.stats.estimate import Estimate

Floats = NDArray[np.float64]

#: Steps of candidate rates between 0 and 1.
GRID = 1000
#: Share of the capital that a player risks on one task at most.
MOST_RISKED = 0.5


@dataclass(frozen=True, kw_only=True, repr=False)
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
    return _sequence(tasks, largest, unit, ci_level, low=0.0, high=1.0)


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
    return _sequence(tasks, largest, unit, ci_level, low=-1.0, high=1.0)


def halfway(before: ArrayLike, after: ArrayLike) -> Floats:
    """Differences after - before in [-1, 1] as values in [0, 1], (d + 1) / 2; 1/2 is no change."""
    old, new = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if old.shape != new.shape:
        raise InputError("after", f"needs one value for each of the {old.size} items before", new.shape)
    return (new - old + 1) / 2


def by_task(values: ArrayLike, clusters: ArrayLike | None) -> Tasks:
    """Hits and items of each task in the order of first items; NaN values do not count."""
    given = np.asarray(values, dtype=np.float64)
    kept = ~np.isnan(given)
    if given.ndim != 1 or ((given[kept] < 0) | (given[kept] > 1)).any():
        raise InputError("values", "must be one row within [0, 1], or NaN", values)
    group = np.arange(given.size) if clusters is None else np.asarray(clusters)
    if group.shape != given.shape:
        raise InputError("clusters", f"needs one entry for each of the {given.size} items", group.shape)
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


def _sequence(
    tasks: Tasks, largest: int | None, unit: str, ci_level: float, *, low: float, high: float
) -> ConfidenceSequence:
    """The sequence of values that were brought from [low, high] to [0, 1], and back."""
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
    lows, highs = (low + (high - low) * end for end in ends)
    estimate = low + (high - low) * float(x.sum() / w.sum())
    if lows[-1] > highs[-1]:
        reason = f"no rate fits all {unit}s in this order: it changed on the way, or the order was not random"
        return result(estimate=estimate, lows=lows, highs=highs, reason=reason)
    last = partial(result, ci_low=float(lows[-1]), ci_high=float(highs[-1]), method="betting, holds at every look")
    return last(estimate=estimate, lows=lows, highs=highs)
