"""An AXIS run on a line of time, as one HTML file that works offline: what it did, how long, and what it lost by it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axisjudge.explorer.page import embedded, page_of, written
from axisjudge.explorer.shown import shown_run
from axisjudge.scores.axis.deductions import deductions
from axisjudge.scores.axis.result import AxisResult
from axisjudge.scores.axis.transcript.entries import Entry
from axisjudge.scores.axis.transcript.interactions import ACTING, Interaction
from axisjudge.scores.axis.transcript.run import run_of_trajectory
from axisjudge.trajectory import Step, Trajectory

_PERSON = "person"


def write_timeline(path: str | Path, trajectory: Trajectory, result: AxisResult) -> Path:
    """Write the page of one run.

    Parameters
    ----------
    path : path
    trajectory : Trajectory
        The run.
    result : AxisResult
        Its result, as `axisjudge.scores.axis.scoring.axis_results` gives it.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    return written(path, timeline_html(trajectory, result))


def timeline_html(trajectory: Trajectory, result: AxisResult) -> str:
    """The page as text. The same run and result give the same bytes."""
    entries = run_of_trajectory(trajectory, result.rules).entries
    steps = steps_of_entries(entries, trajectory.steps)
    content = {
        "about": {
            "run": result.trajectory_id,
            "of": " · ".join(filter(None, (result.agent, result.task_id, f"{result.rules.name} rules"))),
            "result": result.shown,
            "band": result.band,
            "judged_by": result.judged_by,
            "marks": result.marks,
        },
        "dimensions": [
            {
                "name": each.name,
                "score": "–" if each.score is None else f"{each.score:g}",
                "low": each.low,
                "high": each.high,
                "signals": [{"name": signal.name, "shown": signal.shown} for signal in each.signals if signal.weight],
            }
            for each in result.dimensions
        ],
        "interactions": [_interaction(each, steps) for each in result.interactions],
        "deductions": [each.to_dict() for each in deductions(result)],
        "run": shown_run(trajectory),
    }
    data = f'<script type="application/json" id="timeline-of">{embedded(content)}</script>'
    return page_of("timeline", f"AXIS: {result.trajectory_id}", "timeline_page.js", data, doing="The timeline")


def _interaction(each: Interaction, steps: Sequence[int | None]) -> dict[str, Any]:
    """An interaction as it is drawn; a person's time has a lane of its own."""
    is_persons = each.wait is not None or each.type == "user"
    return {
        "id": each.id,
        "what": each.tool_name or each.type,
        "lane": _PERSON if is_persons else each.categories[0],
        "categories": each.categories,
        "wait": each.wait,
        "error": each.has_error,
        "start": each.start_ms,
        "duration": each.duration_ms,
        "acts": each.type in ACTING,
        "detail": each.detail[:300],
        "steps": sorted({step for at in each.entries if (step := steps[at]) is not None}),
    }


def steps_of_entries(entries: Sequence[Entry], steps: Sequence[Step]) -> list[int | None]:
    """The step in which each entry stands, None where it is in none.

    A call and its result are known by their id; what has none is looked for behind the one before it.
    """
    calls = {call.id: step.index for step in steps for call in step.tool_calls if call.id}
    results = {step.tool_call_id: step.index for step in steps if step.role == "tool" and step.tool_call_id}
    by_id = {"tool_use": calls, "tool_result": results}
    found: list[int | None] = []
    last = -1
    for entry in entries:
        step = by_id.get(entry.type, {}).get(entry.tool_id or "")
        if step is None:
            step = next((each.index for each in steps[max(0, last) :] if _stands_in(entry, each, last)), None)
        found.append(step)
        last = max(last, -1 if step is None else step)
    return found


def _stands_in(entry: Entry, step: Step, last: int) -> bool:
    if entry.type == "tool_use":  # beside a text, or beside another call
        return any(call.name == entry.tool_name for call in step.tool_calls)
    if step.index <= last:
        return False
    if entry.type == "tool_result":
        return step.role == "tool"
    if entry.type == "error":
        return step.kind == "error" or step.error is True
    return step.role == entry.type and (entry.type != "assistant" or (entry.text or "").strip() in step.content)
