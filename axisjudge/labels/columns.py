"""Columns of a published label set, completed to the ratings table."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from axisjudge.ratings import SCHEMA
from axisjudge.ratings.edge import LISTS
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import SCHEMA_VERSION

_DEFAULTS = {"schema_version": SCHEMA_VERSION, "repeat": 0, "status": "ok"}


def of_run(run: Trajectory) -> dict[str, Any]:
    """The columns of a whole trajectory that say what is rated."""
    known = {name: getattr(run, name) for name in ("task_id", "cluster_id", "agent", "domain")}
    return {"trajectory_id": run.id, "item_id": run.id, **known}


def completed_rows(rows: Sequence[Mapping[str, Any]], **constants: Any) -> pl.DataFrame:
    """The ratings table of rows of some of its columns; `constants` hold for every row."""
    names = rows[0] if rows else ("trajectory_id",)
    return completed({name: [row[name] for row in rows] for name in names}, **constants)


def completed(columns: Mapping[str, Sequence[Any] | pl.Series], **constants: Any) -> pl.DataFrame:
    """The ratings table of some of its columns; `constants` hold for every row, the rest is null (or an empty list)."""
    given = pl.DataFrame(columns, schema_overrides={name: SCHEMA[name] for name in columns})
    fixed = {**_DEFAULTS, **constants}
    return given.with_columns(
        *(pl.lit(value, dtype=SCHEMA[name]).alias(name) for name, value in fixed.items() if name not in columns),
        *(pl.lit([], dtype=SCHEMA[name]).alias(name) for name in LISTS if name not in columns),
        *(pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in set(SCHEMA) - set(fixed) - {*columns, *LISTS}),
    ).select(list(SCHEMA))
