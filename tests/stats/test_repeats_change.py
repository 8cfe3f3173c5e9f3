"""Change between repeats of one task: Welch's interval, and sets whose repeats never differ."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from axisjudge.stats.comparisons.equivalence import (
    least_change,
    mean_bounds,
    repeats_above,
    repeats_change,
    repeats_to_exclude,
    split_chance,
    unseen_share,
)


def test_where_repeats_differ_it_is_welchs_interval():
    before, after = [90, 94, 97, 91], [70, 85, 78]
    change = repeats_change(before, after)
    interval = stats.ttest_ind(after, before, equal_var=False).confidence_interval(0.95)
    assert (change.ci_low, change.ci_high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(("n_before", "n_after"), [(1, 1), (3, 3), (2, 5), (6, 1)])
def test_the_chance_of_a_split_is_the_most_that_any_probability_gives(n_before, n_after):
    grid = np.linspace(0, 1, 10_001)
    assert split_chance(n_before, n_after) == pytest.approx((grid**n_before * (1 - grid) ** n_after).max(), abs=1e-6)


def test_equal_repeats_tell_a_collapse_from_three_on_each_side_on():
    assert repeats_change([94] * 3, [0] * 3).ci_high == -94
    few = repeats_change([94] * 2, [0] * 2)
    assert math.isnan(few.ci_high)
    assert "too few" in few.reason
    assert math.isnan(repeats_change([94] * 3, [0] * 3, ci_level=0.99).ci_high)
    assert math.isnan(repeats_change([94] * 3, [94] * 3).ci_low)
    assert math.isnan(repeats_change([94] * 2, [94] * 2).ci_low)
    assert math.isnan(repeats_change([94], [0, 0, 0]).ci_low)


def test_a_coin_shows_a_fall_no_more_often_than_the_level_leaves():
    """All sets of four and four runs that score 0 or 100 by a coin, counted out: falls shown where there is none."""
    shown = np.zeros(2)
    grid = (0.5, 0.8)
    for flips in product((0, 100), repeat=8):
        if repeats_change(flips[:4], flips[4:]).ci_high < 0:
            heads = sum(flip == 100 for flip in flips)
            shown += [p**heads * (1 - p) ** (8 - heads) for p in grid]
    assert (shown > 0).all()
    assert (shown <= 0.06).all(), shown


def test_nothing_varied_excludes_only_what_would_have_shown():
    """The bound on n zeros or ones is Clopper and Pearson's; equal repeats leave what n draws miss at .05."""
    assert unseen_share(14) == pytest.approx(1 - 0.05 ** (1 / 14))
    sure = [100.0] * 4000  # its mean has no room above
    for n in (3, 14, 60):
        assert least_change(sure, [100.0] * n, scale=(0, 100)) == pytest.approx(-100 * unseen_share(n), abs=0.6)
    falls = [0.0] * 3 + [100.0] * 17
    assert least_change(sure, falls, scale=(0, 100)) == pytest.approx(100 * stats.beta.ppf(0.05, 17, 4) - 100, abs=0.6)
    change = repeats_change([90] * 3, [90] * 3, scale=(0, 100))
    assert change.ci_low < -50 < 0 < change.ci_high <= 100


@pytest.mark.parametrize(("share", "depth", "n_after"), [(0.2, 50, 3), (0.2, 50, 15), (0.06, 90, 60), (0.3, 20, 40)])
def test_a_rare_fall_is_seldom_excluded(share, depth, n_after):
    """Runs of 90 of which a share falls: the bound lies above the true change in at most .05 of studies (.93 rule)."""
    from collections import Counter

    rng, true = np.random.default_rng(1), -share * depth
    fallen = Counter(rng.binomial(n_after, share, 2000).tolist())
    above = sum(
        times * (least_change([90.0] * 200, [90.0 - depth] * k + [90.0] * (n_after - k), scale=(0, 100)) > true)
        for k, times in fallen.items()
    )
    assert above / 2000 <= 0.07


@pytest.mark.parametrize(("mean", "fall"), [(90, 5), (90, 10), (60, 5), (100, 8)])
def test_as_many_equal_repeats_as_are_named_do_exclude_the_fall_and_a_fifth_fewer_do_not(mean, fall):
    needed = repeats_to_exclude(fall, mean, scale=(0, 100))
    enough, few = math.ceil(1.05 * needed), int(0.8 * needed)
    assert repeats_change([mean] * enough, [mean] * enough, scale=(0, 100)).ci_low >= -fall
    assert repeats_change([mean] * few, [mean] * few, scale=(0, 100)).ci_low < -fall


def test_bounds_of_a_mean_are_clopper_and_pearsons_on_zeros_and_ones():
    low, high = mean_bounds([0.0] * 3 + [100.0] * 17, scale=(0, 100))
    assert low == pytest.approx(100 * stats.beta.ppf(0.05, 17, 4), abs=0.6)
    assert high == pytest.approx(100 * stats.beta.ppf(0.95, 18, 3), abs=0.6)
    assert mean_bounds([80.1], scale=(0, 100))[0] < 5
    needed = math.ceil(repeats_above(80, 95, scale=(0, 100)))
    enough, few = ([95.0] * n for n in (math.ceil(1.1 * needed), int(0.9 * needed)))
    assert mean_bounds(enough, scale=(0, 100))[0] >= 80 > mean_bounds(few, scale=(0, 100))[0]
    assert repeats_above(80, 80, scale=(0, 100)) == math.inf


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 12, 40])
@pytest.mark.parametrize("world", ["rare falls", "uniform", "two kinds", "skewed"])
def test_a_mean_below_the_floor_seldom_holds_it(n, world):
    """The lower bound lies above the true mean in at most .05 of studies (.07 with the noise of 1,000)."""
    rng = np.random.default_rng(n)
    draw, mean = {
        "rare falls": (lambda: np.where(rng.random(n) < 0.1, 0.0, 95.0), 85.5),
        "uniform": (lambda: rng.uniform(60, 100, n), 80.0),
        "two kinds": (lambda: np.where(rng.random(n) < 0.4, 60.0, 100.0), 84.0),
        "skewed": (lambda: 100 * rng.beta(8, 1, n), 100 * 8 / 9),
    }[world]
    above = np.mean([mean_bounds(draw(), scale=(0, 100))[0] > mean for _ in range(1000)])
    assert above <= 0.07


def test_bounds_of_one_run_and_numbers_of_equal_runs_in_closed_form():
    """One run of x: a + .1 x (x - a) at level .9. No room above 100: E / n x 100 = 8 at the exponential's quantile."""
    assert mean_bounds([60.0], scale=(20, 100), level=0.9) == pytest.approx((24, 96), abs=0.5)
    assert repeats_above(80, 95, scale=(10, 100), level=0.9) == pytest.approx(math.log(0.1) / math.log(1 - 15 / 85))
    assert repeats_above(10, 95, scale=(10, 100)) == 1  # any run lies above the scale's end
    assert repeats_to_exclude(8, 100, scale=(0, 100)) == pytest.approx(-math.log(0.025) * 100 / 8, rel=0.02)
    assert repeats_to_exclude(8, 20, scale=(20, 60), ci_level=0.9) == pytest.approx(-math.log(0.05) * 40 / 8, rel=0.02)
    assert repeats_to_exclude(0, 100, scale=(0, 100)) == math.inf


def test_equal_repeats_on_both_sides_leave_at_each_end_what_the_level_leaves():
    """All of 100: after may be lower by what 3 draws miss at .025, before by what 40 do; two say nothing."""
    change = repeats_change([100] * 40, [100] * 3, scale=(0, 100))
    assert change.ci_low == pytest.approx(-100 * unseen_share(3, 0.975), abs=1)
    assert change.ci_high == pytest.approx(100 * unseen_share(40, 0.975), abs=0.6)
    assert math.isnan(repeats_change([100] * 40, [100] * 2, scale=(0, 100)).ci_low)
    assert "scale" in repeats_change([100] * 3, [100] * 3).reason


@pytest.mark.parametrize(("ci_level", "shown"), [(0.968, True), (0.97, False)])
def test_a_collapse_of_three_repeats_is_shown_where_half_of_the_error_is_a_64th_or_more(ci_level, shown):
    assert math.isnan(repeats_change([94] * 3, [0] * 3, ci_level=ci_level).ci_low) != shown
