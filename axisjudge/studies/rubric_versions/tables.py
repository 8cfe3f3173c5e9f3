"""Tables of the turns of the loop, of the caller's kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axisjudge.studies._shared.frames import Table, frame_of, rows_of, table_of
from axisjudge.studies.rubric_versions.turn import Turn
from axisjudge.verdict import VERDICTS

#: Columns of the table of turns, and where their figures stand.
_TURN = {
    "axis": "axis",
    "before": "before",
    "after": "after",
    "runs": "n_items",
    "tasks": "agreement.change.n_clusters",
    "change": "agreement.mean",
    "low": "agreement.change.ci_low",
    "high": "agreement.change.ci_high",
    "p": "agreement.p_value",
    "p_holm": "agreement.p_adjusted",
    "verdict": "outcome",
}
#: Columns of the table of judges, and where their figures stand.
_JUDGE = {
    "judge": "judge",
    "items": "n_items",
    "flipped": "n_flipped",
    "turnover": "turnover",
    "noise": "noise",
    "stayed": "n_stayed",
    "confidence_before": "confidence_before",
    "confidence_after": "confidence_after",
    "shift": "confidence.mean",
    "shift_low": "confidence.change.ci_low",
    "shift_high": "confidence.change.ci_high",
    "p_holm": "confidence.p_adjusted",
}


def turn_rows(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """One row a turn: the change of agreement, its test and what may be said."""
    return rows_of(turns, _TURN)


def agreement_table(turns: Sequence[Turn]) -> Table:
    """One row an axis, version and coefficient, with its interval; every version once, in the order of the turns."""
    versions = {(turn.axis, version.version): version for turn in turns for version in turn.versions}
    rows = [
        {
            "axis": axis,
            "version": version.version,
            "coefficient": name,
            "estimate": value.estimate,
            "low": value.ci_low,
            "high": value.ci_high,
            "tasks": value.n_clusters,
            "repeats": version.n_repeats,
        }
        for (axis, _), version in versions.items()
        for name, value in version.named.items()
    ]
    return table_of(rows, turns[0].kind)


def judges_table(turn: Turn) -> Table:
    """One row a judge: flips beside noise, and how its confidence moved where its verdict stayed."""
    return frame_of(turn.shifts, _JUDGE, turn.kind)


def transitions_text(turn: Turn) -> str:
    """How each judge's verdicts moved, for a terminal: the old version down, the new one across."""
    before, after = (version.version for version in turn.versions)
    lines = []
    for shift in turn.shifts:
        lines.append(f"{shift.judge}: {shift.n_flipped} of {shift.n_items} flipped ({before} down, {after} across)")
        lines.append(f"  {'':16}" + "".join(f"{word:>16}" for word in VERDICTS))
        rows = zip(VERDICTS, shift.matrix, strict=True)
        lines += [f"  {word:16}" + "".join(f"{n:>16}" for n in row) for word, row in rows if any(row)]
    return "\n".join(lines)
