"""The original program's recorded judge replies, judged by the judging run under the upstream rules.

Every case goes the whole way: sheets, replies read, ratings, scores from ratings. Its composite, dimensions, audits and
grades must be the original's own.
"""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from judging.worlds import run_plan
from scores.axis_cases import as_given, load_cases

from axisjudge.judges import Judge, Reply
from axisjudge.judges.answer import Sheet
from axisjudge.judging.inquiry import OfSheet
from axisjudge.judging.plan import call_of, plan_calls
from axisjudge.ratings import ratings_frame
from axisjudge.scores.axis.judged.sheets import load_signal_rubrics, sheets_of
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS, GOAL
from axisjudge.scores.axis.rule_sets import UPSTREAM
from axisjudge.scores.axis.scenario import Scenario, axis_results
from axisjudge.scores.axis.transcript.categories import CATEGORIES
from axisjudge.scores.axis.transcript.interactions import run_of_trajectory
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Rating

pytestmark = pytest.mark.slow  # 179 cases through the whole judging run; tests/scores has them without it


class Recorded(Judge):
    """Gives a case's own replies back."""

    kind = "llm"

    def __init__(self, replies: dict[str, str | None]) -> None:
        super().__init__(JudgeSpec(provider="simulated", model="recorded", family="recorded"))
        self.replies, self.asked = replies, []

    def points(self, sheet: Sheet) -> tuple[str, ...]:
        return sheet.points

    def sheet_sha256(self, sheet: Sheet) -> str:
        return sheet.page.prefix.mark

    def prompt_sha256(self, *_: Any) -> str:
        raise AssertionError("no axis is asked about")

    async def grade(self, *_: Any, **__: Any) -> Reply:
        raise AssertionError("no axis is asked about")

    async def fill(self, sheet: Sheet, *, repeat: int = 0) -> Reply:
        about = sheet.points[0].partition(".")[0]
        self.asked.append(about)
        told = sheet.read(self.replies.get(about) or "")
        assert set(told.answers) == set(sheet.points)
        return Reply(told.answers, flags=told.flags)


def judged(case: dict[str, Any]) -> tuple[Any, list[str], list[Rating]]:
    trajectory = Trajectory(
        id=case["id"], source="axis", meta={"axis_entries": case["transcript"], "axis_run": case["run"]}
    )
    said = case["judge"]
    scenario = Scenario("case", "", as_given(said), isinstance(said, str))
    weights = case["weights"] or DEFAULT_WEIGHTS
    run = run_of_trajectory(trajectory, UPSTREAM)
    sheets = sheets_of(trajectory, run, scenario, load_signal_rubrics(), weights)
    judge = Recorded(case["judgeResponses"])
    ratings: list[Rating] = []
    calls = ([call_of(judge, OfSheet(sheet, judge), 0)] for sheet in sheets)
    asyncio.run(run_plan(plan_calls(calls, [judge], done={}), ratings.extend, progress=False))
    table = ratings_frame(ratings)
    (result,) = axis_results([trajectory], signals=table, scenarios=[scenario], rules=UPSTREAM, weights=weights)
    return result, judge.asked, ratings


def no_number(value: Any) -> bool:
    return isinstance(value, dict) and value.get("$num") == "NaN"


@pytest.fixture(scope="module")
def cases(oracles: Path) -> list[dict[str, Any]]:
    return [case for case in load_cases(oracles) if "error" not in case["expected"]]


@pytest.fixture(scope="module")
def results(cases: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Any, list[str], list[Rating]]]:
    return [(case["expected"], *judged(case)) for case in cases]


def test_the_same_judges_are_asked(results: list[Any]) -> None:
    assert len(results) == 178
    for expected, _, asked, _ in results:
        wanted = [] if expected["failedRun"] else expected["judgesCalled"]
        assert sorted(asked) == wanted, expected["id"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_dimensions_and_audits(results: list[Any], category: str) -> None:
    for expected, result, _, _ in results:
        found, wanted = result.dimension(category), expected[category]
        assert found.score == wanted["score"], expected["id"]
        audits = [(each["id"], each["success"], each["rationale"]) for each in wanted["audits"]]
        assert [(audit.id, audit.success, audit.rationale) for audit in found.audits] == audits, expected["id"]
        if category == "agent":  # elsewhere necessity has no weight, and nobody is asked for it
            assert found.necessity.score == wanted["necessity"]["score"], expected["id"]
        if wanted["raw"] is not None:
            assert found.raw == wanted["raw"]["composite"], expected["id"]


def test_goal_and_composite(results: list[Any]) -> None:
    not_numbers = 0
    for expected, result, _, _ in results:
        goal = expected["goalAchievement"]
        if no_number(goal["score"]) or any(no_number(each["score"]) for each in goal["criteria"]):
            not_numbers += 1  # the original goes on with NaN; a rating holds no such value, and counts as missing
            continue
        assert result.dimension(GOAL).score == goal["score"], expected["id"]
        assert result.composite == expected["axisScore"], expected["id"]
    assert not_numbers == 2


def test_ratings_hold_finite_numbers_or_none(results: list[Any]) -> None:
    for expected, _, _, ratings in results:
        for rating in ratings:
            assert (rating.status == "ok") == (rating.value is not None), expected["id"]
            assert rating.value is None or math.isfinite(rating.value), expected["id"]
