"""Agreement on signals: against the statistics it is made of, and against figures counted by hand."""

import json
import math

import polars as pl
import pytest

import axisjudge
from axisjudge.checks import InputError
from axisjudge.datasets import demo_transcripts
from axisjudge.judging.signals import signals_run
from axisjudge.ratings import ratings_frame
from axisjudge.scores.axis.judged.signals import GoalCheck, check_flag, grades_of_ratings, signals_of_ratings
from axisjudge.scores.axis.scenario import axis_results
from axisjudge.stats.agreement.chance_corrected import krippendorff_alpha
from axisjudge.studies.axis_result import agreement_on_signals, judged_results
from axisjudge.verdict import Rating

JUDGES = ["rules", "simulated:heron", "simulated:wren"]


def rating(rater, id, value, question="agent.weight", run="r1", **about):
    fields = {
        "trajectory_id": run,
        "cluster_id": run,
        "interaction_id": None if id is None else str(id),
        "question": question,
        "scale": "check" if question.startswith("goal.") else "unit",
        "rater": rater,
        "rater_kind": "llm",
        "family": rater.partition("-")[0],
        "value": value,
        "status": "ok" if value is not None else "parse_error",
    }
    return Rating(**{**fields, **about})


#: Two judges of one family and one of another, on four interactions of two runs.
NUMBERS = {"a-1": (1.0, 0.9, 0.2, 0.5), "a-2": (0.9, 0.9, 0.5, None), "b-1": (0.8, 0.4, 0.3, 0.5)}
RATINGS = [
    rating(rater, at % 2 + 1, value, run=f"r{at // 2 + 1}")
    for rater, values in NUMBERS.items()
    for at, value in enumerate(values)
]


@pytest.fixture(scope="module")
def runs():
    return axisjudge.read_trajectories(*demo_transcripts()).trajectories[:4]


@pytest.fixture(scope="module")
def table(runs):
    return signals_run(runs, JUDGES).carry_out(progress=False)


def test_pairs_within_a_tenth_are_counted_across_families_alone():
    (found,) = agreement_on_signals(ratings_frame(RATINGS)).signals
    # a-1 with b-1: .2 .5 .1 0 apart; a-2 with b-1: .1 .5 .2, one lost; a-1 with a-2 are of one family
    assert found.within.estimate == pytest.approx(3 / 7)
    by_pair = {pair.raters: pair for pair in found.pairs}
    assert not by_pair["a-1", "a-2"].cross_family
    assert by_pair["a-1", "a-2"].within.estimate == pytest.approx(2 / 3)
    assert by_pair["a-2", "b-1"].mean_difference == pytest.approx((-0.1 - 0.5 - 0.2) / 3)
    assert (found.n_items, found.n_common, found.lost) == (4, 3, {"a-1": 0, "a-2": 1, "b-1": 0})
    assert found.means["a-1"] == pytest.approx(0.65)


def test_alpha_is_krippendorffs_for_interval_data():
    (found,) = agreement_on_signals(ratings_frame(RATINGS)).signals
    matrix = [[math.nan if value is None else value for value in row] for row in zip(*NUMBERS.values(), strict=True)]
    expected = krippendorff_alpha(matrix, level="interval", clusters=[0, 0, 1, 1])
    assert found.alpha.estimate == pytest.approx(expected.estimate)


def test_grades_are_taken_as_tenths_and_pooled():
    grades = [rating(rater, None, value, question) for rater, question, value in
              [("a-1", "goal.1", 8), ("b-1", "goal.1", 7), ("a-1", "goal.2", 2), ("b-1", "goal.2", 4)]]  # fmt: skip
    (found,) = agreement_on_signals(ratings_frame(grades)).signals
    assert (found.question, found.n_items, found.within.estimate) == ("goal", 2, 0.5)


def test_a_signal_of_one_judge_alone_has_no_agreement_and_is_named(runs):
    rules_and_one = signals_run(runs, JUDGES[:2]).carry_out(progress=False)  # rules grade no checks
    found = agreement_on_signals(rules_and_one)
    assert found.by_one == ("agent.necessity", "goal")
    assert "goal" not in [row["signal"] for row in found.rows()]
    assert any("goal" in sentence for sentence in found.sentences)


def test_two_judges_are_needed_and_each_may_say_one_number():
    with pytest.raises(InputError, match="needs two judges"):
        agreement_on_signals(ratings_frame([rating("a-1", 1, 0.5)]))
    person = rating("ann", 1, 0.5, rater_kind="human", family="human")
    with pytest.raises(InputError, match="needs two judges"):
        agreement_on_signals(ratings_frame([rating("a-1", 1, 0.5), person]))
    both = [*RATINGS, person]
    assert agreement_on_signals(ratings_frame(both)).to_dict() == agreement_on_signals(ratings_frame(RATINGS)).to_dict()
    twice = [rating("a-1", 1, 0.5, prompt_sha256="p"), rating("a-1", 1, 0.6, prompt_sha256="q"), rating("b-1", 1, 1.0)]
    with pytest.raises(InputError, match="may rate a signal of an interaction once"):
        agreement_on_signals(ratings_frame(twice))


def test_every_signal_of_the_demo_has_its_row_and_the_result_is_json(table):
    found = agreement_on_signals(table)
    names = [row["signal"] for row in found.rows()]
    signals = [f"agent.{name}" for name in ("necessity", "relevance", "success", "weight")]
    assert names == [*signals, "environment.success", "service.success", "goal"]
    assert "SIMULATED" in found.sentences[0]
    json.dumps(found.to_dict(), allow_nan=False)


def test_simulated_judges_say_the_same_again_and_differ_by_seed_and_repeat(runs, table):
    again = signals_run(runs, JUDGES).carry_out(progress=False)
    columns = ["item_id", "question", "rater", "prompt_sha256", "value"]
    assert again.select(columns).equals(table.select(columns))
    other = signals_run(runs[:3], ["simulated:heron,seed=1"], repeats=2).carry_out(progress=False)
    values = {repeat: part["value"].to_list() for (repeat,), part in other.group_by("repeat", maintain_order=True)}
    assert values[0] != values[1]
    assert all(0 <= value <= 10 for value in other["value"])


def test_replayed_ratings_are_the_ratings_that_they_were(runs, tmp_path):
    out = tmp_path / "r.jsonl"
    first = signals_run(runs[:2], JUDGES, out=out).carry_out(progress=False)
    plan = signals_run(runs[:2], [f"replay:{out}"], out=out).plan()
    assert plan.n_calls == 0  # same identities
    again = signals_run(runs[:2], [f"replay:{out}"]).carry_out(progress=False)
    columns = ["item_id", "question", "rater", "prompt_sha256", "value", "rationale", "rubric_sha256"]
    assert again.select(columns).equals(first.select(columns))
    with pytest.raises(InputError, match="holds no rating by"):
        signals_run(runs[2:3], [f"replay:{out}"]).carry_out(progress=False)


def test_a_record_without_signals_is_refused(runs, tmp_path):
    from axisjudge.ratings import RatingsWriter

    with RatingsWriter(tmp_path / "r.jsonl") as writer:
        writer.append([rating("a-1", None, None, "termination", scale="verdict", status="ok", verdict="correct")])
    with pytest.raises(InputError, match="has no word on any signal or check of these runs"):
        signals_run(runs[:1], [f"replay:{tmp_path / 'r.jsonl'}"]).carry_out(progress=False)


def test_results_apart_and_together(runs, table):
    judged = judged_results(runs, table)
    assert list(judged.apart) == JUDGES
    assert judged.to_frame().height == 4 * len(runs)
    alone = axis_results(runs, signals=table.filter(table["rater"] == "simulated:wren"))
    assert judged.apart["simulated:wren"] == tuple(alone)
    assert judged.together[0].judged_by == "rules, simulated:heron, simulated:wren (the mean of 3, signal by signal)"
    # rules grade no checks: theirs are the others'
    assert judged.apart["rules"][0].dimension("goal_achievement").score is not None
    by_rules = axis_results(runs)
    for own, plain in zip(judged.apart["rules"], by_rules, strict=True):
        assert own.dimension("agent").score == plain.dimension("agent").score


def test_levels_reach_what_judges_make_of_runs_and_one_with_later_repeats_alone_agrees_with_nobody(runs, table):
    judged = axisjudge.studies.axis_result(runs, signals=table, ci_level=0.8).judged
    assert {each.alpha.ci_level for each in judged.agreement.signals} == {0.8}
    later = table.with_columns(repeat=pl.when(rater="rules").then(0).otherwise(1).cast(pl.Int64))
    two = judged_results(runs, later.filter(pl.col("rater") != "simulated:wren"))
    assert list(two.apart) == JUDGES[:2]
    assert two.agreement is None


@pytest.mark.parametrize(("combine", "expected"), [("mean", 0.6), ("median", 0.8)])
def test_judges_are_combined_signal_by_signal(combine, expected):
    said = [rating(rater, 1, value) for rater, value in (("a", 0.8), ("b", 1.0), ("c", 0.0))]
    (audit,) = signals_of_ratings(ratings_frame(said), combine=combine)["agent"].audits
    assert audit.weight == pytest.approx(expected)
    assert audit.success is None


def test_a_grade_counts_for_the_check_that_it_grades():
    old, new = GoalCheck("The sum is right."), GoalCheck("The sum is right to a penny.")
    said = ratings_frame([rating("a", None, 9, "goal.1", flags=[check_flag(old)])])
    assert [grade.score for grade in grades_of_ratings(said, [old])] == [9]
    assert [grade.score for grade in grades_of_ratings(said, [new])] == [None]
    unsaid = ratings_frame([rating("a", None, 9, "goal.1"), rating("b", None, 4, "goal.1")])
    assert [grade.score for grade in grades_of_ratings(unsaid, [new])] == [6.5]


def test_ratings_of_another_run_of_that_id_are_refused(runs):
    with pytest.raises(InputError, match="no interaction of that number under the documented rules"):
        axis_results(runs[:1], signals=ratings_frame([rating("a", 999, 0.5, run=runs[0].id)]))
