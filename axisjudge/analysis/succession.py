"""A retiring judge bridged to its successor on an anchor set, and old results re-stated with the extra doubt."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from axisjudge.analysis.frames import Kind, kind_of, table_of, to_polars
from axisjudge.analysis.pooled import Floats
from axisjudge.analysis.words import listed, many
from axisjudge.checks import InputError
from axisjudge.stats.agreement import Agreement, cohen_kappa
from axisjudge.stats.correction import CorrectedRate, Sampling, corrected_rate
from axisjudge.stats.equivalence import MARGIN, Equivalence, equivalence
from axisjudge.stats.estimate import Estimate, UndefinedStatisticWarning
from axisjudge.stats.intervals import clustered_proportion, jeffreys_interval
from axisjudge.stats.repeats import self_agreement
from axisjudge.verdict import AXES, VERDICTS

#: How a word counts in a failure rate; an uncertain or lost verdict takes no side.
FAILED = {"incorrect": 1.0, "correct": 0.0, "not_applicable": 0.0}

_COLUMNS = (
    *("trajectory_id", "item_id", "step_index", "interaction_id", "cluster_id", "agent", "question", "scale"),
    *("rater", "repeat", "verdict"),
)


@dataclass(frozen=True)
class Bridge:
    """One question on the anchor set: the two conditions, kappa beside them, and the verdicts that changed.

    `found` flags: `to_incorrect` items that the old judge called correct (or not applicable) and the new incorrect,
    `to_correct` the other way, `one_sided` items on which only one of them decided.
    """

    question: str
    n_anchors: int
    found: Equivalence
    kappa: Agreement
    to_incorrect: int
    to_correct: int
    one_sided: int


@dataclass(frozen=True)
class Restated:
    """One agent's failure rate on one question as the old judge gave it, and as the new one would.

    Both intervals come from Beta(1/2) posteriors, so that their widths compare.
    """

    agent: str
    question: str
    n_anchors: int
    before: Estimate
    rate: CorrectedRate

    @property
    def extra_doubt(self) -> float:
        """Width of the re-stated interval over that of the old one."""
        new = self.rate.rate
        return (new.ci_high - new.ci_low) / (self.before.ci_high - self.before.ci_low)


@dataclass(frozen=True)
class Succession:
    """The bridge from one judge to another, per question, and old results re-stated, per agent and question."""

    old: str
    new: str
    bridges: tuple[Bridge, ...]
    restated: tuple[Restated, ...]
    kind: Kind

    def to_frame(self) -> Any:
        """One row a question: shift and agreement with their bounds, and what is shown."""
        return table_of([_bridge_row(bridge) for bridge in self.bridges], self.kind)

    def restated_frame(self) -> Any:
        """One row an agent and question: the rate as it was, as it is re-stated, and how much wider it became."""
        columns = (
            "agent",
            "question",
            "runs",
            "anchors",
            "old judge",
            "low",
            "high",
            "re-stated",
            "from",
            "to",
            "wider",
        )
        return table_of([dict(zip(columns, _restated_row(each), strict=True)) for each in self.restated], self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        return {
            "old": self.old,
            "new": self.new,
            "bridges": [
                {**vars(bridge), "found": bridge.found.to_dict(), "kappa": bridge.kappa.to_dict()}
                for bridge in self.bridges
            ],
            "restated": [
                {**vars(each), "before": each.before.to_dict(), "rate": each.rate.to_dict()} for each in self.restated
            ],
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """Where the new judge may take the old one's place, and where that is not shown and why."""
        shown = [bridge.question for bridge in self.bridges if bridge.found.equivalent]
        margin = self.bridges[0].found.margin
        said = [
            f"{self.new} is equivalent to {self.old} on {listed(shown)}, with a margin of {margin:.2f} on the failure "
            "rate and on agreement."
            if shown
            else f"On no question is {self.new} shown to be equivalent to {self.old} (margin {margin:.2f})."
        ]
        said += [
            f"{bridge.question}: not shown, because {listed(bridge.found.reasons)}."
            for bridge in self.bridges
            if not bridge.found.equivalent
        ]
        wider = [each.extra_doubt for each in self.restated if not math.isnan(each.extra_doubt)]
        if wider:
            said.append(
                f"Of {many(len(self.restated), 'old rate')} {len(wider)} can be re-stated; their intervals become "
                f"{np.median(wider):.1f} times as wide (median), because the bridge has its own doubt."
            )
        return tuple(said)


def succession(
    ratings: Any,
    old: str,
    new: str,
    *,
    questions: Sequence[str] | None = None,
    drawn: Sampling = "random",
    margin: float = MARGIN,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Succession:
    """Bridge an old judge to a new one from stored ratings; neither is called.

    The anchor set are the runs that the new judge rated; the old results all runs that the old judge rated, in its
    first repeat. Its further repeats give its agreement with itself.

    Parameters
    ----------
    ratings : table
        A ratings table with both judges, one rating for each item, question, judge and repeat.
    old, new : str
        The raters' names.
    questions : sequence of str, optional
        By default all that both rated.
    drawn : str
        How the anchors were drawn from the old judge's runs (`axisjudge.stats.correction`); in an unknown way, old
        rates are not re-stated.
    margin, level : float
        Of the two conditions (`axisjudge.stats.equivalence`).

    Raises
    ------
    InputError
        One of the judges is not in the table, they share no item, or an item has two ratings of one judge and repeat.
    """
    table = to_polars(ratings, _COLUMNS, where="ratings").filter(
        (pl.col("scale") == "verdict") & pl.col("step_index").is_null() & pl.col("interaction_id").is_null()
    )
    before, after = (_of(table, rater) for rater in (old, new))
    shared = set(before["question"]) & set(after["question"])
    asked = [question for question in questions or [*AXES, *sorted(shared - set(AXES))] if question in shared]
    about: dict[str, Any] = {"cluster_unit": cluster_unit}
    bridges, restated = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedStatisticWarning)  # the reasons are in the results
        for question in asked:
            mine = before.filter(pl.col("question") == question)
            both = _joined(mine, after.filter(pl.col("question") == question))
            bridges.append(_bridge(question, mine, both, {**about, "margin": margin, "level": level}, ci_level))
            restated += _restate(question, both, drawn, {**about, "ci_level": ci_level})
    if not any(bridge.n_anchors for bridge in bridges):
        raise InputError("ratings", f"must hold items that both {old} and {new} rated", cure="judge an anchor set")
    return Succession(old, new, tuple(bridges), tuple(restated), kind_of(ratings))


def _of(table: pl.DataFrame, rater: str) -> pl.DataFrame:
    mine = table.filter(pl.col("rater") == rater).sort("item_id", "question", "repeat")
    if mine.is_empty():
        there = listed(table["rater"].unique().sort().to_list() or ["no rater"])
        raise InputError("ratings", f"must hold ratings by {rater}", f"ratings by {there}")
    if mine.select("item_id", "question", "repeat").is_duplicated().any():
        raise InputError(
            "ratings", f"one rating for each item, question and repeat of {rater}", cure="filter by prompt"
        )
    return mine.with_columns(failed=pl.col("verdict").replace_strict(FAILED, default=None, return_dtype=pl.Float64))


def _joined(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """All items of the old judge's first repeat, with the new judge's first word where it gave one."""
    first = before.filter(pl.col("repeat") == before["repeat"].min())
    new = after.filter(pl.col("repeat") == after["repeat"].min()).select(
        "item_id", pl.col("verdict").alias("verdict_new"), pl.col("failed").alias("failed_new"), asked=pl.lit(True)
    )
    return first.join(new, on="item_id", how="left").sort("item_id").with_columns(pl.col("asked").fill_null(False))


def _bridge(question: str, mine: pl.DataFrame, both: pl.DataFrame, about: dict[str, Any], ci_level: float) -> Bridge:
    anchors = both.filter("asked")
    old, new = (_floats(anchors[name]) for name in ("failed", "failed_new"))
    same = (anchors["verdict"] == anchors["verdict_new"]).cast(pl.Float64)
    clusters = anchors["cluster_id"].to_numpy()
    codes = {word: float(at) for at, word in enumerate(VERDICTS)}
    said = [
        _floats(anchors[name].replace_strict(codes, default=None, return_dtype=pl.Float64))
        for name in ("verdict", "verdict_new")
    ]
    return Bridge(
        question=question,
        n_anchors=anchors.height,
        found=equivalence(old, new, _floats(same), self_agreement=_own(mine, about), clusters=clusters, **about),
        kappa=cohen_kappa(
            np.column_stack(said),
            categories=range(len(VERDICTS)),
            clusters=clusters,
            cluster_unit=about["cluster_unit"],
            ci_level=ci_level,
        ),
        to_incorrect=int(((old == 0) & (new == 1)).sum()),
        to_correct=int(((old == 1) & (new == 0)).sum()),
        one_sided=int((np.isnan(old) != np.isnan(new)).sum()),
    )


def _own(mine: pl.DataFrame, about: dict[str, Any]) -> Estimate | None:
    """The old judge's agreement with itself, over all items that it was asked about more than once."""
    if mine["repeat"].n_unique() < 2:
        return None
    codes = {word: float(at) for at, word in enumerate(VERDICTS)}
    wide = (
        mine.with_columns(code=pl.col("verdict").replace_strict(codes, default=None, return_dtype=pl.Float64))
        .pivot("repeat", index=["item_id", "cluster_id"], values="code")
        .sort("item_id")
    )
    said = wide.drop("item_id", "cluster_id").to_numpy()
    level = 1 - 2 * about["level"]
    unit = about["cluster_unit"]
    return self_agreement(said, clusters=wide["cluster_id"].to_numpy(), cluster_unit=unit, ci_level=level).agreement


def _restate(question: str, both: pl.DataFrame, drawn: Sampling, about: dict[str, Any]) -> list[Restated]:
    found = []
    for agent in both["agent"].drop_nulls().unique().sort():
        runs = both.filter(pl.col("agent") == agent)
        old, new = _floats(runs["failed"]), _floats(runs["failed_new"])
        how = {"clusters": runs["cluster_id"].to_numpy(), **about}
        before = _before(old, how)
        rate = corrected_rate(old, new, sampling=drawn, **how)
        found.append(Restated(agent, question, int((~np.isnan(new)).sum()), before, rate))
    return found


def _before(old: Floats, how: dict[str, Any]) -> Estimate:
    """The old judge's own rate; independent runs get the posterior that re-stated rates have, not the exact one."""
    found = clustered_proportion(old, **how)
    if found.method not in ("Wilson", "Clopper-Pearson"):
        return found
    low, high = jeffreys_interval(float(np.nansum(old)), found.n_items, ci_level=found.ci_level)
    return replace(found, ci_low=low, ci_high=high, method="Beta(1/2) posterior")


def _floats(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).fill_null(math.nan).to_numpy()


def _bridge_row(bridge: Bridge) -> dict[str, Any]:
    found = bridge.found
    return {
        "question": bridge.question,
        "anchors": bridge.n_anchors,
        "tasks": found.agreement.n_clusters,
        "shift": found.shift.estimate,
        "shift from": found.shift.ci_low,
        "shift to": found.shift.ci_high,
        "agreement": found.agreement.estimate,
        "at least": found.agreement.ci_low,
        "old with itself": math.nan if found.self_agreement is None else found.self_agreement.estimate,
        "kappa": bridge.kappa.estimate,
        "to incorrect": bridge.to_incorrect,
        "to correct": bridge.to_correct,
        "shown": "equivalent" if found.equivalent else "not shown",
    }


def _restated_row(each: Restated) -> tuple[Any, ...]:
    old, new = each.before, each.rate.rate
    return (
        *(each.agent, each.question, old.n_items, each.n_anchors),
        *(old.estimate, old.ci_low, old.ci_high, new.estimate, new.ci_low, new.ci_high, each.extra_doubt),
    )
