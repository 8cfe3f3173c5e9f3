"""Whether an edit of a rubric is shown to be better: bets on tasks that it was not made from.

Task t has y_t points (the sum over its items of score after minus score before, each score in [0, 1]) and no task more
than M items, so that d_t = y_t / M lies in [-1, 1]. Who bets a share b of the capital on every task has

    E_b = prod_t (1 + b d_t),        E = sum of share_b E_b over b in `BETS`

Where the edit is no better, no bet gains on average, whatever the distribution within these bounds, and E passes
1 / level with probability at most `level`, however often somebody looks (Ville). Nothing is assumed but the bounds and
that tasks are drawn alike; a test by sign flips would need fewer tasks, and takes changes as symmetric, which they are
not where an edit gains a little on many tasks and loses much on few. Most of the money is bet at nearly all, since few
tasks show only what is large. Bounds of the gain g are those at which the bets on d_t - g n_t / M, scaled to what a
task can lose, do not pass, so that the lower one lies above 0 just where the edit is shown to be better than its
parent.

An edit has to be shown better than its parent and than each control: the least of the e-values counts, which needs no
correction, as all must pass (an intersection-union test). Of the candidates of a search one alone is taken to these
tasks, chosen on others, so that the family costs nothing here.

References
----------
Waudby-Smith and Ramdas (2024), JRSS B 86:1-27, doi:10.1093/jrsssb/qkad009. Ramdas, Gruenwald, Vovk and Shafer (2023),
doi:10.1214/23-STS894. Berger (1982), Technometrics 24:295-300, doi:10.2307/1267823 (intersection-union tests).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.sequences.betting import Tasks, by_task, halfway, relative

Floats = NDArray[np.float64]

#: Shares of the capital that are bet on a task, and how the money is parted among those who bet so.
BETS, PARTED = np.array([0.3, 0.9]), np.array([0.25, 0.75])
#: Halvings of [-1, 1] that a bound is sought by, the first of them at 0, where the decision is.
HALVINGS = 40
#: The gain that a refusal says how many labels would show.
SHOWN_GAIN = 0.05
#: What is compared with beside the parent.
PARENT = "parent"


@dataclass(frozen=True, eq=False)
class ShownBetter(Result):
    """Whether a candidate is shown to be better, and by how much.

    `gain` is its mean score minus its parent's; each of its two bounds holds at every look with probability 1 - level,
    both with 1 - 2 level at least. `e_values` has the largest e-value so far against the parent and each control,
    `stopped_at` the task after which all of them had passed. `more_items` is about how many further labelled items
    would show a gain of `SHOWN_GAIN`, had it one; None where it is shown, or where verdicts turn so often that none
    would.
    """

    gain: Estimate
    e_values: dict[str, float]
    level: float
    stopped_at: int | None
    more_items: int | None

    @property
    def is_better(self) -> bool:
        return self.stopped_at is not None


def shown_better(
    candidate: ArrayLike,
    compared: Mapping[str, ArrayLike],
    clusters: ArrayLike,
    *,
    largest: int | None = None,
    level: float = 0.05,
) -> ShownBetter:
    """Whether a candidate scores higher than everything that it is compared with, tasks as units.

    Parameters
    ----------
    candidate : array in [0, 1] or NaN, shape (n_items,)
        Its score of each item.
    compared : mapping of name to array, shape (n_items,)
        Scores of the parent, under ``parent``, and of controls on the same items.
    clusters : array, shape (n_items,)
        The task of each item; tasks stand in the order of their first item.
    largest : int, optional
        The most items that a task can have, as known before the first look; by default of the tasks that are there.
    level : float

    Raises
    ------
    InputError
        No parent among them, scores outside [0, 1], or arrays of two lengths.

    Examples
    --------
    >>> shown_better([1] * 12, {"parent": [0] * 12}, range(12)).is_better
    True
    >>> shown_better([1, 0] * 20, {"parent": [0, 1] * 20}, range(40)).is_better
    False
    """
    in_open_unit_interval("level", level)
    if PARENT not in compared:
        raise InputError("compared", "must have the parent's scores", list(compared), f"name them {PARENT!r}")
    points = {name: _points(scores, candidate, clusters, largest) for name, scores in compared.items()}
    paths = {name: np.maximum.accumulate(_capital(d, w)) for name, (d, w) in points.items()}
    passed = [np.flatnonzero(path >= _enough(level)) for path in paths.values()]
    stopped = max(int(each[0]) + 1 for each in passed) if all(each.size for each in passed) else None
    tasks = by_task(halfway(compared[PARENT], candidate), clusters)
    gain = _gain(*points[PARENT], tasks, level)
    more = None if stopped else _more_items(*points[PARENT], gain.n_items, level)
    return ShownBetter(gain, {name: float(path.max(initial=1.0)) for name, path in paths.items()}, level, stopped, more)


def _points(before: ArrayLike, after: ArrayLike, clusters: ArrayLike, largest: int | None) -> tuple[Floats, Floats]:
    """Points d of each task and its items w, both as shares of the largest task."""
    x, w = relative(by_task(halfway(before, after), clusters), largest)
    return 2 * x - w, w


def _capital(points: Floats, items: Floats, gain: float = 0.0) -> Floats:
    """The capital after each task of who bets that the gain is above `gain`."""
    net = (points - gain * items) / (1 + gain)
    grown = np.cumsum(np.log1p(BETS[:, None] * net), axis=1)
    return np.asarray(PARTED @ np.exp(np.minimum(grown, 700)))  # what is beyond has no double


def _gain(points: Floats, items: Floats, tasks: Tasks, level: float) -> Estimate:
    """The gain per item, between the largest that is exceeded and the least that is not reached."""
    n_items = int(tasks.items.sum())
    estimate, reason = (float(points.sum() / items.sum()), "") if n_items else (math.nan, "no item was scored twice")
    low, high = (_bound(sign * points, items, level) for sign in (1, -1)) if n_items else (math.nan, math.nan)
    return Estimate(
        estimate=estimate,
        ci_low=low,
        ci_high=-high,
        ci_level=1 - 2 * level,
        n_items=n_items,
        n_missing=tasks.n_missing,
        n_clusters=int(tasks.items.size),
        cluster_unit="task",
        method="betting, each bound holds at every look",
        reason=reason,
    )


def _enough(level: float) -> float:
    """The capital that shows it, but for rounding."""
    return (1 - 1e-12) / level


def _bound(points: Floats, items: Floats, level: float) -> float:
    """The largest gain that is shown to be exceeded, above 0 just where 0 is; -1 where none is.

    The capital falls as the gain that is bet against rises, since no task can lose more than its items.
    """
    low, high = -1.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        shown = _capital(points, items, middle).max(initial=1.0) >= _enough(level)
        low, high = (middle, high) if shown else (low, middle)
    return (low + high) / 2 if low > -1 else -1.0


def _more_items(points: Floats, items: Floats, n_items: int, level: float) -> int | None:
    """Further items of such tasks, about, after which a gain of `SHOWN_GAIN` is as likely shown as not.

    The capital of the better bet grows by E log(1 + b d) a task; d is spread as the tasks so far are, moved to the
    wanted gain. Tasks that never differed are given the spread of one change either way in all their items.
    """
    if not n_items:
        return None
    per_task, wanted = n_items / points.size, SHOWN_GAIN * items
    spread = points - items * points.sum() / items.sum()
    if not spread.any():
        spread, wanted = np.array([-1.0, *np.zeros(n_items), 1.0]) / per_task, wanted.mean()
    growth = np.log1p(BETS[:, None] * np.clip(spread + wanted, -1, 1)).mean(axis=1)
    needed = [(math.log(1 / level) - math.log(part)) / g for g, part in zip(growth, PARTED, strict=True) if g > 0]
    return max(0, math.ceil((min(needed) - points.size) * per_task)) if needed else None
