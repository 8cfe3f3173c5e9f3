"""AXIS Results in the form of the original program, for its viewers and for scripts that read its reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from axisjudge.checks import InputError
from axisjudge.results import columns, plain, row
from axisjudge.scores.axis.dimensions import Dimension, speed
from axisjudge.scores.axis.judged.sheets import sparse_line
from axisjudge.scores.axis.judged.signals import Grade
from axisjudge.scores.axis.result import GOAL, AxisResult, mean_result
from axisjudge.scores.axis.rule_sets import UPSTREAM
from axisjudge.scores.axis.transcript.categories import CATEGORIES
from axisjudge.scores.axis.transcript.interactions import Interaction
from axisjudge.trajectory import Trajectory

#: The version of the program whose form this is.
VERSION = "1.17.2"


def axis_json(trajectories: Sequence[Trajectory], results: Sequence[AxisResult]) -> dict[str, Any]:
    """All results as one report: what its command prints, with the fields that its page reads beside them.

    Parameters
    ----------
    trajectories : sequence of Trajectory
    results : sequence of AxisResult
        Theirs, in the same order, under the original's rules and with graded goals.

    Raises
    ------
    InputError
        The form has no word for scores by other rules, or for a goal that nobody graded.
    """
    pairs = list(zip(trajectories, results, strict=True))
    entries = [_entry(trajectory, result) for trajectory, result in pairs]
    failed = sum(each.failed for each in results)
    counts = {"total": len(results), "completed": len(results) - failed, "failed": failed}
    return {
        "version": VERSION,
        "reportId": "axisjudge",
        "timestamp": min((each["output"]["metadata"]["startTime"] or "" for each in entries), default="", key=str),
        "durationMs": sum(each["durationMs"] for each in entries),
        "results": entries,
        "summary": {**counts, "averageAxisScore": mean_result(results)},
    }


def score_json(result: AxisResult) -> dict[str, Any]:
    """One run's score: the composite, the four dimensions, the weights and the index of interactions.

    Raises
    ------
    InputError
        As `axis_json`.
    """
    where = f"run {result.trajectory_id}"
    if result.rules is not UPSTREAM:
        raise InputError(where, "was scored by other rules than the original program's", cure="add --rules upstream")
    if result.composite is None:
        cure = "name the scenario with --checks and its grades with --grades"
        raise InputError(where, "has no AXIS Result, as its goal is not graded", cure=cure)
    criteria = [
        {"check": each.check.check, **_weight(each), "score": each.score, "rationale": each.rationale}
        for each in result.grades
    ]
    by_id = {each.id: each for each in result.interactions}
    score: dict[str, Any] = plain(
        {
            "axisScore": result.composite,
            "goalAchievement": {"score": result.dimension(GOAL).score, "criteria": criteria},
            **{name: _category(result.dimension(name), by_id) for name in CATEGORIES},
            "weights": result.weights,
            "sparseIndex": _index(result),
        }
    )
    return score


def _weight(grade: Grade) -> dict[str, float]:
    """A check's weight; the original writes none where the scenario gave none (NaN here)."""
    return {} if math.isnan(grade.check.weight) else {"weight": grade.check.weight}


def _category(dimension: Dimension, by_id: dict[int, Interaction]) -> dict[str, Any]:
    necessity = dimension.necessity
    return {
        "score": dimension.score,
        "interactionCount": dimension.n_interactions,
        "auditedCount": dimension.n_audited,
        "dimensions": {each.name: each.shown for each in dimension.signals},
        "audits": [
            {
                "id": each.id,
                "categories": [dimension.name],
                "success": each.success,
                "speed": speed(by_id[each.id].categories, by_id[each.id].duration_ms),
                "weight": each.weight,
                "contextRelevance": each.relevance,
                "rationale": each.rationale,
            }
            for each in dimension.audits
        ],
        "necessity": {
            "category": dimension.name,
            "score": necessity.score,
            "unnecessaryIds": necessity.unnecessary,
            "rationale": necessity.rationale,
        },
    }


_INTERACTION = columns(
    "id entryIndices=entries categories toolName=tool_name hasError=has_error durationMs=duration_ms startMs=start_ms "
    "contextBytes=context_bytes"
)
_COUNTS = columns(
    "totalInteractions=interactions byCategory=by_category totalErrors=errors totalDurationMs=total_ms "
    "wallClockMs=wall_clock_ms"
)


def _index(result: AxisResult) -> dict[str, Any]:
    interactions = [row(each, _INTERACTION) | {"sparseLine": sparse_line(each)} for each in result.interactions]
    counts = result.counts
    ends = {"startupMs": counts.startup_ms, "shutdownMs": counts.shutdown_ms}
    stats = row(counts, _COUNTS) | {name: time for name, time in ends.items() if time}
    return {"lines": [each["sparseLine"] for each in interactions], "interactions": interactions, "stats": stats}


def _entry(trajectory: Trajectory, result: AxisResult) -> dict[str, Any]:
    """One result: the run as its source has it, its score, and in brief what the original's page lists."""
    run = {"exitCode": 0, **_part(trajectory, "axis_run")}
    scenario = _part(trajectory, "axis_scenario")
    stamps = [each.timestamp for each in trajectory.steps if each.timestamp]
    metadata: dict[str, Any] = {
        "startTime": stamps[0] if stamps else None,
        "endTime": stamps[-1] if stamps else None,
        "durationMs": result.counts.wall_clock_ms,
        **{name: value for name, value in run.items() if name != "result"},
    }
    key = result.task_id or result.cluster_id
    brief = ("durationMs", "exitCode", "error", "tokenUsage", "totalCostUsd")
    entries = trajectory.meta.get("axis_entries")
    return {
        "scenarioKey": key,
        "scenarioName": scenario.get("scenarioName", key),
        "agentName": result.agent or "not stated",
        "prompt": scenario.get("prompt", ""),
        "judge": scenario.get("judge", scenario.get("rubric", [])),
        "agentConfig": {"agent": result.agent or "not stated"},
        **{name: metadata[name] for name in brief if name in metadata},
        "failed": result.failed,
        "file": f"scenarios/{key}/{result.agent}.json",
        "output": {
            "transcript": entries if isinstance(entries, list) else [],
            "result": run.get("result"),
            "metadata": metadata,
        },
        "score": score_json(result),
    }


def _part(trajectory: Trajectory, name: str) -> dict[str, Any]:
    value = trajectory.meta.get(name)
    return value if isinstance(value, dict) else {}
