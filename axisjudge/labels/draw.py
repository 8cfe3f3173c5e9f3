"""Draws of items that people label: how they are asked for in one word, and how those of a question were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.labels import sampling
from axisjudge.labels.decisions import read_labels
from axisjudge.labels.sampling import LOOKED_AT, with_drawn
from axisjudge.ratings import read_ratings
from axisjudge.stats.correction import SAMPLING, Sampling
from axisjudge.trajectory import Trajectory


class DrawProblem(StrEnum):
    """Why labels correct nothing although they say how they were drawn."""

    SEVERAL_WAYS = "labels were drawn in several ways ({}): compare them apart"
    TWO_PROBABILITIES = "two labels of {} state different probabilities"
    LOOKED_AT = "no rate follows from items chosen because judges disagree on them"
    OTHER_JUDGE = "labels were drawn by {}, and the probabilities were not recorded"


@dataclass(frozen=True, eq=False)
class Draw:
    """How the labelled items were drawn: the way, the probabilities and the key that decided, where recorded.

    `problem` says why the draw cannot be used, and `detail` of what; `in_full` says that every item is labelled.
    """

    sampling: Sampling
    probability: NDArray[np.float64] | None = None
    key: str | None = None
    problem: DrawProblem | None = None
    detail: str = ""
    in_full: bool = False

    @property
    def chosen(self) -> bool:
        """Whether shares among the labelled items are not those of all items."""
        return not self.in_full and self.sampling in ("by_judge_verdict", "by_key", "by_human_label", *LOOKED_AT)

    @property
    def reason(self) -> str:
        """The problem in words; empty where there is none."""
        return "" if self.problem is None else self.problem.format(self.detail)


def draw_of(labels: pl.DataFrame, items: Sequence[str], sampling: str | None, *, in_full: bool) -> Draw:
    """What labels say of the draw of their items, else what `sampling` says; a full count (`in_full`) needs no draw.

    Raises
    ------
    InputError
        `sampling` is unknown, or against what the labels say.
    """
    given = cast(Sampling, one_of("sampling", sampling or "unknown", SAMPLING))
    if in_full:
        return Draw(given if sampling else "random", in_full=True)
    stated = with_drawn(labels).with_columns(pl.col("drawn").replace("unknown", given))
    if sampling and (other := sorted(set(stated["drawn"]) - {given})):
        cure = "leave sampling out, or import the labels again"
        raise InputError("sampling", f"{given} is not what the labels say of their draw", other[0], cure)
    ways = stated.select("drawn", "drawn_by").unique().sort("drawn", "drawn_by").rows()
    if ways and {way for way, _ in ways} <= set(LOOKED_AT):
        return Draw(ways[0][0], problem=DrawProblem.LOOKED_AT)
    if len(ways) != 1:
        names = ", ".join(sorted({way for way, _ in ways})) or "none"
        return Draw("unknown", problem=DrawProblem.SEVERAL_WAYS, detail=names)
    way, key = ways[0]
    if stated["drawn_probability"].null_count():
        return Draw(way, key=key)
    row_of, probability = {item: row for row, item in enumerate(items)}, np.full(len(items), np.nan)
    for item, value in stated.select("item_id", "drawn_probability").iter_rows():
        if not np.isnan(known := probability[row_of[item]]) and known != value:
            return Draw("unknown", problem=DrawProblem.TWO_PROBABILITIES, detail=item)
        probability[row_of[item]] = value
    return Draw(way, probability, key)


# One door to the draws, for the command line and the notebook: how items are drawn is asked for in one word.

Value = TypeVar("Value")

#: How items may be drawn.
WAYS = ("random", "by_judge_verdict", "by_key", "second_rater", "by_hand")
#: What a trajectory itself says that a draw may go by.
KEYS = ("agent", "domain", "termination", "reward")


def draw(
    trajectories: Sequence[Trajectory],
    way: str = "random",
    *,
    n: int | None = None,
    seed: int = 0,
    ratings: str | Path | None = None,
    of: str | None = None,
    axis: str | None = None,
    one_per_task: bool = True,
) -> sampling.Sampling:
    """Draw trajectories for labelling.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        The frame.
    way : str
        ``random``; ``by_judge_verdict`` (evenly over the verdicts of the judge `of` in `ratings`, on `axis` or on any);
        ``by_key`` (evenly over the values of `of`: agent, domain, termination, reward); ``second_rater`` (what the
        person `of` labelled in `ratings`); ``by_hand`` (all of these: no rate can be estimated from them).
    n, seed : int
        How many, and the seed of draw and order.
    one_per_task : bool
        One agent's trajectory of each task; for the first three ways.

    Raises
    ------
    InputError
        Something that the way needs is missing; the message says what.
    """
    one_of("how items are drawn", way, WAYS)
    if way == "random":
        return sampling.draw_at_random(trajectories, n, seed=seed, one_per_task=one_per_task)
    if way == "by_hand":
        return sampling.chosen_by_hand(trajectories, seed=seed)
    if way == "second_rater":
        labels = read_labels(_file(way, ratings)).filter(rater_kind="human")
        return sampling.draw_again(labels, of or _only_person(labels["rater"].unique().to_list()), n, seed=seed)
    who, number = _needed(way, "`of`: whose verdicts, or which key, decide", of), _needed(way, "a number", n)
    if way == "by_key":
        one_of("key", who, KEYS)
        strata = {run.id: str(getattr(run, who)) for run in trajectories}
        return sampling.draw_by(trajectories, strata, number, key=who, seed=seed, one_per_task=one_per_task)
    strata = sampling.verdict_strata(read_ratings(_file(way, ratings), latest=True), who, axis or None)
    key = f"{who}: {axis or 'any axis'}"
    return sampling.draw_by(
        trajectories, strata, number, key=key, method="by_judge_verdict", seed=seed, one_per_task=one_per_task
    )


def _needed(way: str, what: str, value: Value | None) -> Value:
    if not value:
        raise InputError(f"draw {way}", f"needs {what}")
    return value


def _file(way: str, ratings: str | Path | None) -> Path:
    return Path(_needed(way, "ratings", str(ratings or "")))


def _only_person(people: list[str]) -> str:
    if not people:
        raise InputError("draw second_rater", "no person labelled there", cure="give the labels of the first person")
    if len(people) != 1:
        raise InputError("draw second_rater", "several people labelled there", sorted(people), "say whose with `of`")
    return people[0]
