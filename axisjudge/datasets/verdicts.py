"""What rules, reference and people say of real runs, as it ships with the workbench: verdicts, steps and counts."""

from __future__ import annotations

import polars as pl

from axisjudge.checks import one_of
from axisjudge.ratings import SCHEMA, read_ratings
from axisjudge.verdict import SCHEMA_VERSION
from axisjudge.workbench import find

VERDICTS, FINDINGS = "data/reference/verdicts.parquet", "data/reference/rules_findings.csv"
#: The data sets: tau2-bench retail, tau-bench airline, AgentRx (tau-bench retail), HotpotQA of AgentProcessBench.
SETS = ("retail", "airline", "agentrx", "hotpotqa")


SMALL_MODEL = "data/reference/small_model.jsonl"


def small_model_verdicts() -> pl.DataFrame:
    """Ratings of a real model of 135 million parameters on five of the demo's shortest runs: see page 02."""
    return read_ratings(find(SMALL_MODEL), latest=True)


def published_verdicts(subset: str = "") -> tuple[pl.DataFrame, pl.DataFrame]:
    """A ratings table of rules (each version), reference and people, and a table of the runs.

    Parameters
    ----------
    subset : str
        One of `SETS`; by default all.

    Returns
    -------
    ratings : polars.DataFrame
        `domain` is the data set. People's labels of the steps of HotpotQA stand under the question ``any step``.
    runs : polars.DataFrame
        Columns trajectory_id, domain, half (``looked at`` while rules were mended, or ``unseen``) and failed.

    Raises
    ------
    InputError
        No such data set.
    """
    table = pl.read_parquet(find(VERDICTS))
    if subset:
        table = table.filter(subset=one_of("subset", subset, SETS))
    runs = table.select("trajectory_id", pl.col("subset").alias("domain"), "half", "failed").unique(maintain_order=True)
    known: dict[str, pl.Expr] = {
        "schema_version": pl.lit(SCHEMA_VERSION),
        "item_id": pl.col("trajectory_id"),
        "cluster_id": pl.col("task_id"),
        "domain": pl.col("subset"),
        "family": pl.when(pl.col("rater_kind") == "human").then(pl.lit("human")).otherwise("rater_kind"),
        "scale": pl.lit("verdict"),
        "repeat": pl.lit(0),
        "status": pl.lit("ok"),
    }
    columns = {name: known.get(name, pl.col(name) if name in table.columns else _none(name)) for name in SCHEMA}
    return table.select(of.cast(SCHEMA[name]).alias(name) for name, of in columns.items()), runs


def published_findings() -> pl.DataFrame:
    """For each kind of finding of the rules, side, set and task: runs flagged, those failed, cited steps labelled."""
    return pl.read_csv(find(FINDINGS), schema_overrides={"task_id": pl.String})


def _none(name: str) -> pl.Expr:
    return pl.lit([], dtype=SCHEMA[name]) if isinstance(SCHEMA[name], pl.List) else pl.lit(None, dtype=SCHEMA[name])
