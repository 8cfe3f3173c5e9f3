"""The edge where ratings tables of any kind come in: polars, pandas, arrow, or a dict of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.families import family_of
from axisjudge.ratings.scales import recognised_scale
from axisjudge.verdict import SCHEMA_VERSION, Rating

_TYPES: dict[str, Any] = {
    **dict.fromkeys(("schema_version", "step_index", "repeat"), pl.Int64),
    **dict.fromkeys(("input_tokens", "cached_tokens", "output_tokens"), pl.Int64),
    **dict.fromkeys(("value", "confidence", "cost_usd", "latency_s"), pl.Float64),
    **dict.fromkeys(("cited_step_indices", "invalid_citations"), pl.List(pl.Int64)),
    "flags": pl.List(pl.String),
}

#: Columns of the ratings table in the record's order. `probabilities` is JSON text, because its words differ by scale.
SCHEMA: dict[str, Any] = {name: _TYPES.get(name, pl.String) for name in Rating.model_fields}

#: What a table must have; of the first two one is enough, and so of the last two. The rest follows or is empty.
_NEEDED = ("question", "rater", "rater_kind")


def as_ratings(frame: Any, *, where: str = "ratings") -> pl.DataFrame:
    """A ratings table of any kind as polars, with every column of the record.

    Parameters
    ----------
    frame : table
        polars (eager or lazy), pandas with any dtypes, arrow, or a dict of columns. It needs trajectory_id (or
        item_id), question, rater, rater_kind, and verdict (or value); other columns follow from these or are empty.
        Columns that a rating does not have are passed over.
    where : str
        The argument's name, for errors.

    Raises
    ------
    InputError
        Not a table, needed columns are missing (all are named), or a column is of a type that cannot be taken.
    """
    if isinstance(frame, pl.DataFrame) and frame.schema == _WHOLE:
        return frame
    return completed_ratings(_polars(frame, where), where)


_WHOLE = pl.Schema(SCHEMA)


def _polars(frame: Any, where: str) -> pl.DataFrame:
    import narwhals.stable.v2 as nw

    try:
        if isinstance(frame, pl.LazyFrame):
            return frame.collect()
        if isinstance(frame, Mapping):
            cells = {name: [_or_none(cell) for cell in column] for name, column in frame.items()}
            return pl.DataFrame(cells, strict=False)
        table: pl.DataFrame = nw.from_native(frame, eager_only=True).to_polars()
        return table
    except ModuleNotFoundError as error:
        cure = f"install {error.name}, or hand over a dict of columns"
        raise InputError(where, "this kind of table needs another package", error.name, cure) from error
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        rule = "must be a polars, pandas or arrow table, or a dict of columns"
        raise InputError(where, rule, type(frame).__name__) from error


def _or_none(cell: Any) -> Any:
    """A cell, None where numpy or pandas write NaN, NA or NaT for nothing."""
    is_nothing = isinstance(cell, float) and cell != cell
    return None if is_nothing or type(cell).__name__ in ("NAType", "NaTType") else cell


def completed_ratings(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """A table with the columns that a rating needs, completed to all of the record and in its order.

    Raises
    ------
    InputError
        Needed columns are missing (all are named), or a column is of a type that cannot be taken.
    """
    given = set(table.columns)
    missing = [name for name in _NEEDED if name not in given]
    missing += [] if given & {"trajectory_id", "item_id"} else ["trajectory_id"]
    missing += [] if given & {"verdict", "value"} else ["verdict"]
    if missing:
        raise InputError(
            where, f"lacks the columns {', '.join(missing)}", ", ".join(table.columns), "add or rename them"
        )
    known = table.select([_typed(table, name, where) for name in SCHEMA if name in given])
    absent = [name for name in SCHEMA if name not in given]
    whole = known.with_columns([pl.lit(_EMPTY.get(name), dtype=SCHEMA[name]).alias(name) for name in absent])
    filled = whole.with_columns([pl.col(name).fill_null([]) for name in LISTS])
    return _derived(filled, set(absent)).select(list(SCHEMA))


#: Columns that hold lists.
LISTS = tuple(name for name, kind in SCHEMA.items() if kind.base_type() == pl.List)
_EMPTY: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "repeat": 0}


def _typed(table: pl.DataFrame, name: str, where: str) -> pl.Series:
    """A column as the record has it: whole numbers that pandas made fractions, NaN for nothing, numbers for words."""
    column, kind = table[name], SCHEMA[name]
    try:
        if column.dtype.is_float() and kind != pl.List:
            column = column.fill_nan(None)
            if kind == pl.String and (column.drop_nulls() % 1 == 0).all():
                column = column.cast(pl.Int64)
        if column.dtype == pl.Object:
            column = pl.Series(name, [_or_none(cell) for cell in column], strict=False)
        return column.cast(kind)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        rule = f"a column is of the wrong type ({name} must be {kind})"
        raise InputError(where, rule, str(column.dtype), "cast it first") from error


def _derived(table: pl.DataFrame, absent: set[str]) -> pl.DataFrame:
    """What follows from other columns where it is absent: items, clusters, families, statuses, scales."""
    if "trajectory_id" in absent:
        table = table.with_columns(trajectory_id=pl.col("item_id").str.replace(r"#\d+$", ""))
        steps = pl.col("item_id").str.extract(r"#(\d+)$").cast(pl.Int64)
        table = table.with_columns(step_index=steps if "step_index" in absent else "step_index")
    said = pl.col("verdict").is_not_null() | pl.col("value").is_not_null()
    families = {name: family_of(name) or name for name in table["rater"].drop_nulls().unique()}
    family = pl.col("rater").replace_strict(families, default=None, return_dtype=pl.String)
    own = pl.col("rater_kind").is_in(["human", "rules"])
    known = {
        "item_id": ITEM_ID,
        "cluster_id": pl.coalesce("task_id", "trajectory_id"),
        "family": pl.when(own).then("rater_kind").otherwise(family),
        "status": pl.when(said).then(pl.lit("ok")).otherwise(pl.lit("parse_error")),
    }
    table = table.with_columns(**{name: value for name, value in known.items() if name in absent})
    return _with_scales(table) if "scale" in absent else table


#: How an item's name is made.
ITEM_ID = (
    pl.when(pl.col("step_index").is_not_null())
    .then(pl.col("trajectory_id") + "#" + pl.col("step_index").cast(pl.String))
    .when(pl.col("interaction_id").is_not_null())
    .then(pl.col("trajectory_id") + "@" + pl.col("interaction_id"))
    .otherwise(pl.col("trajectory_id"))
)


def _with_scales(table: pl.DataFrame) -> pl.DataFrame:
    answers = (
        table.select("question", answer=pl.coalesce("verdict", pl.col("value").cast(pl.String))).drop_nulls().unique()
    )
    scales = {
        question: recognised_scale(question, answers.filter(pl.col("question") == question)["answer"])
        for question in answers["question"].unique(maintain_order=True)
    }
    scale = pl.col("question").replace_strict(scales, default="verdict", return_dtype=pl.String)
    return table.with_columns(scale=scale)
