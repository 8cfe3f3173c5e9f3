"""Triage, disagreements, confidence-weighted variants, effective judges: right by hand, silent failures told."""

import math

import numpy as np
import polars as pl
import pytest
from judged import ratings

from axisjudge.checks import InputError
from axisjudge.labels import read_agentprocessbench
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies._shared.ranking import NoRanks, confidence_ranks, disagreements, panel_triage, sides_with_others
from axisjudge.studies.agreement.against_labels import confident_agreement, panel_worth
from axisjudge.studies.agreement.sentences import NoWorth

YES, NO, MAYBE = "correct", "incorrect", "uncertain"


def split_panel(tasks=30):
    """Judges a and b agree where both are sure (3 of 4 items of a task) and split on the fourth, where both hedge."""
    a = [YES, NO, YES, YES] * tasks
    b = [YES, NO, YES, NO] * tasks
    sure = [0.9, 0.95, 0.85, 0.6] * tasks
    return ratings({"a": a, "b": b}, confidences={"a": sure, "b": [c - 0.3 for c in sure]}, per_task=4)


def test_triage_puts_items_into_the_four_cells_by_each_judge_s_own_scale():
    found = panel_triage(pooled(split_panel(), "termination"), quantile=0.25)
    cells = [getattr(found.cells, name) for name in ("agree_sure", "agree_unsure", "disagree_sure", "disagree_unsure")]
    assert cells == [90, 0, 0, 30]
    assert found.cells.auc.estimate == 1.0
    assert found.judges[0].mean_when_siding == pytest.approx(0.9)
    assert found.judges[1].mean_when_opposed == pytest.approx(0.3)
    assert found.reason is NoRanks.NONE


def test_without_confidences_there_is_no_triage_and_no_weighting_and_both_say_why():
    table = ratings({"a": [YES, NO] * 20, "b": [YES, YES] * 20})
    for found in (panel_triage(pooled(table, "termination")), confident_agreement(table, pooled(table, "termination"))):
        assert found.reason is NoRanks.NO_CONFIDENCES
        assert "fewer than two judges gave confidences" in found.answer


def test_judges_who_never_meet_on_an_item_gave_confidences_and_the_reason_is_another():
    table = ratings({"a": [YES, NO] * 20, "b": [YES, YES] * 20}, confidences={"a": [0.9] * 40, "b": [0.8] * 40})
    first = pl.col("item_id").is_in(table["item_id"].unique().sort()[:20].implode())
    apart = table.filter((pl.col("rater") == "a") == first)
    assert panel_triage(pooled(apart, "termination")).reason is NoRanks.APART


def test_siding_with_a_tie_is_neither():
    codes = np.array([[0, 0, 1, 1.0], [0, 0, 0, 1], [0, 1, 1, 1], [np.nan, 1, 1, 1], [0, 0, 1, np.nan]])
    assert sides_with_others(codes, 0, 2).tolist()[1:3] == [1, 0]
    assert sides_with_others(codes, 3, 2).tolist()[:3] == [0.0, 0.0, 1.0]
    assert np.isnan(sides_with_others(codes, 0, 2)[[3, 4]]).all()  # no verdict; the others tie


def test_ranks_are_fitted_on_the_calibration_split_where_there_is_one():
    table = ratings({"a": [YES] * 4, "b": [YES] * 4}, confidences={"a": [0.1, 0.2, 0.8, 0.9], "b": [0.5] * 4})
    ranks, basis = confidence_ranks(table, pooled(table, "termination"))
    assert ranks[:, 0].tolist() == [0.125, 0.375, 0.625, 0.875]
    assert ranks[:, 1].tolist() == [0.5] * 4
    assert "name no split" in basis
    marked = table.with_columns(split=pl.when(pl.col("item_id") < "t00002").then(pl.lit("calibration")))
    ranks, basis = confidence_ranks(marked, pooled(marked, "termination"))
    assert ranks[:, 0].tolist() == [0.25, 0.75, 1.0, 1.0]
    assert "calibration split" in basis


def test_confidences_of_two_sources_are_refused():
    table = ratings({"a": [YES] * 4, "b": [YES, NO] * 2}, confidences={"a": [0.5] * 4, "b": [0.5] * 4})
    mixed = table.with_columns(
        confidence_source=pl.when(pl.col("item_id") < "t00002").then(pl.lit("native")).otherwise(pl.lit("verbalized"))
    )
    with pytest.raises(InputError, match=r"confidences of a: must be of one source; found \['native', 'verbalized'\]"):
        confident_agreement(mixed, pooled(mixed, "termination"))


def test_weighting_by_confidence_raises_agreement_where_sure_judges_agree():
    found = confident_agreement(split_panel(), pooled(split_panel(), "termination"), seed=1)
    product = found.pairs[0].product
    assert product.weighted > product.unweighted
    assert product.p_value < 0.01
    alpha = next(one for one in found.panel if one.coefficient == "krippendorff_alpha" and one.combine == "product")
    assert alpha.kish_n < alpha.n_items == 120
    assert f"from {alpha.unweighted:.2f} to {alpha.weighted:.2f}" in found.answer
    again = confident_agreement(split_panel(), pooled(split_panel(), "termination"), seed=1)
    assert again.to_dict() == found.to_dict()


def test_a_low_ranked_verdict_is_never_taken_for_its_opposite():
    """Two judges who agree on every word must have positive soft agreement, however they hedge."""
    words = [YES, NO] * 30
    rng = np.random.default_rng(5)
    table = ratings({"a": words, "b": words}, confidences={"a": rng.random(60), "b": rng.random(60)})
    assert confident_agreement(table, pooled(table, "termination")).pairs[0].soft.estimate > 0


def test_disagreements_show_the_least_sure_first_with_both_reasons():
    a, b = [YES, YES, NO, YES], [YES, NO, YES, NO]
    sure = {"a": [0.9, 0.2, 0.8, 0.5], "b": [0.9, 0.3, 0.8, 0.4]}
    table = ratings({"a": a, "b": b, "truth": [YES, NO, NO, NO]}, confidences=sure, kinds={"truth": "planted"})
    found = disagreements(table, pooled(table, "termination"))
    assert [one.item for one in found.listed] == ["t00001", "t00003", "t00002"]
    first = found.listed[0]
    assert (first.first.judge, first.first.rationale, first.first.confidence) == ("a", "a on t00001", 0.2)
    assert (first.second.judge, first.second.verdict, first.label) == ("b", NO, NO)
    assert found.answer.startswith("Judges are split (not all say the same) on 3 of 4 items")


def test_disagreements_without_confidences_show_even_splits_first_and_name_two_families():
    words = {"a1": [YES, YES], "a2": [YES, NO], "b1": [YES, NO], "b2": [NO, YES]}
    families = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}
    table = ratings(words, families=families)
    found = disagreements(table, pooled(table, "termination"))
    assert [one.item for one in found.listed] == ["t00001", "t00000"]
    for one in found.listed:
        assert families[one.first.judge] != families[one.second.judge]
    assert (found.listed[1].first.n_judges, found.listed[1].second.n_judges) == (3, 1)


def test_a_side_speaks_by_a_judge_that_gave_a_reason():
    table = ratings(
        {"a": [YES, YES], "b1": [NO, YES], "b2": [NO, YES]}, confidences={"b1": [0.9, 0.5], "b2": [0.6, 0.7]}
    )
    mute = table.with_columns(rationale=pl.when(pl.col("rater") != "b1").then("rationale"))
    assert {disagreements(table, pooled(table, "termination")).listed[0].first.judge} == {"b1"}
    assert {disagreements(mute, pooled(mute, "termination")).listed[0].first.judge} == {"b2"}


def test_disagreements_on_an_ordered_scale_set_the_extremes_against_each_other(alttest):
    table = alttest("summeval")
    found = disagreements(table, pooled(table, "coherence"), most=5)
    assert {(one.first.verdict, one.second.verdict) for one in found.listed} == {("1", "5")}
    assert found.n_split <= found.n_items == 1600


def test_a_lost_verdict_is_no_disagreement():
    table = ratings({"a": [YES, YES], "b": [None, YES]})
    assert disagreements(table, pooled(table, "termination")).n_split == 0


def test_the_panel_is_worth_as_many_judges_as_err_apart():
    rng = np.random.default_rng(2)
    truth = rng.random(4000) < 0.5

    def judge(errors):
        return [YES if right else NO for right in truth ^ errors]

    apart = {f"j{n}": judge(rng.random(4000) < 0.2) for n in range(4)}
    alike = judge(rng.random(4000) < 0.2)
    planted = {"truth": [YES if right else NO for right in truth]}
    found = panel_worth(
        pooled(ratings(apart | planted, kinds={"truth": "planted"}), "termination"), cluster_unit="item"
    )
    assert found.measured.n_effective.estimate == pytest.approx(4, abs=0.3)
    assert "labels are wrong" not in found.answer  # planted truth has no error
    same = {f"j{n}": alike for n in range(4)}
    assert panel_worth(
        pooled(ratings(same | planted, kinds={"truth": "planted"}), "termination")
    ).measured.n_effective.estimate == pytest.approx(1)


def test_without_labels_the_effective_number_is_refused():
    found = panel_worth(pooled(ratings({"a": [YES, NO] * 10, "b": [YES, YES] * 10}), "termination"))
    assert (found.measured, found.to_dict()) == (None, {"reason": NoWorth.NO_LABELS})
    assert "-1/(k-1)" in found.answer
    assert found.table.height == 0


def test_people_who_tie_give_no_label():
    people = {"p1": [YES, NO, YES], "p2": [NO, NO, YES]}
    table = ratings({"a": [YES, NO, YES], "b": [YES, NO, NO], **people}, kinds=dict.fromkeys(people, "human"))
    assert math.isnan(pooled(table, "termination").label[0])
    assert panel_worth(pooled(table, "termination")).n_unlabelled == 1


@pytest.mark.slow
@pytest.mark.parametrize(("subset", "expected"), [("tau2", 2.27), ("hotpotqa", 2.25)])
def test_twenty_judges_are_worth_little_more_than_two(shared_data, subset, expected):
    table = read_agentprocessbench(shared_data / "agentprocessbench", subset)
    found = panel_worth(pooled(table, "step", step_level=True), cluster_unit="query")
    assert found.measured.n_effective.estimate == pytest.approx(expected, abs=5e-3)
    assert found.measured.n_effective.n_clusters == 50
    assert found.measured.majority < found.measured.best_single
    assert [one.left_out for one in found.without_family] == [
        "deepseek", "google", "meta", "moonshot", "openai", "qwen",
    ]  # fmt: skip


def test_pooled_questions_need_one_scale():
    one = ratings({"a": [YES], "b": [NO]})
    other = ratings({"a": ["x"], "b": ["y"]}, question="style").with_columns(scale=pl.lit("nominal:x,y"))
    with pytest.raises(InputError, match="questions that are pooled need one scale"):
        pooled(pl.concat([one, other]), ["termination", "style"])
