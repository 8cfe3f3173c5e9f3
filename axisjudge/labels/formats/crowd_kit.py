"""crowd-kit's CSV of task, worker and label.

A task is an item and its question: what we write has trajectory_id, step_index, question and scale in columns of their
own, which crowd-kit passes over. In a file without them a task is a trajectory, or ``trajectory#step``, and the
question is told.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from axisjudge.checks import InputError
from axisjudge.labels.own import Read, Terms, by_person, finished, item_of, separated_rows, steps_of
from axisjudge.sharing import safe_cell
from axisjudge.verdict import Rating

COLUMNS = ("task", "worker", "label")
#: Columns of ours beside them.
OURS = ("trajectory_id", "step_index", "question", "scale")


def recognises(heads: Sequence[str]) -> bool:
    """Whether a CSV header is crowd-kit's."""
    return set(COLUMNS) <= set(heads)


def read_crowd_kit(path: Path, terms: Terms) -> Read:
    """Labels of workers as ratings.

    Raises
    ------
    InputError
        A column is missing or unknown, the question is not told, or a word is none of ours.
    """
    rows = separated_rows(path)
    heads = list(rows[0]) if rows else list(COLUMNS)
    if not recognises(heads):
        raise InputError(str(path), f"needs the columns {', '.join(COLUMNS)}", heads)
    if unknown := [head for head in heads if head not in (*COLUMNS, *OURS)]:
        raise InputError(str(path), "a column would be lost", unknown[0], "leave it out")
    ratings = [_label(f"{path}:{number}", row, terms) for number, row in enumerate(rows, start=2)]
    return finished(ratings), []


def _label(where: str, row: Mapping[str, str], terms: Terms) -> Rating:
    name = row.get("question") or terms.question
    if name is None:
        raise InputError(where, "says not what was asked", cure="name it with --question")
    question = terms.question_of(name)
    if scale := row.get("scale"):
        terms = replace(terms, scales={question: scale, **terms.scales})
    run, index = item_of(row["task"])
    if "trajectory_id" in row:
        run, index = row["trajectory_id"], (steps_of(where, [row["step_index"]])[0] if row["step_index"] else None)
    return Rating(
        **terms.run_fields(run),
        **by_person(row["worker"]),
        step_index=index,
        question=question,
        **terms.word_fields(where, question, row["label"]),
    )


def write_crowd_kit(ratings: Sequence[Rating], _: Terms) -> str:
    """One row a label."""
    out = io.StringIO(newline="")
    sheet = csv.writer(out, lineterminator="\n")
    sheet.writerow((*COLUMNS, *OURS))
    for label in ratings:
        step = "" if label.step_index is None else label.step_index
        task, word = f"{label.item_id}::{label.question}", label.verdict if label.value is None else label.value
        scale = "" if label.scale == "verdict" else label.scale
        row = (task, label.rater, word, label.trajectory_id, step, label.question, scale)
        sheet.writerow(map(safe_cell, row))
    return out.getvalue()
