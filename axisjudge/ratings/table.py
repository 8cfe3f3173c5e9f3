"""Ratings in files: read, checked and in one order; written a JSON line a rating, one writer a file."""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import polars as pl
from pydantic import ValidationError

from axisjudge.checks import InputError
from axisjudge.cluster import watched
from axisjudge.ratings.dataset import NEVER_NULL, DatasetPart, is_dataset, parts_of
from axisjudge.ratings.edge import ITEM_ID, LISTS, SCHEMA, alike, completed_ratings
from axisjudge.verdict import AXES, IDENTITY, RATER_KINDS, SCHEMA_VERSION, STATUSES, VERDICTS, Rating

if TYPE_CHECKING:
    from filelock import FileLock


# Writing ratings: one JSON line a rating, one writer a file, and what a killed writer leaves behind.

#: How every line of ours begins.
_BEGINNING = b'{"schema_version":'

#: Bytes that are read at once in search of the last line.
_TAIL = 65_536
_AT_ONCE = 50_000  # ratings written in one go


def json_line(rating: Rating) -> bytes:
    """The rating as one line of a ratings file."""
    return rating.model_dump_json().encode() + b"\n"


def is_torn(last: bytes) -> bool:
    """Whether a last line without an end is the beginning of one of ours; whatever else stands there is not ours."""
    is_ours = last.startswith(_BEGINNING) or _BEGINNING.startswith(last)
    return bool(last) and is_ours and not _is_json(last)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def write_ratings(ratings: pl.DataFrame, path: str | Path) -> None:
    """Write a whole ratings table as a new file: Parquet by that suffix, else JSON Lines.

    Raises
    ------
    InputError
        The file cannot be written, or another process is writing it.
    """
    target = Path(path)
    if target.suffix != ".parquet":
        with RatingsWriter(target) as writer:
            starts = range(0, ratings.height, _AT_ONCE)  # the lines of all would take ten times the table
            for start in watched(starts, f"writing {target.name}", delay=1):
                writer.append_lines(ratings_lines(ratings[start : start + _AT_ONCE]))
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        ratings.write_parquet(target)
    except OSError as error:
        raise InputError(str(target), f"cannot be written ({error.strerror or error})") from error


def ratings_lines(ratings: pl.DataFrame) -> bytes:
    """The rows as lines. `probabilities` is JSON text in a table and an object in a line."""
    given = ratings["probabilities"].is_not_null()
    if not given.any():
        return ratings.write_ndjson().encode()
    lines = []
    for row in ratings.iter_rows(named=True):
        whole = {**row, "probabilities": row["probabilities"] and json.loads(row["probabilities"])}
        lines.append(json.dumps(whole, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines).encode()


class RatingsWriter:
    """Appends ratings to a JSONL file, one writer at a time.

    A second process that opens the same file, by whatever path, waits up to `wait` seconds and is then told who is in
    the way. A torn last line left by a killed writer is cut off before the first rating is written, so that no line is
    ever joined to it; until then the file stays as it was.

    Raises
    ------
    InputError
        The file cannot be written, or another process is writing it.
    """

    def __init__(self, path: str | Path, *, wait: float = 10.0) -> None:
        self.path, self.wait = Path(path), wait
        self._lock: FileLock | None = None
        self._is_whole = False

    def __enter__(self) -> Self:
        from filelock import FileLock, Timeout

        if self.path.suffix == ".parquet":
            raise InputError(str(self.path), "ratings are written as JSON Lines", cure="name it ratings.jsonl, say")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(f"{self.path.resolve()}.lock")
            self._lock.acquire(timeout=self.wait)
        except Timeout:
            raise InputError(
                str(self.path),
                f"another process has been writing here for {self.wait:g} s",
                cure="wait for it to end, or choose another --out",
            ) from None
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._is_new = not self.path.exists()
            self._file = self.path.open("ab+")
        except OSError as error:
            self._lock.release()
            raise self._unwritable(error) from error
        return self

    def append(self, ratings: Iterable[Rating]) -> None:
        """Write the ratings of one call in a single write, so that a kill tears at most the last line."""
        self.append_lines(b"".join(json_line(rating) for rating in ratings))

    def append_lines(self, lines: bytes) -> None:
        """Write lines that are ratings already."""
        try:
            if not self._is_whole:
                self._cut_torn_line()
            self._file.write(lines)
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from error

    def sync(self) -> None:
        """Return when what was written is on the disk, the name of a new file too."""
        try:
            os.fsync(self._file.fileno())
            if self._is_new and os.name == "posix":
                folder = os.open(self.path.parent, os.O_RDONLY)
                os.fsync(folder)
                os.close(folder)
        except OSError as error:
            raise self._unwritable(error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        except OSError as unwritten:
            raise self._unwritable(unwritten) from unwritten
        finally:
            if self._lock is not None:
                self._lock.release()

    def _unwritable(self, error: OSError) -> InputError:
        cure = "make room or choose another --out; what is written stays, the same command goes on from there"
        return InputError(str(self.path), f"cannot be written ({error.strerror or error})", cure=cure)

    def _cut_torn_line(self) -> None:
        end = start = self._file.seek(0, os.SEEK_END)
        tail = b""
        while start and b"\n" not in tail:  # the rest of a long file need not be read again
            start = max(0, start - _TAIL)
            self._file.seek(start)
            tail = self._file.read(end - start)
        last = tail.rpartition(b"\n")[2]
        if is_torn(last):
            self._file.truncate(end - len(last))
        elif last:
            self._file.write(b"\n")
        self._is_whole = True


def ratings_frame(ratings: Iterable[Rating]) -> pl.DataFrame:
    """The ratings as a table."""
    lines = b"".join(json_line(rating) for rating in ratings)
    return pl.read_ndjson(io.BytesIO(lines), schema=SCHEMA) if lines else pl.DataFrame(schema=SCHEMA)


#: Columns that comparisons and profiles do not compute with: texts, versions, parameters of calls, what they cost.
ASIDE = (
    *("schema_version", "task_id", "rubric_version"),
    *("rationale", "probabilities", "invalid_citations", "call_id", "run_id", "model", "mechanism"),
    *("confidence_source",),
    *("input_tokens", "cached_tokens", "output_tokens", "cost_usd", "latency_s"),
)


def read_ratings(*paths: str | Path, latest: bool = False, lean: bool = False) -> pl.DataFrame:
    """Read ratings from JSONL files, Parquet files or datasets (`axisjudge.ratings.dataset`) into one table.

    Of several lines of one identity the last one wins (`last_lines`). A torn last line (the writer was killed while it
    wrote) and fields that a rating does not have are left out with a warning.

    Parameters
    ----------
    *paths : str or Path
    latest : bool
        Where a rater rated an item several times, by other prompts, rubrics or versions, keep the rating written last
        and warn of the number left out. Without it all are kept, and statistics that need one refuse them.
    lean : bool
        Leave the columns in `ASIDE` on the disk, as far as Parquet lets them lie; they are empty in the table, which
        is put in order question by question: that takes a fraction of the memory.

    Returns
    -------
    polars.DataFrame
        In an order that does not depend on the order of arrival (see `in_order`).

    Raises
    ------
    InputError
        A file is missing, is not made of ratings, or a rating breaks a rule; the message names file, line and rule.
    """
    tables = _last_ratings(paths, latest, lean)
    ordered = list(_by_question(tables) if lean else [in_order(pl.concat([_NONE, *tables], how="diagonal"))])
    return _whole(pl.concat([_NONE, *ordered], how="diagonal"))


def newest_ratings(*paths: str | Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The `latest` ratings of files, and the latest under each version of a rubric; the files are read once."""
    every = _whole(pl.concat([_NONE, *_last_ratings(paths, latest=False, lean=False)], how="diagonal"))
    newest, by_rubric = _last_of(every, _ASKED), _last_of(every, [*_ASKED, "rubric_version"])
    warn_of_older(paths, every.height - newest.height)
    _warn_of_late(paths, newest)
    return in_order(newest), in_order(by_rubric)


def _by_question(tables: Iterable[pl.DataFrame]) -> list[pl.DataFrame]:
    """The ratings of each question in order; first is the question that is first in the order of all."""
    held: dict[str, list[pl.DataFrame]] = {}
    for table in tables:
        for (question,), part in table.partition_by("question", as_dict=True, maintain_order=True).items():
            held.setdefault(question, []).append(part)
    ordered = {name: in_order(pl.concat(held.pop(name), how="diagonal")) for name in list(held)}
    firsts = pl.concat([_NONE, *(table.head(1) for table in ordered.values())], how="diagonal")
    return [ordered[name] for name in in_order(firsts)["question"]]


def ratings_in_parts(*paths: str | Path, lean: bool = False) -> Iterator[pl.DataFrame]:
    """The `latest` ratings in tables that can be looked at apart: one holds all ratings of a run on a question.

    These are the parts of a single dataset, read one at a time, and one table of whatever else the paths name. Their
    rows are in no order.
    """
    return map(_whole, _last_ratings(paths, latest=True, lean=lean))


def ratings_of_part(part: DatasetPart) -> tuple[pl.DataFrame, int]:
    """The `latest` ratings of a part of a dataset, in no order, and how many older ones are left out."""
    columns = _columns(lean=True)
    table, n_older = _last_and_older(_read_part(part, _to_read(columns)), latest=True)
    return _whole(_filled(table, columns)), n_older


def _last_ratings(paths: Sequence[str | Path], latest: bool, lean: bool) -> Iterator[pl.DataFrame]:
    columns, firsts = _columns(lean), []
    n_older = 0
    for every in _tables([Path(path) for path in paths], _to_read(columns)):
        table, older = _last_and_older(every, latest)
        n_older += older
        firsts.append(table.group_by("rater").agg(pl.col("repeat").min()))
        yield _filled(table, columns)
    warn_of_older(paths, n_older)
    if latest and firsts:
        _warn_of_late(paths, pl.concat(firsts))


def _columns(lean: bool) -> list[str]:
    return [name for name in SCHEMA if not (lean and name in ASIDE)]


def _to_read(columns: Sequence[str]) -> list[str]:
    return [*dict.fromkeys([*columns, *_TELLING_APART])]


def _last_and_older(table: pl.DataFrame, latest: bool) -> tuple[pl.DataFrame, int]:
    every = last_lines(table)
    newest = _last_of(every, _ASKED) if latest else every
    return newest, every.height - newest.height


def _filled(table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """These columns but those that are empty."""
    return table.select(name for name in columns if name in IDENTITY or table[name].null_count() < table.height)


def warn_of_older(paths: Iterable[str | Path], n_older: int) -> None:
    """Say how many ratings of these paths are left out, if any are, because newer ones answer the same."""
    if n_older:
        where = ", ".join(map(str, paths))
        warnings.warn(
            f"{where}: {n_older} ratings by an older prompt, rubric or rater version are left out", stacklevel=5
        )


def _warn_of_late(paths: Iterable[str | Path], rated: pl.DataFrame) -> None:
    """Name the raters whose repeats do not begin with 0, the one that is taken where one is."""
    late = rated.group_by("rater").agg(pl.col("repeat").min()).filter(pl.col("repeat") > 0)["rater"].sort()
    if len(late):
        where, whose = ", ".join(map(str, paths)), ", ".join(late)
        one = "what takes one repeat of a rater takes the one numbered 0, and leaves these ratings out"
        warnings.warn(f"{where}: no repeat 0 of {whose}: {one}", stacklevel=5)


def _tables(paths: Sequence[Path], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    if len(paths) == 1:
        yield from _read(paths[0], columns)
    elif paths:
        yield pl.concat([table for path in paths for table in _read(path, columns)], how="diagonal")


def _last_of(table: pl.DataFrame, subset: Sequence[str]) -> pl.DataFrame:
    """The last of all rows that are alike in some columns; the table itself, not a copy, where no two are."""
    if not alike(table, *subset):
        return table
    return table.unique(subset=list(subset), keep="last", maintain_order=True)


def last_lines(table: pl.DataFrame) -> pl.DataFrame:
    """Of several lines of one identity the last; of a judge's the last verdict: a loss takes none away.

    A person's label without a word may be one that was taken back.
    """
    if not alike(table, *IDENTITY):
        return table
    is_answered = (pl.col("status") == "ok").any().over(*IDENTITY)
    gives_way = (pl.col("status") != "ok") & (pl.col("rater_kind") != "human") & is_answered
    return _last_of(table.filter(~gives_way), IDENTITY)


def _whole(table: pl.DataFrame) -> pl.DataFrame:
    """The table with all columns of the record; one that is empty takes no memory."""
    empty = [pl.lit(None, dtype=kind).alias(name) for name, kind in SCHEMA.items() if name not in table.columns]
    return table.with_columns(empty).select(list(SCHEMA))


def read_every_line(*paths: str | Path) -> pl.DataFrame:
    """Every rating that was ever written to these files, those that were asked again and replaced included.

    Raises
    ------
    InputError
        As `read_ratings` does.
    """
    tables = (_whole(table) for path in paths for table in _read(Path(path), list(SCHEMA)))
    return pl.concat([pl.DataFrame(schema=SCHEMA), *tables])


def in_order(ratings: pl.DataFrame) -> pl.DataFrame:
    """The table by item, axis, rater, version, prompt and repeat.

    Replies arrive in any order, and a resumed run in another one than an unbroken run; whatever is computed from
    ratings with a seed must not depend on that.
    """
    return ratings.sort("item_id", _AXIS, *IDENTITY[1:], maintain_order=True)


def by_identity(ratings: pl.DataFrame) -> pl.DataFrame:
    """The table by item, axis, rater and repeat; of several prompts or versions the one written last stays last."""
    return ratings.sort("item_id", _AXIS, "question", "rater", "repeat", maintain_order=True)


#: Where a question stands: the five axes in their order, then the others.
_AXIS = pl.col("question").replace_strict(
    {axis: position for position, axis in enumerate(AXES)}, default=len(AXES), return_dtype=pl.Int8
)


def _read(path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """These columns of a file's ratings in one table, of a dataset's part by part."""
    if is_dataset(path):
        yield from (_read_part(part, columns) for part in parts_of(path))
        return
    if not path.is_file():
        raise InputError(str(path), "no such ratings file")
    try:
        yield (_read_parquet(path, columns) if path.suffix == ".parquet" else _read_jsonl(path)).select(columns)
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror or error})") from error


def _read_part(part: DatasetPart, columns: Sequence[str]) -> pl.DataFrame:
    try:
        table = part.scan().select(columns).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(part.name, "is not a Parquet file", cure="make the dataset anew") from error
    ratings = table.with_columns(pl.col(name).fill_null([]) for name in LISTS if name in columns)
    _check(ratings, part.name)
    return ratings


#: What is asked of a rater once, under whatever prompt, rubric or version.
_ASKED = ("item_id", "question", "rater", "repeat")
#: No ratings, with the columns that put them in order.
_NONE = pl.DataFrame(schema={name: SCHEMA[name] for name in IDENTITY})
#: Columns by which rows are told apart, put in order and checked.
_TELLING_APART = (*IDENTITY, "rubric_version", "schema_version")


def _check(ratings: pl.DataFrame, name: str) -> None:
    if broken := first_broken(ratings):
        row, rule = broken
        raise InputError(f"{name}, row {row}", f"not a rating: {rule}")


def _read_parquet(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """These columns alone are read, and that from which a cluster follows."""
    try:
        lines = pl.scan_parquet(path)
        given = lines.collect_schema().names()
        table = lines.select(name for name in given if name in columns or name == "task_id").collect()
    except pl.exceptions.PolarsError as error:
        raise InputError(str(path), "is not a Parquet file", cure="JSON Lines go by another name") from error
    ratings = completed_ratings(table, str(path))
    _check(ratings, str(path))
    _warn_of_unknown(path, given)
    return ratings


def _read_jsonl(path: Path) -> pl.DataFrame:
    raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    head, _, last = raw.rpartition(b"\n")
    if is_torn(last):
        raw = head
        warnings.warn(
            f"{path}: the last line is torn (a writer was killed) and left out; judging again mends it", stacklevel=6
        )
    if not raw.strip():
        return pl.DataFrame(schema=SCHEMA)
    try:
        ratings = pl.read_ndjson(io.BytesIO(raw), schema=SCHEMA)
    except pl.exceptions.PolarsError as error:
        raise _bad_line(path, raw) from error
    if broken := first_broken(ratings):
        row, rule = broken
        number, _ = _numbered_lines(raw)[row]
        raise InputError(f"{path}:{number}", f"not a rating: {rule}")
    _warn_of_unknown(path, pl.scan_ndjson(io.BytesIO(raw), infer_schema_length=1000).collect_schema().names())
    return ratings


def _numbered_lines(raw: bytes) -> list[tuple[int, bytes]]:
    return [(number, line) for number, line in enumerate(raw.split(b"\n"), start=1) if line.strip()]


def _bad_line(path: Path, raw: bytes) -> InputError:
    for number, line in _numbered_lines(raw):
        try:
            Rating.model_validate_json(line, strict=True)
        except ValidationError as error:
            fault = error.errors()[0]
            field = ".".join(map(str, fault["loc"]))
            rule = f"not a rating: {field}{': ' if field else ''}{fault['msg'].removeprefix('Input ')}"
            no_json = "tables of other shapes come in by axisjudge import" if fault["type"] == "json_invalid" else ""
            return InputError(f"{path}:{number}", rule, fault["input"], no_json)
    return InputError(str(path), "a value does not fit the ratings table: a number too large, or a type that varies")


def first_broken(table: pl.DataFrame) -> tuple[int, str] | None:
    """Check the rules of the record on whole columns: the first row that breaks one, and the rule."""
    newer = pl.col("schema_version").fill_null(SCHEMA_VERSION) > SCHEMA_VERSION
    answered = pl.col("verdict").is_not_null() | pl.col("value").is_not_null()
    rules = {
        f"schema_version must not be newer than {SCHEMA_VERSION}": newer,
        **{f"needs {name}": pl.col(name).is_null() for name in NEVER_NULL},
        f"status must be one of {', '.join(STATUSES)}": ~pl.col("status").is_in(STATUSES),
        f"rater_kind must be one of {', '.join(RATER_KINDS)}": ~pl.col("rater_kind").is_in(RATER_KINDS),
        "only status ok carries a verdict, and it must": answered != (pl.col("status") == "ok"),
        f"verdict must be one of {', '.join(VERDICTS)}": (pl.col("scale") == "verdict")
        & ~pl.col("verdict").is_in(VERDICTS),
        "confidence must lie in [0, 1]": ~pl.col("confidence").is_between(0, 1),
        "item_id must be made of trajectory_id and step_index or interaction_id": pl.col("item_id") != ITEM_ID,
    }
    broken = table.select(pl.arg_where(rule.fill_null(False)).first().alias(name) for name, rule in rules.items())
    for rule, row in broken.row(0, named=True).items():
        if row is not None:
            return row, rule
    return None


def _warn_of_unknown(path: Path, fields: Iterable[str]) -> None:
    if unknown := sorted(set(fields) - SCHEMA.keys()):
        warnings.warn(f"{path}: a rating has no field {', '.join(unknown)}; left out", stacklevel=7)
