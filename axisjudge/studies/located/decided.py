"""How much a judge decides, and how its decisions stand to the outcome of the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.verdict import AXES

#: Stands for every axis together: a run is called incorrect where any axis is.
ANY_AXIS = "any axis"


@dataclass(frozen=True)
class Decided(Result):
    """One judge on one axis of one data set, or of one half of it.

    `decided` is the share of the runs to which the axis applies of which the judge says correct or incorrect;
    `precision` the share of failed runs among those it calls incorrect, `recall` the share of failed runs that it does,
    `said_correct` the share of failed runs that it calls correct. `failing` is the share of runs that failed.
    """

    judge: str
    domain: str
    half: str
    axis: str
    n_runs: int
    n_incorrect: int
    n_correct: int
    n_uncertain: int
    n_not_applicable: int
    decided: Estimate
    precision: Estimate
    recall: Estimate
    said_correct: Estimate
    failing: Estimate


def decided_by(table: pl.DataFrame, halves: tuple[str, ...], ci_level: float) -> Iterator[Decided]:
    """The figures of every judge, data set, half and axis; `table` has one row a judge, run and axis.

    `halves` are the halves to tell apart; ``all`` stands for all runs.
    """
    for (judge, domain), of_set in table.group_by("judge", "domain", maintain_order=True):
        for half in ("all", *halves):
            runs = of_set if half == "all" else of_set.filter(half=half)
            for axis in (*AXES, ANY_AXIS):
                of_axis = over_axes(runs) if axis == ANY_AXIS else runs.filter(question=axis)
                if not of_axis.is_empty():
                    yield _decided(of_axis, str(judge), str(domain), half, axis, ci_level)


def over_axes(table: pl.DataFrame) -> pl.DataFrame:
    """One row a judge and run: incorrect if any axis is, else uncertain if any is, else correct."""
    words = pl.col("verdict")
    return table.group_by("judge", "trajectory_id", maintain_order=True).agg(
        pl.first("domain", "cluster_id", "failed"),
        pl.lit(ANY_AXIS).alias("question"),
        pl.when((words == "incorrect").any())
        .then(pl.lit("incorrect"))
        .when((words == "uncertain").any())
        .then(pl.lit("uncertain"))
        .otherwise(pl.lit("correct"))
        .alias("verdict"),
    )


def _decided(table: pl.DataFrame, judge: str, domain: str, half: str, axis: str, ci_level: float) -> Decided:
    words, failed = table["verdict"].to_numpy(), table["failed"].to_numpy().astype(bool)
    incorrect, applies = words == "incorrect", words != "not_applicable"
    tasks = table["cluster_id"].to_numpy()

    def share(of: NDArray[np.bool_], among: NDArray[np.bool_]) -> Estimate:
        values = np.where(among, of.astype(float), np.nan)
        return clustered_proportion(values, tasks, cluster_unit="task", ci_level=ci_level)

    return Decided(
        judge=judge,
        domain=domain,
        half=half,
        axis=axis,
        n_runs=len(words),
        n_incorrect=int(incorrect.sum()),
        n_correct=int((words == "correct").sum()),
        n_uncertain=int((words == "uncertain").sum()),
        n_not_applicable=int((~applies).sum()),
        decided=share(np.isin(words, ("correct", "incorrect")), applies),
        precision=share(failed, incorrect),
        recall=share(incorrect, failed),
        said_correct=share(words == "correct", failed & applies),
        failing=share(failed, np.ones(len(words), dtype=bool)),
    )
