"""Paired change: exact sign flips, level under shared tasks."""

import itertools
import math

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.stats.comparisons.paired import mean_change, paired_change, paired_sign_flip
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
