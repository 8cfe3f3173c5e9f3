"""Ratings to analyse, with what an analysis must know of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.ratings.scales import has_words, scale_in_words
from axisjudge.ratings.selection import BY_JUDGE, EMPTY_RUN, taken


class Choice(TypedDict, total=False):
    """Which ratings of a table make a source, and what its clusters are."""

    steps: bool
    questions: Sequence[str]
    scale: str
    cluster_unit: str


class Items(TypedDict):
    """What every analysis must be told of the items of a source."""

    step_level: bool
    cluster_unit: str


@dataclass(frozen=True, eq=False)
class Source:
    """Ratings with what an analysis must know of them.

    `questions` share one scale; `step_level` says that items are steps; `cluster_unit` is what `cluster_id` holds;
    `about` says in a sentence what the ratings are and what they cannot show; `empty_runs` counts the runs without
    messages, whose ratings were left out. `truth` is what was planted, where people were simulated from it.
    """

    name: str
    ratings: pl.DataFrame
    questions: tuple[str, ...]
    step_level: bool
    cluster_unit: str
    about: str
    empty_runs: int = 0
    truth: pl.DataFrame | None = None

    @property
    def how(self) -> Items:
        """Arguments that every analysis of these ratings takes."""
        return {"step_level": self.step_level, "cluster_unit": self.cluster_unit}

    @property
    def scale_words(self) -> str:
        """The scale as a heading says it."""
        return scale_in_words(self.scale)

    @property
    def scale(self) -> str:
        """The scale that the questions share."""
        return str(self.ratings["scale"][0])

    @property
    def judges(self) -> list[str]:
        """Names of the raters who do not give labels."""
        return self.ratings.filter(BY_JUDGE)["rater"].unique().sort().to_list()


def without_empty_runs(ratings: pl.DataFrame) -> tuple[pl.DataFrame, int, str]:
    """What is left without runs that have no messages, how many runs went, and a sentence that says so.

    They are rated by definition, so that all judges agree on them.
    """
    empty = ratings.filter(EMPTY_RUN)["trajectory_id"].unique()
    left = taken(ratings, ~pl.col("trajectory_id").is_in(empty.implode()))
    return left, len(empty), about_empty_runs(len(empty))


#: Answers of more words than this are texts; coefficients count equal words.
_MOST_WORDS = 200


def refuse_texts(question: str, n_words: int, name: str) -> None:
    """Raise InputError where the answers to a question are of too many different words to count equal ones."""
    if n_words > _MOST_WORDS:
        cure = "sort them into categories first, and import those"
        raise InputError(name, f"answers to {question} are texts, of {n_words:,} different words", cure=cure)


def about_ratings(what: str, scale: str, name: str, left_out: int) -> str:
    """What the ratings of a source are, and how many of its file are not among them."""
    rest = f" {left_out:,} ratings of other items or on other scales are not among them." if left_out else ""
    return f"Ratings of {what} on the scale {scale_in_words(scale)} from {name}.{rest}"


def about_empty_runs(n_runs: int) -> str:
    """That runs without messages are left out; empty where there is none."""
    return f" Left out: runs without messages ({n_runs}), which are rated by definition." if n_runs else ""


def source_of(ratings: pl.DataFrame, name: str, **choice: Unpack[Choice]) -> Source:
    """A ratings table as a source: the first of `sources_of`."""
    return sources_of(ratings, name, **choice)[0]


def sources_of(ratings: pl.DataFrame, name: str, **choice: Unpack[Choice]) -> tuple[Source, ...]:
    """One source for each scale of a ratings table, five-axis verdicts first.

    Whole trajectories are taken unless `steps` are wanted or there is nothing else; then `questions` and `scale` where
    they are named. `about` says what is left out.

    Raises
    ------
    InputError
        The table is empty, or has no ratings of steps, of these questions or on this scale.
    """
    steps, questions, scale = choice.get("steps", False), choice.get("questions", ()), choice.get("scale", "")
    step_level = steps or ratings["step_index"].null_count() == 0
    own = taken(ratings, pl.col("step_index").is_not_null() == step_level)
    if own.is_empty():
        raise InputError(name, f"holds no ratings{' of steps' if steps else ''}")
    for question in questions:
        one_of("question", question, sorted(own["question"].unique()))
    chosen = own.filter(pl.col("question").is_in(questions)) if questions else own
    scales = chosen["scale"].unique(maintain_order=True).to_list()
    kept = [one_of("scale", scale, scales)] if scale else sorted(scales, key=lambda each: each != "verdict")
    what = "steps" if step_level else "runs"
    unit = choice.get("cluster_unit", "task")
    return tuple(_on_scale(chosen, each, name, what, ratings.height, unit) for each in kept)


def _on_scale(chosen: pl.DataFrame, scale: str, name: str, what: str, n_all: int, cluster_unit: str) -> Source:
    on_scale = taken(chosen, pl.col("scale") == scale)
    if has_words(scale):
        words = on_scale.select("question", "verdict").unique().group_by("question").len()
        for question, count in words.iter_rows():
            refuse_texts(question, count, name)
    kept, n_empty, remark = without_empty_runs(on_scale)
    return Source(
        name=name,
        ratings=kept,
        questions=tuple(kept["question"].unique(maintain_order=True)),
        step_level=what == "steps",
        cluster_unit=cluster_unit,
        about=about_ratings(what, scale, name, n_all - on_scale.height) + remark,
        empty_runs=n_empty,
    )


def of_level(ratings: pl.DataFrame, steps: bool) -> pl.DataFrame:
    """The ratings of steps alone where these are wanted; else all.

    Raises
    ------
    InputError
        There are no ratings of steps.
    """
    kept = ratings.filter(pl.col("step_index").is_not_null()) if steps else ratings
    if kept.is_empty():
        raise InputError("ratings", f"holds no ratings{' of steps' if steps else ''}")
    return kept


def coverage(ratings: pl.DataFrame, trajectories: str) -> str:
    """How many of the runs in files of `trajectories` have ratings, and the reverse; empty where no files are named."""
    if not trajectories:
        return ""
    from axisjudge.readers import read_trajectories

    runs = {run.id for run in read_trajectories(trajectories).trajectories}
    rated = set(ratings["trajectory_id"].unique())
    n = len(rated - runs)
    strange = f" {n:,} rated {'run is' if n == 1 else 'runs are'} not in {Path(trajectories).name}." if n else ""
    return f"{len(runs & rated):,} of {len(runs):,} runs in {Path(trajectories).name} are rated.{strange}"
