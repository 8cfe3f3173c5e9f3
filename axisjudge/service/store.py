"""The score store: runs come in any order, and the scores are those that all runs together would give."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from axisjudge.checks import InputError
from axisjudge.scores.run_score.rules import ScorecardRules
from axisjudge.scores.run_score.runs import Run
from axisjudge.scores.run_score.score import (
    RollingBaseline,
    Scorecard,
    ended_at,
    enters_baseline,
    score_single,
    usable_wall,
)
from axisjudge.service import database
from axisjudge.service.database import (
    Database,
    Prepared,
    agent_run_scores,
    agent_runs,
    json_text,
    superseded_scores,
    waiting_events,
)

# What happens inside one writing transaction: runs are inserted, and scored together with those after them.

EVENT = "agent.run.scored"
_SORTED = json.JSONEncoder(sort_keys=True)

_RUNS = agent_runs.c
#: What makes a score another score. Components and reasons that move without it are kept in its place, without event.
_CONTENT = ("score", "tier", "formula_version", "weight_snapshot")
#: What follows from a run and its baseline beside these.
_BESIDE = ("axis_scores", "detail")
_says, _says_beside = itemgetter(*_CONTENT), itemgetter(*_BESIDE)
_ONLY_CURRENT = ("listed_at", "spec_id")
#: What rows and events take over as it is from a run and from its score, and what of a score stands in `detail`.
_IDS = ("run_id", "agent_id", "workspace_id", "spec_id")
_OF_CARD = ("score", "tier", "formula_version")
_IN_DETAIL = ("low", "high", "reasons", "baseline_seconds", "baseline_runs")


# Statements are made once: making one costs more than running it.
_HERE = _RUNS.workspace_id == sa.bindparam("workspace")
_BEHIND = agent_runs.alias("behind").c
_UNTIL = (
    sa.select(_BEHIND.ended_at)
    .where(_BEHIND.workspace_id == sa.bindparam("workspace"), _BEHIND.enters_baseline)
    .where(_BEHIND.ended_at > sa.bindparam("last"))
    .order_by(_BEHIND.ended_at)
    .limit(1)
    .offset(sa.bindparam("back", type_=sa.Integer))
    .scalar_subquery()
)
_REACHED = (
    _HERE,
    _RUNS.enters_baseline.in_([sa.true(), sa.false()]),  # the index's second column: else a workspace is read whole
    _RUNS.ended_at >= sa.bindparam("first"),
    _RUNS.ended_at <= sa.func.coalesce(_UNTIL, 2**62),
)
_TIMES = (_RUNS.ended_at, _RUNS.wall_seconds, _RUNS.enters_baseline)
_LAST_BEFORE = (
    sa.select(*_TIMES)
    .where(_HERE, _RUNS.enters_baseline, _RUNS.ended_at < sa.bindparam("first"))
    .order_by(_RUNS.ended_at.desc(), _RUNS.wall_seconds.desc())
    .limit(sa.bindparam("window", type_=sa.Integer))
    .subquery()
)
_BESIDE_SCORE = ("ended_at", "enters_baseline", "facts")
_NEAR = Prepared(sa.union_all(sa.select(_LAST_BEFORE), sa.select(*_TIMES).where(*_REACHED)))
_LATER = (
    sa.select(*(_RUNS[name] for name in _BESIDE_SCORE), *agent_run_scores.c)
    .join(agent_run_scores, agent_run_scores.c.run_id == _RUNS.run_id)
    .where(*_REACHED)
)
#: By dialect: runs that are not there yet, which are the ones returned.
_NEW_RUNS = {
    kind.__name__.rpartition(".")[2]: Prepared(kind.insert(agent_runs).on_conflict_do_nothing().returning(_RUNS.run_id))
    for kind in (sqlite, postgresql)
}
_NEW_SCORE, _NEW_EVENT = Prepared(agent_run_scores.insert()), Prepared(waiting_events.insert().inline())
_AT_OLD = agent_run_scores.update().where(agent_run_scores.c.score_id == sa.bindparam("held_id"))


@dataclass(frozen=True)
class _Timed:
    """A run with its end (microseconds UTC, None where unknown) and whether baselines are made of it."""

    run: Run
    ended_at: int | None
    enters: bool

    @classmethod
    def of(cls, run: Run) -> _Timed:
        return cls(run, ended_at(run), enters_baseline(run))


def facts_of(run: Run) -> str:
    """A run as JSON text, always the same text for the same facts; NaN stays NaN."""
    return _SORTED.encode(run.model_dump(exclude_defaults=True))


def run_from(facts: str) -> Run:
    """The run that `facts_of` wrote."""
    return Run.model_validate(json.loads(facts))


def insert_and_score(
    connection: sa.Connection, offered: Sequence[tuple[Run, str]], rules: ScorecardRules
) -> dict[str, dict[str, Any]]:
    """Insert runs that are not there yet, each with its facts, and score them, and anew those whose baseline they move.

    Returns
    -------
    dict
        Run id to row of ``agent_run_scores``, for the runs that were not there.
    """
    now = datetime.now(UTC)
    timed_runs = [_Timed.of(run) for run, _ in offered]
    rows = [_run_row(timed, facts, now) for timed, (_, facts) in zip(timed_runs, offered, strict=True)]
    new = {run_id for (run_id,) in _NEW_RUNS[connection.dialect.name].run(connection, rows)}
    fresh = [timed for timed in timed_runs if timed.run.run_id in new]
    made: list[dict[str, Any]] = []
    held: dict[str, dict[str, Any]] = {}
    for workspace in sorted({timed.run.workspace_id for timed in fresh}):
        here = [timed for timed in fresh if timed.run.workspace_id == workspace]
        kept, later = _around(connection, workspace, here, rules.window)
        rolling = RollingBaseline(kept, window=rules.window)
        for row in later:
            ended, enters, text = (row.pop(name) for name in _BESIDE_SCORE)
            held[row["run_id"]] = row
            if not _stands(row, rolling.before(ended), rules):
                here.append(_Timed(run_from(text), ended, enters))
        for timed in here:
            card = score_single(timed.run, *rolling.before(timed.ended_at), rules)
            made.append(_row(timed, card, rules, now))
    _write(connection, made, held, now)
    return {row["run_id"]: row for row in made if row["run_id"] not in held}


def scores_of(connection: sa.Connection, run_ids: Collection[str]) -> dict[str, dict[str, Any]]:
    """The scores that hold for these runs."""
    rows = connection.execute(sa.select(agent_run_scores).where(agent_run_scores.c.run_id.in_(run_ids)))
    return {row.run_id: dict(row._mapping) for row in rows}


def card_of(row: dict[str, Any]) -> Scorecard:
    """A row of ``agent_run_scores`` as a record."""
    columns = {name: row[name] for name in ("run_id", *_OF_CARD)}
    return Scorecard(**columns, **{name: row["detail"][name] for name in _IN_DETAIL}, components=row["axis_scores"])


def _around(
    connection: sa.Connection, workspace: str, fresh: Sequence[_Timed], window: int
) -> tuple[list[tuple[int, float]], list[dict[str, Any]]]:
    """The runs around fresh ones and these themselves, from a window before the first to a window behind the last.

    Returns
    -------
    list of (end, wall time)
        Of those that baselines are made of.
    list of rows of ``agent_run_scores``, each with what `_BESIDE_SCORE` names
        Of those whose baseline fresh runs may change.
    """
    ends = [timed.ended_at for timed in fresh if timed.ended_at is not None]
    if not ends:
        return [], []
    reach = {"workspace": workspace, "first": min(ends), "last": max(ends), "window": window, "back": window - 1}
    near = _NEAR.run(connection, [reach])
    kept = [(ended_at, wall) for ended_at, wall, enters in near if enters]
    first = min((timed.ended_at for timed in fresh if timed.enters and timed.ended_at is not None), default=None)
    if first is None or sum(end > first for end, *_ in near) == sum(end > first for end in ends):
        return kept, []
    return kept, [dict(row._mapping) for row in connection.execute(_LATER, reach | {"first": first})]


def _stands(row: dict[str, Any], baseline: tuple[float | None, int], rules: ScorecardRules) -> bool:
    """Whether a score was made with this very baseline, and by these rules."""
    detail = row["detail"]
    same_rules = (row["weight_snapshot"], detail["curve"]) == rules.snapshot
    return same_rules and (detail["baseline_seconds"], detail["baseline_runs"]) == baseline


def _run_row(timed: _Timed, facts: str, now: datetime) -> dict[str, Any]:
    return {
        "run_id": timed.run.run_id,
        "workspace_id": timed.run.workspace_id,
        "ended_at": timed.ended_at,
        "wall_seconds": timed.run.wall_seconds if timed.enters else None,
        "enters_baseline": timed.enters,
        "facts": facts,
        "received_at": now,
    }


def _row(timed: _Timed, card: Scorecard, rules: ScorecardRules, now: datetime) -> dict[str, Any]:
    run, (weights, curve) = timed.run, rules.snapshot
    of_card = {name: getattr(card, name) for name in _IN_DETAIL}
    of_run = {name: getattr(run, name) for name in ("spec_id", "artefact", "ended_at")}
    return {
        "score_id": uuid4().hex,
        **{name: getattr(run, name) for name in _IDS},
        **{name: getattr(card, name) for name in _OF_CARD},
        "axis_scores": dict(card.components),
        "weight_snapshot": weights,
        "scored_at": now,
        "detail": {**of_card, "reasons": dict(card.reasons), **of_run, "curve": curve},
        "listed_at": int(now.timestamp() * 1_000_000) if timed.ended_at is None else timed.ended_at,
    }


def _write(
    connection: sa.Connection, made: list[dict[str, Any]], held: dict[str, dict[str, Any]], now: datetime
) -> None:
    """Insert new scores, put changed ones in the place of old ones, and leave an event for each of both."""
    fresh = [row for row in made if row["run_id"] not in held]
    pairs = [(row, held[row["run_id"]]) for row in made if row["run_id"] in held]
    changed = [(row, old) for row, old in pairs if _says(row) != _says(old)]
    moved = [
        {"held_id": old["score_id"]} | {name: row[name] for name in _BESIDE}
        for row, old in pairs
        if _says(row) == _says(old) and _says_beside(row) != _says_beside(old)
    ]
    if moved:
        connection.execute(_AT_OLD, moved)
    if changed:
        past = [
            {name: value for name, value in old.items() if name not in _ONLY_CURRENT}
            | {"superseded_at": now, "superseded_by": row["score_id"]}
            for row, old in changed
        ]
        connection.execute(superseded_scores.insert(), past)
        for row, old in changed:
            row["listed_at"] = old["listed_at"]
        connection.execute(_AT_OLD, [{"held_id": old["score_id"], **row} for row, old in changed])
    if fresh:
        _NEW_SCORE.run(connection, fresh)
    events = [*((row, None) for row in fresh if row["score"] is not None), *changed]
    if events:
        payloads = [{"score_id": row["score_id"], "payload": json_text(_event(row, old))} for row, old in events]
        _NEW_EVENT.run(connection, payloads)


def _event(row: dict[str, Any], old: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "event": EVENT,
        **{name: row[name] for name in ("score_id", *_IDS, *_OF_CARD)},
        **{name: row["detail"][name] for name in ("artefact", "low", "high", "reasons")},
        "axes": row["axis_scores"],
        "scored_at": row["scored_at"].astimezone(UTC).isoformat(),
        "supersedes": old and old["score_id"],
    }


_TRIES = 5
#: SQLSTATEs after which the same transaction may succeed: serialization, deadlock.
_PASSING = ("40001", "40P01")

_FACTS = sa.select(database.agent_runs.c.run_id, database.agent_runs.c.facts).where(
    database.agent_runs.c.run_id.in_(sa.bindparam("ids", expanding=True))
)


class Conflict(InputError):
    """A run of this id is stored with other facts."""


@dataclass(frozen=True)
class Kept:
    """What the store did with a run: `is_new` is False where the same run stood there already."""

    card: Scorecard
    is_new: bool


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
        scores = database.agent_run_scores.c
        equal = {name: getattr(self, name) for name in ("agent_id", "workspace_id", "spec_id", "tier")}
        wanted = [scores[name] == value for name, value in equal.items() if value is not None]
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
        A path (SQLite) or a database URL; tables are created when it is opened.
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
            with self.database.writing(["tables"]) as connection:
                if must_exist and not database.is_store(connection):
                    raise InputError("store", "holds no scores", str(self.database), "name the store that was served")
                database.make_tables(connection)
                key = connection.execute(sa.select(database.cursor_keys.c.key)).scalar_one()
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
        asked = sa.select(database.superseded_scores).where(database.superseded_scores.c.run_id == run_id)
        with self.database.reading() as connection:
            rows = connection.execute(
                asked.order_by(database.superseded_scores.c.superseded_at, database.superseded_scores.c.scored_at)
            )
            return [dict(row._mapping) for row in rows]

    def page(
        self, wanted: Wanted, *, limit: int = 50, after: tuple[int, str] | None = None
    ) -> tuple[list[dict[str, Any]], tuple[int, str] | None]:
        """Scores newest first, by end of run (its arrival where unknown), then by id; and where to go on."""
        scores = database.agent_run_scores.c
        asked = (
            sa.select(database.agent_run_scores)
            .order_by(scores.listed_at.desc(), scores.run_id.desc())
            .limit(limit + 1)
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
        return first, (first[-1]["listed_at"], first[-1]["run_id"]) if len(rows) > limit else None

    def ranking(self, wanted: Wanted, *, limit: int = 50) -> list[dict[str, Any]]:
        """The scored runs among those wanted, best first, each with its ``wall_seconds``.

        Runs of equal score are put in order by `TIE_BREAKS`, as `axisjudge scorecard rank` does.
        """
        scores = database.agent_run_scores.c
        here = sa.and_(*wanted.conditions(), scores.score.is_not(None))
        best = sa.select(scores.score).where(here).order_by(scores.score.desc())
        joined = sa.join(database.agent_run_scores, database.agent_runs, scores.run_id == database.agent_runs.c.run_id)
        with self.database.reading() as connection:
            lowest = connection.execute(best.limit(1).offset(limit - 1)).scalar()  # ties with the last are cut below
            asked = sa.select(database.agent_run_scores, database.agent_runs.c.facts).select_from(joined).where(here)
            rows = connection.execute(asked if lowest is None else asked.where(scores.score >= lowest)).all()
        ranked = [(run_from(row.facts), dict(row._mapping)) for row in rows]
        ranked.sort(key=lambda each: _tie_breaks(*each))
        return [row | {"wall_seconds": usable_wall(run)} for run, row in ranked[:limit]]

    def waiting(self, limit: int = 100) -> list[tuple[int, dict[str, Any]]]:
        """The oldest events that no sink has yet, each with its position."""
        events = database.waiting_events.c
        asked = sa.select(events.position, events.payload).order_by(events.position).limit(limit)
        with self.database.reading() as connection:
            return [(position, json.loads(payload)) for position, payload in connection.execute(asked)]

    def count_waiting(self) -> int:
        """How many events no sink has yet."""
        with self.database.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(database.waiting_events)).scalar_one())

    def sent(self, positions: Sequence[int]) -> None:
        """Forget events that the sink has."""
        with self.database.writing() as connection:
            connection.execute(
                database.waiting_events.delete().where(database.waiting_events.c.position.in_(positions))
            )

    def is_alive(self) -> bool:
        """Whether the database answers."""
        return self._answers(sa.select(1), 1)

    def is_current(self) -> bool:
        """Whether the database answers, and its tables are of this version."""
        return self._answers(sa.select(database.schema_version.c.version), database.VERSION)

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
