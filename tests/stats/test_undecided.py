"""Worst and best case of agreement: against trying every way to fill the gaps."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axisjudge.stats.agreement.chance_corrected import (
    agreement_coefficients,
    case_bounds,
    cohen_kappa,
    kappa_when_decided,
    set_aside,
)

CELL = st.sampled_from([0.0, 1.0, math.nan])


def kappa(matrix):
    first, second = matrix.T
    observed = (first == second).mean()
    expected = first.mean() * second.mean() + (1 - first.mean()) * (1 - second.mean())
    return math.nan if expected == 1 else (observed - expected) / (1 - expected)


def all_fillings(matrix):
    gaps = np.argwhere(np.isnan(matrix))
    for words in itertools.product((0.0, 1.0), repeat=len(gaps)):
        filled = matrix.copy()
        filled[tuple(gaps.T)] = words
        yield filled


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=9))
def test_bounds_are_those_of_trying_everything(rows):
    matrix = np.array(rows)
    if np.isnan(matrix).sum() > 8:
        return
    found = case_bounds(matrix, categories=[0, 1])
    percent = [(filled[:, 0] == filled[:, 1]).mean() for filled in all_fillings(matrix)]
    assert (found.percent_worst, found.percent_best) == pytest.approx((min(percent), max(percent)))
    kappas = [value for filled in all_fillings(matrix) if not math.isnan(value := kappa(filled))]
    if kappas:
        # a filling that leaves one category only has no kappa; the others bound it
        assert found.kappa_worst == pytest.approx(min(kappas), nan_ok=True)
        if not math.isnan(found.kappa_best):
            assert found.kappa_best == pytest.approx(max(kappas))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=3))
def test_three_raters(rows):
    matrix = np.array(rows)
    found = case_bounds(matrix, categories=[0, 1])
    pairs = list(itertools.combinations(range(3), 2))
    percent = [np.mean([filled[:, i] == filled[:, j] for i, j in pairs]) for filled in all_fillings(matrix)]
    assert (found.percent_worst, found.percent_best) == pytest.approx((min(percent), max(percent)))
    assert math.isnan(found.kappa_worst)


def test_lost_and_uncertain_verdicts_are_counted():
    correct, incorrect, uncertain = 0.0, 1.0, 2.0
    ratings = [[correct, correct]] * 7 + [[incorrect, uncertain]] * 2 + [[math.nan, correct]]
    decided = set_aside(ratings, [uncertain])
    found = case_bounds(decided, categories=[correct, incorrect])
    assert (found.n_items, found.n_undecided) == (10, 3)
    assert (found.percent_worst, found.percent_best) == (0.7, 1.0)
    table = agreement_coefficients(decided, ["percent_agreement", "cohen_kappa"])
    assert "one category" in table["cohen_kappa"].reason
    assert table["percent_agreement"].estimate == 1  # what leaving the undecided out would say


def test_no_items():
    assert math.isnan(case_bounds(np.empty((0, 2)), categories=[0, 1]).percent_best)


def judged(rng, n_tasks=20, n=8):
    """Two judges on tasks of `n` items, who agree on four items of five."""
    task = np.repeat(np.arange(n_tasks), n)
    one = (rng.random(task.size) < rng.random(n_tasks)[task]).astype(float)
    return np.column_stack([one, np.where(rng.random(task.size) < 0.2, 1 - one, one)]), task


def test_without_a_gap_kappa_keeps_its_own_interval():
    matrix, task = judged(np.random.default_rng(1))
    plain = cohen_kappa(matrix, categories=[0, 1], clusters=task)
    found = kappa_when_decided(matrix, categories=[0, 1], clusters=task)
    assert found == pytest.approx((plain.ci_low, plain.ci_high))


@pytest.mark.parametrize("gaps", ["one judge", "both"])
def test_the_interval_holds_that_of_every_filling_that_was_tried(gaps):
    rng = np.random.default_rng(2)
    matrix, task = judged(rng)
    holed = matrix.copy()
    lost = rng.random(len(matrix)) < 0.1
    holed[lost, 1] = math.nan
    if gaps == "both":
        holed[lost] = math.nan
    low, high = kappa_when_decided(holed, categories=[0, 1], clusters=task, rng=0)
    bounds = case_bounds(holed, categories=[0, 1])
    assert low < bounds.kappa_worst < bounds.kappa_best < high
    for _ in range(20):
        filled = np.where(np.isnan(holed), rng.integers(0, 2, holed.shape), holed)
        one = cohen_kappa(filled, categories=[0, 1], clusters=task, rng=0)
        assert low <= one.ci_low + 0.02  # a filling between the extremes may have a larger error
        assert one.ci_high - 0.02 <= high


def test_counts_of_patterns_give_what_items_give():
    rng = np.random.default_rng(3)
    matrix, task = judged(rng)
    matrix[rng.random(matrix.shape) < 0.15] = math.nan
    rows, at, times = np.unique(np.column_stack([task, matrix]), axis=0, return_inverse=True, return_counts=True)
    assert len(at) == len(task)
    one = kappa_when_decided(matrix[np.lexsort((matrix[:, 1], matrix[:, 0], task))], categories=[0, 1], clusters=task)
    counted = kappa_when_decided(rows[:, 1:], categories=[0, 1], clusters=rows[:, 0].astype(int), times=times)
    assert one == pytest.approx(counted)


def test_three_judges_or_three_words_have_no_such_interval():
    assert all(math.isnan(end) for end in kappa_when_decided([[0, 1]] * 20, categories=[0, 1, 2]))
    assert all(math.isnan(end) for end in kappa_when_decided(np.empty((0, 2)), categories=[0, 1]))
    assert all(math.isnan(end) for end in kappa_when_decided(np.zeros((4, 3)), categories=[0, 1]))
