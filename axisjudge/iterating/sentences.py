"""The words of `axisjudge.iterate`: what is to come, what is compared, and what people decided on flips."""

from __future__ import annotations

import polars as pl

from axisjudge.figures.markup import cut
from axisjudge.iterating.looked_at import Looked, LookedAt
from axisjudge.judging.estimate import PlanEstimate
from axisjudge.judging.plan import JudgingPlan
from axisjudge.protocol import Split
from axisjudge.studies._shared.words import listed, many

READ_NEXT = "Where the judges are split now, to be read next"
BESIDE = "The rubric's change, and beside it each flip with the sentence that its reasons hang on"
CITED = "Cited steps of flips, by the sentence of the new rubric that the reason shares most words with"
NO_SPLIT = (
    "There is no split: no task is held out yet (split=True makes one first, axisjudge split make PATHS too), so that "
    "nothing will be left to confirm this on."
)
OFFER = (
    "There is no split yet, so that no task is held out to confirm this on. Make one now, half of the tasks on either "
    "side?"
)


def one_side(n_runs: int, side: str, n_others: int) -> str:
    """Which runs are compared, and that the others are left alone."""
    return f"{many(n_runs, 'run')} of the {side} side; {many(n_others, 'run')} of other sides left alone."


#: What people decided on flips, by code: for one flip, and for several.
LOOKED = {
    Looked.IMPROVED: ("is an improvement", "are improvements"),
    Looked.WORSENED: ("is for the worse", "are for the worse"),
    Looked.BOTH_WRONG: ("is from one wrong verdict to another", "are from one wrong verdict to another"),
    Looked.CANNOT_TELL: ("cannot be told", "cannot be told"),
    Looked.PEOPLE_DIFFER: ("is one on which people differ", "are such that people differ"),
}


def looked_at(found: LookedAt) -> str:
    """How many of the flips are improvements, by people who looked at them; no rate of anything else."""
    if not found.flips:
        return "No verdict flipped, so that there is nothing to decide on."
    flips = many(found.flips, "flip")
    if not found.looked_at:
        return f"Of {flips} nobody has looked at any yet: decide on them in the explorer (W, then 1 to 4)."
    given = [(each, n) for each, n in found.counts.items() if n or each is Looked.IMPROVED]
    parts = [f"{n} {LOOKED[each][n != 1]}" for each, n in given]
    left = found.flips - found.looked_at
    return f"Of {flips} {listed(parts)}{f'; {left} not looked at yet' if left else ''}."


def cited(on_flips: pl.DataFrame) -> str:
    """Which sentence of the rubric most new reasons hang on; empty where nothing flipped."""
    n, named = int(on_flips["flips"].sum()), on_flips.drop_nulls("sentence")
    if not n:
        return ""
    if named.is_empty():
        return f"No reason for {many(n, 'flip')} shares words enough with a sentence of the rubric."
    first = named.row(0, named=True)
    what = "a new one" if first["new"] else "one that was there before"
    return (
        f"Reasons of {named['flips'].sum()} of {many(n, 'flip')} point to a sentence of the rubric, "
        f"{first['flips']} of them to the same, {what}: \u201c{cut(first['rubric'], 120)}\u201d"
    )


def split_made(split: Split) -> str:
    """What the new split holds."""
    sides = listed([f"{many(len(tasks), 'task')} for {side}" for side, tasks in split.tasks.items()])
    return f"Split made: {sides}; held out: {', '.join(split.held_out)}."


def cost(plan: JudgingPlan, estimate: PlanEstimate) -> str:
    """What is to come, to be read before anything is asked."""
    there = many(plan.cached + plan.kept_lost, "rating")
    if not plan.n_calls:
        return f"Nothing to ask: all {there} are there."
    calls = f"To come: {many(plan.n_calls, 'call')}"
    if plan.cached + plan.kept_lost:
        calls += f"; {there} are there already"
    free = "Free: programs and simulated judges are sent no prompt"
    return f"{calls}. {estimate.sentence if estimate.judges else free}."
