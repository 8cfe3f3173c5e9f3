"""What a judge may decide alone, with the chance of granting it wrongly, and which items are read first."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from axisjudge.checks import InputError
from axisjudge.stats.clusters import ERROR_ICC
from axisjudge.stats.escalation import _error_icc, _speak_for, decides_alone, thresholds, triage


def clustered_errors(rate, tasks, rng, icc=0.25):
    score = math.sqrt(icc) * rng.standard_normal(tasks.max() + 1)[tasks]
    score += math.sqrt(1 - icc) * rng.standard_normal(tasks.size)
    return (score < norm.ppf(rate)).astype(float)


def granted(replicates, tasks, rng):
    """How often something is granted to a judge whose error is exactly .1 at every confidence: it never may be."""
    n = 0
    for _ in range(replicates):
        n += not decides_alone(rng.random(tasks.size), clustered_errors(0.1, tasks, rng), tasks).refusal
    return n / replicates


@pytest.mark.slow
def test_a_judge_that_errs_at_the_limit_is_rarely_let_alone():
    assert granted(200, np.repeat(np.arange(25), 12), np.random.default_rng(1)) <= 0.05 + 0.031  # two errors of .05


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[12] * 12, [12] * 50, [round(size) for size in np.geomspace(60, 2, 50)]], ids=len)
def test_the_chance_of_letting_it_alone_wrongly_is_at_most_five_in_a_hundred(sizes):
    assert granted(1000, np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(2)) <= 0.05 + 0.014


def test_a_judge_whose_confidence_tells_is_let_alone_above_a_threshold_that_keeps_the_bound():
    rng = np.random.default_rng(3)
    sure = rng.uniform(0.5, 1, 2000)
    wrong = (rng.random(2000) > sure).astype(float)
    found = decides_alone(sure, wrong, np.repeat(np.arange(200), 10), risk=0.1)
    assert not found.refusal
    assert found.error.ci_high <= 0.1
    assert found.share == pytest.approx((sure >= found.threshold).mean())
    assert wrong[sure >= found.threshold].mean() == pytest.approx(found.error.estimate)
    stricter = decides_alone(sure, wrong, np.repeat(np.arange(200), 10), risk=0.05)
    assert stricter.share < found.share


def test_how_errors_gather_in_tasks_is_seen_where_there_are_errors():
    """12 tasks of 60 items, 1 error in 30 sure items of each: the unsure ones err in each task alike, or in half."""
    tasks, sure = np.repeat(np.arange(12), 60), np.tile(np.r_[np.full(30, 0.95), np.full(30, 0.6)], 12)
    errors = np.tile(np.r_[np.eye(30)[0], np.arange(30) % 2], 12).astype(float)
    in_half = np.where((sure < 0.9) & (tasks % 2 == 0), 1.0, np.where(sure < 0.9, 0.0, errors))
    bounds = [decides_alone(sure, each, tasks, risk=0.2).tests[0].error for each in (errors, in_half)]
    assert bounds[0].estimate == bounds[1].estimate == 1 / 30
    assert bounds[0].ci_high < 0.7 * bounds[1].ci_high


def test_the_correlation_of_errors_is_the_design_effect_seen_joined_with_the_one_expected():
    """By hand: 6 tasks of 4 items, in 2 of which all err, so that each task is worth one item.

    V = K / (K - 1) sum U_c^2 over V0 = n / (n - 1) sum u_i^2 is 4 (6 / 5) / (24 / 23); the expected d0 = 1 + 3 x .2 has
    f0 = min(12, 4 (1.6 / .6)^2) = 12 degrees, f = 5, and it gives way by g = 2 (1 - s), nothing where s = 1.
    """
    tasks, errors = np.repeat(np.arange(6), 4), np.repeat([1.0, 0, 0, 1, 0, 0], 4)
    assert _error_icc(errors, tasks, np.ones(24)) == pytest.approx(1)
    errors[[0, 12]], errors[[4, 8]] = 0, 1  # two of the tasks have three errors of four, two have one
    p = errors.mean()
    u = (errors - p) / 24
    ratio = (6 / 5 * (u.reshape(6, 4).sum(axis=1) ** 2).sum()) / (24 / 23 * (u**2).sum())
    kurtosis = 3 * p * (1 - p) / (1 - 3 * p * (1 - p))  # 3 over that of ones and zeros
    seen, held = 5 * min(1, kurtosis), 12 * min(1, 2 * (1 - (ratio - 1) / 3))
    joined = (held * 1.6 + seen * ratio) / (held + seen)
    assert _error_icc(errors, tasks, np.ones(24)) == pytest.approx((joined - 1) / 3)
    assert _error_icc(errors, np.arange(24), np.ones(24)) == ERROR_ICC  # every item its own task


def test_labels_that_speak_for_few_items_decide_nothing():
    """90 labels of a kind always drawn and 2 of one drawn once in 200, which is nearly all that there is."""
    weights = np.r_[np.ones(90), np.full(2, 200.0)]
    found = decides_alone(np.r_[np.linspace(0.6, 0.9, 90), 0.95, 0.99], np.zeros(92), weights=weights)
    assert found.share == 0
    assert "labels drawn with so uneven probabilities speak for too few items" in found.refusal


def test_too_few_labels_one_confidence_and_no_labels_are_refused_with_their_reason():
    sure = np.linspace(0.5, 1, 10)
    assert "10 labelled items" in decides_alone(sure, np.zeros(10)).refusal
    assert "same everywhere" in decides_alone(np.full(50, 0.9), np.zeros(50)).refusal
    assert "no item" in decides_alone(sure, np.full(10, np.nan)).refusal
    assert "cannot be excluded" in decides_alone(np.linspace(0.5, 1, 200), np.ones(200)).refusal
    with pytest.raises(InputError):
        decides_alone(sure, np.zeros(9))


# Triage: counts by hand, order of reading, confidences that carry nothing.


def test_the_two_by_two_by_hand():
    ratings = [[1, 1], [1, 0], [0, 0], [1, 0]]
    confidence = [[0.9, 0.8], [0.9, 0.8], [0.6, 0.5], [0.5, 0.4]]
    found = triage(ratings, confidence)
    assert (found.agree_sure, found.disagree_sure, found.agree_unsure, found.disagree_unsure) == (1, 1, 1, 1)
    assert found.read_first == (3, 1, 2)  # the sure agreement needs no reading
    assert found.mean_when_disagreeing == pytest.approx([0.7, 0.6])
    assert found.mean_when_agreeing == pytest.approx([0.75, 0.65])


def test_scales_of_judges_do_not_matter_only_their_own_order():
    rng = np.random.default_rng(1)
    ratings = rng.integers(0, 2, (60, 2))
    confidence = rng.random((60, 2))
    first = triage(ratings, confidence)
    second = triage(ratings, np.column_stack([confidence[:, 0] ** 4, confidence[:, 1] / 3]))
    assert first.read_first == second.read_first
    assert first.auc.estimate == second.auc.estimate


def test_confidence_that_says_where_judges_disagree():
    rng = np.random.default_rng(2)
    score = rng.standard_normal((300, 1)) + 0.6 * rng.standard_normal((300, 2))
    informed = triage(score > 0, 1 - np.exp(-np.abs(score)))
    blind = triage(score > 0, rng.random((300, 2)))
    assert informed.auc.ci_low > 0.5
    assert blind.auc.ci_low < 0.5 < blind.auc.ci_high
    assert informed.agreement_sure.estimate > informed.agreement_unsure.estimate


def test_equal_confidences_make_everything_sure_and_rank_nothing():
    found = triage([[1, 1], [1, 0]] * 20, np.full((40, 2), 0.9))
    assert found.agree_unsure == found.disagree_unsure == 0
    assert math.isnan(found.agreement_unsure.estimate)
    assert found.agreement_unsure.reason
    assert found.auc.estimate == 0.5


def test_missing_is_counted_and_positions_are_those_of_the_input():
    found = triage([[math.nan, 1], [1, 0], [1, 1]], [[0.9, 0.9], [0.9, 0.9], [0.9, math.nan]])
    assert found.n_missing == 2
    assert found.read_first == (1,)
    with pytest.raises(InputError, match="no item has a verdict and a confidence"):
        triage([[math.nan, 1]], [[0.5, 0.5]])
    with pytest.raises(InputError, match="shape of the ratings"):
        triage([[1, 1]], [[0.5]])


def test_a_judge_that_decides_nothing_leaves_the_agreement_of_the_others_as_it_is():
    rng = np.random.default_rng(4)
    ratings, confidence = rng.integers(0, 2, (80, 2)).astype(float), rng.random((80, 2))
    silent = np.full((80, 1), math.nan)
    two, three = triage(ratings, confidence), triage(np.hstack([ratings, silent]), np.hstack([confidence, silent + 1]))
    assert (two.agree_sure, two.disagree_unsure, two.n_missing) == (three.agree_sure, three.disagree_unsure, 0)
    assert two.read_first == three.read_first


def test_thresholds_stand_at_even_steps_of_the_items():
    """A twentieth of the items from the most confident down, at the confidence that so many reach at least."""
    ends = thresholds(np.arange(1, 108) / 107)
    assert ends.tolist() == pytest.approx([math.ceil(107 * step / 20) / 107 for step in range(19, 0, -1)] + [1 / 107])
    assert thresholds(np.array([0.9, 0.9, 0.5])).tolist() == [0.9, 0.5]


def test_labels_speak_for_items_where_they_are_worth_fifty_and_stand_for_all_but_an_error():
    everything = np.ones(200, dtype=bool)
    even = np.where(np.arange(200) < 100, 3.0, 1.0)
    assert _speak_for(even, everything, everything, np.arange(200) > 98)  # up to three times as heavy
    heavy = np.where(np.arange(200) < 100, 1.0, 4.0)
    for n_labels, answer in ((50, True), (49, False)):  # even weights inside, a heavy label outside
        inside = np.arange(200) < 100
        labelled = (np.arange(200) < n_labels) | (np.arange(200) >= 188)
        assert _speak_for(heavy, inside, everything, labelled) == answer, n_labels
    for n_heavy, answer in ((20, True), (21, False)):  # 64 by weight for half of the items: .889 and .865 beside 7/8
        labelled = (np.arange(200) < 64) | (np.arange(200) >= 200 - n_heavy)
        assert _speak_for(heavy, np.arange(200) < 100, everything, labelled) == answer, n_heavy
