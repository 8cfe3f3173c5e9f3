"""What a trace says, in words."""

from __future__ import annotations

from axisjudge.studies._shared.words import many
from axisjudge.studies.trace.run import TracedRun


def headline(run: TracedRun) -> str:
    """How far the judges are of one mind."""
    return (
        f"{many(len(run.judges), 'judge')} on {len(run.axes)} axes: {len(run.contested)} contested (one says correct, "
        f"another incorrect), {len(run.correct)} found correct by all."
    )


def verdicts(run: TracedRun) -> tuple[str, ...]:
    """Who says what, one sentence for each axis that is not found correct by all."""
    return tuple(_on_axis(run, axis) for axis in run.axes if axis not in run.correct)


def evidence(run: TracedRun) -> str:
    """How often judges of one verdict cite a common step, and how often they agree on the verdict alone."""
    if not run.overlaps:
        return "No axis has verdicts of two judges, so there is no evidence to share."
    agree = [pair for pair in run.overlaps if pair.same_verdict]
    if not agree:
        return "No two judges give the same verdict on an axis, so there is no shared evidence to look for."
    grounded = sum(bool(pair.shared) for pair in agree)
    alone = dict.fromkeys(pair.axis for pair in agree if not pair.shared and pair.n_either)
    apart = f" Agreement without a common step: {', '.join(alone)}." if alone else ""
    return f"Of {many(len(agree), 'pair')} of equal verdicts {grounded} cite a common step.{apart}"


def _on_axis(run: TracedRun, axis: str) -> str:
    """On axis: verdicts with their judges and the steps they point to."""
    parts = []
    for verdict in dict.fromkeys(each.word for each in run.on(axis)):
        who = [each for each in run.on(axis) if each.word == verdict]
        steps = sorted({step for each in who for step in each.cited})
        cited = f", citing step{'s' if len(steps) > 1 else ''} {', '.join(map(str, steps))}" if steps else ""
        names = [each.judge if each.confidence is None else f"{each.judge} at {each.confidence:.2f}" for each in who]
        parts.append(f"{verdict} by {', '.join(names)}{cited}")
    return f"{axis}: {'; '.join(parts)}."
