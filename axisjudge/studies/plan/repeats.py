"""What more judges and more repeats buy, from the variance components of a pilot."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

from axisjudge.results import Result
from axisjudge.stats.planning.studies import panel_error
from axisjudge.studies._shared.frames import Given
from axisjudge.studies._shared.variances import question_variances

#: Of judges, and of repeats.
NUMBERS = (1, 2, 3, 5)


@dataclass(frozen=True)
class PanelError(Result):
    """Standard error of an item's mean verdict for a panel of `judges`, each asked `repeats` times.

    `fixed_judges` says that the pilot has fewer than 5 judges: what judges as such differ by is not known and left
    out, so that the figure is a lower bound.
    """

    _keys: ClassVar = {name: name for name in ("question", "judges", "repeats", "calls")} | {
        "standard error": "standard_error",
        "fixed judges": "fixed_judges",
    }

    question: str
    judges: int
    repeats: int
    standard_error: float
    fixed_judges: bool

    @property
    def calls(self) -> int:
        """Calls for one item."""
        return self.judges * self.repeats


def panel_errors(ratings: Given, *, question: str | None = None) -> tuple[PanelError, ...]:
    """Standard error of an item's mean verdict for panels of k judges asked r times, per question of a pilot.

    sqrt(sigma2_judge / k + sigma2_item.judge / k + sigma2_error / (k r)); with fewer than 5 judges in the pilot the
    component between judges is not known and left out. Nothing for a question without two judges asked twice.
    """
    return tuple(
        PanelError(
            question=variance.question,
            judges=k,
            repeats=r,
            standard_error=panel_error(
                0.0 if math.isnan(parts.judge) else parts.judge, parts.item_judge, parts.error, k, r
            ),
            fixed_judges=math.isnan(parts.judge),
        )
        for variance in question_variances(ratings)
        if question in (None, variance.question)
        and (parts := variance.components) is not None
        and not math.isnan(parts.error)
        for k, r in itertools.product(NUMBERS, NUMBERS)
    )
