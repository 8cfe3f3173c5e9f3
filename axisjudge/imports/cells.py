"""Cells as spreadsheets and programs leave them: missing ones as words, percent signs, commas for points."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import polars as pl

from axisjudge.imports.recognise import texts
from axisjudge.imports.sheets import Columns, each_cell

#: What programs write into a cell that has nothing; these are no one's answer.
_NOTHING = frozenset({"nan", "<na>", "null", "nat", "#n/a"})
#: These may be an answer (not applicable), but not among numbers.
_NOTHING_AMONG_NUMBERS = _NOTHING | {"none", "na", "n/a", "-", "–", "—"}
_PERCENT = r"^\d+(?:[.,]\d+)?\s*%$"
_COMMA = r"^-?\d+,\d+$"
_THOUSANDS = r"^-?\d{1,3}(?:,\d{3})+$"


def mended(columns: Columns, meant: Collection[str]) -> tuple[Columns, list[str]]:
    """The columns with such cells as what they mean, and what was changed, in words.

    Parameters
    ----------
    columns : mapping of columns
    meant : collection of str
        Words that the user has said something of: they stay.
    """
    made, notes = dict(columns), []
    for head, words in texts(columns).to_dict().items():
        used = words.drop_nulls().str.strip_chars().unique()
        if (changed := _change(used.filter(~used.is_in([*meant])))) is not None:
            change, stated = changed
            made[head] = each_cell(columns[head], partial(_cell, change=change))
            notes.append(f"{head}: {stated}")
    return made, notes


def _cell(cell: object, change: Mapping[str, object]) -> object:
    return change.get(cell.strip(), cell) if isinstance(cell, str) else cell


def _change(words: pl.Series) -> tuple[dict[str, object], str] | None:
    """What the words of a column mean, where they are not what they look like, and how to say so."""
    folded = words.str.to_lowercase()
    others = words.filter(~folded.is_in(list(_NOTHING_AMONG_NUMBERS)))
    percent, comma = others.str.contains(_PERCENT), others.str.contains(_COMMA)
    plain = others.str.replace_all("_", "x").cast(pl.Float64, strict=False).is_finite().fill_null(value=False)
    numbers = bool((plain | percent | comma).all())
    nothing = sorted(words.filter(folded.is_in(list(_NOTHING_AMONG_NUMBERS if numbers and len(others) else _NOTHING))))
    change: dict[str, object] = dict.fromkeys(nothing)
    notes = [f"{', '.join(nothing)} counted as empty (else: --word-map WORD=WORD)"] if nothing else []
    if len(others) and percent.all():
        change |= {word: str(float(word.rstrip("% ").replace(",", ".")) / 100) for word in others}
        notes.append("percentages read as shares of 1")
    elif numbers and comma.any() and not others.filter(comma).str.contains(_THOUSANDS).all():
        change |= {word: word.replace(",", ".") for word in others.filter(comma)}
        notes.append("commas read as decimal points")
    return (change, "; ".join(notes)) if change else None
