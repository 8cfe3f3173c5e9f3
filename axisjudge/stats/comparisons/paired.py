"""Paired comparisons of two conditions on the same items: changes, sign flips of whole tasks, and profiles of
agents.

Several axes are one declared family: adjust their p values with `holm`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, one_each
from axisjudge.results import Result
from axisjudge.stats import proportions
from axisjudge.stats.clusters import AGREEMENT_ICC, ClusteredVariance, clustered_variance
from axisjudge.stats.estimate import Estimate, IntervalTerms, difference_ends, many

# Sign flips of whole clusters: paired tests that need no more than symmetric differences, and Holm over several.

#: Sign flips drawn when there are too many to enumerate; the Monte Carlo error of a p value near .05 is then .002.
DRAWS = 9_999


_TIE = 1e-9  # two sums of the same flipped differences may differ by rounding alone


def paired_sign_flip(
    differences: ArrayLike,
    *,
    rng: np.random.Generator,
    one_sided: bool = False,
    mid_p: bool = False,
    draws: int = DRAWS,
) -> tuple[float, float]:
    """Sign-flip test that paired differences (one for each cluster) have mean zero; `one_sided`: zero or below.

    Returns the p value and its Monte Carlo standard error (0 when all flips were enumerated, which is done where they
    are no more than `draws`). NaN differences are left out; with nothing but zeros p is 1. With `mid_p` flips that give
    the observed sum count half, though p is never less than that of differences all of one sign: for independent items
    of 0 and 1, where the exact test of 60 items rejects a true null in .010 instead of .05.

    References
    ----------
    Canay, Romano and Shaikh (2017), Econometrica 85:1013-1030, doi:10.3982/ECTA13081. Fagerland, Lydersen and Laake
    (2013), BMC Med. Res. Methodol. 13:91, doi:10.1186/1471-2288-13-91 (mid-p).

    Examples
    --------
    Two discordant tasks can never say more than p = .5:

    >>> paired_sign_flip([1, 1, 0, 0, 0], rng=np.random.default_rng(0))
    (0.5, 0.0)
    """
    given = np.asarray(differences, dtype=float)
    nonzero = given[~np.isnan(given) & (given != 0)]
    flips, exact = sign_flips(len(nonzero), rng, draws)
    reference, observed = flips @ nonzero, float(nonzero.sum())
    if not one_sided:
        reference, observed = np.abs(reference), abs(observed)
    p, error = monte_carlo_p(reference, observed, exact=exact)
    if not mid_p:
        return p, error
    ties = float(np.mean(np.abs(reference - observed) <= _TIE))
    return max(p - ties / 2, min(p, 2.0 ** (int(one_sided is False) - len(nonzero)))), error


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's adjusted p values; a NaN (a test that was refused) stays NaN and still counts in the family.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70, https://www.jstor.org/stable/4615733.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=float)
    order = np.argsort(given, kind="stable")  # NaN last
    steps = given[order] * (given.size - np.arange(given.size))
    adjusted = np.empty(given.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def sign_flips(n: int, rng: np.random.Generator, draws: int = DRAWS) -> tuple[NDArray[np.float64], bool]:
    """Signs of `n` clusters: all 2^n patterns (and True) when they are no more than `draws`, else `draws` at random."""
    if 2**n <= draws:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return np.where(bits == 1, -1.0, 1.0), True
    return rng.choice([-1.0, 1.0], size=(draws, n)), False


def monte_carlo_p(reference: NDArray[np.float64], observed: float, *, exact: bool) -> tuple[float, float]:
    """Share of reference values at least as large as the observed one, and its Monte Carlo standard error.

    Drawn reference values are joined by the observed one, so that p is never 0 (Phipson and Smyth 2010,
    doi:10.2202/1544-6115.1585).
    """
    extreme = int((reference >= observed - _TIE).sum())
    if exact:
        return extreme / len(reference), 0.0
    p = (extreme + 1) / (len(reference) + 1)
    return p, float(np.sqrt(p * (1 - p) / len(reference)))


Floats = NDArray[np.float64]

#: Sign flips are inverted for so many units at most: beyond it the interval of the mean is as good and costs less.
MOST_INVERTED = 500
#: An end of the interval is found to 1 part in 16 million of its range.
HALVINGS = 24


@dataclass(frozen=True)
class PairedChange:
    """Mean change with its interval and the two-sided p value of the task-level sign-flip test.

    `n_changed` is the number of tasks with any change, which limits how small p can be.
    """

    change: Estimate
    p_value: float
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

    Notes
    -----
    The interval holds the changes that the test of whole tasks does not reject, so that it never leaves out 0 beside a
    p value above 1 - `ci_level`. Where few items change in a direction it also holds the interval of `mean_change`, and
    that alone of more than 500 units; where one side is constant, that of the other's mean. Of independent items p is
    the mid-p.
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    one_each("after", second, first.size, of="items before")
    change = second - first
    mean, is_joined = _mean_change(change, clusters, {"cluster_unit": cluster_unit, "ci_level": ci_level})
    kept = ~np.isnan(change)
    if not kept.any():
        return PairedChange(mean, math.nan, 0)
    groups = np.unique(proportions.cluster_codes(clusters, change.size)[kept], return_inverse=True)[1]
    tasks, sizes = (np.bincount(groups, weights=of).astype(np.float64) for of in (change[kept], np.ones(groups.size)))
    generator = np.random.default_rng(0 if rng is None else rng)
    p_value, _ = paired_sign_flip(tasks, rng=generator, mid_p=bool((sizes == 1).all()))
    variance = clustered_variance((change[kept] - change[kept].mean()) / groups.size, groups)
    p_value = max(p_value, _leaning_p(mean.estimate, variance))
    if not math.isnan(mean.ci_low):
        farthest = float(np.abs(change[kept]).max())
        mean = _not_rejected(mean, is_joined, tasks, sizes, p_value, farthest, generator)
        sides = second[kept], first[kept]
        if all(((side >= 0) & (side <= 1)).all() for side in sides):
            given, ends = None if clusters is None else groups, (mean.ci_low, mean.ci_high)
            low, high = proportions.no_nearer_than_share(ends, *sides, given, ci_level=ci_level)
            mean = replace(mean, ci_low=low, ci_high=high)
    return PairedChange(mean, p_value, int(np.count_nonzero(tasks)))


def _leaning_p(change: float, variance: ClusteredVariance) -> float:
    """Two-sided p of no change where sizes of tasks go with their changes and that side's end is the longer; else 0.

    Flipping signs takes a task's total change as symmetric, which it is not there: a true null was rejected in .14.
    """
    from scipy.special import stdtr

    lean = variance.lean
    if not (lean.skewed or lean.unseen) or (change < 0) != lean.upwards or variance.error == 0:
        return 0.0
    return 2 * float(stdtr(variance.degrees, -lean.t_of(abs(change) / variance.error)))


def _not_rejected(
    mean: Estimate,
    is_joined: bool,
    tasks: Floats,
    sizes: Floats,
    p_value: float,
    farthest: float,
    rng: np.random.Generator,
) -> Estimate:
    """The changes that flipping the signs of whole tasks does not reject, joined with 0 where the test keeps it."""
    level = 1 - mean.ci_level
    low, high, method = mean.ci_low, mean.ci_high, mean.method
    if tasks.size <= MOST_INVERTED and 2.0 ** (1 - tasks.size) <= level:
        limit = max(farthest, abs(low), abs(high))
        inverted = _inverted(tasks, sizes, level, limit, rng)
        if is_joined:
            low, high, method = min(low, inverted[0]), max(high, inverted[1]), f"{method}, and sign flips inverted"
        else:
            (low, high), method = inverted, "sign flips of whole tasks, inverted"
    if p_value > level:
        low, high = min(low, 0.0), max(high, 0.0)
    return replace(mean, ci_low=low, ci_high=high, method=method)


def _inverted(
    tasks: Floats, sizes: Floats, level: float, limit: float, rng: np.random.Generator
) -> tuple[float, float]:
    """The farthest changes to both sides, within +-`limit`, at which the flipped residuals reach the observed ones."""
    flips, _ = sign_flips(tasks.size, rng)
    totals, counts = flips @ tasks, flips @ sizes
    total, count = float(tasks.sum()), float(sizes.sum())

    def kept(change: float) -> bool:
        reach = np.abs(totals - change * counts) >= abs(total - change * count) - 1e-9
        return bool(reach.mean() > level)

    ends = []
    for outer in (-limit, limit):
        inner = total / count
        if kept(outer):
            ends.append(outer)
            continue
        for _ in range(HALVINGS):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if kept(middle) else (inner, middle)
        ends.append(outer)
    return ends[0], ends[1]


def mean_change(
    change: ArrayLike, clusters: ArrayLike | None = None, *, cluster_unit: str = "task", ci_level: float = 0.95
) -> Estimate:
    """The mean change; where few items change in a direction, from the intervals of the two shares that do (MOVER).

    With few changes a standard error is too short: at a shift of .05 one way its interval excludes the truth on one
    side in .11 to .19 of runs of 56 to 200 items instead of .05; this one does in .00 to .07. Changes all in one
    direction are a share, and no end is nearer than that share's.

    Parameters
    ----------
    change : array, shape (n_items,)
        After minus before; NaN where either is missing. Values other than -1, 0 and 1 have the mean's own interval.

    References
    ----------
    Zou and Donner (2008), Stat. Med. 27:1693-1702, doi:10.1002/sim.3095 (MOVER).
    """
    return _mean_change(change, clusters, {"cluster_unit": cluster_unit, "ci_level": ci_level})[0]


def _mean_change(change: ArrayLike, clusters: ArrayLike | None, terms: IntervalTerms) -> tuple[Estimate, bool]:
    """The mean change, and whether its interval joins those of the two shares."""
    moved = np.asarray(change, dtype=np.float64)
    mean = proportions.clustered_mean(moved, clusters, **terms)
    given = ~np.isnan(moved)
    rarer = min(np.count_nonzero(moved > 0), np.count_nonzero(moved < 0))
    if not np.isin(moved[given], (-1.0, 0.0, 1.0)).all() or math.isnan(mean.estimate):
        return mean, False
    if rarer >= proportions.FEWEST_RARE and not math.isnan(mean.ci_low):
        return mean, False
    up, down = (
        proportions.clustered_proportion(
            np.where(given, way, np.nan), clusters, expected_icc=AGREEMENT_ICC, unseen=False, **terms
        )
        for way in (moved > 0, moved < 0)
    )
    if math.isnan(up.ci_low):
        return replace(mean, reason=up.reason), False
    low, high = difference_ends(up, down)
    if rarer == 0 and moved[given].any():  # a share
        of, sides = None if clusters is None else np.asarray(clusters)[given], (moved[given] > 0, moved[given] < 0)
        one, other = (side.astype(np.float64) for side in sides)
        low, high = proportions.no_nearer_than_share((low, high), one, other, of, ci_level=terms["ci_level"])
    method = f"MOVER of the shares that change, {up.method}"
    return replace(mean, ci_low=low, ci_high=high, reason="", method=method), True


# Change between two sets of repeats of the same tasks, with the tasks taken as given.


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

    def result(estimate: float, low: float = math.nan, high: float = math.nan, reason: str = "") -> Estimate:
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
        return result(math.nan, reason=f"no {stratum} has runs in both sets")
    change = float(np.mean([other.mean() - one.mean() for one, other in pairs]))
    if any(cell.size < 2 for pair in pairs for cell in pair):
        reason = f"a {stratum} with a single run on one side does not show how far repeats differ"
        return result(change, reason=reason)
    parts = np.array([cell.var(ddof=1) / cell.size for pair in pairs for cell in pair]) / len(pairs) ** 2
    if not parts.any():
        return result(change, reason="all repeats are equal, so how far they vary cannot be seen")
    degrees = parts.sum() ** 2 / float((parts**2 / [cell.size - 1 for pair in pairs for cell in pair]).sum())
    half = proportions.t_quantile(float(degrees), ci_level) * math.sqrt(float(parts.sum()))
    return result(change, change - half, change + half)


def _by_stratum(values: ArrayLike, strata: ArrayLike, name: str) -> dict[object, np.ndarray]:
    value, label = np.asarray(values, dtype=np.float64), np.asarray(strata)
    one_each(f"{name}_strata", label, value.size, of="values")
    kept = ~np.isnan(value)
    return {each: value[kept & (label == each)] for each in dict.fromkeys(label[kept].tolist())}


# Do agents fail on different capabilities? A within-task permutation test of profiles, overall rates removed.

#: With fewer failures in the table (both agents, all axes) every profile is noise.
FEWEST_FAILURES = 10


@dataclass(frozen=True)
class ProfileTest(Result):
    """Whether the profiles of the agents differ in shape.

    `distance` is the weighted squared distance between the profiles; `p_value` the share of permutations of agents
    within tasks that give at least that distance. `refusal` says why no test was made, and is empty otherwise.
    """

    distance: float
    p_value: float
    monte_carlo_error: float
    n_clusters: int
    n_failures: int
    n_missing: int
    method: str
    refusal: str = ""


def profile_test(failures: ArrayLike, *, rng: np.random.Generator) -> ProfileTest:
    r"""Test that several agents have one failure profile up to their overall failure rate.

    From every run its mean over the axes is taken away, :math:`r_{iak} = f_{iak} - \bar f_{ia.}` (task i, agent a,
    axis k), so that an agent that fails more on every axis alike is not called different. The statistic is
    :math:`\sum_k \sum_a (\bar r_{.ak} - \bar r_{..k})^2 / s_k^2` with :math:`s_k^2` the variance of r on axis k, and
    the reference distribution permutes the agents within every task.

    Parameters
    ----------
    failures : array_like, shape (n_tasks, n_agents, n_axes)
        1 failed, 0 not, or the mean over an agent's runs of the task; NaN where nothing was judged. Tasks that lack
        all axes of an agent are left out and counted.
    rng : numpy.random.Generator
        Used when the permutations are too many to enumerate.

    Returns
    -------
    ProfileTest
        Refused (NaN and a reason) with fewer than 10 complete tasks or fewer than 10 failures.

    Raises
    ------
    InputError
        When the table is not tasks x agents x axes with at least two agents and two axes.

    Notes
    -----
    Exact when the runs of one task are exchangeable between the agents; approximate when agents differ in their
    overall rate, which is why it is meant for agents of like reward (simulated at 12 to 50 tasks it rejects .03 to .05
    at the 5% level, also when one agent fails 20 points more on every axis). "One profile" is additive: an agent with
    half of another's rate on every axis counts as different. Between two agents a permutation within the task is a
    sign flip of the task's difference.

    References
    ----------
    Anderson (2001), Austral Ecology 26, doi:10.1111/j.1442-9993.2001.01070.pp.x (permutation of labels within blocks,
    distance as the statistic); Phipson and Smyth (2010), doi:10.2202/1544-6115.1585 (Monte Carlo p values).
    """
    table = np.asarray(failures, dtype=float)
    if table.ndim != 3 or min(table.shape[1:]) < 2:
        raise InputError("failures", "must be tasks x agents x axes, at least two agents and two axes", table.shape)
    judged = ~np.isnan(table).all(axis=2).any(axis=1)
    table, missing = table[judged], int((~judged).sum())
    tasks, n_failures = len(table), round(float(np.nansum(table)))
    if refusal := _refusal(tasks, n_failures):
        return ProfileTest(float("nan"), float("nan"), float("nan"), tasks, n_failures, missing, "none", refusal)
    residuals = _scaled(table - np.nanmean(table, axis=2, keepdims=True))
    distances, exact = _reference(residuals, rng)
    observed = float(_distance(residuals.sum(axis=0)[None] / tasks)[0])
    p_value, error = monte_carlo_p(distances, observed, exact=exact)
    method = f"agents permuted within tasks, {'all ' if exact else ''}{len(distances)} permutations"
    return ProfileTest(observed, p_value, error, tasks, n_failures, missing, method)


def _refusal(tasks: int, n_failures: int) -> str:
    if tasks < proportions.FEWEST_CLUSTERS:
        return f"{many(tasks, 'task')} with all agents; the test needs at least {proportions.FEWEST_CLUSTERS}"
    if n_failures < FEWEST_FAILURES:
        return f"{many(n_failures, 'failure')} in all; the test needs at least {FEWEST_FAILURES}"
    return ""


def _scaled(residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Residuals over their axis's standard deviation; an axis without variance and a missing cell weigh nothing."""
    spread = np.nanstd(residuals, axis=(0, 1))
    centred = residuals - np.nanmean(residuals, axis=(0, 1))
    scaled: NDArray[np.float64] = np.nan_to_num(centred / np.where(spread > 0, spread, np.inf))
    return scaled


def _distance(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distance of the agents' mean residuals (permutations x agents x axes) from their common mean."""
    distance: NDArray[np.float64] = ((means - means.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
    return distance


def _reference(residuals: NDArray[np.float64], rng: np.random.Generator) -> tuple[NDArray[np.float64], bool]:
    """Distances under permutations of the agents within tasks, and whether all permutations are among them."""
    tasks, agents, _ = residuals.shape
    if agents == 2:
        contrast = (residuals[:, 0] - residuals[:, 1]) / 2
        flips, exact = sign_flips(tasks, rng)
        half = flips @ contrast / tasks
        return _distance(np.stack([half, -half], axis=1)), exact
    return np.concatenate([_permuted(residuals, 500, rng) for _ in range(-(-DRAWS // 500))]), False


def _permuted(residuals: NDArray[np.float64], draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
    tasks, agents, axes = residuals.shape
    orders = rng.permuted(np.broadcast_to(np.arange(agents), (draws, tasks, agents)), axis=2)
    means = np.zeros((draws, agents, axes))
    for task in range(tasks):
        means += residuals[task][orders[:, task]]
    return _distance(means / tasks)
