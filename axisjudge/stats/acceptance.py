"""Whether an edit of a rubric is shown to be better, on tasks that it was not made from.

Task t has n_t items and y_t points (the sum over its items of score after minus score before, each score in [0, 1]).
The gain is g = sum y / sum n. Before the last look it is bet on, so that what is large ends the asking early: with M
the most items of any task and d_t = y_t / M in [-1, 1], who bets a share b of the capital on every task has

    E_b = prod_t (1 + b d_t),        E = sum of share_b E_b over b in `BETS`

Where the edit is no better, no bet gains on average, whatever the distribution within these bounds, and E passes 1 / a
with probability at most a, however often somebody looks (Ville). `ON_LOOKS` of the error allowed is spent so. Bets know
only the bounds: where tasks are few, or of unlike sizes, they cannot see what is moderate. So the rest of the error is
spent once, at the last look, by the interval of a mean over tasks (`clustered_mean`: linearised, t, leaning to where
the tasks lean) after one item that gained and one that lost everything were added, each a task of its own. That is the
adjustment of Bonett and Price (2012) for a difference of paired shares; where no verdict turned, and a standard error
would be 0, it leaves doubt. Each end is the one of the two that says more. With fewer tasks than such an interval needs
the bets have the whole error.

The level of the last look is not exact: where an edit gains a little on most tasks and loses all of very few, these may
not be among the tasks. How often that leads to a wrong acceptance is counted in ``data/reference/improvement.csv``.

An edit has to be shown better than its parent and than each control, each at the whole level, which needs no
correction, as all must pass (an intersection-union test). Of the candidates of a search one alone is taken to these
tasks, chosen on others; those of repeated searches share the level (`level_of`).

References
----------
Waudby-Smith and Ramdas (2024), JRSS B 86:1-27, doi:10.1093/jrsssb/qkad009. Bonett and Price (2012), Journal of
Educational and Behavioral Statistics 37:479-488, doi:10.3102/1076998611411915. Berger (1982), Technometrics 24:295-300,
doi:10.2307/1267823 (intersection-union tests).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.results import Result
from axisjudge.stats.betting import Tasks, by_task, halfway, relative
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import FEWEST_CLUSTERS, cluster_codes, clustered_mean

Floats = NDArray[np.float64]

#: Shares of the capital that are bet on a task, and how the money is parted among those who bet so.
BETS, PARTED = np.array([0.3, 0.9]), np.array([0.25, 0.75])
#: Share of the error that looks before the last one may spend.
ON_LOOKS = 0.4
#: Halvings of [-1, 1] that a bound is sought by, the first of them at 0, where the decision is.
HALVINGS = 40
#: The gain that a refusal says how many labels would show.
SHOWN_GAIN = 0.05
#: What is compared with beside the parent.
PARENT = "parent"


@dataclass(frozen=True)
class ShownBetter(Result):
    """Whether a candidate is shown to be better, and by how much.

    `gain` is its mean score minus its parent's, with an interval that misses the true gain with probability `level`,
    half of it on either side; the lower end lies above 0 just where the candidate is shown better than its parent.
    `e_values` has the largest e-value so far against the parent and each control, `stopped_at` the task after which it
    was shown better than all of them. `more_items` is about how many further labelled items would show a gain of
    `SHOWN_GAIN`, had it one; None where it is shown.
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
    is_last: bool = True,
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
        Of both ends of the gain's interval: a candidate that is no better is shown better in half of it at most.
    is_last : bool
        Whether no further task is to come. Before, bets alone decide.

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
    tasks = by_task(halfway(compared[PARENT], candidate), clusters)
    n_tasks = tasks.items.size
    is_few = n_tasks + 2 < FEWEST_CLUSTERS
    error = level / 2 if is_last and is_few else ON_LOOKS * level / 2
    after = {name: np.flatnonzero(path >= _enough(error)) for name, path in paths.items()}
    shown_at = {name: int(each[0]) + 1 for name, each in after.items() if each.size}
    gain = _gain(*points[PARENT], tasks, error)
    if is_last and not is_few:
        last = {name: _last(before, candidate, clusters, level) for name, before in compared.items()}
        shown_at = {**{name: n_tasks for name, each in last.items() if each.ci_low > 0}, **shown_at}
        by_tasks = last[PARENT]
        low, high = max(gain.ci_low, by_tasks.ci_low), min(gain.ci_high, by_tasks.ci_high)
        method = f"{by_tasks.method}, or by betting where that says more"
        gain = replace(gain, ci_low=low, ci_high=high, method=method)
    stopped = max(shown_at.values()) if len(shown_at) == len(compared) else None
    e_values = {name: float(path.max(initial=1.0)) for name, path in paths.items()}
    more = None if stopped else _more_items(tasks, level, len(compared))
    return ShownBetter(replace(gain, ci_level=1 - level), e_values, level, stopped, more)


def level_of(level: float, number: int) -> float:
    """The level of the candidate that is the `number`-th to be asked on the same tasks.

    A candidate that is no better is shown better in half of its level at most. The first one has the whole, the k-th
    level / (k (k - 1)), which adds up to the same again: over all of them false ones are accepted in `level` at most.

    Examples
    --------
    >>> [round(level_of(0.05, number), 4) for number in (1, 2, 3, 4)]
    [0.05, 0.025, 0.0083, 0.0042]
    """
    return level if number == 1 else level / (number * (number - 1))


def _last(before: ArrayLike, after: ArrayLike, clusters: ArrayLike, level: float) -> Estimate:
    """The gain per item with the interval of the last look: one item up and one down are added, each a task."""
    points = 2 * halfway(before, after) - 1
    tasks = cluster_codes(clusters, points.size)
    apart = tasks.max(initial=-1) + np.array([1, 2])
    ci_level = 1 - (1 - ON_LOOKS) * level
    return clustered_mean(np.r_[points, 1.0, -1.0], np.r_[tasks, apart], cluster_unit="task", ci_level=ci_level)


def _points(before: ArrayLike, after: ArrayLike, clusters: ArrayLike, largest: int | None) -> tuple[Floats, Floats]:
    """Points d of each task and its items w, both as shares of the largest task."""
    x, w = relative(by_task(halfway(before, after), clusters), largest)
    return 2 * x - w, w


def _capital(points: Floats, items: Floats, gain: float = 0.0) -> Floats:
    """The capital after each task of who bets that the gain is above `gain`."""
    net = (points - gain * items) / (1 + gain)
    grown = np.cumsum(np.log1p(BETS[:, None] * net), axis=1)
    return np.asarray(PARTED @ np.exp(np.minimum(grown, 700)))  # what is beyond has no double


def _gain(points: Floats, items: Floats, tasks: Tasks, error: float) -> Estimate:
    """The gain per item, between the largest that is exceeded and the least that is not reached."""
    n_items = int(tasks.items.sum())
    estimate, reason = (float(points.sum() / items.sum()), "") if n_items else (math.nan, "no item was scored twice")
    low, high = (_bound(sign * points, items, error) for sign in (1, -1)) if n_items else (math.nan, math.nan)
    return Estimate(
        estimate=estimate,
        ci_low=low,
        ci_high=-high,
        ci_level=1 - 2 * error,
        n_items=n_items,
        n_missing=tasks.n_missing,
        n_clusters=int(tasks.items.size),
        cluster_unit="task",
        method="betting, each bound holds at every look",
        reason=reason,
    )


def _enough(error: float) -> float:
    """The capital that shows it, but for rounding."""
    return (1 - 1e-12) / error


def _bound(points: Floats, items: Floats, error: float) -> float:
    """The largest gain that is shown to be exceeded, above 0 just where 0 is; -1 where none is.

    The capital falls as the gain that is bet against rises, since no task can lose more than its items.
    """
    low, high = -1.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        shown = _capital(points, items, middle).max(initial=1.0) >= _enough(error)
        low, high = (middle, high) if shown else (low, middle)
    return (low + high) / 2 if low > -1 else -1.0


def _more_items(tasks: Tasks, level: float, n_compared: int) -> int:
    """Further items of such tasks, about, after which a gain of `SHOWN_GAIN` is as likely shown as not.

    With v the variance between tasks per item, N items have the standard error sqrt(v N + 2) / N; it has to be
    `SHOWN_GAIN` over the quantile z of the last look. A gain g of whole verdicts has a variance of g (1 - g) at least,
    however few turned so far. Where several comparisons have to pass, z rises by the median of the largest of so many
    errors, half of whose variance is the candidate's own and shared.
    """
    n_items = max(1.0, float(tasks.items.sum()))
    points = 2 * tasks.hits - tasks.items
    v = float(((points - tasks.items * points.sum() / n_items) ** 2).sum() / n_items)
    v = max(v, SHOWN_GAIN * (1 - SHOWN_GAIN))
    worst = NormalDist().inv_cdf(0.5 ** (1 / n_compared)) / math.sqrt(2)
    k = ((NormalDist().inv_cdf(1 - (1 - ON_LOOKS) * level / 2) + worst) / SHOWN_GAIN) ** 2
    needed = (k * v + math.sqrt((k * v) ** 2 + 8 * k)) / 2
    return max(0, math.ceil(needed - n_items))
