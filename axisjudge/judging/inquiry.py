"""What one call asks: axes of a trajectory, or the points of a sheet; and how it is put to a judge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from axisjudge.judges.answer import Answer, Reply, Sheet, not_sent
from axisjudge.judges.base import Judge, Rubrics
from axisjudge.judges.injection import injection_flags
from axisjudge.judges.prompt import INSTRUCTIONS, question
from axisjudge.judges.remote import RemoteJudge
from axisjudge.judges.written import JOINT_REPLY_TOKENS, WrittenJudge
from axisjudge.rubric.axes import RubricText
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis, Word

#: A rule of thumb for English text and JSON.
CHARACTERS_PER_TOKEN = 4.0
#: Tokens that a verdict with its reason usually takes.
USUAL_REPLY = 500
#: Flag of the rating of a run without messages.
NO_MESSAGES = "empty_run"
#: What providers add to a prompt: the schema of the answer, roles, their own words on tools.
FRAME_BYTES = 8_000


class Inquiry(ABC):
    """The points that one call asks a judge about, each under its rubric, on one scale.

    A point is an axis, or a point of a sheet (`axisjudge.judges.answer`).
    """

    trajectory: Trajectory
    rubrics: Mapping[Any, RubricText]
    scale: str = "verdict"

    @abstractmethod
    def prompt_sha256(self, judge: Judge) -> str:
        """Hash of everything that the judge is shown and asked."""

    @abstractmethod
    async def put_to(self, judge: Judge, repeat: int) -> Reply:
        """Ask."""

    @abstractmethod
    def prompt(self, judge: Judge) -> list[str]:
        """The parts of the assembled prompt as a judge that reads is shown them: instructions, setting, run, questions.

        A sheet has no setting.
        """

    @abstractmethod
    def request(self, judge: Judge) -> Any:
        """What the judge is sent, as it is sent; the parts of the prompt where it is not asked over a wire."""

    @property
    @abstractmethod
    def reply_tokens(self) -> int:
        """How long an answer may have to be; 0 where that is no longer than an answer usually is."""

    def tokens(self, judge: Judge) -> float:
        """About how many tokens a call takes, prompt and answer, for a limit of tokens a minute."""
        return sum(map(len, self.prompt(judge))) / CHARACTERS_PER_TOKEN + USUAL_REPLY

    def worst_usd(self, judge: Judge) -> float | None:
        """The most that a call can cost: as many tokens as the prompt has bytes, and a reply of full length."""
        n_bytes = sum(len(part.encode()) for part in self.prompt(judge)) + FRAME_BYTES
        return judge.worst_usd(n_bytes, len(self.rubrics), self.reply_tokens)

    def usual_usd(self, judge: Judge) -> float | None:
        """What a call usually costs where nothing is known of the judge's calls."""
        n_letters = sum(map(len, self.prompt(judge))) + FRAME_BYTES
        return judge.usual_usd(n_letters, len(self.rubrics))

    @abstractmethod
    def flags_of(self, point: str) -> tuple[str, ...]:
        """What the rating of a point bears, whatever the answer."""

    def unasked(self, judge: Judge) -> Reply | None:
        """The reply where no judge is asked: it follows from a definition, or the run is too long to be sent."""
        return None


@dataclass(frozen=True)
class OfAxes(Inquiry):
    """Axes of a trajectory: all of them for a joint judge, else one."""

    trajectory: Trajectory
    rubrics: Rubrics

    def prompt_sha256(self, judge: Judge) -> str:
        return judge.prompt_sha256(self.trajectory, self.rubrics)

    async def put_to(self, judge: Judge, repeat: int) -> Reply:
        return await judge.grade(self.trajectory, self.rubrics, repeat=repeat)

    def request(self, judge: Judge) -> Any:
        return judge.request(self.trajectory, self.rubrics) if isinstance(judge, RemoteJudge) else self.prompt(judge)

    def prompt(self, judge: Judge) -> list[str]:
        n_steps = len(self.trajectory.steps)
        prefix = judge.prefix(self.trajectory, self.rubrics)
        setting, run = prefix.text[: prefix.n_setting], prefix.text[prefix.n_setting :]
        return [INSTRUCTIONS, setting, run, *(question(rubric, n_steps) for rubric in self.rubrics.values())]

    def flags_of(self, point: str) -> tuple[str, ...]:
        return injection_flags(self.trajectory)

    @property
    def reply_tokens(self) -> int:
        return JOINT_REPLY_TOKENS * len(self.rubrics) if len(self.rubrics) > 1 else 0

    def unasked(self, judge: Judge) -> Reply | None:
        if not self.trajectory.steps:
            return Reply({axis: empty_run(self.trajectory, axis) for axis in self.rubrics}, cost_usd=0.0)
        if not isinstance(judge, RemoteJudge):
            return None
        return not_sent(judge.prefix(self.trajectory, self.rubrics), self.rubrics)


class OfSheet(Inquiry):
    """The points of a sheet that a judge can answer."""

    def __init__(self, sheet: Sheet, judge: Judge, flags: tuple[str, ...] = ()) -> None:
        self.sheet, self.trajectory, self.scale = sheet, sheet.trajectory, sheet.scale
        self.rubrics = {point: sheet.rubrics[point] for point in judge.points(sheet)}
        self.flags = flags

    def prompt_sha256(self, judge: Judge) -> str:
        return judge.sheet_sha256(self.sheet)

    async def put_to(self, judge: Judge, repeat: int) -> Reply:
        return await judge.fill(self.sheet, repeat=repeat)

    def flags_of(self, point: str) -> tuple[str, ...]:
        of_sheet = (*self.sheet.flags, *self.sheet.point_flags.get(point, ()))
        return (*injection_flags(self.trajectory), *self.flags, *of_sheet)

    @property
    def reply_tokens(self) -> int:
        return self.sheet.page.reply_tokens

    def request(self, judge: Judge) -> Any:
        return judge.body(self.sheet.page) if isinstance(judge, WrittenJudge) else self.prompt(judge)

    def prompt(self, judge: Judge) -> list[str]:
        page = self.sheet.page
        return [page.instructions, "", page.prefix.text, page.question]


def empty_run(trajectory: Trajectory, axis: Axis) -> Answer:
    """The answer for a run without a single message; it follows from the definition, so no judge is asked.

    Termination is incorrect where the source says that the run ended in an error, uncertain where it names another
    ending, and not applicable where it says nothing; the other axes are not applicable.
    """
    ending = trajectory.termination
    if axis != "termination" or ending is None:
        return Answer("ok", "not_applicable", rationale="The run holds no message.", flags=(NO_MESSAGES,))
    word: Word = "incorrect" if "error" in ending.lower() else "uncertain"
    reason = f"The run holds no message, and its source says that it ended with {ending}."
    return Answer("ok", word, rationale=reason, flags=(NO_MESSAGES,))
