"""Halo: does one bad axis drag the others down? A judge's correlation between axes, beside that of the labels."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import TooLittle
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import BY_JUDGE, BY_LABELLER, VERDICT_ON_RUN
from axisjudge.results import Result, columns
from axisjudge.stats.clusters import effective_degrees
from axisjudge.stats.estimate import Ends, Estimate
from axisjudge.stats.rates.proportions import FEWEST_CLUSTERS, jackknife_interval
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Given, with_own_ends
from axisjudge.verdict import AXES


class NoInterval(StrEnum):
    """Why a mean correlation, or its interval, cannot be given."""

    NO_PAIR = "there are no two axes on which it gave more than one kind of verdict"
    FEW_TASKS = f"an interval needs {FEWEST_CLUSTERS} tasks or more"
    ONE_TASK = "without one of the tasks no pair of axes varies"


@dataclass(frozen=True)
class AxisPair:
    """Correlation of "incorrect" on two axes: the judge's, and the labels' where there are any."""

    axis: str
    other: str
    judge: float
    labels: float | None


@dataclass(frozen=True)
class Halo(Result):
    """One judge's correlation between axes.

    `judge_correlation` is the mean over pairs of axes of the correlation of "incorrect" on the one and on the other.
    With labels, `label_correlation` is theirs on the same runs and pairs, and `halo` the judge's minus the labels';
    both are None without labels, and then a high correlation may be the agents' as well as the judge's.
    """

    judge: str
    judge_correlation: Estimate
    label_correlation: Estimate | None
    halo: Estimate | None
    pairs: tuple[AxisPair, ...]

    _keys = columns(
        "judge runs=judge_correlation.n_items pairs=n_pairs",
        *map(with_own_ends, ("judge_correlation", "label_correlation", "halo")),
        "tasks=judge_correlation.n_clusters by_pair=pairs",
    )

    @property
    def n_pairs(self) -> int:
        """Pairs of axes that vary."""
        return len(self.pairs)


def halo(ratings: Given, labels: Given | None = None, *, ci_level: float = 0.95) -> tuple[Halo, ...]:
    """Inter-axis correlation of every judge on runs (not twins) and, with labels of them, how far it exceeds theirs.

    Per pair of axes the phi coefficient of the two "incorrect" indicators over the runs on which the judge (and the
    labels) decided both; a pair in which an axis never varies has none and is left out of both means. The first repeat
    counts, and several labels where a majority is on one side. Intervals are delete-one-task jackknives with t.

    Raises
    ------
    InputError
        Labels of neither people nor planted truth.
    """
    of_judges = _decided(ratings, "ratings").filter(BY_JUDGE)
    truth = None if labels is None else _decided(labels, "labels").filter(BY_LABELLER)
    if truth is not None and truth.is_empty():
        raise TooLittle("labels", "must be of people, or planted truth, and none is")
    wanted = None if truth is None else _rows(truth)
    by_judge = of_judges.sort("rater", maintain_order=True).partition_by("rater", maintain_order=True)
    return tuple(_halo(mine, wanted, ci_level) for mine in by_judge)


def _decided(frame: Given, where: str) -> pl.DataFrame:
    decided = pl.col("verdict").is_in(["correct", "incorrect"]) & (pl.col("status") == "ok")
    on_axis = pl.col("question").is_in(AXES) & (pl.col("repeat") == 0)
    return as_ratings(frame, where=where).filter(VERDICT_ON_RUN, decided, on_axis)


def _rows(table: pl.DataFrame) -> dict[str, Floats]:
    """For each run its axes: 1 incorrect, 0 correct, NaN undecided."""
    share = (pl.col("verdict") == "incorrect").mean()
    rows: dict[str, Floats] = {}
    for run, axis, incorrect in table.group_by("trajectory_id", "question", maintain_order=True).agg(share).iter_rows():
        row = rows.setdefault(run, np.full(len(AXES), math.nan))
        row[AXES.index(axis)] = math.nan if incorrect == 0.5 else float(incorrect > 0.5)
    return rows


def _halo(mine: pl.DataFrame, truth: dict[str, Floats] | None, ci_level: float) -> Halo:
    rows = _rows(mine)
    runs = sorted(run for run in rows if truth is None or run in truth)
    sides = [
        np.array([side[run] for run in runs]).reshape(len(runs), len(AXES)) for side in (rows, truth or {}) if side
    ]
    undecided = np.isnan(sides).any(axis=0)
    sides = [np.where(undecided, math.nan, side) for side in sides]
    task_of = dict(mine.select("trajectory_id", "cluster_id").unique().iter_rows())
    judge, labels, beyond = _estimates(sides, np.array([task_of[run] for run in runs]), ci_level)
    pairs = (AxisPair(AXES[i], AXES[j], phis[0], phis[1] if truth else None) for (i, j), phis in _pairs(sides).items())
    return Halo(mine["rater"][0], judge, labels, beyond, tuple(pairs))


def _pairs(sides: list[Floats]) -> dict[tuple[int, int], list[float]]:
    """Phi of every pair of axes for the judge and the labels, where all of them have one."""
    every = {
        (i, j): [phi(side[:, i], side[:, j]) for side in sides] for i, j in itertools.combinations(range(len(AXES)), 2)
    }
    return {pair: phis for pair, phis in every.items() if not any(map(math.isnan, phis))}


def phi(first: Floats, second: Floats) -> float:
    """Correlation of two 0/1 columns over the rows where both are known; NaN where one of them never varies.

    Examples
    --------
    >>> phi(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0])).__round__(3)
    0.577
    """
    known = ~(np.isnan(first) | np.isnan(second))
    one, other = first[known], second[known]
    if one.size == 0 or one.min() == one.max() or other.min() == other.max():
        return math.nan
    return float(np.corrcoef(one, other)[0, 1])


def _means(sides: list[Floats]) -> list[float]:
    """Mean phi of the judge and, with labels, of the labels and the difference."""
    phis = np.array(list(_pairs(sides).values())).reshape(-1, len(sides))
    means = phis.mean(axis=0).tolist() if len(phis) else [math.nan] * len(sides)
    return means if len(means) == 1 else [*means, means[0] - means[1]]


def _estimates(
    sides: list[Floats], tasks: NDArray[np.str_], ci_level: float
) -> tuple[Estimate, Estimate | None, Estimate | None]:
    names, sizes = np.unique(tasks, return_counts=True)
    degrees = effective_degrees(sizes)
    left_out = np.array([_means([side[tasks != name] for side in sides]) for name in names])
    sample = partial(Estimate, ci_level=ci_level, n_items=len(sides[0]), n_clusters=len(names), cluster_unit="task")
    estimates = []
    for at, mean in enumerate(_means(sides)):
        ends = Ends(reason=_refusal(mean, len(names), left_out[:, at] if len(names) else left_out))
        if not ends.reason:
            interval = jackknife_interval(mean, left_out[:, at], degrees=degrees, ci_level=ci_level)
            ends = Ends(*interval, "jackknife-t over tasks")
        estimates.append(sample(estimate=mean, **ends._asdict()))
    return (estimates[0], None, None) if len(estimates) == 1 else (estimates[0], estimates[1], estimates[2])


def _refusal(mean: float, n_tasks: int, left_out: Floats) -> str:
    if math.isnan(mean):
        return NoInterval.NO_PAIR.value
    if n_tasks < FEWEST_CLUSTERS:
        return NoInterval.FEW_TASKS.value
    return NoInterval.ONE_TASK.value if np.isnan(left_out).any() else ""
