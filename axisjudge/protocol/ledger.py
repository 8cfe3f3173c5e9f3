"""The ledger: every lock, opening and exploratory look, in a chain of hashes; the trail of rubric versions; files
with clean diffs.

rubrics/ledger.jsonl has one entry a line. Each carries its number, the hash of the entry before it and its own hash, so
an entry that is edited, removed or moved breaks the chain at a line that reading names. Entries cut off at the end
leave a whole chain; that is found where something else remembers them: ratings carry the number and hash of the
opening they were made under (the flag ``opening:K:HASH``), and rubrics/lock.json stands as an entry of its own. An
opening that left no rating and no commit leaves no trace.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from axisjudge.checks import InputError, once_each
from axisjudge.rubric import Rubric, list_rubrics, load_rubric
from axisjudge.workbench import home, own, whole_or_not_at_all

# Plain files with clean diffs: how they are written, hashed and compared field by field.

ABSENT = "absent"
_SHOWN, _HASH = 24, 12


class ProtocolRecord(BaseModel):
    """Frozen record that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class ChangedField:
    """A field that is no longer what it was: its dotted path and both values."""

    path: str
    was: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.path} was {_short(self.was)}, is {_short(self.now)}"


def faults_of(error: ValidationError) -> str:
    """What is wrong with a record, field by field."""
    return "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())


def digest(value: Any) -> str:
    """Hash of a value of JSON's types, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return sha256(text.encode()).hexdigest()


def changes(was: Any, now: Any, path: str = "") -> Iterator[ChangedField]:
    """Every leaf in which two values of JSON's types differ; a key that one side lacks counts as absent there."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*was, *now]):
            inner = f"{path}.{key}" if path else str(key)
            yield from changes(was.get(key, ABSENT), now.get(key, ABSENT), inner)
    elif was != now:
        yield ChangedField(path, was, now)


def write_json(path: Path, value: Any) -> None:
    """One item a line; the file is replaced in one step, so that nobody reads half of it."""
    with whole_or_not_at_all(path) as unfinished:
        text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
        unfinished.write_text(f"{text}\n", encoding="utf-8")


def read_json(path: Path, where: str) -> Any:
    """The content of a JSON file; `where` names it in messages."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once_each)
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(where, f"is not JSON ({error})", cure="put it back as git has it") from error


def _short(value: Any) -> str:
    if value == ABSENT:
        return ABSENT
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value):
        return value[:_HASH]
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


FILE = "rubrics/ledger.jsonl"
FIRST = "0" * 64
WAIT_S = 30.0

_SHORT = 12

Kind = Literal["lock", "opening", "exploratory"]


class LedgerError(InputError):
    """The chain is broken; the message says at which line and how."""


class LedgerEntry(ProtocolRecord):
    """One line of the ledger.

    `number` counts lines from 1 and `opening` the openings so far, this one included. `lock` is the whole lock, in
    entries of that kind.
    """

    number: int
    kind: Kind
    opening: int
    reason: str
    time: str
    lock_sha256: str | None
    data_sha256: str | None
    lock: dict[str, Any] | None = None
    previous: str
    sha256: str

    @property
    def flag(self) -> str:
        """What ratings made under this opening carry."""
        return f"opening:{self.opening}:{self.sha256[:_SHORT]}"


def read_ledger() -> list[LedgerEntry]:
    """All entries, the chain checked.

    Raises
    ------
    LedgerError
        Names the first line that does not fit.
    """
    path = home() / FILE
    if not path.exists():
        return []
    entries: list[LedgerEntry] = []
    text = path.read_text(encoding="utf-8", errors="replace").removesuffix("\n")
    for number, line in enumerate(text.split("\n") if text else (), start=1):  # a reason may hold other line ends
        entries.append(_checked(line, number, entries[-1] if entries else None))
    return entries


def append(
    kind: Kind, reason: str, *, lock_sha256: str | None, data_sha256: str | None, lock: dict[str, Any] | None = None
) -> LedgerEntry:
    """Write an entry at the end: one writer at a time, on the disk before this returns.

    Raises
    ------
    LedgerError
        The chain is broken; nothing is written to it until it is mended.
    InputError
        No reason is given, or another process holds the ledger.
    """
    if not reason.strip():
        raise InputError("reason", "must say in words why", reason)
    fields = {
        "kind": kind,
        "reason": reason.strip().encode("utf-8", "replace").decode(),
        "lock_sha256": lock_sha256,
        "data_sha256": data_sha256,
        "lock": lock,
    }
    with one_writer(FILE) as path:
        entry = _next(read_ledger(), fields)
        with path.open("ab") as file:
            file.write(entry.model_dump_json().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    return entry


@contextmanager
def one_writer(file: str) -> Iterator[Path]:
    """The path of a file of the workbench, for this process alone: what it reads there is not written over."""
    from filelock import FileLock, Timeout

    path = own() / file
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{path}.lock").acquire(timeout=WAIT_S):
            yield path
    except Timeout:
        raise InputError(file, f"another process has held it for {WAIT_S:g} s", cure="wait for it to end") from None


def openings(entries: list[LedgerEntry]) -> list[LedgerEntry]:
    """The openings among the entries."""
    return [entry for entry in entries if entry.kind == "opening"]


def looks(entries: list[LedgerEntry]) -> int:
    """How often the held-out side was looked at: openings and exploratory looks."""
    return sum(entry.kind in ("opening", "exploratory") for entry in entries)


def _next(entries: list[LedgerEntry], fields: dict[str, Any]) -> LedgerEntry:
    """The entry that follows, with its number, its time and both hashes."""
    numbered = fields | {
        "number": len(entries) + 1,
        "opening": len(openings(entries)) + (fields["kind"] == "opening"),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "previous": entries[-1].sha256 if entries else FIRST,
    }
    return LedgerEntry.model_validate({**numbered, "sha256": digest(numbered)})


def _checked(line: str, number: int, before: LedgerEntry | None) -> LedgerEntry:
    where, cure = f"{FILE}:{number}", "put the ledger back as git has it; what was opened stays opened"
    try:
        entry = LedgerEntry.model_validate_json(line)
    except ValidationError as error:
        raise LedgerError(where, "the chain is broken: this is not an entry", line, cure) from error
    fields = json.loads(line)
    if fields.pop("sha256") != digest(fields):
        raise LedgerError(where, "the chain is broken: this entry was edited (its hash does not fit)", cure=cure)
    if entry.previous != (before.sha256 if before else FIRST) or entry.number != number:
        rule = (
            f"the chain is broken: an entry before this line was removed, added or moved (it was number {entry.number})"
        )
        raise LedgerError(where, rule, cure=cure)
    return entry


# What changed from one rubric version to the next: text, verdicts, and the trail of versions.

_ITEM = ("item_id", "rater", "repeat")


@dataclass(frozen=True, eq=False)
class VersionDiff:
    """Two versions of a rubric.

    `text` is the unified diff of what judges are shown. `verdicts` has a row for each item, rater and repeat that both
    versions were asked about (item_id, cluster_id, agent, rater, repeat, before, confidence_before, after,
    confidence_after); None where no ratings were given.
    """

    before: Rubric
    after: Rubric
    text: str
    verdicts: pl.DataFrame | None

    @property
    def changed(self) -> pl.DataFrame | None:
        """The rows in which the verdict changed."""
        return None if self.verdicts is None else self.verdicts.filter(pl.col("before") != pl.col("after"))


def rubric_diff(axis: str, before: str, after: str, ratings: pl.DataFrame | None = None) -> VersionDiff:
    """Text and verdicts of two versions of one axis's rubric.

    Raises
    ------
    InputError
        No such axis or version; ratings in which no rater was asked about one item with both versions.
    """
    old, new = load_rubric(axis, before), load_rubric(axis, after)
    lines = difflib.unified_diff(
        old.text.splitlines(), new.text.splitlines(), f"{axis}/{before}.md", f"{axis}/{after}.md", lineterm="", n=1
    )
    verdicts = None if ratings is None else _verdicts(ratings, old, new)
    return VersionDiff(old, new, "\n".join(lines), verdicts)


@dataclass(frozen=True)
class Milestone:
    """One version in the trail of an axis; `commit` is None where no git knows of it."""

    axis: str
    version: str
    date: str
    status: str
    commit: str | None
    changes: str
    sha256: str
    chosen_draft: str | None


def rubric_trail(axis: str) -> list[Milestone]:
    """The versions of an axis, oldest first, each with the commit that brought it in."""
    names = ("axis", "version", "status", "changes", "sha256", "chosen_draft")
    return [
        Milestone(
            **{name: getattr(rubric, name) for name in names},
            date=str(rubric.date),
            commit=_commit_of(Path("rubrics") / axis / f"{rubric.version}.md"),
        )
        for rubric in list_rubrics(axis)
    ]


def _verdicts(ratings: pl.DataFrame, old: Rubric, new: Rubric) -> pl.DataFrame:
    asked = ratings.filter((pl.col("question") == old.axis) & pl.col("verdict").is_not_null())
    sides = []
    for rubric, name in ((old, "before"), (new, "after")):
        own = asked.filter(pl.col("rubric_sha256") == rubric.sha256)
        own = own.unique(subset=list(_ITEM), keep="last", maintain_order=True)
        sides.append(own.rename({"verdict": name, "confidence": f"confidence_{name}"}))
    first, second = sides
    both = first.select(*_ITEM, "cluster_id", "agent", "before", "confidence_before").join(
        second.select(*_ITEM, "after", "confidence_after"), on=list(_ITEM)
    )
    if both.is_empty():
        rule = f"no rater was asked about one run with both {old.version} and {new.version} of {old.axis}"
        raise InputError("--ratings", rule, cure=f"judge with --rubric {old.axis}=VERSION, once for each")
    return both.sort(*_ITEM)


def _commit_of(path: Path) -> str | None:
    """The commit that brought a file in, if the workbench is a git checkout that has it."""
    words = ["git", "-C", str(home()), "log", "--diff-filter=A", "--format=%h", "--", path.as_posix()]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.split()[0] if done.returncode == 0 and done.stdout.strip() else None
