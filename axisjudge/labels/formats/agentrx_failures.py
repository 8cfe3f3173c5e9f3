"""AgentRx's failures: runs with the failures that people found, each at a step and of a category.

The crosswalk to the axes is that of `axisjudge.labels.agentrx`; the user's own failures stand under ``no_axis``. What
we write says the axis beside the category, because a category alone may leave it open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.labels.agentrx import BY_REASON, NO_AXIS, read_agentrx
from axisjudge.labels.crosswalk import category_key, read_crosswalk
from axisjudge.labels.own import ONLY_FAILURES, Naming, Read, Terms, grouped, of_one_rater, ratings_of
from axisjudge.labels.reading import holds_records, read_json
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis, Rating

_CATEGORIES = {
    "result_interpretation": "Misinterpretation of Tool Output",
    "argument_validity": "Invalid Invocation",
    "sequencing": "Instruction/Plan Adherence Failure",
    "tool_selection": "Intent Plan Misalignment",
}


def recognises(content: object) -> bool:
    """Whether parsed JSON is a list of runs with failures."""
    return holds_records(content, "trajectory_id", "failures")


def read_agentrx_failures(path: Path, terms: Naming) -> Read:
    """Failures as ratings: ``incorrect`` on their axis, citing their steps.

    Raises
    ------
    InputError
        The runs were not given, or a failure does not fit its run.
    """
    if not terms.trajectories:
        cure = "name the runs with --trajectories"
        raise InputError(str(path), "AgentRx's step numbers are those of its runs", cure=cure)
    runs = read_json(path)
    stated: dict[int, Axis] = {
        int(failure["failure_id"]): failure["axis"]
        for run in (runs if recognises(runs) else ())
        for failure in run["failures"]
        if failure.get("axis")
    }
    table = read_agentrx(path, terms.trajectories.values(), by_reason=stated or BY_REASON)
    ratings = ratings_of(table)
    if terms.rater:
        ratings = [rating.model_copy(update={"rater": terms.rater}) for rating in ratings]
    users = sum(rating.question == NO_AXIS for rating in ratings)
    return ratings, [ONLY_FAILURES, f"{users} failures of the user's are kept under {NO_AXIS}"]


def write_agentrx_failures(ratings: Sequence[Rating], terms: Terms) -> str:
    """Runs with failures, one failure for each cited step.

    Raises
    ------
    InputError
        A label is no failure, cites no step, or its run was not given.
    """
    of_one_rater(ratings, "AgentRx")
    number, written = 0, []
    for run_id, labels in grouped(ratings, "trajectory_id").items():
        if (run := terms.trajectories.get(run_id)) is None:
            raise InputError("labels", "AgentRx needs the run of every label", run_id, "name it with --trajectories")
        failures = [failure for label in labels for failure in _failures(label, run)]
        for failure in failures:
            number += 1
            failure["failure_id"] = number
        written.append({"trajectory_id": run.task_id, "failures": failures})
    return json.dumps(written, ensure_ascii=False, indent=1) + "\n"


def _failures(label: Rating, run: Trajectory) -> Iterator[dict[str, Any]]:
    users = label.question == NO_AXIS
    nowhere = {category_key(name).replace(" ", "_"): name for name in read_crosswalk("agentrx")}
    category = nowhere.get(str(label.verdict)) if users else _CATEGORIES.get(label.question)
    if category is None or not (users or label.verdict == "incorrect"):
        word = f"{label.verdict} on {label.question}"
        raise InputError("labels", "AgentRx holds failures on its own axes alone", word, "export those alone")
    if not label.cited_step_indices:
        raise InputError("labels", "a failure of AgentRx stands at a step", f"{label.item_id}: none is cited")
    for position, step in enumerate(label.cited_step_indices):
        numbers = [each.source_index for each in run.steps if each.index == step]
        if not numbers or numbers[0] is None:
            raise InputError("labels", "a cited step needs AgentRx's own number", f"{label.item_id}: step {step}")
        yield {
            "step_number": numbers[0],
            "failure_category": category,
            "category_reason": (label.rationale or "") if position == 0 else "",
            **({} if users else {"axis": label.question}),
        }
