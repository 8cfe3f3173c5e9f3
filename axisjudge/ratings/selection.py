"""Which ratings an analysis takes: whole trajectories, judges apart from labellers, one rating of a kind."""

from __future__ import annotations

import polars as pl

from axisjudge.checks import InputError

#: People's labels, planted truth and what a benchmark knows of its tasks: whose word judges are compared with.
LABELS = ("human", "planted", "reference")
#: Raters whose word is made up: never shown without a banner.
MADE_UP = ("simulated", "planted")

#: Ratings of whole trajectories, neither of a step nor of an interaction.
WHOLE_RUN = pl.col("step_index").is_null() & pl.col("interaction_id").is_null()
#: Verdicts in words on whole trajectories.
VERDICT_ON_RUN = WHOLE_RUN & (pl.col("scale") == "verdict")
#: Ratings by judges, and by those who give labels.
BY_JUDGE, BY_LABELLER = ~pl.col("rater_kind").is_in(LABELS), pl.col("rater_kind").is_in(LABELS)

#: Ratings of runs without messages, which follow from the definition.
EMPTY_RUN = pl.col("flags").list.contains("empty_run").fill_null(False)

SEVERAL = "filter by rubric_version, prompt_sha256 or rater_version first"


def raters_of(table: pl.DataFrame) -> list[str]:
    """The names of all raters, by family and name."""
    return table.select("family", "rater").unique().sort("family", "rater")["rater"].to_list()


def taken(table: pl.DataFrame, rule: pl.Expr) -> pl.DataFrame:
    """The rows of which `rule` holds; where it holds of all, the table itself and no copy."""
    rows = table.select(rule.fill_null(value=False)).to_series()
    return table if rows.all() else table.filter(rows)


def once(table: pl.DataFrame, *key: str, rule: str, where: str = "ratings", cure: str = SEVERAL) -> pl.DataFrame:
    """The table, if no two of its rows agree in the columns `key`.

    Raises
    ------
    InputError
        Two rows agree; the message names `rule` and the first of them.
    """
    twice = table.filter(pl.struct(*key).is_duplicated())
    if not twice.is_empty():
        raise InputError(where, rule, " ".join(str(twice[name][0]) for name in key), cure)
    return table
