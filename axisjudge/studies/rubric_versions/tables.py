"""Tables of the turns of the loop, of the caller's kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from axisjudge.studies._shared.frames import Table, table_of
from axisjudge.studies.rubric_versions import sentences
from axisjudge.studies.rubric_versions.turn import Turn
from axisjudge.verdict import VERDICTS


def turn_rows(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """One row a turn: the change of agreement, its test and what may be said."""
    return [
        {
            "axis": turn.axis,
            "before": turn.versions[0].version,
            "after": turn.versions[1].version,
            "runs": turn.n_items,
            "tasks": turn.agreement.change.n_clusters,
            "change": turn.agreement.mean,
            "low": turn.agreement.change.ci_low,
            "high": turn.agreement.change.ci_high,
            "p": turn.agreement.p_value,
            "p_holm": turn.agreement.p_adjusted,
            "verdict": sentences.outcome(turn.decision),
        }
        for turn in turns
    ]


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
    rows = [
        {
            "judge": each.judge,
            "items": each.n_items,
            "flipped": each.n_flipped,
            "turnover": each.turnover,
            "noise": each.noise,
            "stayed": each.n_stayed,
            "confidence_before": each.confidence_before,
            "confidence_after": each.confidence_after,
            "shift": math.nan if each.confidence is None else each.confidence.mean,
            "shift_low": math.nan if each.confidence is None else each.confidence.change.ci_low,
            "shift_high": math.nan if each.confidence is None else each.confidence.change.ci_high,
            "p_holm": math.nan if each.confidence is None else each.confidence.p_adjusted,
        }
        for each in turn.shifts
    ]
    return table_of(rows, turn.kind)


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


def flips_table(turn: Turn) -> Table:
    """One row a flip: verdict, confidence, cited steps and reason under both versions."""
    names = ("verdict", "confidence", "cited", "rationale")
    columns = [f"{name}_{when}" for when in ("before", "after") for name in names]
    rows = [flip.to_dict() for flip in turn.flips]
    return table_of(rows, turn.kind, columns=("item", "judge", *columns, "agreement_change"))
