"""What the API takes and answers, as records, and how runs that come at the same time are stored in one transaction."""

from __future__ import annotations

import asyncio
import hmac
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, Literal, Self

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from axisjudge.scores.run_score.rules import EARLIEST, LARGEST
from axisjudge.scores.run_score.runs import Run, Stage, end_time
from axisjudge.scores.run_score.score import Scorecard
from axisjudge.service.database import UNREACHABLE
from axisjudge.service.store import Conflict, Kept, ScoreStore, Wanted

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
    after = None if position is None else f"{position[0] + _OFFSET:016x}{position[1]}"
    return after and _signature(after, wanted, key) + after


def position_of(cursor: str | None, wanted: Wanted, key: bytes) -> tuple[int, str] | None:
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


def _signature(after: str, wanted: Wanted, key: bytes) -> str:
    return hmac.digest(key, repr((wanted, after)).encode(), "sha256").hex()[:32]


def full_score(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the fields of a `FullScore` among its own."""
    renamed = {"axes": row["axis_scores"] or None, "weights": row["weight_snapshot"]}
    return {**row["detail"], **row, **renamed}


def past_score(row: dict[str, Any]) -> dict[str, Any]:
    """A score that another took the place of."""
    moments = {name: row[name].isoformat() for name in ("scored_at", "superseded_at")}
    return FullScore(**full_score(row)).model_dump() | moments | {"superseded_by": row["superseded_by"]}


# Group commit: runs that come at the same time are scored and stored in one transaction.

Outcome = Kept | Conflict | Exception
#: Runs of one transaction; a larger one would keep those that wait waiting.
_LARGEST_GROUP = 500


class GroupWriter:
    """One thread that stores whatever runs have come while it stored those before.

    A commit waits for the disk; n runs of one group share that wait. What `store` returns is on the disk. Nobody waits
    for a group to fill: a run that comes alone is a group of one.

    Parameters
    ----------
    store : ScoreStore
    scored : callable
        Called after a group with a new score.
    """

    def __init__(self, store: ScoreStore, scored: Callable[[], None] = lambda: None) -> None:
        self._store, self._scored = store, scored
        self._asked: queue.SimpleQueue[tuple[Sequence[Run], asyncio.Future[list[Outcome]]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="scorecard writer", daemon=True)
        self._thread.start()

    async def store(self, runs: Sequence[Run]) -> list[Kept | Conflict]:
        """Score and store runs, each for itself; raises what the database raises."""
        answer: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self._asked.put((runs, answer))
        outcomes = await answer
        for outcome in outcomes:
            if isinstance(outcome, Exception) and not isinstance(outcome, Conflict):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, Kept | Conflict)]

    @property
    def is_alive(self) -> bool:
        """Whether the thread works."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Store what was asked for, and end."""
        self._asked.put(None)
        self._thread.join()

    def _work(self) -> None:
        is_open = True
        while is_open:
            group, is_open = self._gathered()
            if group:
                self._answer(group)

    def _gathered(self) -> tuple[list[Any], bool]:
        """What was asked for, and whether more may come."""
        group: list[Any] = []
        size = 0
        try:
            while size < _LARGEST_GROUP:
                asked = self._asked.get(block=not group)
                if asked is None:
                    return group, False
                group.append(asked)
                size += len(asked[0])
        except queue.Empty:
            pass
        return group, True

    def _answer(self, group: list[Any]) -> None:
        outcomes = self._stored([run for runs, _ in group for run in runs])
        answers, start = defaultdict(list), 0
        for runs, future in group:
            answers[future.get_loop()].append((future, outcomes[start : start + len(runs)]))
            start += len(runs)
        for loop, settled in answers.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, settled)
        if any(isinstance(outcome, Kept) and outcome.is_new for outcome in outcomes):
            self._scored()

    def _stored(self, runs: list[Run]) -> list[Any]:
        try:
            return list(self._store.add_each(runs))
        except Exception as error:  # one run that the database refuses must not take its neighbours with it
            if len(runs) == 1 or isinstance(error, UNREACHABLE):
                return [error] * len(runs)
            return [outcome for run in runs for outcome in self._stored([run])]


def _settle(settled: list[tuple[asyncio.Future[list[Outcome]], list[Outcome]]]) -> None:
    for future, outcomes in settled:
        if not future.done():  # its client may be gone
            future.set_result(outcomes)


# The one form of every error: problem+json (RFC 9457), for programs by `code`, for people by `detail`.

MEDIA_TYPE = "application/problem+json"

_CODES = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "unprocessable",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}


class FieldFault(BaseModel):
    """One thing that is wrong, and where."""

    where: str
    message: str


class Problem(BaseModel):
    """What went wrong."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[FieldFault]


def problem(
    status: int, detail: str, errors: list[dict[str, str]] | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as an answer."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": _CODES.get(status, "error"),
        "detail": _plain(detail),
        "errors": errors or [],
    }
    return JSONResponse(body, status, headers=headers, media_type=MEDIA_TYPE)


def declared(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI declaration of these errors."""
    form = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {each: {"description": HTTPStatus(each).phrase, "content": {MEDIA_TYPE: form}} for each in statuses}


def schemas() -> dict[str, Any]:
    """The OpenAPI schemas that `declared` refers to."""
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), "Problem": schema}


def answer_errors(app: FastAPI) -> None:
    """Give every error of an application the one form; none shows what was sent, a token or the store's insides."""

    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(error.status_code, str(error.detail), headers=error.headers)

    async def malformed(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        errors = [
            {"where": _plain(".".join(map(str, each["loc"]))), "message": _plain(_message(each))}
            for each in error.errors()[:20]
        ]
        return problem(422, "the request does not have the form it must have", errors)

    async def conflict(_: Request, error: Exception) -> Response:
        return problem(409, str(error))

    async def unavailable(_: Request, error: Exception) -> Response:
        return store_is_down(error)

    async def broken(request: Request, error: Exception) -> Response:
        request_id = request.scope.get("state", {}).get("request_id", "")
        return problem(500, "the service failed; its logs say more", headers={"X-Request-ID": request_id})

    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(Conflict, conflict)
    app.add_exception_handler(Exception, broken)
    for kind in UNREACHABLE:
        app.add_exception_handler(kind, unavailable)


def store_is_down(error: Exception) -> JSONResponse:
    """The answer while the store cannot be reached."""
    detail = f"the store cannot be reached just now ({type(error).__name__})"
    return problem(503, detail, headers={"Retry-After": "1"})


def _message(error: Any) -> str:
    return f"{error['msg']}: {error['ctx']['error']}" if error["type"] == "json_invalid" else str(error["msg"])


def _plain(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()[:500]
