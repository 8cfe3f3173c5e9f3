"""Our own files: ratings as JSON Lines, and the same as CSV, which a spreadsheet can edit.

Both hold every field. CSV cannot tell an empty text from none. By hand a few columns will do: trajectory_id, rater,
and either question and verdict, or one column for each axis.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from axisjudge.checks import InputError
from axisjudge.labels.formats.separated import separated_rows
from axisjudge.labels.formats.terms import Read, Terms, by_person, finished, ratings_of, steps_of, word
from axisjudge.ratings import read_ratings
from axisjudge.ratings.table import json_line
from axisjudge.sharing import safe_cell
from axisjudge.verdict import AXES, Rating

_FIELDS = tuple(Rating.model_fields)
_JSON = ("cited_step_indices", "invalid_citations", "flags", "probabilities")
#: Columns of which a person's own sheet may have any.
_ABOUT = ("task_id", "cluster_id", "agent", "domain", "created_at")


def read_own_jsonl(path: Path, _: Terms) -> Read:
    """Our JSON Lines; of several lines of one label the last one counts."""
    ratings = ratings_of(read_ratings(path))
    lines = sum(1 for line in path.read_bytes().splitlines() if line.strip())
    older = lines - len(ratings)
    return ratings, [f"{older} earlier lines of the same labels are superseded"] if older else []


def write_own_jsonl(ratings: Sequence[Rating], _: Terms) -> str:
    """One rating a line."""
    return b"".join(json_line(rating) for rating in ratings).decode()


def write_own_csv(ratings: Sequence[Rating], _: Terms) -> str:
    """One rating a row, all fields; lists and probabilities as JSON, nothing as an empty cell."""
    out = io.StringIO(newline="")
    sheet = csv.DictWriter(out, _FIELDS, lineterminator="\n")
    sheet.writeheader()
    for rating in ratings:
        sheet.writerow({name: _cell(name, value) for name, value in rating.model_dump().items()})
    return out.getvalue()


def _cell(name: str, value: Any) -> Any:
    if value is None or value == []:
        return ""
    if name in _JSON:
        return json.dumps(value, ensure_ascii=False)
    return repr(value) if isinstance(value, float) else safe_cell(value)


def read_own_csv(path: Path, terms: Terms) -> Read:
    """Our CSV, or a person's own sheet with few columns.

    Raises
    ------
    InputError
        A column is missing or unknown, or a row breaks a rule of the record.
    """
    rows = separated_rows(path)
    heads = list(rows[0]) if rows else list(_FIELDS)
    if set(heads) == set(_FIELDS):
        return [_full(f"{path}:{number}", row) for number, row in enumerate(rows, start=2)], []
    return finished(_by_hand(path, rows, heads, terms)), []


def _full(where: str, row: Mapping[str, str]) -> Rating:
    fields: dict[str, Any] = {name: cell for name, cell in row.items() if cell != ""}
    try:
        fields |= {name: json.loads(fields[name]) for name in _JSON if name in fields}
        if "confidence" in fields:
            fields["confidence"] = float(fields["confidence"])
        return Rating(**fields)
    except ValidationError as error:
        fault = error.errors()[0]
        raise InputError(where, f"not a rating: {'.'.join(map(str, fault['loc']))} {fault['msg']}") from error
    except ValueError as error:
        raise InputError(where, f"not a rating: {error}") from error


def _by_hand(path: Path, rows: Sequence[Mapping[str, str]], heads: Sequence[str], terms: Terms) -> Iterator[Rating]:
    if "trajectory_id" not in heads:
        cure = "name the column trajectory_id, or say the format"
        raise InputError(str(path), "labels need a column trajectory_id", heads, cure)
    long = "question" in heads
    asked = () if long else tuple(name for name in heads if terms.question_of(name) in (*AXES, *terms.axes.values()))
    known = {"trajectory_id", "step_index", "rater", *_ABOUT}
    known |= {"question", "verdict", "confidence", "rationale", "cited_step_indices"} if long else set(asked)
    known |= {f"{name}_{side}" for name in asked for side in ("note", "confidence", "steps")}
    if unknown := [name for name in heads if name not in known]:
        cure = "leave it out, or map it to an axis with --axis-map"
        raise InputError(str(path), "a column is neither an axis nor a field of a label", unknown[0], cure)
    if not long and not asked:
        raise InputError(str(path), "needs columns question and verdict, or a column for an axis", heads)
    for number, row in enumerate(rows, start=2):
        yield from _row(f"{path}:{number}", row, asked, terms)


def _row(where: str, row: Mapping[str, str], asked: Sequence[str], terms: Terms) -> Iterator[Rating]:
    rater = row.get("rater") or terms.rater
    if not rater:
        raise InputError(where, "a label needs its rater", cure="name the person with --rater")
    step = row.get("step_index") or None
    base = {
        **terms.run_fields(row["trajectory_id"], **{name: row.get(name) or None for name in _ABOUT}),
        "step_index": None if step is None else steps_of(where, [step])[0],
        **by_person(rater),
    }
    if not asked:
        named = {"note": "rationale", "confidence": "confidence", "steps": "cited_step_indices"}
        yield from word(where, base, row["question"], row.get("verdict"), _sides(row, named), terms)
    for name in asked:
        named = {side: f"{name}_{side}" for side in ("note", "confidence", "steps")}
        yield from word(where, base, name, row[name], _sides(row, named), terms)


def _sides(row: Mapping[str, str], named: Mapping[str, str]) -> dict[str, Any]:
    sides: dict[str, Any] = {side: row[name] for side, name in named.items() if row.get(name)}
    if "steps" in sides:
        sides["steps"] = sides["steps"].strip("[] ").replace(",", " ").replace(";", " ").split()
    return sides
