"""What every judge is: something that answers for axes of one trajectory, or the points of a sheet, in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from axisjudge.checks import InputError
from axisjudge.judges.answer import Reply, Sheet
from axisjudge.judges.prompt import Prefix, shared_prefix
from axisjudge.rubric import Rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import Axis, RaterKind

if TYPE_CHECKING:
    from axisjudge.judges.lifecycle import Retirement

Rubrics = Mapping[Axis, Rubric]


class Judge(ABC):
    """A rater that can be asked: the protocol that every judge keeps, built in or your own.

    A function is a judge more simply (`axisjudge.judge_function`). A class is derived from this one where a judge
    answers all axes in one call, keeps a connection, or fills in sheets. An instance is given to `axisjudge.judge` as
    itself; named by an entry point of the group ``axisjudge.judges``, alone or in an `axisjudge.Provider`, the class
    makes ``mine:MODEL,option=value`` a spec.

    Parameters
    ----------
    spec : JudgeSpec
        Its name (provider, model and the options that change its answers), its family, and the options ``rpm``,
        ``tpm`` and ``concurrency``, which the run keeps.

    Attributes
    ----------
    kind : str
        ``llm``, ``decision_model``, ``rules``, ``simulated``; to be given by the class.
    joint : bool
        Answers all axes in one call; others are asked once an axis.
    reads_rubrics : bool
        False for judges that a rubric cannot move.
    version : str or None
        Names the program for judges that are programs. It is part of a rating's identity with `rater` and the hash of
        what is shown: what was asked of one identity is not asked again.
    model, mechanism : str or None
        For the record.

    Notes
    -----
    What `grade` raises is a lost rating with status ``api_error``, but for `InputError`, which stops the run; what no
    rating can hold, and points without an answer, are lost with ``parse_error``.

    Examples
    --------
    >>> from axisjudge import Answer, JudgeSpec, Reply
    >>> class Longest(Judge):
    ...     kind = "rules"
    ...     def prompt_sha256(self, trajectory, rubrics):
    ...         return trajectory.content_sha256
    ...     async def grade(self, trajectory, rubrics, *, repeat=0):
    ...         word = "incorrect" if len(trajectory.steps) > 50 else "correct"
    ...         return Reply({axis: Answer("ok", word, 0.6) for axis in rubrics}, cost_usd=0.0)
    >>> Longest(JudgeSpec(provider="longest", family="length")).rater
    'longest'
    """

    kind: RaterKind
    joint: bool = False
    reads_rubrics: bool = True
    #: Whether the provider has said, before the first call, that it knows this key and this model.
    is_confirmed: bool = False
    #: Calls that may be under way at once, where nobody says otherwise; None for as many as the run allows.
    at_once: int | None = None
    #: Tokens of the model's context, as its server tells them; None where it does not, or was not asked.
    context_told: int | None = None

    def __init__(self, spec: JudgeSpec) -> None:
        self.spec = spec
        self.rater = spec.rater
        self.family = spec.family
        self.model = spec.model
        self.mechanism: str | None = None
        self.version: str | None = None

    @abstractmethod
    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        """Hash of everything that this judge is shown and asked in one call."""

    @abstractmethod
    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        """Answer for every axis in `rubrics`. Failures come back as a status; only bad input raises."""

    def prefix(self, trajectory: Trajectory, rubrics: Rubrics) -> Prefix:
        """The record as a judge that reads is shown it beside these rubrics."""
        return shared_prefix(trajectory)

    def points(self, sheet: Sheet) -> tuple[str, ...]:
        """The points of a sheet that this judge can answer.

        Raises
        ------
        InputError
            It answers no sheets.
        """
        raise self._no_sheets()

    def sheet_sha256(self, sheet: Sheet) -> str:
        """Hash of everything that this judge is shown and asked by a sheet; raises as `points` does."""
        raise self._no_sheets()

    async def fill(self, sheet: Sheet, *, repeat: int = 0) -> Reply:
        """Answer for every point of a sheet that this judge can answer. Failures come back as a status."""
        raise self._no_sheets()

    def _no_sheets(self) -> InputError:
        cure = "take a judge that writes (openai, anthropic, openai-compatible), rules, or a simulated one"
        return InputError(f"judge {self.rater}", "gives verdicts on the five axes and judges no signals", cure=cure)

    @property
    def provider_address(self) -> str:
        """Who answers: judges of one address share its pauses."""
        return self.rater

    def worst_usd(self, n_bytes: int, n_points: int = 1, reply_tokens: int = 0) -> float | None:
        """The most that one call can cost, in US dollars; None where it has no price that is known beforehand.

        Parameters
        ----------
        n_bytes : int
            Of the prompt.
        n_points : int
            What is asked about.
        reply_tokens : int
            How long an answer may have to be, where that is longer than usual.
        """
        return None if self.kind in ("llm", "decision_model") else 0.0

    def usual_usd(self, n_letters: int, n_points: int = 1) -> float | None:
        """What a call usually costs, in US dollars, before any call has told; at its worst, unless a judge knows."""
        return self.worst_usd(n_letters, n_points)

    def check(self) -> None:
        """Refuse what is known to fail, a key that is missing say, before anybody is asked about money."""
        return

    def prepare(self) -> None:
        """Find out, before the first call, whether it can be asked at all; raise InputError where it cannot."""
        return

    async def retirement(self) -> Retirement | None:
        """When the provider shuts this judge's model down, as far as that can be known; None for judges that stay."""
        return None

    async def look(self) -> None:
        """Find out, before the first call, what its server tells of the model (`context_told`)."""
        return

    async def close(self) -> None:
        """Give back connections."""
        return
