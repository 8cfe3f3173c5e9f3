"""The rules as a judge like any other: deterministic, free, a family of its own."""

from __future__ import annotations

from axisjudge.judges.base import Judge, Reply, Rubrics
from axisjudge.judges.rules.grade import grade_trajectory
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Trajectory

#: Part of every rating's identity: raised whenever a rule, a word list or a confidence changes an answer.
VERSION = "rules-1"


class RulesJudge(Judge):
    """Grades what a program can know of a trajectory; says ``uncertain`` where it cannot.

    It reads no rubric, so that a new rubric version does not move it.
    """

    kind = "rules"
    joint = True
    reads_rubrics = False

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        self.mechanism = "program"
        self.version = VERSION

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        """Hash of the trajectory: it is all that the rules see."""
        return trajectory.content_sha256

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        """Answer for every axis asked; the same each time."""
        return Reply(answers=grade_trajectory(trajectory, rubrics))
