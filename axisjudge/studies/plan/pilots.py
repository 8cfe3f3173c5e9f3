"""What a pilot gives a plan to assume: agreement, how well a judge finds what people found, and what repeats buy."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, TooLittle, one_of
from axisjudge.judges.pricing import Tokens
from axisjudge.ratings import as_ratings
from axisjudge.results import Result
from axisjudge.stats.agreement.chance_corrected import cohen_kappa, percent_agreement
from axisjudge.stats.planning.studies import panel_error
from axisjudge.studies._shared.arrays import Floats, mean_of
from axisjudge.studies._shared.frames import Given
from axisjudge.studies._shared.pooled import pooled
from axisjudge.studies._shared.variances import question_variances
from axisjudge.studies._shared.words import listed
from axisjudge.verdict import VERDICTS

#: With fewer failures or passes a pilot's sensitivity or specificity says next to nothing.
FEWEST_OF_A_KIND = 5

_FAILED = VERDICTS.index("incorrect")


@dataclass(frozen=True, eq=False)
class Pilot(Result):
    """What a pilot says of one question: codes (items x judges), tasks, and figures to assume.

    `kappa` and `agreement` are those of the first two judges; `tokens` is the mean of its calls, None where none were
    counted.
    """

    _keys: ClassVar = ("prevalence", "kappa", "agreement")

    question: str
    judges: tuple[str, ...]
    ratings: Floats
    tasks: NDArray[np.integer]
    prevalence: float
    kappa: float
    agreement: float
    tokens: Tokens | None

    @property
    def n_tasks(self) -> int:
        """Tasks of which the items are."""
        return int(np.unique(self.tasks).size)

    @property
    def runs_per_task(self) -> float:
        """Items of one task, on average: what one more task costs in calls."""
        return len(self.ratings) / self.n_tasks


def pilot_of(ratings: Given, question: str) -> Pilot:
    """The figures of a pilot's judges on one question; the first two judges are those compared.

    Raises
    ------
    InputError
        Fewer than two judges rated the question.
    """
    table = as_ratings(ratings)
    panel = pooled(table, question)
    if panel.n_judges < 2:
        raise TooLittle("--pilot", f"needs two judges on {question}", panel.n_judges)
    codes = panel.codes[:, : panel.n_judges]
    if np.isnan(codes[:, :2]).any(axis=1).all():
        raise TooLittle("--pilot", f"needs runs on which two judges gave a verdict on {question}")
    categories, clusters = range(len(panel.categories)), panel.clusters
    return Pilot(
        question=question,
        judges=panel.judges,
        ratings=codes,
        tasks=clusters,
        prevalence=mean_of((codes[~np.isnan(codes)] == _FAILED).astype(float)),
        kappa=cohen_kappa(codes[:, :2], categories=categories, clusters=clusters).estimate,
        agreement=percent_agreement(codes[:, :2], categories=categories, clusters=clusters).estimate,
        tokens=_tokens(table.filter(pl.col("question") == question)),
    )


def _tokens(asked: pl.DataFrame) -> Tokens | None:
    prompt, reply = asked.drop_nulls("input_tokens").select(pl.col("input_tokens", "output_tokens").mean()).row(0)
    return None if prompt is None else Tokens(round(prompt), round(reply or 0))


@dataclass(frozen=True)
class LabelledPilot:
    """How well one judge finds what people call incorrect, on the items of a pilot that both rated."""

    judge: str
    n_items: int
    prevalence: float
    sensitivity: float
    specificity: float
    planted: bool


def labelled_pilot(ratings: Given, question: str, judge: str | None = None) -> LabelledPilot:
    """Prevalence, sensitivity and specificity of a judge against the commonest label, from a pilot drawn at random.

    Raises
    ------
    InputError
        No such judge, several and none named, or fewer than 5 items of either kind that both rated.
    """
    panel = pooled(ratings, question)
    if not panel.judges or (judge is None and panel.n_judges > 1):
        cure = f"name one of {listed(panel.judges, 'or')}" if panel.judges else "give judges' ratings beside the labels"
        raise InputError("--of", "must say which judge of the pilot is planned for", cure=cure)
    judge = one_of("--of", judge or panel.judges[0], panel.judges)
    verdicts, labels = panel.codes[:, panel.judges.index(judge)], panel.label
    both = ~np.isnan(verdicts) & ~np.isnan(labels)
    flag, truth = verdicts[both] == _FAILED, labels[both] == _FAILED
    if min(truth.sum(), (~truth).sum()) < FEWEST_OF_A_KIND:
        counts = f"{int(truth.sum())} called incorrect, {int((~truth).sum())} not"
        rule = f"needs {FEWEST_OF_A_KIND} labelled items of either kind that {judge} rated on {question}"
        raise InputError("--pilot", rule, counts, "label more, or state assumptions")
    return LabelledPilot(
        judge=judge,
        n_items=int(both.sum()),
        prevalence=float(truth.mean()),
        sensitivity=float(flag[truth].mean()),
        specificity=float((~flag[~truth]).mean()),
        planted=panel.planted,
    )


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
