"""Goal achievement: checks with weights, grades from 0 to 10, and the score they give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from axisjudge.scores.axis.transcript.javascript import half_up


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
