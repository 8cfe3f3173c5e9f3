"""Do the scores tell runs apart, and do they go with reward? Of every score its spread, and its AUC against reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from axisjudge.results import Result
from axisjudge.scores.axis.result import DIMENSIONS, GOAL, AxisResult
from axisjudge.stats.confidence.calibration import auroc
from axisjudge.stats.estimate import Estimate


@dataclass(frozen=True)
class Spread(Result):
    """How one score lies over many runs: its ends, its middle half, how many values it takes.

    `low end` and `high end` are those between which a result lies by all that is known. `auc` is the chance that a run
    with full reward scores higher than one without, None where no rewards were given.
    """

    score: str
    n_runs: int
    n_values: int
    least: float
    lower_quartile: float
    median: float
    upper_quartile: float
    most: float
    auc: Estimate | None


def spreads(results: Sequence[AxisResult], rewards: Mapping[str, float | None]) -> list[Spread]:
    """The spread of the composite's ends and of each process dimension with the low end of what it may be.

    Parameters
    ----------
    results : sequence of AxisResult
    rewards : mapping
        Run -> reward, None where it has none; 1 is full.
    """
    scores: dict[str, list[float]] = {
        "result, low end": [each.bounds[0] for each in results],
        "result, high end": [each.bounds[1] for each in results],
    }
    for name in DIMENSIONS:
        if name != GOAL:
            of = [each.dimension(name) for each in results]
            scores[name] = [np.nan if one.score is None else one.score for one in of]
            scores[f"{name}, low end"] = [one.low for one in of]
    return [_spread(name, np.array(values, float), results, rewards) for name, values in scores.items()]


def _spread(name: str, values: Any, results: Sequence[AxisResult], rewards: Mapping[str, float | None]) -> Spread:
    known = ~np.isnan(values)
    ends = np.quantile(values[known], (0, 0.25, 0.5, 0.75, 1)) if known.any() else np.full(5, np.nan)
    rewarded = np.array([rewards.get(each.trajectory_id) for each in results], float)
    both = known & ~np.isnan(rewarded)
    tasks = np.array([each.cluster_id for each in results])
    auc = auroc(values[both] / 100, rewarded[both] >= 1, clusters=tasks[both]) if both.any() else None
    least, lower, median, upper, most = map(float, ends)
    return Spread(name, int(known.sum()), len(np.unique(values[known])), least, lower, median, upper, most, auc)


def spread_rows(found: Sequence[Spread]) -> list[dict[str, Any]]:
    """The table of a command: a row a score."""
    return [
        {
            "score": one.score,
            "runs": one.n_runs,
            "values": one.n_values,
            "least": f"{one.least:g}",
            "middle half": f"{one.lower_quartile:g} to {one.upper_quartile:g}",
            "median": f"{one.median:g}",
            "most": f"{one.most:g}",
            **({} if one.auc is None else {"AUC against reward": one.auc.worded()}),
        }
        for one in found
    ]
