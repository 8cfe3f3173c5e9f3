"""The tables of the score store, and how a store of an older version becomes one of this version."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from axisjudge.checks import InputError

metadata = sa.MetaData()

_ID = sa.String(64)


class Moment(sa.types.TypeDecorator[datetime]):
    """A time in UTC, also where the database knows no time zones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


#: One row: the version of the tables that stand here.
schema_version = sa.Table("scorecard_schema", metadata, sa.Column("version", sa.Integer, nullable=False))

#: The facts of every run, as they came (`facts`, JSON text) and as baselines need them. Times in microseconds UTC.
agent_runs = sa.Table(
    "agent_runs",
    metadata,
    sa.Column("run_id", _ID, primary_key=True),
    sa.Column("workspace_id", _ID, nullable=False),
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("wall_seconds", sa.Double),
    sa.Column("enters_baseline", sa.Boolean, nullable=False),
    sa.Column("facts", sa.Text, nullable=False),
    sa.Column("received_at", Moment, nullable=False),
    sa.Index("agent_runs_by_end", "workspace_id", "enters_baseline", "ended_at"),
)


def _score_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("agent_id", _ID, nullable=False),
        sa.Column("workspace_id", _ID, nullable=False),
        sa.Column("score", sa.SmallInteger, sa.CheckConstraint("score BETWEEN 0 AND 100")),
        sa.Column("axis_scores", sa.JSON, nullable=False),
        sa.Column("weight_snapshot", sa.JSON, nullable=False),
        sa.Column("formula_version", sa.String(16), nullable=False),
        sa.Column("tier", sa.String(16), nullable=False),
        sa.Column("scored_at", Moment, nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
    ]


#: One row a run: the score that holds. `detail` has range, reasons, baseline and curve; `listed_at` orders lists: the
#: end of the run, or its arrival where the end is not known.
agent_run_scores = sa.Table(
    "agent_run_scores",
    metadata,
    sa.Column("score_id", _ID, primary_key=True),
    sa.Column("run_id", _ID, sa.ForeignKey("agent_runs.run_id"), nullable=False, unique=True),
    *_score_columns(),
    sa.Column("listed_at", sa.BigInteger, nullable=False),
    sa.Column("spec_id", _ID),
    sa.Index("agent_run_scores_by_agent", "agent_id", "listed_at", "run_id"),
    sa.Index("agent_run_scores_by_workspace", "workspace_id", "listed_at", "run_id"),
    sa.Index("agent_run_scores_by_spec", "workspace_id", "spec_id", "score"),
)

#: Scores that held until a late run changed the baseline; `superseded_by` is the score that took their place.
superseded_scores = sa.Table(
    "superseded_scores",
    metadata,
    sa.Column("score_id", _ID, primary_key=True),
    sa.Column("run_id", _ID, sa.ForeignKey("agent_runs.run_id"), nullable=False, index=True),
    *_score_columns(),
    sa.Column("superseded_at", Moment, nullable=False),
    sa.Column("superseded_by", _ID, nullable=False),
)

#: Events that were not sent yet: written in the transaction of their score, deleted when the sink has them.
waiting_events = sa.Table(
    "waiting_events",
    metadata,
    sa.Column("position", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("score_id", _ID, nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
)

#: Who may come in: of each token its SHA-256 in hex, never the token. `rate` in requests a second, null for no limit.
access_tokens = sa.Table(
    "access_tokens",
    metadata,
    sa.Column("token_id", _ID, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("workspace_id", _ID, nullable=False),
    sa.Column("may_write", sa.Boolean, nullable=False),
    sa.Column("rate", sa.Double),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("created_at", Moment, nullable=False),
    sa.Column("revoked_at", Moment),
)

#: One row: the key that signs cursors, for all services on this store.
cursor_keys = sa.Table("cursor_keys", metadata, sa.Column("key", sa.String(64), primary_key=True))


def _create(*tables: sa.Table) -> Callable[[sa.Connection], None]:
    return lambda connection: metadata.create_all(connection, tables=tables)


def _add_specs_and_tokens(connection: sa.Connection) -> None:
    """A column for the spec of a score, filled from what was kept beside it, and the table of tokens."""
    scores = agent_run_scores.c
    if "spec_id" not in {column["name"] for column in sa.inspect(connection).get_columns(agent_run_scores.name)}:
        connection.exec_driver_sql("ALTER TABLE agent_run_scores ADD COLUMN spec_id VARCHAR(64)")
        for row in connection.execute(sa.select(scores.score_id, scores.detail)).all():
            if spec := row.detail.get("spec_id"):
                connection.execute(
                    agent_run_scores.update().where(scores.score_id == row.score_id).values(spec_id=spec)
                )
        by_spec = next(index for index in agent_run_scores.indexes if index.name == "agent_run_scores_by_spec")
        by_spec.create(connection, checkfirst=True)
    access_tokens.create(connection, checkfirst=True)


def _add_cursor_key(connection: sa.Connection) -> None:
    cursor_keys.create(connection, checkfirst=True)
    connection.execute(cursor_keys.insert().values(key=secrets.token_hex(32)))


#: Step k leads from version k to k + 1; a step that was once released is never changed.
STEPS: tuple[Callable[[sa.Connection], None], ...] = (
    _create(agent_runs, agent_run_scores),
    _create(superseded_scores, waiting_events),
    _add_specs_and_tokens,
    _add_cursor_key,
)
VERSION = len(STEPS)


def is_store(connection: sa.Connection) -> bool:
    """Whether the tables of a score store stand here."""
    return sa.inspect(connection).has_table(schema_version.name)


def upgrade(connection: sa.Connection) -> int:
    """Bring the tables to this version, inside the caller's transaction; returns the version found.

    Raises
    ------
    InputError
        The store was written by a newer version of this package.
    """
    schema_version.create(connection, checkfirst=True)
    known = connection.execute(sa.select(schema_version.c.version)).scalar()
    if known is None:
        connection.execute(schema_version.insert().values(version=0))
    version = known or 0
    if version > VERSION:
        cure = "use that version of axisjudge, or another store"
        raise InputError("store", f"its tables are of version {version}, this package knows up to {VERSION}", cure=cure)
    for step in STEPS[version:]:
        step(connection)
    connection.execute(schema_version.update().values(version=VERSION))
    return version
