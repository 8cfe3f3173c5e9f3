"""Ratings as a dataset: a folder of Parquet files, a folder a question, of which no more is read than is needed.

    FOLDER/question=termination/part-00003-of-00020.parquet

All ratings of a trajectory stand in one part of each question, which the names of the parts vouch for: parts may be
counted apart. In a folder that bears other names a question is one part, but where it is large and stands in the order
of its trajectories: then it is cut between them. A dataset may lie wherever polars reads (``s3://``,
``gs://``, ``az://``), where nothing is cut; `axisjudge.ratings.merging` writes it to a disk.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings.edge import SCHEMA

#: Addresses that polars reads; a `Path` of one has a single slash.
_REMOTE = re.compile(r"^(s3a?|gs|gcs|az|azure|abfss?|adl|hf|file)://?")
_PART = re.compile(r"part-(\d+)-of-(\d+)\.parquet")
#: Columns of its files; the question is the folder's name.
OF_A_FILE = [name for name in SCHEMA if name != "question"]
#: What no rating lacks; of a dataset the question is the folder's name.
NEVER_NULL = (
    *("trajectory_id", "item_id", "cluster_id", "question", "scale"),
    *("rater", "rater_kind", "family", "status", "repeat"),
)
#: Ratings of a part: what one worker holds at once.
RATINGS_A_PART = 1_000_000
#: Stretches that a part is made of.
_STRETCHES = 8
#: Bytes from which it is looked whether a part can be cut: no smaller one has so many ratings.
_LARGE = 2_000_000


class Rows(NamedTuple):
    """Rows of a file, from the `first`, and the trajectories between which theirs lie."""

    file: str
    first: int
    number: int
    least: str
    most: str


@dataclass(frozen=True)
class DatasetPart:
    """Files, or `rows` of them, that hold all ratings of their trajectories on one question."""

    question: str
    files: tuple[str, ...]
    rows: tuple[Rows, ...] = ()

    @property
    def name(self) -> str:
        """Its question, files and rows, for people."""
        more = f" and {len(self.files) - 1} more" if self.files[1:] else ""
        start = f", from row {self.rows[0].first}" if self.rows else ""
        return f"{self.question} ({self.files[0]}{start}{more})"

    def scan(self) -> pl.LazyFrame:
        """Its ratings, not yet read."""
        if not self.rows:
            return _scan(list(self.files))
        return pl.concat([_scan([rows.file]).slice(rows.first, rows.number) for rows in self.rows])

    def cut(self, size: int) -> list[DatasetPart]:
        """Parts of `size` ratings or more, cut between stretches that share no trajectory; itself where all do.

        Rows keep the order in which they stand in the files, as a later line wins.
        """
        if "://" in self.files[0] or sum(Path(file).stat().st_size for file in self.files) < _LARGE:
            return [self]
        try:
            n_rows = sum(pl.scan_parquet(file).select(pl.len()).collect().item() for file in self.files)
            length = max(1, size // _STRETCHES)
            stretches = [each for file in self.files for each in _stretches(file, length)] if n_rows >= 2 * size else []
        except (OSError, pl.exceptions.PolarsError):  # which whoever reads it will say
            return [self]
        if not stretches or sum(each.number for each in stretches) < n_rows:
            return [self]
        lots: list[list[Rows]] = []
        most = ""
        for stretch in sorted(stretches, key=lambda each: each.least):
            if not lots or (stretch.least > most and sum(rows.number for rows in lots[-1]) >= size):
                lots.append([])
            lots[-1].append(stretch)
            most = max(most, stretch.most)
        return [self._of(lot) for lot in lots] if len(lots) > 1 else [self]

    def _of(self, lot: Sequence[Rows]) -> DatasetPart:
        rows: list[Rows] = []
        for each in sorted(lot, key=lambda one: (self.files.index(one.file), one.first)):
            if rows and (rows[-1].file, rows[-1].first + rows[-1].number) == (each.file, each.first):
                rows[-1] = rows[-1]._replace(number=rows[-1].number + each.number)
            else:
                rows.append(each)
        return replace(self, files=tuple(dict.fromkeys(each.file for each in rows)), rows=tuple(rows))


def scan_ratings(path: str | Path) -> pl.LazyFrame:
    """The ratings of a dataset, not yet read; columns that it lacks are empty.

    Raises
    ------
    InputError
        No Parquet file lies there.
    """
    return _scan([file for part in _uncut(path) for file in part.files])


def parts_of(path: str | Path) -> list[DatasetPart]:
    """The parts of a dataset, which can be counted apart, by question; large files in order of their runs are cut.

    Raises
    ------
    InputError
        No Parquet file lies there, or one that belongs to no question or holds no ratings.
    """
    return [each for part in _uncut(path) for each in part.cut(RATINGS_A_PART)]


def _uncut(path: str | Path) -> list[DatasetPart]:
    by_question: dict[str, list[str]] = {}
    for file in _files(path):
        named = re.search(r"(?:^|/)question=([^/]*)/", file)
        if named is None:
            cure = "axisjudge ratings compact makes a dataset of ratings files"
            raise InputError(file, "a dataset has a folder question=NAME for each question", cure=cure)
        _check_columns(file)
        by_question.setdefault(unquote(named[1]), []).append(file)
    return [
        DatasetPart(question, group)
        for question, files in by_question.items()
        for group in ([(file,) for file in files] if _are_whole(files) else [tuple(files)])
    ]


def _stretches(file: str, length: int) -> list[Rows]:
    """A file in stretches of rows with the least and most of their trajectories; none where a rating has no name.

    One column of the file is read.
    """
    run = pl.col("trajectory_id")
    stretches = pl.scan_parquet(file).select(run).with_row_index("row").group_by(pl.col("row") // length)
    known = stretches.agg(pl.len(), run.min().alias("least"), run.max().alias("most"), n=run.count()).sort("row")
    table = known.collect(engine="streaming")
    if (table["n"] < table["len"]).any() or table["least"].dtype != pl.String:
        return []
    return [Rows(file, at * length, *of) for at, *of in table.select("row", "len", "least", "most").iter_rows()]


def _files(path: str | Path) -> list[str]:
    address = _REMOTE.sub(r"\1://", str(path))
    try:
        if "://" in address:
            inside = f"{address.rstrip('/')}/**/*.parquet"
            files = pl.scan_parquet(inside, include_file_paths="_file").select("_file").unique().collect()
            return sorted(files["_file"])
        local = sorted(str(file) for file in Path(path).rglob("*.parquet"))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(address, "cannot be read as a dataset", " ".join(str(error).split())[:200]) from error
    if others := sorted(file.name for file in Path(path).rglob("*.jsonl")):
        warnings.warn(f"{path}: a dataset is made of Parquet files; left out: {', '.join(others[:3])}", stacklevel=2)
    if not local:
        raise InputError(
            str(path), "a folder of ratings holds Parquet files", cure="make one: axisjudge ratings compact"
        )
    return local


def _check_columns(file: str) -> None:
    try:
        columns = pl.scan_parquet(file, hive_partitioning=True).collect_schema().names()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(file, "is not a Parquet file", cure="make the dataset anew") from error
    if lacking := [name for name in NEVER_NULL if name not in columns]:
        raise InputError(file, f"holds no ratings: it lacks {', '.join(lacking)}", cure="move it elsewhere")


def _are_whole(files: Sequence[str]) -> bool:
    """Whether these are all the parts of one writing."""
    named = [match.groups() for file in files if (match := _PART.fullmatch(file.rpartition("/")[2]))]
    return sorted(named) == [(f"{part:05d}", f"{len(files):05d}") for part in range(len(files))]


def _scan(files: list[str]) -> pl.LazyFrame:
    return pl.scan_parquet(
        files,
        hive_partitioning=True,
        hive_schema={"question": pl.String},
        schema={**{name: SCHEMA[name] for name in OF_A_FILE}, "question": pl.String},
        missing_columns="insert",
        extra_columns="ignore",
    ).select(list(SCHEMA))


def is_dataset(path: str | Path) -> bool:
    """Whether ratings lie there as a dataset: a folder, or an address of an object storage."""
    return _REMOTE.match(str(path)) is not None or Path(path).is_dir()


def dataset_stats(path: str | Path) -> list[dict[str, Any]]:
    """One row a question: ratings, those lost, items, clusters, raters, files and megabytes of a dataset on a disk."""
    rows = []
    parts = parts_of(path)
    for question in dict.fromkeys(part.question for part in parts):
        own = [part for part in parts if part.question == question]
        files = list(dict.fromkeys(file for part in own for file in part.files))
        counts = [
            part.scan()
            .select(
                ratings=pl.len(),
                lost=(pl.col("status") != "ok").sum(),
                items=pl.col("item_id").n_unique(),
            )
            .collect()
            for part in own
        ]
        names = _scan(files).select("cluster_id", "rater")
        sizes = {
            "clusters": names.select(pl.col("cluster_id").n_unique()).collect(engine="streaming").item(),
            "raters": names.select(pl.col("rater").n_unique()).collect(engine="streaming").item(),
            "files": len(files),
        }
        on_disk = {} if "://" in files[0] else {"MB": round(sum(Path(file).stat().st_size for file in files) / 1e6, 1)}
        rows.append({"question": question, **pl.concat(counts).sum().row(0, named=True), **sizes, **on_disk})
    return rows
