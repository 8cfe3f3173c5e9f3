"""Change between the repeats of one task before and after, also where repeats never differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from axisjudge.stats.comparisons.stratified import stratified_change
from axisjudge.stats.estimate import Estimate

#: Repeats on each side from which on equal ones count as repeats that do not vary.
FEWEST_ALIKE = 3


def split_chance(n_before: int, n_after: int) -> float:
    """How likely all of one set are of one kind and all of the other of another, were both sets alike: at the most.

    max over p of p^n (1 - p)^m = n^n m^m / (n + m)^(n + m), with n runs before and m after.

    Examples
    --------
    >>> split_chance(3, 3)
    0.015625
    """
    total = n_before + n_after
    return float((n_before / total) ** n_before * (n_after / total) ** n_after)


def repeats_change(before: Sequence[float], after: Sequence[float], *, ci_level: float = 0.95) -> Estimate:
    """Mean after less mean before, over repeats of one task.

    The interval is Welch's. Where all repeats of both sets are equal it has no width: a difference counts when
    `split_chance` is at most half of what the level leaves, no difference when there are three repeats on each side.

    Parameters
    ----------
    before, after : sequence of float
        One value a run.
    ci_level : float

    Returns
    -------
    Estimate
        Without interval where repeats are too few, with the reason.
    """
    first, second = np.array(before, dtype=np.float64), np.array(after, dtype=np.float64)
    change = stratified_change(
        first,
        second,
        before_strata=["task"] * first.size,
        after_strata=["task"] * second.size,
        ci_level=ci_level,
    )
    if not math.isnan(change.ci_low) or min(first.size, second.size) < 2:
        return change
    chance = split_chance(first.size, second.size)
    told = chance <= (1 - ci_level) / 2 if change.estimate else min(first.size, second.size) >= FEWEST_ALIKE
    if not told:
        reason = f"{first.size} and {second.size} repeats that never differ are too few to say that they never do"
        return replace(change, reason=reason)
    method = f"all repeats equal on each side: by chance in {chance:.1%} at most"
    return replace(change, ci_low=change.estimate, ci_high=change.estimate, method=method, reason="")
