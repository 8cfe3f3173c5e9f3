"""The API: score runs and keep them, read a score, list scores, rank the runs of a spec."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Query, Request, Response, Security
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.responses import HTMLResponse

from axisjudge import __version__
from axisjudge.checks import once_each
from axisjudge.scores.run_score.rules import TIE_BREAKS
from axisjudge.scores.run_score.runs import ID_PATTERN, Run
from axisjudge.service import answers
from axisjudge.service.access import ALL, READ, WRITE, AccessToken, Door, Guarded, allow, caller
from axisjudge.service.answers import (
    Bulk,
    BulkAnswer,
    BulkOutcome,
    GroupWriter,
    Health,
    RangedScore,
    ScoreList,
    SentRun,
    answer_errors,
    declared,
    problem,
    schemas,
)
from axisjudge.service.store import Conflict, Kept, ScoreStore, Wanted
from axisjudge.service.telemetry import Metrics, Telemetry

#: Bytes of a body; the first holds a run of more stages than a run may have, which is then refused for that.
LARGEST_BODY, LARGEST_BULK_BODY = 1024 * 1024, 8 * 1024 * 1024


def _written_out(text: Any) -> Any:
    """A moment is RFC 3339; a bare number is none, though pydantic would count it from 1970."""
    if isinstance(text, str) and text[4:5] != "-":
        raise ValueError("must be written as 2026-11-01T12:00:00Z")
    return text


def _digits(text: Any) -> Any:
    """A count is written in digits; pydantic would take 1.0 and +1 too."""
    if isinstance(text, str) and not (text.isascii() and text.isdigit()):
        raise ValueError("must be a whole number")
    return text


Id = Annotated[str, Path(pattern=ID_PATTERN)]
Limit = Annotated[int, Query(ge=1, le=200), BeforeValidator(_digits)]
Cursor = Annotated[str | None, Query(pattern=answers.CURSOR_PATTERN, description="`next` of the page before")]
Tier = Annotated[Literal["Bronze", "Silver", "Gold", "Elite", "Unranked"] | None, Query()]
Spec = Annotated[str | None, Query(pattern=ID_PATTERN)]


Moment = Annotated[
    AwareDatetime | None,
    BeforeValidator(_written_out),
    Query(description="of the run's end, with an offset; `until` is not included"),
]
Reader = Annotated[AccessToken, Security(caller, scopes=[READ])]
Writer = Annotated[AccessToken, Security(caller, scopes=[WRITE])]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Filter(BaseModel):
    """Which scores are asked for, and how many at once."""

    model_config = ConfigDict(frozen=True)

    limit: Limit = 50
    tier: Tier = None
    since: Moment = None
    until: Moment = None

    def of(self, owner: Wanted) -> Wanted:
        """These scores of an agent, a workspace or a spec."""
        return replace(owner, tier=self.tier, since=_microseconds(self.since), until=_microseconds(self.until))


class _Part(_Filter):
    """Which part of a list of scores is asked for."""

    cursor: Cursor = None
    spec_id: Spec = None

    def page(self, store: ScoreStore, owner: Wanted) -> ScoreList:
        """The part of an agent's or a workspace's list."""
        wanted = self.of(replace(owner, spec_id=self.spec_id))
        try:
            after = answers.position_of(self.cursor, wanted, store.cursor_key)
        except ValueError as error:
            fault = {"loc": ("query", "cursor"), "msg": str(error), "type": "query"}
            raise RequestValidationError([fault]) from None
        rows, onward = store.page(wanted, limit=self.limit, after=after)
        scores = [answers.FullScore(**answers.full_score(row)) for row in rows]
        return ScoreList(scores=scores, next=answers.cursor_of(onward, wanted, store.cursor_key))


def _no_number(word: str) -> Any:
    """NaN and the infinities, which Python reads and JSON does not have."""
    raise json.JSONDecodeError(f"{word} is no JSON", word, 0)


class _StrictRequest(Request):
    """Plain JSON in which a key stands once, as readers would silently take the last of several."""

    async def body(self) -> bytes:
        sent = await super().body()
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" or self.headers.get("content-encoding", "identity") != "identity":
            raise HTTPException(415, "send the body as application/json, without a Content-Encoding")
        return sent

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = json.loads(await self.body(), object_pairs_hook=once_each, parse_constant=_no_number)
        return self._json


class _StrictRoute(APIRoute):
    """A misspelt parameter, or one that is given twice, is refused: passed over, it would change what was asked for."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()
        known = {each.alias for each in get_flat_params(self.dependant)} - set(self.param_convertors)

        async def strictly(request: Request) -> Response:
            if request.scope["query_string"]:
                _refuse_others(request.query_params, known)
            return await answer(_StrictRequest(request.scope, request.receive))

        return strictly


def _refuse_others(query: QueryParams, known: set[str]) -> None:
    """Refuse parameters that are not known, and those given twice."""
    given = Counter(name for name, _ in query.multi_items())
    faults = {name: "is no parameter here" for name in given if name not in known}
    faults |= {name: "is given twice" for name, times in given.items() if times > 1}
    if faults:
        here = f"here are: {', '.join(sorted(known)) or 'none'}"
        raise RequestValidationError(
            [{"loc": ("query", name), "msg": f"{why}; {here}", "type": "query"} for name, why in faults.items()]
        )


def create_app(store: ScoreStore, door: Door, *, scored: Callable[[], None] = lambda: None) -> FastAPI:
    """The API over a store, for those whom the door admits; `scored` is called after a score was kept."""
    app = FastAPI(
        title="axisjudge run scorecard",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        responses=declared(503),
    )
    app.router.route_class = _StrictRoute
    metrics = Metrics(store)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=LARGEST_BODY)
    app.add_middleware(Guarded, door=door)
    app.add_middleware(Telemetry, metrics=metrics)
    answer_errors(app)
    app.state.writer = GroupWriter(store, scored)
    _add_writing(app, app.state.writer, metrics)  # routes are tried in order: what is asked most comes first
    _add_reading(app, store)
    _add_pages(app, store, metrics)
    _declare_problems(app)
    return app


def _add_pages(app: FastAPI, store: ScoreStore, metrics: Metrics) -> None:
    @app.get("/healthz", responses=declared(422))
    def healthz() -> Health:
        """Whether the service and its store are up."""
        if not store.is_alive():
            raise HTTPException(503, "the store does not answer")
        return Health(status="ok")

    @app.get("/readyz", responses=declared(422))
    def readyz() -> Health:
        """Whether runs can be scored and kept now."""
        if not app.state.writer.is_alive:
            raise HTTPException(503, "the writer has ended")
        if not store.is_current():
            raise HTTPException(503, "the store does not answer, or is of another version")
        return Health(status="ready")

    @app.get("/metrics", include_in_schema=False)
    def metrics_page() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/openapi.json", include_in_schema=False)
    def schema() -> dict[str, Any]:
        return app.openapi()

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(operations_page(app.openapi()))


def _add_writing(app: FastAPI, writer: GroupWriter, metrics: Metrics) -> None:
    @app.post(
        "/v1/runs",
        status_code=201,
        responses=declared(400, 401, 403, 408, 409, 413, 415, 422, 429)
        | {200: {"model": RangedScore, "description": "the same run was kept before"}},
        response_model=RangedScore,
    )
    async def score_and_keep(run: SentRun, token: Writer) -> Response:
        """Score a run and keep it: 201 when it is new, 200 when the same run was kept before, 409 when another was."""
        allow(token, run.workspace_id)
        (kept,) = await writer.store([run])
        metrics.runs.labels(_outcome(kept)).inc()
        if isinstance(kept, Conflict):
            raise kept
        answer = RangedScore.of(kept.card).model_dump_json()  # as bytes: FastAPI would check it once more
        return Response(answer, 201 if kept.is_new else 200, media_type="application/json")

    @app.post(
        "/v1/runs/bulk", responses=declared(400, 401, 403, 408, 413, 415, 422, 429), max_body_size=LARGEST_BULK_BODY
    )
    async def score_and_keep_many(bulk: Bulk, token: Writer) -> BulkAnswer:
        """Score runs and keep them, in one commit, each for itself; all are refused when one has not the form."""
        allowed = [run for run in bulk.runs if token.may_see(run.workspace_id)]
        stored = iter(await writer.store(allowed) if allowed else [])
        outcomes = []
        for run in bulk.runs:
            kept = next(stored) if token.may_see(run.workspace_id) else None
            metrics.runs.labels(_outcome(kept)).inc()
            outcomes.append(_bulk_outcome(run, kept))
        return BulkAnswer(outcomes=outcomes)


def _outcome(kept: Kept | Conflict | None) -> str:
    if kept is None:
        return "forbidden"
    return "conflict" if isinstance(kept, Conflict) else "new" if kept.is_new else "known"


def _bulk_outcome(run: Run, kept: Kept | Conflict | None) -> BulkOutcome:
    if isinstance(kept, Kept):
        status: Literal[200, 201] = 201 if kept.is_new else 200
        return BulkOutcome(run_id=run.run_id, status=status, score=RangedScore.of(kept.card), problem=None)
    code: Literal[403, 409] = 403 if kept is None else 409
    answer = problem(code, f"this token is not of workspace {run.workspace_id}" if kept is None else str(kept))
    return BulkOutcome(run_id=run.run_id, status=code, score=None, problem=json.loads(bytes(answer.body)))


def _add_reading(app: FastAPI, store: ScoreStore) -> None:
    refusals = declared(401, 422, 429)

    def of_run(run_id: str, token: AccessToken) -> dict[str, Any]:
        row = store.get(run_id)
        if row is None or not token.may_see(row["workspace_id"]):  # another workspace's runs are not shown to exist
            raise HTTPException(404, f"no run {run_id}")
        return row

    @app.get("/v1/runs/{run_id}/score", responses=refusals | declared(403, 404))
    def score_of_run(run_id: Id, token: Reader) -> RangedScore:
        """The score of a run, as it was answered when the run was handed in."""
        return RangedScore(**answers.full_score(of_run(run_id, token)))

    @app.get("/v1/runs/{run_id}", responses=refusals | declared(403, 404))
    def run(run_id: Id, token: Reader) -> answers.RunHistory:
        """The score of a run with range, reasons, weights and baseline, and the scores it had before."""
        full = answers.full_score(of_run(run_id, token))
        return answers.RunHistory(**full, superseded=[answers.past_score(row) for row in store.superseded(run_id)])

    @app.get("/v1/agents/{agent_id}/scores", responses=refusals | declared(403))
    def scores_of_agent(agent_id: Id, token: Reader, part: Annotated[_Part, Query()]) -> ScoreList:
        """Scores of an agent, newest first by end of run; of all workspaces that the token opens."""
        workspace = None if token.workspace_id == ALL else token.workspace_id
        return part.page(store, Wanted(agent_id=agent_id, workspace_id=workspace))

    @app.get("/v1/workspaces/{workspace_id}/scores", responses=refusals | declared(403))
    def scores_of_workspace(workspace_id: Id, token: Reader, part: Annotated[_Part, Query()]) -> ScoreList:
        """Scores of a workspace, newest first by end of run."""
        allow(token, workspace_id)
        return part.page(store, Wanted(workspace_id=workspace_id))

    @app.get("/v1/workspaces/{workspace_id}/specs/{spec_id}/ranking", responses=refusals | declared(403, 404))
    def ranking(workspace_id: Id, spec_id: Id, token: Reader, part: Annotated[_Filter, Query()]) -> answers.SpecRanking:
        """The scored runs of a spec, best first, each with the artefact that can be handed over."""
        allow(token, workspace_id)
        rows = store.ranking(part.of(Wanted(workspace_id=workspace_id, spec_id=spec_id)), limit=part.limit)
        if not rows:
            raise HTTPException(404, f"no scored run of spec {spec_id} in workspace {workspace_id}")
        runs = [answers.RankedScore(**answers.full_score(row | {"rank": rank})) for rank, row in enumerate(rows, 1)]
        return answers.SpecRanking(spec_id=spec_id, tie_breaks=list(TIE_BREAKS), runs=runs)


def _microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // timedelta(microseconds=1)


def _declare_problems(app: FastAPI) -> None:
    """Put the schema of errors, which no route names as its model, where the declarations point to."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            plain().setdefault("components", {}).setdefault("schemas", {}).update(schemas())
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{background:#eee;padding:0 .2em}table{border-collapse:collapse}td,th{text-align:left;padding:0 1em 0 0}"
)


def operations_page(schema: dict[str, Any]) -> str:
    """An HTML page of the operations in an OpenAPI schema."""
    info = schema["info"]
    parts = [
        _operation(path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(info['title'])}</title>"
        f"<style>{_STYLE}</style><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        "<p>Send <code>Authorization: Bearer TOKEN</code> with what is under <code>/v1/</code>. Schemas: "
        " <a href=openapi.json>openapi.json</a>. Errors are <code>application/problem+json</code>.</p>"
        f"{''.join(parts)}</html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{escape(each['name'])}</code><td>{escape(each['in'])}"
        f"<td>{'required' if each.get('required') else ''}<td>{escape(each.get('description', ''))}"
        for each in operation.get("parameters", [])
    ]
    table = f"<table><tr><th>parameter<th>in<th><th>{''.join(rows)}</table>" if rows else ""
    answers = ", ".join(f"{code} {answer['description']}" for code, answer in operation["responses"].items())
    return (
        f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>"
        f"<p>{escape(operation.get('description', ''))}</p>{table}<p>Answers: {escape(answers)}</p>"
    )
