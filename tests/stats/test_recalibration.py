"""Maps of confidence: recovery, monotony, round trips, and confidences that must not be pooled."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from axisjudge.checks import InputError
from axisjudge.stats.calibration import ConfidenceMap, fit_isotonic, fit_mid_rank, fit_platt

SHARES = st.lists(st.integers(0, 100).map(lambda n: n / 100), min_size=1, max_size=50)


def overconfident(n, rng):
    """P(correct) = expit(0.5 logit(confidence) - 0.4)."""
    confidence = rng.uniform(0.55, 0.99, n)
    logit = np.log(confidence / (1 - confidence))
    return confidence, (rng.random(n) < 1 / (1 + np.exp(0.4 - 0.5 * logit))).astype(float)


def test_platt_recovers_what_made_the_labels():
    found = fit_platt(*overconfident(60_000, np.random.default_rng(1)), source="a")
    assert found.values == pytest.approx((0.5, -0.4), abs=0.05)
    assert found(0.9, source="a") == pytest.approx(1 / (1 + math.exp(0.4 - 0.5 * math.log(9))), abs=0.02)


def test_platt_is_the_logistic_fit_of_his_targets():
    """scikit-learn without a penalty: each label counts (n + 1) / (n + 2) for its class and the rest for the other."""
    rng = np.random.default_rng(2)
    confidence = rng.random(40)
    correct = rng.random(40) < confidence
    n_right, n_wrong = correct.sum(), (~correct).sum()
    target = np.where(correct, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))
    logit = np.log(confidence / (1 - confidence))
    theirs = LogisticRegression(C=1e12, tol=1e-10).fit(
        np.tile(logit, 2)[:, None], np.repeat([1, 0], 40), sample_weight=np.r_[target, 1 - target]
    )
    found = fit_platt(confidence, correct, source="j")
    assert found.values == pytest.approx((theirs.coef_[0, 0], theirs.intercept_[0]), abs=1e-4)
    expected = 1 / (1 + np.exp(-(found.values[0] * np.log(1e-4 / (1 - 1e-4)) + found.values[1])))
    assert found([0.0], source="j") == pytest.approx([expected])  # 0 has no logit and counts as 1 in 10,000


def test_separated_classes_still_have_a_platt_fit():
    found = fit_platt([0.6, 0.6, 0.9, 0.9], [0, 0, 1, 1], source="a")
    assert 0 < found(0.6, source="a") < 0.5 < found(0.9, source="a") < 1


def test_isotonic_equals_scikit_learn():
    confidence, correct = overconfident(300, np.random.default_rng(2))
    theirs = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(confidence, correct)
    grid = np.linspace(0.5, 1, 101)
    assert fit_isotonic(confidence, correct, source="a")(grid, source="a") == pytest.approx(theirs.predict(grid))


@settings(deadline=None)
@given(SHARES)
def test_mid_ranks_are_ranks_with_ties_halved(values):
    found = fit_mid_rank(values, source="a")
    assert found(values, source="a") == pytest.approx((rankdata(values) - 0.5) / len(values))


@settings(deadline=None)
@given(SHARES, SHARES)
def test_unseen_confidences_get_the_share_below(values, others):
    found = fit_mid_rank(values, source="a")
    expected = [(np.array(values) < x).mean() + (np.array(values) == x).mean() / 2 for x in others]
    assert found(others, source="a") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["platt", "isotonic", "mid_rank"])
def test_maps_are_monotone_keep_nan_and_survive_the_lock(kind):
    confidence, correct = overconfident(200, np.random.default_rng(3))
    fitted = {
        "platt": lambda: fit_platt(confidence, correct, source="a verbalized"),
        "isotonic": lambda: fit_isotonic(confidence, correct, source="a verbalized"),
        "mid_rank": lambda: fit_mid_rank(confidence, source="a verbalized"),
    }[kind]()
    thawed = ConfidenceMap.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert thawed == fitted
    grid = np.array([0.0, *np.linspace(0.5, 1, 50)])
    mapped = thawed(grid, source="a verbalized")
    assert (np.diff(mapped) >= 0).all()
    assert ((mapped >= 0) & (mapped <= 1)).all()
    assert math.isnan(thawed(math.nan, source="a verbalized"))


def test_sources_are_never_pooled():
    found = fit_mid_rank([0.5, 0.9], source="judge-a verbalized")
    with pytest.raises(InputError, match="fitted on judge-a verbalized"):
        found([0.9], source="judge-b token_probability")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_platt([0.9, 0.9], [1, 0], source="a"), "all are equal"),
        (lambda: fit_platt([0.9, 0.6], [1, 1], source="a"), "a correct and a wrong verdict"),
        (lambda: fit_platt([0.9, 0.8, 0.6, 0.5] * 20, [0, 0, 1, 1] * 20, source="a"), "must rise"),
        (lambda: fit_isotonic([0.9], [1, 0], source="a"), "one entry for each"),
        (lambda: fit_mid_rank([95.0], source="a"), r"must lie in \[0, 1\]"),
        (lambda: fit_mid_rank([math.nan], source="a"), "at least one value"),
    ],
)
def test_messages(call, message):
    with pytest.raises(InputError, match=message):
        call()
