"""Change between two sets of repeats of the same tasks, with the tasks taken as given."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from axisjudge.checks import InputError
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import t_quantile


def stratified_change(
    before: ArrayLike,
    after: ArrayLike,
    *,
    before_strata: ArrayLike,
    after_strata: ArrayLike,
    stratum: str = "task",
    ci_level: float = 0.95,
) -> Estimate:
    """Mean over tasks of (mean of the repeats after - mean of the repeats before), each task counting alike.

    The interval is about repeats: what other repeats of these same tasks would give. It says nothing of other tasks.
    The variance is the sum over tasks of s^2 / n before and after, over the squared number of tasks, with Welch and
    Satterthwaite's degrees of freedom.

    Parameters
    ----------
    before, after : array, shape (n_runs,)
        One value a run; NaN is left out and counted as missing.
    before_strata, after_strata : array, shape (n_runs,)
        The task of each run. Only tasks with runs in both sets enter.
    stratum : str
        What a stratum is, for the record.

    Returns
    -------
    Estimate
        Without interval where a task has a single run on either side, or where repeats never differ.

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2:110-114, doi:10.2307/3002019.
    """
    first, second = (
        _by_stratum(values, strata, name)
        for name, values, strata in (("before", before, before_strata), ("after", after, after_strata))
    )
    n_given = np.size(before) + np.size(after)
    shared = sorted(first.keys() & second.keys(), key=str)
    pairs = [(first[name], second[name]) for name in shared]
    n = sum(one.size + other.size for one, other in pairs)
    n_valid = sum(cell.size for side in (first, second) for cell in side.values())

    def found(estimate: float, low: float = math.nan, high: float = math.nan, reason: str = "") -> Estimate:
        return Estimate(
            estimate=estimate,
            ci_low=low,
            ci_high=high,
            ci_level=ci_level,
            n_items=n,
            n_missing=n_given - n_valid,
            n_clusters=len(shared),
            cluster_unit=stratum,
            method="" if reason else f"Welch's t over repeats within each {stratum}",
            reason=reason,
        )

    if not pairs:
        return found(math.nan, reason=f"no {stratum} has runs in both sets")
    change = float(np.mean([other.mean() - one.mean() for one, other in pairs]))
    if any(cell.size < 2 for pair in pairs for cell in pair):
        reason = f"a {stratum} with a single run on one side does not show how far repeats differ"
        return found(change, reason=reason)
    parts = np.array([cell.var(ddof=1) / cell.size for pair in pairs for cell in pair]) / len(pairs) ** 2
    if not parts.any():
        return found(change, reason="all repeats are equal, so how far they vary cannot be seen")
    degrees = parts.sum() ** 2 / float((parts**2 / [cell.size - 1 for pair in pairs for cell in pair]).sum())
    half = t_quantile(float(degrees), ci_level) * math.sqrt(float(parts.sum()))
    return found(change, change - half, change + half)


def _by_stratum(values: ArrayLike, strata: ArrayLike, name: str) -> dict[object, np.ndarray]:
    value, label = np.asarray(values, dtype=np.float64), np.asarray(strata)
    if value.ndim != 1 or value.shape != label.shape:
        raise InputError(f"{name}_strata", f"needs one entry for each of the {value.shape} values", label.shape)
    kept = ~np.isnan(value)
    return {each: value[kept & (label == each)] for each in dict.fromkeys(label[kept].tolist())}
