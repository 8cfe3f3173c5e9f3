"""Requirements of judges against people, question by question."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from axisjudge.checks import InputError
from axisjudge.results import reached
from axisjudge.stats.requirements import Decision, requirement_of

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
        Not of this form, an unknown measure, judge or question, or a measure that none of them has.
    """
    pairs = [(question.question, judge) for question in comparison.questions for judge in question.judges]
    coefficients = dict.fromkeys(name for _, judge in pairs for name in judge.majority.coefficients)
    decisions: list[Decision] = []
    for text in requirements:
        required = requirement_of(text, [*_SHARES, *coefficients])
        named = [(question, judge) for question, judge in pairs if required.of in (None, question, judge.judge)]
        if not named:
            raise InputError("--require", "names no judge or question of these ratings", required.of)
        known = [(f"{judge.judge}, {question}", _measure(judge, required.measure)) for question, judge in named]
        decided = [required.decided(name, measure) for name, measure in known if measure is not None]
        if not decided:
            raise InputError("--require", f"{required.measure} is no measure of {required.of}", text)
        decisions += decided
    return tuple(decisions)


def _measure(judge: JudgeComparison, name: str) -> Estimate | None:
    """The measure against the majority; None where the question's scale has no such coefficient."""
    known: Estimate | None = (
        reached(judge.majority, _SHARES[name]) if name in _SHARES else judge.majority.coefficients.get(name)
    )
    return known
