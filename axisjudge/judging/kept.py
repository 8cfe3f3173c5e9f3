"""The ratings that a run finds in its file and adds to it: read once. And the prompts that it sent."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from axisjudge.checks import InputError
from axisjudge.judges.answer import Reply
from axisjudge.judging.budget import Budget, CallCosts
from axisjudge.judging.cost import calls_of
from axisjudge.judging.plan import Call, Done
from axisjudge.verdict import IDENTITY, Rating

if TYPE_CHECKING:
    import polars as pl

_Seen = tuple[int, int, int]

#: Ratings that are kept as records before they are packed.
_BATCH = 1_000


class KeptRatings:
    """The ratings of one file: read when they are first wanted, and again only where somebody else has written since.

    What the run itself writes is added to what was read (`add`, `wrote_all`), so that nothing is read back. Without a
    file the ratings live in memory alone.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self._seen: _Seen | None = None
        self._read: pl.DataFrame | None = None
        self._written: list[bytes] = []
        self._last: list[Rating] = []

    @property
    def is_current(self) -> bool:
        """Whether the file is as it was when it was read, or written by this run."""
        return self._read is not None and self._seen == self._as_it_is()

    def table(self) -> pl.DataFrame:
        """All ratings, of one identity the last one, in one order (`axisjudge.ratings.in_order`)."""
        import polars as pl

        from axisjudge.ratings import in_order, ratings_frame, read_ratings

        if self._read is None or not self.is_current:
            self._written, self._last = [], []
            self._seen = self._as_it_is()
            self._read = ratings_frame([]) if self.path is None or self._seen is None else read_ratings(self.path)
        if self._written or self._last:
            written = [pl.read_ipc(io.BytesIO(packed)) for packed in self._written]
            every = pl.concat([self._read, *written, ratings_frame(self._last)])
            self._read = in_order(every.unique(subset=list(IDENTITY), keep="last", maintain_order=True))
            self._written, self._last = [], []
        return self._read

    def budget(self, limit_usd: float) -> Budget:
        """A budget of the study: what every line of the file has cost is spent, and its calls have told."""
        import polars as pl

        from axisjudge.ratings import read_every_line

        if self.path is None or self._as_it_is() is None:
            return Budget(limit_usd)
        calls = calls_of(read_every_line(self.path)).filter(pl.col("usd") > 0)
        told = {
            rater: CallCosts(calls=n_calls, largest_usd=largest)
            for rater, n_calls, largest in calls.group_by("rater").agg(n=pl.len(), most=pl.col("usd").max()).iter_rows()
        }
        return Budget(limit_usd, float(calls["usd"].sum()), told)

    def done(self) -> Done:
        """Status of every rating by identity."""
        return done_of(self.table())

    def add(self, ratings: Sequence[Rating]) -> None:
        """Ratings that were just written."""
        from axisjudge.ratings import ratings_frame

        self._last.extend(ratings)
        if len(self._last) >= _BATCH:  # small tables take twenty times as much
            packed = io.BytesIO()
            ratings_frame(self._last).write_ipc(packed, compression="zstd")
            self._written.append(packed.getvalue())
            self._last = []

    def wrote_all(self) -> None:
        """The file is as this run left it; to be called before another process may write."""
        self._seen = self._as_it_is()

    def _as_it_is(self) -> _Seen | None:
        """What tells one state of the file from another; None for one that holds nothing."""
        if self.path is None:
            return None
        try:
            now = self.path.stat()
        except FileNotFoundError:
            return None
        return (now.st_ino, now.st_size, now.st_mtime_ns) if now.st_size else None


class KeptPrompts:
    """The whole prompt of each call beside its hash, each once: one JSON line with who was asked and what was sent.

    A torn last line (the writer was killed) is cut off, and its prompt written again when it is sent again.

    Parameters
    ----------
    path : path
        JSON Lines; what is there stays.

    Raises
    ------
    InputError
        The file cannot be written, or holds other things.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole, _, torn = self.path.read_bytes().rpartition(b"\n") if self.path.exists() else (b"", b"", b"")
            self._there = {json.loads(line)["prompt_sha256"] for line in whole.splitlines()}
            self._file = self.path.open("ab")
            if torn:
                self._file.truncate(self.path.stat().st_size - len(torn))
        except OSError as error:
            raise InputError(str(self.path), f"cannot be written ({error.strerror or error})") from error
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(str(self.path), "holds no prompts", cure="name another file to keep them in") from error

    def keep(self, call: Call) -> None:
        """Write the prompt of a call, unless it is there or nothing was sent."""
        judge = call.judge
        if call.prompt_sha256 in self._there or judge.kind not in ("llm", "decision_model"):
            return
        if call.inquiry.by_definition() is not None or isinstance(sent := call.inquiry.request(judge), Reply):
            return
        line = {"prompt_sha256": call.prompt_sha256, "rater": judge.rater, "mechanism": judge.mechanism, "sent": sent}
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        self._there.add(call.prompt_sha256)

    def close(self) -> None:
        self._file.close()


def done_of(table: pl.DataFrame) -> Done:
    """Status of every rating of a table, by identity."""
    columns = table.select(*IDENTITY, "status")
    return {row[:-1]: row[-1] for row in columns.iter_rows()}
