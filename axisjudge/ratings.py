"""The ratings table: one JSON line a rating, read into one long polars frame."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import ValidationError

from axisjudge.checks import InputError
from axisjudge.verdict import IDENTITY, RATER_KINDS, SCHEMA_VERSION, STATUSES, VERDICTS, Rating

if TYPE_CHECKING:
    from filelock import FileLock

_TYPES: dict[str, Any] = {
    **dict.fromkeys(("schema_version", "step_index", "repeat"), pl.Int64),
    **dict.fromkeys(("input_tokens", "cached_tokens", "output_tokens"), pl.Int64),
    **dict.fromkeys(("value", "confidence", "cost_usd", "latency_s"), pl.Float64),
    **dict.fromkeys(("cited_step_indices", "invalid_citations"), pl.List(pl.Int64)),
    "flags": pl.List(pl.String),
}

#: Columns of the ratings table in the record's order. `probabilities` is JSON text, because its words differ by scale.
SCHEMA: dict[str, Any] = {name: _TYPES.get(name, pl.String) for name in Rating.model_fields}

#: How every line of ours begins.
_BEGINNING = b'{"schema_version":'

_NEVER_NULL = (
    "trajectory_id",
    "item_id",
    "cluster_id",
    "question",
    "scale",
    "rater",
    "rater_kind",
    "family",
    "status",
    "repeat",
)


def ratings_frame(ratings: Iterable[Rating]) -> pl.DataFrame:
    """The ratings as a table."""
    lines = b"".join(_line(rating) for rating in ratings)
    return pl.read_ndjson(io.BytesIO(lines), schema=SCHEMA) if lines else pl.DataFrame(schema=SCHEMA)


def read_ratings(*paths: str | Path) -> pl.DataFrame:
    """Read ratings from JSONL or Parquet files into one table.

    Of several lines of one identity the last one wins. A torn last line (the writer was killed while it wrote) and
    fields that a rating does not have are left out with a warning.

    Raises
    ------
    InputError
        A file is missing, is not made of ratings, or a rating breaks a rule; the message names file, line and rule.
    """
    frames = [_read_file(Path(path)) for path in paths]
    table = pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA)
    return table.unique(subset=list(IDENTITY), keep="last", maintain_order=True)


def _read_file(path: Path) -> pl.DataFrame:
    if not path.is_file():
        raise InputError(str(path), "no such ratings file")
    try:
        return _read_parquet(path) if path.suffix == ".parquet" else _read_jsonl(path)
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror or error})") from error


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        table = pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise InputError(str(path), "is not a Parquet file", cure="JSON Lines go by another name") from error
    if missing := [name for name in SCHEMA if name not in table.columns]:
        raise InputError(str(path), "ratings need all columns of the record", cure=f"add {', '.join(missing)}")
    try:
        ratings = table.select([pl.col(name).cast(kind) for name, kind in SCHEMA.items()])
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(str(path), f"a column is of the wrong type ({reason})", cure="cast it first") from error
    if broken := _first_broken(ratings):
        row, rule = broken
        raise InputError(f"{path}, row {row}", f"not a rating: {rule}")
    _warn_of_unknown(path, table.columns)
    return ratings


def _read_jsonl(path: Path) -> pl.DataFrame:
    raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    head, _, last = raw.rpartition(b"\n")
    if _is_torn(last):
        raw = head
        warnings.warn(
            f"{path}: the last line is torn (a writer was killed) and left out; judging again mends it", stacklevel=4
        )
    if not raw.strip():
        return pl.DataFrame(schema=SCHEMA)
    try:
        ratings = pl.read_ndjson(io.BytesIO(raw), schema=SCHEMA)
    except pl.exceptions.PolarsError as error:
        raise _bad_line(path, raw) from error
    if broken := _first_broken(ratings):
        row, rule = broken
        number, _ = _numbered_lines(raw)[row]
        raise InputError(f"{path}:{number}", f"not a rating: {rule}")
    _warn_of_unknown(path, pl.scan_ndjson(io.BytesIO(raw), infer_schema_length=None).collect_schema().names())
    return ratings


def _is_torn(last: bytes) -> bool:
    """Whether a last line without an end is the beginning of one of ours; whatever else stands there is not ours."""
    is_ours = last.startswith(_BEGINNING) or _BEGINNING.startswith(last)
    return bool(last) and is_ours and not _is_json(last)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


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
            return InputError(f"{path}:{number}", rule, fault["input"])
    return InputError(str(path), "a value does not fit the ratings table: a number too large, or a type that varies")


def _first_broken(table: pl.DataFrame) -> tuple[int, str] | None:
    """Check the rules of the record on whole columns: the first row that breaks one, and the rule."""
    newer = pl.col("schema_version").fill_null(SCHEMA_VERSION) > SCHEMA_VERSION
    said = pl.col("verdict").is_not_null() | pl.col("value").is_not_null()
    rules = {
        f"schema_version must not be newer than {SCHEMA_VERSION}": newer,
        f"needs {', '.join(_NEVER_NULL)}": pl.any_horizontal(pl.col(_NEVER_NULL).is_null()),
        f"status must be one of {', '.join(STATUSES)}": ~pl.col("status").is_in(STATUSES),
        f"rater_kind must be one of {', '.join(RATER_KINDS)}": ~pl.col("rater_kind").is_in(RATER_KINDS),
        "only status ok carries a verdict, and it must": said != (pl.col("status") == "ok"),
        f"verdict must be one of {', '.join(VERDICTS)}": (pl.col("scale") == "verdict")
        & ~pl.col("verdict").is_in(VERDICTS),
        "confidence must lie in [0, 1]": ~pl.col("confidence").is_between(0, 1),
    }
    broken = table.select(pl.arg_where(rule.fill_null(False)).first().alias(name) for name, rule in rules.items())
    for rule, row in broken.row(0, named=True).items():
        if row is not None:
            return row, rule
    return None


def _warn_of_unknown(path: Path, fields: Iterable[str]) -> None:
    if unknown := sorted(set(fields) - SCHEMA.keys()):
        warnings.warn(f"{path}: a rating has no field {', '.join(unknown)}; left out", stacklevel=5)


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
            self._file = self.path.open("ab+")
        except OSError as error:
            self._lock.release()
            raise self._unwritable(error) from error
        return self

    def append(self, ratings: Iterable[Rating]) -> None:
        """Write the ratings of one call in a single write, so that a kill tears at most the last line."""
        try:
            if not self._is_whole:
                self._cut_torn_line()
            self._file.write(b"".join(_line(rating) for rating in ratings))
            self._file.flush()
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
        self._file.seek(0)
        raw = self._file.read()
        head, _, last = raw.rpartition(b"\n")
        if _is_torn(last):
            self._file.truncate(len(head) + 1 if head else 0)
        elif last:
            self._file.write(b"\n")
        self._is_whole = True


def _line(rating: Rating) -> bytes:
    return rating.model_dump_json().encode() + b"\n"


@dataclass(frozen=True, eq=False)
class RatingMatrix:
    """Items x raters for one question: what the statistics take.

    `codes` holds positions in `categories` as floats, NaN where a rater gave nothing; `confidences` has the same shape.
    """

    codes: NDArray[np.float64]
    confidences: NDArray[np.float64]
    categories: tuple[str, ...]
    items: tuple[str, ...]
    clusters: tuple[str, ...]
    raters: tuple[str, ...]
    families: tuple[str, ...]

    def __repr__(self) -> str:
        lost = int(np.isnan(self.codes).sum())
        return f"RatingMatrix({len(self.items)} items x {len(self.raters)} raters, {lost} missing)"


def to_matrix(
    ratings: pl.DataFrame,
    question: str,
    *,
    raters: Sequence[str] | None = None,
    repeat: int = 0,
    step_level: bool = False,
) -> RatingMatrix:
    """Spread one question's verdicts into an items x raters matrix.

    Parameters
    ----------
    ratings : polars.DataFrame
        A ratings table with one rating for each item, rater and repeat; more (two prompts, say) are refused.
    question : str
        An axis, a signal, a check.
    raters : sequence of str, optional
        Which raters, in this order; by default all, by family and name.
    repeat : int
        Which repeat.
    step_level : bool
        Ratings of steps instead of whole trajectories.
    """
    chosen = ratings.filter(
        (pl.col("question") == question)
        & (pl.col("repeat") == repeat)
        & (pl.col("step_index").is_not_null() == step_level)
    )
    if chosen.is_empty():
        raise InputError("question", "the table has no such ratings", question)
    people = chosen.select("family", "rater").unique().sort("family", "rater")
    names = list(raters) if raters is not None else people["rater"].to_list()
    chosen = chosen.filter(pl.col("rater").is_in(names))
    first = chosen.with_row_index("row").select(pl.col("row").min().over("item_id"))["row"].to_numpy()
    new = first == np.arange(len(first))  # items stand in the order in which they first occur
    items = chosen.filter(pl.Series(new)).select("item_id", "cluster_id")
    cell = (np.cumsum(new) - 1)[first] * len(names) + _positions(chosen["rater"], names)
    if (twice := np.bincount(cell) > 1).any():
        item = items["item_id"][int(twice.argmax()) // len(names)]
        cure = "filter by rubric_version, prompt_sha256 or rater_version first"
        raise InputError(f"ratings of {question}", "one rating for each item and rater", item, cure)
    categories = _categories(chosen)
    given = chosen["verdict"].is_not_null().to_numpy()
    codes = np.full(len(items) * len(names), np.nan)
    confidences = codes.copy()
    codes[cell[given]] = _positions(chosen["verdict"].drop_nulls(), categories)
    confidences[cell[given]] = chosen["confidence"].cast(pl.Float64).fill_null(np.nan).to_numpy()[given]
    shape = (len(items), len(names))
    family = dict(people.select("rater", "family").iter_rows())
    return RatingMatrix(
        codes.reshape(shape),
        confidences.reshape(shape),
        categories,
        tuple(items["item_id"].to_list()),
        tuple(items["cluster_id"].to_list()),
        tuple(names),
        tuple(family.get(name, "") for name in names),
    )


def _positions(words: pl.Series, known: Sequence[str]) -> NDArray[np.int64]:
    """Where each word stands in `known`."""
    found = words.replace_strict(list(known), list(range(len(known))), default=None, return_dtype=pl.Int64)
    if found.null_count():
        raise InputError(f"{words.name}s", f"must be one of {', '.join(known)}", words.filter(found.is_null())[0])
    return found.to_numpy()


def _categories(chosen: pl.DataFrame) -> tuple[str, ...]:
    scales = chosen["scale"].unique().to_list()
    if len(scales) != 1:
        raise InputError("ratings", "one question has one scale", sorted(scales))
    scale = scales[0]
    if scale == "verdict":
        return VERDICTS
    if scale == "step":
        return ("-1", "0", "+1")
    if scale.startswith("nominal:"):
        return tuple(scale.removeprefix("nominal:").split(","))
    if scale.startswith("ordinal:"):
        low, high = scale.removeprefix("ordinal:").split("-")
        return tuple(str(value) for value in range(int(low), int(high) + 1))
    return tuple(sorted(chosen["verdict"].drop_nulls().unique().to_list()))
