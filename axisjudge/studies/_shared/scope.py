"""The scope sentence, and the banner of made-up ratings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from axisjudge.ratings.selection import MADE_UP as MADE_UP
from axisjudge.verdict import AXES


def questions_in_order(questions: Iterable[str]) -> list[str]:
    """The five axes among the questions in the project's order, then the others by name."""
    named = set(questions)
    return [*(axis for axis in AXES if axis in named), *sorted(named - set(AXES))]


SCOPE = "All of this is about these judges, agents and tasks."


def made_up_raters(*tables: pl.DataFrame | None) -> tuple[str, ...]:
    """The raters of ratings that a program made that plays a judge, or that were put there on purpose."""
    made = (table.filter(pl.col("rater_kind").is_in(MADE_UP))["rater"] for table in tables if table is not None)
    return tuple(sorted({rater for raters in made for rater in raters}))


def banner(made_up: Sequence[str]) -> str:
    """The warning that some ratings are made up, naming their raters; empty where there are none."""
    return f"SIMULATED OR PLANTED ratings, not the verdicts of judges: {', '.join(made_up)}." if made_up else ""
