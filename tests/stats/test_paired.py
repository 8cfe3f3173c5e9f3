"""Paired change: exact sign flips, level under shared tasks."""

import itertools
import math

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.stats.clusters import clustered_variance
from axisjudge.stats.comparisons.paired import (
    _inverted,
    _leaning_p,
    holm,
    mean_change,
    monte_carlo_p,
    paired_change,
    paired_sign_flip,
    sign_flips,
)
from axisjudge.stats.proportions import clopper_pearson_interval


def test_one_side_is_half_of_the_signs_that_both_sides_have():
    """Three tasks one way: 1 in 8 flips reaches their sum, 2 in 8 on either side; the other way all of them do."""
    rng = np.random.default_rng(0)
    assert paired_sign_flip([1, 1, 2], rng=rng, one_sided=True) == (1 / 8, 0.0)
    assert paired_sign_flip([-1, -1, -2], rng=rng, one_sided=True) == (1.0, 0.0)
    assert paired_sign_flip([1, 1, 2], rng=rng) == (2 / 8, 0.0)
    assert paired_sign_flip([1, 1, -2], rng=rng, one_sided=True, mid_p=True)[0] == 4 / 8  # 5 of 8 reach 0, 2 just so


def test_all_sign_patterns_by_hand():
    tasks = np.array([2.0, 1.0, -1.0, 3.0])
    totals = [abs(np.dot(signs, tasks)) for signs in itertools.product((-1, 1), repeat=4)]
    found = paired_change(np.zeros(4), tasks)
    assert found.p_value == np.mean([total > 5 for total in totals]) + np.mean([total == 5 for total in totals]) / 2
    together = paired_change(np.zeros(8), np.repeat(tasks, 2), clusters=np.repeat(np.arange(4), 2))
    assert together.p_value == np.mean([total >= 5 for total in totals])
    assert found.smallest_p == 2 / 16


def test_five_tasks_can_never_reach_five_percent():
    """The published design: 5 tasks x 4 agents, every single item improved."""
    found = paired_change(np.zeros(20), np.ones(20), clusters=np.repeat(np.arange(5), 4))
    assert found.p_value == found.smallest_p == 1 / 16
    assert found.change.estimate == 1


@pytest.mark.slow
def test_the_level_holds_where_mcnemar_on_items_fails():
    """No change on average, but tasks move together."""
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(12), 4)
    by_task, by_item = [], []
    for _ in range(250):
        task = rng.standard_normal(12)[clusters]
        before = (rng.standard_normal(48) + 1.2 * task > 0).astype(float)
        after = (rng.standard_normal(48) - 1.2 * task > 0).astype(float)
        by_task.append(paired_change(before, after, clusters=clusters, rng=rng).p_value)
        by_item.append(paired_change(before, after, rng=rng).p_value)
    assert np.mean(np.array(by_task) <= 0.05) <= 0.08
    assert np.mean(np.array(by_item) <= 0.05) > 0.15


def test_power_is_there():
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(30), 4)
    before = (rng.random(120) < 0.5).astype(float)
    found = paired_change(before, np.maximum(before, rng.random(120) < 0.4), clusters=clusters)
    assert found.p_value < 0.01
    assert found.change.ci_low > 0


def test_no_change_at_all():
    found = paired_change([1, 0, 1], [1, 0, 1])
    assert (found.p_value, found.smallest_p, found.change.estimate) == (1, 1, 0)
    undefined = paired_change([math.nan], [1])
    assert undefined.change.reason
    assert math.isnan(undefined.p_value)


def test_messages():
    with pytest.raises(InputError, match="after: needs one entry"):
        paired_change([1, 0], [1])


def test_a_few_changes_one_way_have_the_interval_of_the_share_that_changes():
    """A standard error of three changes in 100 would give -.004 to .064; the shares allow .006 to .085 (exact)."""
    change = np.zeros(100)
    change[:3] = 1.0
    found = mean_change(change)
    low, high = clopper_pearson_interval(3, 100)
    none = clopper_pearson_interval(0, 100)[1]
    assert found.estimate == 0.03
    assert found.ci_high == pytest.approx(0.03 + (high - 0.03))
    assert found.ci_low == pytest.approx(0.03 - math.hypot(0.03 - low, none))
    assert "MOVER" in found.method


@pytest.mark.slow
def test_few_changes_are_covered():
    """One-sided error of the upper bound at a shift of .05 one way; .025 wanted, plus Monte Carlo error."""
    rng = np.random.default_rng(6)
    missed = [mean_change((rng.random(100) < 0.05).astype(float)).ci_high < 0.05 for _ in range(2000)]
    assert np.mean(missed) <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 2000)


def test_flips_are_counted_out_up_to_as_many_as_may_be_drawn():
    rng = np.random.default_rng(0)
    flips, exact = sign_flips(3, rng, draws=8)
    assert (exact, sorted(map(tuple, flips))) == (True, sorted(itertools.product((-1, 1), repeat=3)))
    drawn, exact = sign_flips(3, rng, draws=7)
    assert (exact, drawn.shape, set(drawn.ravel())) == (False, (7, 3), {-1, 1})
    assert paired_sign_flip([1, math.nan, 1, 0, 2], rng=rng, draws=8) == (2 / 8, 0)  # zeros and holes have no sign


def test_a_p_value_counts_what_reaches_the_observed_sum_and_of_draws_that_sum_too():
    """Phipson and Smyth (2010): (1 + b) / (1 + m), here 3 of 4, error sqrt(3/4 x 1/4 / 3); 2 is 2 but for rounding."""
    reference = np.array([1.0, 2.0, 3.0])
    for observed in (2.0, 2.0 + 1e-12):
        assert monte_carlo_p(reference, observed, exact=True) == (2 / 3, 0.0)
        assert monte_carlo_p(reference, observed, exact=False) == (3 / 4, 0.25)


def test_a_mid_p_is_never_less_than_differences_of_one_sign_can_give():
    """Three of one sign: 1 of 8 flips on a side, counted whole; as half of a tie it would be 1 of 16."""
    rng = np.random.default_rng(0)
    assert paired_sign_flip([1, 1, 2], rng=rng, mid_p=True)[0] == 2 / 8
    assert paired_sign_flip([1, 1, 2], rng=rng, mid_p=True, one_sided=True)[0] == 1 / 8


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [  # by hand: times 3, 2, 1 from the smallest on, never falling, 1 at most
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5, 0.01, 0.6], [1.0, 0.03, 1.0]),
        ([0.02, math.nan], [0.04, math.nan]),
    ],
)
def test_holm_by_hand(p_values, adjusted):
    assert holm(p_values) == pytest.approx(adjusted, nan_ok=True)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_an_interval_ends_where_flipping_whole_tasks_begins_to_reject(shift):
    """Twelve tasks of 1 to 3 items: of an end the test of the changes less that end tells inside from outside."""
    rng = np.random.default_rng(3)
    task = np.repeat(np.arange(12), [1, 2, 3] * 4)
    change = shift + 0.1 * task + rng.normal(size=task.size)
    found = paired_change(np.zeros(task.size), change, clusters=task, ci_level=0.9).change
    assert found.method == "sign flips of whole tasks, inverted"
    for end, inwards in ((found.ci_low, 1e-4), (found.ci_high, -1e-4)):
        inside, outside = (
            paired_sign_flip(np.bincount(task, weights=change - at), rng=rng)[0]
            for at in (end + inwards, end - inwards)
        )
        assert outside <= 0.1 < inside


def test_changes_in_both_directions_five_times_each_have_an_interval_of_their_own():
    """With four of one direction it is that of the two shares, which the sample of 40 tasks joins."""
    for rarer, joined in ((4, True), (5, False)):
        change = np.r_[np.ones(12), -np.ones(rarer), np.zeros(24)]
        assert mean_change(change).method.startswith("MOVER") == joined
        assert mean_change(-change).method.startswith("MOVER") == joined
    halves = np.r_[np.full(3, 0.5), np.zeros(30)]  # no word turns: the mean's own
    assert "linearised" in mean_change(halves).method


def test_of_more_than_500_units_the_interval_is_that_of_the_mean():
    change = np.r_[np.tile([1.0, -1.0, 0.0, 0.0], 125), 0.0]
    inverted, own = (paired_change(np.zeros(n), change[:n]).change for n in (500, 501))
    assert inverted.method == "sign flips of whole tasks, inverted"
    assert (own.ci_low, own.ci_high) == (mean_change(change).ci_low, mean_change(change).ci_high)


def test_what_the_test_keeps_the_interval_holds():
    """Twelve items near 1: t leaves 0 out at any level, yet the test keeps it at 2 flips of 4,096."""
    found = paired_change(np.zeros(12), 1 + np.arange(12) / 100, ci_level=0.9999).change
    assert (found.ci_low, found.ci_high > 1) == (0, True)
    down = paired_change(1 + np.arange(12) / 100, np.zeros(12), ci_level=0.9999).change
    assert down.ci_high == 0


def test_where_larger_tasks_change_more_p_is_that_of_the_side_that_reaches_further():
    """Nearly all of the change is in 2 of 22 tasks, of 30 items: few flips reach as far, yet two tasks say little."""
    task = np.repeat(np.arange(22), [30, 30] + [1] * 20)
    change = np.where(task < 2, 1.0, np.where(task % 4 == 0, 1.0, 0.0))
    change[task == 3] = -1.0
    total = np.bincount(task, weights=change)
    down, up = (paired_change(np.zeros(task.size), sign * change, clusters=task) for sign in (-1, 1))
    assert down.p_value == up.p_value >= paired_sign_flip(total, rng=np.random.default_rng(0))[0]


@pytest.mark.parametrize("tasks", [[3, 1, 4, -1, 5, 2, 6, 1], [-3, -1, -4, 1, -5, -2, -6, -1]])
def test_an_inverted_test_keeps_what_lies_between_its_ends_and_nothing_beyond(tasks):
    """Every sign pattern by hand: the p value of a change is the share of patterns that reach as far from it."""
    totals, sizes = np.array(tasks, dtype=float), np.array([1, 2, 1, 3, 1, 2, 1, 4.0])
    patterns = np.array(list(itertools.product((-1, 1), repeat=len(tasks))))

    def p_of(change):
        residuals = totals - change * sizes
        return (abs(patterns @ residuals) >= abs(residuals.sum()) - 1e-9).mean()

    low, high = _inverted(totals, sizes, 0.05, 9.0, np.random.default_rng(0))
    assert -9 < low < totals.sum() / sizes.sum() < high < 9
    assert all(p_of(change) > 0.05 for change in np.linspace(low + 1e-3, high - 1e-3, 21))
    assert max(p_of(low - 1e-3), p_of(high + 1e-3)) <= 0.05
    nearer = _inverted(totals, sizes, 0.05, 0.5, np.random.default_rng(0))
    assert (nearer[1] == 0.5) if tasks[0] > 0 else (nearer[0] == -0.5)  # no farther than it is asked


@pytest.mark.parametrize("sign", [1, -1])
def test_a_lean_speaks_for_the_side_whose_end_it_lengthens(sign):
    """Three large tasks change alike and small ones not: nothing is left to flips of signs on that side."""
    sizes = np.array([1] * 16 + [2] * 6 + [12, 15, 20])
    task = np.repeat(np.arange(sizes.size), sizes)
    change = sign * np.where(sizes[task] > 5, 1.0, np.random.default_rng(0).choice([-1, 0, 0], task.size))
    variance = clustered_variance((change - change.mean()) / task.size, task)
    assert _leaning_p(sign * 0.1, variance) == 0
    assert 0.5 < _leaning_p(-sign * 0.1, variance) < 1
