"""A sheet: many questions about one run that are put to a judge in one call, and answered in one object.

Each question about each interaction is a point, ``agent.success@12``; a question about the whole run, and a goal check,
is a point without a number, ``agent.necessity``, ``goal.1``. Every point becomes a rating of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from axisjudge.judges.answer import Answer
from axisjudge.judges.prompt import CallPrompt
from axisjudge.rubric import RubricText
from axisjudge.trajectory import Trajectory


class Told(NamedTuple):
    """What a reply says: an answer for every point, and flags that concern the reply as a whole."""

    answers: Mapping[str, Answer]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """What one call asks of one run.

    Parameters
    ----------
    trajectory : Trajectory
        Whose ratings the answers are.
    scale : str
        ``unit`` for signals, ``check`` for goal checks.
    page : Page
        What a judge that reads is shown.
    rubrics : mapping of point to RubricText
        All points of the sheet, each with the rubric that it is asked under.
    read : callable
        Reads a reply's text. A point that the reply does not answer as it must is lost, never filled in.
    by_rules : mapping of point to Answer
        What the rules say of the points they can judge: for judges that read nothing.
    flags : tuple of str
        What every rating made from this sheet bears.
    point_flags : mapping of point to tuple of str
        What the rating of a point bears beside them.
    """

    trajectory: Trajectory
    scale: str
    page: CallPrompt
    rubrics: Mapping[str, RubricText]
    read: Callable[[str], Told] = field(repr=False)
    by_rules: Mapping[str, Answer] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    point_flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def points(self) -> tuple[str, ...]:
        return tuple(self.rubrics)


def point(question: str, interaction: int | None = None) -> str:
    """The point of a question about an interaction, or about the whole run."""
    return question if interaction is None else f"{question}@{interaction}"


def question_and_interaction(point: str) -> tuple[str, str | None]:
    """A point's question, and the interaction it is about.

    Examples
    --------
    >>> question_and_interaction("agent.success@12"), question_and_interaction("termination")
    (('agent.success', '12'), ('termination', None))
    """
    question, _, interaction = point.partition("@")
    return question, interaction or None
