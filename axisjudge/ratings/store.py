"""Writing ratings: one JSON line a rating, one writer a file, and what a killed writer leaves behind."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import polars as pl

from axisjudge.checks import InputError
from axisjudge.verdict import Rating

if TYPE_CHECKING:
    from filelock import FileLock

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
            for part in ratings.iter_slices(_AT_ONCE):  # the lines of all would take ten times the table
                writer.append_lines(ratings_lines(part))
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        ratings.write_parquet(target)
    except OSError as error:
        raise InputError(str(target), f"cannot be written ({error.strerror or error})") from error


def ratings_lines(ratings: pl.DataFrame) -> bytes:
    """The rows as lines. `probabilities` is JSON text in a table and an object in a line."""
    said = ratings["probabilities"].is_not_null()
    if not said.any():
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
