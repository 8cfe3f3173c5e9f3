"""A small workbench whose notebooks are run for real."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests are not a package
from benches import rating, write_notebook, write_ratings


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
