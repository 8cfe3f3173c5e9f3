"""Tables as separated values, with commas, semicolons, tabs or bars between them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.labels.reading import read_bytes
from axisjudge.sharing import plain_cell

Columns = Mapping[str, list[Any]]

_SEPARATORS = (",", ";", "\t", "|")


def separated_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file of separated values under its header.

    Raises
    ------
    InputError
        The file is broken or empty, two columns share a name, or a row has other cells than the header.
    """
    columns = separated(path, decoded(path, read_bytes(path)))
    cells = ([plain_cell(cell) for cell in column] for column in columns.values())
    return [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]


def decoded(path: Path, raw: bytes) -> str:
    """The text of a table: UTF-8, marked or not, or UTF-16; an empty one is refused."""
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(str(path), "must be UTF-8", cure="save it as CSV UTF-8") from error
    if not text.strip():
        raise InputError(str(path), "is empty")
    return text


def separated(path: Path, text: str) -> Columns:
    """The columns of separated values, by their names; each row has a cell for each."""
    head = text.lstrip("\r\n").split("\n", 1)[0]
    separator = max(_SEPARATORS, key=head.count)
    csv.field_size_limit(1 << 30)
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if row]
    except csv.Error as error:
        cure = "a quoted cell must end with a quote, and a quote inside one is doubled"
        raise InputError(str(path), f"is not readable as a table ({error})", cure=cure) from error
    names = [name.strip() for name in rows[0]]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(str(path), "columns must have names of their own", twice, "rename one of them")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            rule = f"has {len(row)} cells where the header has {len(names)}"
            raise InputError(f"{path}, row {number}", rule, cure="quote cells that hold the separator")
    return {
        name or f"column {position + 1}": [row[position] for row in rows[1:]] for position, name in enumerate(names)
    }
