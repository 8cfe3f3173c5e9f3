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

from axisjudge.checks import InputError
from axisjudge.verdict import IDENTITY, SCHEMA_VERSION, STATUSES, VERDICTS, Rating

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

    Of several lines of one identity the last one wins. A torn last line (the writer was killed while it wrote) is
    left out with a warning.

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
    if path.suffix == ".parquet":
        table = pl.read_parquet(path)
        if missing := [name for name in SCHEMA if name not in table.columns]:
            raise InputError(str(path), "ratings need all columns of the record", cure=f"add {', '.join(missing)}")
        table = table.select([pl.col(name).cast(kind) for name, kind in SCHEMA.items()])
    else:
        table = _read_jsonl(path)
    _validate(table, path)
    return table


def _read_jsonl(path: Path) -> pl.DataFrame:
    raw = path.read_bytes()
    if raw and not raw.endswith(b"\n"):
        head, _, last = raw.rpartition(b"\n")
        if not _is_json(last):
            raw = head
            warnings.warn(
                f"{path}: the last line is torn (a writer was killed) and left out; judging again mends it",
                stacklevel=4,
            )
    if not raw.strip():
        return pl.DataFrame(schema=SCHEMA)
    try:
        return pl.read_ndjson(io.BytesIO(raw), schema=SCHEMA)
    except pl.exceptions.PolarsError as error:
        raise _bad_line(path, raw) from error


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _bad_line(path: Path, raw: bytes) -> InputError:
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            Rating.model_validate_json(line)
        except ValueError as error:
            return InputError(f"{path}:{number}", f"not a rating: {' '.join(str(error).split())}")
    return InputError(str(path), "not a ratings file")


def _validate(table: pl.DataFrame, path: Path) -> None:
    """Check the rules of the record on whole columns; the first line that breaks one is named."""
    newer = pl.col("schema_version").fill_null(SCHEMA_VERSION) > SCHEMA_VERSION
    said = pl.col("verdict").is_not_null() | pl.col("value").is_not_null()
    rules = {
        f"schema_version must not be newer than {SCHEMA_VERSION}": newer,
        f"needs {', '.join(_NEVER_NULL)}": pl.any_horizontal(pl.col(_NEVER_NULL).is_null()),
        f"status must be one of {', '.join(STATUSES)}": ~pl.col("status").is_in(STATUSES),
        "only status ok carries a verdict, and it must": said != (pl.col("status") == "ok"),
        f"verdict must be one of {', '.join(VERDICTS)}": (pl.col("scale") == "verdict")
        & ~pl.col("verdict").is_in(VERDICTS),
        "confidence must lie in [0, 1]": ~pl.col("confidence").is_between(0, 1),
    }
    broken = table.select(pl.arg_where(rule.fill_null(False)).first().alias(name) for name, rule in rules.items())
    for rule, row in broken.row(0, named=True).items():
        if row is not None:
            raise InputError(f"{path}:{row + 1}", f"not a rating: {rule}")


class RatingsWriter:
    """Appends ratings to a JSONL file, one writer at a time.

    A second process that opens the same file waits up to `wait` seconds and is then told who is in the way.
    A torn last line left by a killed writer is cut off first, so that no line is ever joined to it.
    """

    def __init__(self, path: str | Path, *, wait: float = 10.0) -> None:
        self.path, self.wait = Path(path), wait
        self._lock: FileLock | None = None

    def __enter__(self) -> Self:
        from filelock import FileLock, Timeout

        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(f"{self.path}.lock")
        try:
            self._lock.acquire(timeout=self.wait)
        except Timeout:
            raise InputError(
                str(self.path),
                f"another process has been writing here for {self.wait:g} s",
                cure="wait for it to end, or choose another --out",
            ) from None
        self._file = self.path.open("ab+")
        self._cut_torn_line()
        return self

    def append(self, ratings: Iterable[Rating]) -> None:
        """Write the ratings of one call in a single write, so that a kill tears at most the last line."""
        self._file.write(b"".join(_line(rating) for rating in ratings))
        self._file.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if self._lock is not None:
            self._lock.release()

    def _cut_torn_line(self) -> None:
        end = self._file.seek(0, io.SEEK_END)
        if end == 0:
            return
        self._file.seek(0)
        raw = self._file.read()
        if raw.endswith(b"\n"):
            return
        head, _, last = raw.rpartition(b"\n")
        if _is_json(last):
            self._file.write(b"\n")
        else:
            self._file.truncate(len(head) + 1 if head else 0)


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
    if not (twice := chosen.filter(pl.struct("item_id", "rater").is_duplicated())).is_empty():
        cure = "filter by rubric_version, prompt_sha256 or rater_version first"
        raise InputError(
            f"ratings of {question}", "one rating for each item and rater", twice.row(0, named=True)["item_id"], cure
        )
    items = chosen.select("item_id", "cluster_id").unique(subset="item_id", maintain_order=True)
    categories = _categories(chosen)
    row = {item: index for index, item in enumerate(items["item_id"])}
    column = {name: index for index, name in enumerate(names)}
    code = {word: float(index) for index, word in enumerate(categories)}
    codes = np.full((len(row), len(names)), np.nan)
    confidences = codes.copy()
    for item, rater, verdict, confidence in chosen.select("item_id", "rater", "verdict", "confidence").iter_rows():
        if verdict is not None:
            codes[row[item], column[rater]] = code[verdict]
            confidences[row[item], column[rater]] = np.nan if confidence is None else confidence
    family = dict(people.select("rater", "family").iter_rows())
    return RatingMatrix(
        codes,
        confidences,
        categories,
        tuple(row),
        tuple(items["cluster_id"]),
        tuple(names),
        tuple(family.get(name, "") for name in names),
    )


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
