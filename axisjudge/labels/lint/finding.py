"""What a lint of labels takes and gives back: labels in order of writing, findings, and what could not be checked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.ratings import SCHEMA, read_ratings
from axisjudge.results import Result, columns
from axisjudge.verdict import IDENTITY

Severity = Literal["error", "warning", "note"]

#: Each family of tests raises a false alarm on clean labels with at most this probability (tests/labels/lint).
ALPHA = 0.01


@dataclass(frozen=True)
class LabelFault:
    """Something wrong with labels.

    `severity` is ``error`` where the labels must not be used as they are, ``warning`` where somebody should look, and
    ``note`` for what limits their use. `sure` says how sure that is: certain, or the test with its p value.
    """

    check: str
    severity: Severity
    what: str
    where: str
    sure: str
    cure: str


@dataclass(frozen=True)
class Lint(Result):
    """Findings, worst first, and the checks that could not be made with the reason."""

    _keys = columns("labels=n_labels people findings not_checked")

    findings: tuple[LabelFault, ...]
    not_checked: dict[str, str]
    n_labels: int
    people: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether there is an error."""
        return any(finding.severity == "error" for finding in self.findings)


class NotChecked(Exception):
    """A check cannot be made on these labels; the text says why."""


def some(names: Sequence[object], limit: int = 3) -> str:
    """A few of many names."""
    first = ", ".join(map(str, names[:limit]))
    return first if len(names) <= limit else f"{first} and {len(names) - limit} more"


def worst_first(findings: Sequence[LabelFault]) -> tuple[LabelFault, ...]:
    """Errors, then warnings, then notes."""
    order = ("error", "warning", "note")
    return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))


# The labels of people as the checks take them.

Floats = NDArray[np.float64]


def read_in_writing_order(*paths: str | Path) -> pl.DataFrame:
    """Ratings in the order of their lines, with a column `batch`: the run, else the file.

    `read_ratings` checks the files; it sorts, and copied blocks can only be seen in the order of writing.
    """
    tables = []
    for path in map(Path, paths):
        checked = read_ratings(path)
        lines = checked if path.suffix == ".parquet" else pl.read_ndjson(path, schema=SCHEMA, ignore_errors=True)
        once = lines.filter(pl.col("item_id").is_not_null()).unique(list(IDENTITY), keep="last", maintain_order=True)
        tables.append(once.with_columns(batch=pl.coalesce(pl.col("run_id"), pl.lit(path.stem))))
    table = pl.concat(tables)
    return table.unique(list(IDENTITY), keep="last", maintain_order=True)


def as_number(scale: str, verdict: str | None, value: float | None) -> float | None:
    """A word as a number whose mean may drift: 1 for a failure, the value of a step or a grade; None for others."""
    if scale == "verdict":
        return None if verdict is None else float(verdict == "incorrect")
    return value


def by_rater(labels: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The labels of each person."""
    for (rater,), table in labels.group_by("rater", maintain_order=True):
        yield str(rater), table


def words_by_item(labels: pl.DataFrame) -> dict[str, dict[str, dict[str, str]]]:
    """Question -> item -> person -> word; the first of a person's repeats."""
    words: defaultdict[str, defaultdict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    first = labels.filter((pl.col("repeat") == 0) & pl.col("verdict").is_not_null())
    for question, item, rater, verdict in first.select("question", "item_id", "rater", "verdict").iter_rows():
        words[question][item].setdefault(rater, verdict)
    return {question: dict(items) for question, items in words.items()}


def sums_by(groups: Iterable[object], values: Floats) -> Floats:
    """The sum of the values of each group."""
    code_of: dict[object, int] = {}
    codes = np.array([code_of.setdefault(group, len(code_of)) for group in groups], dtype=np.intp)
    return np.asarray(np.bincount(codes, weights=values, minlength=len(code_of)), dtype=np.float64)
