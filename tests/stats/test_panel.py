"""What independent judges would say together."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.stats.agreement.effective import (
    any_judge_rate,
    coincidence_test,
    consensus_rate,
    independent_panel,
)
from axisjudge.stats.proportions import clopper_pearson_interval

rates = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def test_a_larger_panel_finds_more_false_failures() -> None:
    """The project's definitions: at specificity .95, 9.8% false failures with 2 judges and 26% with 6."""
    assert any_judge_rate([0.05] * 2) == pytest.approx(0.0975)
    assert any_judge_rate([0.05] * 6) == pytest.approx(0.2649, abs=5e-5)


@given(rates)
def test_consensus_and_any_judge_bound_every_single_judge(own: list[float]) -> None:
    assert consensus_rate(own) <= min(own) + 1e-12
    assert any_judge_rate(own) >= max(own) - 1e-12


@given(rates)
def test_any_judge_is_the_complement_of_nobody(own: list[float]) -> None:
    assert any_judge_rate(own) == pytest.approx(1 - consensus_rate([1 - rate for rate in own]))


def test_independent_panel_multiplies_the_judges_own_rates() -> None:
    said = np.array([[1, 1], [1, 0], [0, 0], [0, 0]])
    panel = independent_panel(said, list("abcd"))
    assert panel.any_judge.estimate == pytest.approx(1 - 0.5 * 0.75)
    assert panel.consensus.estimate == pytest.approx(0.5 * 0.25)
    assert panel.any_judge.ci_low < panel.any_judge.estimate < panel.any_judge.ci_high
    assert (panel.any_judge.n_items, panel.any_judge.n_clusters, panel.any_judge.n_raters) == (4, 4, 2)


def test_a_judge_that_gave_no_verdict_has_no_share_in_the_item() -> None:
    """Judge 2 speaks on half of the items only: the consensus is asked of that half, the any-judge rate of all."""
    said = np.array([[1, 1], [0, 0], [1, math.nan], [0, math.nan]])
    panel = independent_panel(said, list("abcd"))
    assert panel.any_judge.n_items == 4
    assert panel.consensus.n_items == 2
    assert panel.any_judge.estimate == pytest.approx((0.75 + 0.75 + 0.5 + 0.5) / 4)
    assert panel.consensus.estimate == pytest.approx(0.25)


def test_one_judge_has_no_consensus_and_says_why() -> None:
    panel = independent_panel(np.array([[1], [0], [0]]), list("abc"))
    assert math.isnan(panel.consensus.estimate)
    assert "2 or more judges" in panel.consensus.reason


@pytest.mark.parametrize("own", [[], [1.2], [[0.1]]])
def test_rates_that_are_none_are_refused(own: list[float]) -> None:
    with pytest.raises(InputError, match="one rate in"):
        any_judge_rate(own)


@pytest.mark.parametrize(("tasks", "rate"), [(12, 0.3), (24, 0.1)])
def test_interval_covers_what_independent_judges_give(tasks: int, rate: float) -> None:
    """True value: two judges that err independently at `rate` give 1 - (1 - rate)^2; 4 runs a task, no task effect."""
    rng = np.random.default_rng(20)
    truth = any_judge_rate([rate, rate])
    clusters = np.repeat(np.arange(tasks), 4)
    intervals = [
        independent_panel((rng.random((tasks * 4, 2)) < rate).astype(float), clusters).any_judge for _ in range(300)
    ]
    covered = np.mean([interval.ci_low <= truth <= interval.ci_high for interval in intervals])
    assert covered >= 0.93


def judged(source: np.random.Generator, tasks: int, shared: float) -> np.ndarray:
    """Verdicts of three judges on 4 runs a task: real failures that all see, and errors of their own."""
    real = source.random((tasks, 4, 1)) < shared
    habit = source.random((tasks, 1, 3)) * 0.3
    return (real | (source.random((tasks, 4, 3)) < habit)).astype(float)


def test_coincidence_by_hand() -> None:
    """Two judges that fail the same 5 of 10 single-run tasks: the chance that a deal matches all is 1 / C(10, 5)."""
    said = np.zeros((10, 1, 2))
    said[:5] = 1
    result = coincidence_test(said, rng=np.random.default_rng(2))
    assert result.observed == 5
    assert result.expected == pytest.approx(2.5, abs=0.05)
    assert result.p_value == pytest.approx(1 / 252, abs=0.003)


@pytest.mark.slow
def test_independent_errors_are_held_at_their_level_although_judges_have_task_habits() -> None:
    """Monte Carlo error of 300 replicates at .05 is .013."""
    rng = np.random.default_rng(4)
    p_values = [coincidence_test(judged(rng, 24, 0.0), rng=rng).p_value for _ in range(300)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.09


def test_real_failures_are_seen() -> None:
    rng = np.random.default_rng(4)
    assert coincidence_test(judged(rng, 24, 0.15), rng=rng).p_value < 0.01


def test_coincidence_refuses_few_tasks_and_a_lone_judge() -> None:
    rng = np.random.default_rng(4)
    assert "9 tasks" in coincidence_test(np.ones((9, 1, 2)), rng=rng).refusal
    alone = np.ones((12, 1, 2))
    alone[:, :, 1] = np.nan
    assert "two judges" in coincidence_test(alone, rng=rng).refusal
    assert math.isnan(coincidence_test(alone, rng=rng).p_value)


def test_ends_are_those_of_the_judges_own_intervals_which_hold_together() -> None:
    """Two judges at 97.5% each: 1 - (1 - a)(1 - b) and a b of their lower ends, and of their upper ones."""
    said = np.array([[1, 1]] * 3 + [[1, 0]] * 4 + [[0, 1]] * 2 + [[0, 0]] * 15)
    panel = independent_panel(said, np.arange(24))
    own = [clopper_pearson_interval(k, 24, ci_level=0.975) for k in (7, 5)]
    for at, end in enumerate(("ci_low", "ci_high")):
        a, b = own[0][at], own[1][at]
        assert getattr(panel.any_judge, end) == pytest.approx(1 - (1 - a) * (1 - b))
        assert getattr(panel.consensus, end) == pytest.approx(a * b)
