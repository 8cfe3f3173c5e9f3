"""Other people's categories of failure on the five axes: tables under data/reference, read by name."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.labels.decisions import of_run
from axisjudge.labels.reading import holds_records, read_json
from axisjudge.ratings.edge import completed_rows
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import NO_AXIS, Axis
from axisjudge.workbench import find

#: The taxonomies of which there is a table.
TAXONOMIES = ("agentrx", "mast", "who_and_when")
#: A category that leaves its axis open, and one that maps to no axis.
BY_REASON, NONE = "by reason", "none"
#: The question under which a fault stands whose step is known and whose axis is not.
ANY_STEP = "any step"
_SIGNS = re.compile("['\u2019]")


@lru_cache(maxsize=len(TAXONOMIES))
def read_crosswalk(taxonomy: str) -> Mapping[str, Axis | str]:
    """Category -> axis, ``by reason`` or ``none``.

    Examples
    --------
    >>> read_crosswalk("agentrx")["Invalid Invocation"], read_crosswalk("mast")["FM-2.1 Conversation reset"]
    ('argument_validity', 'none')
    """
    axes = {row["label"]: row["axis"] for row in _rows(taxonomy)}
    for label, axis in axes.items():
        if axis not in (*get_args(Axis), BY_REASON, NONE):
            where = f"crosswalk_{taxonomy}.csv: {label}"
            raise InputError(where, f"must map to an axis, {BY_REASON} or {NONE}", axis)
    return MappingProxyType(axes)


@lru_cache(maxsize=len(TAXONOMIES))
def numbered_modes(taxonomy: str) -> Mapping[str, str]:
    """Key -> category: by its words (`category_key`), by those that it had in earlier rounds, and by its number.

    Examples
    --------
    >>> modes = numbered_modes("mast")
    >>> modes["derailment from task"], modes["2.3"]
    ('FM-2.3 Task derailment', 'FM-2.3 Task derailment')
    """
    keys: dict[str, str] = {}
    for row in _rows(taxonomy):
        number, _, words = row["label"].removeprefix("FM-").partition(" ")
        earlier = filter(None, (row.get("earlier") or "").split(";"))
        keys |= dict.fromkeys((number, *map(category_key, (words, *earlier))), row["label"])
    return MappingProxyType(keys)


def category_key(category: str) -> str:
    """A category's words, as two spellings of it share them: lower case, one space, no hyphen, slash or apostrophe."""
    return " ".join(_SIGNS.sub("", category.replace("-", " ").replace("/", " ")).lower().split())


def _rows(taxonomy: str) -> list[dict[str, str]]:
    path = find(f"data/reference/crosswalk_{one_of('taxonomy', taxonomy, TAXONOMIES)}.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


# AgentRx: failures that people found in failed tau-bench runs, each with its step and category, on the five axes.


#: The axes of the failures whose category leaves it open, by failure_id, as their reasons say: a whole order cancelled
#: where a part was meant; items changed before the address, twice.
AXIS_BY_REASON: dict[int, Axis] = {13: "tool_selection", 21: "sequencing", 28: "sequencing"}
#: The user's own failures, on the scale that their labels have.
_USERS = ("underspecified_user_intent", "intent_not_supported")
#: A word by which a category is known although its labels call it otherwise ("Instruction Adherence Failure").
_KNOWN_BY = {"instruction plan adherence failure": "adherence"}


def read_agentrx(
    labels: str | Path, trajectories: Iterable[Trajectory], *, by_reason: Mapping[int, Axis] = AXIS_BY_REASON
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
    by_run_and_axis: dict[tuple[str, str], list[tuple[int, Mapping[str, Any], Trajectory]]] = defaultdict(list)
    for record in _records(path):
        task = str(record["trajectory_id"])
        if (run := failed.get(task)) is None:
            raise InputError(str(path), "every label needs the failed run of its task", task, "read AgentRx's runs")
        for failure in record["failures"]:
            question = _question(failure, by_reason, path)
            by_run_and_axis[run.id, question].append((_step(run, failure, path), failure, run))
    rows = [_row(question, failures, path) for (_, question), failures in by_run_and_axis.items()]
    return completed_rows(rows, rater="people", rater_kind="human", family="human")


def _records(path: Path) -> list[Mapping[str, Any]]:
    records = read_json(path)
    if records != [] and not holds_records(records, "trajectory_id", "failures"):
        raise InputError(str(path), "must be a list of runs with trajectory_id and failures")
    return list(records)


def _category(failure: Mapping[str, Any], path: Path) -> str:
    """The category of the crosswalk that a failure's own words name."""
    words = category_key(str(failure["failure_category"]))
    for label in (crosswalk := read_crosswalk("agentrx")):
        if _KNOWN_BY.get(category_key(label), category_key(label)) in words:
            return label
    raise InputError(str(path), f"the category must be one of {', '.join(crosswalk)}", failure["failure_category"])


def _question(failure: Mapping[str, Any], by_reason: Mapping[int, Axis], path: Path) -> str:
    category = _category(failure, path)
    mapped = read_crosswalk("agentrx")[category]
    if mapped == NONE:
        return NO_AXIS
    axis = by_reason.get(int(failure["failure_id"])) if mapped == BY_REASON else mapped
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


def _row(question: str, failures: list[tuple[int, Mapping[str, Any], Trajectory]], path: Path) -> dict[str, Any]:
    run, crosswalk = failures[0][2], read_crosswalk("agentrx")
    words = {label: category_key(label).replace(" ", "_") for label in crosswalk if crosswalk[label] == NONE}
    word = words.get(_category(failures[0][1], path))
    scale = _USERS if word in _USERS else tuple(words.values())  # labels of the user's failures keep their scale
    return {
        **of_run(run),
        "question": question,
        "scale": f"nominal:{','.join(scale)}" if question == NO_AXIS else "verdict",
        "verdict": word if question == NO_AXIS else "incorrect",
        "cited_step_indices": sorted({step for step, _, _ in failures}),
        "rationale": " ".join(str(failure.get("category_reason", "")) for _, failure, _ in failures).strip() or None,
    }
