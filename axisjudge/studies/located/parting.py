"""Who holds a fault against the same run: the outcome, a judge, the reference and people; and where they part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_proportion
from axisjudge.studies.located.decided import over_axes


@dataclass(frozen=True)
class Parting(Result):
    """Runs of one data set on which a judge, the reference and people say the same, by outcome.

    `reference` and `people` are None where they say nothing of such runs: the reference of runs that passed, people of
    runs that they did not label.
    """

    judge: str
    domain: str
    failed: bool
    judge_says: bool
    reference: bool | None
    people: bool | None
    n_runs: int


@dataclass(frozen=True)
class KindCount(Result):
    """One kind of finding: the runs that it flags, how many of them failed, and where it stands by default.

    `looked_at` and `unseen` are the shares of failed runs among those flagged, on each half of the tasks; `on_steps`
    the share of cited steps that people labelled wrong, of those that they labelled.
    """

    kind: str
    axis: str
    n_flagged: int
    n_failed: int
    precision: Estimate
    looked_at: Estimate
    unseen: Estimate
    on_steps: Estimate


def partings(table: pl.DataFrame, labels: pl.DataFrame) -> Iterator[Parting]:
    """For every judge and data set, the runs by who holds a fault against them."""
    by = labels.group_by("trajectory_id", "rater_kind").agg((pl.col("verdict") == "incorrect").any().alias("says"))
    held = {kind: dict(by.filter(rater_kind=kind).select("trajectory_id", "says").iter_rows()) for kind in KINDS}
    knows = set(labels.filter(rater_kind="reference")["domain"])
    runs = over_axes(table)
    rows = [
        (
            *(row["judge"], row["domain"], row["failed"], row["verdict"] == "incorrect"),
            held["reference"].get(row["trajectory_id"], False) if row["failed"] and row["domain"] in knows else None,
            held["human"].get(row["trajectory_id"]),
        )
        for row in runs.iter_rows(named=True)
    ]
    names = ("judge", "domain", "failed", "judge_says", "reference", "people")
    counted = pl.DataFrame(rows, schema=names, orient="row").group_by(names, maintain_order=True).len("n_runs")
    for row in counted.sort(names, nulls_last=True).iter_rows(named=True):
        yield Parting(**row)


KINDS = ("reference", "human")


def kind_counts(findings: pl.DataFrame, ci_level: float) -> Iterator[KindCount]:
    """Every kind of finding over all data sets; intervals take flagged runs as independent, so they are too short."""
    for (kind, axis), rows in findings.sort("axis", "kind").group_by("kind", "axis", maintain_order=True):
        halves = {half: rows.filter(half=half) for half in ("looked at", "unseen")}
        shares = {half: _share(_sum(of, "failed"), _sum(of, "flagged"), ci_level) for half, of in halves.items()}
        n_flagged, n_failed = _sum(rows, "flagged"), _sum(rows, "failed")
        yield KindCount(
            kind=str(kind),
            axis=str(axis),
            n_flagged=n_flagged,
            n_failed=n_failed,
            precision=_share(n_failed, n_flagged, ci_level),
            looked_at=shares["looked at"],
            unseen=shares["unseen"],
            on_steps=_share(_sum(rows, "wrong_steps"), _sum(rows, "steps"), ci_level),
        )


def _share(ones: int, n: int, ci_level: float) -> Estimate:
    return clustered_proportion([1.0] * ones + [0.0] * (n - ones), ci_level=ci_level)


def _sum(rows: pl.DataFrame, column: str) -> int:
    return int(rows[column].sum())
