"""The baseline of latency: what a run of this workspace typically takes.

The rolling baseline of a run is the median wall time (p50) of the last completed runs of its workspace that ended
before it. "Before" means an earlier end time, to the microsecond; runs that end at the same instant are not before each
other, so no run is ever in its own baseline. Where several runs that end at one instant compete for the last places of
the window, the longer ones are taken. So the baseline follows from end times and wall times alone: in which order runs
arrived, and what they are called, does not enter.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROWS_AT_ONCE = 200_000


def rolling_p50(
    workspace: Ints, ended_at: Ints, wall: Floats, counts: NDArray[np.bool_], *, window: int
) -> tuple[Floats, Ints]:
    """The rolling baseline of every run.

    Parameters
    ----------
    workspace : array of int, shape (n,)
        Workspace of each run, by number from 0; -1 where it is not known.
    ended_at : array of int, shape (n,)
        End of each run in microseconds; negative where it is not known.
    wall : array of float, shape (n,)
        Seconds each run took.
    counts : array of bool, shape (n,)
        Which runs enter baselines: completed, with workspace, end and wall time known.
    window : int
        How many completed runs a baseline looks back.

    Returns
    -------
    p50, samples : arrays, shape (n,)
        NaN and 0 where no completed run ended before.

    Examples
    --------
    >>> p50, samples = rolling_p50(np.zeros(4, int), np.arange(4), np.array([3., 1, 2, 9]), np.ones(4, bool), window=20)
    >>> p50.tolist(), samples.tolist()
    ([nan, 3.0, 2.0, 2.0], [0, 1, 2, 3])
    """
    instants, instant = np.unique(ended_at, return_inverse=True)
    rank = workspace.astype(np.int64) * len(instants) + instant  # in order of workspace, then of end
    entering = np.flatnonzero(counts)
    entering = entering[np.lexsort((wall[entering], rank[entering]))]
    ordered, home = rank[entering], workspace.astype(np.int64) * len(instants)
    before, of_others = np.searchsorted(ordered, rank), np.searchsorted(ordered, home)
    samples = np.where((workspace >= 0) & (ended_at >= 0), np.minimum(before - of_others, window), 0)
    held = np.minimum(np.arange(1, len(ordered) + 1) - np.searchsorted(ordered, home[entering]), window)
    medians = np.append(_medians_back(wall[entering], held, window), np.nan)  # the last one is what nobody has
    return np.where(samples > 0, medians[before - 1], np.nan), samples


def _medians_back(wall: Floats, held: Ints, window: int) -> Floats:
    """At each place the median of the last `held` values, its own included; none is longer than `window`."""
    medians = np.empty(len(wall))
    back = np.arange(window)
    for start in range(0, len(wall), _ROWS_AT_ONCE):
        rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(wall)))
        values = wall.take(rows[:, None] - back, mode="clip")
        values[back >= held[rows, None]] = np.inf
        values.sort(axis=1)
        low, high = (held[rows] - 1) // 2, held[rows] // 2
        medians[rows] = (values[rows - start, low] + values[rows - start, high]) / 2
    return medians


def checked_frozen(frozen: Mapping[str, float]) -> Mapping[str, float]:
    """The frozen baselines if each is a number of seconds from 0 up, else InputError."""
    for name, seconds in frozen.items():
        if not 0 <= seconds < np.inf:
            raise InputError(f"baseline of workspace {name}", "must be seconds from 0 up", seconds)
    return frozen
