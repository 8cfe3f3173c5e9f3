"""What comes back from a judge: an answer to each point it was asked about, and what the call cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from axisjudge.judges.failure import Failure
from axisjudge.judges.prompt import CallPrompt, Prefix
from axisjudge.judges.redaction import keepable
from axisjudge.rubric import RubricText
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import ConfidenceSource, Status, Word


@dataclass(frozen=True)
class Answer:
    """A judge's word on one axis, or its number for one point of a sheet.

    Only status ``ok`` carries a verdict or a value; what was lost says why in `rationale`.
    """

    status: Status
    verdict: Word | None = None
    confidence: float | None = None
    confidence_source: ConfidenceSource | None = None
    probabilities: dict[str, float] | None = None
    cited_step_indices: tuple[int, ...] = ()
    rationale: str | None = None
    flags: tuple[str, ...] = ()
    value: float | None = None


@dataclass(frozen=True)
class Reply:
    """What came back from one call: an answer for every axis or point asked, and what the call cost.

    `failure` says why nothing came, so that the run knows whether to wait, to ask again, or to ask no more.
    """

    answers: Mapping[Any, Answer]
    returned_model: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    call_id: str | None = None
    flags: tuple[str, ...] = ()
    failure: Failure | None = None


#: Flag of ratings that came out of one call together.
ONE_CALL = "one_call"
#: Flag of a rating for which calls timed out or broke off: each may have been paid beside the one that was answered.
MAYBE_PAID = "maybe_paid"

_NOT_WRITABLE = "text that cannot be written as UTF-8"

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Usage(BaseModel):
    """What a call cost: tokens (those that came from a cache are among the input), US dollars."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_tokens: _Count | None = None
    cached_tokens: _Count | None = None
    output_tokens: _Count | None = None
    cost_usd: _Amount | None = None


class _OfTheCall(Usage):
    """The fields of a `Reply` beside its answers."""

    returned_model: str | None
    latency_s: _Amount | None
    call_id: str | None
    flags: tuple[str, ...]


def whole(reply: object, points: Iterable[str]) -> Reply:
    """A reply that answers every point and whose other fields a rating can hold; what it lacks is lost."""
    asked = list(points)
    if not isinstance(reply, Reply) or not isinstance(reply.answers, Mapping):
        return Reply(all_lost(asked, "parse_error", f"the judge must give a Reply; received {type(reply).__name__}"))
    try:
        fields = _OfTheCall.model_validate({name: getattr(reply, name) for name in _OfTheCall.model_fields})
    except ValidationError as error:
        return Reply(all_lost(asked, "parse_error", keepable(fault_of(error))))
    if not _is_writable(fields):
        return Reply(all_lost(asked, "parse_error", _NOT_WRITABLE))
    answers = {point: _an_answer(reply.answers.get(point), point) for point in asked}
    return replace(reply, answers=answers, **fields.model_dump())


def after(failed: Reply | None, reply: Reply) -> Reply:
    """The reply to a call that was tried before: it bears what the tries that failed took, as far as they say so."""
    if failed is None:
        return reply
    amounts: dict[str, Any] = {}
    for name in Usage.model_fields:
        known = [amount for each in (failed, reply) if (amount := getattr(each, name)) is not None]
        amounts[name] = sum(known) if known else None
    return replace(reply, **amounts)


def _an_answer(answer: object, point: str) -> Answer:
    if not isinstance(answer, Answer):
        return lost("parse_error", f"the reply has no answer to {point}")
    return answer if _is_writable(answer) else lost("parse_error", _NOT_WRITABLE)


def _is_writable(fields: object) -> bool:
    """Whether all text in it can be written to a file: half of a surrogate pair cannot."""
    try:
        "".join(str(value) for value in vars(fields).values()).encode()
    except UnicodeEncodeError:
        return False
    return True


def fault_of(error: ValidationError, whole: str = "given") -> str:
    """What is wrong with fields that were given, such as ``confidence: Input should be less than or equal to 1``."""
    faults = (f"{'.'.join(map(str, fault['loc'])) or whole}: {fault['msg']}" for fault in error.errors())
    return "; ".join(faults)


def lost(status: Status, reason: str) -> Answer:
    """An answer without a verdict, and why."""
    return Answer(status, rationale=reason)


def all_lost(points: Iterable[str], status: Status, reason: str) -> dict[Any, Answer]:
    """No answer to anything, for one reason."""
    return {point: lost(status, reason) for point in points}


def not_sent(prefix: Prefix, points: Iterable[str]) -> Reply | None:
    """The reply where a trajectory is too long to be sent even shortened; None where it fits."""
    if not prefix.excess:
        return None
    reason = f"not sent: the trajectory is {prefix.excess} characters over the budget, tool results shortened"
    return Reply(all_lost(points, "truncated", reason), flags=prefix.flags)


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
