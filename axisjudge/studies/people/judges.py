"""One judge on one question against people: every figure, with that of a person beside it, and corrected rates."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.labels.draw import DrawProblem
from axisjudge.labels.panel import LabelledPanel
from axisjudge.results import Result, columns
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.failing_word import FailingWord, failing_word
from axisjudge.stats.raters.reference import (
    AgainstReference,
    CitedSteps,
    LeftOut,
    behind_people,
    cited_steps,
    leave_one_out,
    over_constant,
    sensitivity_against,
)
from axisjudge.stats.raters.standing_in import StandIn, standing_in
from axisjudge.stats.rates.corrected_agents import CorrectedRates, corrected_by_agent
from axisjudge.stats.rates.correction import CorrectedRate, Sampling, corrected_rate
from axisjudge.studies._shared.arrays import Floats

if TYPE_CHECKING:
    pass

#: Labels of more than this share of the tasks would hardly differ from all labels.
MOST_OF_ALL = 0.5


def corrected_rates(
    panel: LabelledPanel, judge: int, *, ci_level: float = 0.95, seed: int = 0
) -> CorrectedRates | None:
    """Corrected rates of the judge at a position of the panel; None where the scale knows no failure."""
    if panel.failing is None:
        return None

    def rate(rows: NDArray[np.bool_], level: float) -> CorrectedRate:
        return corrected_of(panel, judge, rows, ci_level=level, seed=seed)

    return corrected_by_agent(rate, panel.agents, panel.asked[:, judge], ci_level=ci_level)


def corrected_of(
    panel: LabelledPanel, judge: int, rows: NDArray[np.bool_], *, ci_level: float = 0.95, seed: int = 0
) -> CorrectedRate:
    """The judge's failure rate on these items, corrected by the labels among them."""
    verdicts, labels = panel.failed(panel.judged[:, judge]), panel.failed(panel.reference)
    sampling, problem = _sampling(panel, panel.judges[judge])
    corrected = corrected_rate(
        verdicts[rows],
        labels[rows],
        sampling=sampling,
        probability=None if panel.drawn.probability is None else panel.drawn.probability[rows],
        clusters=None if panel.clusters is None else panel.clusters[rows],
        cluster_unit=panel.cluster_unit,
        ci_level=ci_level,
        rng=seed,
    )
    if not problem or not corrected.refusal:
        return corrected
    return replace(corrected, refusal=problem, rate=replace(corrected.rate, reason=problem))


def _sampling(panel: LabelledPanel, judge: str) -> tuple[Sampling, str]:
    """The way of drawing as this judge's correction may use it, and in words why it may not."""
    drawn = panel.drawn
    if drawn.problem:
        return "unknown", drawn.reason
    own = drawn.key in (None, f"{judge}: {panel.question}")
    if drawn.sampling == "by_judge_verdict" and drawn.probability is None and not own:
        return "unknown", DrawProblem.OTHER_JUDGE.format(drawn.key)
    return drawn.sampling, ""


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

    _keys = columns(
        "judge family majority over_constant behind stand_in cited rates failing persons=persons_in_short left_out"
    )

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

    @property
    def persons_in_short(self) -> dict[str, Any]:
        """Against single people, the estimates with their intervals alone."""
        return {name: against.in_short for name, against in self.persons.items()}


def compare_judge(panel: LabelledPanel, number: int, *, epsilon: float, ci_level: float, seed: int) -> JudgeComparison:
    """Everything about the judge at position `number`."""
    verdicts, asked = panel.judged[:, number], panel.asked[:, number]
    against = partial(panel.against, verdicts, asked=asked, ci_level=ci_level)
    figures = _figures(panel, number, verdicts, epsilon, ci_level)
    return JudgeComparison(
        judge=panel.judges[number],
        family=panel.families[number],
        persons={name: against(panel.labelled[:, person]) for person, name in enumerate(panel.people)},
        left_out=leave_one_out(verdicts, panel.decided_labels, panel.people, **against.keywords),
        cited=_cited(panel, number, ci_level),
        rates=corrected_rates(panel, number, ci_level=ci_level, seed=seed),
        failing=_failing(panel, verdicts, ci_level),
        **{name: figure() for name, figure in figures.items()},
    )


def with_verdicts(
    panel: LabelledPanel, judge: JudgeComparison, verdicts: Floats, figures: Collection[str]
) -> JudgeComparison:
    """The judge had it given these verdicts, with only the named `figures` anew; failure rates of all agents alone."""
    number, ci_level = panel.judges.index(judge.judge), judge.over_constant.ci_level
    judged = panel.judged.copy()
    judged[:, number] = verdicts
    other, asked = replace(panel, judged=judged), panel.asked[:, number]
    anew = _figures(panel, number, verdicts, judge.stand_in.judge.epsilon, ci_level)
    how: dict[str, Any] = {**panel.against.keywords, "asked": asked, "ci_level": ci_level}
    failures = partial(sensitivity_against, verdicts, panel.reference, **how)
    anew["majority"] = lambda: replace(judge.majority, sensitivity=failures())  # all that a claim reads of it
    anew["rates"] = lambda: CorrectedRates(corrected_of(other, number, asked, ci_level=ci_level))
    return replace(judge, **{name: anew[name]() for name in figures})


def _figures(
    panel: LabelledPanel, number: int, verdicts: Floats, epsilon: float, ci_level: float
) -> dict[str, Callable[[], Any]]:
    """What claims are read from, by name, each as a function that works it out."""
    unit: dict[str, Any] = {"cluster_unit": panel.cluster_unit, "ci_level": ci_level}
    of = {"clusters": panel.clusters, **unit}
    n_categories, labels = len(panel.categories), panel.decided_labels
    test = partial(standing_in, verdicts, panel.labelled, panel.categories, epsilon=epsilon, names=panel.people, **of)
    return {
        "majority": lambda: panel.against(verdicts, panel.reference, asked=panel.asked[:, number], ci_level=ci_level),
        "over_constant": lambda: over_constant(panel.sided(verdicts), panel.reference, **of),
        "behind": lambda: behind_people(verdicts, labels, n_categories=n_categories, clusters=panel.groups, **unit),
        "stand_in": lambda: test(scale="ordinal" if panel.grades else "nominal"),
    }


def _failing(panel: LabelledPanel, verdicts: Floats, ci_level: float) -> FailingWord | None:
    """The failing word against the majority of people, on the items with a verdict that takes a side."""
    if panel.failing is None:
        return None
    flagged, failed = panel.failed(verdicts), panel.failed(panel.reference)
    return failing_word(flagged, failed, clusters=panel.clusters, cluster_unit=panel.cluster_unit, ci_level=ci_level)


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
