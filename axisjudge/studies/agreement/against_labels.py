"""Judges against labels, and judges by their confidence: what the panel is worth, its steps, its weighted agreement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from axisjudge.checks import TooLittle, one_of
from axisjudge.ratings.edge import BY_JUDGE, as_ratings, once
from axisjudge.results import Result, columns
from axisjudge.sources import Source
from axisjudge.stats.agreement.chance_corrected import Agreement, cohen_kappa
from axisjudge.stats.agreement.coefficients import alpha_of, coefficient_names, coefficient_of_two
from axisjudge.stats.agreement.effective import EffectiveJudges, WithoutOne, effective_judges, leave_out
from axisjudge.stats.agreement.soft import CaseWeighted, SoftAgreement, beliefs, case_weighted, soft_agreement
from axisjudge.stats.clusters import STEP_ICC
from axisjudge.stats.estimate import Estimate, IntervalTerms
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.studies._shared import frames
from axisjudge.studies._shared.pooled import Pooled, PooledSample
from axisjudge.studies._shared.ranking import NoRanks, confidence_ranks
from axisjudge.studies._shared.result import Part
from axisjudge.studies.agreement import by_family
from axisjudge.studies.agreement import sentences as words
from axisjudge.studies.agreement.sentences import NoWorth

#: The sentence is about alpha, at the level of the scale.
_ALPHAS = (alpha_of("nominal"), alpha_of("ordinal"))

COMBINE: tuple[Literal["product", "minimum"], ...] = ("product", "minimum")

_PANEL = columns(
    "coefficient weights=combine unweighted case_weighted=weighted difference=estimate low=ci_low",
    "high=ci_high p_value kish_n n_items",
)


_VALUES = {"-1": -1.0, "0": 0.0, "+1": 1.0}
ERROR = "-1"


class PanelWorth(Part, name="effective_judges", caption="The panel, whole and without a family or a judge"):
    """A panel against labels; `measured` is None where it cannot be measured, and `reason` says why.

    A judge is right where its word is the label's, with several labellers the commonest of theirs; items where these
    tie have no label.
    """

    _keys = columns(
        "n_effective=measured.n_effective by_label_error accuracy majority=measured.majority",
        "n_majority=measured.n_majority n_tied=measured.n_tied n_answered best_single=measured.best_single",
        "without_judge without_family n_unlabelled reason",
    )

    panel: Pooled
    measured: EffectiveJudges | None
    without_judge: tuple[WithoutOne, ...]
    without_family: tuple[WithoutOne, ...]
    n_unlabelled: int
    reason: NoWorth

    where = property(lambda self: self.panel.where)
    judges = property(lambda self: self.panel.judges)
    families = property(lambda self: self.panel.families[: self.panel.n_judges])

    @property
    def table(self) -> frames.Table:
        """One row for the panel, then one without each family and each judge; no number where none has an interval."""
        if self.measured is None:
            return frames.table_of([], self.kind, columns=("without",))
        number = self.measured.n_effective
        whole = WithoutOne("nobody", len(self.judges), number.estimate, self.measured.majority)
        parts = {"family": self.without_family, "judge": self.without_judge}
        named = [("nobody", whole), *((f"{what} {one.left_out}", one) for what, of in parts.items() for one in of)]
        shown = {"judges": "n_judges", "effective_judges": "n_effective", "majority_accuracy": "majority"}
        rows = frames.rows_of((one for _, one in named), shown)
        if math.isnan(number.ci_low):  # so few errors tell nothing, of the whole or of parts
            rows = [row | {"effective_judges": None} for row in rows]
        return frames.table_of(
            [{"without": name, **row} for (name, _), row in zip(named, rows, strict=True)], self.kind
        )

    @property
    def behind(self) -> list[dict[str, str]]:
        """The labelled items of each row's judges, as the explorer's filters."""
        family = dict(zip(self.judges, self.families, strict=True))
        left = [list(self.judges)]
        left += [[judge for judge in self.judges if family[judge] != one.left_out] for one in self.without_family]
        left += [[judge for judge in self.judges if judge != one.left_out] for one in self.without_judge]
        return [{"label": "any", "judge": "\n".join(judges)} for judges in left]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report; the reason alone where there is nothing else."""
        return {"reason": self.reason} if self.measured is None else super().to_dict()

    @property
    def by_label_error(self) -> list[dict[str, float]]:
        """Effective judges, and the mean correlation of errors, at each assumed share of wrong labels."""
        names = ("label_error", "n_effective", "mean_rho")
        return [dict(zip(names, row, strict=True)) for row in (self.measured.by_label_error if self.measured else ())]

    @property
    def accuracy(self) -> dict[str, float]:
        """Each judge's share of items on which it says what the label says."""
        return dict(zip(self.judges, self.measured.accuracy.tolist(), strict=True)) if self.measured else {}

    @property
    def n_answered(self) -> dict[str, int]:
        """On how many labelled items each judge gave a word: the base of its accuracy."""
        return dict(zip(self.judges, self.measured.n_answered, strict=True)) if self.measured else {}

    answer = property(words.effective_in_full)
    plot = by_family.plot_panel_worth


def panel_worth(panel: Pooled, *, cluster_unit: str = "task", ci_level: float = 0.95) -> PanelWorth:
    """The effective number of judges against labels, with leave-one-judge-out and leave-one-family-out."""
    codes, label, families = panel.judged, panel.label, panel.families[: panel.n_judges]
    reason = NoWorth.NO_LABELS if np.isnan(label).all() else NoWorth.TOO_FEW if panel.n_judges < 2 else NoWorth.NONE
    n_unlabelled = int(np.isnan(label).sum())
    if reason is not NoWorth.NONE:
        return PanelWorth(panel, None, (), (), n_unlabelled, reason, kind=panel.kind)
    measured = effective_judges(codes, label, clusters=panel.clusters, cluster_unit=cluster_unit, ci_level=ci_level)
    without_judge, without_family = (tuple(leave_out(codes, label, of)) for of in (panel.judges, families))
    return PanelWorth(panel, measured, without_judge, without_family, n_unlabelled, reason, kind=panel.kind)


@dataclass(frozen=True)
class ConfidentPair(Result):
    """Two judges: soft agreement corrected for chance, and kappa with cases weighted by product and by minimum."""

    judges: tuple[str, str]
    families: tuple[str, str]
    soft: SoftAgreement | None
    product: CaseWeighted
    minimum: CaseWeighted


class Confident(
    Part,
    name="confident",
    caption="Case-weighted against unweighted, the whole panel",
    formats={"p_value": ".3f", "kish_n": ".0f"},
    behind={"only": "weighed"},
):
    """The confidence-weighted variants of one question or several; empty with a `reason` where confidences are missing.

    `panel` weights the coefficients of all judges together. `normalised` says what the ranks of confidence rest on.
    One row a coefficient of the whole panel.
    """

    _rows = "panel", _PANEL
    _keys = ("pairs", "panel", "normalised", "reason")

    where: str
    pairs: tuple[ConfidentPair, ...]
    panel: tuple[CaseWeighted, ...]
    normalised: str
    reason: NoRanks

    @property
    def answer(self) -> str:
        """Whether weighting by confidence changes the panel's agreement, and whether the minimum says the same."""
        if self.reason is not NoRanks.NONE:
            return words.UNWEIGHTED.format(where=self.where, reason=self.reason)
        alpha = {each.combine: each for each in self.panel if each.coefficient in _ALPHAS}
        return words.weighted(self.where, self.normalised, alpha["product"], alpha["minimum"])


def confident_agreement(
    ratings: frames.Given, panel: Pooled, *, cluster_unit: str = "task", ci_level: float = 0.95, seed: int = 0
) -> Confident:
    """Soft and case-weighted agreement of judges on rank-normalised confidences.

    Soft agreement needs verdicts (the scale ``verdict``); a belief stays on its verdict's side, since ranks are mapped
    to 1/2 and above, and is 1/2 of a word that takes none, which coefficients leave out. `ratings` are those of the
    `panel`, `seed` is of the permutations.
    """
    ranks, normalised = confidence_ranks(ratings, panel)
    having = [judge for judge in range(panel.n_judges) if not np.isnan(ranks[:, judge]).all()]
    if len(having) < 2:
        return Confident(panel.where, (), (), normalised, NoRanks.NO_CONFIDENCES, kind=panel.kind)
    sample: PooledSample = {"clusters": panel.clusters, "cluster_unit": cluster_unit, "ci_level": ci_level}
    sided = panel.decided()
    weighted = partial(
        case_weighted, categories=range(len(sided.categories)), strata=panel.question, rng=seed, **sample
    )
    codes, of_panel = sided.codes[:, having], coefficient_names(3, panel.level).values()  # pairs have Cohen's
    return Confident(
        where=panel.where,
        pairs=tuple(_pair(panel, ranks, list(pair), sample, weighted) for pair in itertools.combinations(having, 2)),
        panel=tuple(
            weighted(codes, ranks[:, having], coefficient=name, combine=combine)
            for name in of_panel
            for combine in COMBINE
            if name != "percent_agreement"
        ),
        normalised=normalised,
        reason=NoRanks.NONE,
        kind=panel.kind,
    )


def _pair(
    panel: Pooled, ranks: frames.Floats, pair: list[int], sample: PooledSample, weighted: Callable[..., CaseWeighted]
) -> ConfidentPair:
    codes, confidence = panel.decided().codes[:, pair], ranks[:, pair]
    held = beliefs(frames.words_of(panel.codes[:, pair], panel.categories), (1 + confidence) / 2)
    product, minimum = (
        weighted(codes, confidence, combine=combine, coefficient=coefficient_of_two(panel.level)) for combine in COMBINE
    )
    (first, second), (one, other) = ([names[at] for at in pair] for names in (panel.raters, panel.families))
    soft = soft_agreement(held, **sample) if "incorrect" in panel.categories else None
    return ConfidentPair((first, second), (one, other), soft, product, minimum)


@dataclass(frozen=True)
class StepScore(Result):
    """One judge against people.

    `step_accuracy` counts a lost label as wrong; `best_step_accuracy` is what it would be had every lost label been
    right. `kappa` is over the steps that both labelled.
    """

    judge: str
    family: str
    step_accuracy: Estimate
    best_step_accuracy: float
    first_error_accuracy: Estimate
    kappa: Agreement
    n_lost: int


_SCORES = columns(
    "judge family step_accuracy=step_accuracy.estimate step_low=step_accuracy.ci_low",
    "step_high=step_accuracy.ci_high first_error_accuracy=first_error_accuracy.estimate",
    "first_error_low=first_error_accuracy.ci_low first_error_high=first_error_accuracy.ci_high",
    "unweighted_kappa~=kappa lost=n_lost best_step_accuracy",
)


class StepScores(
    Part,
    name="step_scores",
    caption="Steps: accuracy and unweighted kappa with people",
    formats={"step_accuracy": ".4f", "first_error_accuracy": ".4f", "unweighted_kappa": ".3f"},
):
    """All judges against people, by family and name."""

    _rows = "judges", _SCORES
    _keys = ("people", "n_steps", "n_runs", "judges")

    judges: tuple[StepScore, ...]
    people: str
    n_steps: int
    n_runs: int

    answer = property(words.steps)


def step_scores(
    ratings: frames.Given,
    *,
    people: str = "people",
    question: str = "step",
    cluster_unit: str = "query",
    ci_level: float = 0.95,
) -> StepScores:
    """Step accuracy, first-error accuracy and kappa of every judge against one person's (or group's) labels.

    Step accuracy is the share of all labelled steps on which the judge gives the same of +1, 0 and -1; a lost label is
    wrong. First-error accuracy is the share of runs in which the judge's first -1 stands at the same step as people's,
    or neither has one.

    `people` is the rater whose labels count as right; intervals take clusters as independent, never steps.

    Raises
    ------
    InputError
        No such labels, or two ratings of one rater on one step.

    References
    ----------
    The rules are those by which the figures of RUCBM/AgentProcessBench are formed; see `read_agentprocessbench`.
    """
    table = as_ratings(ratings).filter(
        (pl.col("question") == question) & (pl.col("scale") == "step") & pl.col("step_index").is_not_null()
    )
    if table.is_empty():
        raise TooLittle("ratings", f"must hold step ratings of question {question!r} on the scale step")
    one_of("people", people, sorted(table["rater"].unique()))
    chosen = once(table.filter(pl.col("repeat") == 0), "item_id", "rater", rule="one rating for each step and rater")
    labels = chosen.filter(pl.col("rater") == people, pl.col("verdict").is_not_null()).select(
        "item_id", "trajectory_id", "step_index", "cluster_id", label="verdict"
    )
    judged = chosen.filter(pl.col("rater") != people, BY_JUDGE).sort("family", "rater")
    by_judge = judged.partition_by("family", "rater", maintain_order=True, as_dict=True)
    terms: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    return StepScores(
        judges=tuple(_score(judge, family, of, labels, terms) for (family, judge), of in by_judge.items()),
        people=people,
        n_steps=labels.height,
        n_runs=labels["trajectory_id"].n_unique(),
        kind=frames.kind_of(ratings),
        made_up=frames.made_up_raters(table),
    )


def _score(judge: str, family: str, judged: pl.DataFrame, labels: pl.DataFrame, terms: IntervalTerms) -> StepScore:
    both = labels.join(judged.select("item_id", "verdict"), on="item_id", how="left", maintain_order="left")
    same = (both["verdict"] == both["label"]).fill_null(False)
    lost = both["verdict"].null_count()
    first = _first_errors(both)
    codes = both.select(pl.col("label", "verdict").replace_strict(_VALUES, return_dtype=pl.Float64)).to_numpy()
    share = partial(clustered_proportion, **terms)
    return StepScore(
        judge=judge,
        family=family,
        step_accuracy=share(same.cast(float), both["cluster_id"], expected_icc=STEP_ICC),
        best_step_accuracy=(int(same.sum()) + lost) / both.height,
        first_error_accuracy=share(first["same"], first["cluster_id"]),
        kappa=cohen_kappa(codes, categories=tuple(_VALUES.values()), clusters=both["cluster_id"].to_numpy(), **terms),
        n_lost=lost,
    )


def _first_errors(both: pl.DataFrame) -> pl.DataFrame:
    """For each run, 1 where the first step called an error is the same by both words, or neither calls one."""
    judged, labelled = (pl.col("step_index").filter(pl.col(word) == ERROR).min() for word in ("verdict", "label"))
    same = judged.eq_missing(labelled).cast(pl.Float64)
    return both.group_by("trajectory_id", "cluster_id", maintain_order=True).agg(same=same)


def step_scores_of(source: Source, ci_level: float = 0.95) -> StepScores | None:
    """Step and first-error accuracy where people labelled steps on the scale ``step``, of the first question."""
    ratings = source.ratings
    on_steps = source.step_level and bool((ratings["scale"] == "step").all())
    if not on_steps or "people" not in set(ratings["rater"]):
        return None
    return step_scores(ratings, question=source.questions[0], cluster_unit=source.cluster_unit, ci_level=ci_level)
