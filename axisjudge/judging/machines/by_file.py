"""Judging without asking anybody, on many workers: a file of trajectories is a part, and one process writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.cluster import Workers
from axisjudge.judging.api import judge
from axisjudge.ratings import RatingsWriter, read_ratings
from axisjudge.ratings.store import ratings_lines
from axisjudge.readers import RefusedFile, read_trajectories
from axisjudge.readers.source import NotTrajectories, candidates
from axisjudge.spec import parse_specs
from axisjudge.verdict import IDENTITY
from axisjudge.workbench import at, home

#: Judges that ask nobody and cost nothing: what fails may be done again.
FREE = ("rules", "replay")
#: What the tables at the end are made of.
SHORT = ("rater", "question", "status", "verdict", "rationale")


@dataclass(frozen=True, eq=False)
class _JudgedFile:
    """What came of one file: its ratings, the content of each run by id, and why it was passed over or refused."""

    path: str
    ratings: pl.DataFrame | None = None
    content: Mapping[str, str] | None = None
    n_warnings: int = 0
    refused: str = ""


@dataclass(frozen=True, eq=False)
class JudgedFiles:
    """What came of all files; `ratings` has the columns `SHORT` of every rating, those that were there included."""

    n_trajectories: int
    n_warnings: int
    n_written: int
    ratings: pl.DataFrame
    refused: tuple[RefusedFile, ...]


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
        Arguments of `axisjudge.readers.read_trajectories` and `axisjudge.judging.judge`.

    Raises
    ------
    InputError
        Another judge; no trajectories; one id with two contents; files that failed on every worker, when all others
        are written.
    """
    if asking := [spec.rater for spec in parse_specs(judges) if spec.provider not in FREE]:
        cure = "several machines share what they may ask by --shard i/n"
        raise InputError("--cluster", f"is for the judges {' and '.join(FREE)}, which ask nobody", asking[0], cure)
    files = [(str(file.path), file.named) for file in candidates(tuple(paths))]
    work = partial(_judged_file, home=home(), judges=judges, reading=reading or {}, judging=judging or {})
    content: dict[str, tuple[str, str]] = {}
    short, refused, n_warnings, n_written = [], [], 0, 0
    with RatingsWriter(out) as writer:
        there = read_ratings(out).filter(pl.col("status") == "ok").select(IDENTITY) if out.stat().st_size else None
        for judged in _with_bar(workers.map(work, files, _name), len(files)):
            n_warnings += judged.n_warnings
            if judged.refused:
                refused.append(RefusedFile(judged.path, judged.refused))
            if judged.ratings is None or judged.content is None:
                continue
            new = [run for run, text in judged.content.items() if _is_new(run, text, judged.path, content)]
            ratings = judged.ratings.filter(pl.col("trajectory_id").is_in(new))
            missing = ratings if there is None else ratings.join(there, on=IDENTITY, how="anti", nulls_equal=True)
            writer.append_lines(ratings_lines(missing))
            n_written += missing.height
            short.append(ratings.select(SHORT))
    if not content:
        reason = refused[0].reason if refused else f"none of the {len(files)} files there holds trajectories"
        raise InputError(", ".join(map(str, paths)), reason)
    return JudgedFiles(len(content), n_warnings, n_written, pl.concat(short), tuple(refused))


def _is_new(run: str, text: str, path: str, known: dict[str, tuple[str, str]]) -> bool:
    """Whether no file before this one had the run; one id with two contents is an error."""
    before, where = known.setdefault(run, (text, path))
    if before != text:
        raise InputError(path, f"its id is that of another trajectory ({where})", run, "give each its own id")
    return where == path


def _judged_file(
    file: tuple[str, bool],
    *,
    home: Path,
    judges: Sequence[str],
    reading: Mapping[str, Any],
    judging: Mapping[str, Any],
) -> _JudgedFile:
    path, named = file
    with at(home):  # a worker stands in a folder of its own
        try:
            read = read_trajectories(path, **reading)
        except NotTrajectories as error:
            return _JudgedFile(path, n_warnings=0 if named else 1, refused=str(error) if named else "")
        except InputError as error:
            return _JudgedFile(path, refused=str(error))
        ratings = judge(read.trajectories, judges, progress=False, **judging)
    content = {
        run.id: repr((run.content_sha256, run.agent, run.task_id, run.domain, run.reward)) for run in read.trajectories
    }
    return _JudgedFile(path, ratings, content, len(read.warnings))


def _name(file: tuple[str, bool]) -> str:
    return file[0]


def _with_bar(files: Iterable[_JudgedFile], n_files: int) -> Iterable[_JudgedFile]:
    from tqdm import tqdm

    bar: Iterable[_JudgedFile] = tqdm(files, total=n_files, unit=" files", disable=None, dynamic_ncols=True)
    return bar
