"""The same judge on the same anchor set, occasion after occasion: has it drifted?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.stats.comparisons.equivalence import Occasion, drift
from axisjudge.studies._shared.frames import Given
from axisjudge.studies.succession.verdicts import check_rubrics, of_rater, verdicts_of


@dataclass(frozen=True)
class Seen:
    """One occasion: when the anchors were judged, and which model answered."""

    number: int
    first_day: str | None
    last_day: str | None
    returned_models: tuple[str, ...]
    n_ratings: int


@dataclass(frozen=True)
class Drift(Result):
    """All occasions of one judge on its anchor set, each against the first."""

    _keys: ClassVar = ("judge", "n_items", "level", "seen", "changes")

    judge: str
    seen: tuple[Seen, ...]
    occasions: tuple[Occasion, ...]
    n_items: int
    level: float

    @property
    def model_changed(self) -> tuple[int, ...]:
        """Occasions on which another model answered than on the first that names one: drift, whatever the verdicts.

        Where no model is recorded, nothing is known.
        """
        named = [seen for seen in self.seen if seen.returned_models]
        return tuple(seen.number for seen in named if seen.returned_models != named[0].returned_models)

    @property
    def stopped_at(self) -> int | None:
        """The first occasion that says stop, by its verdicts or by its model."""
        stops = [each.number for each in self.occasions if each.stop] + list(self.model_changed)
        return min(stops, default=None)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The occasions after the first as plain rows."""
        return [
            {"occasion": each.number, "change": each.change.change, "p_value": each.change.p_value}
            | {"allowed": each.allowed, "stop": each.stop, "in_reach": each.in_reach}
            | {"noise": each.noise, "threshold": each.threshold}
            for each in self.occasions
        ]


def watch_drift(
    ratings: Given,
    judge: str,
    *,
    steps: bool = False,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Drift:
    """Drift of one judge from stored ratings of its anchor set.

    Each repeat is one occasion: the anchors are judged once more with every run (``axisjudge judge ... --again``). All
    questions together are the items, so that shifts of two questions in opposite directions cancel; watch one question
    by giving its ratings alone. The table may hold nothing else of the judge. `level` is the probability with which a
    judge that never changes is ever stopped.

    Raises
    ------
    InputError
        The judge is not there, was asked once or under several rubric versions, or rated an item twice on one occasion.
    """
    table = of_rater(verdicts_of(ratings, steps=steps), judge)
    repeats = sorted(table["repeat"].unique().to_list())
    if len(repeats) < 2:
        cure = "judge the anchor set again: axisjudge judge ... --again"
        raise InputError("ratings", f"must hold two occasions of {judge}", len(repeats), cure)
    check_rubrics(table)
    key = ["item_id", "question", "cluster_id"]
    wide = table.pivot("repeat", index=key, values="failed").sort("item_id", "question")
    occasions = drift(
        [wide[str(repeat)].to_numpy() for repeat in repeats],
        clusters=wide["cluster_id"].to_numpy(),
        cluster_unit=cluster_unit,
        level=level,
        ci_level=ci_level,
    )
    seen = (_seen(number, table.filter(pl.col("repeat") == repeat)) for number, repeat in enumerate(repeats, 1))
    return Drift(judge, tuple(seen), tuple(occasions), wide.height, level)


def _seen(number: int, mine: pl.DataFrame) -> Seen:
    days = mine["created_at"].drop_nulls().str.slice(0, 10)
    models = tuple(mine["returned_model"].drop_nulls().unique().sort())
    first, last = (None, None) if days.is_empty() else (str(days.min()), str(days.max()))
    return Seen(number, first, last, models, mine.height)
