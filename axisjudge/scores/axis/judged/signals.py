"""What is judged of each interaction (signals) and of the goal (checks, graded), and what stands in for what is not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from axisjudge.scores.axis.transcript.categories import Category
from axisjudge.scores.axis.transcript.interactions import Interaction
from axisjudge.scores.axis.transcript.javascript import half_up

#: The five signals, in the order in which they are added up.
SIGNALS = ("success", "speed", "weight", "relevance", "necessity")
#: Those that are judged of each interaction.
JUDGED = ("success", "weight", "relevance")
#: Weight of each signal in each dimension.
SIGNAL_WEIGHTS: dict[Category, tuple[float, ...]] = {
    "environment": (0.7, 0.3, 0.0, 0.0, 0.0),
    "service": (0.7, 0.3, 0.0, 0.0, 0.0),
    "agent": (0.1, 0.1, 0.2, 0.2, 0.4),
}

#: The word by which a signal that nobody judged is known.
DEFAULT = "default"
_SUCCESS, _SUCCESS_OF_ERROR = 1.0, 0.3
#: Necessity where no judge was asked or its answer could not be read.
DEFAULT_NECESSITY = 0.8


class Audit(NamedTuple):
    """One interaction's judged signals, each in [0, 1], or None where it was not judged."""

    id: int
    success: float | None = None
    weight: float | None = None
    relevance: float | None = None
    rationale: str = ""

    @property
    def judged(self) -> bool:
        """Whether any signal of it was."""
        return any(value is not None for value in (self.success, self.weight, self.relevance))


class Necessity(NamedTuple):
    """Were the interactions needed? One score for all of a category, with the ids of those that were not."""

    score: float | None = None
    unnecessary: tuple[int, ...] = ()
    rationale: str = DEFAULT


#: Nobody said anything of necessity.
UNJUDGED = Necessity()


class CategorySignals(NamedTuple):
    """What one judge said of one category's interactions."""

    audits: tuple[Audit, ...] = ()
    necessity: Necessity = UNJUDGED


#: Signals of each category that was judged; one that is absent was not.
Signals = Mapping[Category, CategorySignals]


def scope(interactions: list[Interaction], category: Category) -> list[Interaction]:
    """The interactions that a category's judge sees: the agent's sees all."""
    return interactions if category == "agent" else [each for each in interactions if category in each.categories]


def with_defaults(
    given: CategorySignals | None, interactions: list[Interaction], category: Category
) -> CategorySignals:
    """Signals completed as the original program does: its defaults for every interaction that the judge left out.

    Where no judge was asked (`given` is None) only interactions that stand in this category first are filled in.
    """
    if given is None:
        unjudged = [each for each in interactions if each.categories[0] == category]
        return CategorySignals(tuple(map(_default, unjudged)), Necessity(DEFAULT_NECESSITY))
    known = {audit.id for audit in given.audits}
    missing = [each for each in scope(interactions, category) if each.id not in known]
    by_id = {each.id: each for each in interactions}
    audits = [*(_filled(audit, by_id[audit.id]) for audit in given.audits), *map(_default, missing)]
    necessity = given.necessity
    if necessity.score is None:
        necessity = necessity._replace(score=DEFAULT_NECESSITY)
    return CategorySignals(tuple(sorted(audits)), necessity)


def _default(interaction: Interaction) -> Audit:
    success = _SUCCESS_OF_ERROR if interaction.has_error else _SUCCESS
    return Audit(interaction.id, success, 1.0, 1.0, DEFAULT)


def _filled(audit: Audit, interaction: Interaction) -> Audit:
    default = _default(interaction)
    return Audit(
        audit.id,
        default.success if audit.success is None else audit.success,
        default.weight if audit.weight is None else audit.weight,
        default.relevance if audit.relevance is None else audit.relevance,
        audit.rationale,
    )


# Goal achievement: checks with weights, grades from 0 to 10, and the score they give.


class GoalCheck(NamedTuple):
    """What must hold for the goal to be reached; weights count relative to their sum."""

    check: str
    weight: float = 1.0


class Grade(NamedTuple):
    """A check's grade from 0 to 10, a whole number where one judge gave it; None where nobody graded it."""

    check: GoalCheck
    score: float | None = None
    rationale: str = ""


def limited_grade(score: float) -> float:
    """A grade rounded to a whole number (halves up) and limited to 0 to 10; NaN stays NaN."""
    rounded = half_up(score)
    return rounded if math.isnan(rounded) else min(10, max(0, rounded))


def goal_score(grades: Sequence[Grade]) -> float | None:
    """100 times the weighted mean of grade / 10, rounded half up; None where a check has no grade.

    No checks, or weights that add up to 0, give 0.
    """
    if any(grade.score is None for grade in grades):
        return None
    total = sum(grade.check.weight for grade in grades)
    if not grades or total == 0:
        return 0
    weighted = sum(grade.score / 10 * grade.check.weight for grade in grades if grade.score is not None)
    return half_up(100 * weighted / total)


def goal_bounds(grades: Sequence[Grade]) -> tuple[float, float]:
    """The goal score with every missing grade at 0 and at 10."""
    ends = [[grade._replace(score=end if grade.score is None else grade.score) for grade in grades] for end in (0, 10)]
    low, high = (goal_score(each) or 0 for each in ends)
    return low, high
