"""Balanced accuracy: scikit-learn's value, the shares of its words, coverage, and where there is no interval."""

import math

import numpy as np
import pytest
from scipy.stats import t
from sklearn.metrics import balanced_accuracy_score

from axisjudge.checks import InputError
from axisjudge.stats.proportions import clopper_pearson_interval, clustered_proportion, wilson_interval
from axisjudge.stats.reference import balanced_accuracy, balanced_pseudo_values


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


def test_it_is_bound_by_the_shares_of_its_words():
    right, word = np.tile([1, 0, 1, 1, 0, 1, 1, 1, 1], 10), np.tile(list("aaabbbccc"), 10)
    found = balanced_accuracy(right, word)
    parts = [clustered_proportion(right[word == each]) for each in "abc"]
    assert found.estimate == pytest.approx(7 / 9)
    assert np.mean([part.ci_low for part in parts]) < found.ci_low < found.ci_high
    assert found.ci_high < np.mean([part.ci_high for part in parts])


@pytest.mark.parametrize("alike", ["items", "clusters"])
def test_shares_that_rise_together_in_a_task_widen_it(alike):
    rng = np.random.default_rng(3)
    easy, task = rng.random(40) < 0.5, np.repeat(np.arange(40), 12)
    word = np.tile(["a", "b"], 240)
    joint = rng.random(480) < np.where(easy[task], 0.95, 0.55)
    apart = rng.random(480) < np.where(easy[task] ^ (word == "a"), 0.95, 0.55)
    found = [balanced_accuracy(each, word, task, alike=alike) for each in (joint, apart)]
    width = [each.ci_high - each.ci_low for each in found]
    assert width[0] > 1.15 * width[1]


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


def test_one_word_or_one_task_has_no_interval_and_a_judge_that_is_always_right_has_one():
    assert "two words" in balanced_accuracy([1] * 20, ["a"] * 20).reason
    assert math.isnan(balanced_accuracy([1, 0] * 20, ["a", "a", "b", "b"] * 10, [0] * 40).ci_low)
    perfect = balanced_accuracy([1] * 40, ["a", "b"] * 20, range(40))
    assert 0.8 < perfect.ci_low < perfect.estimate == perfect.ci_high == 1


def test_a_word_that_the_sample_lacks_leaves_it_undefined_and_is_named():
    right, word = [1, 0, 1, 1] * 10, ["good", "bad", "bad", "good"] * 10
    assert balanced_accuracy(right, word, words=("bad", "good")).estimate == balanced_accuracy(right, word).estimate
    found = balanced_accuracy(right, word, words=("bad", "good", "so-so"))
    assert math.isnan(found.estimate)
    assert "so-so" in found.reason
    unanswered = [np.nan if each == "good" else answer for each, answer in zip(word, right, strict=True)]
    assert "good" in balanced_accuracy([*unanswered, 1], [*word, "ugly"]).reason


def test_bad_input_is_named():
    with pytest.raises(InputError, match="must be among"):
        balanced_accuracy([1], ["a"], words=("b", "c"))
    with pytest.raises(InputError, match="0, 1 or NaN"):
        balanced_accuracy([2], ["a"])
    with pytest.raises(InputError, match="one entry for each of the 2 items"):
        balanced_accuracy([1, 0], ["a"])
    with pytest.raises(InputError, match="items x raters"):
        balanced_pseudo_values([[np.nan]], ["a"], [0])
    with pytest.raises(InputError, match="one entry for each of the 2 items"):
        balanced_pseudo_values([[1], [0]], ["a"], [0, 1])


def test_pseudo_values_average_to_the_balanced_accuracy():
    rng = np.random.default_rng(4)
    truth, said, cluster = drawn(rng)
    right = np.column_stack([said == truth, rng.random(truth.size) < 0.5]).astype(float)
    means = balanced_pseudo_values(right, truth, cluster).mean(axis=0)
    assert means == pytest.approx([balanced_accuracy(column, truth).estimate for column in right.T])


@pytest.mark.slow
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


def test_of_independent_items_the_interval_is_t_on_the_logit_or_mover_by_hand():
    """sum p (1 - p) / n over K^2, times n / (n - 1); t on the rarer word less one. Under five of a kind MOVER."""
    word = np.repeat(["a", "b"], [40, 60])
    right = np.r_[np.arange(40) < 30, np.arange(60) < 36]
    found, mean = balanced_accuracy(right, word, ci_level=0.9), (0.75 + 0.6) / 2
    error = math.sqrt(100 / 99 * (0.75 * 0.25 / 40 + 0.6 * 0.4 / 60) / 4) / (mean * (1 - mean))
    centre, half = math.log(mean / (1 - mean)), t.ppf(0.95, 39) * error
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(1 / (1 + np.exp(-centre + np.array([half, -half])))))
    few = balanced_accuracy(np.r_[np.arange(40) < 36, right[40:]], word)
    ends = [clopper_pearson_interval(36, 40), wilson_interval(36, 60)]
    below, above = (math.hypot(0.9 - ends[0][at], 0.6 - ends[1][at]) / 2 for at in (0, 1))
    assert (few.ci_low, few.ci_high) == pytest.approx((0.75 - below, 0.75 + above))
    five = balanced_accuracy(np.r_[np.arange(40) < 35, right[40:]], word)
    assert ("MOVER" in few.method, "logit" in five.method) == (True, True)


def test_pseudo_values_are_those_of_leaving_each_cluster_out():
    truth, said, cluster = drawn(np.random.default_rng(9), clusters=12)
    without = [balanced_accuracy_score(truth[cluster != one], said[cluster != one]) for one in range(12)]
    expected = balanced_accuracy_score(truth, said) + 11 * (np.mean(without) - without)
    assert balanced_pseudo_values((said == truth)[:, None] * 1.0, truth, cluster)[:, 0] == pytest.approx(expected)
