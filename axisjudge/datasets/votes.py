"""What ships with the workbench of real runs: votes, and verdicts of rules, reference and people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.ratings import SCHEMA, read_ratings
from axisjudge.ratings.edge import completed
from axisjudge.workbench import find

Level = Literal["step", "final", "both"]

FILE = "data/published/votes/agentprocessbench.parquet"
SUBSETS = ("tau2", "hotpotqa", "bfcl")

_WORDS = {-1: "-1", 0: "0", 1: "+1"}


def published_votes(subset: str | Sequence[str] = SUBSETS, level: Level = "both") -> pl.DataFrame:
    """Votes of 20 judge configurations of six families, and of people, as a ratings table on the scale ``step``.

    Parameters
    ----------
    subset : str or sequence of str
        ``tau2`` (customer service), ``hotpotqa`` (questions answered by search), ``bfcl`` (function calls); 250 runs of
        50 queries each. By default all three.
    level : str
        ``step``: one item for each message of the agent's; ``final``: one for each run; or ``both``.

    Returns
    -------
    polars.DataFrame
        The columns of `axisjudge.ratings.SCHEMA`: what `read_agentprocessbench` gives of the source's files, with
        hashed ids and without reasons and times. Who rated stands in `rater` and `rater_kind` (``llm`` or ``human``);
        `cluster_id` is the query, which five runs share. A vote that the source lost has no verdict and its status says
        how.

    Raises
    ------
    InputError
        No such subset or level, or a file that does not hold votes.

    Notes
    -----
    Source, commit and licence stand beside the file, in data/published/votes/SOURCE.md.
    """
    subsets = (subset,) if isinstance(subset, str) else tuple(subset)
    for name in subsets:
        one_of("subset", name, SUBSETS)
    one_of("level", level, get_args(Level))
    path = find(FILE)
    try:
        votes = pl.read_parquet(path).filter(pl.col("subset").is_in(subsets))
        if level != "both":
            votes = votes.filter(pl.col("question") == level)
        step, word = (
            pl.col("step_index").cast(pl.String),
            pl.col("value").replace_strict(_WORDS, return_dtype=pl.String),
        )
        item = pl.concat_str("trajectory_id", (pl.lit("#") + step).fill_null(""))
        return _as_ratings(votes.with_columns(item_id=item, cluster_id="task_id", verdict=word), "step")
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(str(path), f"does not hold the votes ({reason})", cure="make them by make_votes.py") from error


def _as_ratings(table: pl.DataFrame, scale: str) -> pl.DataFrame:
    return completed({name: table[name] for name in table.columns if name in SCHEMA}, scale=scale)


# What rules, reference and people say of real runs, as it ships with the workbench: verdicts, steps and counts.

VERDICTS, FINDINGS = "data/reference/verdicts.parquet", "data/reference/rules_findings.csv"
READING = "data/reference/reading.csv"
#: The data sets: tau2-bench retail, tau-bench airline, AgentRx (tau-bench retail), HotpotQA of AgentProcessBench.
SETS = ("retail", "airline", "agentrx", "hotpotqa")


SMALL_MODEL = "data/reference/small_model.jsonl"


def small_model_verdicts() -> pl.DataFrame:
    """Ratings of a real model of 135 million parameters on 20 of the demo's shortest runs: see page 02."""
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
    family = pl.when(pl.col("rater_kind") == "human").then(pl.lit("human")).otherwise("rater_kind")
    named = table.with_columns(item_id="trajectory_id", cluster_id="task_id", domain="subset", family=family)
    return _as_ratings(named, "verdict"), runs


def published_findings() -> pl.DataFrame:
    """For each kind of finding of the rules, side, set and task: runs flagged, those failed, cited steps labelled."""
    return pl.read_csv(find(FINDINGS), schema_overrides={"task_id": pl.String})


def published_reading() -> pl.DataFrame:
    """Runs read by hand: a fault that the `reader`, or another `rater`, holds against a run, with its step and axis.

    Every run has a row of the reader's, without step and axis where it has no fault. A fault without a step is one that
    the reference does not place.
    """
    return pl.read_csv(find(READING), schema_overrides={"trajectory_id": pl.String, "task_id": pl.String})
