"""Balanced accuracy: scikit-learn's value, a jackknife done the long way, coverage, and where there is no interval."""

import math

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from axisjudge.checks import InputError
from axisjudge.stats.raters.balanced import balanced_accuracy, balanced_pseudo_values


def drawn(rng, clusters=40, size=8, words=3):
    """Words, votes and clusters, with votes that are right more often on common words."""
    truth = rng.choice(words, size=clusters * size, p=np.array([0.6, 0.3, 0.1][:words]) / sum([0.6, 0.3, 0.1][:words]))
    said = np.where(rng.random(truth.size) < 0.9 - 0.2 * truth, truth, rng.integers(0, words, truth.size))
    return truth, said, np.repeat(np.arange(clusters), size)


@pytest.mark.parametrize("words", [2, 3])
def test_it_is_the_value_of_scikit_learn(words):
    truth, said, _ = drawn(np.random.default_rng(words), words=words)
    found = balanced_accuracy(said == truth, truth)
    assert found.estimate == pytest.approx(balanced_accuracy_score(truth, said), abs=1e-12)


def test_the_interval_is_the_jackknife_done_the_long_way():
    truth, said, cluster = drawn(np.random.default_rng(5))
    logit = [
        math.log(share / (1 - share))
        for one in range(40)
        for share in [balanced_accuracy_score(truth[cluster != one], said[cluster != one])]
    ]
    found = balanced_accuracy(said == truth, truth, cluster, cluster_unit="task")
    sizes = [np.bincount(cluster[truth == word]) for word in range(3)]
    kish = min(size.sum() ** 2 / (size**2).sum() for size in sizes)
    error = math.sqrt(39 / 40 * sum((value - np.mean(logit)) ** 2 for value in logit))
    from scipy.stats import t

    centre = math.log(found.estimate / (1 - found.estimate))
    ends = [1 / (1 + math.exp(-(centre + sign * t.ppf(0.975, kish - 1) * error))) for sign in (-1, 1)]
    assert [found.ci_low, found.ci_high] == pytest.approx(ends, abs=1e-9)
    assert (found.n_clusters, found.cluster_unit) == (40, "task")


@pytest.mark.parametrize(("word", "expected"), [("fine", 0.5), ("wrong", 0.5)])
def test_always_saying_one_word_is_chance_however_common_it_is(word, expected):
    truth = np.array(["fine"] * 95 + ["wrong"] * 5)
    assert balanced_accuracy(truth == word, truth).estimate == pytest.approx(expected)


def test_missing_votes_are_left_out_and_counted():
    truth, said, cluster = drawn(np.random.default_rng(2))
    right = (said == truth).astype(float)
    right[::7] = np.nan
    label = truth.astype(float)
    label[::11] = np.nan
    kept = ~np.isnan(right) & ~np.isnan(label)
    found = balanced_accuracy(right, label, cluster)
    assert found.estimate == balanced_accuracy(right[kept], label[kept], cluster[kept]).estimate
    assert found.n_items == kept.sum()
    assert found.n_missing == (np.isnan(right) & ~np.isnan(label)).sum()


@pytest.mark.parametrize(
    ("right", "truth", "clusters", "reason"),
    [
        ([1] * 20, ["a"] * 20, range(20), "two words"),
        ([1, 0] * 20, ["a"] * 31 + ["b"] * 9, range(40), "one word stands in 9 of the clusters"),
        ([1] * 37 + [0] * 3, ["a", "b"] * 20, range(40), "5 right and 5 wrong"),
    ],
)
def test_no_interval_where_too_little_carries_it(right, truth, clusters, reason):
    found = balanced_accuracy(right, truth, list(clusters))
    assert math.isnan(found.ci_low)
    assert reason in found.reason


def test_bad_input_is_named():
    with pytest.raises(InputError, match="0, 1 or NaN"):
        balanced_accuracy([2], ["a"])
    with pytest.raises(InputError, match="one word for each of the 2 items"):
        balanced_accuracy([1, 0], ["a"])
    with pytest.raises(InputError, match="items x raters"):
        balanced_pseudo_values([[np.nan]], ["a"], [0])
    with pytest.raises(InputError, match="one word for each of the 2 items"):
        balanced_pseudo_values([[1], [0]], ["a"], [0, 1])


def test_pseudo_values_average_to_the_balanced_accuracy():
    rng = np.random.default_rng(4)
    truth, said, cluster = drawn(rng)
    right = np.column_stack([said == truth, rng.random(truth.size) < 0.5]).astype(float)
    means = balanced_pseudo_values(right, truth, cluster).mean(axis=0)
    assert means == pytest.approx([balanced_accuracy(column, truth).estimate for column in right.T])


@pytest.mark.parametrize(("correlation", "share", "accuracies"), [(0.3, 0.1, (0.9, 0.3)), (0.0, 0.3, (0.95, 0.85))])
def test_the_interval_covers(correlation, share, accuracies):
    """50 tasks of 12 items; the true value is the mean of the two accuracies, because right is drawn given the word."""
    from scipy.special import ndtri

    rng, tasks, size, times = np.random.default_rng(7), 50, 12, 1000
    cluster = np.repeat(np.arange(tasks), size)

    def normal():
        own = rng.normal(size=tasks * size)
        return math.sqrt(correlation) * np.repeat(rng.normal(size=tasks), size) + math.sqrt(1 - correlation) * own

    covered = 0
    for _ in range(times):
        rare = normal() < ndtri(share)
        right = normal() < np.where(rare, ndtri(accuracies[1]), ndtri(accuracies[0]))
        found = balanced_accuracy(right, rare, cluster)
        covered += found.ci_low <= np.mean(accuracies) <= found.ci_high
    assert 0.93 <= covered / times <= 0.98
