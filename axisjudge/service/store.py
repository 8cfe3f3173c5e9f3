"""The score store: runs come in any order, and the scores are those that all runs together would give."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import sqlalchemy as sa

from axisjudge.checks import InputError
from axisjudge.scores.run_score import Run, Scorecard, ScorecardRules, runs_frame
from axisjudge.scores.run_score.single import ended_at, usable_wall
from axisjudge.service import schema
from axisjudge.service.database import Database
from axisjudge.service.writing import card_of, facts_of, insert_and_score, run_from, scores_of

_TRIES = 5
#: SQLSTATEs after which the same transaction may succeed: serialization, deadlock.
_PASSING = ("40001", "40P01")

_FACTS = sa.select(schema.agent_runs.c.run_id, schema.agent_runs.c.facts).where(
    schema.agent_runs.c.run_id.in_(sa.bindparam("ids", expanding=True))
)


class Conflict(InputError):
    """A run of this id is stored with other facts."""


@dataclass(frozen=True)
class Kept:
    """What the store did with a run: `is_new` is False where the same run stood there already."""

    card: Scorecard
    is_new: bool


@dataclass(frozen=True)
class ScorePage:
    """Rows of ``agent_run_scores``, newest first, and where to go on (None at the end)."""

    rows: list[dict[str, Any]]
    after: tuple[int, str] | None


@dataclass(frozen=True)
class Wanted:
    """Which scores a list is to have; what is None does not matter.

    `since` and `until` are microseconds UTC of the run's end (of its arrival where the end is unknown): from the one,
    up to before the other.
    """

    agent_id: str | None = None
    workspace_id: str | None = None
    spec_id: str | None = None
    tier: str | None = None
    since: int | None = None
    until: int | None = None

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        """The conditions on ``agent_run_scores``."""
        scores = schema.agent_run_scores.c
        columns = ((scores.agent_id, self.agent_id), (scores.workspace_id, self.workspace_id))
        equal = (*columns, (scores.spec_id, self.spec_id), (scores.tier, self.tier))
        wanted = [column == value for column, value in equal if value is not None]
        if self.since is not None:
            wanted.append(scores.listed_at >= self.since)
        if self.until is not None:
            wanted.append(scores.listed_at < self.until)
        return wanted


class ScoreStore:
    """Runs and their scores in a database.

    - Scoring a run twice is one score; another run under a known id is a `Conflict`, and nothing changes.
    - A late run that enters baselines re-scores the runs after it, by the rules that the store has now. So the scores
      do not depend on the order of arrival. Where the score, tier, weights or formula of a run change, the old score is
      kept in ``superseded_scores``; where only components or reasons move, they are brought up to date in place.
    - The event of a new or changed score is written in the same transaction, and waits there until a sink has it.

    Parameters
    ----------
    url : str
        A path (SQLite) or a database URL; tables are created, or upgraded, when it is opened.
    rules : ScorecardRules, optional
    must_exist : bool
        Refuse a database without a store instead of making one there.

    Raises
    ------
    InputError
        The database cannot be opened, was written by a newer version, or lacks the store that must exist.
    """

    def __init__(self, url: str, *, rules: ScorecardRules | None = None, must_exist: bool = False) -> None:
        self.rules = rules or ScorecardRules()
        self.database = Database(url, must_exist=must_exist)
        try:
            with self.database.writing(["upgrade"]) as connection:
                if must_exist and not schema.is_store(connection):
                    raise InputError("store", "holds no scores", str(self.database), "name the store that was served")
                schema.upgrade(connection)
                key = connection.execute(sa.select(schema.cursor_keys.c.key)).scalar_one()
            self.cursor_key = bytes.fromhex(key)
            self.database.let_readers_in()
        except Exception as error:
            self.close()
            if not isinstance(error, sa.exc.DBAPIError):
                raise
            reason = str(error.orig).splitlines()[0]
            raise InputError("store", f"cannot be opened ({reason})", str(self.database)) from None

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def add(self, runs: Iterable[Run]) -> list[Kept]:
        """Score and store runs, all of them or none; what is returned is on the disk.

        Raises
        ------
        Conflict
            One of the ids is known, or given twice, with other facts.
        """
        return [outcome for outcome in self._stored(list(runs), together=True) if isinstance(outcome, Kept)]

    def add_each(self, runs: Iterable[Run]) -> list[Kept | Conflict]:
        """Score and store runs in one transaction, each for itself: a conflict is returned in its place."""
        return self._stored(list(runs), together=False)

    def get(self, run_id: str) -> dict[str, Any] | None:
        """The row of ``agent_run_scores`` of a run, None for an unknown run."""
        with self.database.reading() as connection:
            return scores_of(connection, [run_id]).get(run_id)

    def superseded(self, run_id: str) -> list[dict[str, Any]]:
        """The scores that a run had before, oldest first."""
        asked = sa.select(schema.superseded_scores).where(schema.superseded_scores.c.run_id == run_id)
        with self.database.reading() as connection:
            rows = connection.execute(
                asked.order_by(schema.superseded_scores.c.superseded_at, schema.superseded_scores.c.scored_at)
            )
            return [dict(row._mapping) for row in rows]

    def page(self, wanted: Wanted, *, limit: int = 50, after: tuple[int, str] | None = None) -> ScorePage:
        """Scores newest first: by end of run (its arrival where unknown), then by id."""
        scores = schema.agent_run_scores.c
        asked = (
            sa.select(schema.agent_run_scores).order_by(scores.listed_at.desc(), scores.run_id.desc()).limit(limit + 1)
        )
        asked = asked.where(*wanted.conditions())
        if after is not None:
            moment, run_id = after
            asked = asked.where(
                sa.or_(scores.listed_at < moment, sa.and_(scores.listed_at == moment, scores.run_id < run_id))
            )
        with self.database.reading() as connection:
            rows = [dict(row._mapping) for row in connection.execute(asked)]
        first = rows[:limit]
        return ScorePage(first, (first[-1]["listed_at"], first[-1]["run_id"]) if len(rows) > limit else None)

    def ranking(self, wanted: Wanted, *, limit: int = 50) -> list[dict[str, Any]]:
        """The scored runs among those wanted, best first, each with its ``wall_seconds``.

        Runs of equal score are put in order by `TIE_BREAKS`, as `axisjudge scorecard rank` does.
        """
        scores = schema.agent_run_scores.c
        here = sa.and_(*wanted.conditions(), scores.score.is_not(None))
        best = sa.select(scores.score).where(here).order_by(scores.score.desc())
        joined = sa.join(schema.agent_run_scores, schema.agent_runs, scores.run_id == schema.agent_runs.c.run_id)
        with self.database.reading() as connection:
            lowest = connection.execute(best.limit(1).offset(limit - 1)).scalar()  # ties with the last are cut below
            asked = sa.select(schema.agent_run_scores, schema.agent_runs.c.facts).select_from(joined).where(here)
            rows = connection.execute(asked if lowest is None else asked.where(scores.score >= lowest)).all()
        ranked = [(run_from(row.facts), dict(row._mapping)) for row in rows]
        ranked.sort(key=lambda each: _tie_breaks(*each))
        return [row | {"wall_seconds": usable_wall(run)} for run, row in ranked[:limit]]

    def runs(self) -> pl.DataFrame:
        """All runs as a table, by id."""
        asked = sa.select(schema.agent_runs.c.facts).order_by(schema.agent_runs.c.run_id)
        with self.database.reading() as connection:
            return runs_frame(run_from(facts) for facts in connection.execute(asked).scalars())

    def waiting(self, limit: int = 100) -> list[tuple[int, dict[str, Any]]]:
        """The oldest events that no sink has yet, each with its position."""
        events = schema.waiting_events.c
        asked = sa.select(events.position, events.payload).order_by(events.position).limit(limit)
        with self.database.reading() as connection:
            return [(position, json.loads(payload)) for position, payload in connection.execute(asked)]

    def count_waiting(self) -> int:
        """How many events no sink has yet."""
        with self.database.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(schema.waiting_events)).scalar_one())

    def sent(self, positions: Sequence[int]) -> None:
        """Forget events that the sink has."""
        with self.database.writing() as connection:
            connection.execute(schema.waiting_events.delete().where(schema.waiting_events.c.position.in_(positions)))

    def is_alive(self) -> bool:
        """Whether the database answers."""
        return self._answers(sa.select(1), 1)

    def is_current(self) -> bool:
        """Whether the database answers, and its tables are of this version."""
        return self._answers(sa.select(schema.schema_version.c.version), schema.VERSION)

    def _answers(self, asked: sa.Select[Any], wanted: int) -> bool:
        try:
            with self.database.reading() as connection:
                return bool(connection.execute(asked).scalar_one() == wanted)
        except sa.exc.SQLAlchemyError:
            return False

    def _stored(self, given: list[Run], *, together: bool) -> list[Kept | Conflict]:
        for tries in range(1, _TRIES + 1):
            try:
                with self.database.writing({run.workspace_id for run in given}) as connection:
                    return self._store(connection, given, together)
            except sa.exc.DBAPIError as error:
                if tries == _TRIES or getattr(error.orig, "sqlstate", None) not in _PASSING:
                    raise
                time.sleep(0.01 * 2**tries)
        return []

    def _store(self, connection: sa.Connection, given: list[Run], together: bool) -> list[Kept | Conflict]:
        facts = [facts_of(run) for run in given]
        first: dict[str, int] = {}
        for at, run in enumerate(given):
            first.setdefault(run.run_id, at)
        held = insert_and_score(connection, [(given[at], facts[at]) for at in first.values()], self.rules)
        stored = {run_id: facts[at] for run_id, at in first.items()}
        if known := stored.keys() - held.keys():
            stored |= {row.run_id: row.facts for row in connection.execute(_FACTS, {"ids": list(known)})}
            held |= scores_of(connection, list(known))
        outcomes: list[Kept | Conflict] = []
        for at, run in enumerate(given):
            if facts[at] == stored[run.run_id]:
                is_new = run.run_id not in known and first[run.run_id] == at
                outcomes.append(Kept(card_of(held[run.run_id]), is_new))
                continue
            cure = "send it under an id of its own; what is stored stays"
            conflict = Conflict(f"run {run.run_id}", "is known with other facts", cure=cure)
            if together:
                raise conflict
            outcomes.append(conflict)
        return outcomes


def _tie_breaks(run: Run, row: dict[str, Any]) -> tuple[Any, ...]:
    axes, wall, ended = row["axis_scores"], usable_wall(run), ended_at(run)
    best = (-row["score"], -axes["completion"], -axes["error_rate"])
    return *best, wall is None, wall, ended is None, ended, run.run_id
