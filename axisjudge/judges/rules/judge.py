"""The rules as a judge like any other: deterministic, free, a family of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

from axisjudge.judges.answer import Answer, Reply, Sheet
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.judges.rules import argument_validity, result_interpretation, sequencing, termination, tool_selection
from axisjudge.judges.rules.facts import Facts
from axisjudge.judges.rules.findings import KINDS, Clean, Finding, answer
from axisjudge.spec import JudgeSpec, Provider
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES, Axis

_RULES: dict[Axis, tuple[Callable[[Facts], Iterator[Finding]], Callable[[Facts], Clean]]] = {
    "tool_selection": (tool_selection.findings, tool_selection.clean),
    "argument_validity": (argument_validity.findings, argument_validity.clean),
    "sequencing": (sequencing.findings, sequencing.clean),
    "result_interpretation": (result_interpretation.findings, result_interpretation.clean),
    "termination": (termination.findings, termination.clean),
}
_EMPTY = Clean("not_applicable", 0.95, (), "The run holds no message, so there is nothing to judge on this axis.")


def grade_trajectory(
    trajectory: Trajectory, axes: Iterable[Axis] = AXES, *, every_kind: bool = False
) -> dict[Axis, Answer]:
    """Answer for each axis asked; the facts are read off the trajectory once.

    ``incorrect`` has evidence. ``correct`` is said only where what the rules check exhausts the axis for this run:

    | axis | correct where | else |
    |---|---|---|
    | tool_selection | never: a rule cannot tell which calls were needed | uncertain |
    | argument_validity | every call went through and its schema leaves nothing to choose | uncertain |
    | sequencing | only tools that read were called, and no policy or system message could demand an order | uncertain |
    | result_interpretation | never: a rule reads no more than amounts, dates and statuses | uncertain |
    | termination | every tool offered only reads, the user's last words close, nothing is left open | uncertain |

    Of a talk that is not in English nothing is found that rests on its words.

    ``not_applicable`` is said where there is nothing to judge: no calls, no results, no two calls.

    Parameters
    ----------
    trajectory : Trajectory
        The run.
    axes : iterable of str
        The axes to answer for.
    every_kind : bool
        Count the kinds of finding too that are off by default (`findings.KINDS`).
    """
    facts = Facts.of(trajectory)
    return {axis: _grade(facts, axis, every_kind) for axis in axes}


def findings_of(trajectory: Trajectory) -> list[Finding]:
    """Every finding of every kind on all axes, those that are off by default included: data/reference counts them."""
    facts = Facts.of(trajectory)
    axes = AXES if trajectory.steps else ("termination",)
    return [finding for axis in axes for finding in _findings(facts, axis)]


def _grade(facts: Facts, axis: Axis, every_kind: bool) -> Answer:
    if not facts.trajectory.steps and axis != "termination":
        return answer((), _EMPTY)
    return answer(_findings(facts, axis), _RULES[axis][1](facts), every_kind=every_kind)


def _findings(facts: Facts, axis: Axis) -> Iterator[Finding]:
    """What the rules hold against a run on an axis; of a talk in another language nothing that rests on its words."""
    for finding in _RULES[axis][0](facts):
        if facts.is_english or not KINDS[finding.kind].reads_words:
            yield finding


#: Part of every rating's identity: raised whenever a rule, a word list or a confidence changes an answer.
VERSION = "rules-10"


class RulesJudge(Judge):
    """Grades what a program can know of a trajectory; says ``uncertain`` where it cannot.

    Kinds of finding that were right too seldom on real data are off; ``rules,all=true`` turns them on. It reads no
    rubric, so that a new rubric version does not move it.
    """

    kind = "rules"
    joint = True
    reads_rubrics = False

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        self.mechanism = "program"
        self.version = VERSION
        self.every_kind = bool(spec.options.get("all"))

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        """Hash of the trajectory: it is all that the rules see."""
        return trajectory.content_sha256

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        """Answer for every axis asked; the same each time."""
        return Reply(answers=grade_trajectory(trajectory, rubrics, every_kind=self.every_kind))

    def points(self, sheet: Sheet) -> tuple[str, ...]:
        """Signals that can be seen without understanding (`scores.axis.judged.rule_signals`), no goal checks."""
        return tuple(point for point in sheet.points if point in sheet.by_rules)

    def sheet_sha256(self, sheet: Sheet) -> str:
        """Hash of the trajectory and of what a sheet shows of it."""
        parts = [sheet.trajectory.content_sha256, sheet.page.prefix.by_hash.text]
        return sha256(json.dumps(parts).encode()).hexdigest()

    async def fill(self, sheet: Sheet, *, repeat: int = 0) -> Reply:
        """What the sheet brings along; the same each time."""
        return Reply(answers=sheet.by_rules)


PROVIDER = Provider(RulesJudge, {"all": bool}, family="rules", model="", model_required=False, free=True)
