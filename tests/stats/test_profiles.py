"""The profile test: what it sees, what it must not see, its refusals and its error rates by simulation."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from axisjudge.checks import InputError
from axisjudge.stats.comparisons.paired import profile_test

PROFILE = np.array([0.05, 0.10, 0.15, 0.20, 0.30])


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def failures(source: np.random.Generator, tasks: int, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Failures by task, agent and axis: a probit model with task and run effects (rates: agents x axes)."""
    agents, axes = rates.shape
    task = source.normal(size=(tasks, 1, 1)) * np.sqrt(0.3)
    run = source.normal(size=(tasks, agents, 1)) * np.sqrt(0.15)
    own = source.normal(size=(tasks, agents, axes)) * np.sqrt(0.55)
    return ((task + run + own) < norm.ppf(rates)).astype(float)


def test_two_agents_by_hand() -> None:
    """Ten tasks; agent A fails axis 0 in 8, agent B axis 1 in 8, never the same task's other axis: as far as can be."""
    table = np.zeros((10, 2, 2))
    table[:8, 0, 0] = table[:8, 1, 1] = 1
    result = profile_test(table, rng=rng())
    assert result.p_value == 2 / 2**8  # ten tasks of which eight differ: all flips alike, or all against
    assert result.monte_carlo_error == 0
    assert result.n_failures == 16
    assert "all 1024" in result.method


def test_an_agent_that_fails_more_on_every_axis_alike_has_the_same_profile() -> None:
    table = np.zeros((20, 2, 5))
    table[:12, 0, :] = 1
    table[:3, 1, :] = 1
    assert profile_test(table, rng=rng()).distance == 0
    assert profile_test(table, rng=rng()).p_value == 1


def test_reversed_profiles_are_seen() -> None:
    table = failures(rng(), 40, np.array([PROFILE, PROFILE[::-1]]))
    assert profile_test(table, rng=rng()).p_value < 0.01


def test_three_agents_agree_with_two_when_the_third_is_neutral() -> None:
    """The Monte Carlo reference of many agents and the enumerated one of two see the same contrast."""
    table = np.zeros((12, 2, 2))
    table[:9, 0, 0] = table[:9, 1, 1] = 1
    third = np.concatenate([table, np.zeros((12, 1, 2))], axis=1)
    assert profile_test(table, rng=rng()).p_value < 0.01
    assert profile_test(third, rng=rng()).p_value < 0.01
    assert profile_test(third, rng=rng()).monte_carlo_error > 0


def test_order_of_tasks_agents_and_axes_does_not_matter() -> None:
    table = failures(rng(), 12, np.array([PROFILE, PROFILE[::-1]]))
    base = profile_test(table, rng=rng())
    moved = profile_test(table[::-1, ::-1, [3, 1, 4, 0, 2]], rng=rng())
    assert moved.distance == pytest.approx(base.distance)
    assert moved.p_value == pytest.approx(base.p_value)


def test_same_seed_same_p_value() -> None:
    table = failures(rng(), 30, np.array([PROFILE] * 3))
    assert profile_test(table, rng=rng()) == profile_test(table, rng=rng())


def test_too_few_tasks_are_refused() -> None:
    result = profile_test(np.ones((9, 2, 5)), rng=rng())
    assert math.isnan(result.p_value)
    assert result.refusal == "9 tasks with all agents; the test needs at least 10"


def test_too_few_failures_are_refused() -> None:
    table = np.zeros((30, 2, 5))
    table[:4, 0, 0] = 1
    assert profile_test(table, rng=rng()).refusal == "4 failures in all; the test needs at least 10"


def test_tasks_that_lack_an_agent_are_left_out_and_counted() -> None:
    table = failures(rng(), 30, np.array([PROFILE, PROFILE]))
    table[3, 1] = np.nan
    table[5, 0, 2] = np.nan  # one axis only: the task stays
    result = profile_test(table, rng=rng())
    assert (result.n_clusters, result.n_missing) == (29, 1)
    assert not math.isnan(result.p_value)


@pytest.mark.parametrize("shape", [(12, 5), (12, 1, 5), (12, 2, 1)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="tasks x agents x axes"):
        profile_test(np.zeros(shape), rng=rng())


def rejection_rate(tasks: int, rates: NDArray[np.float64], replicates: int) -> float:
    source = rng()
    p_values = [profile_test(failures(source, tasks, rates), rng=source).p_value for _ in range(replicates)]
    return float(np.nanmean(np.array(p_values) <= 0.05))


@pytest.mark.slow
def test_type_one_error_is_held() -> None:
    """Monte Carlo error of 400 replicates at .05 is .011."""
    assert rejection_rate(24, np.array([PROFILE, PROFILE]), 400) <= 0.085


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [12, 24, 50])
@pytest.mark.parametrize("shift", [0.0, 0.2, 0.4])
def test_type_one_error_is_held_when_the_overall_rate_differs(tasks: int, shift: float) -> None:
    """Monte Carlo error of 1,500 replicates at .05 is .006."""
    assert rejection_rate(tasks, np.array([PROFILE, PROFILE + shift]), 1_500) <= 0.07


@pytest.mark.slow
def test_power_grows_with_tasks() -> None:
    rates = np.array([PROFILE, PROFILE[::-1]])
    assert rejection_rate(12, rates, 300) < rejection_rate(24, rates, 300) < rejection_rate(50, rates, 300)
