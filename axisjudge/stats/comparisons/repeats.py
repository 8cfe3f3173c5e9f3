"""Change between the repeats of one task before and after, also where repeats never differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

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


def unseen_share(n_repeats: int, level: float = 0.95) -> float:
    """The largest share of runs that shows in none of so many repeats with a probability of 1 - `level`.

    1 - (1 - level)^(1 / n): what is rarer than this, n repeats do not exclude.

    Examples
    --------
    >>> round(unseen_share(3), 3), round(unseen_share(58), 3)
    (0.632, 0.05)
    """
    return float(1 - (1 - level) ** (1 / n_repeats))


def least_change(
    before: Sequence[float], after: Sequence[float], *, scale: tuple[float, float], level: float = 0.95
) -> float:
    r"""Lower bound of mean after less mean before that allows for runs which were not drawn, on a bounded scale.

    For repeats in order, :math:`x_{(1)} \le \dots \le x_{(n)}`, and spacings D of n uniform draws (Dirichlet of ones),
    :math:`D_0 a + \sum_i D_i x_{(i)}` bounds the mean from below at the quantile 1 - `level`, with a the scale's lower
    end; from above with its upper end. The bound of the change is that quantile of the difference of both. Equal
    repeats of x give :math:`x - p (x - a)` with p of `unseen_share`: nothing varied is not no variation. 20,000 draws,
    always the same.

    References
    ----------
    Gaffke (2005), Math. Methods Stat. 14:451-467. Learned-Miller and Thomas (2020), arXiv:1905.06208 (at least as
    high as the Clopper-Pearson bound for 0 and 1, where it equals it; its level is proved for these and conjectured).
    """
    rng = np.random.default_rng(0)
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    return float(np.quantile(_means(second, scale[0], rng) - _means(first, scale[1], rng), 1 - level))


def mean_bounds(values: Sequence[float], *, scale: tuple[float, float], level: float = 0.95) -> tuple[float, float]:
    r"""One-sided bounds of the mean of runs, each at `level`, on a bounded scale: what runs not drawn allow for.

    The quantiles 1 - `level` and `level` of the means of `least_change`, with the scale's lower and upper end. One run
    of x gives :math:`a + (1 - level) (x - a)` and :math:`b - (1 - level) (b - x)`.

    Examples
    --------
    >>> [round(end) for end in mean_bounds([80.1], scale=(0, 100))]
    [4, 99]
    """
    seen = np.asarray(values, dtype=np.float64)
    low, high = (_means(seen, end, np.random.default_rng(0)) for end in scale)
    return float(np.quantile(low, 1 - level)), float(np.quantile(high, level))


def repeats_above(floor: float, mean: float, *, scale: tuple[float, float], level: float = 0.95) -> float:
    r"""How many equal runs of `mean` show that it does not lie below `floor`, by the lower of `mean_bounds`.

    :math:`\log(1 - level) / \log(1 - (mean - floor) / (mean - a))`; infinite where `mean` is not above the floor.

    Examples
    --------
    >>> round(repeats_above(80, 95, scale=(0, 100)), 1)
    17.4
    """
    if mean <= floor:
        return math.inf
    share = (mean - floor) / (mean - scale[0])
    return 1.0 if share >= 1 else math.log(1 - level) / math.log(1 - share)


def _means(values: NDArray[np.float64], end: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Means under random weights of the values and of one end of the scale."""
    n_draws = int(np.clip(10_000_000 // (values.size + 1), 2_000, 20_000))
    weights = rng.standard_exponential((n_draws, values.size + 1))
    means: NDArray[np.float64] = weights @ np.append(values, end) / weights.sum(axis=1)
    return means if n_draws == 20_000 else rng.choice(means, 20_000)


def repeats_to_exclude(fall: float, mean: float, *, scale: tuple[float, float], ci_level: float = 0.95) -> float:
    """About how many equal repeats of `mean` on each side exclude a fall of so much by `repeats_change`.

    A share of runs unseen in n repeats is about E / n with E exponential, and moves the mean after by up to mean - a,
    the mean before by up to b - mean: the quantile of E (mean - a) + E' (b - mean), over the fall. Infinite for none.

    Examples
    --------
    >>> 65 < repeats_to_exclude(5, 90, scale=(0, 100)) < 75
    True
    """
    if fall <= 0:
        return math.inf
    draws = np.random.default_rng(0).standard_exponential((20_000, 2)) @ np.array([mean - scale[0], scale[1] - mean])
    return float(np.quantile(draws, (1 + ci_level) / 2) / fall)


def repeats_change(
    before: Sequence[float],
    after: Sequence[float],
    *,
    scale: tuple[float, float] | None = None,
    ci_level: float = 0.95,
) -> Estimate:
    """Mean after less mean before, over repeats of one task.

    The interval is Welch's. Where all repeats of each set are equal, a difference between the sets counts when
    `split_chance` is at most half of what the level leaves. Without a difference nothing varied, which is not no
    variation: the interval holds what three repeats or more on each side do not exclude (`least_change`), on a known
    scale; else there is none.

    Parameters
    ----------
    before, after : sequence of float
        One value a run.
    scale : tuple of float, optional
        The lowest and the highest value that a run can have.
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
    if not change.estimate:
        if scale is None:
            return replace(
                change, reason="nothing varied, and without the scale's ends what repeats exclude is unknown"
            )
        low = least_change(before, after, scale=scale, level=(1 + ci_level) / 2)
        high = -least_change(after, before, scale=scale, level=(1 + ci_level) / 2)
        method = "nothing varied: what so many repeats do not exclude"
        return replace(change, ci_low=low, ci_high=high, method=method, reason="")
    method = f"all repeats equal on each side: by chance in {chance:.1%} at most"
    return replace(change, ci_low=change.estimate, ci_high=change.estimate, method=method, reason="")
