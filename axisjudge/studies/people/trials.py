"""Corrected rates tried: by few labels where all items have one, and by the planted truth that only a demo knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.labels.panel import LabelledPanel
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.correction import CorrectedRate, corrected_rate
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Given, to_polars
from axisjudge.studies.people.comparison import HumanComparison

#: Labels of more than this share of the tasks would hardly differ from all labels.
MOST_OF_ALL = 0.5


@dataclass(frozen=True, eq=False)
class FewLabels(Result):
    """All judges, with one run of each of `n_runs` tasks labelled, drawn `n_draws` times.

    `judges` has a row for each question and judge: `rate` is what all labels say and `own` what the judge says; `held`
    and `held_by_labels` are the shares of draws whose corrected interval, or that of the few labels alone, holds
    `rate`; `width` and `width_of_labels` their mean widths. It is empty where not every item is labelled, the scale
    knows no failure, or no draw has enough labels.
    """

    judges: pl.DataFrame
    n_runs: int
    n_draws: int


def few_labels(comparison: HumanComparison, *, n_runs: int = 30, n_draws: int = 100, seed: int = 0) -> FewLabels:
    """Draw `n_runs` runs, one of a task, take their labels alone, and correct each judge's failure rate by them.

    Questions on which every item is labelled are tried; at most half of the tasks are labelled.
    """
    rows: list[dict[str, Any]] = []
    taken = n_runs
    for panel in (question.panel for question in comparison.questions if n_draws):
        labels = panel.failed(panel.reference)
        if panel.failing is None or panel.clusters is None or np.isnan(labels).any():
            continue
        taken = min(n_runs, int(MOST_OF_ALL * (panel.clusters.max() + 1)))
        rng = np.random.default_rng(seed)
        draws = [_drawn_items(panel, taken, rng) for _ in range(n_draws)]
        rows += filter(None, (_tried(panel, judge, labels, draws) for judge in range(len(panel.judges))))
    return FewLabels(pl.DataFrame(rows), taken, n_draws)


def _drawn_items(panel: LabelledPanel, n_runs: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which items are of the drawn runs, one run of each drawn task."""
    runs = np.array(panel.runs)
    chosen = rng.choice(panel.groups.max() + 1, n_runs, replace=False)
    of_tasks = [rng.choice(np.unique(runs[panel.groups == task])) for task in chosen]
    return np.isin(runs, of_tasks)


def _tried(panel: LabelledPanel, judge: int, labels: Floats, draws: list[NDArray[np.bool_]]) -> dict[str, Any] | None:
    verdicts = panel.failed(panel.judged[:, judge])
    correct = partial(corrected_rate, verdicts, sampling="random", clusters=panel.clusters)
    rates = [correct(np.where(drawn, labels, np.nan), cluster_unit=panel.cluster_unit) for drawn in draws]
    rate = float(labels.mean())
    bounds = np.array([[(one.ci_low, one.ci_high) for one in (each.rate, each.labels_alone)] for each in rates])
    held = (bounds[:, :, 0] <= rate) & (rate <= bounds[:, :, 1])
    width = bounds[:, :, 1] - bounds[:, :, 0]
    if np.isnan(width).all(axis=0).any() or np.isnan(verdicts).all():  # so few correct nothing
        return None
    return {
        "question": panel.question,
        "judge": panel.judges[judge],
        "rate": rate,
        "own": float(np.nanmean(verdicts)),
        **dict(zip(("held", "held_by_labels"), held.mean(axis=0).tolist(), strict=True)),
        **dict(zip(("width", "width_of_labels"), np.nanmean(width, axis=0).tolist(), strict=True)),
    }


@dataclass(frozen=True)
class PlantedRate:
    """The planted failure rate of the runs that a judge was asked about, and the rates that were worked out."""

    question: str
    judge: str
    planted: float
    corrected: CorrectedRate

    @property
    def held(self) -> bool:
        """Whether the corrected interval holds the planted rate."""
        return self._within(self.corrected.rate)

    @property
    def held_by_judge(self) -> bool:
        """Whether the interval round the judge's own rate does."""
        return self._within(self.corrected.apparent)

    def _within(self, rate: Estimate) -> bool:
        return rate.ci_low <= self.planted <= rate.ci_high


def planted_rates(comparison: HumanComparison, truth: Given) -> tuple[PlantedRate, ...]:
    """The planted rate for every judge and question whose rate was corrected.

    Raises
    ------
    InputError
        `truth` (columns item_id, question and verdict) lacks an item that a judge was asked.
    """
    table = to_polars(truth, ("item_id", "question", "verdict"), where="truth")
    failed = {(item, question): verdict == "incorrect" for item, question, verdict in table.iter_rows()}
    planted = []
    for question, judge, rates in comparison.corrected:
        asked = np.array(question.panel.items)[question.panel.asked[:, question.panel.judges.index(judge)]]
        if missing := [item for item in asked if (item, question.question) not in failed]:
            raise InputError("truth", f"must hold {question.question} of every item that judges rated", missing[0])
        share = float(np.mean([failed[item, question.question] for item in asked]))
        planted.append(PlantedRate(question.question, judge, share, rates.overall))
    return tuple(planted)
