"""The rules as a judge like any other: deterministic, free, a family of its own."""

from __future__ import annotations

import json
from hashlib import sha256

from axisjudge.judges.answer import Reply
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.judges.rules.grade import grade_trajectory
from axisjudge.judges.sheet import Sheet
from axisjudge.spec import JudgeSpec, Provider
from axisjudge.trajectory import Trajectory

#: Part of every rating's identity: raised whenever a rule, a word list or a confidence changes an answer.
VERSION = "rules-5"


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
