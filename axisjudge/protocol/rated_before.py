"""Ratings of held-out runs that are there before the opening: whoever saw them has tuned on what was to confirm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from axisjudge.protocol.ledger import openings, read_ledger
from axisjudge.protocol.split import Split
from axisjudge.ratings.selection import BY_JUDGE
from axisjudge.ratings.table import read_every_line
from axisjudge.workbench import home

#: Where ratings are looked for when no file is named; relative to the workbench.
FOLDER = "data/ratings"
#: The reason under which tasks that were rated stand on the open side.
REASON = "rated before the split"


@dataclass(frozen=True)
class RatedBefore:
    """Judges' ratings of held-out runs that no opening stamped, and of which runs, tasks and by whom they are."""

    n_ratings: int
    n_runs: int
    tasks: tuple[str, ...]
    raters: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.n_ratings > 0

    @property
    def rule(self) -> str:
        """What is there, in words."""
        tasks = f"{len(self.tasks)} held-out task{'s' * (len(self.tasks) != 1)}"
        return f"{self.n_ratings:,} ratings of {self.n_runs:,} runs of {tasks} are there already"

    @property
    def sentence(self) -> str:
        """What is there, by whom, and what to do about it."""
        return f"Not held out in truth: {self.rule} ({', '.join(self.raters)}); {self.cure}."

    @property
    def cure(self) -> str:
        """What to do about it."""
        return "keep their tasks open (axisjudge split make PATHS --rated-open), or go on with --despite-ratings"


def rated_before(ratings: pl.DataFrame | None, split: Split) -> RatedBefore:
    """The ratings of runs on a held-out side that were not made under an opening.

    Parameters
    ----------
    ratings : polars.DataFrame, optional
        A ratings table; labels (people's, planted) are passed over. None: those of the workbench (`kept_ratings`).
    split : Split
    """
    table = kept_ratings() if ratings is None else ratings
    if table is None:
        return RatedBefore(0, 0, (), ())
    opened = [entry.flag for entry in openings(read_ledger())]
    stamped = pl.col("flags").list.eval(pl.element().is_in(opened)).list.any().fill_null(value=False)
    held_out = pl.col("cluster_id").is_in(list(split.held_out_tasks)) | pl.col("split").is_in(list(split.held_out))
    early = table.filter(BY_JUDGE, held_out.fill_null(value=False), ~stamped)
    names = early.select(pl.col("cluster_id", "rater").cast(pl.String).unique().sort().implode())
    tasks, raters = (names[name].to_list()[0] for name in ("cluster_id", "rater")) if early.height else ([], [])
    return RatedBefore(early.height, early["trajectory_id"].n_unique(), tuple(tasks), tuple(raters))


def rated_tasks(ratings: pl.DataFrame | None = None) -> dict[str, str]:
    """The tasks of which judges rated any run, each with the reason why it may not be held out."""
    table = kept_ratings() if ratings is None else ratings
    return (
        {}
        if table is None
        else dict.fromkeys(table.filter(BY_JUDGE)["cluster_id"].drop_nulls().unique().sort(), REASON)
    )


def kept_ratings(paths: Sequence[Path] = ()) -> pl.DataFrame | None:
    """Every line of the ratings files named, by default of those in data/ratings; None where there is none."""
    files = paths or [path for path in sorted((home() / FOLDER).glob("*")) if path.suffix in (".jsonl", ".parquet")]
    return read_every_line(*files) if files else None
