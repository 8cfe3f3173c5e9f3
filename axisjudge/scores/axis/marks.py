"""Marks of an AXIS Result: what a reader must know before the numbers are used or compared."""

from __future__ import annotations

from collections.abc import Sequence

from axisjudge.scores.axis.dimensions import Dimension
from axisjudge.scores.axis.transcript.interactions import ACTING, KNOWN_WAITS, Interaction
from axisjudge.stats.estimate import many

NOT_COMPARABLE = "no time stamps: speed counts as perfect, so scores are not comparable with those of timed runs"

NOT_TIMED = "every call lasts 0 ms by its source: it does not time calls, so scores are not comparable with timed runs"


def marks_of(
    goal: Dimension, process: Sequence[Dimension], interactions: Sequence[Interaction], *, failed: bool
) -> tuple[str, ...]:
    """Marks in the order of their weight: goal, time stamps, missing signals, dimensions without data."""
    if failed:
        return ("the run failed: every score is 0 by rule",)
    marks = []
    if goal.score is None:
        lacking = "no goal checks" if not goal.n_interactions else "goal checks without a grade"
        marks.append(
            f"{lacking}: the result is an interval, with goal achievement at {goal.low:g} and at {goal.high:g}"
        )
    marks += _time_marks(interactions)
    for each in process:
        missing: dict[str, list[str]] = {}
        for signal in each.signals:
            if signal.n_missing and signal.weight and signal.name != "speed":
                those = many(signal.n_missing, "interaction") if signal.n else "all interactions"
                if signal.name == "necessity" and each.necessity.unnecessary:
                    those += f" but {', '.join(f'#{id}' for id in each.necessity.unnecessary)}"
                missing.setdefault(those, []).append(signal.name)
        if missing:
            of = ", ".join(f"{' and '.join(names)} of {those}" for those, names in missing.items())
            marks.append(f"{each.name} scores between {each.low:g} and {each.high:g}; not judged: {of}")
        if each.no_data:
            marks.append(f"{each.name} has no interactions, so the program sets {each.score:g}, which measures nothing")
    return tuple(marks)


def _time_marks(interactions: Sequence[Interaction]) -> list[str]:
    acting = [each for each in interactions if each.type in ACTING]
    if not acting:
        return []
    unknown = sum(each.duration_ms is None for each in acting)
    if unknown == len(acting) and all(each.start_ms is None for each in interactions):
        return [NOT_COMPARABLE]
    measured = [each for each in acting if each.measured]
    is_timed = any(each.duration_ms or each.duration_source == "stated" for each in measured)
    marks = [NOT_TIMED] if measured and not is_timed else []
    last_is_thinking = interactions[-1].type == "assistant" and interactions[-1].duration_ms is None
    if unknown > last_is_thinking:
        marks.append(f"durations unknown: {unknown} of {len(acting)}; they count as fast, the bounds have them slow")
    waits = [each.duration_ms for each in acting if each.wait in KNOWN_WAITS and each.duration_ms]
    if waits:
        marks.append(
            f"waiting for a person is left out of speed: {len(waits)} of {len(acting)} durations, "
            f"{sum(waits) / 1000:,.0f} s in all, the longest {max(waits) / 1000:,.0f} s"
        )
    if doubtful := [each for each in acting if each.wait == "permission"]:
        ids = ", ".join(f"#{each.id}" for each in doubtful)
        longest = max(each.duration_ms or 0 for each in doubtful) / 1000
        marks.append(
            f"too long for a file, so perhaps a permission was waited for: {ids}, up to {longest:,.0f} s; they count "
            "as fast, the bounds have them slow"
        )
    return marks
