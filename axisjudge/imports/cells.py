"""Cells as spreadsheets and programs leave them: missing ones as words, percent signs, commas for points."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from axisjudge.imports.sheets import Row, heads_of
from axisjudge.ratings.scales import number_of

#: What programs write into a cell that has nothing; these are no one's answer.
_NOTHING = frozenset({"nan", "<na>", "null", "nat", "#n/a"})
#: These may be an answer (not applicable), but not among numbers.
_NOTHING_AMONG_NUMBERS = _NOTHING | {"none", "na", "n/a", "-", "–", "—"}
_PERCENT = re.compile(r"\d+(?:[.,]\d+)?\s*%")
_COMMA = re.compile(r"-?\d+,\d+")
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+")


def mended(rows: Sequence[Row], meant: Collection[str]) -> tuple[list[Row], list[str]]:
    """The rows with such cells as what they mean, and what was changed, in words.

    Parameters
    ----------
    rows : sequence of dict
    meant : collection of str
        Words that the user has said something of: they stay.
    """
    changes: dict[str, Mapping[str, object]] = {}
    notes: list[str] = []
    for head in heads_of(rows):
        words = {cell.strip() for row in rows if isinstance(cell := row.get(head), str)} - {"", *meant}
        if (change := _change(words, [row.get(head) for row in rows])) is not None:
            changes[head], stated = change
            notes.append(f"{head}: {stated}")
    if not changes:
        return list(rows), []
    return [{head: _cell(cell, changes.get(head, {})) for head, cell in row.items()} for row in rows], notes


def _cell(cell: object, change: Mapping[str, object]) -> object:
    return change.get(cell.strip(), cell) if isinstance(cell, str) else cell


def _change(words: set[str], cells: Sequence[object]) -> tuple[dict[str, object], str] | None:
    """What the words of a column mean, where they are not what they look like, and how to say so."""
    nothing = {word for word in words if word.casefold() in _NOTHING_AMONG_NUMBERS}
    others = words - nothing
    numbers = not any(
        number_of(word) is None and not _PERCENT.fullmatch(word) and not _COMMA.fullmatch(word) for word in others
    )
    if not (numbers and (others or any(number_of(cell) is not None for cell in cells))):
        nothing = {word for word in nothing if word.casefold() in _NOTHING}
    change: dict[str, object] = dict.fromkeys(nothing)
    notes = [f"{', '.join(sorted(nothing))} counted as empty (else: --word-map WORD=WORD)"] if nothing else []
    if others and all(_PERCENT.fullmatch(word) for word in others):
        change |= {word: str(float(word.rstrip("% ").replace(",", ".")) / 100) for word in others}
        notes.append("percentages read as shares of 1")
    elif (
        numbers
        and any(map(_COMMA.fullmatch, others))
        and not all(map(_THOUSANDS.fullmatch, filter(_COMMA.fullmatch, others)))
    ):
        change |= {word: word.replace(",", ".") for word in others if _COMMA.fullmatch(word)}
        notes.append("commas read as decimal points")
    return (change, "; ".join(notes)) if change else None
