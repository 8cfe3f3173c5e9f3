"""Signals by rules: what a program can see, each with its reason."""

from typing import Any

import polars as pl
import pytest
from scores.axis_cases import answers, at, calls, says

from axisjudge.ratings.table import ratings_frame
from axisjudge.scores.axis.judged.rule_signals import (
    REPEATED_WEIGHT,
    SHORT_BYTES,
    rule_signals,
)
from axisjudge.scores.axis.judged.signals import (
    Audit,
    CategorySignals,
    GoalCheck,
    Grade,
    Necessity,
    grades_of_ratings,
    ratings_of_signals,
    signals_of_ratings,
)
from axisjudge.scores.axis.result import score_run
from axisjudge.scores.axis.transcript.interactions import AxisRun, run_of_axis
from axisjudge.verdict import Rating


def run(*entries: dict[str, Any]) -> AxisRun:
    return run_of_axis(entries, id="run", task_id="task", agent="alder")


def audits(*entries: dict[str, Any]) -> dict[int, Audit]:
    return {audit.id: audit for audit in rule_signals(run(*entries))["agent"].audits}


def necessity(*entries: dict[str, Any]) -> Necessity:
    return rule_signals(run(*entries))["agent"].necessity


CODE = "def total_price(basket, discount): ..."
LOOK = (calls(0, "Read", "a", file_path="src/orders.py"), answers(100, CODE, "a"))
LONG = "an order of parts for the shop\n" * 100


def asks(milliseconds: int, text: str) -> dict[str, Any]:
    return {"type": "user", "timestamp": at(milliseconds), "content": {"text": text}}


def shell(command: str, text: str, **more: Any) -> float | None:
    return audits(calls(0, "Bash", command=command), answers(100, text, **more))[1].success


@pytest.mark.parametrize(
    ("command", "result", "more", "success"),
    [
        # a search that finds nothing has answered, one that cannot search has not
        ("grep -rn old_name src", "", {"is_error": True}, 1.0),
        ("rg old_name", "Exit code 1", {"is_error": True}, 1.0),
        ("git diff --exit-code", "Exit code 1\n-old\n+new", {"is_error": True}, 1.0),
        ("grep -rn old_name srk", "grep: srk: No such file or directory", {"is_error": True}, 0.0),
        ("grep -rn old_name srk", "Exit code 2", {"is_error": True}, 0.0),
        ("grep ECONNREFUSED app.log", "09:00 connect ECONNREFUSED", {}, 1.0),
        # a test command that reports failing tests has told their state, one that cannot run has not
        ("make test", "Exit code 2\n2 failed, 10 passed in 3.1s", {"is_error": True}, 1.0),
        ("cd app && npm test", "Tests: 2 failed, 8 passed", {"is_error": True}, 1.0),
        ("./gradlew :shop:test", "12 tests completed, 2 failed\nBUILD FAILED", {"is_error": True}, 1.0),
        ("make -C shop test", "2 failed, 10 passed in 3.1s", {"is_error": True}, 1.0),
        ("docker compose run web pytest", "2 failed, 10 passed in 3.1s", {"is_error": True}, 1.0),
        ("./run_tests.sh", "Tests: 2 failed, 8 passed", {"is_error": True}, 1.0),
        ("hatch test", "bash: hatch: command not found", {"is_error": True}, 0.0),
        ("python a.py", "requests.exceptions.ConnectionError: Max retries exceeded", {}, 0.0),
        ("uv run mypy src", "src/a.py:3: error: Name is not defined", {"is_error": True}, 1.0),
        ("make test", "make: *** No rule to make target 'test'. Stop.", {"is_error": True}, 0.0),
        ("pytest", "bash: pytest: command not found", {"is_error": True}, 0.0),
        # a build is made to build
        ("make", "boom", {"is_error": True}, 0.0),
        ("npm run build", "error TS2307: Cannot find module './returns'", {}, 0.0),
        ("make", "Exit code: 2\nFAILED", {}, 0.0),
        ("make", "Exit code: 0\nok", {}, 1.0),
        ("make", "Command: make\nDirectory: (root)\nOutput: no luck\nError: (none)\nExit Code: 1", {}, 0.0),
        ("mkdir out", "", {"is_error": False}, 1.0),
        ("./deploy", "connect ECONNREFUSED 127.0.0.1:5432", {"is_error": False}, 0.0),
        ("curl -s http://shop/7", "curl: (7) Failed to connect to shop port 80: refused", {"is_error": False}, 0.0),
        ("./deploy", "curl: (7) Failed to connect to localhost", {"is_error": False}, None),
        ("./deploy", "Zugriff verweigert", {}, None),
        ("curl -s shop.example/stock", "<html>Welcome, choose a plan</html>", {"is_error": False}, None),
        ("./deploy", "all is well", {"is_error": False}, 1.0),
    ],
)
def test_success_is_what_the_call_was_made_for(command: str, result: str, more: Any, success: float | None) -> None:
    assert shell(command, result, **more) == success


@pytest.mark.parametrize(
    ("given", "result", "success"),
    [
        ({"order": "W-1187"}, '{"order": "W-1187", "state": "open"}', 1.0),
        ({"order": "W-1187"}, '{"ok": true, "message": "invalid key, see our plans"}', None),
        ({"order": "W-1187"}, '{"error": "no such order W-1187"}', 0.0),
        ({"order": "W-1187"}, '{"status": 503}', 0.0),
        ({"city": "Millbrook"}, '{"city": "Millbrook", "rain": 3}', 1.0),
        ({"city": "Millbrook"}, "invalid key, see our plans", 0.0),
        ({"city": "Millbrook"}, "Your trial is over, see our plans", None),
        ({"city": "Millbrook"}, "", 0.0),
        ({"reader": "Ada"}, "ada_1187", 1.0),
        ({"reader": "Ada"}, "E1187", None),
    ],
)
def test_a_service_succeeds_where_its_answer_shows_it(given: Any, result: str, success: float | None) -> None:
    assert audits(calls(0, "weather", **given), answers(100, result))[1].success == success


def test_a_call_without_a_result_is_not_judged() -> None:
    assert audits(calls(0, "Bash", command="make"))[1].success is None


def refused_session() -> AxisRun:
    tools = ("Bash", "Read", "mcp__stock__list", "WebFetch", "run_shell_command")
    entries = [asks(0, "Fetch the stock of src/stock_list.py")]
    for number, name in enumerate(tools, 1):
        text = "connect ECONNREFUSED 10.0.0.7:443"
        entries += [
            calls(1000 * number, name, str(number), command="./stock"),
            answers(1000 * number + 10, text, str(number)),
        ]
    return run(*entries)


def test_a_session_of_refused_connections_is_never_excellent() -> None:
    judged = refused_session()
    assert {audit.success for audit in rule_signals(judged)["agent"].audits if audit.id > 1} == {0.0}
    result = score_run(judged, rule_signals(judged))
    bands = {each["dimension"]: each["band"] for each in result.dimension_rows}
    assert (bands["environment"], bands["service"], bands["agent"], result.band) == ("poor", "poor", None, None)
    agent = result.dimension("agent")
    assert agent.low < 60
    assert agent.signal("necessity").value is None


def test_relevance_is_of_content_and_not_of_later_use() -> None:
    asked = asks(0, "What does total_price in src/orders.py do?")
    elsewhere = audits(asked, *LOOK, says(200, "Let me look elsewhere."))
    assert elsewhere[2].relevance == 1.0
    assert elsewhere[3].relevance is None
    side = (calls(300, "Read", "b", file_path="docs/history.md"), answers(400, "releases since spring", "b"))
    assert audits(asked, *side, says(500, "The releases since spring are many."))[2].relevance is None
    web = (calls(300, "WebSearch", "b", query="total_price"), answers(400, "total_price, a shop of that name", "b"))
    assert audits(asked, *web)[2].relevance is None, "another matter may share a name"


def test_a_short_result_leads_on_and_a_long_one_does_not() -> None:
    asked = asks(0, "Close job J-0042")
    found = (calls(100, "find_job", "a", job="J-0042"), answers(200, '{"customer": "mill_77"}', "a"))
    then = (calls(300, "show_customer", "b", customer="mill_77"), answers(400, "a long-standing one", "b"))
    assert audits(asked, *found, *then)[3].relevance == 1.0
    flood = (found[0], answers(200, "mill_77 " + LONG, "a"))
    assert audits(asked, *flood, *then)[3].relevance is None


def test_a_repeated_call_is_needless_and_weighs_by_its_length() -> None:
    again = (calls(300, "Read", "b", file_path="src/orders.py"), answers(400, CODE, "b"))
    found = audits(*LOOK, *again)[2]
    assert (found.success, found.weight) == (1.0, 1.0), "a small call is never heavy"
    assert "#1" in found.rationale
    assert necessity(*LOOK, *again) == Necessity(None, (2,))
    long = (LOOK[0], answers(100, LONG, "a"), again[0], answers(400, LONG, "b"))
    assert [audit.weight for audit in audits(*long).values()] == [None, REPEATED_WEIGHT]
    change = (calls(200, "Edit", "c", file_path="src/orders.py"), answers(250, "done", "c"))
    assert necessity(*LOOK, *change, *again).unnecessary == ()
    assert necessity(*LOOK, asks(200, "I have changed it"), *again).unnecessary == ()


@pytest.mark.parametrize(
    ("command", "result", "more", "needless"),
    [
        ("./deploy", "Error: no luck", {"is_error": True}, (2,)),
        ("make test", "2 failed", {"is_error": True}, (2,)),
        ("./add-one", "ok", {"is_error": False}, ()),
        ("sleep 5; cat state", "building", {}, ()),
    ],
)
def test_what_is_done_twice_on_purpose_is_no_repetition(command: str, result: str, more: Any, needless: Any) -> None:
    twice = [
        each
        for number in (1, 2)
        for each in (
            calls(1000 * number, "Bash", str(number), command=command),
            answers(1000 * number + 10, result, str(number), **more),
        )
    ]
    assert necessity(*twice).unnecessary == needless


def test_needless_calls_bound_necessity_and_survive_as_ratings() -> None:
    again = (calls(300, "Read", "b", file_path="src/orders.py"), answers(400, CODE, "b"))
    judged = run(*LOOK, *again)
    for signals in (
        rule_signals(judged),
        signals_of_ratings(ratings_frame(ratings_of_signals(judged, rule_signals(judged)))),
    ):
        agent = score_run(judged, signals).dimension("agent")
        assert agent.low <= agent.score <= agent.high < 100
        signal = agent.signal("necessity")
        assert (signal.value, signal.low, signal.high) == (None, 0.0, 0.5)
        assert signals["agent"].necessity.unnecessary == (2,)


def test_long_texts_are_not_weighed() -> None:
    assert audits(calls(0, "Read", file_path="log"), answers(100, LONG))[1].weight is None
    assert audits(calls(0, "Read", file_path="log"), answers(100, "short"))[1].weight == 1.0
    assert len(LONG) > SHORT_BYTES


def test_environment_and_service_are_judged_on_success_only() -> None:
    (audit,) = rule_signals(run(*LOOK))["environment"].audits
    assert (audit.success, audit.weight, audit.relevance) == (1.0, None, None)
    assert "service" not in rule_signals(run(*LOOK))


def test_all_three_process_dimensions_work_offline() -> None:
    entries = (
        *LOOK,
        says(200, "total_price"),
        calls(300, "mcp__stock__count", "w", sku="FC-1204"),
        answers(900, '{"sku": "FC-1204", "stock": 3}', id="w"),
    )
    judged = run(*entries)
    result = score_run(judged, rule_signals(judged), judged_by="rules")
    assert [each.score is not None for each in result.dimensions] == [False, True, True, True]
    assert all(each.low == each.score == each.high for each in result.dimensions[1:3])


def test_signals_survive_as_ratings() -> None:
    judged = run(
        asks(0, "see src/orders.py"),
        *LOOK,
        says(200, "nothing"),
        calls(300, "Bash", "b", command="make"),
        answers(400, "Error: x", "b"),
    )
    signals = rule_signals(judged)
    table = ratings_frame(ratings_of_signals(judged, signals))
    assert set(table["question"]) == {*("environment.success", "agent.success", "agent.weight", "agent.relevance")}
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
    checks = [GoalCheck("a", 0.5), GoalCheck("b", 0.5)]
    who = {"rater": "person", "rater_kind": "human", "family": "human"}
    about = {"trajectory_id": "run", "cluster_id": "run", "question": "goal.1", "scale": "check"}
    table = ratings_frame([Rating(**about, **who, value=7, rationale="fine")])
    assert grades_of_ratings(table, checks) == [Grade(checks[0], 7, "fine"), Grade(checks[1], None, "")]


def test_names_are_those_of_the_whole_text_looked_at_from_each_of_its_letters() -> None:
    """Only words that may hold a name are looked at, each once: the same names as without that."""
    from random import Random

    from axisjudge.scores.axis.judged.rule_signals import _NAME, _names

    random = Random(5)
    for _ in range(3_000):
        text = "".join(random.choices("abAB19_-./@+ \u00e9\u0661:,", k=random.randint(0, 40)))
        assert _names(text) == {name.lower() for name in _NAME.findall(text)}, text
    assert _names("order #W9523456, user sara_doe_496; see src/app/page.ts, camelCase and a@b.org") >= {
        *("w9523456", "sara_doe_496", "src/app/page.ts", "camelcase", "a@b.org")
    }
