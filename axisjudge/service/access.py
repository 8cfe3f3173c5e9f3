"""Access tokens: each belongs to one workspace or to all, reads or writes too, and is known by its hash alone."""

from __future__ import annotations

import ipaddress
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa
from aiolimiter import AsyncLimiter
from fastapi import HTTPException, Request
from fastapi.security import HTTPBearer, SecurityScopes
from fastapi.security.utils import get_authorization_scheme_param
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from axisjudge.checks import InputError, positive
from axisjudge.results import Result
from axisjudge.scores.run_score.runs import ID_PATTERN
from axisjudge.service.answers import problem, store_is_down
from axisjudge.service.database import Database, access_tokens

#: Tokens of the operator, separated by commas: for all workspaces, to read and to write.
ENVIRONMENT = "AXISJUDGE_SCORECARD_TOKENS"
ALL = "*"
_SHORTEST = 16
_HOW_TO_HASH = 'printf %s "$TOKEN" | sha256sum'


@dataclass(frozen=True)
class AccessToken(Result):
    """What a token allows. Only its SHA-256 is held: tokens are long and random, so no salt is needed.

    `workspace_id` is ``*`` for all workspaces; `rate` is in requests a second, None where the service's own limit
    holds. As plain values it has no hash.
    """

    _keys = ("token_id", "name", "workspace_id", "may_write", "rate", "created_at", "revoked_at")

    token_id: str
    name: str
    workspace_id: str
    may_write: bool
    rate: float | None
    digest: str
    created_at: datetime | None = None
    revoked_at: datetime | None = None

    def may_see(self, workspace_id: str) -> bool:
        """Whether it opens this workspace."""
        return self.workspace_id in (ALL, workspace_id)


def digest_of(token: str) -> str:
    """The SHA-256 of a token, in hex."""
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class TokenBook:
    """The tokens that a store keeps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def make(
        self, workspace_id: str, *, may_write: bool = False, name: str = "", rate: float | None = None
    ) -> tuple[str, AccessToken]:
        """A new token, and what is kept of it; the token itself is nowhere else.

        Raises
        ------
        InputError
            A workspace that breaks the rule of ids, a rate that is not above 0, a name that is no short line.
        """
        if workspace_id != ALL and not re.fullmatch(ID_PATTERN.strip("^$"), workspace_id):
            raise InputError("workspace", f"must match {ID_PATTERN}, or be {ALL} for all", workspace_id)
        if rate is not None and not positive("rate", rate) < float("inf"):
            raise InputError("rate", "must be a finite number of requests a second", rate)
        if len(name) > 200 or not (name.isprintable() and name.isascii()):
            raise InputError("name", "must be one line of at most 200 plain characters", name)
        token = secrets.token_urlsafe(32)
        now = datetime.now(UTC)
        kept = AccessToken(uuid4().hex[:12], name, workspace_id, may_write, rate, digest_of(token), now)
        with self._database.writing() as connection:
            connection.execute(access_tokens.insert().values(vars(kept)))
        return token, kept

    def listed(self) -> list[AccessToken]:
        """All tokens, revoked ones too, oldest first."""
        asked = sa.select(access_tokens).order_by(access_tokens.c.created_at, access_tokens.c.token_id)
        with self._database.reading() as connection:
            return [AccessToken(**row._mapping) for row in connection.execute(asked)]

    def valid(self) -> list[AccessToken]:
        """The tokens that are not revoked."""
        return [token for token in self.listed() if token.revoked_at is None]

    def revoke(self, token_id: str) -> AccessToken:
        """Revoke a token for good; what it was.

        Raises
        ------
        InputError
            No such token, or one that was revoked before.
        """
        by_id = {token.token_id: token for token in self.listed()}
        if token_id not in by_id:
            raise InputError(
                "TOKEN_ID", "the store has no such token", token_id, "see `axisjudge scorecard token list`"
            )
        if by_id[token_id].revoked_at is not None:
            raise InputError("TOKEN_ID", "was revoked before", token_id)
        with self._database.writing() as connection:
            this = access_tokens.update().where(access_tokens.c.token_id == token_id)
            connection.execute(this.values(revoked_at=datetime.now(UTC)))
        return by_id[token_id]


def operator_tokens(environment: Mapping[str, str], file: Path | None = None) -> list[AccessToken]:
    """Tokens from AXISJUDGE_SCORECARD_TOKENS (as they are) and from a file (one SHA-256 in hex a line).

    They open all workspaces, to read and to write.

    Raises
    ------
    InputError
        A token that is too short to be a secret, a line that is no hash, a file that cannot be read. No message shows a
        token.
    """
    given = [token.strip() for token in environment.get(ENVIRONMENT, "").split(",") if token.strip()]
    if any(len(token) < _SHORTEST for token in given):
        raise InputError(ENVIRONMENT, f"each token needs at least {_SHORTEST} characters")
    digests = [digest_of(token) for token in given] + ([] if file is None else _digests_of(file))
    return [AccessToken(f"operator-{k}", "operator", ALL, True, None, digest) for k, digest in enumerate(digests, 1)]


def _digests_of(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(file), "cannot be read as a file of token hashes") from error
    # sha256sum ends its line with a dash
    digests = [line.partition("#")[0].strip().removesuffix("-").strip() for line in lines]
    for number, digest in enumerate(digests, 1):
        if digest and not re.fullmatch("[0-9a-f]{64}", digest):
            cure = f"make it by {_HOW_TO_HASH}"
            raise InputError(f"{file}:{number}", "must be the SHA-256 of a token in hex", cure=cure)
    return [digest for digest in digests if digest]


# Who may come in: bearer tokens before a request is read, rights by FastAPI's scopes, a rate for each token.


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
