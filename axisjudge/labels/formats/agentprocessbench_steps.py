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


def read_agentprocessbench_steps(path: Path, terms: Terms) -> Read:
    """Step and final labels of one file as ratings on the scale ``step``.

    Raises
    ------
    InputError
        A line is of another form, or a label is not -1, 0 or 1.
    """
    records = read_json_lines(path)
    for number, record in enumerate(records, start=1):
        if not recognises(record) or not {"data_source", "query_index"} <= record.keys():
            raise InputError(f"{path}:{number}", "must be a run with record_id, step_labels and final_label")
        if wrong := {*record["step_labels"].values(), record["final_label"]} - {-1, 0, 1, None}:
            raise InputError(f"{path}:{number}", "a label is -1, 0 or 1", min(wrong, key=str))
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
    said = {label.step_index: label for label in labels}
    final = said.pop(None, None)
    notes = {str(step): label.rationale for step, label in said.items() if label.rationale is not None}
    return {
        "record_id": run,
        "data_source": source,
        "query_index": query,
        "step_labels": {str(step): _number(label) for step, label in said.items()},
        "final_label": None if final is None else _number(final),
        "explanations": {"steps": notes, "final": None if final is None else final.rationale},
        "updated_at": first.created_at,
    }


def _number(label: Rating) -> int | None:
    return None if label.value is None else int(label.value)
