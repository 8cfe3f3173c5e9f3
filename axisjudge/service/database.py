"""Connections to SQLite and PostgreSQL, transactions that wait for each other, and the tables of the score store."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from filelock import FileLock
from pydantic_core import to_json

from axisjudge.checks import InputError

#: Seconds to wait for another process that writes to the same SQLite file.
_WAIT = 30
#: Errors of the connection, not of what was written.
UNREACHABLE = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)
_POOL = {"pool_size": 20, "max_overflow": 30}


def json_text(value: Any) -> str:
    """A value as JSON text; the standard library takes three times as long, and a write has four of them."""
    return to_json(value, ensure_ascii=True, inf_nan_mode="constants").decode()


#: Parameters go by name, as PostgreSQL's driver has them.
_NAMED: dict[str, Any] = {"paramstyle": "named", "json_serializer": json_text}


class Database:
    """An engine with two kinds of transaction: `reading`, and `writing` with the locks that order writers.

    SQLite knows one writer at a time: a writer takes the file's lock at its beginning and waits for others. PostgreSQL
    takes an advisory lock for each name given to `writing`, in order, so that writers of one workspace queue up and
    others do not. A commit is on the disk before it returns.

    Parameters
    ----------
    url : str
        A path (SQLite), or a URL such as ``sqlite:///scores.sqlite`` or ``postgresql://user@host/name``.
    must_exist : bool
        Refuse a SQLite file that is not there instead of making it.

    Raises
    ------
    InputError
        The URL is of no known kind, or the file that must exist does not.
    """

    def __init__(self, url: str, *, must_exist: bool = False) -> None:
        self.url = _as_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._one_writer = threading.RLock()
        self._one_sender = threading.Lock()
        if must_exist and (file := self.file) is not None and not file.is_file():
            raise InputError(str(file), "no such store", cure="name the file that `serve` or `score --store` made")
        if self.is_sqlite:
            self.engine = _sqlite_engine(self.url)
        else:
            self.engine = sa.create_engine(self.url, **_POOL, pool_pre_ping=True, json_serializer=json_text)
        self._reader = self.engine if self.is_sqlite else self.engine.execution_options(isolation_level="AUTOCOMMIT")

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)

    @property
    def file(self) -> Path | None:
        """The file of a SQLite store, None for another one or one in memory."""
        name = self.url.database
        return Path(name) if self.is_sqlite and name and name != ":memory:" else None

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that only reads, each statement for itself (a transaction would cost PostgreSQL two trips)."""
        with self._reader.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, locks: Iterable[str] = ()) -> Iterator[sa.Connection]:
        """A transaction that is committed at the end, or leaves no trace."""
        if self.is_sqlite:
            with self._one_writer, self._writer.begin():
                self._writer.connection.execute("BEGIN IMMEDIATE")
                yield self._writer
            return
        with self.engine.begin() as connection:
            for name in sorted(set(locks)):
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_key(name))))
            yield connection

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Alone among all processes of this store, without keeping any of them from writing.

        A session's advisory lock in PostgreSQL, a locked file beside SQLite's. Both are released when the holder dies.
        """
        with self._one_sender:
            if not self.is_sqlite:
                with self._reader.connect() as connection:
                    connection.execute(sa.select(sa.func.pg_advisory_lock(_key("sending events"))))
                    try:
                        yield
                    finally:
                        connection.execute(sa.select(sa.func.pg_advisory_unlock(_key("sending events"))))
            elif self.file is not None:
                with FileLock(f"{self.file}.sending"):
                    yield
            else:
                yield

    def let_readers_in(self) -> None:
        """Readers beside a writer (WAL), which SQLite notes in the file: not before it is known to be a store.

        SQLite takes the whole file for it, and does not wait for others that open it: that is left to us.
        """
        if not self.is_sqlite:
            return
        latest = time.monotonic() + _WAIT
        with self.reading() as connection:
            while True:
                try:
                    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                    return
                except sa.exc.OperationalError as error:
                    if "locked" not in str(error.orig) or time.monotonic() > latest:
                        raise
                time.sleep(0.01)

    def close(self) -> None:
        """Close all connections."""
        if "_writer" in vars(self):
            self._writer.close()
        self.engine.dispose()

    @cached_property
    def _writer(self) -> sa.Connection:
        """SQLite's one writer needs one connection, which is not taken from the pool and put back each time."""
        return self.engine.connect()


class Prepared:
    """A statement that is written out once for a dialect, and then handed to the driver for one row at a time.

    SQLAlchemy looks it up and writes out its parameters at every execution, which costs ten times what SQLite takes for
    a short one. Many rows go its way, in batches.
    """

    def __init__(self, statement: sa.Insert | sa.CompoundSelect[Any]) -> None:
        self._statement = statement
        self._written: dict[str, tuple[str, list[tuple[str, Any, Any]]]] = {}

    def run(self, connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """Execute it with these parameters; the rows that it returns."""
        if len(rows) > 1:
            result = connection.execute(self._statement, rows)
            return result.all() if result.returns_rows else ()
        dialect, (row,) = connection.dialect, rows
        if dialect.name not in self._written:
            written = self._statement.compile(dialect=dialect, column_keys=list(row))
            binds = {name: written.binds[name].type.dialect_impl(dialect) for name in written.params}
            slots = [(name, written.params[name], kind.bind_processor(dialect)) for name, kind in binds.items()]
            self._written[dialect.name] = str(written), slots
        text, slots = self._written[dialect.name]
        given = {name: row.get(name, fixed) if bind is None else bind(row[name]) for name, fixed, bind in slots}
        try:
            cursor = connection.connection.cursor()
            cursor.execute(text, given)
            return cursor.fetchall() if cursor.description else ()
        except dialect.loaded_dbapi.Error as error:
            raise sa.exc.DBAPIError.instance(text, None, error, dialect.loaded_dbapi.Error, dialect=dialect) from error


def _key(name: str) -> sa.ColumnElement[int]:
    return sa.func.hashtextextended(f"axisjudge scorecard {name}", 0)


def _as_url(text: str) -> sa.URL:
    if "://" not in text:
        return sa.URL.create("sqlite", database=str(Path(text)))
    try:
        url = sa.make_url(text)
    except sa.exc.ArgumentError:
        raise InputError("store", "must be a path or a database URL", cure="postgresql://user@host/name, say") from None
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise InputError("store", "must be SQLite or PostgreSQL", url.drivername)
    return url


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    if url.database in (None, "", ":memory:"):
        memory: dict[str, Any] = {"poolclass": sa.pool.StaticPool, "connect_args": {"check_same_thread": False}}
        engine = sa.create_engine(url, **_NAMED, **memory)
    else:
        if not Path(str(url.database)).parent.is_dir():
            raise InputError(str(url.database), "the folder of the store does not exist")
        engine = sa.create_engine(url, **_NAMED, **_POOL, connect_args={"timeout": _WAIT})
    sa.event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, _: Any) -> None:
    """Commits that are on the disk, and no transaction but those that we begin.

    The log goes into the file every 16 MB: a write changes 11 pages, most of them those of the write before.
    """
    connection.isolation_level = None
    for pragma in ("synchronous = FULL", "foreign_keys = ON", "wal_autocheckpoint = 4000"):
        connection.execute(f"PRAGMA {pragma}")


# The tables of the score store.

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


#: The version of these tables; a store of another one is refused.
VERSION = 4


def is_store(connection: sa.Connection) -> bool:
    """Whether the tables of a score store stand here."""
    return sa.inspect(connection).has_table(schema_version.name)


def make_tables(connection: sa.Connection) -> None:
    """Make the tables where there are none, inside the caller's transaction.

    Raises
    ------
    InputError
        The store was written by a version of this package that has other tables.
    """
    schema_version.create(connection, checkfirst=True)
    known = connection.execute(sa.select(schema_version.c.version)).scalar()
    if known is None:
        metadata.create_all(connection)
        connection.execute(schema_version.insert().values(version=VERSION))
        connection.execute(cursor_keys.insert().values(key=secrets.token_hex(32)))
    elif known != VERSION:
        cure = "use that version of axisjudge, or another store"
        raise InputError("store", f"its tables are of version {known}, and this package's of {VERSION}", cure=cure)
