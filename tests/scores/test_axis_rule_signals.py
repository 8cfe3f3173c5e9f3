"""Signals by rules: what a program can see, each with its reason."""

from typing import Any

import polars as pl
import pytest
from scores.axis_cases import answers, calls, says

from axisjudge.ratings.table import ratings_frame
from axisjudge.scores.axis.goal import Check, Grade
from axisjudge.scores.axis.judged.questions import (
    grades_of_ratings,
    ratings_of_signals,
    signals_of_ratings,
)
from axisjudge.scores.axis.judged.rule_signals import (
    OVERSIZED_BYTES,
    OVERSIZED_WEIGHT,
    REPEATED_WEIGHT,
    UNUSED_RELEVANCE,
    rule_signals,
)
from axisjudge.scores.axis.judged.signals import Audit, CategorySignals, Necessity
from axisjudge.scores.axis.result import score_run
from axisjudge.scores.axis.transcript.run import AxisRun, run_of_axis
from axisjudge.verdict import Rating


def run(*entries: dict[str, Any]) -> AxisRun:
    return run_of_axis(entries, id="run", task_id="task", agent="alder")


def audits(*entries: dict[str, Any]) -> dict[int, Audit]:
    return {audit.id: audit for audit in rule_signals(run(*entries))["agent"].audits}


def necessity(*entries: dict[str, Any]) -> Necessity:
    return rule_signals(run(*entries))["agent"].necessity


CODE = "def total_price(basket, discount): ..."
LOOK = (calls(0, "Read", "a", file_path="src/orders.py"), answers(100, CODE, "a"))


@pytest.mark.parametrize(
    ("result", "success"),
    [
        (answers(100, "boom", is_error=True), 0.0),
        (answers(100, "Error: no such file"), 0.0),
        (answers(100, "Exit code: 2\nFAILED"), 0.0),
        (answers(100, "Exit code: 0\nok"), 1.0),
        (answers(100, "Errors were found in no file", is_error=False), 1.0),
        (answers(100, "12 passed"), 1.0),
    ],
)
def test_success_follows_what_the_result_says(result: dict[str, Any], success: float) -> None:
    assert audits(calls(0, "Bash", command="make"), result)[1].success == success


def test_a_call_without_a_result_is_not_judged() -> None:
    assert audits(calls(0, "Bash", command="make"))[1].success is None


def test_a_result_that_is_taken_up_is_relevant_and_one_that_is_not_is_not() -> None:
    assert audits(*LOOK, says(200, "total_price is in src/orders.py"))[1].relevance == 1.0
    unused = audits(*LOOK, says(200, "Let me look elsewhere."))[1]
    assert unused.relevance == UNUSED_RELEVANCE
    assert "takes up" in unused.rationale
    assert necessity(*LOOK, says(200, "Let me look elsewhere.")).unnecessary == (1,)


def test_nobody_need_take_up_a_confirmation() -> None:
    entries = (calls(0, "Edit", file_path="a"), answers(100, "updated successfully without further remarks"))
    assert audits(*entries)[1].relevance == 1.0


def test_the_same_question_again_is_repeated_unless_something_changed() -> None:
    again = (
        calls(300, "Read", "b", file_path="src/orders.py"),
        answers(400, "def total_price(basket, discount): ...", "b"),
    )
    used = says(900, "total_price")
    found = audits(*LOOK, *again, used)[2]
    assert found.weight == REPEATED_WEIGHT
    assert "#1" in found.rationale
    assert necessity(*LOOK, *again, used) == (
        0.5,
        (2,),
        "of 2 calls 1 asked again, 0 lookups not taken up",
    )
    change = (calls(200, "Edit", "c", file_path="src/orders.py"), answers(250, "done", "c"))
    assert audits(*LOOK, *change, *again, used)[3].weight == 1.0


def test_a_very_large_result_weighs() -> None:
    entries = (calls(0, "Read", file_path="log"), answers(100, "line " * OVERSIZED_BYTES), says(200, "line"))
    assert audits(*entries)[1].weight == OVERSIZED_WEIGHT


def test_environment_and_service_are_judged_on_success_only() -> None:
    (audit,) = rule_signals(run(*LOOK))["environment"].audits
    assert (audit.success, audit.weight, audit.relevance) == (1.0, None, None)
    assert "service" not in rule_signals(run(*LOOK))


def test_all_three_process_dimensions_work_offline() -> None:
    entries = (
        *LOOK,
        says(200, "total_price"),
        calls(300, "WebFetch", "w", url="https://example.org"),
        answers(900, id="w"),
    )
    judged = run(*entries)
    result = score_run(judged, rule_signals(judged), judged_by="rules")
    assert [each.score is not None for each in result.dimensions] == [False, True, True, True]
    assert all(each.low == each.score == each.high for each in result.dimensions[1:3])


def test_signals_survive_as_ratings() -> None:
    judged = run(*LOOK, says(200, "nothing"), calls(300, "Bash", "b", command="make"), answers(400, "Error: x", "b"))
    signals = rule_signals(judged)
    table = ratings_frame(ratings_of_signals(judged, signals))
    assert set(table["question"]) == {
        *("environment.success", "agent.success", "agent.weight", "agent.relevance", "agent.necessity")
    }
    assert set(table["scale"]) == {"unit"}
    read = signals_of_ratings(table)
    assert score_run(judged, read).to_dict()["dimensions"] == score_run(judged, signals).to_dict()["dimensions"]


def test_raters_count_alike_however_often_they_repeat() -> None:
    judged = run(*LOOK)
    lines = []
    for rater, repeat, value in (("one", 0, 1.0), ("one", 1, 0.5), ("two", 0, 0.25)):
        said = {"environment": CategorySignals((Audit(1, value, rationale=rater),))}
        lines += [each.model_copy(update={"repeat": repeat}) for each in ratings_of_signals(judged, said, rater=rater)]
    assert signals_of_ratings(ratings_frame(lines))["environment"].audits == (Audit(1, 0.5, None, None, "one; two"),)


def test_lost_ratings_judge_nothing() -> None:
    table = ratings_frame(ratings_of_signals(run(*LOOK), rule_signals(run(*LOOK))))
    lost = table.with_columns(pl.lit("api_error").alias("status"), pl.lit(None, pl.Float64).alias("value"))
    read = signals_of_ratings(lost)
    assert read == {"environment": CategorySignals(), "agent": CategorySignals()}  # asked, and nothing came of it
    assert score_run(run(*LOOK), read).to_dict() == score_run(run(*LOOK), {}).to_dict()


def test_grades_survive_as_ratings_and_missing_ones_stay_missing() -> None:
    checks = [Check("a", 0.5), Check("b", 0.5)]
    who = {"rater": "person", "rater_kind": "human", "family": "human"}
    about = {"trajectory_id": "run", "cluster_id": "run", "question": "goal.1", "scale": "check"}
    table = ratings_frame([Rating(**about, **who, value=7, rationale="fine")])
    assert grades_of_ratings(table, checks) == [Grade(checks[0], 7, "fine"), Grade(checks[1], None, "")]
