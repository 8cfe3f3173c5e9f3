"""Differences between strata: interval and test agree, nothing is called where nothing is, a planted bias is seen."""

import math
from dataclasses import replace

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.stats.comparisons.paired import holm
from axisjudge.stats.estimate import Estimate, difference_ends
from axisjudge.stats.fairness import Fair, fair_shares, post_stratified_sum, share_difference, stratum_shares
from axisjudge.stats.proportions import clustered_proportion, wilson_interval


def world(rng, n_tasks=24, agents=4, bias=0.0, icc=0.3, sizes=(1, 3, 6)):
    """Tasks of unequal size with their own sensitivity about .75; agent 0 is met `bias` less often."""
    own = rng.beta(0.75 * (1 / icc - 1), 0.25 * (1 / icc - 1), n_tasks)
    task = np.repeat(np.arange(n_tasks), rng.choice(sizes, n_tasks) * agents)
    agent = np.tile(np.arange(agents), task.size // agents)
    right = (rng.random(task.size) < own[task] * np.where(agent == 0, 1 - bias, 1)).astype(float)
    return right, np.array([f"a{number}" for number in agent], dtype=object), task


def test_a_difference_of_two_proportions_by_newcombe():
    """56 of 70 less 48 of 80: Newcombe (1998), table II, example (a), method 10: .0524 to .3339."""
    shares = [clustered_proportion([1] * hits + [0] * (n - hits)) for hits, n in ((56, 70), (48, 80))]
    ends = [wilson_interval(share.estimate * share.n_items, share.n_items) for share in shares]
    found = share_difference(
        *(replace(s, ci_low=low, ci_high=high) for s, (low, high) in zip(shares, ends, strict=True))
    )
    assert (found.ci_low, found.ci_high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_interval_and_test_agree_on_every_stratum():
    for seed in range(4):
        for each in stratum_shares(*world(np.random.default_rng(seed), bias=0.4)):
            excludes = not each.difference.ci_low <= 0 <= each.difference.ci_high
            assert excludes == (each.p_value < 0.05)


def test_two_strata_mirror_each_other():
    right, agent, task = world(np.random.default_rng(1), agents=2)
    one, other = stratum_shares(right, agent, task)
    assert one.difference.estimate == pytest.approx(-other.difference.estimate)
    assert one.p_value == pytest.approx(other.p_value)
    assert one.difference.n_clusters == 24


def false_calls(replicates, **how):
    rng, called = np.random.default_rng(3), 0
    for _ in range(replicates):
        called += min(holm([each.p_value for each in stratum_shares(*world(rng, **how))])) <= 0.05
    return called


def test_fair_judges_are_rarely_called_unfair_and_a_planted_bias_is_seen():
    assert false_calls(40) <= 5
    assert false_calls(20, bias=0.6) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"n_tasks": 8}, {"n_tasks": 24}, {"n_tasks": 60, "sizes": (1, 1, 10)}, {"icc": 0.02}])
def test_no_stratum_is_called_too_often(how):
    assert false_calls(1000, **how) <= 50 + 3 * math.sqrt(1000 * 0.05 * 0.95)


@pytest.mark.slow
def test_strata_of_whole_tasks_are_not_called_too_often():
    """Domains: every task lies in one stratum, so that its items hang together within it."""
    rng, called = np.random.default_rng(5), 0
    for _ in range(1000):
        right, _, task = world(rng, n_tasks=30)
        domain = np.array([f"d{each % 3}" for each in task], dtype=object)
        called += min(holm([each.p_value for each in stratum_shares(right, domain, task)])) <= 0.05
    assert called <= 50 + 3 * math.sqrt(1000 * 0.05 * 0.95)


def test_rates_of_strata_join_by_size():
    small, large = (Estimate(estimate=p, ci_low=p - 0.1, ci_high=p + 0.1, n_items=9, n_clusters=9) for p in (0.2, 0.6))
    joined = post_stratified_sum([small, large], [10, 30])
    assert joined.estimate == pytest.approx(0.5)
    assert joined.ci_high - joined.estimate == pytest.approx(math.hypot(0.1 * 0.25, 0.1 * 0.75))
    refused = Estimate(estimate=math.nan, n_items=0, n_clusters=0, reason="no labels")
    assert post_stratified_sum([small, refused], [1, 1]).reason == "no labels"


def test_one_stratum_is_refused_and_items_of_none_do_not_count():
    with pytest.raises(InputError, match="two or more"):
        stratum_shares([1, 0], ["a", None])
    found = stratum_shares([1.0, 0.0, 1.0, 1.0], ["a", "b", None, "a"])
    assert [each.share.n_items for each in found] == [2, 1]


def test_judges_are_tested_together_and_each_difference_is_bounded_together_with_all_others():
    """Two judges by one measure over two agents, one of which one judge meets seldom: a family of four."""
    rng = np.random.default_rng(2)
    right, agent, task = world(rng, agents=2, bias=0.8)
    even = (rng.random(right.size) < 0.7).astype(float)
    found = fair_shares({("biased", "met"): right, ("even", "met"): even}, agent, task)
    assert [(each.judge, each.of.stratum) for each in found] == [
        (j, a) for j in ("biased", "even") for a in ("a0", "a1")
    ]
    assert [each.p_adjusted for each in found] == pytest.approx(holm([each.of.p_value for each in found]))
    wide = stratum_shares(right, agent, task, ci_level=1 - 0.05 / 4)[0].difference
    assert found[0].within == max(abs(wide.ci_low), abs(wide.ci_high))
    assert [each.answer for each in found] == [Fair.DIFFERS] * 2 + [Fair.NOT_SHOWN] * 2
    none = fair_shares({("a", "met"): np.where(agent == "a0", right, math.nan)}, agent, task)
    assert [each.answer for each in none] == [Fair.NOT_TRIED] * 2
    certain = stratum_shares(np.where(agent == "a0", 0.0, 1.0), agent, np.arange(right.size) // 2)
    assert certain[0].p_value == 1e-6  # the least that is told


def test_shares_of_a_task_move_together_by_what_its_residuals_show_less_an_error():
    """Correlation of tasks' residuals r, less 1 / sqrt(16 - 3) on Fisher's z; of nine tasks none is taken."""
    rng, stratum = np.random.default_rng(4), np.tile(["a", "a", "b", "b"], 16)
    task = np.repeat(np.arange(16), 4)
    right = (rng.random(64) < (rng.random(16) < 0.5)[task] * 0.7 + 0.15).astype(float)
    of = [np.bincount(task[stratum == name], right[stratum == name] - right[stratum == name].mean()) for name in "ab"]
    r = (of[0] @ of[1]) / math.sqrt((of[0] @ of[0]) * (of[1] @ of[1]))
    for n_tasks, taken in ((16, math.tanh(math.atanh(r) - 1 / math.sqrt(13))), (9, 0)):
        kept = task < n_tasks
        first, second = stratum_shares(right[kept], stratum[kept], task[kept])
        ends = difference_ends(first.share, second.share, taken)
        assert (first.difference.ci_low, first.difference.ci_high) == pytest.approx(ends)
    assert 0.2 < r < 0.99


def test_a_p_value_is_the_level_at_which_the_interval_just_holds_0():
    first, _ = stratum_shares([1] * 18 + [0] * 2 + [1] * 10 + [0] * 10, ["a"] * 20 + ["b"] * 20)
    for level, held in ((1 - 0.99 * first.p_value, True), (1 - 1.01 * first.p_value, False)):
        first, _ = stratum_shares([1] * 18 + [0] * 2 + [1] * 10 + [0] * 10, ["a"] * 20 + ["b"] * 20, ci_level=level)
        assert (first.difference.ci_low <= 0) == held
    alike, _ = stratum_shares([1, 0] * 20, ["a"] * 20 + ["b"] * 20)
    assert alike.p_value > 0.99
    apart, _ = stratum_shares([1] * 200 + [0] * 200, ["a"] * 200 + ["b"] * 200)
    assert apart.p_value == 1e-6
