"""The decision rule of the calibration loop: its error rates by simulation, and every branch of it."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import t
from version_worlds import word_of, world

from axisjudge.stats.comparisons.paired import holm
from axisjudge.stats.comparisons.progress import (
    FEWEST_TASKS,
    LEVEL,
    MARGIN,
    POWER,
    ProgressReason,
    adjusted,
    decide,
    excludes_margin,
    moved,
    run_noise,
    tasks_needed,
)
from axisjudge.stats.comparisons.ranking import standard_error


def rates(runs, **how):
    rng = np.random.default_rng(20261121)
    counts = Counter(word_of(*world(rng, **how)) for _ in range(runs))
    return {word: count / runs for word, count in counts.items()}


def within(share, level, runs):
    """Whether a simulated share is not above a level by more than 3 Monte Carlo errors."""
    return share <= level + 3 * math.sqrt(level * (1 - level) / runs)


@pytest.mark.slow
def test_no_change_is_seldom_called_progress_and_a_real_change_is_found():
    same = rates(60, tasks=30)
    assert within(same.get("progress", 0) + same.get("worse", 0), LEVEL, 60)
    assert rates(20, tasks=30, hit=(0.75, 0.93)).get("progress", 0) >= POWER
    assert rates(20, tasks=30, hit=(0.93, 0.75)).get("worse", 0) >= POWER


def test_hedging_is_called_hedging():
    found = rates(30, tasks=30, hedge=-0.15)
    assert within(found.get("progress", 0), LEVEL / 2, 30)
    assert found["hedging only"] >= 0.9


def test_without_repeats_nothing_is_called_progress_or_worse():
    found = rates(20, tasks=30, repeats=1, hit=(0.75, 0.93))
    assert "progress" not in found
    assert found["noise not measured"] >= POWER


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [12, 25, 50])
@pytest.mark.parametrize("how", [{}, {"drift": 0.2}, {"hedge": -0.15}], ids=["same", "drift", "hedging"])
def test_progress_is_false_in_at_most_one_of_twenty(tasks, how):
    found = rates(1000, tasks=tasks, **how)
    print(tasks, how, found)
    assert within(found.get("progress", 0) + found.get("worse", 0), LEVEL if "drift" not in how else 2 * LEVEL, 1000)
    assert within(found.get("progress", 0), LEVEL, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [25, 50])
def test_a_change_of_the_margin_is_seldom_called_none(tasks):
    """hit .80 to .895 moves agreement by .10 (checked below)."""
    rng = np.random.default_rng(1)
    codes = [world(rng, tasks=400, hit=(0.80, 0.895))[0] for _ in range(20)]
    agree = np.mean([(each[:, :, 0] == each[:, :, 1]).mean(axis=(1, 2)) for each in codes], axis=0)
    assert agree[1] - agree[0] == pytest.approx(MARGIN, abs=0.01)
    found = rates(1000, tasks=tasks, hit=(0.80, 0.895))
    print(tasks, found)
    assert within(found.get("no change", 0), LEVEL, 1000)


def change_of(per_task, repeats=3):
    """One item a task, both versions repeated without noise."""
    values = np.stack([np.zeros((len(per_task), repeats)), np.repeat(np.array(per_task)[:, None], repeats, axis=1)])
    return moved(values + np.array([0.4, 0.4])[:, None, None], np.arange(len(per_task)))


def test_how_far_tasks_differ_takes_two():
    assert change_of([0.5, 0.1] * 6).task_spread == pytest.approx(np.std([0.5, 0.1] * 6, ddof=1))
    assert math.isnan(change_of([0.5]).task_spread)


def test_fewer_than_ten_tasks_say_nothing():
    decision = decide(change_of([0.5] * (FEWEST_TASKS - 1)), (0.1, 0.9), [])
    assert decision.outcome == "too few items to tell"
    assert decision.needed == FEWEST_TASKS


def test_agreement_that_rises_with_prevalence_alone_is_not_progress():
    risen = change_of([0.3, 0.1, 0.5] * 6)
    assert decide(risen, (0.3, 0.5), []).outcome == "progress"
    for alphas, reason in (((0.3, 0.2), ProgressReason.CHANCE), ((0.3, math.nan), ProgressReason.ONE_WORD)):
        decision = decide(risen, alphas, [])
        assert decision.outcome == "no change"
        assert decision.reasons == (reason,)


def test_a_change_within_the_noise_of_runs_is_not_progress():
    """Runs of one version differ by .4 as a whole; the tasks all say that agreement rose by .2."""
    values = np.stack([np.tile([0.0, 0.4], (20, 1)), np.tile([0.2, 0.6], (20, 1))])
    found = moved(values, np.arange(20))
    assert found.p_adjusted < LEVEL
    assert found.hidden
    assert not found.established
    assert found.noise.spread == pytest.approx(np.std([0, 0.4], ddof=1))
    assert found.noise.degrees == 2
    decision = decide(found, (0.1, 0.5), [])
    assert decision.outcome == "too few items to tell"
    assert decision.lacks_repeats
    enough = (r for r in range(3, 21) if t.ppf(0.95, 2 * r - 2) * np.std([0, 0.4], ddof=1) * math.sqrt(2 / r) < 0.2)
    assert decision.repeats == next(enough)


def test_noise_needs_repeats_of_one_version_at_least():
    once = np.zeros((2, 5, 1))
    assert run_noise(once) is None
    before_only = np.full((2, 5, 2), np.nan)
    before_only[0], before_only[1, :, 0] = [0.2, 0.4], 0.5
    assert run_noise(before_only).repeats == (2, 1)
    assert run_noise(np.full((2, 5, 2), np.nan)) is None


def test_repeats_of_one_occasion_are_one_repeat_of_the_noise():
    """Four occasions of two repeats under B: the noise is that of their four means; of three it is not measured."""
    values = np.random.default_rng(1).random((2, 12, 8))
    days = [[0] + [-1] * 7, [0, 0, 1, 1, 2, 2, 3, 3]]
    means = np.full((2, 12, 4), math.nan)
    means[0, :, 0], means[1] = values[0, :, 0], values[1].reshape(12, 4, 2).mean(axis=2)
    found = moved(values, np.arange(12), occasions=days)
    assert found.noise.spread == pytest.approx(run_noise(means).spread)
    assert moved(values, np.arange(12), occasions=[days[0], [0, 0, 1, 1, 2, 2, 2, 2]]).noise is None


def test_no_change_at_all_needs_29_tasks():
    """.9^29 = .047: had one task in ten changed, one of 29 would have shown it."""
    assert tasks_needed(0.0, 0.0) == 29
    for tasks, word in ((28, "too few items to tell"), (29, "no change")):
        assert decide(change_of([0.0] * tasks), (0.5, 0.5), []).outcome == word


@pytest.mark.slow
def test_needed_tasks_exceed_those_that_did_not_do():
    rng = np.random.default_rng(3)
    for _ in range(200):
        found = change_of(rng.normal(rng.uniform(-0.1, 0.1), 0.3, size=15))
        decision = decide(found, (0.5, 0.6), [])
        if decision.outcome == "too few items to tell":
            assert decision.needed > 15


def test_a_decision_says_whether_noise_was_measured():
    assert not decide(change_of([0.0] * 40, repeats=1), (0.5, 0.5), []).noise_measured
    assert decide(change_of([0.0] * 40), (0.5, 0.5), []).noise_measured


def test_a_change_gives_itself_as_plain_values():
    plain = change_of([0.5, 0.0, 0.5]).to_dict()
    assert plain["n_changed_tasks"] == 2
    assert plain["change"]["estimate"] == pytest.approx(1 / 3)
    assert set(plain["noise"]) == {"spread", "degrees", "threshold", "repeats"}


def test_a_change_up_to_the_threshold_is_noise_and_the_threshold_is_that_of_two_means():
    """Three and two repeats of two items, one item incomplete: SD on 3 degrees, t of .95, sqrt(1/3 + 1/2)."""
    values = np.full((2, 3, 3), math.nan)
    values[0], values[1, :, :2] = [[0.1, 0.2, 0.6], [0.3, 0.2, 0.2], [0, 0, 0]], [[0.4, 0.5], [0.2, 0.3], [1, 1]]
    values[0, 2, 0] = math.nan
    noise = run_noise(values)
    first, second = [0.2, 0.2, 0.4], [0.3, 0.4]
    spread = math.sqrt((2 * np.var(first, ddof=1) + np.var(second, ddof=1)) / 3)
    assert (noise.spread, noise.degrees, noise.repeats) == (pytest.approx(spread), 3, (3, 2))
    assert noise.threshold == pytest.approx(t.ppf(0.95, 3) * spread * math.sqrt(1 / 3 + 1 / 2))
    assert [noise.hides(each * noise.threshold) for each in (1, -1, 1.01, -1.01)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("change", "spread", "needed"),
    [  # ((1.960 + 0.8416) SD / delta)^2, delta the larger of the change and what is left of .1; 10 at least
        (0.0, 0.3, 71),
        (-0.08, 0.3, 111),
        (0.03, 0.3, 145),
        (0.2, 0.01, FEWEST_TASKS),
        (0.2, 0.0, FEWEST_TASKS),
        (0.0, math.nan, None),
        (math.nan, 0.1, None),
    ],
)
def test_tasks_that_would_tell_by_hand(change, spread, needed):
    assert tasks_needed(change, spread) == needed


@pytest.mark.parametrize(
    ("mean", "spread", "excluded"), [(0, 0.25, True), (0, 0.255, False), (0.05, 0.12, True), (-0.05, 0.13, False)]
)
def test_a_margin_is_excluded_by_the_90_percent_interval_of_20_tasks(mean, spread, excluded):
    """Half of tasks at mean + s and half at mean - s: t_.95 on 19 degrees x s / sqrt(19) = .397 s."""
    assert excludes_margin(change_of([mean + spread, mean - spread] * 10)) == excluded


def test_a_fall_is_worse_whatever_alpha_does_and_without_repeats_noise_is_not_measured():
    for alphas in ((0.3, 0.5), (0.3, 0.1), (0.3, math.nan)):
        fallen = decide(change_of([-0.3, -0.1, -0.5] * 6), alphas, [])
        assert (fallen.outcome, fallen.reasons) == ("worse", (ProgressReason.FELL,))
    for sign, reason in ((-1, ProgressReason.FELL_UNREPEATED), (1, ProgressReason.ROSE_UNREPEATED)):
        once = decide(change_of([sign * 0.3, sign * 0.1] * 9, repeats=1), (0.3, 0.5), [])
        assert (once.outcome, once.reasons, once.noise_measured) == ("noise not measured", (reason,), False)
    equal = decide(change_of([0.3, 0.1] * 9), (0.3, 0.3), [])
    assert equal.outcome == "progress"  # alpha did not fall


def test_tasks_of_unlike_sizes_spread_as_the_standard_error_of_the_mean_says():
    """SE x sqrt(tasks); p values adjusted by Holm over both changes."""
    task, values = np.repeat(np.arange(6), [1, 2, 3, 4, 1, 1]), np.random.default_rng(2).random((2, 12, 1))
    found = moved(values, task)
    error = standard_error(values[1, :, 0] - values[0, :, 0], task)
    assert found.task_spread == pytest.approx(error * math.sqrt(6))
    both = adjusted([found, change_of([0.5, 0.1] * 6)])
    assert [each.p_adjusted for each in both] == holm([each.p_value for each in both]).tolist()
