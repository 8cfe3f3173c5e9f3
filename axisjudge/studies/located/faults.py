"""Whether judges find the faults that are located: on their axis, and at their step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from axisjudge.labels.crosswalk import ANY_STEP
from axisjudge.ratings.selection import BY_JUDGE, BY_LABELLER, VERDICT_ON_RUN
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.verdict import AXES


@dataclass(frozen=True)
class FaultsFound(Result):
    """One judge against the faults of one labeller on one axis (``any axis``: on whichever axis).

    A fault is a run and axis that the labeller calls incorrect. `on_axis` is the share that the judge calls incorrect
    on that axis, `at_step` the share where it also cites a step within `within` of the fault's, of the faults that have
    a step; `on_any` the share whose run it calls incorrect on some axis; `undecided` the share of which it is
    uncertain on that axis, `not_applicable` the share to which it says that the axis does not apply.
    """

    labeller: str
    judge: str
    domain: str
    axis: str
    n_faults: int
    within: int
    on_axis: Estimate
    at_step: Estimate
    on_any: Estimate
    undecided: Estimate
    not_applicable: Estimate


def faults_found(table: pl.DataFrame, labels: pl.DataFrame, *, within: int, ci_level: float) -> Iterator[FaultsFound]:
    """Every labeller's faults, for every judge of the same runs; of the labels only `incorrect` counts.

    A fault whose axis is not known (`ANY_STEP`) is found where the judge calls the run incorrect on some axis, at its
    step where it cites that on one of these. Such faults do not count among those of ``any axis``.
    """
    faults = labels.filter(pl.col("verdict") == "incorrect", pl.col("question").is_in([*AXES, ANY_STEP]))
    flagged = table.group_by("judge", "trajectory_id").agg((pl.col("verdict") == "incorrect").any().alias("flagged"))
    said = table.select("judge", "trajectory_id", "question", "verdict", pl.col("cited_step_indices").alias("cited"))
    said = pl.concat([said, _on_whichever_axis(said)])
    met = faults.join(said, on=["trajectory_id", "question"]).join(flagged, on=["judge", "trajectory_id"])
    if met.is_empty():
        return
    met = met.sort("rater", "judge", "domain", "trajectory_id", "question")
    rows = zip(met["cited_step_indices"], met["cited"], met["verdict_right"], strict=True)
    near = [
        None if not len(steps) else word == "incorrect" and any(abs(a - b) <= within for a in steps for b in cited)
        for steps, cited, word in rows
    ]
    met = met.with_columns(pl.Series("near", near, dtype=pl.Boolean))
    for (labeller, judge, domain), of_set in met.group_by("rater", "judge", "domain", maintain_order=True):
        for axis in (*AXES, ANY_STEP, "any axis"):
            of_axis = of_set.filter(
                pl.col("question") != ANY_STEP if axis == "any axis" else pl.col("question") == axis
            )
            if not of_axis.is_empty():
                who = {"labeller": str(labeller), "judge": str(judge), "domain": str(domain)}
                yield _found(of_axis, axis=axis, within=within, ci_level=ci_level, **who)


def _on_whichever_axis(said: pl.DataFrame) -> pl.DataFrame:
    """One row a judge and run under `ANY_STEP`: incorrect if any axis is, with all steps cited there."""
    wrong = pl.col("verdict") == "incorrect"
    open_axis = pl.when((pl.col("verdict") == "uncertain").any()).then(pl.lit("uncertain")).otherwise(pl.lit("correct"))
    return said.group_by("judge", "trajectory_id", maintain_order=True).agg(
        pl.lit(ANY_STEP).alias("question"),
        pl.when(wrong.any()).then(pl.lit("incorrect")).otherwise(open_axis).alias("verdict"),
        pl.col("cited").filter(wrong).list.explode().alias("cited"),
    )


def faults_in(
    ratings: pl.DataFrame, labels: pl.DataFrame, *, within: int = 1, ci_level: float = 0.95
) -> list[FaultsFound]:
    """Whether the judges of a ratings table find the faults that labels locate, without the runs or their outcomes."""
    judged = ratings.filter(VERDICT_ON_RUN, BY_JUDGE, pl.col("repeat") == 0, pl.col("verdict").is_not_null())
    located = labels.filter(VERDICT_ON_RUN, BY_LABELLER).with_columns(pl.col("domain").fill_null("all"))
    return list(faults_found(judged.with_columns(judge="rater"), located, within=within, ci_level=ci_level))


def _found(
    faults: pl.DataFrame, *, labeller: str, judge: str, domain: str, axis: str, within: int, ci_level: float
) -> FaultsFound:
    def share(of: pl.Expr) -> Estimate:
        values = faults.select(of.cast(pl.Float64).alias("x"))["x"].fill_null(float("nan")).to_numpy()
        return clustered_proportion(values, faults["cluster_id"].to_numpy(), cluster_unit="task", ci_level=ci_level)

    return FaultsFound(
        labeller=labeller,
        judge=judge,
        domain=domain,
        axis=axis,
        n_faults=faults.height,
        within=within,
        on_axis=share(pl.col("verdict_right") == "incorrect"),
        at_step=share(pl.col("near")),
        on_any=share(pl.col("flagged")),
        undecided=share(pl.col("verdict_right") == "uncertain"),
        not_applicable=share(pl.col("verdict_right") == "not_applicable"),
    )
