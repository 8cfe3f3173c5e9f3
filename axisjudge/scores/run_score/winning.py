"""How often each of several alternatives would win, were each tried once more on the same tasks."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.stats.estimate import Estimate, without_interval
from axisjudge.stats.proportions import FEWEST_CLUSTERS, cluster_codes, jackknife_interval

#: With fewer repeats the best of a task's runs is luck that nothing can be said about.
FEWEST_REPEATS = 5


def win_probability(
    scores: ArrayLike,
    alternatives: ArrayLike,
    tasks: ArrayLike,
    *,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> dict[str, Estimate]:
    r"""Probability that one more run of an alternative scores highest, ties shared, averaged over tasks.

    On a task, with one run drawn from each alternative's own runs of it,
    :math:`p_a = \sum_x P(x_a = x) \sum_t P(t \text{ others tie at } x, \text{ none is above}) / (1 + t)`; all draws are
    enumerated, so there is no Monte Carlo error. The interval resamples whole tasks (delete-one jackknife-t on the
    logit) and so covers other tasks as well as other runs; on fewer than 10 tasks there is none.

    Parameters
    ----------
    scores : array of float, shape (n_runs,)
        Higher is better; NaN where a run has no score, and it then does not count.
    alternatives, tasks : arrays of labels, shape (n_runs,)

    Returns
    -------
    dict of alternative to Estimate
        In order of name. Where an alternative has fewer than 5 runs on a task, that task does not count; where no task
        is left, or there is one alternative, all estimates are NaN with the reason.

    Examples
    --------
    >>> win_probability([9, 9, 9, 1, 1, 5, 5, 5, 5, 5], ["a"] * 5 + ["b"] * 5, ["task"] * 10)["a"].estimate
    0.6
    """
    value = np.asarray(scores, dtype=np.float64)
    names = np.asarray(alternatives)
    if value.ndim != 1 or names.shape != value.shape:
        raise InputError("alternatives", f"needs one label for each of the {value.shape} scores", names.shape)
    groups = cluster_codes(tasks, value.size)
    known = np.unique(names)
    kept = ~np.isnan(value)
    shares, used = [], 0
    for task in np.unique(groups):
        runs = [value[kept & (groups == task) & (names == name)] for name in known]
        if min(len(own) for own in runs) >= FEWEST_REPEATS:
            shares.append(_wins(runs))
            used += sum(len(own) for own in runs)
    reason = _refusal(len(known), len(shares), cluster_unit)
    table = np.array(shares).reshape(len(shares), len(known))
    return {
        str(name): _estimate(table[:, place], used, value.size - used, reason, cluster_unit, ci_level)
        for place, name in enumerate(known)
    }


def _refusal(n_alternatives: int, n_tasks: int, unit: str) -> str:
    if n_alternatives < 2:
        return "one alternative has nobody to win against"
    if n_tasks == 0:
        return f"no {unit} has {FEWEST_REPEATS} or more scored runs of each alternative: the best of so few may be luck"
    return ""


def _wins(runs: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The share of each alternative in the wins of one task."""
    levels = np.unique(np.concatenate(runs))
    at = np.array([[(own == level).mean() for level in levels] for own in runs])
    below = np.cumsum(at, axis=1) - at
    shares = []
    for place in range(len(runs)):
        ties = np.ones((1, len(levels)))  # ties[t]: chance that t of the others tie at a level and the rest lie below
        for other in range(len(runs)):
            if other != place:
                none = np.zeros((1, len(levels)))
                ties = np.vstack([ties * below[other], none]) + np.vstack([none, ties * at[other]])
        split = 1 / (1 + np.arange(len(ties)))
        shares.append(float((at[place] * (split @ ties)).sum()))
    return np.array(shares)


def _estimate(
    shares: NDArray[np.float64], n_runs: int, n_missing: int, reason: str, unit: str, ci_level: float
) -> Estimate:
    estimate, low, high, n = math.nan, math.nan, math.nan, len(shares)
    if not reason:
        estimate = float(shares.mean())
        if n < FEWEST_CLUSTERS:
            reason = f"{n} {unit}{'' if n == 1 else 's'}; an interval needs at least {FEWEST_CLUSTERS}"
        else:
            left_out = (n * estimate - shares) / (n - 1)
            low, high = jackknife_interval(estimate, left_out, scale="logit", ci_level=ci_level)
            if math.isnan(low):
                reason = without_interval("it wins always or never, with or without any one of them").reason
    return Estimate(
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        ci_level=ci_level,
        n_items=n_runs,
        n_missing=n_missing,
        n_clusters=n,
        cluster_unit=unit,
        method="" if reason else f"jackknife-t over {unit}s on the logit",
        reason=reason,
    )
