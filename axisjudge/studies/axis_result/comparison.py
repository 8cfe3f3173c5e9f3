"""Two sets of runs compared on the tasks that both have, over their repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from axisjudge.results import Result, columns
from axisjudge.scores.axis.result import AxisResult
from axisjudge.stats.comparisons.paired import PairedChange, paired_change
from axisjudge.stats.comparisons.stratified import stratified_change
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.arrays import mean_of
from axisjudge.studies._shared.frames import rows_of, with_ends
from axisjudge.studies.axis_result import sentences as say
from axisjudge.studies.axis_result.means import QUANTITIES, values
from axisjudge.studies.axis_result.sentences import Direction, NotCompared

#: Columns of the table of changes, and where their figures stand.
_CHANGE = columns(
    "quantity before after",
    with_ends("change", "over_repeats"),
    "shown=direction.value p_over_tasks=over_tasks.p_value",
)


@dataclass(frozen=True)
class Change(Result):
    """One quantity's change between two sets of runs.

    `over_repeats` takes the tasks as given: would other repeats of these tasks show it? `over_tasks` asks of other
    tasks, with the sign-flip test of whole tasks; its interval needs ten tasks.
    """

    _also = columns("change=direction over_tasks=over_tasks.change p_over_tasks=over_tasks.p_value")

    quantity: str
    before: float
    after: float
    over_repeats: Estimate
    over_tasks: PairedChange

    @property
    def direction(self) -> Direction:
        """What the interval over repeats allows to be said."""
        low, high = self.over_repeats.ci_low, self.over_repeats.ci_high
        if math.isnan(low):
            return Direction.CANNOT_TELL
        return Direction.HIGHER if low > 0 else Direction.LOWER if high < 0 else Direction.NOT_SHOWN


@dataclass(frozen=True)
class RunComparison(Result):
    """Two sets of runs on shared tasks, one change for the composite and for each dimension.

    Where they cannot be compared there are no changes, and `refusal` says why.
    """

    _also: ClassVar = {"refusal": "reason", "sentence": "sentence"}

    names: tuple[str, str]
    changes: tuple[Change, ...]
    n_before: int
    n_after: int
    tasks: tuple[str, ...] = ()
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    refusal: NotCompared | None = None

    @property
    def reason(self) -> str:
        """Why they are not compared; empty where they are."""
        return self.refusal or ""

    def to_frame(self) -> pl.DataFrame:
        """One row a quantity."""
        text = dict.fromkeys(("quantity", "shown"), pl.String)
        return pl.DataFrame(
            rows_of(self.changes, _CHANGE), schema={name: text.get(name, pl.Float64) for name in _CHANGE}
        )

    @property
    def sentence(self) -> str:
        """What changed, with its interval, and what could not be told."""
        if self.refusal:
            return say.REFUSED.format(reason=self.refusal)
        shown = [each for each in self.changes if each.direction in (Direction.HIGHER, Direction.LOWER)]
        untold = [each for each in self.changes if each.direction is Direction.CANNOT_TELL]
        changes = [say.change(each.quantity, each.over_repeats) for each in shown]
        rest = len(self.changes) - len(shown) - len(untold)
        reason = "; ".join(dict.fromkeys(each.over_repeats.reason for each in untold))
        without = [say.untold(each.quantity, each.before, each.after) for each in untold]
        runs = (self.n_before, self.n_after, len(self.tasks))
        return say.comparison(changes, rest, *runs, without=without, reason=reason)


def compare_sources(
    results: Sequence[AxisResult], others: Sequence[AxisResult], *, names: tuple[str, str], ci_level: float = 0.95
) -> RunComparison:
    """The runs against the others; without those the first two agents among them, if there are two."""
    if others:
        return compare_runs(results, others, names=names, ci_level=ci_level)
    agents = sorted({each.agent for each in results if each.agent})[:2]
    if len(agents) < 2:
        return RunComparison(names, (), len(results), 0, refusal=NotCompared.ONE_SET)
    first, second = ([each for each in results if each.agent == agent] for agent in agents)
    return compare_runs(first, second, names=(agents[0], agents[1]), ci_level=ci_level)


def compare_runs(
    before: Sequence[AxisResult],
    after: Sequence[AxisResult],
    *,
    names: tuple[str, str] = ("before", "after"),
    ci_level: float = 0.95,
) -> RunComparison:
    """Compare two sets of runs on the tasks that both have, with intervals over repeats.

    The original program calls a difference of more than one point a change, whatever its noise; here a change is shown
    when its interval leaves out 0. Runs that called nothing are not compared with runs that each called something: an
    environment that is not there deducts nothing.
    """
    tasks = {name: {each.cluster_id for each in side} for name, side in (("before", before), ("after", after))}
    shared = tasks["before"] & tasks["after"]
    if not shared:
        only = (_sorted(tasks["before"]), _sorted(tasks["after"]))
        return RunComparison(names, (), len(before), len(after), (), *only, refusal=NotCompared.NO_SHARED_TASK)
    kept = [[each for each in side if each.cluster_id in shared] for side in (before, after)]
    n_silent = [sum(not any(step.is_call for step in each.interactions) for each in side) for side in kept]
    if n_silent in ([0, len(kept[1])], [len(kept[0]), 0]):
        return RunComparison(names, (), len(kept[0]), len(kept[1]), _sorted(shared), refusal=NotCompared.CALLED_NOTHING)
    changes = tuple(_change(name, *kept, ci_level=ci_level) for name in QUANTITIES)
    return RunComparison(
        names=names,
        changes=tuple(each for each in changes if not math.isnan(each.over_repeats.estimate)),
        n_before=len(kept[0]),
        n_after=len(kept[1]),
        tasks=_sorted(shared),
        only_before=_sorted(tasks["before"] - shared),
        only_after=_sorted(tasks["after"] - shared),
    )


def _change(quantity: str, before: list[AxisResult], after: list[AxisResult], *, ci_level: float) -> Change:
    sides = [(values(side, quantity), np.array([each.cluster_id for each in side])) for side in (before, after)]
    (first, first_tasks), (second, second_tasks) = sides
    repeats = stratified_change(first, second, before_strata=first_tasks, after_strata=second_tasks, ci_level=ci_level)
    names = sorted(set(first_tasks.tolist()))
    means = [[mean_of(values[tasks == name]) for name in names] for values, tasks in sides]
    over_tasks = paired_change(means[0], means[1], clusters=names, ci_level=ci_level)
    return Change(quantity, mean_of(np.array(means[0])), mean_of(np.array(means[1])), repeats, over_tasks)


def _sorted(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted(names))
