"""Where the files of a workbench lie."""

from pathlib import Path

from axisjudge.rubric import load_rubric


def current_path(bench: Path, axis: str) -> Path:
    """The file of an axis's current rubric, the one that a lock names."""
    return bench / "rubrics" / axis / f"{load_rubric(axis).version}.md"
