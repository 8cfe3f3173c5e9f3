"""Paired change of two conditions on the same items, with tasks as the units.

Several axes are one declared family: adjust their p values with `axisjudge.stats.ranking.holm`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from axisjudge.checks import InputError
from axisjudge.stats.estimate import Estimate, UndefinedStatisticWarning, undefined
from axisjudge.stats.intervals import cluster_codes, clustered_mean
from axisjudge.stats.ranking import paired_sign_flip


@dataclass(frozen=True)
class PairedChange:
    """Mean change with its interval and the two-sided p value of the task-level sign-flip test.

    `p_error` is the Monte Carlo standard error of `p_value`, 0 where all flips were counted; `n_changed` the number of
    tasks with any change, which limits how small p can be.
    """

    change: Estimate
    p_value: float
    p_error: float
    n_changed: int

    @property
    def smallest_p(self) -> float:
        """The least p value that so many changed tasks can give at all."""
        return min(1.0, 2.0 ** (1 - self.n_changed))


def paired_change(
    before: ArrayLike,
    after: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    rng: np.random.Generator | int | None = None,
) -> PairedChange:
    """Change from one condition to another, tested by flipping the sign of whole tasks.

    The values of a task are added up and its sign flipped as a whole. McNemar's test on the items of shared tasks
    rejects a true null in .19 to .24 of runs.

    Parameters
    ----------
    before, after : array, shape (n_items,)
        Values of the same items (0/1, or soft agreement); items with NaN in either are left out and counted.
    clusters : array, shape (n_items,), optional
        The task of each item.
    rng : numpy.random.Generator or int, optional
        Source of sign flips where there are too many to count; a fixed seed by default.
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError("after", f"needs one value for each of the {first.shape} items before", second.shape)
    change = second - first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedStatisticWarning)  # the reason is in the result
        mean = clustered_mean(change, clusters, cluster_unit=cluster_unit, ci_level=ci_level)
    kept = ~np.isnan(change)
    if not kept.any():
        undefined("no item has a value in both conditions")
        return PairedChange(mean, math.nan, math.nan, 0)
    tasks = np.bincount(cluster_codes(clusters, change.size)[kept], weights=change[kept])
    p_value, error = paired_sign_flip(tasks, rng=np.random.default_rng(0 if rng is None else rng))
    return PairedChange(mean, p_value, error, int(np.count_nonzero(tasks)))
