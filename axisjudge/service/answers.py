"""What the API takes and answers, as records; and what a row of the store becomes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from axisjudge.scores.run_score import Run, Scorecard
from axisjudge.service.problems import Problem
from axisjudge.service.store import ScorePage

Percent = Annotated[int, Field(ge=0, le=100)]
LARGEST_BULK = 1000


class Components(BaseModel):
    """The four components of a score."""

    completion: Percent
    error_rate: Percent
    latency: Percent
    resource_efficiency: Percent


class Score(BaseModel):
    """A score as the text gives it. `score` and `axes` are null for a run that has no score (Unranked)."""

    run_id: str
    score: Percent | None
    tier: str
    formula_version: str
    axes: Components | None


class RangedScore(Score):
    """A score with its range, from missing components at 0 to them at 100; `reasons` says why each is missing."""

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

    runs: Annotated[list[Run], Field(min_length=1, max_length=LARGEST_BULK)]


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


#: Where a list goes on; callers take it as it is. Whatever matches stands for a place, so the schema alone checks it.
CURSOR_PATTERN = r"^[0-9a-f]{16}[A-Za-z0-9_.-]{1,64}$"
_OFFSET = 2**63


def cursor_of(position: tuple[int, str] | None) -> str | None:
    """The cursor of a place in a list."""
    return None if position is None else f"{position[0] + _OFFSET:016x}{position[1]}"


def place_of(cursor: str | None) -> tuple[int, str] | None:
    """The place that a cursor stands for."""
    return None if cursor is None else (int(cursor[:16], 16) - _OFFSET, cursor[16:])


def full_score(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the fields of a `FullScore` among its own; scores of older versions know no artefact."""
    renamed = {"axes": row["axis_scores"] or None, "weights": row["weight_snapshot"]}
    return {"artefact": None, **row["detail"], **row, **renamed}


def past_score(row: dict[str, Any]) -> dict[str, Any]:
    """A score that another took the place of."""
    moments = {name: row[name].isoformat() for name in ("scored_at", "superseded_at")}
    return FullScore(**full_score(row)).model_dump() | moments | {"superseded_by": row["superseded_by"]}


def score_list(page: ScorePage) -> ScoreList:
    """A page of scores."""
    return ScoreList(scores=[FullScore(**full_score(row)) for row in page.rows], next=cursor_of(page.after))
