"""AgentRx: failures that people found in failed tau-bench runs, each with its step and category, on the five axes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.labels.columns import completed, read_json
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis

#: A part of a failure's category, and the axis it speaks of; None where the axis depends on the failure's reason.
CROSSWALK: dict[str, Axis | None] = {
    "misinterpretation of tool output": "result_interpretation",
    "invalid invocation": "argument_validity",
    "adherence": "sequencing",
    "intent plan misalignment": None,
}
#: The axes of the failures whose category leaves it open, by failure_id, as their reasons say: a whole order cancelled
#: where a part was meant; items changed before the address, twice.
BY_REASON: dict[int, Axis] = {13: "tool_selection", 21: "sequencing", 28: "sequencing"}
#: The question under which the user's own failures stand: they are on no axis of the agent's.
NO_AXIS = "no_axis"
_USERS = {"underspecified user intent": "underspecified_user_intent", "intent not supported": "intent_not_supported"}


def read_agentrx(
    labels: str | Path, trajectories: Iterable[Trajectory], *, by_reason: Mapping[int, Axis] = BY_REASON
) -> pl.DataFrame:
    """People's failures as a ratings table: ``incorrect`` on the axis of each failure, citing its steps.

    What people did not name is unlabelled, not correct: neither the other axes of a failed run nor any passing run has
    a rating here, so that these labels show how many failures a judge finds and never how often it cries wolf.

    Parameters
    ----------
    labels : path
        ``human_labels.json``: a list of runs, each with ``trajectory_id`` (the task) and ``failures``.
    trajectories : iterable of Trajectory
        AgentRx's runs; a label belongs to the task's failed run (reward below 1). A failure's ``step_number`` is the
        `source_index` of a step.
    by_reason : mapping
        Axis by failure_id where the category alone does not decide.

    Returns
    -------
    polars.DataFrame
        One rating for each run and axis with a failure, several failures of one axis cited together. The user's own
        failures stand under the question ``no_axis`` on a scale of their own.

    Raises
    ------
    InputError
        The file is not of this form, a label has no run or a step that its run lacks, a category is unknown, or the
        axis of a failure is open.

    References
    ----------
    microsoft/AgentRx; the crosswalk is ours.
    """
    path = Path(labels)
    failed = {run.task_id: run for run in trajectories if run.reward is not None and run.reward < 1}
    found: dict[tuple[str, str], list[tuple[int, Mapping[str, Any], Trajectory]]] = defaultdict(list)
    for record in _records(path):
        task = str(record["trajectory_id"])
        if (run := failed.get(task)) is None:
            raise InputError(str(path), "every label needs the failed run of its task", task, "read AgentRx's runs")
        for failure in record["failures"]:
            question = _question(failure, by_reason, path)
            found[run.id, question].append((_step(run, failure, path), failure, run))
    rows = [_row(question, failures) for (_, question), failures in found.items()]
    return completed(
        {name: [row[name] for row in rows] for name in rows[0]} if rows else {},
        rater="people",
        rater_kind="human",
        family="human",
    )


def _records(path: Path) -> list[Mapping[str, Any]]:
    records = read_json(path)
    if not isinstance(records, list) or not all(
        isinstance(record, dict) and {"trajectory_id", "failures"} <= record.keys() for record in records
    ):
        raise InputError(str(path), "must be a list of runs with trajectory_id and failures")
    return records


def _category(failure: Mapping[str, Any]) -> str:
    return " ".join(str(failure["failure_category"]).replace("-", " ").lower().split())


def _question(failure: Mapping[str, Any], by_reason: Mapping[int, Axis], path: Path) -> str:
    category = _category(failure)
    if any(name in category for name in _USERS):
        return NO_AXIS
    name = next((name for name in CROSSWALK if name in category), None)
    if name is None:
        raise InputError(str(path), f"the category must be one of {', '.join((*CROSSWALK, *_USERS))}", category)
    axis = CROSSWALK[name] or by_reason.get(int(failure["failure_id"]))
    if axis is None:
        cure = "read its reason and name the axis in by_reason"
        raise InputError(str(path), f"the axis of failure {failure['failure_id']} is open", category, cure)
    return axis


def _step(run: Trajectory, failure: Mapping[str, Any], path: Path) -> int:
    number = int(failure["step_number"])
    index = next((step.index for step in run.steps if step.source_index == number), None)
    if index is None:
        raise InputError(str(path), f"run {run.id} of task {run.task_id} has no step numbered so", number)
    return index


def _row(question: str, failures: list[tuple[int, Mapping[str, Any], Trajectory]]) -> dict[str, Any]:
    run = failures[0][2]
    users = next((word for name, word in _USERS.items() if name in _category(failures[0][1])), None)
    return {
        "trajectory_id": run.id,
        "item_id": run.id,
        "task_id": run.task_id,
        "cluster_id": run.cluster_id,
        "agent": run.agent,
        "domain": run.domain,
        "question": question,
        "scale": f"nominal:{','.join(_USERS.values())}" if question == NO_AXIS else "verdict",
        "verdict": users if question == NO_AXIS else "incorrect",
        "cited_step_indices": sorted({step for step, _, _ in failures}),
        "rationale": " ".join(str(failure.get("category_reason", "")) for _, failure, _ in failures).strip() or None,
    }
