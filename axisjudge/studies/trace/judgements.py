"""What judges say of one run, and how far they point to the same steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.figures.markup import visible
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import VERDICT_ON_RUN, once
from axisjudge.stats.raters.citations import chance_jaccard, jaccard, step_distance
from axisjudge.studies._shared.frames import Given
from axisjudge.verdict import AXES


@dataclass(frozen=True)
class TracedVerdict:
    """One judge's verdict on one axis; `verdict` is None where it was lost, and `status` says how."""

    axis: str
    judge: str
    family: str
    status: str
    verdict: str | None
    confidence: float | None
    cited: tuple[int, ...]
    invalid: tuple[int, ...]
    rationale: str

    @property
    def word(self) -> str:
        """The verdict, or why there is none."""
        return self.verdict or f"lost ({self.status})"


@dataclass(frozen=True)
class Overlap:
    """Two judges on one axis and the steps of the run that they cite.

    `jaccard` is the number of shared steps over those that either cites, `chance` what it would be if both had cited as
    many steps at random, `distance` the mean number of steps to the nearest one that the other cites.
    """

    axis: str
    judges: tuple[str, str]
    same_verdict: bool
    shared: tuple[int, ...]
    n_either: int
    jaccard: float
    chance: float
    distance: float


def verdicts_of(ratings: Given, repeat: int) -> pl.DataFrame:
    """The verdicts on whole trajectories in one repeat.

    Raises
    ------
    InputError
        There are none.
    """
    table = as_ratings(ratings).filter(VERDICT_ON_RUN, pl.col("repeat") == repeat)
    if table.is_empty():
        raise TooLittle("ratings", "must hold verdicts on whole trajectories", cure="judge some runs first")
    return table


def most_contested(verdicts: pl.DataFrame) -> str:
    """The trajectory on which the judges are most divided.

    The one with the most axes on which one judge says correct and another incorrect; among equals the one with the
    most steps cited for an incorrect verdict, then the first by id.
    """
    wrong = pl.col("verdict") == "incorrect"
    by_axis = verdicts.group_by("trajectory_id", "question").agg(
        contested=wrong.any() & (pl.col("verdict") == "correct").any(),
        cited=pl.col("cited_step_indices").filter(wrong).explode().n_unique(),
    )
    runs = by_axis.group_by("trajectory_id").agg(pl.col("contested").sum(), pl.col("cited").sum())
    ordered = runs.sort("contested", "cited", "trajectory_id", descending=[True, True, False])
    return str(ordered["trajectory_id"][0])


def judgements(verdicts: pl.DataFrame) -> tuple[TracedVerdict, ...]:
    """The verdicts on one trajectory by axis, family and judge.

    Raises
    ------
    InputError
        Two verdicts of one judge on one axis.
    """
    known = {axis: place for place, axis in enumerate(AXES)}
    order = pl.col("question").replace_strict(known, default=len(AXES), return_dtype=pl.Int64)
    once(verdicts, "question", "rater", rule="one rating for each judge and axis")
    lists = pl.col("cited_step_indices", "invalid_citations").fill_null([])
    columns = ("question", "rater", "family", "status", "verdict", "confidence")
    rows = verdicts.sort(order, "question", "family", "rater").select(
        *columns, lists, pl.col("rationale").fill_null("")
    )
    return tuple(
        TracedVerdict(axis, judge, family, status, verdict, sure, tuple(cited), tuple(invalid), visible(rationale))
        for axis, judge, family, status, verdict, sure, cited, invalid, rationale in rows.iter_rows()
    )


def overlaps(given: Sequence[TracedVerdict], n_steps: int) -> tuple[Overlap, ...]:
    """The overlap of each two judges on each axis; a lost verdict has no evidence to overlap."""
    pairs = combinations([each for each in given if each.verdict is not None], 2)
    return tuple(_overlap(one, other, n_steps) for one, other in pairs if one.axis == other.axis)


def _overlap(one: TracedVerdict, other: TracedVerdict, n_steps: int) -> Overlap:
    first, second = ({step for step in each.cited if 0 <= step < n_steps} for each in (one, other))
    return Overlap(
        axis=one.axis,
        judges=(one.judge, other.judge),
        same_verdict=one.verdict == other.verdict,
        shared=tuple(sorted(first & second)),
        n_either=len(first | second),
        jaccard=jaccard(first, second),
        chance=chance_jaccard(len(first), len(second), n_steps) if first and second else math.nan,
        distance=step_distance(first, second),
    )
