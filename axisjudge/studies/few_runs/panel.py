"""A ratings table as the items that the latent model takes, and the design-based figures beside those of the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, in_unit_interval
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER, EMPTY_RUN, by_raters, once, sides_of
from axisjudge.results import Result
from axisjudge.stats.agreement.effective import effective_judges
from axisjudge.stats.clusters import OUTCOME_ICC, STEP_ICC
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.latent_panel import CellRate, JudgeRates, LatentPanel, NoModel, Sampler, latent_panel, with_all
from axisjudge.stats.latent_sampler import RatedItems, crossed, of_levels
from axisjudge.stats.proportions import bounded_share
from axisjudge.studies._shared.frames import (
    Given,
    Kind,
    cube,
    first_of_each,
    kind_of,
    made_up_raters,
    questions_in_order,
    to_polars,
)

Floats = NDArray[np.float64]

COLUMNS = (
    *("item_id", "trajectory_id", "step_index", "cluster_id", "agent", "question", "scale", "repeat"),
    *("rater", "rater_kind", "family", "status", "verdict", "flags"),
)
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
    kind: Kind


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
    judged = by_raters(given.filter(BY_JUDGE, ~EMPTY_RUN), judges)
    of_runs = judged.filter(pl.col("step_index").is_null())
    by_step = of_runs.is_empty() if steps is None else steps
    judged = judged.filter(pl.col("step_index").is_not_null()) if by_step else of_runs
    scales = judged["scale"].unique().sort().to_list()
    if len(scales) != 1 or not sides_of(scales[0]):
        cure = "give ratings on one scale whose failing word is known, such as verdict, step or nominal:fail,pass"
        raise TooLittle("ratings", "must have a word for failing", ", ".join(scales) or "no ratings of judges", cure)
    judged = _drawn(judged, runs, seed)
    of_scale = (pl.col("scale") == scales[0]) & (pl.col("step_index").is_not_null() == by_step)
    people = labelled.filter(BY_LABELLER & of_scale & (pl.col("repeat") == 0))
    once(judged, "item_id", "question", "rater", "repeat", rule="one rating for each item, axis, judge and repeat")
    word = pl.col("verdict").replace_strict(sides_of(scales[0]), default=None, return_dtype=pl.Float64)
    decided = judged.with_columns(failing=word).filter(pl.col("failing").is_not_null())
    rated = judged if decided.is_empty() else decided  # with every verdict lost the page says so
    items = first_of_each(rated, ("item_id", "question", "trajectory_id", "cluster_id", "agent"), n_keys=2)
    items = items.sort("cluster_id", "trajectory_id", "item_id", "question").with_row_index("item")
    names = first_of_each(rated, ("rater", "family")).sort("family", "rater")["rater"].to_list()
    of_items = decided.join(items, on=["item_id", "question"]).group_by("item", "rater")
    counts = of_items.agg(incorrect=pl.col("failing").sum(), given=pl.len().cast(pl.Float64))
    sides = {"item": items["item"].to_list(), "rater": names}
    incorrect, n_given = (np.nan_to_num(cube(counts, sides, counts[name])) for name in ("incorrect", "given"))
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
        kind=kind_of(ratings),
    )


def _labels(people: pl.DataFrame, items: pl.DataFrame) -> Floats:
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


@dataclass(frozen=True)
class Beside(Result):
    """One agent on one axis: by the model, and by design.

    `called` is the share that judges call incorrect, mean over those that say, `labelled` the share of labelled items
    that fail; both with tasks as clusters, and of these items alone.
    """

    model: CellRate
    called: Estimate
    labelled: Estimate


@dataclass(frozen=True)
class JudgeBeside(Result):
    """One judge: by the model, and on the labelled items."""

    model: JudgeRates
    sensitivity: Estimate
    specificity: Estimate


@dataclass(frozen=True)
class LabelsHidden(Result):
    """The model with some labels hidden, against these, beside the judges' votes counted.

    `accuracy` is the share of hidden labels on which a probability above one half is right, `brier` the mean squared
    distance of the probability from the label; `votes` of the share of judges that call an item incorrect. `failing`
    is the model's rate, `labelled` that of all labels, `alone` that of the labels it saw.
    """

    failing: Estimate
    labelled: Estimate
    alone: Estimate
    accuracy: float
    votes_accuracy: float
    brier: float
    votes_brier: float
    n_hidden: int
    refusal: NoModel


def rates_beside(panel: RatedPanel, model: LatentPanel, *, ci_level: float) -> tuple[Beside, ...]:
    """Every agent and axis, with ``all`` where there are several."""
    counted = _share_failing(panel)
    groups = panel.items.groups
    rows = []
    for agent in with_all(panel.agents):
        for axis in with_all(panel.axes):
            here = np.ones(panel.items.n_items, dtype=bool)
            here &= (groups["agent"] == panel.agents.index(agent)) if agent != "all" else True
            here &= (groups["axis"] == panel.axes.index(axis)) if axis != "all" else True
            called, labelled = (
                _share(panel, np.where(here, values, np.nan), ci_level) for values in (counted, panel.items.labels)
            )
            of_model = next((one for one in model.cells if (one.agent, one.axis) == (agent, axis)), None)
            if of_model is None:
                nothing = replace(model.effective, n_items=int(here.sum()))
                of_model = CellRate(agent, axis, nothing, nothing)
            rows.append(Beside(of_model, called, labelled))
    return tuple(rows)


def judges_beside(panel: RatedPanel, model: LatentPanel, *, ci_level: float) -> tuple[JudgeBeside, ...]:
    """Every judge of the model, with its rates of being right on labelled items."""
    items = panel.items
    word = np.where(items.given > 0, items.incorrect / np.maximum(items.given, 1), np.nan)
    return tuple(
        JudgeBeside(
            one,
            _share(panel, np.where(items.labels == 1, word[:, at], np.nan), ci_level),
            _share(panel, np.where(items.labels == 0, 1 - word[:, at], np.nan), ci_level),
        )
        for at, one in enumerate(model.judges)
    )


def effective_by_design(panel: RatedPanel, *, ci_level: float) -> Estimate | None:
    """Effective judges against the labels, by correlation of errors; None without labels or with one judge."""
    items = panel.items
    if items.n_judges < 2 or np.isnan(items.labels).all():
        return None
    word = np.where(items.given > 0, items.incorrect * 2 > items.given, np.nan)
    tasks = items.groups["task"]
    return effective_judges(word, items.labels, clusters=tasks, cluster_unit="task", ci_level=ci_level).n_effective


def hide_labels(
    panel: RatedPanel, share: float, *, ci_level: float, seed: int, sampler: Sampler
) -> LabelsHidden | None:
    """The model with this share of the labels hidden, drawn at random, against them; None where none is hidden.

    Raises
    ------
    InputError
        The share is not in [0, 1].
    """
    items = panel.items
    known = np.flatnonzero(~np.isnan(items.labels))
    n_hidden = round(in_unit_interval("hidden", share) * len(known))
    if not n_hidden:
        return None
    hidden = np.random.default_rng(seed).permutation(known)[:n_hidden]
    labels = items.labels.copy()
    labels[hidden] = np.nan
    names = {"agent": panel.agents, "axis": panel.axes}
    seen = replace(items, labels=labels)
    model = latent_panel(seen, names, panel.judges, ci_level=ci_level, seed=seed, sampler=sampler)
    truth, votes, probability = items.labels[hidden], _share_failing(panel)[hidden], model.probabilities[hidden]
    return LabelsHidden(
        failing=model.cells[-1].failing if model.cells else model.effective,
        labelled=_share(panel, items.labels, ci_level),
        alone=_share(panel, labels, ci_level),
        accuracy=_accuracy(probability, truth),
        votes_accuracy=_accuracy(votes, truth),
        brier=float(((probability - truth) ** 2).mean()),
        votes_brier=float(((votes - truth) ** 2).mean()),
        n_hidden=n_hidden,
        refusal=model.refusal,
    )


def _share_failing(panel: RatedPanel) -> Floats:
    """The share of the judges that say anything who call each item incorrect, repeats counted in part; NaN of none."""
    given = panel.items.given
    word = np.where(given > 0, panel.items.incorrect / np.maximum(given, 1), 0.0)
    n_judges = (given > 0).sum(axis=1)
    return np.where(n_judges > 0, word.sum(axis=1) / np.maximum(n_judges, 1), np.nan)


def _accuracy(probability: Floats, truth: Floats) -> float:
    """Share right; a half is right half the time, and NaN throughout gives NaN."""
    if np.isnan(probability).any():
        return math.nan
    return float(np.where(probability == 0.5, 0.5, (probability > 0.5) == (truth == 1)).mean())


def _share(panel: RatedPanel, values: Floats, ci_level: float) -> Estimate:
    icc = STEP_ICC if panel.steps else OUTCOME_ICC
    tasks = panel.items.groups["task"]
    return bounded_share(values, tasks, cluster_unit="task", expected_icc=icc, ci_level=ci_level)
