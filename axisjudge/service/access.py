"""Who may come in: bearer tokens before a request is read, rights by FastAPI's scopes, a rate for each token."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Sequence
from hmac import compare_digest

import sqlalchemy as sa
from aiolimiter import AsyncLimiter
from fastapi import HTTPException, Request
from fastapi.security import HTTPBearer, SecurityScopes
from fastapi.security.utils import get_authorization_scheme_param
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from axisjudge.checks import InputError
from axisjudge.service.problems import problem, store_is_down
from axisjudge.service.tokens import ALL, ENVIRONMENT, AccessToken, TokenBook, digest_of

READ, WRITE = "read", "write"
#: Seconds after which a service has seen that a token was made or revoked.
NOTICED = 0.1


class RefusedRequest(Exception):
    """A request that is answered before anything of it is read."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer


#: With --no-auth everybody is this.
ANYBODY = AccessToken("anybody", "anybody", ALL, True, None, "")


class Door:
    """Admits requests to /v1/ that bear a valid token, each token at its rate.

    Parameters
    ----------
    fixed : sequence of AccessToken
        Tokens of the operator.
    book : TokenBook or None
        Where the others are; it is looked into again after `NOTICED` seconds. None admits everybody (loopback only,
        see `check_open_door`).
    rate : float
        Requests a second of a token that has no rate of its own.
    """

    def __init__(self, fixed: Sequence[AccessToken], book: TokenBook | None, *, rate: float = 2000) -> None:
        self._fixed, self._book, self._rate = fixed, book, rate
        self._known: dict[str, AccessToken] = {}
        self._limits: dict[str, AsyncLimiter] = {}
        self._looked_at = -NOTICED
        if book is not None:
            self._look()

    async def admitted(self, authorization: str | None) -> AccessToken:
        """The token that a header ``Authorization`` bears; raises `RefusedRequest`."""
        token = ANYBODY if self._book is None else await self._token_of(authorization)
        if token.token_id not in self._limits:
            rate = token.rate or self._rate
            self._limits[token.token_id] = AsyncLimiter(max(1.0, rate), max(1.0, 1 / rate))
        limit = self._limits[token.token_id]
        if not limit.has_capacity():
            raise RefusedRequest(problem(429, "this token's rate is used up", headers={"Retry-After": "1"}))
        await limit.acquire()
        return token

    async def _token_of(self, authorization: str | None) -> AccessToken:
        if time.monotonic() - self._looked_at >= NOTICED:
            self._looked_at = time.monotonic()  # others go on with what is known meanwhile
            await run_in_threadpool(self._look)
        scheme, token_text = get_authorization_scheme_param(authorization)
        digest = digest_of(token_text)
        # Found by a hash that the caller cannot steer, so that the time taken says nothing of the tokens.
        token = self._known.get(digest)
        if scheme.lower() != "bearer" or token is None or not compare_digest(token.digest, digest):
            headers = {"WWW-Authenticate": "Bearer"}
            raise RefusedRequest(problem(401, "a valid bearer token is needed", headers=headers))
        return token

    def _look(self) -> None:
        assert self._book is not None
        try:
            self._known = {token.digest: token for token in (*self._book.valid(), *self._fixed)}
        except sa.exc.SQLAlchemyError as error:
            raise RefusedRequest(store_is_down(error)) from None


class Guarded:
    """An application that sees requests to /v1/ only after the door admitted them; the rest is open to all."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answering = self.app
        if scope["type"] == "http" and scope["path"].startswith("/v1/"):
            try:
                scope["state"]["token"] = await self.door.admitted(Headers(scope=scope).get("authorization"))
            except RefusedRequest as refused:
                answering = refused.answer
        await answering(scope, receive, send)


class Caller(HTTPBearer):
    """The token of a request that the door admitted, if it has the rights that a route needs."""

    async def __call__(self, request: Request, needed: SecurityScopes) -> AccessToken:  # type: ignore[override]
        token: AccessToken = request.state.token
        if WRITE in needed.scopes and not token.may_write:
            raise HTTPException(403, f"this token may not {WRITE}")
        return token


caller = Caller(scheme_name="HTTPBearer")


def allow(token: AccessToken, workspace_id: str) -> None:
    """Refuse (403) a workspace that the token does not open."""
    if not token.may_see(workspace_id):
        raise HTTPException(403, f"this token is not of workspace {workspace_id}")


def check_open_door(*, tokens: int, host: str, no_auth: bool, behind_proxy: bool = False) -> None:
    """Refuse to serve without tokens, unless on loopback and asked to; and to the world without a proxy before it.

    Raises
    ------
    InputError
    """
    if no_auth and tokens:
        raise InputError("--no-auth", "there are tokens, which it would ignore", cure="leave one of both out")
    if no_auth and (behind_proxy or not is_loopback(host)):
        raise InputError("--no-auth", "is for loopback only (127.0.0.1, ::1, localhost), without a proxy", host)
    if not tokens and not no_auth:
        cure = f"make one by `axisjudge scorecard token make`, set {ENVIRONMENT}, or use --no-auth on loopback"
        raise InputError("scorecard serve", "does not start without a token", cure=cure)
    if not (is_loopback(host) or behind_proxy):
        cure = "put a proxy with TLS before it and say --behind-proxy; see `axisjudge scorecard deploy`"
        raise InputError("--host", "tokens would cross the network unencrypted", host, cure)


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
