"""The alternative annotator test: the authors' own results, what they do not guard against, and every refusal."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp

from axisjudge.checks import InputError
from axisjudge.ratings import to_matrix
from axisjudge.stats.alternative_annotator import (
    alternative_annotator,
    benjamini_yekutieli,
    best_constant,
    beyond_constant,
    failing_word,
    stand_in,
    standing_in,
)
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clopper_pearson_interval

SETS = {"mtbench": "nominal", "cebab_stars": "ordinal", "summeval": "ordinal"}


def matrix(table):
    """All questions of a label set under each other: labels as numbers, raters, and who of them is a person."""
    people = table.filter(table["rater_kind"] == "human")["rater"].unique(maintain_order=True).to_list()
    raters = [*people, *(name for name in table["rater"].unique(maintain_order=True) if name not in people)]
    parts = [to_matrix(table, question, raters=raters) for question in table["question"].unique(maintain_order=True)]
    return np.concatenate([part.codes for part in parts]), raters, people


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_authors_own_results_at_every_epsilon(name, alttest, oracles):
    """Their functions, run unmodified (nitaytech/AltTest 18428b1): ../shared/oracles/alttest.json."""
    expected = json.loads((oracles / "alttest.json").read_text())[name]
    codes, raters, people = matrix(alttest(name))
    labels = codes[:, : len(people)]
    assert len(expected["llms"]) == 6
    for judge, of_judge in expected["llms"].items():
        for epsilon, result in of_judge["by_epsilon"].items():
            found = alternative_annotator(
                codes[:, raters.index(judge)], labels, names=people, scale=SETS[name], epsilon=float(epsilon)
            )
            assert found.winning_rate == result["winning_rate"]
            assert found.passed == result["passed"]
            assert {person.person for person in found.people if person.rejected} == set(result["rejected"])
            assert found.advantage.estimate == pytest.approx(result["advantage_probability"], abs=1e-9)
            by_person = of_judge["advantage_probability_per_annotator"]
            assert {p.person: p.p_value for p in found.tested} == pytest.approx(result["p_value"], abs=1e-9)
            assert {p.person: p.advantage for p in found.tested} == pytest.approx(by_person, abs=1e-9)


def judges_people(n, failing, hit, rng):
    """Three people and a judge, each right with probability `hit` on items of which `failing` fail."""
    truth = (rng.random(n) < failing).astype(float)
    right = rng.random((n, 4)) < hit
    labels = np.where(right, truth[:, None], 1 - truth[:, None])
    return labels[:, 0], labels[:, 1:]


def test_a_constant_judge_passes_where_failures_are_rare_and_balancing_finds_it_out():
    judge, people = judges_people(400, 0.07, 0.95, np.random.default_rng(5))
    always_correct = np.zeros(400)
    assert alternative_annotator(always_correct, people).passed
    word, constant = best_constant(judge, people)
    assert (word, constant.passed) == (0.0, True)
    good = alternative_annotator(judge, people)
    assert good.passed
    assert "always says the same passes as well" in stand_in(good, constant)
    _, balanced = best_constant(judge, people, balanced=True)
    assert not balanced.passed
    assert stand_in(alternative_annotator(judge, people, balanced=True), balanced) == ""


def test_the_claim_needs_three_people_and_a_judge_that_passes():
    judge, people = judges_people(300, 0.4, 0.95, np.random.default_rng(6))
    _, constant = best_constant(judge, people)
    assert stand_in(alternative_annotator(judge, people), constant) == ""
    two = alternative_annotator(judge, people[:, :2])
    assert two.passed
    assert stand_in(two, constant) == "the claim needs 3 people with enough items, and 2 were tested"
    contrary = alternative_annotator(1 - judge, people)
    assert "the winning rate at epsilon 0.2 is 0.00" in stand_in(contrary, constant)


def test_one_person_and_no_overlap_and_few_items_are_refused_where_the_original_crashes():
    judge, people = judges_people(60, 0.4, 0.9, np.random.default_rng(7))
    assert alternative_annotator(judge, people[:, :1], balanced=True).refusal
    alone = alternative_annotator(judge, people[:, :1])
    assert "no person can be compared with another" in alone.refusal
    assert math.isnan(alone.winning_rate)
    assert not alone.passed
    apart = people.copy()
    apart[np.arange(60)[:, None] % 3 != np.arange(3)] = np.nan  # each item has one person
    assert "no person can be compared with another" in alternative_annotator(judge, apart).refusal
    never = alternative_annotator(np.full(60, np.nan), people)
    assert never.n_items == 0
    assert stand_in(never, never) == never.refusal != ""
    few = alternative_annotator(judge[:20], people[:20])
    assert few.refusal == "nobody shares 30 items with the judge and another person"
    assert few.advantage.reason == few.refusal


def test_a_person_with_few_items_is_left_out_by_name():
    judge, people = judges_people(90, 0.4, 0.9, np.random.default_rng(8))
    people[29:, 2] = np.nan
    found = alternative_annotator(judge, people, names=["ann", "bo", "cy"])
    assert [person.person for person in found.tested] == ["ann", "bo"]
    assert found.people[2].reason == "29 items with the judge and another person; 30 are needed"
    assert found.advantage.n_raters == 2


def test_differences_that_all_equal_epsilon_have_no_p_value_and_are_not_rejected():
    labels = np.tile([[0.0, 0.0, 0.0]], (40, 1))
    same = alternative_annotator(labels[:, 0], labels, epsilon=0.0)
    assert all(math.isnan(person.p_value) for person in same.people)
    assert [person.reason for person in same.people] == ["all differences equal epsilon"] * 3
    assert same.winning_rate == 0.0
    assert alternative_annotator(labels[:, 0], labels, epsilon=0.1).winning_rate == 1.0


def test_the_p_value_is_that_of_the_one_sided_t_test():
    judge, people = judges_people(150, 0.3, 0.8, np.random.default_rng(9))
    found = alternative_annotator(judge, people, epsilon=0.1)
    matches = people[:, [1, 2]] == people[:, [0]]
    person, by_judge = matches.mean(axis=1), (people[:, [1, 2]] == judge[:, None]).mean(axis=1)
    gap = (person >= by_judge).astype(float) - (by_judge >= person)
    assert found.people[0].p_value == pytest.approx(ttest_1samp(gap, 0.1, alternative="less").pvalue, abs=1e-12)


def test_clusters_of_repeated_items_say_no_more_than_one_of_each():
    judge, people = judges_people(50, 0.4, 0.85, np.random.default_rng(10))
    once = alternative_annotator(judge, people)
    tasks = np.tile(np.arange(50), 4)
    four = alternative_annotator(np.tile(judge, 4), np.tile(people, (4, 1)), clusters=tasks, cluster_unit="task")
    assert [person.p_value for person in four.people] == pytest.approx([person.p_value for person in once.people])
    assert (four.advantage.ci_low, four.advantage.cluster_unit) == (pytest.approx(once.advantage.ci_low), "task")
    naive = alternative_annotator(np.tile(judge, 4), np.tile(people, (4, 1)))
    assert naive.people[0].p_value < four.people[0].p_value


def test_the_interval_of_the_advantage_probability_covers():
    """True value: with hit rate h for all, the judge loses where the two others agree and only the person joins them.

    That is h^2 (both others right) times h (1 - h), plus (1 - h)^2 (both wrong) times h (1 - h).
    """
    hit, rng, inside = 0.8, np.random.default_rng(11), 0
    behind = (hit**2 + (1 - hit) ** 2) * hit * (1 - hit)
    truth = 1 - behind
    for _ in range(400):
        judge, people = judges_people(80, 0.4, hit, rng)
        found = alternative_annotator(judge, people).advantage
        inside += found.ci_low <= truth <= found.ci_high
    assert inside / 400 >= 0.93


def test_minus_rmse_rewards_a_judge_that_hugs_the_mode():
    """As on summeval: the best advantage probability may go with no correlation to people at all."""
    rng = np.random.default_rng(12)
    people = np.clip(np.round(rng.normal(4.5, 0.7, (300, 1)) + rng.normal(0, 0.8, (300, 3))), 1, 5)
    noisy = np.clip(np.round(people.mean(axis=1) + rng.normal(0, 1.2, 300)), 1, 5)
    constant = np.full(300, 5.0)
    test = {name: alternative_annotator(x, people, scale="ordinal") for name, x in {"n": noisy, "c": constant}.items()}
    assert np.corrcoef(noisy, people.mean(axis=1))[0, 1] > 0.3
    assert test["c"].advantage.estimate > test["n"].advantage.estimate


def test_continuous_labels_are_scored_and_cannot_be_balanced():
    rng = np.random.default_rng(13)
    truth = rng.random((100, 1))
    people = truth + rng.normal(0, 0.1, (100, 3))
    good = alternative_annotator(truth[:, 0], people, scale="continuous")
    assert good.passed
    median, constant = best_constant(truth[:, 0], people, scale="continuous")
    assert median == pytest.approx(np.median(people))
    assert not constant.passed
    with pytest.raises(InputError, match="needs labels that recur"):
        alternative_annotator(truth[:, 0], people, scale="continuous", balanced=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 1.0}, r"epsilon: must lie in \[0, 1\)"),
        ({"epsilon": -0.1}, r"epsilon: must lie in \[0, 1\)"),
        ({"scale": "nominl"}, "did you mean 'nominal'"),
        ({"q": 0.0}, "q: must lie between 0 and 1"),
        ({"names": ["ann"]}, "one entry for each of the 3 people"),
        ({"judge": np.zeros(3)}, "one entry for each of the 50 items"),
        ({"judge": ["correct"] * 50}, "labels: must be numbers"),
        ({"people": np.zeros(50)}, "must be items x people"),
        ({"people": np.full((50, 3), np.inf)}, "finite or NaN"),
    ],
)
def test_what_cannot_be_used_is_named(change, message):
    with pytest.raises(InputError, match=message):
        alternative_annotator(**{"judge": np.zeros(50), "people": np.zeros((50, 3)), **change})


@given(st.lists(st.floats(0, 1) | st.just(math.nan), min_size=1, max_size=12), st.floats(0.01, 0.2))
def test_benjamini_yekutieli_by_its_definition(p_values, q):
    """Reject the k smallest for the largest k with p_(k) <= k q / (m c(m)): Benjamini and Yekutieli (2001), eq. 1.3."""
    m = len(p_values)
    ordered = sorted(p for p in p_values if p == p)
    harmonic = sum(1 / i for i in range(1, m + 1))
    k = max((i for i, p in enumerate(ordered, 1) if p <= i / m * q / harmonic), default=0)
    rejected = benjamini_yekutieli(p_values, q=q)
    assert sum(rejected) == k
    assert sorted(p for p, out in zip(p_values, rejected, strict=True) if out) == ordered[:k]


def test_benjamini_yekutieli_agrees_with_scipy():
    from scipy.stats import false_discovery_control

    p_values = np.random.default_rng(3).random(40) ** 3
    adjusted = false_discovery_control(p_values, method="by")
    assert benjamini_yekutieli(list(p_values)) == (adjusted <= 0.05).tolist()


def test_a_judge_is_tested_beside_the_best_constant_and_with_rare_words_counting_alike():
    """One failure in ten: always saying 'passed' is the best constant."""
    truth = np.tile([1.0, *[0.0] * 9], 20)
    people = np.column_stack([truth, truth, np.roll(truth, 1)])
    how = {"scale": "nominal", "epsilon": 0.2, "names": ["a", "b", "c"], "clusters": None, "cluster_unit": "task"}
    result = standing_in(truth, people, ("passed", "failed"), **how, ci_level=0.95)
    assert result.constant_word == "passed"
    assert result.judge == alternative_annotator(truth, people, epsilon=0.2, names=["a", "b", "c"])
    assert result.balanced == alternative_annotator(truth, people, epsilon=0.2, names=["a", "b", "c"], balanced=True)
    assert (result.judge.balanced, result.balanced.balanced, result.balanced_constant.balanced) == (False, True, True)
    assert result.refusal == stand_in(result.judge, result.constant, result.beyond_constant)


def test_balanced_tests_count_every_word_of_the_others_alike():
    """Weights 1 / (q P) averaged over the others; t on Kish's number of items less one; the advantage on the logit."""
    judge, people = judges_people(60, 0.3, 0.8, np.random.default_rng(14))
    found = alternative_annotator(judge, people, epsilon=0.1, balanced=True, ci_level=0.9)
    shares, influence = [], np.zeros(60)
    for at, person in enumerate(found.people):
        others = np.delete(people, at, axis=1)
        failing = others.mean(axis=1)
        weight = failing / (2 * failing.mean()) + (1 - failing) / (2 * (1 - failing.mean()))
        mine, its = ((others == each[:, None]).mean(axis=1) for each in (people[:, at], judge))
        gap, n = (mine >= its) * 1.0 - (its >= mine), weight.sum() ** 2 / (weight**2).sum()
        mean = np.average(gap, weights=weight)
        error = math.sqrt(n / (n - 1) * ((weight * (gap - mean) / weight.sum()) ** 2).sum())
        assert (person.difference, person.p_value) == pytest.approx((mean, t.cdf((mean - 0.1) / error, n - 1)))
        assert person.advantage == pytest.approx(np.average(its >= mine, weights=weight))
        shares.append(person.advantage)
        influence += weight * ((its >= mine) - person.advantage) / weight.sum() / 3
    mean = np.mean(shares)
    half = t.ppf(0.95, 59) * math.sqrt(60 / 59 * (influence**2).sum()) / (mean * (1 - mean))
    ends = 1 / (1 + np.exp(-math.log(mean / (1 - mean)) + np.array([half, -half])))
    assert (found.advantage.ci_low, found.advantage.ci_high) == pytest.approx(tuple(ends))


def test_numbers_are_scored_by_minus_the_root_of_mean_squares_and_beside_a_constant_word():
    """Two people apart by 3 and 4 from a label, one missing: -(12.5)^.5; less that of always saying 2."""
    judge, people = np.tile([5.0, 1.0], 15), np.tile([[2.0, 1.0, math.nan], [2.0, 1.0, 3.0]], (15, 1))
    found = beyond_constant(judge, people, 2.0, scale="ordinal")
    scores = [-math.sqrt((9 + 16) / 2) + math.sqrt(1 / 2), -math.sqrt((1 + 0 + 4) / 3) + math.sqrt((0 + 1 + 1) / 3)]
    assert found.estimate == pytest.approx(np.mean(scores))
    nominal = beyond_constant(judge, people, 2.0)
    assert nominal.estimate == pytest.approx(np.mean([0 - 1 / 2, 1 / 3 - 1 / 3]))
    assert found.n_items == 30
    assert math.isnan(beyond_constant(judge, people, math.nan).estimate)


def test_precision_recall_and_their_mean_by_hand():
    """8 of 10 flags hold, of 14 failures 8 are flagged: F1 = 16 / (16 + 2 + 6); one item without a reference."""
    flagged = np.r_[np.ones(10), np.zeros(20), 1]
    failed = np.r_[np.ones(8), np.zeros(2), np.ones(6), np.zeros(14), math.nan]
    found = failing_word(flagged, failed, ci_level=0.9)
    assert [each.estimate for each in (found.precision, found.recall, found.f1)] == pytest.approx(
        [0.8, 8 / 14, 16 / 24]
    )
    for share, k, n in ((found.precision, 8, 10), (found.recall, 8, 14)):
        assert (share.ci_low, share.ci_high) == pytest.approx(clopper_pearson_interval(k, n, ci_level=0.9))
    assert found.f1.n_items == 16


@pytest.mark.parametrize(("n", "is_tested"), [(29, False), (30, True)])
def test_the_limits_of_the_test_belong_to_it(n, is_tested):
    judge, people = judges_people(n, 0.4, 0.9, np.random.default_rng(7))
    assert bool(alternative_annotator(judge, people).tested) == is_tested
    found = alternative_annotator(*judges_people(300, 0.4, 0.95, np.random.default_rng(6)))
    half, less = (replace(found, winning_rate=rate) for rate in (0.5, 0.499))
    assert (half.passed, less.passed) == (True, False)
    beyond = Estimate(estimate=0.1, ci_low=0.0, ci_high=0.2, n_items=9, n_clusters=9)
    assert "always says the same" in stand_in(found, found, beyond)
    assert stand_in(found, found, replace(beyond, ci_low=0.01)) == ""
