"""The runs that a curve is fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.scores.curves.curve import Floats


@dataclass(frozen=True, kw_only=True)
class ScoredRuns:
    """Runs with a raw score and, for a criterion, what people said."""

    raw: Floats
    human: Floats
    tasks: NDArray[Any]
    n_missing: int
    floor: float | None
    cluster_unit: str
    ci_level: float
    points: bool = False  # whether `human` holds scores from 0 to 100

    def logs(self, floor: float | None, *, drop: bool = True) -> tuple[Floats, NDArray[np.bool_]]:
        """ln raw, and which runs it is of: without a floor runs at 0 are dropped, or -inf."""
        x = self.raw if floor is None else np.maximum(self.raw, floor)
        kept = (x > 0) | (not drop)
        with np.errstate(divide="ignore"):
            return np.log(x[kept]), kept


def sample_of(
    raw: ArrayLike,
    human: ArrayLike,
    tasks: ArrayLike | None,
    floor: float | None,
    cluster_unit: str,
    ci_level: float,
) -> ScoredRuns:
    """Runs with both scores; NaN in either is left out and counted."""
    x, y = np.asarray(raw, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError("raw", "needs one score for each run", (x.shape, y.shape))
    groups = np.arange(x.size) if tasks is None else np.asarray(tasks)
    if groups.shape != x.shape:
        raise InputError("tasks", f"needs one for each of the {x.size} runs", groups.shape)
    kept = ~(np.isnan(x) | np.isnan(y))
    if (outside := (x[kept] < 0) | (x[kept] > 1)).any():
        raise InputError("raw", "raw scores lie in [0, 1]", x[kept][outside][0], "divide by the largest possible score")
    if floor is not None:
        in_open_unit_interval("floor", floor)
    return ScoredRuns(
        raw=x[kept],
        human=y[kept],
        tasks=groups[kept],
        n_missing=int((~kept).sum()),
        floor=floor,
        cluster_unit="run" if tasks is None else cluster_unit,
        ci_level=in_open_unit_interval("ci_level", ci_level),
    )
