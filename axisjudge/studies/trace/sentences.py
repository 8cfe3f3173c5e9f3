"""What a trace says, in words."""

from __future__ import annotations

from collections.abc import Sequence

from axisjudge.figures.theme import in_words
from axisjudge.studies._shared.words import listed, many
from axisjudge.studies.trace.run import TracedRun, TracedVerdict
from axisjudge.verdict import VERDICTS


def answer(run: TracedRun, n_runs: int) -> str:
    """How far the judges are of one mind on this run, whether they point at common steps, and what one run is not."""
    given = [each for each in run.verdicts if each.word in VERDICTS]
    which = f"run {run.trajectory_id}" + (f", one of {n_runs:,}" if n_runs > 1 else "")
    if not given:
        return f"On {which}, no judge gave a verdict: {many(len(run.verdicts), 'verdict')} lost."
    judges = {each.judge for each in given}
    if len(judges) == 1:
        failed = [each.axis for each in given if each.word == "incorrect"]
        what = f"calls {listed(failed)} incorrect" if failed else "calls no axis incorrect"
        asked = f"({many(len(run.axes), 'axis')} asked)"
        return f"On {which}, {given[0].judge} {what} {asked}. One judge has nobody to agree with."
    return (
        f"On {which}, {_of_one_mind(run, len(judges))}. One run shows neither who is right nor how often judges differ."
    )


def _of_one_mind(run: TracedRun, n_judges: int) -> str:
    """On which axes judges contradict each other, and on how many all say correct."""
    axes = many(len(run.axes), "axis")
    where = f" ({listed(run.contested)})" if run.contested else ""
    clash = f"contradict each other on {len(run.contested) or 'none'} of {axes}{where}"
    return f"{many(n_judges, 'judge')} {clash}, and on {len(run.correct) or 'none'} do all of them say correct"


def verdicts(run: TracedRun) -> tuple[str, ...]:
    """Who says what, one sentence for each axis that is not found correct by all."""
    return tuple(_on_axis(run, axis) for axis in run.axes if axis not in run.correct)


def evidence(run: TracedRun) -> str:
    """How often judges of one verdict cite a common step, and how often they agree on the verdict alone."""
    if not run.overlaps:
        return "No axis has verdicts of two judges, so that there is no common evidence to look for."
    agree = [pair for pair in run.overlaps if pair.same_verdict]
    if not agree:
        return "No two judges give the same verdict on an axis, so that there is no common evidence to look for."
    grounded = sum(bool(pair.shared) for pair in agree)
    alone = dict.fromkeys(pair.axis for pair in agree if not pair.shared and pair.n_either)
    cite = f"in {grounded} of them they cite a common step" if grounded else "they never cite a common step"
    apart = f"; the pairs without one are on {listed(list(alone))}" if alone else ""
    return f"In {many(len(agree), 'pair')} of verdicts two judges say the same on an axis; {cite}{apart}."


def _on_axis(run: TracedRun, axis: str) -> str:
    """On axis: verdicts with their judges and the steps they point to."""
    parts = []
    for verdict in dict.fromkeys(each.word for each in run.on(axis)):
        who = [each for each in run.on(axis) if each.word == verdict]
        steps = [str(step) for step in sorted({step for each in who for step in each.cited})]
        apart = len({tuple(sorted(set(each.cited))) for each in who}) > 1  # they do not all cite the same steps
        cite = "between them cite" if apart else "cite" if who[1:] else "cites"
        cited = f" and {cite} step{'s' if steps[1:] else ''} {listed(steps)}" if steps else ""
        names = [
            each.judge if each.confidence is None else f"{each.judge} ({each.confidence:.2f} sure)" for each in who
        ]
        says = f"{'say' if who[1:] else 'says'} {verdict}{cited}"
        parts.append(f"{listed(names)} {says if verdict in VERDICTS else f'gave no verdict: {verdict}'}")
    return f"{axis}: {'; '.join(parts)}."


def brief(judgement: TracedVerdict) -> str:
    """A verdict at its confidence: ``incorrect at 0.90``."""
    at = "" if judgement.confidence is None else f" at {judgement.confidence:.2f}"
    return f"{judgement.word}{at}"


def published(judgements: Sequence[TracedVerdict]) -> str:
    """Of one mind or not, common steps, and confidences of the published judges on one run."""
    axes = {
        axis: [each for each in judgements if each.axis == axis] for axis in dict.fromkeys(j.axis for j in judgements)
    }
    agree = [axis for axis, of in axes.items() if len({each.word for each in of}) == 1]
    failed = [axis for axis in agree if axes[axis][0].word == "incorrect"]
    common = {axis: sorted(set.intersection(*(set(each.cited) for each in axes[axis]))) for axis in failed}
    judges = list(dict.fromkeys(each.judge for each in judgements))
    found = [
        f"{in_words(axis)} is wrong{f' ({_steps(common[axis])})' if common[axis] else ', citing no common step'}"
        for axis in failed
    ]
    called = f"; by all of them {listed(found)}" if found else ""
    return f"{listed(judges)} give one verdict on {len(agree)} of {many(len(axes), 'axis')}{called}."


def _steps(steps: Sequence[int]) -> str:
    return f"step{'s' if steps[1:] else ''} {listed(list(map(str, steps)))}"
