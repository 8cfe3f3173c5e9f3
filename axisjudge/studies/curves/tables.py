"""Tables of raw scores and people's scores: read from files, and made from ratings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.ratings.table import ratings_frame
from axisjudge.verdict import Rating

_FORMATS: dict[str, tuple[Callable[[Path], pl.DataFrame], Callable[[pl.DataFrame, Path], None]]] = {
    ".csv": (pl.read_csv, pl.DataFrame.write_csv),
    ".jsonl": (pl.read_ndjson, pl.DataFrame.write_ndjson),
    ".ndjson": (pl.read_ndjson, pl.DataFrame.write_ndjson),
    ".parquet": (pl.read_parquet, pl.DataFrame.write_parquet),
}


def read_table(path: str | Path) -> pl.DataFrame:
    """A table from CSV, JSON Lines or Parquet, told apart by the file's name.

    Raises
    ------
    InputError
        There is no such file, or it is none of the three.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(str(path), "no such table")
    read, _ = _FORMATS[_ending(file)]
    try:
        return read(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(str(path), f"cannot be read as {file.suffix[1:]} ({reason})") from None


def write_table(table: pl.DataFrame, path: str | Path) -> None:
    """Write a table as CSV, JSON Lines or Parquet, by the file's name."""
    file = Path(path)
    _, write = _FORMATS[_ending(file)]
    write(table, file)


def _ending(file: Path) -> str:
    return one_of(str(file), file.suffix.lower(), _FORMATS)


def scores_of_ratings(ratings: pl.DataFrame) -> pl.DataFrame:
    """Mean rating of the judges (raw, 0-1) and of people (human, 0-100) for every item and question.

    Parameters
    ----------
    ratings : polars.DataFrame
        A ratings table on an ordinal scale of numbers (``ordinal:1-5``) or the unit interval.

    Returns
    -------
    polars.DataFrame
        run, task, dimension, raw, human; one row an item that both sides rated.

    Raises
    ------
    InputError
        No item was rated by both, or the scale has no numbers.
    """
    graded = ratings.filter(pl.col("value").is_not_null() & (pl.col("status") == "ok"))
    scales = graded["scale"].unique().to_list()
    if len(scales) != 1 or not (scales[0] == "unit" or scales[0].startswith("ordinal:")):
        error = InputError if scales else TooLittle
        raise error("ratings", "need one scale of numbers, unit or ordinal", sorted(scales) or "no values")
    low, high = (0.0, 1.0) if scales[0] == "unit" else map(float, scales[0].removeprefix("ordinal:").split("-"))
    keys = [pl.col("item_id").alias("run"), pl.col("cluster_id").alias("task"), pl.col("question").alias("dimension")]
    share = (pl.col("value") - low) / (high - low)
    person = pl.col("rater_kind") == "human"
    rows = graded.group_by(keys).agg(raw=share.filter(~person).mean(), human=100 * share.filter(person).mean())
    scores = rows.drop_nulls().sort("dimension", "run")
    if scores.is_empty():
        raise TooLittle("ratings", "no item was rated by judges and by people", cure="give both in one table")
    return scores


def people_as_ratings(scores: pl.DataFrame, *, planted: bool = False) -> pl.DataFrame:
    """People's scores of a table (run, task, dimension, human; agent if known) as ratings: the scope of a report."""
    return ratings_frame(
        Rating(
            trajectory_id=str(row["run"]),
            task_id=str(row["task"]),
            cluster_id=str(row["task"]),
            agent=row.get("agent"),
            question=str(row["dimension"]),
            scale="unit",
            rater="planted people" if planted else "people",
            rater_kind="planted" if planted else "human",
            family="planted" if planted else "human",
            repeat=row.get("repeat") or 0,
            value=row["human"] / 100,
        )
        for row in scores.filter(pl.col("human").is_not_null()).to_dicts()
    )
