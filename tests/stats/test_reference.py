"""Judges against references: counts by hand, published tables, bounds, leave-one-out people, cited steps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix, recall_score

from axisjudge.checks import InputError
from axisjudge.stats.agreement.chance_corrected import cohen_kappa
from axisjudge.stats.proportions import clopper_pearson_interval, clustered_mean
from axisjudge.stats.reference import (
    ONE_PERSON,
    against_reference,
    behind_people,
    cited_steps,
    leave_one_out,
    majority,
    over_constant,
    sensitivity_against,
)

NONE = math.nan


def two_by_two(hit, missed, false, passed):
    """Judge and reference from the four counts; 1 is the failing word."""
    cells = [((1, 1), hit), ((0, 1), missed), ((1, 0), false), ((0, 0), passed)]
    return np.array([pair for pair, n in cells for _ in range(n)], float).T


def test_sensitivity_specificity_and_kappa_have_their_textbook_values():
    """Fleiss, Levin and Paik (2003), Statistical Methods for Rates and Proportions: 2 x 2 arithmetic by hand."""
    judge, people = two_by_two(40, 10, 15, 135)
    found = against_reference(judge, people, n_categories=2, failing=1)
    assert found.sensitivity.given.estimate == pytest.approx(40 / 50)
    assert found.specificity.given.estimate == pytest.approx(135 / 150)
    assert found.accuracy.given.estimate == pytest.approx(175 / 200)
    chance = (55 * 50 + 145 * 150) / 200**2
    assert found.coefficients["kappa"].estimate == pytest.approx((0.875 - chance) / (1 - chance))
    assert found.constant_accuracy == 0.75
    assert found.confusion.tolist() == [[135, 15, 0], [10, 40, 0]]
    assert found.coverage.estimate == 1.0
    assert found.in_short["sensitivity"] == found.sensitivity.given.in_short
    assert found.in_short["n"] == 200
    terms = {"undecided": (), "asked": np.ones(200, bool), "clusters": None}
    assert sensitivity_against(judge, people, n_categories=2, failing=1, **terms) == found.sensitivity


def test_right_more_often_than_the_commonest_word_is_counted_item_by_item():
    """12 tasks of 3: the commonest word is right on 2; the judge on 1 in half of the tasks, on all 3 in the others."""
    truth = np.tile([0.0, 0.0, 1.0], 14)
    judge = np.where(np.arange(42) < 18, np.tile([0.0, 1.0, 0.0], 14), truth)
    truth[36:], judge[39:] = NONE, NONE
    tasks = np.repeat(np.arange(14), 3)
    found = over_constant(judge, truth, clusters=tasks)
    gap = np.r_[np.tile([0, -1, 0], 6), np.tile([0, 0, 1], 6)]
    assert found == clustered_mean(gap, tasks[:36])
    assert found.estimate == 0


def test_a_judge_is_behind_people_by_what_each_is_more_often_right_against_the_others():
    """Of each item two of three people agree: against the other two the third has no majority, or is apart from it."""
    people = np.tile([[1, 1, 1], [0, 0, 1], [0, 1, NONE]], (12, 1))
    judge = np.tile([0.0, 0.0, 1.0], 12)
    tasks = np.repeat(np.arange(12), 3)
    found = behind_people(judge, people, n_categories=2, clusters=tasks)
    gaps = [1, 1, 1, -1, -1, 0]  # three of the first item; the third person of the second; two of the third item
    assert found == clustered_mean(np.tile(gaps, 12), np.repeat(np.arange(12), 6))
    assert (found.n_items, found.n_clusters) == (72, 12)
    assert behind_people(judge, people[:, :1], n_categories=2, clusters=tasks).reason == ONE_PERSON


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=6, max_size=60))
def test_the_figures_are_scikit_learns(pairs):
    judge, people = np.array(pairs, float).T
    found = against_reference(judge, people, n_categories=3, failing=2)
    assert found.confusion[:, :3].tolist() == confusion_matrix(people, judge, labels=[0, 1, 2]).tolist()
    if (people == 2).any():
        recall = recall_score(people == 2, judge == 2)
        assert found.sensitivity.given.estimate == pytest.approx(recall)
    if len({*judge, *people}) > 1:
        assert found.coefficients["kappa"].estimate == pytest.approx(cohen_kappa_score(people, judge))


def test_a_perfect_judge_reaches_only_the_kappa_of_its_reference():
    """One person right on 90% of the items at 15% failures: .67 (../shared/spec/definitions.md)."""
    truth, person = two_by_two(1350, 150, 850, 7650)
    kappa = against_reference(truth, person, n_categories=2, failing=1).coefficients["kappa"]
    assert kappa.estimate == pytest.approx(0.67, abs=0.01)


def test_lost_and_undecided_verdicts_bound_every_share():
    judge, people = two_by_two(40, 10, 15, 135)
    judge[:4] = NONE  # of the failures that people see
    judge[-10:] = 2  # uncertain, on items that people call correct
    found = against_reference(judge, people, n_categories=3, failing=1, undecided=[2])
    assert found.sensitivity.given.estimate == pytest.approx(36 / 46)
    assert (found.sensitivity.worst, found.sensitivity.best) == pytest.approx((36 / 50, 40 / 50))
    assert (found.sensitivity.low, found.sensitivity.high) == pytest.approx(
        (clopper_pearson_interval(36, 50)[0], clopper_pearson_interval(40, 50)[1])
    )
    assert (found.specificity.worst, found.specificity.best) == pytest.approx((125 / 150, 135 / 150))
    assert (found.accuracy.worst, found.accuracy.best) == pytest.approx((161 / 200, 175 / 200))
    assert found.coverage.estimate == pytest.approx(186 / 200)
    assert found.confusion[0].tolist() == [125, 15, 0, 10]
    assert found.coefficients["kappa"].n_items == 186


def test_an_always_uncertain_judge_has_no_accuracy_and_bounds_of_everything():
    _, people = two_by_two(5, 5, 5, 35)
    found = against_reference(np.full(50, 2.0), people, n_categories=3, failing=1, undecided=[2])
    assert math.isnan(found.accuracy.given.estimate)
    assert found.accuracy.given.reason
    assert (found.accuracy.worst, found.accuracy.best) == (0.0, 1.0)
    assert found.coverage.estimate == 0.0
    assert found.coefficients["kappa"].reason


def test_a_constant_judge_is_as_accurate_as_the_commonest_word_and_has_kappa_zero():
    _, people = two_by_two(5, 5, 5, 85)
    found = against_reference(np.zeros(100), people, n_categories=2, failing=1)
    assert found.accuracy.given.estimate == found.constant_accuracy == 0.9
    assert found.coefficients["kappa"].estimate == 0.0
    assert (found.sensitivity.given.estimate, found.specificity.given.estimate) == (0.0, 1.0)


def test_items_that_were_not_asked_and_references_that_take_no_side_are_left_out():
    judge, people = two_by_two(40, 10, 15, 135)
    people[:20] = 2
    asked = np.arange(200) < 150
    found = against_reference(judge, people, n_categories=3, failing=1, undecided=[2], asked=asked)
    assert found.n_items == 130
    assert found.coverage.estimate == 1.0


def test_no_overlap_and_no_failing_word_give_reasons():
    nothing = against_reference([NONE, 1.0], [1.0, NONE], n_categories=2, failing=1)
    assert nothing.n_items == 1
    assert nothing.accuracy.given.reason
    assert math.isnan(against_reference([], [], n_categories=2).constant_accuracy)
    scale = against_reference([0, 1, 2, 2.0], [0, 1, 1, 2.0], n_categories=3, ordered=True)
    assert scale.sensitivity.given.reason
    assert scale.coefficients["alpha"].coefficient == "krippendorff_alpha_ordinal"


def test_clusters_are_the_unit():
    judge, people = two_by_two(20, 10, 15, 55)
    tasks = np.tile(np.arange(100), 3)
    once = against_reference(judge, people, n_categories=2, failing=1).coefficients["kappa"]
    thrice = against_reference(np.tile(judge, 3), np.tile(people, 3), n_categories=2, failing=1, clusters=tasks)
    kappa = thrice.coefficients["kappa"]
    assert (kappa.estimate, kappa.n_clusters, kappa.cluster_unit) == (pytest.approx(once.estimate), 100, "task")
    assert kappa.ci_high - kappa.ci_low == pytest.approx(once.ci_high - once.ci_low, rel=0.1)
    assert thrice.accuracy.given.n_clusters == 100


def test_majority_leaves_ties_open():
    assert majority([[0, 0, 1], [0, 1, NONE], [NONE, NONE, 2], [NONE] * 3], 3).tolist() == pytest.approx(
        [0, NONE, 2, NONE], nan_ok=True
    )


def test_leave_one_out_sets_judge_and_person_against_the_same_others():
    rng = np.random.default_rng(1)
    truth = (rng.random(300) < 0.3).astype(float)
    people = np.where(rng.random((300, 3)) < 0.9, truth[:, None], 1 - truth[:, None])
    judge = np.where(rng.random(300) < 0.8, truth, 1 - truth)
    found = leave_one_out(judge, people, ["ann", "bo", "cy"], n_categories=2, failing=1)
    others = majority(people[:, 1:], 2)
    assert [each.person for each in found] == ["ann", "bo", "cy"]
    assert found[0].judge.n_items == found[0].themselves.n_items == int((~np.isnan(others)).sum())
    expected = cohen_kappa(np.column_stack([people[:, 0], others])).estimate
    assert found[0].themselves.coefficients["kappa"].estimate == pytest.approx(expected)
    gap = [each.themselves.accuracy.given.estimate - each.judge.accuracy.given.estimate for each in found]
    assert min(gap) > 0
    assert leave_one_out(judge, people[:, :1], ["ann"], n_categories=2) == ()


def test_cited_steps_by_hand():
    judge = [{3, 9}, {4}, None, set(), {1}]
    person = [[3], [5, 7], [2], [6], []]
    exact = cited_steps(judge, person)
    assert (exact.n_items, exact.n_both) == (4, 2)
    assert exact.precision.estimate == pytest.approx(1 / 3)  # of 3, 9 and 4
    assert exact.recall.estimate == pytest.approx(1 / 3)  # of 3, 5 and 7
    assert exact.found.estimate == pytest.approx(1 / 5)  # 2 and 6 were not found either
    near = cited_steps(judge, person, within=1)
    assert near.precision.estimate == pytest.approx(2 / 3)
    assert near.recall.estimate == pytest.approx(2 / 3)
    assert near.found.estimate == pytest.approx(2 / 5)


def test_a_judge_that_finds_no_failure_finds_no_step():
    found = cited_steps([None] * 13, [[step] for step in range(13)], clusters=range(13))
    assert (found.found.estimate, found.n_both) == (0.0, 0)
    assert found.found.ci_high == pytest.approx(1 - 0.025 ** (1 / 13))  # Clopper-Pearson at 0 of 13
    assert found.precision.reason


@pytest.mark.parametrize(
    ("verdicts", "reference", "message"),
    [
        ([0, 1], [0], "reference: needs one entry for each of the 2 items"),
        ([0, 2], [0, 1], "verdicts: must be one row of whole numbers below 2"),
        ([0, 0.5], [0, 1], "verdicts: must be one row of whole numbers below 2"),
        ([[0, 1]], [0, 1], "verdicts: must be one row"),
    ],
)
def test_what_cannot_be_used_is_named(verdicts, reference, message):
    with pytest.raises(InputError, match=message):
        against_reference(verdicts, reference, n_categories=2)


def test_citations_of_other_items_are_named():
    with pytest.raises(InputError, match="person: needs one entry for each of the 1 items"):
        cited_steps([{1}], [[1], [2]])
