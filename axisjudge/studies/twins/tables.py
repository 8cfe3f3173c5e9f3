"""Tables of twins: the matrix in few letters, claims cell by cell, and correlations between axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axisjudge.studies.twins.halo import Halo
from axisjudge.studies.twins.injections import ANYWHERE, Injected
from axisjudge.studies.twins.matrix import TwinMatrix
from axisjudge.studies.twins.sentences import brief
from axisjudge.verdict import AXES


def grid(matrix: TwinMatrix, judge: str) -> list[dict[str, Any]]:
    """The matrix of one judge for people: an edit a row, an axis a column."""
    rows = []
    for edit in matrix.edits:
        cells = [matrix.cell(judge, edit, axis) for axis in AXES]
        rows.append({"edit": edit, "twins": cells[0].n_twins} | {cell.axis: brief(cell) for cell in cells})
    return rows


def injection_rows(rows: Sequence[Injected], judge: str) -> list[dict[str, Any]]:
    """What text for the judge did to one judge, for people: a kind a row, places behind it."""
    mine = [row for row in rows if row.judge == judge]
    places = sorted({row.place for row in mine} - {ANYWHERE})
    share = {(row.edit, row.place): row for row in mine}
    return [
        {
            "text": row.edit,
            "twins": row.n_twins,
            "flagged": row.flagged,
            "pairs": row.flips.n_items,
            "flipped": row.flips.worded(".3f"),
            "taken in": f"{row.taken_in.worded('.3f')} of {row.taken_in.n_items}" if row.taken_in.n_items else "–",
            "confidence moved": _moved(row),
            "lost": row.lost,
            **{place: _flipped(share.get((row.edit, place))) for place in places},
        }
        for row in mine
        if row.place == ANYWHERE
    ]


def _moved(row: Injected) -> str:
    move = row.confidence
    return f"{round(move.estimate, 3) + 0.0:+.3f} ({move.interval('+.3f')})" if move.n_items else "–"


def _flipped(row: Injected | None) -> str:
    if row is None or not row.flips.n_items:
        return "–"
    return f"{round(row.flips.estimate * row.flips.n_items)}/{row.flips.n_items}"


def halo_row(halo: Halo) -> dict[str, Any]:
    """One judge's correlation between axes, without the pairs."""
    return {name: value for name, value in halo.named_values().items() if name != "by_pair"}
