"""What statistics do not take, each with its rule; and what has no interval, or no value, each with its reason."""

import math
import re

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients, gwet_ac1, percent_agreement
from axisjudge.stats.agreement.coefficients import rating_patterns
from axisjudge.stats.agreement.effective import coincidence_test, effective_judges, independent_panel
from axisjudge.stats.agreement.measured import interval_alpha, intraclass_correlation
from axisjudge.stats.agreement.soft import case_weighted, soft_agreement
from axisjudge.stats.alternative_annotator import alternative_annotator, best_constant
from axisjudge.stats.betting import price_of_looking
from axisjudge.stats.calibration import auroc, fit_platt, isotonic_fit, reliability_curve
from axisjudge.stats.clustered import paired_share_difference, standardised_share
from axisjudge.stats.clusters import relative_weights, shared_by_chance
from axisjudge.stats.comparisons.equivalence import drift, repeats_to_exclude
from axisjudge.stats.comparisons.paired import profile_test
from axisjudge.stats.comparisons.progress import tasks_needed
from axisjudge.stats.comparisons.ranking import rank_sets
from axisjudge.stats.correction import corrected_rate
from axisjudge.stats.escalation import decides_alone, triage
from axisjudge.stats.fairness import share_difference
from axisjudge.stats.latent_sampler import RatedItems
from axisjudge.stats.link_lines import population_line
from axisjudge.stats.panel_models import codes, vote
from axisjudge.stats.panel_nested import cascade
from axisjudge.stats.planning import plan_agreement
from axisjudge.stats.prediction_powered import prediction_powered_mean
from axisjudge.stats.proportions import bounded_share, clustered_mean, clustered_proportion, share_at
from axisjudge.stats.repeats import variance_components

NONE, TWO = math.nan, np.zeros((4, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rating_patterns(TWO, weights=[1, 1, 1, -1]), "weights: must be 4 finite numbers of 0 or more"),
        (lambda: rating_patterns(TWO, categories=[]), "categories: must hold every value that occurs"),
        (lambda: effective_judges(TWO, [0, 1, 2, 1], categories=[0, 1]), "categories: must hold every label"),
        (lambda: independent_panel([1, 0], ["a", "b"]), "incorrect: must be items x judges; found (2,)"),
        (lambda: coincidence_test(TWO, rng=np.random.default_rng(0)), "incorrect: must be tasks x runs x judges"),
        (lambda: interval_alpha([["a", "b"]]), "ratings: must be numbers"),
        (lambda: interval_alpha([[1.0], [2.0]]), "ratings: must be items x raters, finite or NaN, with two raters"),
        (lambda: reliability_curve([0.2, 0.9], [0, 1], clusters=[1, 1]), "clusters: must be two or more"),
        (lambda: fit_platt([0.2, 0.9], [0, 2], source="a"), "correct: must be 0, 1 or NaN"),
        (lambda: relative_weights([1, 0], np.ones(2, bool)), "weights: must be positive"),
        (lambda: drift([np.zeros((1, 1, 1)), TWO]), "occasions: must each be items, or items x runs"),
        (lambda: decides_alone([0.5], [0], confidence_level=0.5), "confidence_level: must be above .5"),
        (lambda: triage([[1, 1]], [[0.5]]), "shape of the ratings"),
        (lambda: RatedItems(np.zeros((0, 2)), TWO, np.zeros(4), {}), "incorrect: must be items x judges"),
        (lambda: RatedItems(TWO, TWO[:3], np.zeros(4), {}), "given: needs the shape of the verdicts (4, 2)"),
        (lambda: codes([0, 1], 2), "words: must be a matrix of items and judges"),
        (lambda: vote(TWO, np.ones(2), 2).scores(np.zeros((4, 3))), "must have a column for each of the 2 judges"),
        (lambda: plan_agreement(0.1, pilot=(TWO, [1, 2])), "pilot: must be ratings of items x raters and the task"),
        (lambda: plan_agreement(0.1, pilot=([0, 1], [1, 2])), "pilot: must be ratings of items x raters and the task"),
        (lambda: prediction_powered_mean([0, NONE], [1, 1]), "prediction: must be one number for every item"),
        (lambda: bounded_share([0.5, 1.2]), "values: must be one row of numbers in [0, 1] or NaN"),
        (lambda: price_of_looking(0.5, 0.001), "half_width: would take more than 8,192 items"),
        (lambda: price_of_looking(0.5, 0.0165), "half_width: would take more than 8,192 items"),
    ],
)
def test_what_is_not_taken_is_named_with_its_rule(call, message):
    with pytest.raises(InputError, match=re.escape(message)):
        call()


ALL_RIGHT = clustered_proportion([1.0] * 4, [1] * 4, cluster_unit="task")
PERFECT, FEW_APART = np.repeat([[1.0, 1.0], [3.0, 3.0]], 12, axis=0), np.eye(40, 2)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (
            lambda: gwet_ac1(FEW_APART, clusters=np.indices((20, 2)).reshape(2, -1).T, alike="clusters"),
            "takes one way of grouping",
        ),
        (lambda: gwet_ac1(np.eye(4, 2), clusters=[0, 0, 1, 1], alike="clusters"), "2 clusters"),
        (lambda: gwet_ac1(FEW_APART, clusters=np.arange(40) // 2, alike="clusters"), "too few items differ or"),
        (lambda: percent_agreement(np.zeros((6, 3))), "only one category is known; name all that could be given"),
        (lambda: interval_alpha(PERFECT), "perfect"),
        (lambda: auroc([0.1] * 6 + [0.9] * 6, [0] * 6 + [1] * 6), "the ranking is perfect in the sample"),
        (lambda: paired_share_difference([1, 0], [0, 0], [1, 1], cluster_unit="task"), "all values are of one task"),
        (lambda: paired_share_difference([NONE], [0.0]), "no value is given"),
        (lambda: prediction_powered_mean([0.5, 1], [NONE, NONE]), "no item has a label"),
        (lambda: prediction_powered_mean([0.5, 1, 0], [1, 1, NONE]), "labels of 2 clusters; a standard error needs"),
        (lambda: share_at(ALL_RIGHT, 0.99), "all values are of one task"),
        (lambda: share_difference(ALL_RIGHT, clustered_proportion([1, 0])), "all values are of one task"),
    ],
)
def test_what_has_no_interval_says_why(found, reason):
    estimate = found()
    assert math.isnan(estimate.ci_low)
    assert math.isnan(estimate.ci_high)
    assert reason in estimate.reason


def test_an_interval_of_numbers_without_error_is_none():
    for form in ("1", "C,1", "A,1"):
        assert math.isnan(intraclass_correlation(PERFECT, form=form).ci_low)


def test_many_raters_of_many_words_are_drawn_by_those_that_occur_and_one_dissenter():
    """24 raters of 6 words: more patterns than are enumerated; one in 24 dissents, on every item."""
    ratings = np.tile(np.arange(6.0)[:, None], (3, 24))
    ratings[:, 0] = (ratings[:, 0] + 1) % 6
    found = agreement_coefficients(ratings, ["fleiss_kappa"], categories=range(6))["fleiss_kappa"]
    assert found.observed_agreement == pytest.approx(1 - 2 / 24)
    assert found.ci_low < found.estimate < found.ci_high


@pytest.mark.parametrize(
    ("z", "reason"),
    [
        ([0, 1, 2, -math.inf, -math.inf, -math.inf], "the median is not finite"),
        ([0, 1, 2, 3, -math.inf, -math.inf, -math.inf], "the median's interval has no lower end"),
    ],
)
def test_a_line_of_a_population_that_lies_below_all_that_was_seen_is_none(z, reason):
    assert population_line(z).reason == reason


def test_a_cascade_without_labels_hands_everything_on_and_pays_every_stage():
    found = cascade([[0.9, 0.8]], [[NONE, NONE]], prices=[1, 3])
    assert (found.alone.share, found.alone.refusal) == (0.0, "no item has a confidence, a verdict and a label")
    assert (found.decided, found.price) == ((0.0, 0.0), 4.0)


def test_people_without_a_label_leave_a_constant_judge_nothing_to_say():
    word, test = best_constant([1, 0], [[NONE, NONE]] * 2)
    assert math.isnan(word)
    assert not test.passed
    one = alternative_annotator([1, 0] * 20, np.tile([[1, 1, 0], [0, 1, 0]], (20, 1)), clusters=np.zeros(40, int))
    assert {each.reason for each in one.people} == {"all items are of one cluster"}
    assert not one.passed
    assert one.in_short["winning_rate"] == one.winning_rate


def test_nothing_to_fit_to_look_for_or_to_exclude():
    assert isotonic_fit([], []).size == 0
    assert shared_by_chance([NONE, NONE], [0, 1], [0, 1]) == 1.0
    assert repeats_to_exclude(0, 90, scale=(0, 100)) == math.inf
    assert tasks_needed(math.nan, 0.1) is tasks_needed(0.1, math.nan) is None


RNG = np.random.default_rng(12)
#: Two raters' words of 80 items, half of which fail, a third of them told apart; and how sure they are.
WORDS = np.column_stack([np.arange(80) % 2, np.where(np.arange(80) % 3 == 0, 1, 0) ^ (np.arange(80) % 2)]).astype(float)
SURE = 0.5 + RNG.random((80, 2)) / 2
SAID = (RNG.random((80, 3)) < 0.4).astype(float)


def labelled(n):
    """A judge's words of 80 items, of which `n` have a label; every other one fails."""
    return WORDS[:, 0], np.where(np.arange(80) < n, WORDS[:, 1], NONE)


def failed(n):
    """`n` failures and 20 passes that people labelled, each rightly called by the judge but for every fourth."""
    label = np.r_[np.ones(n), np.zeros(20), np.full(60 - n, NONE)]
    return np.where(np.arange(80) % 4 == 0, 0.0, np.nan_to_num(label)), label


def reach(counts):
    """A profile of so many failures, on two axes in turn, of two agents in 12 tasks."""
    table = np.zeros((12, 2, 2))
    table.reshape(-1)[:counts] = 1
    return table


@pytest.mark.parametrize(
    ("least", "value"),
    [
        (10, lambda n: clustered_mean(SURE[:, 0], np.arange(80) % n).ci_low),
        (10, lambda n: auroc(SURE[:, 0], WORDS[:, 0], clusters=np.arange(80) % n).ci_low),
        (5, lambda n: auroc(RNG.random(40), np.arange(40) < n).ci_low),
        (5, lambda n: auroc(RNG.random(40), np.arange(40) >= n).ci_low),
        (10, lambda n: soft_agreement(np.where(WORDS == 1, SURE, 1 - SURE), clusters=np.arange(80) % n).ci_low),
        (10, lambda n: case_weighted(WORDS, SURE, clusters=np.arange(80) % n).ci_low),
        (10, lambda n: prediction_powered_mean(WORDS[:, 0], WORDS[:, 1], clusters=np.arange(80) % n).ci_low),
        (10, lambda n: profile_test(np.tile(np.eye(2), (n, 1, 1)), rng=RNG).p_value),
        (10, lambda n: profile_test(reach(n), rng=RNG).p_value),
        (10, lambda n: rank_sets(SAID[:n], rng=RNG).first_p),
        (10, lambda n: coincidence_test(SAID[:n, None], rng=RNG).p_value),
        (10, lambda n: corrected_rate(*labelled(n), sampling="random", draw_known=True).rate.estimate),
        (5, lambda n: corrected_rate(*failed(n), sampling="by_human_label").rate.estimate),
        (10, lambda n: alternative_annotator(WORDS[:, 0], SAID, clusters=np.arange(80) % n).advantage.ci_low),
        (5, lambda n: standardised_share(WORDS[:, 0], np.where(np.arange(80) < n, "a", "b"), {"a": 1, "b": 1}).ci_low),
        (10, lambda n: variance_components(RNG.random((n, 3, 2)) < 0.5).item),
        (5, lambda n: variance_components(RNG.random((10, n, 2)) < 0.5).judge),
        (4, lambda n: variance_components(RNG.random((10, 3, n)) < 0.5, occasions=range(n)).occasion),
        (2, lambda n: clustered_proportion(WORDS[:, 0], np.arange(80) % n).ci_low),
    ],
)
def test_the_least_that_an_answer_takes_is_enough_and_one_less_is_not(least, value):
    assert [math.isnan(value(n)) for n in (least, least - 1)] == [False, True]


@pytest.mark.parametrize(
    ("ratings", "clusters", "method"),
    [
        (WORDS, np.arange(80) % 10, "linearised"),
        (WORDS[:72], np.arange(72) % 9, "Dirichlet"),
        (np.vstack([WORDS, WORDS[:20]]), None, "bootstrap"),
        (np.vstack([WORDS, WORDS[:19]]), None, "Dirichlet"),
    ],
)
def test_ten_clusters_or_a_hundred_items_carry_a_standard_error_of_agreement(ratings, clusters, method):
    assert method in gwet_ac1(ratings, clusters=clusters).method
