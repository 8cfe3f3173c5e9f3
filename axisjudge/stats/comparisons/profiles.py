"""Do agents fail on different capabilities? A within-task permutation test of profiles, overall rates removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.stats.comparisons.sign_flips import DRAWS, monte_carlo_p, sign_flips
from axisjudge.stats.estimate import many
from axisjudge.stats.rates.proportions import FEWEST_CLUSTERS

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
    if tasks < FEWEST_CLUSTERS:
        return f"{many(tasks, 'task')} with all agents; the test needs at least {FEWEST_CLUSTERS}"
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
    places = rng.permuted(np.broadcast_to(np.arange(agents), (draws, tasks, agents)), axis=2)
    means = np.zeros((draws, agents, axes))
    for task in range(tasks):
        means += residuals[task][places[:, task]]
    return _distance(means / tasks)
