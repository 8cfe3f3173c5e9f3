"""Rank sets by agreement with a reference: raters that decide on few items are not ranked by luck."""

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from axisjudge.stats.agreement.coefficients import rating_patterns
from axisjudge.stats.comparisons.ranking import rank_sets
from axisjudge.stats.fairness import _pseudo_values, _unseen, reference_ranks


def study(rng, accuracies, n_decided, tasks=50, runs=4, share=0.4):
    """Raters of these accuracies on items of tasks; the first decides on `n_decided` items only."""
    task = np.repeat(np.arange(tasks), runs)
    latent = math.sqrt(0.3) * rng.standard_normal(tasks)[task] + math.sqrt(0.7) * rng.standard_normal(task.size)
    truth = (latent < np.quantile(latent, share)).astype(float)
    given = np.column_stack([np.where(rng.random(task.size) < right, truth, 1 - truth) for right in accuracies])
    given[rng.permutation(task.size)[n_decided:], 0] = math.nan
    return given, truth, task


def ranked(given, truth, task, seed=0):
    return reference_ranks(given, truth, categories=[0.0, 1.0], clusters=task, rng=np.random.default_rng(seed))


def told_apart(n_decided, replicates, **world):
    rng = np.random.default_rng(n_decided)
    return np.mean([not ranked(*study(rng, (0.8,) * 3, n_decided, **world)).tied for _ in range(replicates)])


def test_three_verdicts_all_right_are_no_rank():
    given, truth, task = study(np.random.default_rng(0), (1.0, 0.9, 0.9), 3)
    sets = ranked(given, truth, task)
    assert (sets.rank_low[0], sets.rank_high[0]) == (1, 3)
    assert sets.means[0] == 1


def test_a_rater_with_few_items_leaves_the_others_as_they_are():
    given, truth, task = study(np.random.default_rng(1), (0.8, 0.95, 0.6), 5)
    alone = ranked(given[:, 1:], truth, task)
    beside = ranked(given, truth, task)
    assert alone.rank_high.tolist() == [1, 2]
    assert beside.rank_high[1] < beside.rank_high[2] == 3


def test_many_items_of_few_tasks_are_told_apart_by_their_intervals():
    given, truth, task = study(np.random.default_rng(2), (0.98, 0.5), 400, tasks=8, runs=50)
    sets = ranked(given, truth, task)
    assert not sets.refusal
    assert sets.first == (0,)


def test_equal_raters_are_seldom_told_apart():
    assert told_apart(5, 30, tasks=12, runs=16) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 30)


def test_a_rater_that_leads_by_a_query_that_was_not_drawn_is_not_told_apart():
    """A lead of 3 points, on a third of the queries and never lost: one long query may take it, and a third of studies
    lacks that query."""
    item, task = np.tile(np.arange(10), 50), np.repeat(np.arange(50), 10)
    truth = (item < 4).astype(float)
    wrong = np.column_stack([item == 0, (item == 0) | ((item == 5) & (task % 3 == 0))])
    given = np.abs(truth[:, None] - wrong)
    assert ranked(given, truth, task).tied
    assert rank_sets(_lead(given, truth, task), rng=np.random.default_rng(0)).first == (0,)
    given[:, 1] = np.abs(truth - (item % 3 == 0))  # a lead that no such query would take
    assert ranked(given, truth, task).first == (0,)


def _lead(given, truth, task):
    return np.column_stack([np.bincount(task, column == truth) / 10 for column in given.T])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n_decided", [3, 8, 12, 20, 40])
@pytest.mark.parametrize("share", [0.15, 0.4])
def test_equal_raters_over_the_grid(n_decided, share):
    assert told_apart(n_decided, 300, share=share) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 300)


def test_pseudo_values_and_the_cluster_that_was_not_seen_by_scikit_learn():
    """n A - (n - 1) A without the cluster; and n times what .6 of a mean cluster, all right or all wrong, moves."""
    given, truth, task = study(np.random.default_rng(1), (0.8, 0.7), 60, tasks=12)
    given[:4, 1] = truth[:4] = 1  # three words of which the reference has two
    for column in given.T:
        kept = ~np.isnan(column)
        patterns = rating_patterns(np.column_stack([column, truth]), categories=[0, 1, 2], clusters=task)
        said, true, of = column[kept], truth[kept], task[kept]
        there, whole = np.unique(of), cohen_kappa_score(said, true)
        n = there.size
        pseudo = [n * whole - (n - 1) * cohen_kappa_score(said[of != one], true[of != one]) for one in there]
        found = _pseudo_values("cohen_kappa", patterns)
        assert found[there] == pytest.approx(pseudo)
        assert np.isnan(np.delete(found, there)).all()
        weight = np.r_[np.ones(said.size), np.full(said.size, 0.6 / n)]
        common, other = (0, 1) if (true == 0).sum() >= (true == 1).sum() else (1, 0)
        for more, moved in ((np.where(true == common, other, common), 0), (true, 1)):
            with_it = cohen_kappa_score(np.r_[said, more], np.r_[true, true], sample_weight=weight)
            assert _unseen("cohen_kappa", patterns)[moved] == pytest.approx(n * (with_it - whole))
