"""Coefficients of every two judges, their means and differences: against scikit-learn and items left out by hand."""

import math

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import t
from sklearn.metrics import cohen_kappa_score
from stats.probit_panels import true_coefficient

from axisjudge.checks import InputError
from axisjudge.stats.agreement.coefficients import COEFFICIENTS
from axisjudge.stats.agreement.measured import interval_alpha, intraclass_correlation
from axisjudge.stats.agreement.pairs import (
    coefficient_of,
    coefficients_at,
    columns_of,
    paired_coefficient,
)
from axisjudge.stats.clusters import OUTCOME_ICC, clustered_variance

PAIRS = [(0, 1), (0, 2), (1, 2)]


def judged(n_tasks=30, size=4, seed=0):
    """Three judges that each err in a fifth of what fails in a third, and the task of each item."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_tasks * size) < 1 / 3
    codes = np.where(rng.random((truth.size, 3)) < 0.2, ~truth[:, None], truth[:, None]).astype(float)
    return codes, np.repeat(np.arange(n_tasks), size)


def paired(codes, tasks, name="cohen_kappa", **how):
    return paired_coefficient(codes, name, n_categories=2, clusters=tasks, cluster_unit="task", ci_level=0.95, **how)


def moved_by(value, n_items, scale=np.arctanh):
    """What each item moves a value of rows by on Fisher's z."""
    kept = ~np.eye(n_items, dtype=bool)
    z = scale(np.array([value(rows) for rows in kept]))
    return (z.mean() - z) * (n_items - 1) / n_items


def linearised(value, tasks):
    """The ends by what items move a value of rows by, added up over tasks, as of one coefficient."""
    spread = clustered_variance(moved_by(value, tasks.size), tasks, prior=OUTCOME_ICC, rare=True)
    below, above = (q * spread.error for q in spread.lean.quantiles(t.ppf(0.975, spread.degrees)))
    centre = math.atanh(value(np.ones(tasks.size, bool)))
    return math.tanh(centre - below), math.tanh(centre + above)


def test_values_and_the_mean_of_pairs_are_scikit_learn_s_with_items_left_out():
    codes, tasks = judged()
    found = paired(codes, tasks)

    def mean(rows):
        return np.mean([cohen_kappa_score(codes[rows, one], codes[rows, other]) for one, other in PAIRS])

    for one, other in PAIRS:
        kappa = cohen_kappa_score(codes[:, one], codes[:, other])
        assert found.matrix[one, other] == found.matrix[other, one] == pytest.approx(kappa)
    assert np.isnan(np.diag(found.matrix)).all()
    over = found.mean([0, 1, 2], "")
    assert over.estimate == pytest.approx(mean(slice(None)))
    assert (over.ci_low, over.ci_high) == pytest.approx(linearised(mean, tasks))
    assert (over.n_items, over.n_raters, over.n_clusters) == (120, 2, 30)
    alone = found.mean([1], "")
    assert alone == coefficient_of(
        codes[:, [0, 2]], "cohen_kappa", 2, clusters=tasks, cluster_unit="task", ci_level=0.95
    )


def test_a_pair_that_is_undefined_is_left_out_of_the_mean_and_said():
    codes, tasks = judged()
    codes = np.column_stack([codes, np.full(len(codes), math.nan)])
    over = paired(codes, tasks).mean([0, 1, 2], "")
    assert over.notes == ("1 of 3 pairs are undefined and left out",)
    assert over.estimate == pytest.approx(np.nanmean(paired(codes, tasks).values[:3]))
    assert paired(codes, tasks).mean([2, 4], "").reason == "no pair of judges has a defined value"
    assert paired(codes, tasks).mean([], "no two of a family").reason == "no two of a family"


@pytest.mark.parametrize(
    ("codes", "tasks", "reason"),
    [
        (*judged(n_tasks=9), "9 clusters; an interval of a mean over pairs needs 10"),
        (
            np.where((judged()[1] < 3)[:, None] | [True, False, False], judged()[0], math.nan),
            judged()[1],
            "3 clusters;",
        ),
        (np.tile([[0, 0, 0], [1, 1, 1.0]], (12, 1)), np.arange(24) // 2, "without some item a pair is undefined"),
    ],
    ids=["few", "few of both", "perfect"],
)
def test_a_mean_of_pairs_within_questions_without_an_interval_says_why(codes, tasks, reason):
    for group in ([0, 1, 2], [0]):
        over = paired(codes, tasks, strata=np.arange(len(codes)) // 2 % 2).mean(group, "")
        assert math.isnan(over.ci_low)
        assert reason in over.reason


def test_a_pair_without_an_item_of_both_is_undefined_within_questions_too():
    codes, tasks = judged()
    codes[::2, 0] = codes[1::2, 1] = math.nan
    assert math.isnan(paired(codes, tasks, strata=np.arange(120) // 2 % 2).mean([0], "").estimate)


ROWS = {
    "even": judged(),
    "uneven": (judged()[0], np.repeat(np.arange(46), [12, 10, 8, 8] + [3] * 20 + [1] * 22)),
    "rare": (judged(seed=3)[0] * (np.arange(120) % 5 == 0)[:, None], judged()[1]),
    "alike": (np.tile([[0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0.0]], (12, 1)), np.arange(48) // 4),
    "perfect": (np.tile([[0, 0, 0], [1, 1, 1.0]], (12, 1)), np.arange(24) // 2),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", ["cohen_kappa", "scott_pi", "gwet_ac1"])
def test_a_mean_of_like_pairs_and_one_question_have_the_interval_of_the_pair(rows, name):
    codes, tasks = ROWS[rows]
    codes = codes[:, [0, 1, 1]]
    alone = paired(codes, tasks, name).mean([0], "")
    assert alone.ci_low < alone.ci_high
    assert paired(codes, tasks, name, strata=np.full(len(codes), 7)).mean([0], "") == alone
    for strata in (None, np.zeros(len(codes), int)):
        twice = paired(codes, tasks, name, strata=strata).mean([0, 1], "")
        assert twice.in_short == pytest.approx(alone.in_short)


def test_pairs_of_counts_are_those_of_the_items_themselves():
    codes, tasks = judged()
    rows, at = np.unique(codes, axis=0, return_inverse=True)
    question = np.arange(len(codes)) % 2
    for strata in (None, question):
        found = paired_coefficient(
            rows, "cohen_kappa", n_categories=2, clusters=tasks, rows=at, strata=strata, cluster_unit="t", ci_level=0.95
        )
        single = paired(codes, tasks, strata=strata)
        for group in ([0], [0, 1, 2]):
            assert found.mean(group, "").in_short == pytest.approx(single.mean(group, "").in_short)


def mean_coverage(sizes, prevalence, shared, replicates):
    """Of three judges whose latent scores share the task's and the item's effects, each with its own of the task.

    `shared` are the parts of the variance of the task, the item, and the judge within the task; the true kappa is that
    of a bivariate normal, prevalence alike (`probit_panels`).
    """
    rng = np.random.default_rng([len(sizes), round(100 * prevalence)])
    tasks = np.repeat(np.arange(len(sizes)), sizes)
    of_task, of_item, of_judge = shared
    truth, held = true_coefficient("cohen_kappa", prevalence, n_raters=2, correlation=of_task + of_item), []
    for _ in range(replicates):
        common = math.sqrt(of_task) * rng.standard_normal((len(sizes), 1))[tasks]
        common = common + math.sqrt(of_item) * rng.standard_normal((tasks.size, 1))
        common = common + math.sqrt(of_judge) * rng.standard_normal((len(sizes), 3))[tasks]
        score = common + math.sqrt(1 - sum(shared)) * rng.standard_normal((tasks.size, 3))
        over = paired((score < ndtri(prevalence)).astype(float), tasks).mean([0, 1, 2], "")
        held.append(over.ci_low <= truth <= over.ci_high)
    return np.mean(held)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "prevalence", "shared"),
    [
        ([4] * 32, 0.2, (0.35, 0.25, 0.2)),
        ([4] * 55, 0.1, (0.3, 0.2, 0.3)),
        ([5] * 48, 0.06, (0.4, 0.3, 0.1)),
        ([20, 15, 10, 8] + [3] * 24, 0.3, (0.35, 0.2, 0.3)),
    ],
)
def test_the_mean_of_pairs_covers(sizes, prevalence, shared):
    """By clusters left out .89 to .94 here; 1,000 replicates, standard error .007."""
    assert mean_coverage(sizes, prevalence, shared, 1000) >= 0.95 - 2 * 0.007


def test_a_difference_of_means_needs_25_clusters():
    means = [paired(*judged(n_tasks=n)) for n in (24, 25)]
    few, enough = (each.difference([0], [1, 2], (each.mean([0], ""), each.mean([1, 2], ""))) for each in means)
    assert "needs 25 clusters" in few.reason
    assert few.estimate == pytest.approx(means[0].values[0] - means[0].values[1:].mean())
    assert enough.ci_low < enough.estimate < enough.ci_high


def test_a_difference_of_means_is_mover_with_the_correlation_that_clusters_show():
    """Zou (2007): d - sqrt(a^2 + b^2 - 2 r a b); then to t on half of the degrees, from the same ends."""
    codes, tasks = judged()
    found = paired(codes, tasks)
    means = found.mean([0, 1], ""), found.mean([1, 2], "")

    def of_pairs(rows, pairs):
        return np.mean([cohen_kappa_score(codes[rows, one], codes[rows, other]) for one, other in pairs])

    moved = (moved_by(lambda rows, of=pairs: of_pairs(rows, of), 120, np.asarray) for pairs in (PAIRS[:2], PAIRS[1:]))
    r = np.corrcoef([np.bincount(tasks, weights=each) for each in moved])[0, 1]
    wider = t.ppf(0.975, 29 / 2) / t.ppf(0.975, 29)
    (a_low, a_high), (b_low, b_high) = ((each.estimate - each.ci_low, each.ci_high - each.estimate) for each in means)
    below = math.sqrt(a_low**2 + b_high**2 - 2 * r * a_low * b_high)
    above = math.sqrt(a_high**2 + b_low**2 - 2 * r * a_high * b_low)
    gap = found.difference([0, 1], [1, 2], means)
    assert gap.estimate == pytest.approx(means[0].estimate - means[1].estimate)
    assert (gap.ci_low, gap.ci_high) == pytest.approx((gap.estimate - wider * below, gap.estimate + wider * above))
    assert (gap.n_items, gap.n_raters) == (120, 2)


def test_of_two_questions_chance_is_that_of_each():
    """1 - (disagreements seen) / (those that chance gives within each question), and each item left out by hand."""
    codes, tasks = judged()
    question = np.arange(len(codes)) % 2
    codes[question == 1] = 1 - codes[question == 1]  # what is rare in one is common in the other

    def within(rows):
        differ = by_chance = 0.0
        for each in (0, 1):
            one, other = codes[rows & (question == each)][:, :2].T
            differ += (one != other).sum()
            by_chance += one.size * (one.mean() * (1 - other.mean()) + other.mean() * (1 - one.mean()))
        return 1 - differ / by_chance

    every = np.ones(len(codes), bool)
    how = {"clusters": tasks, "cluster_unit": "task", "ci_level": 0.95, "strata": question}
    found = coefficient_of(codes[:, :2], "cohen_kappa", 2, **how)
    assert found.estimate == pytest.approx(within(every))
    assert (found.ci_low, found.ci_high) == pytest.approx(linearised(within, tasks))
    assert found.n_items == 120
    assert paired(codes, tasks, strata=question).mean([0], "").estimate == pytest.approx(within(every))


def test_one_judge_agrees_with_nobody():
    found = coefficient_of(np.ones((6, 1)), "cohen_kappa", 2, clusters=np.arange(6) // 2, cluster_unit="task")
    assert (found.reason, found.n_items, found.n_clusters) == ("one rater", 6, 3)


def test_of_numbers_alpha_and_the_icc_of_counts_are_those_of_the_items_themselves():
    rows = np.array([[1.0, 2.0], [3.0, 3.5], [5.0, 4.0], [2.0, math.nan]])
    at, times = np.arange(12) % 4, np.array([1, 2, 1] * 4)
    tasks = np.arange(12)
    found = coefficients_at("interval", rows, categories=[], clusters=tasks, rows=at, times=times)
    items = np.repeat(at, times)
    assert tuple(found) == columns_of("interval") == ("interval_alpha", "icc")
    assert found["interval_alpha"] == interval_alpha(rows[items], clusters=np.repeat(tasks, times))
    assert found["icc"] == intraclass_correlation(rows[items], form="A,1", clusters=np.repeat(tasks, times))
    thin = np.where(np.eye(12, 5)[:, [0, 1, 2, 3, 4]] > 0, math.nan, np.arange(60.0).reshape(12, 5) % 7)
    thin[::2, 0] = math.nan
    thin[1::4, 1] = math.nan
    assert coefficients_at("interval", thin, categories=[])["icc"] == intraclass_correlation(thin, form="1")
    with pytest.raises(InputError, match="coefficients of numbers take each item alike"):
        coefficients_at("interval", rows, categories=[], alike="clusters")
    with pytest.raises(InputError, match="coefficients of numbers take one way of grouping"):
        coefficients_at("interval", rows, categories=[], clusters=np.zeros((4, 2), int))


@pytest.mark.parametrize(("n_raters", "kappa"), [(2, "cohen_kappa"), (3, "fleiss_kappa")])
def test_a_table_of_words_has_a_column_a_coefficient(n_raters, kappa):
    codes, tasks = judged()
    found = coefficients_at("nominal", codes[:, :n_raters], categories=[0, 1], clusters=tasks)
    assert set(found) <= set(columns_of("nominal"))
    assert found["kappa"].coefficient == kappa
    ordered = coefficients_at("ordinal", codes[:, :n_raters], categories=[0, 1], clusters=tasks)
    assert all("ordinal" in COEFFICIENTS[each.coefficient].levels for each in ordered.values())
