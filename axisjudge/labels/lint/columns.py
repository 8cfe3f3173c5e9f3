"""The labels of people as the checks take them: in the order in which they were written, with their batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.ratings import SCHEMA, read_ratings
from axisjudge.verdict import IDENTITY

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
