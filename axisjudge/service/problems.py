"""The one form of every error: problem+json (RFC 9457), for programs by `code`, for people by `detail`."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from axisjudge.service.database import UNREACHABLE
from axisjudge.service.store import Conflict

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
