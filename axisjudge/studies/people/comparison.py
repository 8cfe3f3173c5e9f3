"""Judges against people on every question: the numbers, and the codes of what may be claimed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from axisjudge.labels.lint.finding import LabelFault, NotChecked
from axisjudge.labels.lint.strangers import strangers
from axisjudge.labels.panel import LabelledPanel
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients
from axisjudge.stats.agreement.coefficients import coefficient_names, coefficient_of_two
from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.stats.raters.reference_ranks import reference_ranks
from axisjudge.stats.rates.corrected_agents import CorrectedRates
from axisjudge.studies._shared.frames import Kind
from axisjudge.studies._shared.scope import banner
from axisjudge.studies.people.claims import Claim, claims_of
from axisjudge.studies.people.judge_comparison import JudgeComparison, compare_judge


@dataclass(frozen=True, eq=False)
class QuestionComparison(Result):
    """All judges on one question.

    `ceiling` holds percent agreement, kappa, AC1 and alpha of the people among themselves, empty with fewer than two;
    `kappa_ranks` the simultaneous rank sets of the judges' kappas with the majority.
    """

    _keys = columns(
        "question n_reference n_tied ceiling judges kappa_ranks categories=panel.categories people=panel.people",
        "sampling=panel.drawn.sampling",
    )

    panel: LabelledPanel
    judges: tuple[JudgeComparison, ...]
    ceiling: dict[str, Agreement]
    kappa_ranks: RankSets

    @property
    def question(self) -> str:
        """The axis, or whatever was asked."""
        return self.panel.question

    @property
    def n_reference(self) -> int:
        """How many items have a label that takes a side."""
        return int((~np.isnan(self.panel.reference)).sum())

    @property
    def n_tied(self) -> int:
        """How many items have labels without a majority."""
        labelled = (~np.isnan(self.panel.decided_labels)).any(axis=1)
        return int((labelled & np.isnan(self.panel.reference)).sum())

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Every claim of every judge."""
        return tuple(claim for judge in self.judges for claim in claims_of(self.panel, judge))


@dataclass(frozen=True, eq=False)
class HumanComparison:
    """Judges against people on every question that both answered; `strangers` are people who agree with nobody."""

    questions: tuple[QuestionComparison, ...]
    epsilon: float
    made_up: tuple[str, ...]
    kind: Kind
    strangers: tuple[LabelFault, ...] = ()

    @property
    def has_ceiling(self) -> bool:
        """Whether two people or more labelled some question."""
        return any(question.ceiling for question in self.questions)

    @property
    def corrected(self) -> list[tuple[QuestionComparison, str, CorrectedRates]]:
        """Every question and judge whose failure rate could be corrected."""
        return [
            (question, judge.judge, judge.rates) for question, judge in self.pairs() if judge.rates and judge.corrected
        ]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all questions."""
        return tuple(claim for question in self.questions for claim in question.claims)

    @property
    def banner(self) -> str:
        """What must stand above ratings or labels that nobody gave; empty otherwise."""
        return banner(self.made_up)

    def pairs(self) -> Iterator[tuple[QuestionComparison, JudgeComparison]]:
        """Every question with every judge."""
        return ((question, judge) for question in self.questions for judge in question.judges)


def compare_question(panel: LabelledPanel, *, epsilon: float, ci_level: float, seed: int) -> QuestionComparison:
    """Every judge of a panel against its people."""
    numbers = range(len(panel.judges))
    judges = (compare_judge(panel, number, epsilon=epsilon, ci_level=ci_level, seed=seed) for number in numbers)
    ranks = _kappa_ranks(panel, ci_level, np.random.default_rng(seed))
    return QuestionComparison(panel, tuple(judges), _ceiling(panel, ci_level), ranks)


def _kappa_ranks(panel: LabelledPanel, ci_level: float, rng: np.random.Generator) -> RankSets:
    """Rank sets of the judges by kappa with the majority, on the words that take a side."""
    return reference_ranks(
        panel.sided(panel.judged),
        panel.reference,
        coefficient=coefficient_of_two("ordinal" if panel.ordered else "nominal"),
        categories=[float(code) for code in panel.sides.values()],
        clusters=panel.groups,
        ci_level=ci_level,
        rng=rng,
    )


def strangers_among(people: pl.DataFrame) -> tuple[LabelFault, ...]:
    """People who agree with nobody; none where fewer than three share enough tasks to tell."""
    try:
        return tuple(strangers(people))
    except NotChecked:
        return ()


def _ceiling(panel: LabelledPanel, ci_level: float) -> dict[str, Agreement]:
    """Agreement of the people among themselves on the same words."""
    if len(panel.people) < 2:
        return {}
    names = coefficient_names(len(panel.people), "ordinal" if panel.ordered else "nominal")
    if panel.ordered:
        names["kappa"], names["alpha"] = names.pop("quadratic_kappa"), names.pop("ordinal_alpha")
    coefficients = agreement_coefficients(
        panel.decided_labels,
        list(names.values()),
        categories=[float(code) for code in panel.sides.values()],
        clusters=panel.clusters,
        cluster_unit=panel.cluster_unit,
        ci_level=ci_level,
    )
    return {name: coefficients[key] for name, key in names.items()}
