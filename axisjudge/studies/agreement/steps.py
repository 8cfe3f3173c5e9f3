"""Judges of single steps against people, by the rules of AgentProcessBench's authors and by kappa."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from axisjudge.checks import TooLittle, one_of
from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import once
from axisjudge.results import Result, columns
from axisjudge.sources import Source
from axisjudge.stats.agreement.chance_corrected import Agreement, cohen_kappa
from axisjudge.stats.clusters import STEP_ICC
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies._shared.frames import Given, Kind, Table, frame_of, kind_of, with_ends
from axisjudge.studies.agreement import sentences as words

_VALUES = {"-1": -1.0, "0": 0.0, "+1": 1.0}
ERROR = "-1"


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


@dataclass(frozen=True)
class StepScores(Result):
    """All judges against people, by family and name."""

    _keys = ("people", "n_steps", "n_runs", "judges")

    judges: tuple[StepScore, ...]
    people: str
    n_steps: int
    n_runs: int
    kind: Kind

    def to_frame(self) -> Table:
        """One row a judge."""
        shown = columns(
            "judge family",
            with_ends("step_accuracy", "step_accuracy", low="step_low", high="step_high"),
            with_ends("first_error_accuracy", "first_error_accuracy", low="first_error_low", high="first_error_high"),
            with_ends("unweighted_kappa", "kappa", low="unweighted_kappa_low", high="unweighted_kappa_high"),
            "lost=n_lost best_step_accuracy",
        )
        return frame_of(self.judges, shown, self.kind)

    @property
    def sentence(self) -> str:
        """The widest and the narrowest distance from people."""
        ends = (pick(self.judges, key=lambda score: score.kappa.estimate) for pick in (min, max))
        worst, best = ((end.judge, end.kappa, end.step_accuracy) for end in ends)
        return words.steps(self.n_steps, self.n_runs, worst, best)


def step_scores(
    ratings: Given, *, people: str = "people", question: str = "step", cluster_unit: str = "query"
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
    judged = chosen.filter(pl.col("rater") != people, pl.col("rater_kind") != "human").sort("family", "rater")
    by_judge = judged.partition_by("family", "rater", maintain_order=True, as_dict=True)
    return StepScores(
        judges=tuple(_score(judge, family, of, labels, cluster_unit) for (family, judge), of in by_judge.items()),
        people=people,
        n_steps=labels.height,
        n_runs=labels["trajectory_id"].n_unique(),
        kind=kind_of(ratings),
    )


def _score(judge: str, family: str, judged: pl.DataFrame, labels: pl.DataFrame, cluster_unit: str) -> StepScore:
    both = labels.join(judged.select("item_id", "verdict"), on="item_id", how="left", maintain_order="left")
    same = (both["verdict"] == both["label"]).fill_null(False)
    lost = both["verdict"].null_count()
    first = _first_errors(both)
    codes = both.select(pl.col("label", "verdict").replace_strict(_VALUES, return_dtype=pl.Float64)).to_numpy()
    share = partial(clustered_proportion, cluster_unit=cluster_unit)
    tasks: dict[str, Any] = {"clusters": both["cluster_id"], "cluster_unit": cluster_unit}
    return StepScore(
        judge=judge,
        family=family,
        step_accuracy=share(same.cast(float), both["cluster_id"], expected_icc=STEP_ICC),
        best_step_accuracy=(int(same.sum()) + lost) / both.height,
        first_error_accuracy=share(first["same"], first["cluster_id"]),
        kappa=cohen_kappa(codes, categories=tuple(_VALUES.values()), **tasks),
        n_lost=lost,
    )


def _first_errors(both: pl.DataFrame) -> pl.DataFrame:
    """For each run, 1 where the first step called an error is the same by both words, or neither calls one."""
    judged, labelled = (pl.col("step_index").filter(pl.col(word) == ERROR).min() for word in ("verdict", "label"))
    same = judged.eq_missing(labelled).cast(pl.Float64)
    return both.group_by("trajectory_id", "cluster_id", maintain_order=True).agg(same=same)


def step_scores_of(source: Source) -> tuple[StepScores, ...]:
    """Step and first-error accuracy where people labelled steps on the scale ``step``, else nothing."""
    ratings = source.ratings
    on_steps = source.step_level and bool((ratings["scale"] == "step").all())
    if not on_steps or "people" not in set(ratings["rater"]):
        return ()
    return tuple(step_scores(ratings, question=each, cluster_unit=source.cluster_unit) for each in source.questions)
