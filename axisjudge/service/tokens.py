"""Access tokens: each belongs to one workspace or to all, reads or writes too, and is known by its hash alone."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa

from axisjudge.checks import InputError, positive
from axisjudge.results import Result
from axisjudge.scores.run_score import ID_PATTERN
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
