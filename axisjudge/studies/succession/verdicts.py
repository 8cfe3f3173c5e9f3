"""The verdicts of one judge on whole runs, each question asked with one rubric."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import WHOLE_RUN, once
from axisjudge.stats.quantities import FAILED
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Given
from axisjudge.studies._shared.words import listed, many

#: Scales that know failure.
SCALES = ("verdict", "step")


def verdicts_of(ratings: Given, *, steps: bool = False) -> pl.DataFrame:
    """Verdicts on whole trajectories, or on steps, with what each counts as in a failure rate (`failed`).

    Raises
    ------
    InputError
        There are none, but others: of steps instead of trajectories (or the reverse), or on scales without failure.
    """
    table = as_ratings(ratings)
    of_step, known = pl.col("step_index").is_not_null(), pl.col("scale").is_in(SCALES)
    chosen = table.filter(known & (of_step if steps else WHOLE_RUN))
    if chosen.is_empty() and not table.is_empty():
        raise _only_others(table.filter(of_step).height, table.height, table.filter(known).is_empty(), steps)
    failed = pl.col("verdict").replace_strict(FAILED, default=None, return_dtype=pl.Float64)
    return chosen.with_columns(failed=failed)


def _only_others(n_steps: int, n: int, unknown: bool, steps: bool) -> InputError:
    rule = f"must hold ratings of {'steps' if steps else 'whole trajectories'} on a scale with failure"
    counts = {"steps": n_steps, "whole trajectories": n - n_steps}
    there = " and ".join(f"{many(count, 'rating')} of {of}" for of, count in counts.items() if count)
    if unknown:
        return InputError("ratings", rule, f"{there}, on other scales", f"scales with failure are {', '.join(SCALES)}")
    cure = "leave out steps" if steps else "say steps=true for ratings of steps"
    return InputError("ratings", rule, there, cure)


def of_rater(table: pl.DataFrame, rater: str) -> pl.DataFrame:
    """One rater's ratings, one for each item, question and repeat."""
    mine = table.filter(pl.col("rater") == rater).sort("item_id", "question", "repeat")
    if mine.is_empty():
        there = listed(table["rater"].unique().sort().to_list() or ["no rater"])
        raise InputError("ratings", f"must hold ratings by {rater}", f"ratings by {there}")
    rule = f"one rating for each item, question and repeat of {rater}"
    return once(mine, "item_id", "question", "repeat", rule=rule, cure="keep those of one prompt_sha256 each")


def check_rubrics(table: pl.DataFrame) -> None:
    """Refuse judges that were shown different rubrics for a question: what changed could be the rubric."""
    rubrics = (
        table.drop_nulls("rubric_sha256").group_by("question").agg(pl.col("rubric_version", "rubric_sha256").unique())
    )
    for question, versions, hashes in rubrics.sort("question").iter_rows():
        if len(hashes) > 1:
            texts = f"{len(hashes)} texts of {listed(sorted(map(str, versions)))}"
            raise InputError("ratings", f"need one rubric for {question}", texts, "keep those of one rubric_sha256")


def floats(column: pl.Series) -> Floats:
    """A column of numbers, NaN where there is none."""
    values: Floats = column.cast(pl.Float64).fill_null(math.nan).to_numpy()
    return np.asarray(values)
