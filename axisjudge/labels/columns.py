"""Columns of a published label set, completed to the ratings table."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings import SCHEMA
from axisjudge.ratings.edge import LISTS
from axisjudge.verdict import SCHEMA_VERSION

_DEFAULTS = {"schema_version": SCHEMA_VERSION, "repeat": 0, "status": "ok"}


def completed(columns: Mapping[str, Sequence[Any] | pl.Series], **constants: Any) -> pl.DataFrame:
    """The ratings table of some of its columns; `constants` hold for every row, the rest is null (or an empty list)."""
    given = pl.DataFrame(columns, schema_overrides={name: SCHEMA[name] for name in columns})
    fixed = {**_DEFAULTS, **constants}
    return given.with_columns(
        *(pl.lit(value, dtype=SCHEMA[name]).alias(name) for name, value in fixed.items() if name not in columns),
        *(pl.lit([], dtype=SCHEMA[name]).alias(name) for name in LISTS if name not in columns),
        *(pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in set(SCHEMA) - set(fixed) - {*columns, *LISTS}),
    ).select(list(SCHEMA))


def read_json(path: Path) -> Any:
    """What a JSON file holds; a missing or broken file is named."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", cure=_FETCH) from error
    except ValueError as error:
        raise InputError(str(path), f"is not valid JSON ({error})") from error


def read_json_lines(path: Path) -> list[Any]:
    """What the lines of a JSONL file hold; a missing file or a broken line is named."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})", cure=_FETCH) from error
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise InputError(f"{path}:{number}", f"is not valid JSON ({error})") from error
    return records


_FETCH = "fetch the data set with `axisjudge data fetch NAME`"
