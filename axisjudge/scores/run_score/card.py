"""The score of one run as a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from axisjudge.results import Result
from axisjudge.scores.run_score.rules import COMPONENTS, FORMULA_VERSION


@dataclass(frozen=True)
class Scorecard(Result):
    """The score of one run.

    `components` holds the four whole numbers, 50 for one that could not be computed; `reasons` says why for each of
    those. `low` and `high` are the score with these at 0 and at 100. A run that was not scored has tier Unranked, no
    score and no components.
    """

    run_id: str
    score: int | None
    tier: str
    low: int | None
    high: int | None
    components: Mapping[str, int]
    reasons: Mapping[str, str]
    baseline_seconds: float | None
    baseline_runs: int
    formula_version: str = FORMULA_VERSION

    def answer(self) -> dict[str, Any]:
        """The score as the API answers it; there the components go by the name that the text gave them, axes."""
        names = ("run_id", "score", "tier", "formula_version")
        return {name: getattr(self, name) for name in names} | {"axes": dict(self.components)}


#: What a row of a table of scores holds under a card's own names.
_AS_IN_ROW = ("run_id", "score", "tier", "baseline_seconds", "baseline_runs", "formula_version")


def scorecards(scored: pl.DataFrame) -> Iterator[Scorecard]:
    """The rows of a table of scores as records."""
    for row in scored.iter_rows(named=True):
        yield Scorecard(
            **{name: row[name] for name in _AS_IN_ROW},
            low=row["score_low"],
            high=row["score_high"],
            components={name: row[name] for name in COMPONENTS if row[name] is not None},
            reasons={name: why for name in COMPONENTS if (why := row[f"{name}_reason"]) is not None},
        )
