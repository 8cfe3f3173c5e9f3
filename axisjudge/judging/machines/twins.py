"""Twins on many workers: each file's runs are edited and judged where they are read, by rules or a replay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.cluster import Workers
from axisjudge.judging.api import judge
from axisjudge.judging.machines.by_file import append_missing, free
from axisjudge.protocol import open_runs
from axisjudge.protocol.split import check_names, find_split
from axisjudge.ratings import in_order
from axisjudge.readers import RefusedFile
from axisjudge.readers.by_file import made_of_files
from axisjudge.trajectory import Trajectory
from axisjudge.twins import TwinSet, make_twins
from axisjudge.twins.choice import Examples, examples_of
from axisjudge.workbench import at, home


@dataclass(frozen=True, eq=False)
class JudgedTwins:
    """Twins without their steps, the ratings of them and of their originals, what was left alone or not read."""

    twins: TwinSet
    ratings: pl.DataFrame
    left: tuple[str, ...]
    refused: tuple[RefusedFile, ...]


@dataclass(frozen=True, eq=False)
class _OfRun:
    """The twins of one run; `ratings` are those of all runs of its file and of their twins."""

    run: str
    made: TwinSet
    ratings: pl.DataFrame

    @property
    def names(self) -> list[str]:
        """The run and its twins."""
        return [self.run, *(twin.trajectory.id for twin in self.made.twins)]


def judge_twins(
    paths: Sequence[Path],
    edits: Sequence[str],
    judges: Sequence[str],
    out: Path,
    workers: Workers,
    *,
    seed: int = 0,
    limit: int | None = None,
    reading: Mapping[str, Any],
) -> JudgedTwins:
    """Make twins of the runs in files, judge both, and append the ratings that are missing to a file.

    The files are read twice: once for which runs are open and what their tools answered, once to edit and judge.

    Raises
    ------
    InputError
        As `judge_files` does, and `axisjudge.protocol.open_runs`.
    """
    free(judges)
    here = home()
    seen = list(made_of_files(paths, partial(_seen, home=here), workers, **reading))
    chosen, left = open_runs([run for run, _ in seen])
    names = frozenset(run.id for run in islice(chosen, limit))
    examples: dict[str, list[Any]] = {}
    for run, of_run in seen:
        for tool, answers in of_run.items() if run.id in names else ():
            examples.setdefault(tool, []).extend(answers)
    work = partial(_made, home=here, chosen=names, edits=edits, seed=seed, examples=examples, judges=judges)
    again = made_of_files(paths, work, workers, **reading)
    made = [each for each in again if each.run in names]
    lots = [list(each) for _, each in groupby(made, key=lambda one: id(one.ratings))]
    ratings = [
        lot[0].ratings.filter(pl.col("trajectory_id").is_in([name for each in lot for name in each.names]))
        for lot in lots
    ]
    append_missing(out, ratings)
    refused = defaultdict[tuple[str, str], list[str]](list)
    for why, runs in (every for each in made for every in each.made.refused.items()):
        refused[why] += runs
    twins = TwinSet(
        tuple(twin for each in made for twin in each.made.twins), {why: tuple(runs) for why, runs in refused.items()}
    )
    return JudgedTwins(twins, in_order(pl.concat(ratings)), left, tuple(again.refused))


def _seen(runs: Sequence[Trajectory], *, home: Path) -> list[tuple[Trajectory, Examples]]:
    """Each run without its steps, and what its tools answered; none is of a task that goes by another name."""
    with at(home):
        if (split := find_split()) is not None:
            check_names(split, runs)
    return [(_light(run), examples_of([run])) for run in runs]


def _made(
    runs: Sequence[Trajectory],
    *,
    home: Path,
    chosen: frozenset[str],
    edits: Sequence[str],
    seed: int,
    examples: Examples,
    judges: Sequence[str],
) -> list[_OfRun]:
    made = {
        run.id: make_twins([run], edits, seed=seed, examples=examples) if run.id in chosen else TwinSet((), {})
        for run in runs
    }
    twins = [twin.trajectory for each in made.values() for twin in each.twins]
    with at(home):
        ratings = judge([*(run for run in runs if run.id in chosen), *twins], judges, progress=False)
    return [_OfRun(run, _without_steps(each), ratings) for run, each in made.items()]


def _without_steps(made: TwinSet) -> TwinSet:
    return replace(made, twins=tuple(replace(twin, trajectory=_light(twin.trajectory)) for twin in made.twins))


def _light(run: Trajectory) -> Trajectory:
    """A run without what happened in it."""
    return run.model_copy(update={"steps": (), "tools": None, "policy": None, "meta": {}})
