"""What the API takes and answers, as records; and what a row of the store becomes."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from axisjudge.scores.run_score import Run, Scorecard
from axisjudge.scores.run_score.reasons import EARLIEST, LARGEST
from axisjudge.scores.run_score.runs import Stage, end_time
from axisjudge.service.problems import Problem
from axisjudge.service.store import ScorePage, Wanted

Percent = Annotated[int, Field(ge=0, le=100)]
LARGEST_BULK = 1000


#: How far the sender's clock may be ahead of this one.
AHEAD = timedelta(days=1)


def _measure(name: str) -> Any:
    return Field(default=None, ge=0, le=LARGEST[name], allow_inf_nan=False)


def _whole(value: Any) -> Any:
    """3.0 is a whole number in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class SentStage(Stage):
    """A stage as it is handed in."""

    attempts: Annotated[int, Field(ge=0), BeforeValidator(_whole)]


class SentRun(Run):
    """A run as it is handed in: a measure that cannot be one is an error of its field, as its sender can mend it.

    From files such a measure is kept out of the formula, with its reason in every answer; see `Run`.
    """

    stages: Annotated[list[SentStage], Field(max_length=10_000)] | None = None  # type: ignore[assignment]
    wall_seconds: float | None = _measure("wall_seconds")
    memory_peak_bytes: float | None = _measure("memory_peak_bytes")
    memory_limit_bytes: float | None = _measure("memory_limit_bytes")
    cpu_throttled_ms: float | None = _measure("cpu_throttled_ms")
    cpu_wall_ms: float | None = _measure("cpu_wall_ms")
    reward: float | None = Field(default=None, allow_inf_nan=False)

    @field_validator("ended_at")
    @classmethod
    def _is_past(cls, text: str | None) -> str | None:
        if text is None:
            return None
        if (moment := end_time(text)) is None:
            raise ValueError("must be a time as 2026-11-22T09:30:00Z")
        if not EARLIEST <= moment <= datetime.now(UTC) + AHEAD:
            raise ValueError("must lie between the year 2000 and a day from now")
        return text


class Components(BaseModel):
    """The four components of a score."""

    completion: Percent
    error_rate: Percent
    latency: Percent
    resource_efficiency: Percent


class RangedScore(BaseModel):
    """A score with its range, from missing components at 0 to them at 100; `reasons` says why each is missing.

    `score` and `axes` are null for a run that has no score (Unranked).
    """

    run_id: str
    score: Percent | None
    tier: str
    formula_version: str
    axes: Components | None
    low: Percent | None
    high: Percent | None
    reasons: dict[str, str]

    @classmethod
    def of(cls, card: Scorecard) -> Self:
        """From the record of a score."""
        ranged = {"low": card.low, "high": card.high, "reasons": dict(card.reasons)}
        return cls.model_validate(card.answer() | {"axes": dict(card.components) or None} | ranged)


class FullScore(RangedScore):
    """A score with all that is kept beside it."""

    score_id: str
    agent_id: str
    workspace_id: str
    spec_id: str | None
    artefact: str | None
    ended_at: str | None
    scored_at: datetime
    weights: dict[str, float]
    baseline_seconds: float | None
    baseline_runs: int


class RunHistory(FullScore):
    """A score and those that it took the place of, oldest first."""

    superseded: list[dict[str, Any]]


class ScoreList(BaseModel):
    """Scores, newest first; `next` is the cursor of the following page, null at the end."""

    scores: list[FullScore]
    next: str | None


class RankedScore(FullScore):
    """A score with its rank; 1 is the run that is offered for review."""

    rank: int
    wall_seconds: float | None


class SpecRanking(BaseModel):
    """The scored runs of a spec, best first."""

    spec_id: str
    tie_breaks: list[str]
    runs: list[RankedScore]


class Bulk(BaseModel):
    """Runs that are handed in together; each is kept or refused for itself."""

    model_config = ConfigDict(extra="forbid")

    runs: Annotated[list[SentRun], Field(min_length=1, max_length=LARGEST_BULK)]


class BulkOutcome(BaseModel):
    """What came of one run: 201 new, 200 known before, 409 known with other facts, 403 of a workspace not opened."""

    run_id: str
    status: Literal[200, 201, 403, 409]
    score: RangedScore | None
    problem: Problem | None


class BulkAnswer(BaseModel):
    """One outcome a run, in the order given."""

    outcomes: list[BulkOutcome]


class Health(BaseModel):
    """Whether the service is well."""

    status: str


#: Where a list goes on: a signature, the place's moment and its run. Callers take it as it is.
CURSOR_PATTERN = r"^[0-9a-f]{48}[A-Za-z0-9_.-]{1,64}$"
_OFFSET = 2**63


def cursor_of(position: tuple[int, str] | None, wanted: Wanted, key: bytes) -> str | None:
    """The cursor of a place in a list, signed with the store's key: it goes on in this list and in no other."""
    place = None if position is None else f"{position[0] + _OFFSET:016x}{position[1]}"
    return place and _signature(place, wanted, key) + place


def place_of(cursor: str | None, wanted: Wanted, key: bytes) -> tuple[int, str] | None:
    """The place that a cursor stands for.

    Raises
    ------
    ValueError
        The cursor was not given out for this list.
    """
    if cursor is None:
        return None
    if not hmac.compare_digest(cursor[:32], _signature(cursor[32:], wanted, key)):
        raise ValueError("is no cursor of this list; take `next` of one of its pages as it is")
    return int(cursor[32:48], 16) - _OFFSET, cursor[48:]


def _signature(place: str, wanted: Wanted, key: bytes) -> str:
    return hmac.digest(key, repr((wanted, place)).encode(), "sha256").hex()[:32]


def full_score(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the fields of a `FullScore` among its own; scores of older versions know no artefact."""
    renamed = {"axes": row["axis_scores"] or None, "weights": row["weight_snapshot"]}
    return {"artefact": None, **row["detail"], **row, **renamed}


def past_score(row: dict[str, Any]) -> dict[str, Any]:
    """A score that another took the place of."""
    moments = {name: row[name].isoformat() for name in ("scored_at", "superseded_at")}
    return FullScore(**full_score(row)).model_dump() | moments | {"superseded_by": row["superseded_by"]}


def score_list(page: ScorePage, wanted: Wanted, key: bytes) -> ScoreList:
    """A page of scores."""
    scores = [FullScore(**full_score(row)) for row in page.rows]
    return ScoreList(scores=scores, next=cursor_of(page.after, wanted, key))
