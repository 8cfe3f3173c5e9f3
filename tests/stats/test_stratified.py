"""Change over repeats of the same tasks."""

import math

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.stats.comparisons.paired import stratified_change


def test_with_one_task_it_is_welchs_interval():
    """Welch's t for two samples, against scipy.stats.ttest_ind(equal_var=False)."""
    from scipy.stats import ttest_ind

    before, after = [27.5, 21.0, 19.0, 23.6, 17.0], [27.1, 22.0, 20.8, 30.4]
    found = stratified_change(before, after, before_strata=["a"] * 5, after_strata=["a"] * 4)
    low, high = ttest_ind(after, before, equal_var=False).confidence_interval(0.95)
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high), abs=1e-9)
    assert found.estimate == pytest.approx(np.mean(after) - np.mean(before))


def test_each_task_counts_alike():
    found = stratified_change(
        [0, 0, 0, 1, 10, 12], [1, 1, 2, 20, 22], before_strata=list("aaaabb"), after_strata=list("aaabb")
    )
    assert found.estimate == pytest.approx((4 / 3 - 0.25 + 10) / 2)
    assert (found.n_items, found.n_clusters) == (11, 2)


def test_only_shared_tasks_enter_and_missing_runs_are_counted():
    found = stratified_change(
        [1, 2, 3, math.nan], [2, 4, 9], before_strata=["a", "a", "b", "a"], after_strata=["a", "a", "c"]
    )
    assert (found.estimate, found.n_items, found.n_clusters, found.n_missing) == (1.5, 4, 1, 1)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ([1.0], [2.0, 3.0], "single run"),
        ([1.0, 1.0], [2.0, 2.0], "all repeats are equal"),
        ([math.nan, math.nan], [2.0, 3.0], "no task has runs in both"),
    ],
)
def test_what_cannot_be_seen_is_said(before, after, reason):
    found = stratified_change(before, after, before_strata=["a"] * len(before), after_strata=["a"] * len(after))
    assert reason in found.reason
    assert math.isnan(found.ci_low)
    assert reason in found.reason


def test_lengths_must_agree():
    with pytest.raises(InputError, match="before_strata"):
        stratified_change([1, 2], [1, 2], before_strata=["a"], after_strata=["a", "a"])


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "repeats"), [(1, 5), (4, 3), (10, 3), (30, 2)])
def test_coverage_over_repeats(tasks, repeats):
    """True change: 2 in every task, normal repeats whose spread differs by task and side; R = 1000."""
    rng = np.random.default_rng(tasks)
    labels = np.repeat(np.arange(tasks), repeats)
    spread = rng.uniform(1, 6, (2, tasks))
    hits = 0
    for _ in range(1000):
        before = rng.normal(50, spread[0][labels])
        after = rng.normal(52, spread[1][labels])
        found = stratified_change(before, after, before_strata=labels, after_strata=labels)
        hits += found.ci_low <= 2 <= found.ci_high
    assert hits / 1000 >= 0.93
