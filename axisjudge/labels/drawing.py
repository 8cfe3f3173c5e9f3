"""One door to the draws, for the command line and the notebook: how items are drawn is asked for in one word."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from axisjudge.checks import InputError, one_of
from axisjudge.labels import sampling
from axisjudge.labels.record import read_labels
from axisjudge.ratings import read_ratings
from axisjudge.trajectory import Trajectory

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
