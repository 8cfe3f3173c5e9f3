"""AXIS runs on a line of time, as one HTML file that works offline: what each did, how long, what it lost by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axisjudge.explorer.page import embedded, page_of
from axisjudge.explorer.shown import shown_run
from axisjudge.scores.axis.result import AxisResult, deductions
from axisjudge.scores.axis.transcript.entries import Entry
from axisjudge.scores.axis.transcript.interactions import ACTING, Interaction, run_of_trajectory
from axisjudge.sharing import shared
from axisjudge.trajectory import Step, Trajectory
from axisjudge.workbench import write_markup

_PERSON = "person"


def write_timeline(
    path: str | Path,
    runs: Sequence[tuple[Trajectory, AxisResult]],
    opened: int = 0,
    secrets: Counter[str] | None = None,
    *,
    redact: bool = True,
) -> Path:
    """Write the page of some runs, with a list of them where there are several.

    Parameters
    ----------
    path : path
    runs : sequence of (Trajectory, AxisResult)
        Each run with its result, as `axisjudge.scores.axis.scenario.axis_results` gives it.
    opened : int
        Which of them is seen first; ``#`` and a run's id behind the page's address opens another.
    secrets : Counter, optional
        Counts the secrets that were taken out, by kind.
    redact : bool
        Take keys and tokens out of the runs.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    counted = Counter[str]() if secrets is None else secrets
    return write_markup(path, timeline_html(runs, opened, counted if redact else None))


def timeline_html(
    runs: Sequence[tuple[Trajectory, AxisResult]], opened: int = 0, secrets: Counter[str] | None = None
) -> str:
    """The page as text. The same runs and results give the same bytes."""
    listed = {"opened": opened, "runs": [_about(result) for _, result in runs]}
    contents = {"timelines": listed} | {f"run-{at}": _content(*run) for at, run in enumerate(runs)}
    contents = contents if secrets is None else {id: shared(each, secrets) for id, each in contents.items()}
    # each run in an element of its own, so that only the one that is looked at is parsed
    data = [f'<script type="application/json" id="{id}">{embedded(each)}</script>' for id, each in contents.items()]
    title = runs[0][1].trajectory_id if len(runs) == 1 else f"{len(runs)} runs"
    return page_of("timeline", f"AXIS: {title}", "timeline_page.js", "".join(data), doing="The timeline")


def _about(result: AxisResult) -> dict[str, Any]:
    return {
        "run": result.trajectory_id,
        "of": " · ".join(filter(None, (result.agent, result.task_id))),
        "rules": result.rules.name,
        "result": result.shown,
        "band": result.band,
        "judged_by": result.judged_by,
        "marks": result.marks,
    }


def _content(trajectory: Trajectory, result: AxisResult) -> dict[str, Any]:
    entries = run_of_trajectory(trajectory, result.rules).entries
    steps = steps_of_entries(entries, trajectory.steps)
    return {
        "about": _about(result),
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
        "measuredBy": each.duration_source,
        "acts": each.type in ACTING,
        "detail": each.detail[:300],
        "steps": sorted({step for at in each.entries if (step := steps[at]) is not None}),
    }


def steps_of_entries(entries: Sequence[Entry], steps: Sequence[Step]) -> list[int | None]:
    """The step in which each entry stands, None where it is in none.

    A call and its result are known by their id, and of several of one id each is not before what came before it; what
    has none is looked for behind the one before it.
    """
    by_id: dict[tuple[str, str], list[int]] = {}
    for each in steps:
        ids = [("tool_use", call.id) for call in each.tool_calls]
        for kind, name in [*ids, ("tool_result", each.tool_call_id if each.role == "tool" else None)]:
            by_id.setdefault((kind, name or ""), []).append(each.index)
    indices: list[int | None] = []
    last = -1
    for entry in entries:
        of_id = by_id.get((entry.type, entry.tool_id), []) if entry.tool_id else []
        step = next((at for at in of_id if at >= last), of_id[-1] if of_id else None)
        if step is None:
            step = next((each.index for each in steps[max(0, last) :] if _stands_in(entry, each, last)), None)
        indices.append(step)
        last = max(last, -1 if step is None else step)
    return indices


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
