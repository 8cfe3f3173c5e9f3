"""Judging without asking anybody, on many workers: a file of trajectories is a part, and one process writes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Self, cast

import polars as pl

from axisjudge.checks import InputError
from axisjudge.cluster import Workers
from axisjudge.judges import JudgeLike
from axisjudge.judging.api import judge
from axisjudge.protocol import open_runs
from axisjudge.protocol.split import check_names, find_split
from axisjudge.ratings import RatingsWriter, in_order, read_ratings
from axisjudge.ratings.table import ratings_lines
from axisjudge.readers import RefusedFile
from axisjudge.readers.by_file import made_of_files
from axisjudge.spec import JudgeSpec, parse_specs
from axisjudge.trajectory import Trajectory
from axisjudge.twins import TwinSet, make_twins
from axisjudge.twins.choice import Examples, examples_of
from axisjudge.verdict import IDENTITY
from axisjudge.workbench import at, home

#: Judges that ask nobody and cost nothing: what fails may be done again.
FREE = ("rules", "replay")
#: What the tables at the end are made of.
SHORT = ("rater", "family", "returned_model", "question", "status", "verdict", "rationale")


@dataclass(frozen=True, eq=False)
class JudgedFiles:
    """What came of all files; `ratings` has the columns `SHORT` of every rating, those that were there included."""

    n_trajectories: int
    n_warnings: int
    n_written: int
    ratings: pl.DataFrame
    refused: tuple[RefusedFile, ...]


_NO_TWINS = TwinSet((), {})


@dataclass(frozen=True, eq=False)
class _OfRun:
    """The twins of one run, if any were made; `ratings` are those of all runs of its file and of their twins."""

    run: str
    ratings: pl.DataFrame
    made: TwinSet = _NO_TWINS

    @property
    def names(self) -> list[str]:
        """The run and its twins."""
        return [self.run, *(twin.trajectory.id for twin in self.made.twins)]


def _lots(made: Iterable[_OfRun]) -> Iterator[tuple[list[_OfRun], pl.DataFrame]]:
    """The runs of each file that came through, with their ratings alone."""
    for _, of_file in groupby(made, key=lambda run: id(run.ratings)):
        lot = list(of_file)
        names = [name for run in lot for name in run.names]
        yield lot, lot[0].ratings.filter(pl.col("trajectory_id").is_in(names))


def judge_files(
    paths: Sequence[Path],
    judges: Sequence[str],
    out: Path,
    workers: Workers,
    *,
    reading: Mapping[str, Any] | None = None,
    judging: Mapping[str, Any] | None = None,
) -> JudgedFiles:
    """Judge files of trajectories by rules or a replay, and append what is missing to a ratings file.

    Ratings are written file by file in the order of the files, so that any number of workers writes the same; what is
    there already is not written again, whatever was killed before.

    Parameters
    ----------
    paths : sequence of Path
        Files, folders or globs.
    judges : sequence of str
        Judge specs of the providers in `FREE`.
    out : Path
        A JSONL file.
    workers : Workers
        Where files are read and judged.
    reading, judging : mapping, optional
        Arguments of `axisjudge.readers.by_file.made_of_files` and `axisjudge.judging.judge`.

    Raises
    ------
    InputError
        Another judge; no trajectories; one id with two contents; files that failed on every worker, when all others
        are written.
    """
    free(judges)
    work = partial(_judged, home=home(), judges=judges, judging=judging or {})
    runs = made_of_files(paths, work, workers, **{"strict": False, **(reading or {})})
    short, n_runs = [pl.DataFrame(schema=dict.fromkeys(SHORT, pl.String))], 0

    def lots() -> Iterator[pl.DataFrame]:
        nonlocal n_runs
        for lot, ratings in _lots(runs):
            n_runs += len(lot)
            short.append(ratings.select(SHORT))
            yield ratings

    n_written = append_missing(out, lots())
    return JudgedFiles(n_runs, len(runs.warnings), n_written, pl.concat(short), tuple(runs.refused))


def free(judges: Sequence[str]) -> None:
    """Refuse judges that ask somebody."""
    if asking := [spec.rater for spec in parse_specs(judges) if spec.provider not in FREE]:
        cure = "several machines share what they may ask by --shard i/n"
        raise InputError("--cluster", f"is for the judges {' and '.join(FREE)}, which ask nobody", asking[0], cure)


def append_missing(out: Path, lots: Iterable[pl.DataFrame]) -> int:
    """Append ratings to a file lot by lot, but for those that it holds already; how many were written."""
    n_written = 0
    with RatingsWriter(out) as writer:
        there = read_ratings(out).filter(pl.col("status") == "ok").select(IDENTITY) if out.stat().st_size else None
        for ratings in lots:
            missing = ratings if there is None else ratings.join(there, on=IDENTITY, how="anti", nulls_equal=True)
            writer.append_lines(ratings_lines(missing))
            n_written += missing.height
    return n_written


def _judged(
    runs: Sequence[Trajectory], *, home: Path, judges: Sequence[str], judging: Mapping[str, Any]
) -> list[_OfRun]:
    with at(home):  # a worker stands in a folder of its own
        ratings = judge(runs, judges, progress=False, **judging)
    return [_OfRun(run.id, ratings) for run in runs]


#: What a provider grants to all machines together.
_RATES = ("rpm", "tpm")


@dataclass(frozen=True)
class Shard:
    """The `number`-th of `of` shards. Each trajectory is in one of them, by its id alone, on whatever machine."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``2/4``.

        Examples
        --------
        >>> Shard.parse("2/4")
        Shard(number=2, of=4)
        """
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError("--shard", "is written i/n, i from 1 to n", text, "for example 2/4")
        return cls(int(match[1]), int(match[2]))

    def holds(self, trajectory_id: str) -> bool:
        """Whether this shard judges the trajectory: the SHA-256 of its id, taken as a number, modulo `of`."""
        return int.from_bytes(sha256(trajectory_id.encode()).digest()) % self.of == self.number - 1

    def of_runs(self, trajectories: Iterable[Trajectory]) -> list[Trajectory]:
        """The trajectories of this shard."""
        return [run for run in trajectories if self.holds(run.id)]

    def of_judges(self, judges: Sequence[JudgeLike]) -> list[JudgeSpec]:
        """The judges, each with its part of what they may ask in a minute (``rpm``, ``tpm``); their names stay."""
        return [
            spec.model_copy(
                update={"options": {key: v / self.of if key in _RATES else v for key, v in spec.options.items()}}
            )
            for spec in parse_specs(cast("Sequence[str | JudgeSpec]", judges))  # which refuses a judge given as itself
        ]

    def alone_in(self, ratings: Path, rated: Iterable[str], trajectories: Iterable[Trajectory]) -> None:
        """Refuse a file in which runs of another shard are `rated`: shards would write over or into each other."""
        if others := sorted({run.id for run in trajectories if not self.holds(run.id)}.intersection(rated)):
            cure = f"give each shard its file ({self.beside(ratings).name}); axisjudge ratings merge joins them"
            raise InputError(str(ratings), f"holds runs of another shard than {self.number}/{self.of}", others[0], cure)

    def beside(self, ratings: Path) -> Path:
        """The ratings file of this shard: ``ratings-2-of-4.jsonl`` for ``ratings.jsonl``."""
        return ratings.with_stem(f"{ratings.stem}-{self.number}-of-{self.of}")


# Twins on many workers: each file's runs are edited and judged where they are read, by rules or a replay.


@dataclass(frozen=True, eq=False)
class JudgedTwins:
    """Twins without their steps, the ratings of them and of their originals, what was left alone or not read."""

    twins: TwinSet
    ratings: pl.DataFrame
    left: tuple[str, ...]
    refused: tuple[RefusedFile, ...]


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
    ratings = [ratings for _, ratings in _lots(made)]
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
        run.id: make_twins([run], edits, seed=seed, examples=examples) if run.id in chosen else _NO_TWINS
        for run in runs
    }
    twins = [twin.trajectory for each in made.values() for twin in each.twins]
    with at(home):
        ratings = judge([*(run for run in runs if run.id in chosen), *twins], judges, progress=False)
    return [_OfRun(run, ratings, _without_steps(each)) for run, each in made.items()]


def _without_steps(made: TwinSet) -> TwinSet:
    return replace(made, twins=tuple(replace(twin, trajectory=_light(twin.trajectory)) for twin in made.twins))


def _light(run: Trajectory) -> Trajectory:
    """A run without what happened in it."""
    return run.model_copy(update={"steps": (), "tools": None, "policy": None, "meta": {}})
