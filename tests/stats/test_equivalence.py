"""Equivalence of two judges and drift of one: hand-made cases, error rates by simulation, refusals."""

import math

import numpy as np
import pytest
from scipy import stats

from axisjudge.checks import InputError
from axisjudge.stats.betting import evidence_of_runs
from axisjudge.stats.comparisons.equivalence import drift, equivalence
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_proportion

ALWAYS = Estimate(estimate=1.0, n_items=100, n_clusters=100)


def flipped(n, up, down, rng, *, failing=0.3):
    """An old judge's verdicts and a new one's, which turns `up` of the passed ones and `down` of the failed."""
    old = (rng.random(n) < failing).astype(float)
    turned = rng.random(n) < np.where(old == 1, down, up)
    return old, np.where(turned, 1 - old, old)


def test_both_conditions_are_needed_and_each_says_why_it_fails():
    old = np.repeat([1.0, 0.0], [60, 140])
    new = old.copy()
    new[:20], new[60:80] = 0.0, 1.0  # a tenth flips each way: no shift at all
    found = equivalence(old, new, new == old, self_agreement=ALWAYS, margin=0.1)
    assert found.shift.estimate == 0.0
    assert -0.1 < found.shift.ci_low < found.shift.ci_high < 0.1
    assert not found.equivalent
    assert found.reasons == ("agreement may be as low as 0.750, where the old judge reaches 1.000 with itself",)
    once = equivalence(old, old, np.ones(200))
    assert once.reasons == ("the old judge was asked once, so that its agreement with itself is not known",)
    assert equivalence(old, old, np.ones(200), self_agreement=ALWAYS).equivalent


def test_a_judge_that_never_differs_is_bounded_by_the_share_that_could():
    same = np.zeros(40)
    found = equivalence(same, same, np.ones(40), self_agreement=ALWAYS)
    bound = clustered_proportion(np.zeros(40), ci_level=0.9).ci_high
    assert (found.shift.ci_low, found.shift.ci_high) == (-bound, bound)
    assert not found.equivalent  # 40 items cannot show a shift below .05
    assert "beyond 0.05" in found.reasons[0]


def test_few_tasks_show_nothing():
    rng = np.random.default_rng(1)
    old, new = flipped(20, 0.1, 0.1, rng)
    found = equivalence(old, new, old == new, self_agreement=ALWAYS, clusters=np.arange(20) // 4)
    assert found.shift.ci_high - found.shift.ci_low > 0.3
    assert not found.equivalent
    one_task = equivalence(old, new, old == new, self_agreement=ALWAYS, clusters=np.zeros(20))
    assert one_task.reasons[0].startswith("the shift has no interval: all values are of one task")


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "runs"), [(56, 1), (100, 1), (28, 4)])
def test_few_one_way_flips_do_not_pass_the_margin_on_a_short_standard_error(tasks, runs):
    """A shift of exactly the margin, all of it upwards: a t interval passes it in .11 to .18 of such runs."""
    rng = np.random.default_rng(6)
    own = Estimate(estimate=0.5, n_items=9, n_clusters=9)  # the second condition is out of the way
    passed = 0
    for _ in range(600):
        task_share = rng.beta(0.05 * 4, 0.95 * 4, tasks) if runs > 1 else np.full(tasks, 0.05)  # mean .05, ICC .2
        new = (rng.random(tasks * runs) < np.repeat(task_share, runs)).astype(float)
        clusters = np.repeat(np.arange(tasks), runs)
        found = equivalence(np.zeros(new.size), new, new == 0, self_agreement=own, clusters=clusters)
        passed += found.equivalent
    assert passed / 600 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)


def test_verdicts_that_are_lost_are_not_taken_for_equal_ones():
    same, lost = np.zeros(400), np.zeros(400)
    lost[:80] = np.nan
    equal = np.where(np.isnan(lost), np.nan, 1.0)
    found = equivalence(same, lost, equal, self_agreement=ALWAYS)
    assert found.reasons == ("80 of 400 items lack a verdict of one of the two judges, a share beyond 0.05",)


def test_the_margin_is_rarely_passed_by_a_judge_that_stands_on_it():
    """A shift of exactly the margin: up - down weighted by .7 and .3 is .05; agreement alone would pass."""
    rng = np.random.default_rng(2)
    poor = Estimate(estimate=0.90, n_items=100, n_clusters=100)
    passed = 0
    for _ in range(1000):
        old, new = flipped(300, 0.05 / 0.7, 0.0, rng)
        passed += equivalence(old, new, old == new, self_agreement=poor).equivalent
    assert passed / 1000 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_equal_judges_are_found_equivalent_where_there_is_enough_to_see():
    rng = np.random.default_rng(3)
    found = [
        equivalence(old, new, old == new, self_agreement=Estimate(estimate=0.96, n_items=9, n_clusters=9)).equivalent
        for old, new in (flipped(600, 0.02, 0.05, rng) for _ in range(100))
    ]
    assert np.mean(found) > 0.9


@pytest.mark.slow
def test_the_stop_rule_stops_a_steady_judge_rarely_however_often_it_looks():
    rng = np.random.default_rng(4)
    tasks = np.arange(120) // 4
    stops = 0
    for _ in range(300):
        truth = rng.random(120) < 0.3
        noisy = [np.where(rng.random(120) < 0.08, ~truth, truth).astype(float) for _ in range(9)]
        stops += any(each.stop for each in drift(noisy, clusters=tasks, rng=rng))
    assert stops / 300 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize("n_runs", [1, 3])
def test_repeats_of_one_occasion_that_share_its_day_do_not_stop_a_judge_that_never_changes(n_runs):
    """A deviation of SD .1 (probit) is common to all repeats of an occasion: as independent they stop a third."""
    rng, called = np.random.default_rng(21), 0
    for _ in range(100):
        latent = np.repeat(0.7 * rng.standard_normal((30, 1)), 4, axis=0) + rng.standard_normal((120, 1)) - 0.8
        days = 0.1 * rng.standard_normal(10)
        occasions = [(latent + day + 0.5 * rng.standard_normal((120, n_runs)) > 0).astype(float) for day in days]
        evidence = evidence_of_runs(occasions)
        called += evidence is not None and evidence.stopped_at is not None
    assert called / 100 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)
    assert evidence_of_runs(occasions[:4]) is None


def test_without_a_seed_drift_says_the_same_twice():
    said = (np.random.default_rng(0).random((3, 60)) < 0.4).astype(float)
    first, second = ([(each.change.p_value, each.change.change.in_short) for each in drift(said)] for _ in range(2))
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize("n_runs", [1, 3])
def test_whole_runs_that_lie_off_do_not_stop_a_judge_that_never_changes(n_runs):
    """Each run shifts all of its items by .2 on the probit scale; items alone would stop most of these studies."""
    rng, tasks = np.random.default_rng(14), np.arange(120) // 4
    stops = 0
    for _ in range(60):
        latent = rng.standard_normal((120, 1)) + 0.5
        occasions = [
            (latent + 0.3 * rng.standard_normal((120, n_runs)) + 0.2 * rng.standard_normal(n_runs) < 0).astype(float)
            for _ in range(6)
        ]
        stops += any(each.stop for each in drift(occasions, clusters=tasks, rng=rng))
    assert stops / 60 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 60)


def test_a_changed_judge_is_stopped():
    rng = np.random.default_rng(5)
    old, new = flipped(200, 0.25, 0.0, rng)
    runs = [np.where(rng.random((200, 3)) < 0.01, 1 - each[:, None], each[:, None]) for each in (*[old] * 4, new, new)]
    found = drift(runs, clusters=np.arange(200) // 2)
    assert [each.stop for each in found][:4] == [False] * 3 + [True]
    assert [each.noise for each in found] == ["not_measured"] * 3 + ["measured"] * 2
    once = drift([old, old, new], clusters=np.arange(200) // 2)
    assert [(each.stop, each.noise) for each in once] == [(False, "not_measured")] * 2
    assert [each.allowed for each in found[3:]] == [0.05, 0.05]
    assert found[3].change.change.estimate == pytest.approx((new - old).mean(), abs=0.03)
    assert once[1].change.change.estimate == pytest.approx((new - old).mean())


def test_an_occasion_without_any_change_has_an_interval_too():
    change = drift([np.zeros(40), np.zeros(40)])[0].change.change
    bound = clustered_proportion(np.zeros(40)).ci_high
    assert (change.estimate, change.ci_low, change.ci_high) == (0.0, -bound, bound)


def test_tasks_and_draws_bound_what_can_be_stopped():
    three = drift([np.zeros(12), np.zeros(12)], clusters=np.arange(12) // 4)[0]
    assert not three.in_reach  # the smallest p of three tasks is .25
    assert drift([np.tile([0.0, 1.0], 20)] * 2)[0].in_reach


def test_bad_input_is_told():
    with pytest.raises(InputError, match="two or more"):
        drift([np.zeros(3)])
    with pytest.raises(InputError, match="one entry for each"):
        equivalence(np.zeros(3), np.zeros(4), np.zeros(3))
    with pytest.raises(InputError, match="margin"):
        equivalence(np.zeros(3), np.zeros(3), np.ones(3), margin=0)


def test_the_limits_of_both_conditions_belong_to_them():
    """Of 100 items 5 may be lost; agreement may be less by the margin, its bound of .9 being Clopper and Pearson's."""
    old, lost = np.zeros(400), np.zeros(400)
    lost[:20] = np.nan
    bound = clustered_proportion(np.ones(380), ci_level=0.9).ci_low
    for above, met in ((-1e-9, True), (1e-9, False)):
        own = Estimate(estimate=bound + 0.05 + above, n_items=9, n_clusters=9)
        found = equivalence(old, lost, np.where(np.isnan(lost), np.nan, 1.0), self_agreement=own)
        assert (found.equivalent, found.shift.ci_level, found.margin, found.level) == (met, 0.9, 0.05, 0.05)


def test_how_far_an_occasion_may_lie_off_is_a_prediction_interval_of_those_before():
    """t on 3 degrees x SD of four means x sqrt(1 + 1/4); five tasks cannot show .05 (1 in 16), six can."""
    share, items = np.array([0.2, 0.3, 0.25, 0.4, 0.5]), np.arange(100) / 100
    found = drift([(items < each).astype(float) for each in share])
    assert [math.isnan(each.threshold) for each in found] == [True] * 3 + [False]
    expected = stats.t.ppf(0.975, 3) * np.std(share[:4], ddof=1) * math.sqrt(1.25)
    assert found[-1].threshold == pytest.approx(expected)
    assert [each.number for each in found] == [2, 3, 4, 5]
    reach = [drift([np.zeros(30)] * 2, clusters=np.arange(30) % n)[0].in_reach for n in (5, 6)]
    assert reach == [False, True]
    assert drift([np.zeros(30)] * 2, clusters=np.arange(30) % 5, level=1 / 16)[0].in_reach


def test_repeats_of_an_occasion_are_averaged_over_those_that_are_there():
    first = [[1, 0], [0, np.nan], [np.nan, np.nan], [0, 0]]
    (only,) = drift([first, [[1, 1], [1, 1], [1, 1], [0, 1]]])
    assert (only.change.change.estimate, only.change.change.n_items) == (pytest.approx((0.5 + 1 + 0.5) / 3), 3)
    with pytest.raises(InputError, match="items x runs"):
        drift([np.zeros((2, 2, 2))] * 2)
