"""Within and across families: hand-made panels, published figures of real sets, coverage by simulation."""

import json
import math

import numpy as np
import polars as pl
import pytest
from judged import ratings as ratings_of
from sklearn.metrics import cohen_kappa_score

from axisjudge.checks import InputError
from axisjudge.labels import read_agentprocessbench
from axisjudge.ratings.counts import counted
from axisjudge.stats.agreement.chance_corrected import cohen_kappa
from axisjudge.stats.agreement.pairs import paired_coefficient
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies.agreement.by_family import _p_of_deals, families_of, families_of_counts

WORDS = ("correct", "incorrect")


def cross_family(panel, *, coefficient="", cluster_unit="task", ci_level=0.95):
    return families_of(panel, coefficient, {"cluster_unit": cluster_unit, "ci_level": ci_level})


def table(columns, families, per_task=1, kinds=None, question="termination"):
    """Ratings from one list of 0, 1 or None for each rater; `per_task` items share a task."""
    said = {rater: [None if word is None else WORDS[word] for word in column] for rater, column in columns.items()}
    return ratings_of(said, families=families, kinds=kinds, per_task=per_task, question=question)


def panel(rng, tasks=50, per_task=4):
    """Two families of two judges: errors of one family's judges are alike, those of two families are not."""
    truth = rng.random((tasks, 1)) + 0.35 * rng.standard_normal((tasks, per_task)) < 0.4
    shared = {family: rng.standard_normal(truth.shape) for family in ("a", "b")}
    said = {}
    for judge in ("a1", "a2", "b1", "b2"):
        noise = 0.8 * shared[judge[0]] + 0.6 * rng.standard_normal(truth.shape)
        said[judge] = (truth ^ (noise > 1.0)).astype(int).ravel()
    return said


FAMILIES = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}


def test_the_matrix_is_cohen_s_kappa_of_every_pair_by_family_and_name():
    said = panel(np.random.default_rng(1))
    found = cross_family(pooled(table(dict(reversed(said.items())), FAMILIES), "termination"))
    assert found.raters == ("a1", "a2", "b1", "b2")
    for i, first in enumerate(found.raters):
        assert math.isnan(found.matrix[i, i])
        for j, second in enumerate(found.raters):
            if i != j:
                assert found.matrix[i, j] == pytest.approx(cohen_kappa_score(said[first], said[second]), abs=1e-12)
    kappas = {(one, two): value for (one, two), value in found.pairs.select("raters", "value").iter_rows()}
    assert found.within.estimate == pytest.approx((kappas["a1", "a2"] + kappas["b1", "b2"]) / 2)
    assert found.difference.estimate == pytest.approx(found.within.estimate - found.across.estimate)


def test_the_mean_within_families_is_that_of_their_pairs():
    said = panel(np.random.default_rng(2), tasks=12)
    found = cross_family(pooled(table(said, FAMILIES, per_task=4), "termination"))
    tasks, codes = np.arange(48) // 4, np.column_stack([*said.values()]).astype(float)
    every = paired_coefficient(codes, "cohen_kappa", n_categories=2, clusters=tasks, cluster_unit="task", ci_level=0.95)
    expected = every.mean([every.pairs.index((0, 1)), every.pairs.index((2, 3))], "")
    assert found.within.in_short == pytest.approx(expected.in_short)
    assert found.within.n_clusters == 12
    assert math.isnan(found.difference.ci_low)  # 12 tasks are too few for that of the difference
    assert "25 clusters" in found.difference.reason


@pytest.mark.parametrize(("panels", "least", "mean"), [(100, 0.88, 0.92), (1000, 0.93, 0.94)])
@pytest.mark.slow
def test_intervals_cover(panels, least, mean):
    """Panels of 50 tasks x 4; the truth is that of one of 8,000 tasks."""
    rng = np.random.default_rng(3)
    truth = cross_family(pooled(table(panel(rng, tasks=8_000), FAMILIES, per_task=4), "termination"))
    hits = np.zeros(3)
    for _ in range(panels):
        found = cross_family(pooled(table(panel(rng), FAMILIES, per_task=4), "termination"))
        for number, name in enumerate(("within", "across", "difference")):
            hits[number] += getattr(found, name).ci_low <= getattr(truth, name).estimate <= getattr(found, name).ci_high
    assert (hits / panels > least).all(), hits / panels
    assert hits.mean() / panels > mean


def test_one_pair_has_the_interval_of_its_coefficient():
    said = panel(np.random.default_rng(11))
    columns = {"a1": said["a1"], "b1": said["b1"], "truth": said["a2"]}
    ratings = table(columns, {**FAMILIES, "truth": "planted"}, per_task=4, kinds={"truth": "planted"})
    found = cross_family(pooled(ratings, "termination")).with_labels["a1"]
    expected = cohen_kappa(np.column_stack([said["a1"], said["a2"]]), categories=range(4), clusters=np.arange(200) // 4)
    assert (found.estimate, found.ci_low, found.ci_high) == (expected.estimate, expected.ci_low, expected.ci_high)


def test_labels_stand_last_and_are_no_judges():
    said = panel(np.random.default_rng(4))
    columns = {**said, "p1": said["a1"], "p2": said["b1"]}
    families = {**FAMILIES, "p1": "human", "p2": "human"}
    found = cross_family(pooled(table(columns, families, kinds={"p1": "human", "p2": "human"}), "termination"))
    assert found.raters == ("a1", "a2", "b1", "b2", "p1", "p2")
    assert found.within.estimate == cross_family(pooled(table(said, FAMILIES), "termination")).within.estimate
    assert found.among_people.estimate == pytest.approx(cohen_kappa_score(said["a1"], said["b1"]))
    assert found.with_labels["a1"].estimate == pytest.approx((1 + cohen_kappa_score(said["a1"], said["b1"])) / 2)


def test_a_family_with_one_judge_has_no_within_and_says_so():
    said = panel(np.random.default_rng(5))
    found = cross_family(pooled(table({"a1": said["a1"], "b1": said["b1"]}, FAMILIES), "termination"))
    assert math.isnan(found.within.estimate)
    assert found.within.reason == "no family has two judges here"
    assert math.isnan(found.difference.estimate)
    assert "no family has two judges here" in found.answer


def test_few_tasks_give_no_interval():
    said = panel(np.random.default_rng(6), tasks=5)
    found = cross_family(pooled(table(said, FAMILIES, per_task=4), "termination"))
    assert not math.isnan(found.across.estimate)
    assert math.isnan(found.across.ci_low)
    assert "5 clusters" in found.across.reason


def test_an_undefined_pair_is_left_out_and_counted_not_taken_as_zero_or_one():
    said = panel(np.random.default_rng(7))
    columns = {**said, "a1": [0] * 200, "a2": [0] * 200}  # two judges who never find anything: no kappa
    found = cross_family(pooled(table(columns, FAMILIES), "termination"))
    assert math.isnan(found.matrix[0, 1])
    assert found.within.estimate == pytest.approx(cohen_kappa_score(said["b1"], said["b2"]))
    assert found.within.notes == ("1 of 2 pairs are undefined and left out",)


def test_deals_without_a_known_pair_of_one_kind_do_not_count_for_a_difference():
    """Three of six pairs have a kappa, all of one value: families that differ by nothing are no finding."""
    matrix = np.full((4, 4), np.nan)
    for one, other in ((0, 1), (0, 2), (0, 3)):
        matrix[one, other] = matrix[other, one] = 0.5
    assert _p_of_deals(matrix, ("a", "a", "b", "b")) == 1


def test_lost_verdicts_leave_the_pair_and_not_the_item():
    said = {name: list(column) for name, column in panel(np.random.default_rng(8)).items()}
    said["a1"][:20] = [None] * 20
    found = cross_family(pooled(table(said, FAMILIES), "termination"))
    assert found.pairs["n_items"].to_list() == [180, 180, 180, 200, 200, 200]


def test_several_questions_are_pooled_within_themselves():
    """That one question fails more often than another is no agreement of judges: chance is taken within each."""
    said = panel(np.random.default_rng(9))
    rng = np.random.default_rng(1)
    rare = {name: column * (rng.random(200) < 0.3) for name, column in said.items()}
    both = pl.concat([table(said, FAMILIES, per_task=4), table(rare, FAMILIES, per_task=4, question="sequencing")])
    found = cross_family(pooled(both, ["termination", "sequencing"]))
    assert found.pairs["n_items"][0] == 400
    observed, expected = 0.0, 0.0
    for words in (said, rare):
        one, two = words["a1"], words["a2"]
        observed += 200 * np.mean(one != two)
        expected += 200 * (one.mean() * (1 - two.mean()) + two.mean() * (1 - one.mean()))
    assert found.pairs["value"][0] == pytest.approx(1 - observed / expected)
    apart = [cross_family(pooled(both, name)) for name in ("termination", "sequencing")]
    for name in ("alpha_judges", "within", "across"):
        ends = sorted(getattr(one, name).estimate for one in apart)
        assert ends[0] <= getattr(found, name).estimate <= ends[1]
    of_counts, _ = families_of_counts(counted(both.lazy()), "", {"cluster_unit": "task", "ci_level": 0.95})
    one, other = (
        json.loads(json.dumps(each.to_dict()), parse_float=lambda text: round(float(text), 12))
        for each in (of_counts, found)
    )
    assert one == other, "in another order of sums: the last digits differ by machine"


def test_families_dealt_to_judges_at_random_say_whether_families_in_general_agree_more():
    rng = np.random.default_rng(12)
    families = {f"{name}{number}": name for name in "abc" for number in range(3)}
    alike = {judge: rng.integers(0, 2, 400) for judge in "abc"}
    noisy = {judge: np.where(rng.random(400) < 0.2, 1 - alike[name], alike[name]) for judge, name in families.items()}
    assert cross_family(pooled(table(noisy, families), "termination")).p_families < 0.01
    one = {judge: np.where(rng.random(400) < 0.2, 1 - alike["a"], alike["a"]) for judge in families}
    found = cross_family(pooled(table(one, families), "termination"))
    assert found.p_families > 0.01
    assert math.isnan(
        cross_family(pooled(table({"a1": one["a1"], "b1": one["b1"]}, families), "termination")).p_families
    )


def test_wrong_input_is_named():
    ratings = table(panel(np.random.default_rng(10)), FAMILIES)
    with pytest.raises(InputError, match=r"coefficient: must be one of .*cohen_kappa_linear"):
        cross_family(pooled(ratings, "termination"), coefficient="kappa")
    with pytest.raises(InputError, match="the table has no such ratings"):
        cross_family(pooled(ratings, "sequencing"))


@pytest.mark.slow
def test_summeval_within_and_across(alttest):
    """Six judges of four families: .372 within a family and .150 across in one table of 6,400 items (published).

    Within its four criteria the value lies between theirs, as in one table the difference of their means counts as
    agreement.
    """
    ratings = alttest("summeval")
    questions = sorted(ratings["question"].unique())
    panel = pooled(ratings, questions)
    sample = {"clusters": panel.clusters, "cluster_unit": "document", "ci_level": 0.95}
    every = paired_coefficient(panel.judged, "cohen_kappa", n_categories=5, **sample)
    of_family = [panel.families[i] == panel.families[j] for i, j in every.pairs]
    assert every.mean(np.flatnonzero(of_family), "").estimate == pytest.approx(0.372, abs=5e-4)
    assert every.mean(np.flatnonzero(~np.array(of_family)), "").estimate == pytest.approx(0.150, abs=5e-4)
    found = cross_family(panel, cluster_unit="document")
    assert (found.within.n_items, found.within.clusters) == (6400, "100 documents")
    each = [cross_family(pooled(ratings, question), cluster_unit="document") for question in questions]
    alphas = [one.alpha_judges.estimate for one in each]
    assert min(alphas) < found.alpha_judges.estimate < max(alphas) < 0.326  # what one table of all items gives
    for apart in each:
        assert apart.difference.ci_low > 0
        assert apart.pairs["n_items"][0] == 1600
        assert apart.label == "Cohen's kappa, quadratic weights"  # grades are in order


@pytest.mark.slow
def test_agentprocessbench_clusters_are_queries_and_never_steps(shared_data):
    ratings = read_agentprocessbench(shared_data / "agentprocessbench", "tau2")
    found = cross_family(pooled(ratings, "step", step_level=True), cluster_unit="query")
    assert found.within.clusters == "50 queries"
    assert len(found.judges) == 20
    assert found.families[:2] == ("deepseek", "deepseek")
    assert found.difference.ci_low < found.difference.estimate < found.difference.ci_high
