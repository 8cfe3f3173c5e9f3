"""Where the documented rules differ from the original program, one test for each line of the list of differences.

The lines B1 to B22 stand in the specification of AXIS scoring (part B). Lines without a test here are those where both
rule sets do the same.
"""

from typing import Any

import pytest
from scores.axis_cases import all_audited, answers, at, calls, judged_run, says

from axisjudge.scores.axis.judged.audits import grades_of_reply, judged_categories, signals_of_reply
from axisjudge.scores.axis.judged.signals import Audit, CategorySignals, GoalCheck, Grade, Necessity
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS, mean_result, score_run
from axisjudge.scores.axis.rule_sets import DOCUMENTED, UPSTREAM
from axisjudge.scores.axis.transcript.categories import CATEGORIES
from axisjudge.scores.axis.transcript.interactions import ProcessEnd, run_of_axis
from axisjudge.scores.curves.curve import axis_score


def interactions(*entries: dict[str, Any], rules: Any = DOCUMENTED) -> list[Any]:
    return run_of_axis(entries, id="run", rules=rules).interactions


def test_B1_bands_are_those_of_the_text() -> None:
    assert [DOCUMENTED.band(score) for score in (100, 90, 89, 75, 74, 50, 49, 0)] == [
        *("excellent", "excellent", "good", "good", "fair", "fair", "poor", "poor")
    ]
    assert [UPSTREAM.band(score) for score in (90, 89, 80, 79, 70, 69)] == [
        *("green", "yellow", "yellow", "orange", "orange", "red")
    ]


def test_B2_97_to_99_cannot_occur_and_the_cliff_is_there() -> None:
    reached = {axis_score(raw / 10_000) for raw in range(10_001)}
    assert reached.isdisjoint({97, 98, 99})
    assert (axis_score(0.9999), axis_score(1.0)) == (96, 100)


def test_B3_the_slowest_call_is_named_although_it_hardly_moves_the_score() -> None:
    entries = []
    for number in range(101):
        id, start = str(number), 400 * number
        entries += [calls(start, "Read", id), answers(start + (40_000 if number == 100 else 100), id=id)]
    result = judged_run(*entries)
    speed = result.dimension("environment").signal("speed").value
    assert speed == pytest.approx((100 + 0.4 * 1.36) / 101.36, abs=1e-12)
    assert speed == pytest.approx(0.9919, abs=1e-4)
    assert result.slowest is not None
    assert (result.slowest.id, result.slowest.duration_ms, result.slowest.speed) == (101, 40_000, 0.4)


def test_B4_the_agent_dimension_audits_every_interaction_always() -> None:
    found = interactions(calls(0, "Bash"), answers(100))
    assert judged_categories(found, DEFAULT_WEIGHTS, DOCUMENTED) == ("environment", "agent")
    assert judged_categories(found, DEFAULT_WEIGHTS, UPSTREAM) == ("environment",)
    assert judged_categories([], DEFAULT_WEIGHTS, DOCUMENTED) == ()


def test_B5_a_tool_without_a_name_matches_no_pattern_and_is_service() -> None:
    entries = (calls(0, None), answers(100))
    assert interactions(*entries)[0].categories == ("service",)
    assert interactions(*entries, rules=UPSTREAM)[0].categories == ("agent",)


@pytest.mark.parametrize(
    ("name", "given", "documented", "upstream"),
    [
        ("Bash", {"command": "curl localhost:8888"}, "both", "environment"),
        ("Bash", {"command": "sleep 1; " * 20 + "wget https://example.org"}, "both", "environment"),
        ("Bash", {"command": "git clone git@host:repo.git"}, "both", "environment"),
        ("Bash", {"command": "npm install left-pad"}, "both", "environment"),
        ("shell", {"command": ["bash", "-lc", "curl -s localhost"]}, "both", "environment"),
        ("Bash", {"command": "echo https://example.org"}, "environment", "both"),
        ("Bash", {"command": "grep -r 'https://example.org' src"}, "environment", "both"),
        ("Write", {"file_path": "a", "content": "see https://example.org"}, "environment", "both"),
        ("Bash", {"command": "npm test"}, "environment", "environment"),
        ("Bash", {"command": "cat .claude/notes && curl localhost"}, "agent", "agent"),
        ("mcp__filesystem__read", {"path": "a"}, "both", "both"),
    ],
)
def test_B7_the_network_is_called_by_programs_not_by_addresses(
    name: str, given: dict[str, Any], documented: str, upstream: str
) -> None:
    wanted = {"both": ("environment", "service"), "environment": ("environment",), "agent": ("agent",)}
    entries = (calls(0, name, **given), answers(100))
    assert interactions(*entries)[0].categories == wanted[documented]
    assert interactions(*entries, rules=UPSTREAM)[0].categories == wanted[upstream]


def test_B10_only_thinking_takes_the_gap_and_never_a_negative_one() -> None:
    entries = (
        {"type": "system", "timestamp": at(0), "content": {"text": "init"}},
        calls(1000, "Bash", "a"),
        says(4000),
        says(4500),
        calls(6000, "Bash", "b"),
        answers(6500, id="b"),
        says(9000),
        calls(8000, "Bash", "c"),
    )
    assert [each.duration_ms for each in interactions(*entries)] == [None, None, 2000, 500, None, None]
    assert [each.duration_ms for each in interactions(*entries, rules=UPSTREAM)] == [1000, 3000, 2000, 500, -1000, None]


def test_B11_an_invalid_time_stamp_leaves_only_its_own_interaction_unknown() -> None:
    entries = (
        {**says(0), "timestamp": "never"},
        calls(1000, "Bash"),
        answers(1500),
        says(2000),
        calls(5000, "Bash", "b"),
    )
    assert [each.duration_ms for each in interactions(*entries)] == [None, 500, 3000, None]
    assert [each.start_ms for each in interactions(*entries)] == [None, 0, 1000, 4000]
    assert [each.duration_ms for each in interactions(*entries, rules=UPSTREAM)] == [None, 500, None, None]


@pytest.mark.parametrize("timestamp", ["Sat, 14 Mar 2026 09:00:00 GMT", 1_773_480_600_000])
def test_B11_a_time_stamp_is_iso_8601(timestamp: Any) -> None:
    entries = ({**says(0), "timestamp": timestamp},)
    assert interactions(*entries)[0].start_ms is None
    assert interactions(*entries, rules=UPSTREAM)[0].start_ms == 0


def test_B14_signals_without_weight_are_not_shown() -> None:
    entries = (calls(0, "Bash"), answers(100))
    names = [signal.name for signal in judged_run(*entries).dimension("environment").signals]
    assert names == ["success", "speed"]
    assert len(judged_run(*entries, rules=UPSTREAM).dimension("environment").signals) == 5


@pytest.mark.parametrize("failure", [{"is_error": True}, {"exit_code": 1}, {"status": "failed"}])
def test_B17_a_failed_tool_result_is_an_error(failure: dict[str, Any]) -> None:
    entries = (calls(0, "Bash"), answers(100, "no such file", **failure))
    assert interactions(*entries)[0].has_error
    assert not interactions(*entries, rules=UPSTREAM)[0].has_error
    assert not interactions(calls(0, "Bash"), answers(100, is_error=False, exit_code=0))[0].has_error


def test_B20_a_signal_that_nobody_judged_is_missing() -> None:
    run = run_of_axis((calls(0, "Bash"), answers(1000)), id="run")
    found = score_run(run, {}).dimension("environment")
    assert found.signal("success").value is None
    assert found.raw == pytest.approx(0.9)  # speed alone
    assert (found.low, found.high) == (axis_score(0.3 * 0.9), axis_score(0.7 + 0.3 * 0.9))
    upstream = score_run(run_of_axis((calls(0, "Bash"), answers(1000)), id="run", rules=UPSTREAM), {})
    assert upstream.dimension("environment").signal("success").value == 1.0


def test_B20_a_signal_that_is_missing_for_some_interactions_has_bounds() -> None:
    run = run_of_axis(
        (calls(0, "Bash"), answers(100, "x" * 98), calls(200, "Bash", "b"), answers(300, id="b")), id="run"
    )
    sizes = [each.context_bytes for each in run.interactions]
    said = {"environment": CategorySignals((Audit(1, 0.5),))}
    success = score_run(run, said).dimension("environment").signal("success")
    assert (success.value, success.n, success.n_missing) == (0.5, 1, 1)
    assert success.low == pytest.approx(0.5 * sizes[0] / sum(sizes))
    assert success.high == pytest.approx((0.5 * sizes[0] + sizes[1]) / sum(sizes))


@pytest.mark.parametrize("reply", [None, "no json", '{"audits": []}', '{"audits": [{"id": 1, "success": "good"}]}'])
def test_B20_a_reply_without_a_number_judges_nothing(reply: str | None) -> None:
    run = run_of_axis((calls(0, "Bash"), answers(100)), id="run")
    said = {name: signals_of_reply(reply, name, run.interactions, DOCUMENTED) for name in CATEGORIES}
    assert score_run(run, said).dimension("environment").signal("success").value is None
    assert score_run(run, said).dimension("agent").signal("necessity").value is None


def test_B20_a_goal_check_without_a_grade_is_missing() -> None:
    checks = [GoalCheck("a", 0.5), GoalCheck("b", 0.5)]
    reply = '{"grades": [{"criterion_index": 0, "score": 8}]}'
    run = run_of_axis((calls(0, "Bash"), answers(100)), id="run")
    found = score_run(run, {}, grades=grades_of_reply(reply, checks, DOCUMENTED, holistic=False)).dimensions[0]
    assert (found.score, found.low, found.high) == (None, 40, 90)
    assert [grade.score for grade in grades_of_reply(reply, checks, UPSTREAM, holistic=False)] == [8, 0]


def test_B21_insights_skip_signals_without_weight() -> None:
    run = run_of_axis((calls(0, "Bash"), answers(100)), id="run", rules=UPSTREAM)
    said = {"environment": CategorySignals((Audit(1, 0.3, 0.1, 0.2),), Necessity(1.0))}
    assert score_run(run, said).insight == "Env: weight 10"
    documented = run_of_axis((calls(0, "Bash"), answers(100)), id="run")
    assert score_run(documented, {**all_audited(documented), **said}).insight == "Env: success 30"


def test_unknown_durations_count_as_fast_and_the_bound_says_what_that_is_worth() -> None:
    result = judged_run(calls(0, "Bash"))
    found = result.dimension("environment")
    assert (found.score, found.low, found.high) == (100, axis_score(0.7 + 0.3 * 0.4), 100)
    assert found.score - found.low == 11
    assert result.bounds[0] < result.interval[0]


def test_runs_without_time_stamps_are_marked_as_not_comparable() -> None:
    entries = [{**each, "timestamp": None} for each in (says(0), calls(0, "Bash"), answers(100))]
    assert any("not comparable" in mark for mark in judged_run(*entries).marks)
    assert not any("not comparable" in mark for mark in judged_run(says(0), calls(5, "Bash"), answers(100)).marks)


def test_without_checks_the_composite_is_an_interval_and_never_one_number() -> None:
    result = judged_run(calls(0, "Bash"), answers(100))
    assert result.composite is None
    assert result.interval == (60, 100)
    assert (result.shown, result.band) == ("60-100", None)


def test_a_failed_run_scores_0() -> None:
    run = run_of_axis((calls(0, "Bash"),), id="run", outcome=ProcessEnd(None, 1))
    result = score_run(run, all_audited(run))
    assert [each.score for each in result.dimensions] == [0, 0, 0, 0]
    assert result.composite == 0
    assert result.marks == ("the run failed: every score is 0 by rule",)


def test_the_mean_leaves_failed_runs_out_and_needs_one_number_of_each() -> None:
    def scored(outcome: ProcessEnd, *grades: float) -> Any:
        run = run_of_axis((calls(0, "Bash"), answers(100)), id="run", outcome=outcome)
        return score_run(run, all_audited(run), grades=[Grade(GoalCheck("a"), grade) for grade in grades] or None)

    done, failed = ProcessEnd(""), ProcessEnd(None, 1)
    assert mean_result([scored(done, 10), scored(done, 0), scored(failed)]) == 80
    assert mean_result([scored(failed)]) == 0
    assert mean_result([scored(done, 10), scored(done)]) is None
