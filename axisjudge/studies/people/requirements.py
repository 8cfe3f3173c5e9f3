"""Requirements of judges against people, question by question."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from axisjudge.results import reached
from axisjudge.stats.requirements import Decision, decided

if TYPE_CHECKING:
    from axisjudge.stats.estimate import Estimate
    from axisjudge.studies.people.comparison import HumanComparison
    from axisjudge.studies.people.judge_comparison import JudgeComparison

#: Where a measure against the majority stands.
_SHARES = {
    **dict.fromkeys(("caught", "recall", "sensitivity"), "sensitivity.given"),
    **dict.fromkeys(("passed", "specificity"), "specificity.given"),
    **dict.fromkeys(("agreement", "accuracy"), "accuracy.given"),
    "coverage": "coverage",
}


def decide(comparison: HumanComparison, requirements: Iterable[str]) -> tuple[Decision, ...]:
    """Decide ``MEASURE>=NUMBER`` for every judge and question; ``NAME.MEASURE>=NUMBER`` for a judge or a question.

    Measures are against the majority of people: shares, coverage, and the coefficients that the questions have.

    Raises
    ------
    InputError
        As `axisjudge.stats.requirements.decided` does.
    """
    pairs = [(question.question, judge) for question in comparison.questions for judge in question.judges]
    coefficients = dict.fromkeys(name for _, judge in pairs for name in judge.majority.coefficients)
    judges = [((question, one.judge), f"{one.judge}, {question}", partial(_measure, one)) for question, one in pairs]
    return decided(requirements, [*_SHARES, *coefficients], judges)


def _measure(judge: JudgeComparison, name: str) -> Estimate | None:
    """The measure against the majority; None where the question's scale has no such coefficient."""
    known: Estimate | None = (
        reached(judge.majority, _SHARES[name]) if name in _SHARES else judge.majority.coefficients.get(name)
    )
    return known
