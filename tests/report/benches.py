"""Ratings and notebooks of a few lines."""

from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from axisjudge.ratings import RatingsWriter
from axisjudge.verdict import Rating

TITLE = (
    "# Which capability broke?\n\nOne question, asked of a few ratings. Each cell of the figure is a count of failures."
)
PARAMETERS = """\
ratings: str = "data/ratings/demo.jsonl"  # the ratings table
seed: int = 7
level: float = 0.95
title: str | None = None"""
LOAD = """\
import matplotlib.pyplot as plt
import polars as pl

from axisjudge import read_ratings, workbench
from axisjudge.report import Page

table = read_ratings(workbench.home() / ratings)
page = Page("{name}", table)
page.banner()"""
COUNTS = """\
counts = table.group_by("question").agg(failures=(pl.col("verdict") == "incorrect").sum()).sort("question")
page.record("counts", counts)
page.record("level", level)
page.record("undefined", float("nan"))
page.table(counts, caption="Failures by axis")"""
FIGURE = """\
figure, axes = plt.subplots(figsize=(6, 3))
axes.bar(counts["question"], counts["failures"])
axes.set_title("Failures by axis")
page.figure("failures", axes)
page.say(f"There are **{counts['failures'].sum()}** failures among {table.height} ratings.")"""


def rating(**fields: object) -> Rating:
    """A rating of the rules judge, but for the fields given."""
    said = {
        "trajectory_id": "t1",
        "cluster_id": "task-1",
        "task_id": "task-1",
        "agent": "agent-a",
        "question": "sequencing",
        "rater": "rules",
        "rater_kind": "rules",
        "family": "rules",
        "verdict": "correct",
    }
    return Rating.model_validate(said | fields)


def write_notebook(path: Path, *, parameters: str | None = PARAMETERS, cells: Sequence[str] | None = None) -> Path:
    """A notebook of a title, a parameters cell and `cells`: code, or prose where it starts with '#' and a blank."""
    load = LOAD.format(name=path.stem)
    built = [new_markdown_cell(TITLE)]
    if parameters is not None:
        built.append(new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    sources = [load, *([COUNTS, FIGURE] if cells is None else cells)]
    built += [(new_markdown_cell if source.startswith("# ") else new_code_cell)(source) for source in sources]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=built), path)
    return path


def write_ratings(path: Path, ratings: Sequence[Rating]) -> None:
    """A ratings file with just these ratings."""
    path.unlink(missing_ok=True)
    with RatingsWriter(path) as writer:
        writer.append(ratings)
