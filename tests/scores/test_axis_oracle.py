"""All cases of the original program (netlify/axis 1.17.2), equal to the last digit under the upstream rules."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scores.axis_cases import load_cases, result_of_case, run_of_case

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories
from axisjudge.scores.axis.dimensions import speed
from axisjudge.scores.axis.judged.audits import judged_categories
from axisjudge.scores.axis.judged.sheets import sparse_line
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS, GOAL
from axisjudge.scores.axis.rule_sets import DOCUMENTED, UPSTREAM
from axisjudge.scores.axis.transcript.categories import CATEGORIES
from axisjudge.scores.axis.transcript.interactions import run_of_trajectory

N_CASES = 179


@pytest.fixture(scope="module")
def cases(oracles: Path) -> list[dict[str, Any]]:
    return load_cases(oracles)


@pytest.fixture(scope="module")
def scored(cases: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Any]]:
    """The cases that the original program scores, all but one, with our results."""
    return [(case["expected"], result_of_case(case)) for case in cases if "error" not in case["expected"]]


def number(value: Any) -> Any:
    return math.nan if isinstance(value, dict) and value.get("$num") == "NaN" else value


def same(found: Any, expected: Any) -> bool:
    return found == expected or (found != found and expected != expected)


def test_every_case_is_there(cases: list[dict[str, Any]], scored: list[Any]) -> None:
    assert len(cases) == N_CASES
    assert len(scored) == N_CASES - 1


def test_the_case_with_an_error_is_one_here_too(cases: list[dict[str, Any]]) -> None:
    (broken,) = (case for case in cases if "error" in case["expected"])
    assert broken["expected"]["error"] == "Scoring weights must not all be zero"
    with pytest.raises(InputError, match="must not all be 0"):
        result_of_case(broken)


def test_interactions(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        if "error" in case["expected"]:
            continue
        found = [
            {
                "id": each.id,
                "entryIndices": list(each.entries),
                "categories": list(each.categories),
                "toolName": each.tool_name,
                "hasError": each.has_error,
                "durationMs": each.duration_ms,
                "startMs": each.start_ms,
                "contextBytes": each.context_bytes,
                "speed": speed(each.categories, each.duration_ms),
                "sparseLine": sparse_line(each),
            }
            for each in run_of_case(case).interactions
        ]
        assert found == case["expected"]["interactions"], case["id"]


def test_counts_and_times(scored: list[Any]) -> None:
    for expected, result in scored:
        counts = result.counts
        ends = {"startupMs": counts.startup_ms, "shutdownMs": counts.shutdown_ms}
        found = {
            "totalInteractions": counts.interactions,
            "byCategory": counts.by_category,
            "totalErrors": counts.errors,
            "totalDurationMs": counts.total_ms,
            "wallClockMs": counts.wall_clock_ms,
        }
        assert found | {name: time for name, time in ends.items() if time} == expected["stats"], expected["id"]


def test_which_judges_are_asked(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        expected = case["expected"]
        if expected.get("failedRun", True):
            continue
        run = run_of_case(case)
        asked = judged_categories(run.interactions, case["weights"] or DEFAULT_WEIGHTS, run.rules)
        assert sorted([*asked, "goal"]) == expected["judgesCalled"], case["id"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_signals_and_scores(scored: list[Any], category: str) -> None:
    for expected, result in scored:
        found, wanted = result.dimension(category), expected[category]
        assert (found.score, found.n_audited) == (wanted["score"], wanted["auditedCount"]), expected["id"]
        assert {signal.name: signal.shown for signal in found.signals} == wanted["dimensions"], expected["id"]
        if wanted["raw"] is not None:
            raw = {signal.name: signal.value for signal in found.signals} | {"composite": found.raw}
            assert raw == wanted["raw"], expected["id"]
            assert found.n_interactions == wanted["interactionCount"], expected["id"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_audits_and_necessity(scored: list[Any], category: str) -> None:
    for expected, result in scored:
        found, wanted = result.dimension(category), expected[category]
        audits = [
            (each["id"], each["success"], each["weight"], each["contextRelevance"], each["rationale"])
            for each in wanted["audits"]
        ]
        assert [tuple(audit) for audit in found.audits] == audits, expected["id"]
        necessity = wanted["necessity"]
        said = (necessity["score"], tuple(necessity["unnecessaryIds"]), necessity["rationale"])
        assert tuple(found.necessity) == said, expected["id"]


def test_goal_composite_and_insight(scored: list[Any]) -> None:
    for expected, result in scored:
        goal = expected["goalAchievement"]
        assert same(result.dimension(GOAL).score, number(goal["score"])), expected["id"]
        assert same(result.composite, number(expected["axisScore"])), expected["id"]
        assert result.insight == expected["insight"], expected["id"]
        assert result.failed == expected["failedRun"], expected["id"]
        assert dict(result.weights) == expected["weights"], expected["id"]
        for grade, wanted in zip(result.grades, goal["criteria"], strict=True):
            assert grade.check.check == wanted["check"], expected["id"]
            assert same(grade.score, number(wanted["score"])), expected["id"]
            assert grade.rationale == str(wanted["rationale"]), expected["id"]


def test_every_case_has_a_documented_result_within_its_bounds(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        if "error" in case["expected"]:
            continue
        result = result_of_case(case, DOCUMENTED)
        json.dumps(result.to_dict(), allow_nan=False)
        for each in result.dimensions:
            assert 0 <= each.low <= each.high <= 100, case["id"]
        low, high = result.interval
        assert result.bounds[0] <= low <= high <= result.bounds[1], case["id"]


def test_a_report_file_gives_the_same_interactions(cases: list[dict[str, Any]], tmp_path: Path) -> None:
    """Through the reader of AXIS reports nothing is lost that the scoring looks at."""
    for case in cases:
        told = case["run"]
        times = {name: told[name] for name in ("exitCode", "error", "startTime", "endTime") if name in told}
        output = {"result": told["result"], "metadata": times, "transcript": case["transcript"]}
        file = tmp_path / f"{case['id']}.json"
        file.write_text(json.dumps({"scenarioKey": case["id"], "agentName": case["agent"], "output": output}))
        (trajectory,) = read_trajectories(file).trajectories
        found, wanted = run_of_trajectory(trajectory, UPSTREAM), run_of_case(case)
        assert (found.interactions, found.outcome) == (wanted.interactions, wanted.outcome), case["id"]
