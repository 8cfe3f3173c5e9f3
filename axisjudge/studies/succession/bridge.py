"""A retiring judge bridged to its successor on an anchor set, question by question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import polars as pl

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.ratings.scales import level_of
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import Agreement, cohen_kappa
from axisjudge.stats.comparisons.equivalence import MARGIN, Equivalence, equivalence
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.repeats import self_agreement
from axisjudge.stats.rates.correction import CorrectedRate, Sampling, corrected_rate
from axisjudge.stats.rates.proportions import clustered_proportion, jeffreys_interval
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Given
from axisjudge.studies._shared.scope import questions_in_order
from axisjudge.studies.succession.verdicts import check_rubrics, floats, of_rater, verdicts_of
from axisjudge.verdict import VERDICTS

#: How anchors may be drawn: by a key or a human label they are not.
DRAWN: tuple[Sampling, ...] = ("random", "by_judge_verdict", "unknown")

_CODES = {word: float(code) for code, word in enumerate(VERDICTS)} | {"-1": -1.0, "0": 0.0, "+1": 1.0}


class Doubt(StrEnum):
    """Why two judges that pass both conditions on the anchors still are not shown to be equivalent."""

    NOT_RANDOM = "the anchors were not drawn at random, so that they do not stand for all runs"


@dataclass(frozen=True)
class BridgeTerms:
    """What is asked of a successor, and what intervals take as independent."""

    margin: float = MARGIN
    level: float = 0.05
    cluster_unit: str = "task"
    ci_level: float = 0.95


@dataclass(frozen=True)
class QuestionBridge(Result):
    """One question on the anchor set: the two conditions, kappa beside them, and the verdicts that changed.

    `to_incorrect` counts items that the old judge called correct (or not applicable) and the new incorrect,
    `to_correct` the other way, `one_sided` items on which only one of them decided.
    """

    _keys = columns("found=equivalence question n_anchors kappa to_incorrect to_correct one_sided")

    question: str
    n_anchors: int
    equivalence: Equivalence
    kappa: Agreement
    to_incorrect: int
    to_correct: int
    one_sided: int

    @property
    def shift_within(self) -> bool:
        """The whole interval of the shift lies within the margin."""
        shift, margin = self.equivalence.shift, self.equivalence.margin
        return -margin < shift.ci_low and shift.ci_high < margin

    @property
    def least_agreement(self) -> float:
        """What agreement must reach: the old judge's with itself, minus the margin; NaN where it was asked once."""
        own = self.equivalence.self_agreement
        return math.nan if own is None else own.estimate - self.equivalence.margin

    @property
    def agreement_enough(self) -> bool:
        """The lower bound of agreement reaches that."""
        return self.equivalence.agreement.ci_low >= self.least_agreement


@dataclass(frozen=True)
class Restated(Result):
    """One agent's failure rate on one question as the old judge gave it, and as the new one would.

    The old interval is a Beta(1/2) posterior, the re-stated one that of `stats.rates.correction`, which is a little
    wider than need be at few anchors. Runs on which the old judge took no side are not in its own rate, but are
    re-stated; anchors on which the new one took none count as not rated by it.
    `agent` is None for the runs that name none.
    """

    agent: str | None
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
class Bridge(Result):
    """The bridge from one judge to another, per question, and old results re-stated, per agent and question."""

    old: str
    new: str
    bridges: tuple[QuestionBridge, ...]
    restated: tuple[Restated, ...]


def bridge_judges(
    ratings: Given,
    old: str,
    new: str,
    *,
    questions: Sequence[str] | None = None,
    steps: bool = False,
    drawn: Sampling = "random",
    terms: BridgeTerms | None = None,
) -> Bridge:
    """Bridge an old judge to a new one; see `axisjudge.studies.succession` for arguments and errors."""
    one_of("drawn", drawn, DRAWN)
    if old == new:
        raise InputError("new", "must be another judge than the old one", new)
    table, terms = verdicts_of(ratings, steps=steps), terms or BridgeTerms()
    before, after = (of_rater(table, rater) for rater in (old, new))
    check_rubrics(pl.concat([before, after]))
    shared = set(before["question"]) & set(after["question"])
    for question in questions or ():
        one_of("questions", question, sorted(shared))
    bridges, restated = [], []
    for question in questions or questions_in_order(shared):
        mine = before.filter(pl.col("question") == question)
        both = _joined(mine, after.filter(pl.col("question") == question))
        bridge = _bridge(question, mine, both.filter("asked"), terms)
        bridges.append(bridge if drawn == "random" else _doubted(bridge, Doubt.NOT_RANDOM))
        restated += restated_rates(question, both, drawn, cluster_unit=terms.cluster_unit, ci_level=terms.ci_level)
    if not any(bridge.n_anchors for bridge in bridges):
        raise TooLittle("ratings", f"must hold items that both {old} and {new} rated", cure="judge an anchor set")
    return Bridge(old, new, tuple(bridges), tuple(restated))


def _joined(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """All items of the old judge's first repeat, with the new judge's first word where it gave one."""
    first = before.filter(pl.col("repeat") == before["repeat"].min())
    new = after.filter(pl.col("repeat") == after["repeat"].min()).select(
        "item_id", pl.col("verdict").alias("verdict_new"), pl.col("failed").alias("failed_new"), asked=pl.lit(True)
    )
    return first.join(new, on="item_id", how="left").sort("item_id").with_columns(pl.col("asked").fill_null(False))


def _bridge(question: str, mine: pl.DataFrame, anchors: pl.DataFrame, terms: BridgeTerms) -> QuestionBridge:
    old, new = (floats(anchors[name]) for name in ("failed", "failed_new"))
    clusters = anchors["cluster_id"].to_numpy()
    return QuestionBridge(
        question=question,
        n_anchors=anchors.height,
        equivalence=equivalence(
            old,
            new,
            floats(anchors["verdict"] == anchors["verdict_new"]),
            self_agreement=_own_agreement(mine, terms),
            clusters=clusters,
            cluster_unit=terms.cluster_unit,
            margin=terms.margin,
            level=terms.level,
        ),
        kappa=cohen_kappa(
            np.column_stack([_codes(anchors[name]) for name in ("verdict", "verdict_new")]),
            weights="quadratic" if level_of(mine["scale"][0]) == "ordinal" else "unweighted",
            categories=range(len(VERDICTS)) if mine["scale"][0] == "verdict" else (-1, 0, 1),
            clusters=clusters,
            cluster_unit=terms.cluster_unit,
            ci_level=terms.ci_level,
        ),
        to_incorrect=int(((old == 0) & (new == 1)).sum()),
        to_correct=int(((old == 1) & (new == 0)).sum()),
        one_sided=int((np.isnan(old) != np.isnan(new)).sum()),
    )


def _doubted(bridge: QuestionBridge, doubt: Doubt) -> QuestionBridge:
    reasons = (*bridge.equivalence.reasons, doubt.value)
    return replace(bridge, equivalence=replace(bridge.equivalence, reasons=reasons))


def _own_agreement(mine: pl.DataFrame, terms: BridgeTerms) -> Estimate | None:
    """The old judge's agreement with itself, over all items that it was asked about more than once."""
    if mine["repeat"].n_unique() < 2:
        return None
    wide = mine.pivot("repeat", index=["item_id", "cluster_id"], values="verdict").sort("item_id")
    repeats = np.column_stack([_codes(column) for column in wide.drop("item_id", "cluster_id")])
    level, clusters = 1 - 2 * terms.level, wide["cluster_id"].to_numpy()
    return self_agreement(repeats, clusters=clusters, cluster_unit=terms.cluster_unit, ci_level=level).agreement


def _codes(words: pl.Series) -> Floats:
    return floats(words.replace_strict(_CODES, default=None, return_dtype=pl.Float64))


def restated_rates(
    question: str, both: pl.DataFrame, drawn: Sampling, *, cluster_unit: str, ci_level: float
) -> list[Restated]:
    """One agent after the other; `both` has the old judge's `failed` and the new one's `failed_new` for each item."""
    rates = []
    for agent in both["agent"].unique().sort(nulls_last=True):
        runs = both.filter(pl.col("agent").eq_missing(agent))
        old, new, clusters = floats(runs["failed"]), floats(runs["failed_new"]), runs["cluster_id"].to_numpy()
        before = clustered_proportion(old, clusters, cluster_unit=cluster_unit, ci_level=ci_level)
        rate = corrected_rate(old, new, sampling=drawn, clusters=clusters, cluster_unit=cluster_unit, ci_level=ci_level)
        rates.append(Restated(agent, question, int((~np.isnan(new)).sum()), _posterior(before), rate))
    return rates


def _posterior(rate: Estimate) -> Estimate:
    """The rate of independent runs with the posterior interval that clustered ones have too."""
    if not rate.n_items or rate.n_clusters < rate.n_items:
        return rate
    low, high = jeffreys_interval(round(rate.estimate * rate.n_items), rate.n_items, ci_level=rate.ci_level)
    return replace(rate, ci_low=low, ci_high=high, method="Beta(1/2) posterior")
