"""The original program's cases, and small transcripts for tests."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

from axisjudge.scores.axis.judged.audits import grades_of_reply, judged_categories, signals_of_reply
from axisjudge.scores.axis.judged.signals import Audit, CategorySignals, GoalCheck, Grade, Necessity, Signals, scope
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS, AxisResult, score_run
from axisjudge.scores.axis.rule_sets import DOCUMENTED, UPSTREAM, RuleSet
from axisjudge.scores.axis.scenario import checks_of
from axisjudge.scores.axis.transcript.categories import CATEGORIES
from axisjudge.scores.axis.transcript.interactions import AxisRun, ProcessEnd, run_of_axis


def load_cases(oracles: Path) -> list[dict[str, Any]]:
    with gzip.open(oracles / "axis_cases.json.gz") as stream:
        return list(json.load(stream)["cases"])


def run_of_case(case: dict[str, Any], rules: RuleSet = UPSTREAM) -> AxisRun:
    told = case["run"]
    outcome = ProcessEnd(
        told["result"], told["exitCode"], told.get("error"), told.get("startTime"), told.get("endTime")
    )
    return run_of_axis(case["transcript"], id=case["id"], rules=rules, outcome=outcome)


def grades_of_case(case: dict[str, Any], rules: RuleSet = UPSTREAM) -> list[Grade]:
    said = case["judge"]
    holistic = isinstance(said, str)
    checks = checks_of(said, case["id"])[0] if rules is DOCUMENTED and _weighed(said) else as_given(said)
    return grades_of_reply(case["judgeResponses"].get("goal"), checks, rules, holistic=holistic)


def as_given(said: Any) -> tuple[GoalCheck, ...]:
    """Checks as the cases have them; a weight that is missing is NaN to the original's arithmetic."""
    if isinstance(said, str):
        return (GoalCheck(said, 1),)
    return tuple(GoalCheck(each["check"], each.get("weight", math.nan)) for each in said)


def _weighed(said: Any) -> bool:
    return isinstance(said, str) or any(each.get("weight") != 0 for each in said)


def signals_of_case(case: dict[str, Any], run: AxisRun) -> Signals:
    weights = case["weights"] or DEFAULT_WEIGHTS
    replies = case["judgeResponses"]
    return {
        category: signals_of_reply(replies.get(category), category, run.interactions, run.rules)
        for category in judged_categories(run.interactions, weights, run.rules)
    }


def result_of_case(case: dict[str, Any], rules: RuleSet = UPSTREAM) -> AxisResult:
    run = run_of_case(case, rules)
    return score_run(run, signals_of_case(case, run), grades=grades_of_case(case, rules), weights=case["weights"])


def at(milliseconds: int) -> str:
    """A time stamp so many milliseconds after nine o'clock."""
    minutes, rest = divmod(milliseconds, 60_000)
    return f"2026-03-14T09:{minutes:02d}:{rest // 1000:02d}.{rest % 1000:03d}Z"


def says(milliseconds: int, text: str = "thinking") -> dict[str, Any]:
    return {"type": "assistant", "timestamp": at(milliseconds), "content": {"text": text}}


def calls(milliseconds: int, name: str | None, id: str = "a", **given: Any) -> dict[str, Any]:
    content = {"tool_id": id, "parameters": given} | ({} if name is None else {"tool_name": name})
    return {"type": "tool_use", "timestamp": at(milliseconds), "content": content}


def answers(milliseconds: int, text: str = "ok", id: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "timestamp": at(milliseconds), "content": {"tool_id": id, "output": text, **more}}


def all_audited(run: AxisRun, value: float = 1.0, necessity: float = 1.0) -> Signals:
    """Every signal of every interaction judged alike."""
    return {
        category: CategorySignals(
            tuple(Audit(each.id, value, value, value, "judged") for each in scope(run.interactions, category)),
            Necessity(necessity, (), "judged"),
        )
        for category in CATEGORIES
    }


def judged_run(*entries: dict[str, Any], rules: RuleSet = DOCUMENTED, value: float = 1.0) -> AxisResult:
    run = run_of_axis(entries, id="run", rules=rules)
    return score_run(run, all_audited(run, value))
