"""The first look at a file: its header, its first line as JSON, or all of it as JSON; None where it is neither."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any


def columns_of(path: Path) -> list[str]:
    """The header of a CSV file."""
    head = path.read_bytes().decode("utf-8-sig", errors="replace").partition("\n")[0].strip()
    delimiter = ";" if head.count(";") > head.count(",") else "," if "," in head else "\t"
    return next(csv.reader([head], delimiter=delimiter), [])


def first_line_of(path: Path) -> Any:
    """The first line that is not empty, as JSON."""
    with path.open("rb") as lines:
        first = next((line for line in lines if line.strip()), b"").removeprefix(b"\xef\xbb\xbf")
    return _json(first)


def json_of(path: Path) -> Any:
    """The whole file as JSON."""
    return _json(path.read_bytes())


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
