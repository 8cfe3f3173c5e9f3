"""Case-weighted agreement: what weights must do, its null, its interval."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import t
from sklearn.metrics import cohen_kappa_score

from axisjudge.checks import InputError
from axisjudge.stats.agreement.soft import case_weighted, case_weights, kish_n


def judged(n, rng, *, informative, by_verdict=False, clusters=None):
    """Two judges whose confidence follows the item's clarity (informative), or only their verdict, or nothing."""
    score = rng.standard_normal((n, 1))
    if clusters is not None:
        score = math.sqrt(0.5) * score + math.sqrt(0.5) * rng.standard_normal(clusters.max() + 1)[clusters][:, None]
    seen = math.sqrt(0.6) * score + math.sqrt(0.4) * rng.standard_normal((n, 2))
    ratings = (seen < -0.3).astype(float)
    if informative:
        confidence = 2 * ndtr(np.abs(seen)) - 1
    else:
        confidence = rng.beta(6, 2, (n, 2))
        if by_verdict:
            confidence = np.where(ratings == 1, confidence**4, confidence)
    return ratings, confidence


def test_kish_n():
    assert kish_n([1, 1, 1, 1]) == 4
    assert kish_n([1, 0, 0, 0]) == 1
    assert math.isnan(kish_n([0.0]))


def test_weights_are_products_or_minima():
    confidence = [[0.9, 0.5], [0.2, 0.8]]
    assert case_weights(confidence) == pytest.approx([0.45, 0.16])
    assert case_weights(confidence, "minimum") == pytest.approx([0.5, 0.2])


@pytest.mark.parametrize("combine", ["product", "minimum"])
def test_kappa_equals_scikit_learn_with_sample_weights(combine):
    ratings, confidence = judged(80, np.random.default_rng(1), informative=True)
    found = case_weighted(ratings, confidence, combine=combine)
    theirs = cohen_kappa_score(*ratings.T, sample_weight=case_weights(confidence, combine))
    assert found.weighted == pytest.approx(theirs)
    assert found.unweighted == pytest.approx(cohen_kappa_score(*ratings.T))
    assert found.estimate == pytest.approx(found.weighted - found.unweighted)
    assert found.kish_n < 80


@pytest.mark.parametrize("coefficient", ["cohen_kappa", "gwet_ac1", "krippendorff_alpha", "fleiss_kappa"])
def test_confidence_that_follows_clarity_raises_agreement(coefficient):
    ratings, confidence = judged(400, np.random.default_rng(1), informative=True)
    found = case_weighted(ratings, confidence, coefficient=coefficient)
    assert found.ci_low > 0
    assert found.p_value <= 0.01


@pytest.mark.slow
def test_the_null_of_confidence_by_verdict_alone_holds_its_level():
    """Shuffling within judge alone rejects in nearly every run here; within judge and verdict it must not."""
    rng = np.random.default_rng(5)
    p_values = [
        case_weighted(*judged(60, rng, informative=False, by_verdict=True), rng=rng).p_value for _ in range(200)
    ]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.09  # two standard errors above .05 are .081


@pytest.mark.parametrize("n_clusters", [12, 50])
@pytest.mark.slow
def test_the_interval_of_the_difference_covers(n_clusters, monkeypatch):
    monkeypatch.setattr("axisjudge.stats.agreement.soft.PERMUTATIONS", 1)
    rng = np.random.default_rng(n_clusters)
    many = np.arange(400_000)
    truth = case_weighted(*judged(many.size, rng, informative=True, clusters=many)).estimate
    clusters = np.repeat(np.arange(n_clusters), 4)
    hits = []
    for _ in range(600):
        ratings, confidence = judged(clusters.size, rng, informative=True, clusters=clusters)
        found = case_weighted(ratings, confidence, clusters=clusters)
        if not math.isnan(found.ci_low):
            hits.append(found.ci_low <= truth <= found.ci_high)
    assert np.mean(hits) >= 0.93


def test_items_without_confidence_are_left_out_and_counted():
    ratings, confidence = judged(40, np.random.default_rng(2), informative=True)
    confidence[:5, 0] = math.nan
    found = case_weighted(ratings, confidence)
    assert (found.n_items, found.n_missing) == (35, 5)
    assert found.unweighted == pytest.approx(cohen_kappa_score(*ratings[5:].T))


def test_degenerate_confidences():
    ratings, _ = judged(40, np.random.default_rng(2), informative=True)
    equal = case_weighted(ratings, np.full((40, 2), 0.9))
    assert "all confidences are equal" in equal.reason
    assert equal.estimate == pytest.approx(0)
    assert equal.p_value == 1
    assert equal.kish_n == pytest.approx(40)
    undefined = case_weighted(ratings, np.zeros((40, 2)))
    assert "all weights are nought" in undefined.reason
    assert math.isnan(undefined.estimate)
    undefined = case_weighted(np.ones((20, 2)), np.full((20, 2), 0.5))
    assert "one category" in undefined.reason
    assert math.isnan(undefined.estimate)
    undefined = case_weighted([[1.0, math.nan]], [[0.5, 0.5]])
    assert "no item" in undefined.reason
    assert math.isnan(undefined.estimate)


def test_a_few_clusters_have_no_interval():
    ratings, confidence = judged(20, np.random.default_rng(2), informative=True)
    found = case_weighted(ratings, confidence, clusters=np.arange(20) // 4, cluster_unit="task")
    assert "too few clusters" in found.reason
    assert math.isnan(found.ci_low)
    assert (found.n_clusters, found.cluster_unit) == (5, "task")


def test_a_task_that_holds_most_items_has_no_interval_of_hundreds():
    """t on (1.7 - 1) / 2 degrees gave ends of -121 and 121 for a difference of two coefficients."""
    ratings, confidence = judged(260, np.random.default_rng(2), informative=True)
    tasks = np.maximum(np.arange(260) - 199, 0)
    found = case_weighted(ratings, confidence, clusters=tasks, cluster_unit="task")
    assert (found.n_clusters, math.isnan(found.ci_low)) == (61, True)
    assert "too few clusters" in found.reason
    even = case_weighted(ratings, confidence, clusters=np.arange(260) % 61, cluster_unit="task")
    assert -2 <= even.ci_low < even.ci_high <= 2


def test_messages():
    with pytest.raises(InputError, match="coefficient: must be one of"):
        case_weighted([[1.0, 0.0]], [[0.5, 0.5]], coefficient="kappa_w")
    with pytest.raises(InputError, match="needs the shape of the ratings"):
        case_weighted([[1.0, 0.0]], [0.5])
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        case_weighted([[1.0, 0.0]], [[95, 0.5]])


def test_the_interval_of_the_difference_leaves_whole_clusters_out():
    """scikit-learn's kappas with and without weights; t on half of the clusters less one."""
    rng, clusters = np.random.default_rng(3), np.repeat(np.arange(15), 5)
    ratings, confidence = judged(75, rng, informative=True, clusters=clusters)

    def gain(kept):
        pair, weight = ratings[kept].T, confidence[kept].prod(axis=1)
        return cohen_kappa_score(*pair, sample_weight=weight) - cohen_kappa_score(*pair)

    without = np.array([gain(clusters != one) for one in range(15)])
    half = t.ppf(0.9, 7) * math.sqrt(14 * without.var())
    found = case_weighted(ratings, confidence, clusters=clusters, ci_level=0.8)
    assert (found.ci_low, found.ci_high) == pytest.approx((gain(clusters >= 0) - half, gain(clusters >= 0) + half))


def test_few_orders_of_confidences_give_the_p_value_of_all_of_them():
    """Judge 1 is of one word and sure of one of three items, judge 2 always alike: a third of the orders is as far."""
    ratings = np.array([[0, 0], [0, 1], [0, 1], [1, 1]])
    confidence = np.array([[1.0, 0.5], [0.1, 0.5], [0.1, 0.5], [0.7, 0.5]])
    for combine, p in (("product", 1 / 3), ("minimum", 1 / 3)):
        found = case_weighted(ratings, confidence, coefficient="percent_agreement", combine=combine)
        assert found.p_value == pytest.approx(p, abs=0.05)
    parted = case_weighted(ratings, confidence, coefficient="percent_agreement", strata=[0, 1, 1, 1])
    assert parted.p_value == 1  # within strata nothing changes places
