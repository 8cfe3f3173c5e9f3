"""Variance components of repeated verdicts, question by question."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl

from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import BY_JUDGE, VERDICT_ON_RUN, once
from axisjudge.results import Result
from axisjudge.stats.raters.repeats import VarianceComponents, variance_components
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Given
from axisjudge.studies._shared.scope import questions_in_order


class NoVariance(StrEnum):
    """Why verdicts have no variance components."""

    NONE = ""
    ONE_JUDGE = "fewer than two judges were asked several times"
    ONE_REPEAT = "the judges have fewer than two repeats in common"


@dataclass(frozen=True)
class QuestionVariance(Result):
    """Variance components on one question over the judges that were asked several times; None where there is none."""

    question: str
    judges: tuple[str, ...]
    components: VarianceComponents | None
    refusal: NoVariance


def by_question(table: pl.DataFrame) -> list[pl.DataFrame]:
    return [table.filter(pl.col("question") == question) for question in questions_in_order(table["question"])]


def spread(asked: pl.DataFrame, runs: pl.Series, repeats: list[int]) -> Floats:
    """Column `value` of one judge as runs x repeats, NaN where there is none."""
    row_of = {run: at for at, run in enumerate(runs)}
    matrix = np.full((len(row_of), len(repeats)), np.nan)
    for run, repeat, value in asked.select("trajectory_id", "repeat", "value").iter_rows():
        matrix[row_of[run], repeats.index(repeat)] = math.nan if value is None else value
    return matrix


def question_variance(asked: pl.DataFrame) -> QuestionVariance:
    question = asked["question"][0]
    judges = [mine for mine in asked.sort("family", "rater").partition_by("rater") if mine["repeat"].n_unique() > 1]
    names = tuple(mine["rater"][0] for mine in judges)
    if len(judges) < 2:
        return QuestionVariance(question, names, None, NoVariance.ONE_JUDGE)
    repeats = sorted(set.intersection(*(set(mine["repeat"]) for mine in judges)))
    if len(repeats) < 2:
        return QuestionVariance(question, names, None, NoVariance.ONE_REPEAT)
    runs = asked["trajectory_id"].unique().sort()
    decided = {"incorrect": 1.0, "correct": 0.0, "not_applicable": 0.0}
    value = pl.col("verdict").replace_strict(decided, default=None, return_dtype=pl.Float64)
    cube = np.stack(
        [
            spread(mine.filter(pl.col("repeat").is_in(repeats)).with_columns(value=value), runs, repeats)
            for mine in judges
        ],
        axis=1,
    )
    return QuestionVariance(question, names, variance_components(cube), NoVariance.NONE)


def question_variances(ratings: Given) -> tuple[QuestionVariance, ...]:
    """Variance components of 0/1 verdicts on whole trajectories (1 incorrect, 0 otherwise decided), by question.

    Parameters
    ----------
    ratings : table
        A ratings table of one rubric and prompt for each judge and question.

    Raises
    ------
    InputError
        Two ratings of one judge, run, question and repeat.
    """
    return tuple(question_variance(asked) for asked in by_question(repeated_verdicts(ratings)))


def repeated_verdicts(ratings: Given) -> pl.DataFrame:
    """The judges' verdicts on whole trajectories, all repeats, each once."""
    table = as_ratings(ratings)
    given = table.filter(VERDICT_ON_RUN & BY_JUDGE & pl.col("verdict").is_not_null())
    key = ("trajectory_id", "question", "rater", "repeat")
    return once(given, *key, rule="one rating for each run, question, judge and repeat")
