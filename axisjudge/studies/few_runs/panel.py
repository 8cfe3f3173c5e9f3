"""A ratings table as the items that the latent model takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.ratings.selection import BY_JUDGE, BY_LABELLER, EMPTY_RUN, once
from axisjudge.stats.latent.rated import RatedItems, crossed, of_levels
from axisjudge.studies._shared.frames import Given, to_polars
from axisjudge.studies._shared.scope import made_up_raters, questions_in_order

COLUMNS = (
    *("item_id", "trajectory_id", "step_index", "cluster_id", "agent", "question", "scale", "repeat"),
    *("rater", "rater_kind", "family", "status", "verdict", "flags"),
)
#: Scales that have a word for failing, with what each word says; other words leave it open.
FAILING = {"verdict": {"incorrect": 1.0, "correct": 0.0}, "step": {"-1": 1.0, "0": 0.0, "+1": 0.0}}
UNNAMED = "(agent not named)"


@dataclass(frozen=True, eq=False)
class RatedPanel:
    """Items with the names of what they are grouped by; `n_open` counts verdicts that say neither word."""

    items: RatedItems
    item_ids: tuple[str, ...]
    agents: tuple[str, ...]
    axes: tuple[str, ...]
    judges: tuple[str, ...]
    n_runs: int
    n_tasks: int
    n_open: int
    made_up: tuple[str, ...]
    steps: bool


def rated_panel(
    ratings: Given,
    labels: Given | None = None,
    *,
    judges: Sequence[str] | None = None,
    steps: bool | None = None,
    runs: int = 0,
    seed: int = 0,
) -> RatedPanel:
    """Arguments as of `axisjudge.studies.few_runs`."""
    given = to_polars(ratings, COLUMNS, where="ratings")
    labelled = given.filter(BY_LABELLER) if labels is None else to_polars(labels, COLUMNS, where="labels")
    judged = given.filter(BY_JUDGE, ~EMPTY_RUN)
    if judges is not None:
        known = judged["rater"].unique().sort().to_list()
        judged = judged.filter(pl.col("rater").is_in([one_of("judges", name, known) for name in judges]))
    of_runs = judged.filter(pl.col("step_index").is_null())
    by_step = of_runs.is_empty() if steps is None else steps
    judged = judged.filter(pl.col("step_index").is_not_null()) if by_step else of_runs
    scales = judged["scale"].unique().sort().to_list()
    if len(scales) != 1 or scales[0] not in FAILING:
        cure = f"give ratings on one scale of {', '.join(FAILING)}"
        raise TooLittle("ratings", "must have a word for failing", ", ".join(scales) or "no ratings of judges", cure)
    judged = _drawn(judged, runs, seed)
    of_scale = (pl.col("scale") == scales[0]) & (pl.col("step_index").is_not_null() == by_step)
    people = labelled.filter(BY_LABELLER & of_scale & (pl.col("repeat") == 0))
    once(judged, "item_id", "question", "rater", "repeat", rule="one rating for each item, axis, judge and repeat")
    word = pl.col("verdict").replace_strict(FAILING[scales[0]], default=None, return_dtype=pl.Float64)
    decided = judged.with_columns(failing=word).filter(pl.col("failing").is_not_null())
    rated = judged if decided.is_empty() else decided  # with every verdict lost the page says so
    items = rated.select("item_id", "question", "trajectory_id", "cluster_id", "agent").unique(["item_id", "question"])
    items = items.sort("cluster_id", "trajectory_id", "item_id", "question").with_row_index("item")
    names = rated.select("family", "rater").unique("rater").sort("family", "rater")["rater"].to_list()
    counts = (
        decided.join(items, on=["item_id", "question"])
        .group_by("item", "rater")
        .agg(pl.col("failing").sum().alias("incorrect"), pl.len().cast(pl.Float64).alias("given"))
    )
    at = counts["item"].to_numpy(), np.array([names.index(name) for name in counts["rater"]], dtype=np.intp)
    incorrect, n_given = np.zeros((items.height, len(names))), np.zeros((items.height, len(names)))
    incorrect[at], n_given[at] = counts["incorrect"].to_numpy(), counts["given"].to_numpy()
    agents, agent = of_levels(items["agent"].fill_null(UNNAMED).to_list())
    axes = tuple(questions_in_order(items["question"]))
    groups = {
        "task": of_levels(items["cluster_id"].to_list())[1],
        "run": of_levels(items["trajectory_id"].to_list())[1],
        "agent": agent,
        "axis": np.array([axes.index(name) for name in items["question"]], dtype=np.intp),
    }
    if by_step and len(axes) > 1:
        groups["step"] = crossed([of_levels(items["item_id"].to_list())[1]])
    return RatedPanel(
        items=RatedItems(incorrect, n_given, _labels(people.with_columns(failing=word), items), groups),
        item_ids=tuple(items["item_id"]),
        agents=agents,
        axes=axes,
        judges=tuple(names),
        n_runs=int(groups["run"].max()) + 1,
        n_tasks=int(groups["task"].max()) + 1,
        n_open=judged.height - decided.height,
        made_up=made_up_raters(judged, people.join(items, on=["item_id", "question"], how="semi")),
        steps=by_step,
    )


def _labels(people: pl.DataFrame, items: pl.DataFrame) -> NDArray[np.float64]:
    """What most labellers say of each item; NaN on a tie or without a label."""
    share = people.group_by("item_id", "question").agg(pl.col("failing").mean())
    of_items = items.join(share, on=["item_id", "question"], how="left").sort("item")["failing"]
    shares = of_items.fill_null(float("nan")).to_numpy()
    return np.where(np.isnan(shares) | (shares == 0.5), np.nan, shares > 0.5).astype(np.float64)


def _drawn(judged: pl.DataFrame, runs: int, seed: int) -> pl.DataFrame:
    """Tasks at random, whole, until they hold so many runs; all where `runs` is 0."""
    if runs < 0:
        raise InputError("runs", "must be 0 (all) or more", runs)
    sizes = judged.group_by("cluster_id").agg(pl.col("trajectory_id").n_unique()).sort("cluster_id")
    if not runs or sizes["trajectory_id"].sum() <= runs:
        return judged
    shuffled = sizes[np.random.default_rng(seed).permutation(sizes.height)]
    before = shuffled["trajectory_id"].cum_sum() - shuffled["trajectory_id"]
    return judged.filter(pl.col("cluster_id").is_in(shuffled.filter(before < runs)["cluster_id"].implode()))
