"""What intervals of one sample must have to do with each other: mirrors, orders, names, and one statistic as another.

Estimates are held to such relations in `test_registry` and `test_agreement_properties`; here both ends are.
"""

import math

import numpy as np
import pytest

from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.effective import effective_judges
from axisjudge.stats.alternative_annotator import alternative_annotator, failing_word
from axisjudge.stats.betting import betting_sequence, change_sequence
from axisjudge.stats.calibration import auroc
from axisjudge.stats.clustered import paired_share_difference, standardised_share
from axisjudge.stats.comparisons.equivalence import equivalence
from axisjudge.stats.comparisons.paired import mean_change, paired_change
from axisjudge.stats.comparisons.ranking import rank_sets
from axisjudge.stats.fairness import reference_ranks, stratum_shares
from axisjudge.stats.proportions import clustered_proportion, share_at
from axisjudge.stats.reference import against_reference, balanced_accuracy, behind_people, over_constant
from axisjudge.stats.repeats import self_agreement

SIZES = {
    "even": [4] * 15,
    "uneven": [20, 10, 5, 5, 3] + [2] * 9,
    "alike": [5] * 30,
    "single": [1] * 40,
    "none": [3] * 12,
}


@pytest.fixture(params=SIZES)
def world(request):
    """One sample: outcomes with gaps, three judges of them, tasks, and the same rows in another order."""
    rng = np.random.default_rng(list(SIZES).index(request.param))
    task = np.repeat(np.arange(len(SIZES[request.param])), SIZES[request.param])
    rate = {"none": 0.0, "alike": (rng.random(30) < 0.2).astype(float)}.get(
        request.param, rng.beta(1, 3, len(set(task)))
    )
    y = (rng.random(task.size) < np.broadcast_to(rate, len(set(task)))[task]).astype(float)
    judges = [np.where(rng.random(y.size) < wrong, 1 - y, y) for wrong in (0.2, 0.3, 0.25)]
    order = rng.permutation(y.size)
    return (
        y,
        np.where(rng.random(y.size) < 0.1, np.nan, y),
        judges,
        task,
        order,
        np.array([f"t{7919 * x % 101}" for x in task]),
    )


def ends(found):
    return found.estimate, found.ci_low, found.ci_high


def same(first, second, tolerance=1e-9):
    return ends(first) == pytest.approx(ends(second), abs=tolerance, nan_ok=True)


def mirrored(first, second, of=0.0, tolerance=1e-9):
    """An estimate whose ends are `of` minus those of the other."""
    turned = of - second.estimate, of - second.ci_high, of - second.ci_low
    return ends(first) == pytest.approx(turned, abs=tolerance, nan_ok=True)


@pytest.mark.parametrize("alike", ["items", "clusters"])
def test_a_share_of_failures_mirrors_that_of_passes_and_hangs_on_no_order_name_or_gap(world, alike):
    _, y, _, task, order, names = world
    share = clustered_proportion(y, task, alike=alike)
    assert mirrored(share, clustered_proportion(1 - y, task, alike=alike), of=1.0)
    assert same(share, clustered_proportion(y[order], names[order], alike=alike))
    assert same(share, clustered_proportion(np.r_[y, math.nan], np.r_[task, 10**6], alike=alike))
    assert same(share, clustered_proportion(y, task, weights=np.full(y.size, 3.0), alike=alike))
    twice = clustered_proportion(np.tile(y, 2), np.tile(task, 2), alike=alike)
    assert same(clustered_proportion(y, task, times=np.full(y.size, 2), alike=alike), twice)
    assert same(share_at(share, 0.9), clustered_proportion(y, task, alike=alike, ci_level=0.9))


def test_a_share_of_one_stratum_is_the_share_and_of_two_each_differs_from_the_other(world):
    _, y, _, task, order, names = world
    stratum, one = np.where(order % 2, "a", "b").astype(object), np.full(y.size, "a", dtype=object)
    alone = standardised_share(y, one, {"a": 2}, task)
    assert same(alone, clustered_proportion(y, task), tolerance=5e-3)  # strata have degrees of their own
    assert mirrored(*(each.difference for each in stratum_shares(y, stratum, task, tested=False)))
    shares = [standardised_share(of, stratum, {"a": 1, "b": 2}, task) for of in (y, 1 - y)]
    assert mirrored(*shares, of=1.0)
    assert same(shares[0], standardised_share(y[order], stratum[order], {"b": 4, "a": 2}, names[order]))


def test_differences_turn_with_their_sides_and_with_their_words(world):
    _, y, (judge, *_), task, order, names = world
    for alike in ("items", "clusters"):
        gap = paired_share_difference(y, judge, task, alike=alike)
        assert mirrored(gap, paired_share_difference(judge, y, task, alike=alike))
        assert mirrored(gap, paired_share_difference(1 - y, 1 - judge, task, alike=alike))
        assert same(gap, paired_share_difference(y[order], judge[order], names[order], alike=alike))
    assert mirrored(mean_change(y - judge, task), mean_change(judge - y, task))
    changes = [paired_change(*sides, clusters=task).change for sides in ((y, judge), (judge, y))]
    assert mirrored(*changes, tolerance=2e-3)  # of drawn sign flips
    assert mirrored(change_sequence(y, judge, task), change_sequence(judge, y, task), tolerance=2e-3)
    equal = [equivalence(*sides, (y == judge).astype(float), clusters=task) for sides in ((y, judge), (judge, y))]
    assert mirrored(*(each.shift for each in equal))
    assert mirrored(betting_sequence(judge, task), betting_sequence(1 - judge, task), of=1.0, tolerance=1e-3)


def test_accuracies_are_shares_and_words_may_change_places(world):
    y, _, (judge, *_), task, _, _ = world
    figures, turned = (
        against_reference(*sides, n_categories=2, failing=1, clusters=task)
        for sides in ((judge, y), (1 - judge, 1 - y))
    )
    assert same(figures.accuracy.given, clustered_proportion(judge == y, task))
    assert same(figures.sensitivity.given, turned.specificity.given)
    right = (judge == y).astype(float)
    balanced = balanced_accuracy(right, y, task, words=[0, 1])
    assert mirrored(balanced, balanced_accuracy(1 - right, y, task, words=[0, 1]), of=1.0)
    assert same(balanced, balanced_accuracy(right, 1 - y, task, words=[0, 1]))
    one, other = failing_word(y, judge, clusters=task), failing_word(judge, y, clusters=task)
    assert same(one.precision, other.recall)
    assert same(one.f1, other.f1)
    confidence = np.random.default_rng(0).random(y.size).round(2)
    ranked = auroc(confidence, y, clusters=task)
    assert mirrored(ranked, auroc(1 - confidence, y, clusters=task), of=1.0)
    assert mirrored(ranked, auroc(confidence, 1 - y, clusters=task), of=1.0)
    assert same(ranked, auroc(confidence**3, y, clusters=task))


def test_two_repeats_agree_where_they_do_not_flip_and_as_two_raters_do(world):
    y, _, (judge, *_), task, _, _ = world
    repeats = np.column_stack([y, judge])
    found = self_agreement(repeats, clusters=task)
    assert mirrored(found.agreement, found.flips, of=1.0)
    two = agreement_coefficients(repeats, ["percent_agreement"], clusters=task)["percent_agreement"]
    assert same(found.agreement, two)


def test_a_rater_who_gave_nothing_changes_no_interval(world):
    """Patterns over one rater more had prior mass: lower ends were .01 to .09 apart, beyond what draws explain."""
    y, gaps, (judge, *_), task, _, _ = world
    names = ["percent_agreement", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha"]
    for columns in ([y, judge], [y, judge, gaps]):
        ratings = np.column_stack(columns)
        beside = np.column_stack([*columns, np.full(y.size, np.nan)])
        alone, more = (
            agreement_coefficients(each, names, categories=[0, 1], clusters=task) for each in (ratings, beside)
        )
        assert all(same(alone[name], more[name]) for name in names)


def test_copies_are_nothing_new_and_the_order_of_judges_says_nothing(world):
    y, _, judges, task, order, names = world
    one, table = judges[0], np.column_stack(judges)
    copies = effective_judges(np.column_stack([one, one, one]), y, clusters=task).n_effective
    assert copies.estimate == pytest.approx(1)
    panel = effective_judges(table, y, clusters=task).n_effective
    assert same(panel, effective_judges(table[:, [2, 0, 1]], y, clusters=task).n_effective)
    assert same(panel, effective_judges(table[order], y[order], clusters=names[order]).n_effective)
    assert behind_people(one, np.column_stack([one] * 3), n_categories=2, clusters=task).estimate == 0
    commonest = np.full(y.size, float(y.mean() > 0.5))
    assert over_constant(commonest, y, clusters=task).estimate == 0
    people = [alternative_annotator(y, table[:, by], clusters=task, least_instances=5) for by in ([0, 1, 2], [2, 0, 1])]
    assert people[0].winning_rate == pytest.approx(people[1].winning_rate, nan_ok=True)
    assert people[0].advantage.estimate == pytest.approx(people[1].advantage.estimate, nan_ok=True)


def test_ranks_of_copies_are_shared_and_go_with_their_columns(world):
    y, _, (one, other, _), task, _, _ = world
    sizes = np.bincount(task)
    means = np.column_stack([np.bincount(task, weights=each) / sizes for each in (y, one, one, other)])
    found, turned = (rank_sets(each, rng=np.random.default_rng(0)) for each in (means, means[:, ::-1]))
    agree = reference_ranks(
        np.column_stack([one, one, other]), y, categories=[0, 1], clusters=task, rng=np.random.default_rng(0)
    )
    for sets, first in ((found, 1), (agree, 0)):
        assert sets.rank_low[first] == sets.rank_low[first + 1]
        assert sets.rank_high[first] == sets.rank_high[first + 1]
    assert (found.rank_low == turned.rank_low[::-1]).all()
    assert (found.rank_high == turned.rank_high[::-1]).all()
