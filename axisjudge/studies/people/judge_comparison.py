"""One judge on one question against people: every figure, with that of a person beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.alternative_annotator import (
    AlternativeAnnotator,
    Scale,
    alternative_annotator,
    best_constant,
    beyond_constant,
)
from axisjudge.stats.raters.failing_word import FailingWord, failing_word
from axisjudge.stats.raters.reference import (
    AgainstReference,
    CitedSteps,
    LeftOut,
    cited_steps,
    in_short,
    leave_one_out,
    majority,
)
from axisjudge.stats.rates.correction import CorrectedRate
from axisjudge.stats.rates.proportions import clustered_mean
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies.people.corrected_rates import CorrectedRates, corrected_rates
from axisjudge.studies.people.labelled_panel import LabelledPanel

ONE_PERSON = "one person labelled: there are no others to compare with"


@dataclass(frozen=True, eq=False)
class StandIn:
    """The alternative annotator test of a judge, and of the constant judge that does best on the same items.

    `balanced` and `balanced_constant` weight items so that rare words count as much as common ones. `beyond_constant`
    is how much better the judge matches people than the constant does, item by item.
    """

    judge: AlternativeAnnotator
    constant: AlternativeAnnotator
    constant_word: str
    balanced: AlternativeAnnotator
    balanced_constant: AlternativeAnnotator
    beyond_constant: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Plain values, those of the other tests in short."""
        beside = {name: _in_short(getattr(self, name)) for name in ("constant", "balanced", "balanced_constant")}
        return {"judge": self.judge.to_dict(), **beside, "constant_word": self.constant_word} | {
            "beyond_constant": in_short(self.beyond_constant)
        }


def _in_short(test: AlternativeAnnotator) -> dict[str, Any]:
    return {"winning_rate": test.winning_rate, "passed": test.passed, "advantage": in_short(test.advantage)}


@dataclass(frozen=True, eq=False)
class JudgeComparison(Result):
    """One judge on one question against people.

    `majority` is against the commonest word of the people (of the only person where there is one), `persons` against
    each of them, `left_out` beside each of them against the others. `over_constant` is the share of items with a
    verdict on which the judge, and not the commonest word, is right, less the reverse; `behind` the mean over people of
    the share of items on which that person, and not the judge, has the word of the others, less the reverse. `cited`
    holds steps exactly and within one, `failing` precision, recall and F1 of the word that means failure (None on a
    scale without one).
    """

    _keys = ("judge", "family", "majority", "over_constant", "behind", "stand_in", "cited", "rates", "failing")

    judge: str
    family: str
    majority: AgainstReference
    persons: dict[str, AgainstReference]
    left_out: tuple[LeftOut, ...]
    over_constant: Estimate
    behind: Estimate
    stand_in: StandIn
    cited: tuple[CitedSteps, ...]
    rates: CorrectedRates | None
    failing: FailingWord | None

    @property
    def corrected(self) -> CorrectedRate | None:
        """The failure rate of all agents, where it could be corrected."""
        return None if self.rates is None or self.rates.overall.refusal else self.rates.overall

    def to_dict(self) -> dict[str, Any]:
        """Plain values; against single people the estimates in short."""
        left_out = [
            {"person": one.person, "judge": one.judge.in_short(), "themselves": one.themselves.in_short()}
            for one in self.left_out
        ]
        persons = {name: against.in_short() for name, against in self.persons.items()}
        return super().to_dict() | {"persons": persons, "left_out": left_out}


def compare_judge(panel: LabelledPanel, number: int, *, epsilon: float, ci_level: float, seed: int) -> JudgeComparison:
    """Everything about the judge at position `number`."""
    verdicts, asked = panel.judged[:, number], panel.asked[:, number]
    against = partial(panel.against, verdicts, asked=asked, ci_level=ci_level)
    return JudgeComparison(
        judge=panel.judges[number],
        family=panel.families[number],
        majority=against(panel.reference),
        persons={name: against(panel.labelled[:, person]) for person, name in enumerate(panel.people)},
        left_out=leave_one_out(verdicts, panel.decided_labels, panel.people, **against.keywords),
        over_constant=_over_constant(panel, verdicts, ci_level),
        behind=_behind(panel, verdicts, ci_level),
        stand_in=_stand_in(panel, verdicts, epsilon, ci_level),
        cited=_cited(panel, number, ci_level),
        rates=corrected_rates(panel, number, ci_level=ci_level, seed=seed),
        failing=_failing(panel, verdicts, ci_level),
    )


def _failing(panel: LabelledPanel, verdicts: Floats, ci_level: float) -> FailingWord | None:
    """The failing word against the majority of people, on the items with a verdict that takes a side."""
    if panel.failing is None:
        return None
    silent = np.isnan(verdicts) | np.isin(verdicts, panel.undecided)
    flagged = np.where(silent, np.nan, verdicts == panel.failing)
    failed = np.where(np.isnan(panel.reference), np.nan, panel.reference == panel.failing)
    return failing_word(flagged, failed, clusters=panel.clusters, cluster_unit=panel.cluster_unit, ci_level=ci_level)


def _over_constant(panel: LabelledPanel, verdicts: Floats, ci_level: float) -> Estimate:
    """Mean of (judge right - commonest word right), paired, since both vary with the tasks that were drawn."""
    truth = panel.reference
    both = ~np.isnan(truth) & ~np.isnan(verdicts) & ~np.isin(verdicts, panel.undecided)
    commonest = np.bincount(truth[both].astype(int), minlength=1).argmax()
    gap = (verdicts[both] == truth[both]).astype(float) - (truth[both] == commonest)
    groups = None if panel.clusters is None else panel.clusters[both]
    return clustered_mean(gap, groups, cluster_unit=panel.cluster_unit, ci_level=ci_level)


def _behind(panel: LabelledPanel, verdicts: Floats, ci_level: float) -> Estimate:
    """Mean of (person right - judge right) against the majority of the others, over people and items."""
    labels = panel.decided_labels
    if labels.shape[1] < 2:
        return Estimate(estimate=math.nan, n_items=0, n_clusters=0, reason=ONE_PERSON)
    gaps, owner = [], []
    for person in range(labels.shape[1]):
        others = majority(np.delete(labels, person, axis=1), len(panel.categories))
        both = ~np.isnan(others) & ~np.isnan(labels[:, person]) & ~np.isnan(verdicts)
        gaps.append((labels[both, person] == others[both]).astype(float) - (verdicts[both] == others[both]))
        owner.append(panel.groups[both])
    return clustered_mean(
        np.concatenate(gaps), np.concatenate(owner), cluster_unit=panel.cluster_unit, ci_level=ci_level
    )


def _stand_in(panel: LabelledPanel, verdicts: Floats, epsilon: float, ci_level: float) -> StandIn:
    scale: Scale = "ordinal" if panel.grades else "nominal"
    words = partial(alternative_annotator, verdicts, panel.labelled, scale=scale, epsilon=epsilon, names=panel.people)
    test = partial(words, clusters=panel.clusters, cluster_unit=panel.cluster_unit, ci_level=ci_level)
    best = partial(best_constant, verdicts, panel.labelled, **test.keywords)
    word, constant = best()
    return StandIn(
        judge=test(),
        constant=constant,
        constant_word="" if math.isnan(word) else panel.categories[int(word)],
        balanced=test(balanced=True),
        balanced_constant=best(balanced=True)[1],
        beyond_constant=beyond_constant(
            verdicts,
            panel.labelled,
            word,
            scale=scale,
            clusters=panel.clusters,
            cluster_unit=panel.cluster_unit,
            ci_level=ci_level,
        ),
    )


def _cited(panel: LabelledPanel, number: int, ci_level: float) -> tuple[CitedSteps, ...]:
    """Cited steps against those of every person who cites any, exactly and within one; nothing on other scales."""
    if panel.scale != "verdict":
        return ()
    flagged, judge, person, clusters = panel.judged[:, number] == panel.failing, [], [], []
    for position, name in enumerate(panel.people):
        failed = (panel.labelled[:, position] == panel.failing) & panel.asked[:, number]
        for item in np.flatnonzero(failed).tolist():
            judge.append(panel.steps(panel.judges[number], item) if flagged[item] else None)
            person.append(panel.steps(name, item))
            clusters.append(panel.groups[item])
    if not any(person):
        return ()
    steps = partial(cited_steps, judge, person, clusters=clusters, cluster_unit=panel.cluster_unit, ci_level=ci_level)
    return tuple(steps(within=within) for within in (0, 1))
