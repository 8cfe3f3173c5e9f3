"""Ratings of a question as counts: how many items of each cluster show each pattern of answers.

Agreement depends on the items through these counts alone. They add up, so that parts of a table may be counted one
after another or on many machines, and their sum is that of the whole table, row for row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.ratings.edge import EMPTY_RUN, coded, with_families

Floats = NDArray[np.float64]

#: Columns that counting reads; a dataset's other columns stay on the disk.
COUNTED = (
    *("item_id", "trajectory_id", "step_index", "task_id", "domain", "cluster_id", "question", "scale", "repeat"),
    *("rater", "rater_kind", "family", "status", "verdict", "value", "flags"),
)

#: In place of an answer: the rater was asked and none came; the rater was not asked.
LOST, NOT_ASKED = np.inf, -np.inf  # a pattern is joined by its answers, and NaN equals nothing

#: What a cluster may be, the first that holds of all ratings; a task counts within its domain.
_UNITS = {
    "task": pl.col("task_id"),
    "task of a domain": pl.col("domain") + "/" + pl.col("task_id"),
    "trajectory": pl.col("trajectory_id"),
}


#: What may group items beside their clusters; times do by their day.
CROSSING = ("agent", "domain", "run_id", "created_at")
#: Between the two names of a cluster, where items are grouped in two ways.
BOTH = "\x1f"


def crossed_with(ratings: pl.DataFrame, column: str) -> pl.DataFrame:
    """Ratings of items that a column of `CROSSING` groups beside their clusters: each cluster has both names.

    Raises
    ------
    InputError
        Another column, a rating without it, or an item that it puts in two groups.
    """
    group = pl.col(one_of("crossed", column, CROSSING))
    table = ratings.with_columns(group.str.slice(0, 10) if column == "created_at" else group)
    if (lacking := table.filter(group.is_null())).height:
        raise InputError("crossed", f"every rating needs its {column}", lacking["item_id"][0], "leave it out")
    several = table.group_by("question", "item_id").agg(group.unique().sort()).filter(group.list.len() > 1)
    for question, item, names in several.sort("question", "item_id").head(1).iter_rows():
        rule = f"{column} puts {item} ({question}) in two groups, {names[0]} and {names[1]}"
        raise InputError("crossed", rule, cure="an item belongs to one")
    return table.with_columns(cluster_id=pl.concat_str("cluster_id", column, separator=BOTH))


@dataclass(frozen=True, eq=False)
class PatternCounts:
    """One question's ratings as counts of answer patterns, cluster by cluster.

    `patterns` has a column for each of `raters` by its position: an answer is a position in `categories` (the number
    itself on a scale of numbers), `LOST` or `NOT_ASKED`. `rows` has a `cluster` (position in `cluster_ids`), a
    `pattern` (row of `patterns`) and `n`, how many items of the cluster were answered so. All three are sorted and hold
    what occurs, each once. `raters` are families, names and kinds in order; `units` says what the clusters equal in
    every rating; `n_older` ratings gave way to a later one.
    """

    question: str
    scale: str
    categories: tuple[str, ...]
    raters: tuple[tuple[str, str, str], ...]
    patterns: pl.DataFrame
    rows: pl.DataFrame
    cluster_ids: pl.Series
    units: frozenset[str]
    n_older: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The raters' names."""
        return tuple(rater for _, rater, _ in self.raters)

    @property
    def answers(self) -> Floats:
        """Answers, shape (patterns, raters)."""
        return self.patterns.to_numpy().astype(np.float64)

    @property
    def codes(self) -> Floats:
        """Answers with NaN where there is none."""
        return np.where(np.isfinite(self.answers), self.answers, np.nan)

    @property
    def items(self) -> Floats:
        """How many items show each pattern."""
        shown = np.bincount(self.pattern, weights=self.times, minlength=self.patterns.height)
        return shown.astype(np.float64)

    @property
    def pattern(self) -> NDArray[np.unsignedinteger]:
        """The pattern of each row."""
        return self.rows["pattern"].to_numpy()

    @property
    def times(self) -> NDArray[np.unsignedinteger]:
        """How many items each row stands for."""
        return self.rows["n"].to_numpy()

    @property
    def clusters(self) -> NDArray[np.integer]:
        """The cluster of each row, from 0 in the order of their names; of two ways (`crossed_with`) a column each."""
        of: NDArray[np.integer] = self.rows["cluster"].to_numpy()
        if not self.crossed:
            return of
        ways = self.cluster_ids.str.split_exact(BOTH, 1).struct.unnest()
        return np.asarray(np.column_stack([way.rank("dense").to_numpy() for way in ways])[of], dtype=np.intp) - 1

    @property
    def crossed(self) -> bool:
        """Whether items are grouped in two ways."""
        return len(self.cluster_ids) > 0 and bool(self.cluster_ids.str.contains(BOTH, literal=True).all())

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return int(self.times.sum())

    @property
    def cluster_unit(self) -> str:
        """What a cluster is: an item of its own, a task, a trajectory, or what the table calls a cluster."""
        alone = len(self.cluster_ids) == self.n_items and not self.crossed
        return "item" if alone else _unit_in(self.units)

    def of(self, raters: Sequence[str]) -> PatternCounts:
        """The same as these raters saw it, in their order; items that were put to none of them are left out."""
        known = {rater[1]: rater for rater in self.raters}
        chosen = tuple(known.get(name, ("", name, "")) for name in raters)
        if chosen == self.raters:
            return self
        seen = self._answers_of(chosen, self.categories)
        put = seen.select(pl.any_horizontal(pl.all() != NOT_ASKED)).to_series()
        patterns = seen.filter(put).unique().sort(seen.columns)
        moved = seen.join(patterns.with_row_index("pattern"), on=seen.columns, how="left", maintain_order="left")
        rows = _distinct(_moved(self.rows.filter(put.gather(self.rows["pattern"])), pattern=moved["pattern"]))
        there = rows["cluster"].unique().sort()
        rows = rows.with_columns(cluster=rows["cluster"].rle_id())
        return replace(self, raters=chosen, patterns=patterns, rows=rows, cluster_ids=self.cluster_ids.gather(there))

    def _answers_of(self, raters: Sequence[tuple[str, str, str]], words: Sequence[str]) -> pl.DataFrame:
        """The patterns with a column for each of `raters` and answers as positions in `words`."""
        moved = {float(at): float(words.index(word)) for at, word in enumerate(self.categories)}
        column = {
            name: pl.col(str(at)) if tuple(words) == self.categories else pl.col(str(at)).replace(moved)
            for at, name in enumerate(self.names)
        }
        never = pl.lit(NOT_ASKED, dtype=pl.Float64)
        return self.patterns.select(column.get(name, never).alias(str(at)) for at, (_, name, _) in enumerate(raters))


def count_patterns(ratings: pl.DataFrame) -> PatternCounts:
    """Count the answer patterns of one question's ratings.

    Parameters
    ----------
    ratings : polars.DataFrame
        Ratings of one question and repeat, one for each item and rater, with the columns in `COUNTED`; all ratings of
        an item, where the table is part of a larger one.

    Raises
    ------
    InputError
        Two ratings of an item by one rater, or two scales.
    """
    table = with_families(ratings if ratings["item_id"].is_sorted() else ratings.sort("item_id"))
    new = (table["item_id"] != table["item_id"].shift()).fill_null(True)
    item = np.cumsum(new.to_numpy()) - 1
    raters = _in_order(table.select("family", "rater", "rater_kind").unique().iter_rows())
    names = [rater for _, rater, _ in raters]
    cell, categories, given = coded(table, item, table.filter(new)["item_id"], names)
    answers = np.full((int(item[-1]) + 1) * len(names), NOT_ASKED)
    answers[cell] = np.where(np.isnan(given), LOST, given)
    shown = pl.DataFrame(answers.reshape(-1, len(names)), schema=[str(at) for at in range(len(names))])
    patterns = shown.unique().sort(shown.columns)
    numbered = shown.join(patterns.with_row_index("pattern"), on=shown.columns, how="left", maintain_order="left")
    of_items = table.filter(new)["cluster_id"]
    cluster_ids = of_items.unique().sort()
    rows = pl.DataFrame({"cluster": cluster_ids.search_sorted(of_items), "pattern": numbered["pattern"]})
    return PatternCounts(
        question=str(table["question"][0]),
        scale=table["scale"][0],
        categories=categories,
        raters=raters,
        patterns=patterns,
        rows=_distinct(rows.with_columns(n=pl.lit(1, dtype=pl.UInt32))),
        cluster_ids=cluster_ids,
        units=_units(table),
    )


def cluster_unit_of(ratings: pl.DataFrame) -> str:
    """What the clusters of a table are: tasks, trajectories, or what it calls a cluster."""
    return _unit_in(_units(ratings))


def _units(ratings: pl.DataFrame) -> frozenset[str]:
    equal = ((pl.col("cluster_id") == name).fill_null(False).all().alias(unit) for unit, name in _UNITS.items())
    return frozenset(unit for unit, holds in ratings.select(*equal).row(0, named=True).items() if holds)


def _unit_in(units: frozenset[str]) -> str:
    return next((unit.removesuffix(" of a domain") for unit in _UNITS if unit in units), "cluster")


def in_sum(parts: Sequence[PatternCounts]) -> PatternCounts:
    """The counts of all parts of a table together; items and raters may be any, the question is one.

    Raises
    ------
    InputError
        Parts with different scales.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if len(scales := {part.scale for part in parts}) > 1:
        raise InputError("ratings", "one question has one scale", sorted(scales))
    raters = _in_order(rater for part in parts for rater in part.raters)
    words = first.categories
    if any(part.categories != words for part in parts):  # an open scale: each part has seen words of its own
        words = tuple(sorted({word for part in parts for word in part.categories}))
    seen = [part._answers_of(raters, words) for part in parts]
    patterns = pl.concat(seen).unique().sort(seen[0].columns)
    numbered = patterns.with_row_index("pattern")
    cluster_ids = first.cluster_ids
    if not (are_alike := all(part.cluster_ids.equals(cluster_ids) for part in parts[1:])):
        cluster_ids = pl.concat([part.cluster_ids for part in parts]).unique().sort()
    rows = [
        _moved(
            part.rows,
            **({} if are_alike else {"cluster": cluster_ids.search_sorted(part.cluster_ids)}),
            pattern=own.join(numbered, on=own.columns, how="left", maintain_order="left")["pattern"],
        )
        for part, own in zip(parts, seen, strict=True)
    ]
    return replace(
        first,
        categories=words,
        raters=raters,
        patterns=patterns,
        rows=_distinct(pl.concat(rows)),
        cluster_ids=cluster_ids,
        units=frozenset.intersection(*(part.units for part in parts)),
        n_older=sum(part.n_older for part in parts),
    )


def counted(
    ratings: pl.LazyFrame, *, repeat: int = 0, step_level: bool = False, once: Sequence[str] = ()
) -> list[PatternCounts]:
    """The counts of each question in a table, or in a part of one; ratings of runs without messages are left out.

    Questions stand in the table's order and are read one at a time. Of several ratings that are alike in the columns
    `once` the last counts; without, several of an item by one rater are refused.
    """
    columns = dict.fromkeys([*COUNTED, *once])
    chosen = ratings.select(*columns).filter(
        (pl.col("repeat") == repeat) & (pl.col("step_index").is_not_null() == step_level) & ~EMPTY_RUN
    )
    questions = chosen.select("question").unique(maintain_order=True).collect()["question"]
    return [_counted_once(chosen.filter(pl.col("question") == name).collect(), once) for name in questions]


def _counted_once(table: pl.DataFrame, once: Sequence[str]) -> PatternCounts:
    may_repeat = once and table.select("item_id", "rater").hash_rows().n_unique() < table.height
    last = table.unique(subset=list(once), keep="last", maintain_order=True) if may_repeat else table
    return replace(count_patterns(last), n_older=table.height - last.height)


def _moved(rows: pl.DataFrame, **positions: pl.Series) -> pl.DataFrame:
    """Rows whose columns point elsewhere: where `positions` says that each number has gone."""
    return rows.with_columns(gone.gather(rows[name]).cast(pl.UInt32).alias(name) for name, gone in positions.items())


def _distinct(rows: pl.DataFrame) -> pl.DataFrame:
    """Like rows as one with their number, by cluster and pattern; both go through as one number, in order."""
    base = pl.lit(rows["pattern"].max() or 0, dtype=pl.UInt64) + 1
    number = rows.select(pl.col("cluster").cast(pl.UInt64) * base + pl.col("pattern"), "n").sort("cluster")
    summed = number.group_by("cluster", maintain_order=True).agg(pl.col("n").sum().cast(pl.UInt32))
    parted = {"cluster": pl.col("cluster") // base, "pattern": pl.col("cluster") % base}
    return summed.select(**{name: part.cast(pl.UInt32) for name, part in parted.items()}, n="n")


def _in_order(raters: Iterable[tuple[str, str, str]]) -> tuple[tuple[str, str, str], ...]:
    """By family and name, each name once."""
    return tuple(sorted({rater[1]: rater for rater in sorted(raters, reverse=True)}.values()))
