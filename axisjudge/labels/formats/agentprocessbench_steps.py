"""AgentProcessBench's step labels: one line a run, a label -1, 0 or +1 for each agent step, and a final label."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.labels.agentprocessbench import FINAL, STEP, step_labels
from axisjudge.labels.formats.terms import Read, Terms, by_person, grouped, of_one_rater, ratings_of
from axisjudge.labels.reading import read_json_lines
from axisjudge.verdict import Rating

#: What stands for the people where nobody is named.
PEOPLE = "people"
_KEYS = {"record_id", "step_labels", "final_label"}


def recognises(record: object) -> bool:
    """Whether a parsed line is a run with step labels."""
    return isinstance(record, dict) and record.keys() >= _KEYS


def check_labels(record: dict[str, Any], where: str) -> None:
    """Refuse a record of another form.

    Raises
    ------
    InputError
        A member is missing, steps are not mapped to labels, or a label is none of -1, 0, 1 and null.
    """
    if absent := sorted((_KEYS | {"data_source", "query_index"}) - record.keys()):
        raise InputError(where, "a run with step labels lacks", ", ".join(absent))
    steps = record["step_labels"]
    if not isinstance(steps, dict) or not all(step.isdecimal() for step in steps):
        raise InputError(where, "step_labels must map the position of each step to its label", steps)
    labels = [*steps.values(), record["final_label"]]
    for label in labels:
        if label is not None and (isinstance(label, str | list | dict) or label not in (-1, 0, 1)):
            raise InputError(where, "a label is -1, 0 or 1", label)


def read_agentprocessbench_steps(path: Path, terms: Terms) -> Read:
    """Step and final labels of one file as ratings on the scale ``step``.

    Raises
    ------
    InputError
        A line is of another form, or a label is not -1, 0 or 1.
    """
    records = read_json_lines(path)
    for number, record in enumerate(records, start=1):
        check_labels(record, f"{path}:{number}")
    table = step_labels(records, **by_person(terms.rater or PEOPLE), model=None)
    ratings = ratings_of(table)
    lost = sum(rating.status != "ok" for rating in ratings)
    return ratings, [f"{lost} steps have no label and are kept as lost"] if lost else []


def write_agentprocessbench_steps(ratings: Sequence[Rating], _: Terms) -> str:
    """One line a run; notes become explanations.

    Raises
    ------
    InputError
        There are several raters, or labels that are not of steps and final results.
    """
    of_one_rater(ratings, "AgentProcessBench")
    if bad := [rating for rating in ratings if rating.question not in (STEP, FINAL) or rating.scale != "step"]:
        rule = f"AgentProcessBench holds the questions {STEP} and {FINAL} on the scale step alone"
        raise InputError("labels", rule, bad[0].question)
    runs = grouped(ratings, "trajectory_id").items()
    return "".join(json.dumps(_line(run, labels), ensure_ascii=False) + "\n" for run, labels in runs)


def _line(run: str, labels: Sequence[Rating]) -> dict[str, Any]:
    first = labels[0]
    source, _, query = (first.task_id or run).rpartition(":")
    by_step = {label.step_index: label for label in labels}
    final = by_step.pop(None, None)
    notes = {str(step): label.rationale for step, label in by_step.items() if label.rationale is not None}
    return {
        "record_id": run,
        "data_source": source,
        "query_index": query,
        "step_labels": {str(step): _number(label) for step, label in by_step.items()},
        "final_label": None if final is None else _number(final),
        "explanations": {"steps": notes, "final": None if final is None else final.rationale},
        "updated_at": first.created_at,
    }


def _number(label: Rating) -> int | None:
    return None if label.value is None else int(label.value)
