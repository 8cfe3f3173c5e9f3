"""Does text for the judge move a verdict? Flips and moves of confidence by kind and place; no labels needed.

A pair is a run and its twin on one axis, judged by one judge. Nothing that the agent did changed, so a verdict that
flips, whichever way, followed the text or is a judge's own noise: `plain_text`, the control, shows how much of it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import BY_JUDGE, VERDICT_ON_RUN, once
from axisjudge.results import Result, columns
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_mean, clustered_proportion
from axisjudge.studies._shared.frames import Given
from axisjudge.twins import INJECTIONS, Twin
from axisjudge.verdict import AXES

#: The place of a row that counts all places.
ANYWHERE = "anywhere"
#: The kind of text that asks for nothing: what it moves is a judge's own noise.
CONTROL = "plain_text"


@dataclass(frozen=True)
class Injected(Result):
    """One judge, one kind of text, one place; all axes together.

    Attributes
    ----------
    place : str
        One of user, agent, tool_name, argument and result, or `ANYWHERE`.
    flips : Estimate
        The share of pairs with two verdicts whose verdict is another one, with an interval over tasks.
    taken_in : Estimate
        Of the pairs whose run was not called correct, the share whose twin is: what the texts ask for.
    confidence : Estimate
        The mean of the twin's confidence minus the run's, over the pairs that have both.
    lost : int
        Pairs without two verdicts: the call of one of them was lost.
    flagged : int
        Twins whose text was found (their ratings bear the flag ``injection:...``), of `n_twins`.
    """

    judge: str
    edit: str
    place: str
    n_twins: int
    flagged: int
    lost: int
    flips: Estimate
    taken_in: Estimate
    confidence: Estimate

    _keys = columns(
        "judge edit place n_twins flagged lost pairs=flips.n_items flipped=flips.estimate",
        "flipped_low=flips.ci_low flipped_high=flips.ci_high not_correct=taken_in.n_items",
        "taken_in=taken_in.estimate taken_in_low=taken_in.ci_low taken_in_high=taken_in.ci_high",
        "confidence=confidence.estimate confidence_low=confidence.ci_low confidence_high=confidence.ci_high",
        "tasks=flips.n_clusters",
    )


@dataclass(frozen=True)
class _Pairs:
    """Pairs as columns: task, verdict and confidence of run and twin, None and NaN where there is none."""

    tasks: list[str]
    before: list[str | None]
    after: list[str | None]
    move: NDArray[np.float64]


def injected(
    ratings: Given, twins: Iterable[Twin], *, judges: Sequence[str] | None = None, ci_level: float = 0.95
) -> tuple[Injected, ...]:
    """What text for the judge does to verdicts; arguments and errors as `axisjudge.studies.twins`.

    Twins of other edits are left out. For each judge and kind of text one row for all places and one for each place in
    which there are twins.
    """
    made = [twin for twin in twins if twin.edit in INJECTIONS]
    if not made:
        return ()
    table = as_ratings(ratings).filter(VERDICT_ON_RUN, BY_JUDGE, pl.col("repeat") == 0, pl.col("question").is_in(AXES))
    if judges is not None:
        table = table.filter(pl.col("rater").is_in(list(judges)))
    once(table, "trajectory_id", "question", "rater", rule="one rating for each run, axis and judge")
    rated = {key[0]: _rated(rows) for key, rows in table.group_by(["rater"], maintain_order=True)}
    tasks = dict(table.select("trajectory_id", "cluster_id").unique().iter_rows())
    flagged = _flagged(table)
    if unrated := [twin.trajectory.id for twin in made if twin.trajectory.id not in tasks]:
        raise InputError("ratings", "must hold ratings of every twin", unrated[0], "judge the twins as well")
    rows = []
    for judge in sorted(rated):
        for edit in INJECTIONS:
            of_edit = [twin for twin in made if twin.edit == edit]
            places = [ANYWHERE, *sorted({twin.place or "" for twin in of_edit})] if of_edit else []
            for place in places:
                chosen = [twin for twin in of_edit if place in (ANYWHERE, twin.place)]
                n_flagged = sum(twin.trajectory.id in flagged for twin in chosen)
                pairs = _pairs(chosen, rated[judge], tasks)
                rows.append(_row(judge, edit, place, len(chosen), n_flagged, pairs, ci_level))
    return tuple(rows)


def _rated(rows: pl.DataFrame) -> dict[tuple[str, str], tuple[str | None, float]]:
    """(run, axis) -> verdict, None where it was lost, and confidence, NaN where there is none."""
    of_verdict = pl.when(pl.col("status") == "ok").then("verdict")
    columns = rows.select("trajectory_id", "question", of_verdict, pl.col("confidence").fill_null(math.nan))
    return {(run, axis): (verdict, sure) for run, axis, verdict, sure in columns.iter_rows()}


def _flagged(table: pl.DataFrame) -> set[str]:
    bears = pl.col("flags").list.eval(pl.element().str.starts_with("injection:")).list.any()
    return set(table.filter(bears)["trajectory_id"])


def _pairs(
    twins: Sequence[Twin], rated: Mapping[tuple[str, str], tuple[str | None, float]], tasks: Mapping[str, str]
) -> _Pairs:
    lost = (None, math.nan)
    keys = [(twin, axis) for twin in twins for axis in AXES]
    before = [rated.get((twin.original_id, axis), lost) for twin, axis in keys]
    after = [rated.get((twin.trajectory.id, axis), lost) for twin, axis in keys]
    asked = [k for k, (twin, axis) in enumerate(keys) if (twin.trajectory.id, axis) in rated]
    return _Pairs(
        [tasks[keys[k][0].trajectory.id] for k in asked],
        [before[k][0] for k in asked],
        [after[k][0] for k in asked],
        np.array([after[k][1] - before[k][1] for k in asked], dtype=np.float64),
    )


def _row(judge: str, edit: str, place: str, n_twins: int, n_flagged: int, pairs: _Pairs, ci_level: float) -> Injected:
    both = [first is not None and second is not None for first, second in zip(pairs.before, pairs.after, strict=True)]
    changed = [first != second for first, second in zip(pairs.before, pairs.after, strict=True)]
    flips = np.where(both, np.array(changed, dtype=np.float64), math.nan)
    could = [two and first != "correct" for two, first in zip(both, pairs.before, strict=True)]
    taken_in = np.where(could, np.array([second == "correct" for second in pairs.after], dtype=np.float64), math.nan)
    tasks = np.array(pairs.tasks)
    return Injected(
        judge=judge,
        edit=edit,
        place=place,
        n_twins=n_twins,
        flagged=n_flagged,
        lost=len(both) - sum(both),
        flips=clustered_proportion(flips, tasks, cluster_unit="task", ci_level=ci_level),
        taken_in=clustered_proportion(taken_in, tasks, cluster_unit="task", ci_level=ci_level),
        confidence=clustered_mean(np.where(both, pairs.move, math.nan), tasks, cluster_unit="task", ci_level=ci_level),
    )
