"""Confidence against labels: scikit-learn, identities, and figures from spec."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.stats import binom
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import brier_score_loss, roc_auc_score

from axisjudge.checks import InputError
from axisjudge.stats.calibration import (
    auroc,
    expected_calibration_error,
    isotonic_fit,
    reliability_curve,
    risk_coverage,
)

PAIRS = st.lists(st.tuples(st.floats(0, 1).map(lambda c: round(c, 2)), st.integers(0, 1)), min_size=1, max_size=60).map(
    lambda rows: np.array(rows, dtype=float).T
)


def calibrated(n, rng):
    confidence = rng.uniform(0.5, 1, n).round(2)
    return confidence, (rng.random(n) < confidence).astype(float)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(1, 9)), min_size=1, max_size=40))
def test_pooling_adjacent_violators_equals_scikit_learn(rows):
    values, weights = np.array(rows, dtype=float).T
    assert isotonic_fit(values, weights) == pytest.approx(isotonic_regression(values, sample_weight=weights), abs=1e-9)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(PAIRS)
def test_the_decomposition_adds_up_and_no_part_is_negative(pairs):
    confidence, correct = pairs
    found = reliability_curve(confidence, correct)
    assert found.brier == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty)
    assert found.brier == pytest.approx(brier_score_loss(correct, confidence, pos_label=1), abs=1e-12)
    assert min(found.miscalibration, found.discrimination, found.uncertainty) >= -1e-12
    assert (np.diff(found.calibrated) >= -1e-12).all()


def test_corp_by_hand():
    """Confidences .6, .8 (twice each), correct 1, 0 and 1, 1: the fit is .5 and 1, the share .75."""
    found = reliability_curve([0.6, 0.6, 0.8, 0.8], [1, 0, 1, 1])
    assert found.calibrated == pytest.approx([0.5, 1.0])
    assert found.uncertainty == pytest.approx(0.1875)
    assert found.discrimination == pytest.approx(0.1875 - 0.125)
    assert found.brier == pytest.approx((0.16 + 0.36 + 0.04 + 0.04) / 4)


def test_ece_of_a_calibrated_judge_of_fifty_items_is_far_from_nought():
    """About .09 in 10 bins at n = 50 for confidences of .6 to 1: why the consistency band stands beside it."""
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(400):
        confidence = rng.uniform(0.6, 1, 50)
        errors.append(expected_calibration_error(confidence, rng.random(50) < confidence))
    assert np.mean(errors) == pytest.approx(0.089, abs=0.01)
    curve = reliability_curve(*calibrated(50, rng))
    assert curve.ece_if_calibrated > 0.05
    assert curve.ece < 3 * curve.ece_if_calibrated


@pytest.mark.slow
def test_a_calibrated_judge_stays_in_the_band_and_an_overconfident_one_leaves_it():
    rng = np.random.default_rng(2)
    inside = [
        ((found.band_low <= found.calibrated) & (found.calibrated <= found.band_high)).mean()
        for found in (reliability_curve(*calibrated(200, rng), rng=rng) for _ in range(60))
    ]
    assert np.mean(inside) >= 0.87
    wrong = reliability_curve(np.full(200, 0.95), rng.random(200) < 0.6)
    assert wrong.calibrated[0] < wrong.band_low[0]


@settings(deadline=None)
@given(PAIRS)
def test_auroc_equals_scikit_learn(pairs):
    confidence, correct = pairs
    found = auroc(confidence, correct)
    if 0 < correct.sum() < correct.size:
        assert found.estimate == pytest.approx(roc_auc_score(correct, confidence))
    else:
        assert math.isnan(found.estimate)
        assert found.reason


def test_the_jackknife_of_auroc_leaves_whole_clusters_out():
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(12), 5)
    confidence, correct = calibrated(60, rng)
    auc = [roc_auc_score(correct[clusters != g], confidence[clusters != g]) for g in range(12)]
    logit = np.log(np.array(auc) / (1 - np.array(auc)))
    error = math.sqrt(11 / 12 * ((logit - logit.mean()) ** 2).sum())
    found = auroc(confidence, correct, clusters=clusters)
    centre = math.log(found.estimate / (1 - found.estimate))
    sizes = [np.bincount(clusters[correct == outcome]) for outcome in (0, 1)]
    fewest = min(size.sum() ** 2 / (size**2).sum() for size in sizes)  # effective clusters of the rarer outcome
    t = scipy_stats.t.ppf(0.975, fewest - 1)
    assert found.ci_low == pytest.approx(1 / (1 + math.exp(t * error - centre)), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_tasks", "size", "rate", "alike"), [(35, 4, 0.1, 0.9), (50, 3, 0.08, 0.6), (80, 4, 0.05, 0.8)]
)
def test_auroc_is_covered_where_few_tasks_hold_what_fails(n_tasks, size, rate, alike):
    """.802, .814 and .672 of 120 on the degrees of all tasks; a fifth of the tasks is judged the other way round."""
    rng, task, covered = np.random.default_rng(78), np.repeat(np.arange(n_tasks), size), []
    for _ in range(120):
        chance = rng.beta(rate * (1 - alike) / alike, (1 - rate) * (1 - alike) / alike, n_tasks)
        correct = (rng.random(task.size) < chance[task]).astype(float)
        found = auroc(np.where((rng.random(n_tasks) < 0.2)[task], 1 - correct, correct), correct, clusters=task)
        if not math.isnan(found.ci_low):
            covered.append(found.ci_low <= 0.8 <= found.ci_high)
    assert np.mean(covered) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "size"), [(12, 4), (50, 4), (200, 1)])
def test_intervals_of_auroc_cover(n_clusters, size):
    """Scores N(delta y + task, 1) with a task effect of variance .4 in both score and outcome."""
    rng = np.random.default_rng([n_clusters, size])

    def sample(clusters):
        task = 0.6 * rng.standard_normal(clusters.max() + 1)[clusters]
        correct = (rng.standard_normal(clusters.size) + task < 0.5).astype(float)
        score = rng.standard_normal(clusters.size) + 0.8 * correct + task
        return 1 / (1 + np.exp(-score)), correct

    truth = auroc(*sample(np.arange(400_000))).estimate
    clusters = np.repeat(np.arange(n_clusters), size)
    found = [auroc(*sample(clusters), clusters=clusters) for _ in range(1000)]
    offered = [each for each in found if not math.isnan(each.ci_low)]
    assert len(offered) > 800
    assert np.mean([each.ci_low <= truth <= each.ci_high for each in offered]) >= 0.93


def test_risk_and_coverage():
    found = risk_coverage([0.9, 0.9, 0.7, 0.5], [1, 0, 1, 0])
    assert found.threshold == pytest.approx([0.9, 0.7, 0.5])
    assert found.coverage == pytest.approx([0.5, 0.75, 1.0])
    assert found.risk == pytest.approx([1 / 2, 1 / 3, 1 / 2])
    assert found.area == pytest.approx((2 * 1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_equal_confidences():
    assert auroc(np.full(40, 0.9), np.arange(40) % 2).estimate == 0.5
    curve = reliability_curve(np.full(40, 0.9), np.arange(40) % 2)
    assert curve.discrimination == pytest.approx(0)
    assert repr(curve) == "ReliabilityCurve(Brier 0.410 = 0.160 - 0.000 + 0.250, 40 items)"  # (.9 - .5)^2 and .5 x .5
    assert risk_coverage(np.full(4, 0.9), [1, 0, 1, 0]).risk == pytest.approx([0.5])
    alike = reliability_curve(np.full(40, 0.9), np.arange(40) % 4 < 2, clusters=np.arange(40) // 2)
    assert alike.band_high[0] - alike.band_low[0] > 1.2 * (curve.band_high[0] - curve.band_low[0])


def test_missing_is_counted_and_nonsense_refused():
    assert reliability_curve([0.9, math.nan, 0.4], [1, 1, math.nan]).n_missing == 2
    assert math.isnan(expected_calibration_error([math.nan], [1]))
    for call, message in (
        (lambda: reliability_curve([95.0], [1]), r"confidence: must lie in \[0, 1\]; found"),
        (lambda: reliability_curve([0.5], [2]), "correct: must be 0, 1 or NaN"),
        (lambda: reliability_curve([0.5], [1, 0]), "correct: needs one entry"),
        (lambda: reliability_curve([], []), "at least one item"),
        (lambda: risk_coverage([], []), "at least one item"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_of_one_confidence_the_band_is_that_of_a_binomial_and_clusters_stretch_it():
    """70 of 100 expected: 5% on either side; 25 tasks of four equal items move by the root of their design effect."""
    confidence, correct = np.full(100, 0.7), np.arange(100) % 10 < 7
    found = reliability_curve(confidence, correct)
    ends = binom.ppf([0.05, 0.95], 100, 0.7) / 100
    assert (found.band_low[0], found.band_high[0]) == pytest.approx(tuple(ends), abs=0.011)
    k = np.arange(101)
    apart = (np.abs(k / 100 - 0.7) * binom.pmf(k, 100, 0.7)).sum()
    assert found.ece_if_calibrated == pytest.approx(apart, rel=0.06)
    wide = reliability_curve(confidence, np.repeat(np.arange(25) < 17, 4), clusters=np.repeat(np.arange(25), 4))
    assert wide.band_high[0] - wide.band_low[0] == pytest.approx(2 * (found.band_high[0] - found.band_low[0]), rel=0.1)
    narrow = reliability_curve(confidence, correct, band_level=0.5)
    assert narrow.band_high[0] == pytest.approx(binom.ppf(0.75, 100, 0.7) / 100, abs=0.011)


def test_ece_by_hand():
    """Bins of a quarter: .1 and .2 with one of two right, .25 and 1 each in a bin above its edge or closed."""
    found = expected_calibration_error([0.1, 0.2, 0.25, 1.0], [1, 0, 1, 0], bins=4)
    assert found == pytest.approx((2 * 0.35 + 0.75 + 1.0) / 4)
