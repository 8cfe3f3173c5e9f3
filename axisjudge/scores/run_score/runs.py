"""Runs to be scored: one record a run, the table that many of them make, and runs derived from agent trajectories.

What is refused and what is not. A record of the wrong shape (an id that breaks the rule, text where a number belongs,
an unknown field, two different records of one run) is refused with an InputError that says where. A measurement of the
right type that cannot be one (negative, NaN, infinite, absurdly large, an end time outside 2000-2100) is kept out of
the formula: its component is unavailable, and the reason is recorded with the score. Missing measurements are missing.
The order of runs never matters.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from axisjudge.checks import DuplicateKey, InputError, once_each
from axisjudge.cluster import InTurn, Workers
from axisjudge.scores.axis.transcript.interactions import outcome_of
from axisjudge.trajectory import Trajectory

#: What every id must match.
ID_PATTERN = r"^[A-Za-z0-9_.-]{1,64}$"
_ARTEFACT_PATTERN = r"^[^\x00-\x1f\x7f]{1,500}$"

Id = Annotated[str, Field(pattern=ID_PATTERN, description="1 to 64 of A-Z a-z 0-9 _ . -")]
Artefact = Annotated[str, Field(pattern=_ARTEFACT_PATTERN, description="branch, commit or address")]
OutcomeSource = Literal["reported", "reward"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Stage(_Record):
    """One stage (gate) of a run. `attempts` counts its tries; a stage of 0 attempts was not executed."""

    name: Annotated[str, Field(max_length=200)] = ""
    attempts: int
    passed: bool


class Run(_Record):
    """What is known of one run; whatever is not known is left out.

    Parameters
    ----------
    run_id, agent_id, workspace_id : str
        Match `ID_PATTERN`.
    spec_id : str, optional
        The spec (task) that the run was to fulfil: what makes runs comparable in a competition.
    artefact : str, optional
        Where what the run made can be fetched: a branch, a commit, an address. It is handed on with the winner of a
        competition, and does not enter the score.
    outcome : str, optional
        ``COMPLETED``, ``BLOCKED`` or ``FAILED``.
    outcome_source : {"reported", "reward"}
        ``reward`` where the outcome was read off an end-task reward; a calibration against that reward must then
        leave completion out.
    stages : list of Stage, optional
    wall_seconds : float, optional
        How long the run took.
    memory_peak_bytes, memory_limit_bytes, cpu_throttled_ms, cpu_wall_ms : float, optional
        Use of the sandbox: memory at its peak and its limit, time throttled of time elapsed.
    ended_at : str, optional
        ISO 8601; without an offset it is taken as UTC.
    reward : float, optional
        End-task reward, for calibration; it does not enter the score.
    scored : bool
        False for a run that is kept (and enters baselines) without a score: its tier is Unranked.
    """

    run_id: Id
    agent_id: Id
    workspace_id: Id
    spec_id: Id | None = None
    artefact: Artefact | None = None
    outcome: Annotated[str, Field(max_length=64)] | None = None
    outcome_source: OutcomeSource = "reported"
    stages: Annotated[list[Stage], Field(max_length=10_000)] | None = None
    wall_seconds: float | None = None
    memory_peak_bytes: float | None = None
    memory_limit_bytes: float | None = None
    cpu_throttled_ms: float | None = None
    cpu_wall_ms: float | None = None
    ended_at: Annotated[str, Field(max_length=64, examples=["2026-11-22T09:30:00Z"])] | None = None
    reward: float | None = None
    scored: bool = True

    def row(self) -> dict[str, Any]:
        """The run as a row of the runs table: stages counted, the end time parsed."""
        row = dict(vars(self))
        executed, passed = counted_stages(row.pop("stages"))
        row |= {"stages_executed": executed, "stages_passed_first": passed, "ended_at": end_time(self.ended_at)}
        return row


#: The runs table. A measurement that was given and cannot be used is NaN or out of bounds, one not given is null.
RUN_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("run_id", "agent_id", "workspace_id", "spec_id", "artefact"), pl.String),
    **dict.fromkeys(("outcome", "outcome_source"), pl.String),
    **dict.fromkeys(("stages_executed", "stages_passed_first"), pl.Float64),
    **dict.fromkeys(("wall_seconds", "memory_peak_bytes", "memory_limit_bytes"), pl.Float64),
    **dict.fromkeys(("cpu_throttled_ms", "cpu_wall_ms"), pl.Float64),
    "ended_at": pl.Datetime("us", "UTC"),
    "reward": pl.Float64,
    "scored": pl.Boolean,
}
#: What the record holds text to, for tables.
_PATTERNS = {
    **dict.fromkeys(("run_id", "agent_id", "workspace_id", "spec_id"), ID_PATTERN),
    "artefact": _ARTEFACT_PATTERN,
    "outcome": r"^(?s:.{0,64})$",
    "outcome_source": "^(reported|reward)$",
}


def end_time(text: str | None) -> datetime | None:
    """An ISO 8601 time as UTC (assumed where no offset is given); None for what is no time."""
    try:
        moment = datetime.fromisoformat(text or "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def runs_frame(runs: Iterable[Run]) -> pl.DataFrame:
    """Runs as a table."""
    return pl.DataFrame([run.row() for run in runs], schema=RUN_SCHEMA)


def runs_table(table: pl.DataFrame, *, where: str = "runs") -> pl.DataFrame:
    """A table of runs, checked: columns of the record, ids that keep the rule, one row a run.

    Columns that are missing are null, unknown ones are left out with a warning, and identical rows count once.

    Raises
    ------
    InputError
        No ``run_id``, an id that breaks the rule, a column of the wrong type, two different rows of one run.
    """
    if "run_id" not in table.columns:
        raise InputError(where, "needs a column run_id", table.columns)
    if unknown := [name for name in table.columns if name not in RUN_SCHEMA]:
        warnings.warn(f"{where}: a run has no column {', '.join(unknown)}; left out", stacklevel=2)
    if dict(table.schema) != RUN_SCHEMA:
        table = pl.DataFrame([_column(table, name, kind, where) for name, kind in RUN_SCHEMA.items()])
    runs = table.with_columns(pl.col("scored").fill_null(True), pl.col("outcome_source").fill_null("reported"))
    kept = [pl.col(name).str.contains(rule).fill_null(name != "run_id") for name, rule in _PATTERNS.items()]
    for name, row in runs.select(pl.arg_where(~rule).first() for rule in kept).row(0, named=True).items():
        if row is not None:
            raise InputError(f"{where}, row {row}, {name}", f"must match {_PATTERNS[name]}", runs[name][row])
    return _one_row_a_run(runs, where)


def read_runs(*paths: str | Path, workers: Workers | None = None) -> pl.DataFrame:
    """Read runs from JSON lines (one `Run` a line) or Parquet (the columns of `RUN_SCHEMA`) into one table.

    `workers` read the files where they are many, each under its absolute path.

    Raises
    ------
    InputError
        A file is missing or holds something else; the message names file, line and field.
    """
    files = [(Path(path).absolute(), str(path)) for path in paths]
    frames = list((workers or InTurn()).map(_read_file, files, itemgetter(1)))
    where = ", ".join(str(path) for path in paths)
    return _one_row_a_run(pl.concat(frames), where) if frames else pl.DataFrame(schema=RUN_SCHEMA)


def runs_in(path: Path, where: str) -> list[Run]:
    """The runs of a file of JSON lines, each refused with its line; `where` names the file."""
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [parse_run(line, f"{where}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def parse_run(line: str | bytes, where: str) -> Run:
    """One JSON line as a run; `where` names it in the message of the InputError that anything else raises."""
    try:
        run = Run.model_validate_json(line)
        json.loads(line, object_pairs_hook=once_each)
        return run
    except DuplicateKey as error:
        raise InputError(where, "is no run (a key may be given once)", error.msg, "keep the true value") from None
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise InputError(f"{where}{', ' if field else ''}{field}", _rule(problem), problem["input"]) from None


def _rule(problem: Any) -> str:
    message = str(problem["msg"])
    return f"is no run ({message[0].lower()}{message[1:]})"


def _read_file(file: tuple[Path, str]) -> pl.DataFrame:
    path, name = file
    try:
        if path.suffix == ".parquet":
            return runs_table(pl.read_parquet(path), where=name)
        runs = runs_in(path, name)
    except FileNotFoundError:
        raise InputError(name, "no such file of runs") from None
    except OSError as error:
        raise InputError(name, f"cannot be read ({error.strerror or error})") from error
    except pl.exceptions.PolarsError as error:
        raise InputError(name, "is not a Parquet file", cure="JSON lines go by another name") from error
    if not runs:
        raise InputError(name, "holds no run", cure="leave it out, or export it again")
    return _one_row_a_run(runs_frame(runs), name)


def counted_stages(stages: list[Stage] | None) -> tuple[float | None, float | None]:
    """Stages executed, and passed on the first attempt; a negative count of attempts spoils both."""
    if stages is None:
        return None, None
    if any(stage.attempts < 0 for stage in stages):
        return -1.0, 0.0
    executed = sum(stage.attempts > 0 for stage in stages)
    return float(executed), float(sum(stage.attempts == 1 and stage.passed for stage in stages))


def _column(table: pl.DataFrame, name: str, kind: Any, where: str) -> pl.Series:
    if name not in table.columns:
        return pl.Series(name, [None], dtype=kind).new_from_index(0, table.height)
    column = table[name]
    try:
        if name == "ended_at" and column.dtype == pl.String:
            return pl.Series(name, [end_time(text) for text in column], dtype=kind)
        if isinstance(column.dtype, pl.Datetime):
            aware = column.dt.replace_time_zone("UTC") if column.dtype.time_zone is None else column
            return aware.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
        if kind == pl.Float64 and not (column.dtype.is_numeric() or column.dtype == pl.Null):
            raise InputError(f"{where}, {name}", "must be a column of numbers", str(column.dtype))
        return column.cast(kind)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{where}, {name}", f"must be a column of type {kind}", str(column.dtype)) from error


def _one_row_a_run(runs: pl.DataFrame, where: str) -> pl.DataFrame:
    """Identical rows once, with a warning; different rows of one run are refused."""
    if (n_runs := runs["run_id"].n_unique()) == runs.height:
        return runs
    once = runs.unique(maintain_order=True)
    if once.height != n_runs:
        twice = once.filter(pl.col("run_id").is_duplicated())["run_id"][0]
        raise InputError(where, "one record for each run", twice, "two records of it differ; keep the true one")
    warnings.warn(f"{where}: {runs.height - once.height} identical records of runs counted once", stacklevel=3)
    return once


# Runs derived from agent trajectories (tau2, AXIS transcripts and their like): what such a source says, no more.
#
# - run_id: the trajectory's id. agent_id: the agent, else ``unknown``. workspace_id: the domain, else the source's
#   format. spec_id: the task. In each, characters outside the rule of ids become ``-``, and a hash then keeps the ids
#   apart.
# - outcome: the end-task reward, 1 or more COMPLETED, 0 or less FAILED, between them BLOCKED (``outcome_source`` is
#   then ``reward``); else how an AXIS report says that the agent's process ended, COMPLETED or FAILED; else none.
# - wall_seconds: the duration that the source states, else the last timestamp minus the first.
# - ended_at: the last timestamp, taken as UTC where it has no offset.
# - stages: not available, since a tool call that fails is no gate that fails; error_rate is 50.
# - memory and CPU: not available; resource_efficiency is 50.
#
# So completion is the reward in other words: a calibration against that reward must leave it out.

_LONGEST = 64
_HASH = 8


def runs_of(trajectories: Iterable[Trajectory]) -> list[Run]:
    """One run for each trajectory."""
    return [run_of(trajectory) for trajectory in trajectories]


def run_of(trajectory: Trajectory) -> Run:
    """The run that a trajectory tells of; the table above says what comes from where."""
    stamps = [step.timestamp for step in trajectory.steps if step.timestamp and end_time(step.timestamp)]
    return Run(
        run_id=as_id(trajectory.id),
        agent_id=as_id(trajectory.agent or "unknown"),
        workspace_id=as_id(trajectory.domain or trajectory.source),
        spec_id=None if trajectory.task_id is None else as_id(trajectory.task_id),
        outcome=_outcome(trajectory),
        outcome_source="reported" if trajectory.reward is None and "axis_run" in trajectory.meta else "reward",
        wall_seconds=_seconds(trajectory, stamps),
        ended_at=stamps[-1] if stamps else None,
        reward=trajectory.reward,
    )


def as_id(text: str) -> str:
    """`text` if it keeps the rule of ids, else what is left of it with a hash of the whole."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "-", text)
    if plain == text and 0 < len(text) <= _LONGEST:
        return text
    return f"{plain[: _LONGEST - _HASH - 1]}-{sha256(text.encode()).hexdigest()[:_HASH]}"


def _outcome(trajectory: Trajectory) -> str | None:
    reward = trajectory.reward
    if reward is None:
        ended = trajectory.meta.get("axis_run")
        return None if ended is None else "FAILED" if outcome_of(ended).failed else "COMPLETED"
    return "COMPLETED" if reward >= 1 else "FAILED" if reward <= 0 else "BLOCKED"


def _seconds(trajectory: Trajectory, stamps: list[str]) -> float | None:
    stated = trajectory.meta.get("duration")
    if isinstance(stated, int | float) and not isinstance(stated, bool) and math.isfinite(stated) and trajectory.steps:
        return float(stated)
    first, last = (end_time(stamp) for stamp in (stamps[0], stamps[-1])) if stamps else (None, None)
    return (last - first).total_seconds() if first and last and first != last else None
