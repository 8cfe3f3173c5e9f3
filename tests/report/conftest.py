"""A small workbench with notebooks of a few lines, run for real."""

from collections.abc import Callable, Sequence
from pathlib import Path

import nbformat
import pytest

from axisjudge.ratings import RatingsWriter
from axisjudge.verdict import Rating

TITLE = "# Which capability broke?\n\nOne question, asked of a few ratings. Each cell of the figure is a count of failures."
PARAMETERS = 'ratings: str = "data/ratings/demo.jsonl"  # the ratings table\nseed: int = 7\nlevel: float = 0.95\ntitle: str | None = None'
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
    built = [nbformat.v4.new_markdown_cell(TITLE)]
    if parameters is not None:
        built.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    for source in [load, COUNTS, FIGURE] if cells is None else [load, *cells]:
        built.append((nbformat.v4.new_markdown_cell if source.startswith("# ") else nbformat.v4.new_code_cell)(source))
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=built), path)
    return path


def write_ratings(path: Path, ratings: Sequence[Rating]) -> None:
    """A ratings file with just these ratings."""
    path.unlink(missing_ok=True)
    with RatingsWriter(path) as writer:
        writer.append(ratings)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A workbench with folders and a ratings file, without notebooks."""
    home = tmp_path / "bench"
    for folder in ("rubrics", "notebooks", "data/ratings", "reports"):
        (home / folder).mkdir(parents=True)
    (home / "rubrics" / "v1.md").write_text("Is the order right?\n", encoding="utf-8")
    axes = ("tool_selection", "sequencing", "termination")
    write_ratings(
        home / "data" / "ratings" / "demo.jsonl",
        [
            rating(
                trajectory_id=f"t{task}-{agent}",
                task_id=f"task-{task}",
                cluster_id=f"task-{task}",
                agent=agent,
                question=axis,
                rater=rater,
                rater_kind=kind,
                family=rater,
                verdict="incorrect" if (task + len(axis) + len(rater)) % 4 == 0 else "correct",
                created_at=f"2026-01-0{task + 1}T00:00:00Z",
            )
            for task in range(5)
            for agent in ("agent-a", "agent-b")
            for axis in axes
            for rater, kind in (("rules", "rules"), ("simulated:steady", "simulated"))
        ],
    )
    return home


@pytest.fixture
def notebook(bench: Path) -> Callable[..., Path]:
    """Write a notebook into the workbench."""
    return lambda name, **parts: write_notebook(bench / "notebooks" / f"{name}.ipynb", **parts)
