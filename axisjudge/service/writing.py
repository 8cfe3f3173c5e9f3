"""What happens inside one writing transaction: runs are inserted, and scored together with those after them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from axisjudge.scores.run_score import Run, Scorecard, ScorecardRules
from axisjudge.scores.run_score.single import RollingBaseline, ended_at, enters_baseline, score_single
from axisjudge.service.database import Prepared, json_text
from axisjudge.service.schema import agent_run_scores, agent_runs, superseded_scores, waiting_events

EVENT = "agent.run.scored"
_SORTED = json.JSONEncoder(sort_keys=True)

_RUNS = agent_runs.c
#: What makes a score another score. Components and reasons that move without it are kept in its place, without event.
_SAID = ("score", "tier", "formula_version", "weight_snapshot")
#: What follows from a run and its baseline beside these.
_BESIDE = ("axis_scores", "detail")
_says, _says_beside = itemgetter(*_SAID), itemgetter(*_BESIDE)
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
