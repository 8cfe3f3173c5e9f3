"""Whatever a judge replies, every point gets an answer: a number on its scale or none, that can be written down."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scores.axis_cases import answers, calls, says

from axisjudge.scores.axis.judged.audits import audits_reader, grades_reader
from axisjudge.scores.axis.judged.signals import GoalCheck
from axisjudge.scores.axis.rule_sets import DOCUMENTED, UPSTREAM
from axisjudge.scores.axis.transcript.interactions import run_of_axis
from axisjudge.verdict import Rating

CHECKS = {1: GoalCheck("The sum is right."), 3: GoalCheck("Tests were run.")}
ENTRIES = [says(0), calls(1_000, "Read", file_path="a.py"), answers(2_000), says(3_000)]

loose = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
number = some.sampled_from([0, 1, 0.5, 1.5, -1, True, None, "1", math.inf, math.nan, 10**400]) | loose
id_or_not = some.sampled_from([1, 2, 3, 4, 2.0, "2", True, None]) | loose
audit = some.fixed_dictionaries(
    {},
    optional={
        "id": id_or_not,
        "success": number,
        "weight": number,
        "contextRelevance": number,
        "rationale": some.sampled_from(["why", "lone \ud83d", 7]) | loose,
    },
)
needed = some.fixed_dictionaries(
    {}, optional={"score": number, "unnecessaryIds": some.lists(id_or_not, max_size=3) | loose, "rationale": loose}
)
grade = some.fixed_dictionaries(
    {}, optional={"criterion_index": id_or_not, "score": number, "rationale": some.just("lone \udc00") | loose}
)
reply = some.fixed_dictionaries(
    {},
    optional={
        "audits": some.lists(audit | loose, max_size=4) | loose,
        "necessity": needed | loose,
        "grades": some.lists(grade | some.none(), max_size=3) | loose,
        "score": number,
        "rationale": loose,
    },
)


def check(told, points, most):
    assert list(told.answers) == points
    for answer in told.answers.values():
        assert answer.status in ("ok", "parse_error")
        assert (answer.value is None) == (answer.status != "ok")
        assert answer.value is None or 0 <= answer.value <= most
        rating = Rating(
            trajectory_id="r", cluster_id="r", question="q", scale="unit", rater="j", rater_kind="llm", family="f",
            status=answer.status, value=answer.value, rationale=answer.rationale, flags=[*answer.flags, *told.flags],
        )  # fmt: skip
        assert Rating.model_validate_json(rating.model_dump_json()) == rating


@pytest.mark.slow
@pytest.mark.parametrize("rules", [DOCUMENTED, UPSTREAM], ids=["documented", "upstream"])
@settings(max_examples=150, deadline=None)
@given(reply | loose)
def test_any_reply_about_signals_is_read(rules, said):
    run = run_of_axis(ENTRIES, id="r", rules=rules)
    told = audits_reader("agent", run.interactions, rules, {})(json.dumps(said))
    points = [f"agent.{name}@{each.id}" for each in run.interactions for name in ("success", "weight", "relevance")]
    check(told, [*points, "agent.necessity"], most=1)


@pytest.mark.parametrize("holistic", [False, True])
@pytest.mark.parametrize("rules", [DOCUMENTED, UPSTREAM], ids=["documented", "upstream"])
@settings(max_examples=100, deadline=None)
@given(reply | loose)
def test_any_reply_about_checks_is_read(rules, holistic, said):
    checks = {1: CHECKS[1]} if holistic else CHECKS
    told = grades_reader(checks, rules, holistic=holistic)(json.dumps(said))
    check(told, [f"goal.{number}" for number in checks], most=10)


@pytest.mark.parametrize("rules", [DOCUMENTED, UPSTREAM], ids=["documented", "upstream"])
@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "{}", "}{", "\ud83d"])
def test_text_that_is_no_reply_loses_every_point(rules, text):
    run = run_of_axis(ENTRIES, id="r", rules=rules)
    told = audits_reader("environment", run.interactions[1:2], rules, {})(text)
    assert {answer.status for answer in told.answers.values()} == {"parse_error"}
    check(told, ["environment.success@2"], most=1)
