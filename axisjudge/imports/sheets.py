"""Tables of any kind as rows: CSV, TSV, JSON, JSON Lines, Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.labels.formats.separated import Columns, decoded, separated
from axisjudge.labels.reading import read_bytes, read_json, read_json_lines

SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".eval")

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The rows of a table, cells as the file has them.

    Raises
    ------
    InputError
        The file is broken, or is no table.
    """
    columns = read_columns(path)
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def read_columns(path: Path) -> Columns:
    """The columns of a table, cells as the file has them: Parquet, JSON or JSON Lines, else separated values.

    Separated values may have commas, semicolons, tabs or bars between them, UTF-8 (marked or not) or UTF-16.

    Raises
    ------
    InputError
        The file is broken or empty, is no table, two columns share a name, or a row has other cells than the header.
    """
    raw = read_bytes(path)
    if raw[:4] == b"PAR1" or path.suffix == ".parquet":
        return _parquet(path)
    text = decoded(path, raw)
    if path.suffix.lower() in (".json", ".jsonl", ".ndjson") or text.lstrip()[:1] in ("{", "["):
        return _json_columns(path)
    return separated(path, text)


def _json_columns(path: Path) -> Columns:
    content = json_content(path)
    rows = rows_in(content)
    if rows is None and isinstance(content, Mapping):
        rows = [_flat(content)]
    if rows is None:
        raise InputError(str(path), "must be a list of objects, one a row, or an object of columns")
    rows = [_spread(row) for row in rows]
    return {name: [row.get(name) for row in rows] for name in heads_of(rows)}


def json_content(path: Path) -> Any:
    """What a JSON or JSON Lines file holds; lines become a list."""
    if path.suffix in (".jsonl", ".ndjson"):
        return read_json_lines(path)
    try:
        return read_json(path)
    except InputError:
        if path.read_bytes().count(b"\n") > 1 and path.read_bytes().lstrip()[:1] == b"{":
            return read_json_lines(path)
        raise


def rows_in(content: Any) -> list[Row] | None:
    """The rows that JSON holds: a list of records, such a list under any name, or columns; None if there is none."""
    if isinstance(content, list):
        return [_flat(row) for row in content] if content and all(isinstance(row, dict) for row in content) else None
    if not isinstance(content, Mapping):
        return None
    columns = [column for column in content.values() if isinstance(column, list)]
    if len(columns) == len(content) > 1 and len({len(column) for column in columns}) == 1:
        return [dict(zip(content, cells, strict=True)) for cells in zip(*columns, strict=True)]
    lists = [found for column in columns if (found := rows_in(column)) is not None]
    return lists[0] if len(lists) == 1 else None


def _flat(row: Mapping[str, Any]) -> Row:
    """A record whose records are spread out: ``scores.tone``."""
    flat: Row = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and value:
            flat |= {f"{name}.{inner}": cell for inner, cell in value.items()}
        else:
            flat[name] = value
    return flat


def _spread(row: Mapping[str, Any]) -> Row:
    """A record whose records are spread out as deep as they go."""
    flat = _flat(row)
    return flat if flat == row else _spread(flat)


def _parquet(path: Path) -> Columns:
    try:
        rows = [_flat(row) for row in pl.read_parquet(path).iter_rows(named=True)]
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(str(path), f"is not a Parquet file ({str(error).splitlines()[0]})") from error
    return {name: [row.get(name) for row in rows] for name in heads_of(rows)}


def heads_of(rows: Sequence[Row]) -> list[str]:
    """The columns of rows, in the order in which they first occur."""
    return list(dict.fromkeys(name for row in rows for name in row))
