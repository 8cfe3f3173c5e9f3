"""What a judge may decide alone: the chance of granting it wrongly, and refusals."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from axisjudge.checks import InputError
from axisjudge.stats.escalation import decides_alone


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


def test_too_few_labels_one_confidence_and_no_labels_are_refused_with_their_reason():
    sure = np.linspace(0.5, 1, 10)
    assert "10 labelled items" in decides_alone(sure, np.zeros(10)).refusal
    assert "same everywhere" in decides_alone(np.full(50, 0.9), np.zeros(50)).refusal
    assert "no item" in decides_alone(sure, np.full(10, np.nan)).refusal
    assert "cannot be excluded" in decides_alone(np.linspace(0.5, 1, 200), np.ones(200)).refusal
    with pytest.raises(InputError):
        decides_alone(sure, np.zeros(9))
