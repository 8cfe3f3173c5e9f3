"""Several files of ratings as one: the last line of an identity wins (`last_lines`), and what gave way is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings.dataset import OF_A_FILE, RATINGS_A_PART, is_dataset, scan_ratings
from axisjudge.ratings.edge import SCHEMA
from axisjudge.ratings.table import by_identity, first_broken, last_lines, read_every_line
from axisjudge.verdict import IDENTITY


@dataclass(frozen=True)
class Merged:
    """What came of several files of ratings.

    `n_replaced` lines gave way to another one of their identity; `n_conflicts` identities had verdicts that differ.
    """

    n_ratings: int
    n_replaced: int
    n_conflicts: int

    def __add__(self, other: Merged) -> Merged:
        pairs = zip(self.counts, other.counts, strict=True)
        return Merged(*(one + more for one, more in pairs))

    @property
    def counts(self) -> tuple[int, int, int]:
        """Ratings, lines replaced, conflicts."""
        return self.n_ratings, self.n_replaced, self.n_conflicts


def write_dataset(sources: Iterable[str | Path], folder: str | Path, *, ratings_a_part: int = RATINGS_A_PART) -> Merged:
    """Write ratings files and datasets as one new dataset, ordered by identity; of one identity the last line wins.

    Of JSON Lines one file at a time is held, of Parquet one part.

    Raises
    ------
    InputError
        The folder is there already, or a source is no ratings file or breaks a rule.
    """
    target = Path(folder)
    if target.exists():
        raise InputError(str(target), "is there already", cure="choose another --out")
    with _new_folder(target) as unfinished:
        staged = unfinished / "staged"
        lines = pl.concat([_lines(source, staged / f"{number:06d}.parquet") for number, source in enumerate(sources)])
        sizes = dict(lines.group_by("question").len().sort("question").collect().iter_rows())
        n_parts = {question: -(-size // ratings_a_part) for question, size in sizes.items()}
        number = {question: at for at, question in enumerate(sizes)}
        lot = pl.col("trajectory_id").hash() % pl.col("question").replace_strict(n_parts, return_dtype=pl.UInt64)
        of_question = pl.col("question").replace_strict(number, return_dtype=pl.Int64)
        lines.with_row_index("line").with_columns(lot=lot, of_question=of_question).sink_parquet(
            pl.PartitionBy(staged / "lots", key=["of_question", "lot"], approximate_bytes_per_file=None),
            compression="lz4",
            mkdir=True,
        )
        merged = Merged(0, 0, 0)
        for question, n in n_parts.items():
            home = unfinished / f"question={quote(question, safe='')}"
            home.mkdir()
            for part in range(n):
                of_lot, ratings = _merged_lot(staged / "lots" / f"of_question={number[question]}" / f"lot={part}")
                merged += of_lot
                ratings.select(OF_A_FILE).write_parquet(home / f"part-{part:05d}-of-{n:05d}.parquet")
        rmtree(staged)
    return merged


def merged(lines: pl.DataFrame) -> tuple[Merged, pl.DataFrame]:
    """The last line of each identity, in order, and what gave way to it."""
    kept = last_lines(lines)
    n_conflicts = 0
    if replaced := lines.height - kept.height:
        answered = lines.filter(pl.col("status") == "ok")
        several = answered.group_by(IDENTITY).agg(pl.struct("verdict", "value").n_unique().alias("n"))
        n_conflicts = several.filter(pl.col("n") > 1).height
    return Merged(kept.height, replaced, n_conflicts), by_identity(kept)


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A folder to write to; it becomes `target` only when the block ends well."""
    unfinished = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        (unfinished / "staged").mkdir(parents=True)
        yield unfinished
        unfinished.replace(target)
    finally:
        rmtree(unfinished, ignore_errors=True)


def _lines(source: str | Path, staged: Path) -> pl.LazyFrame:
    """The lines of a source, not yet read; of what is no Parquet with all columns of ours, by way of a staged file."""
    if is_dataset(source):
        return scan_ratings(source)
    if Path(source).suffix == ".parquet" and Path(source).is_file():
        lines = pl.scan_parquet(source)
        if lines.collect_schema() == pl.Schema(SCHEMA):
            return lines
    read_every_line(source).write_parquet(staged, compression="lz4")
    return pl.scan_parquet(staged)


def _merged_lot(folder: Path) -> tuple[Merged, pl.DataFrame]:
    if not folder.is_dir():  # a hash that no trajectory has
        return Merged(0, 0, 0), pl.DataFrame(schema=SCHEMA)
    lines = pl.read_parquet(folder, hive_partitioning=False).sort("line").select(list(SCHEMA))
    if broken := first_broken(lines):
        row, rule = broken
        raise InputError(f"the rating of {lines['item_id'][row]} by {lines['rater'][row]}", f"not a rating: {rule}")
    return merged(lines)


def missing(ratings: pl.DataFrame | pl.LazyFrame, trajectories: Sequence[str]) -> list[dict[str, Any]]:
    """What ratings lack of these trajectories: a row for each rater, question and repeat that some of them is without.

    What should be there is what any of the ratings is of: a rater that was asked a question of one run was to be asked
    it of all. A row has `n`, how many trajectories are without, `lost`, how many have a status other than ok, and the
    ids of the former in `trajectories`.
    """
    of = ["rater", "question", "repeat"]
    own = ratings.lazy().filter(pl.col("trajectory_id").is_in(list(trajectories)))
    there = own.group_by(of).agg(
        pl.col("trajectory_id").unique(), lost=pl.col("trajectory_id").filter(pl.col("status") != "ok").n_unique()
    )
    rows = []
    for row in there.sort(of).collect().iter_rows(named=True):
        seen = set(row.pop("trajectory_id"))
        without = [name for name in trajectories if name not in seen]
        if without or row["lost"]:
            rows.append({**row, "n": len(without), "trajectories": without})
    return rows
