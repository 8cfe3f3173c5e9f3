"""What changed from one rubric version to the next: text, verdicts, and the trail of versions."""

from __future__ import annotations

import difflib
import subprocess
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError
from axisjudge.rubric import Rubric, list_rubrics, load_rubric
from axisjudge.workbench import home

_ITEM = ("item_id", "rater", "repeat")


@dataclass(frozen=True, eq=False)
class VersionDiff:
    """Two versions of a rubric.

    `text` is the unified diff of what judges are shown. `verdicts` has a row for each item, rater and repeat that both
    versions were asked about (item_id, cluster_id, agent, rater, repeat, before, confidence_before, after,
    confidence_after); None where no ratings were given.
    """

    before: Rubric
    after: Rubric
    text: str
    verdicts: pl.DataFrame | None

    @property
    def changed(self) -> pl.DataFrame | None:
        """The rows in which the verdict changed."""
        return None if self.verdicts is None else self.verdicts.filter(pl.col("before") != pl.col("after"))


def rubric_diff(axis: str, before: str, after: str, ratings: pl.DataFrame | None = None) -> VersionDiff:
    """Text and verdicts of two versions of one axis's rubric.

    Raises
    ------
    InputError
        No such axis or version; ratings in which no rater was asked about one item with both versions.
    """
    old, new = load_rubric(axis, before), load_rubric(axis, after)
    lines = difflib.unified_diff(
        old.text.splitlines(), new.text.splitlines(), f"{axis}/{before}.md", f"{axis}/{after}.md", lineterm="", n=1
    )
    verdicts = None if ratings is None else _verdicts(ratings, old, new)
    return VersionDiff(old, new, "\n".join(lines), verdicts)


@dataclass(frozen=True)
class Milestone:
    """One version in the trail of an axis; `commit` is None where no git knows of it."""

    axis: str
    version: str
    date: str
    status: str
    commit: str | None
    changes: str
    sha256: str


def rubric_trail(axis: str) -> list[Milestone]:
    """The versions of an axis, oldest first, each with the commit that brought it in."""
    names = ("axis", "version", "status", "changes", "sha256")
    return [
        Milestone(
            **{name: getattr(rubric, name) for name in names},
            date=str(rubric.date),
            commit=_commit_of(Path("rubrics") / axis / f"{rubric.version}.md"),
        )
        for rubric in list_rubrics(axis)
    ]


def _verdicts(ratings: pl.DataFrame, old: Rubric, new: Rubric) -> pl.DataFrame:
    asked = ratings.filter((pl.col("question") == old.axis) & pl.col("verdict").is_not_null())
    sides = []
    for rubric, name in ((old, "before"), (new, "after")):
        own = asked.filter(pl.col("rubric_sha256") == rubric.sha256)
        own = own.unique(subset=list(_ITEM), keep="last", maintain_order=True)
        sides.append(own.rename({"verdict": name, "confidence": f"confidence_{name}"}))
    first, second = sides
    both = first.select(*_ITEM, "cluster_id", "agent", "before", "confidence_before").join(
        second.select(*_ITEM, "after", "confidence_after"), on=list(_ITEM)
    )
    if both.is_empty():
        rule = f"no rater was asked about one run with both {old.version} and {new.version} of {old.axis}"
        raise InputError("--ratings", rule, cure=f"judge with --rubric {old.axis}=VERSION, once for each")
    return both.sort(*_ITEM)


def _commit_of(path: Path) -> str | None:
    """The commit that brought a file in, if the workbench is a git checkout that has it."""
    words = ["git", "-C", str(home()), "log", "--diff-filter=A", "--format=%h", "--", path.as_posix()]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.split()[0] if done.returncode == 0 and done.stdout.strip() else None
