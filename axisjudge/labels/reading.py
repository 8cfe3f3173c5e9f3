"""Files of labels as they are opened: bytes, JSON in which no key is lost, lines of JSON, and the first look."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from axisjudge.checks import DuplicateKey, InputError, once_each

_FETCH = "fetch the data set with `axisjudge data fetch NAME`"


def read_bytes(path: Path, *, cure: str = "") -> bytes:
    """The bytes of a file; one that cannot be read is named."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror or error})", cure=cure) from error


def read_json(path: Path) -> Any:
    """What a JSON file holds.

    Raises
    ------
    InputError
        The file cannot be read, is not JSON, or an object has one key twice, which would lose a label without a word.
    """
    return _parsed(read_bytes(path), str(path))


def _parsed(content: bytes, where: str, cure: str = "") -> Any:
    try:
        return json.loads(content, object_pairs_hook=once_each)
    except DuplicateKey as error:
        rule = "a key stands twice in one object, so one label would be lost"
        raise InputError(where, rule, error.doc) from None
    except (ValueError, RecursionError) as error:
        raise InputError(where, f"is not valid JSON ({error})", cure=cure) from error


def read_json_lines(path: Path) -> list[Any]:
    """What the lines of a JSONL file of a public data set hold; a missing file or a broken line is named."""
    cure = f"one object a line: jq -c . {path} > {path.stem}.jsonl"
    lines = enumerate(read_bytes(path, cure=_FETCH).splitlines(), start=1)
    return [_parsed(line, f"{path}:{number}", cure if line.strip() == b"{" else "") for number, line in lines]


def holds_records(content: Any, *names: str) -> bool:
    """Whether parsed JSON is a list of objects, one or more, none of which lacks one of these members."""
    records = content if isinstance(content, list) else []
    return bool(records) and all(isinstance(each, dict) and {*names} <= each.keys() for each in records)


def columns_of(path: Path) -> list[str]:
    """The header of a CSV file."""
    head = path.read_bytes().decode("utf-8-sig", errors="replace").partition("\n")[0].strip()
    delimiter = ";" if head.count(";") > head.count(",") else "," if "," in head else "\t"
    return next(csv.reader([head], delimiter=delimiter), [])


def json_if_any(content: bytes) -> Any:
    """Content as JSON; None where it is none."""
    try:
        return json.loads(content)
    except ValueError:
        return None


def first_line_of(path: Path) -> bytes:
    """The first line that is not empty."""
    with path.open("rb") as lines:
        return next((line for line in lines if line.strip()), b"").removeprefix(b"\xef\xbb\xbf")
