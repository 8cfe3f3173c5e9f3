"""The ledger: every lock, every opening of the held-out side and every exploratory look, in a chain of hashes.

rubrics/ledger.jsonl has one entry a line. Each carries its number, the hash of the entry before it and its own hash, so
an entry that is edited, removed or moved breaks the chain at a line that reading names. Entries cut off at the end
leave a whole chain; that is found where something else remembers them: ratings carry the number and hash of the
opening they were made under (the flag ``opening:K:HASH``), and rubrics/lock.json stands as an entry of its own. An
opening that left no rating and no commit leaves no trace.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import ValidationError

from axisjudge.checks import InputError
from axisjudge.protocol.records import ProtocolRecord, digest
from axisjudge.workbench import home, own

PLACE = "rubrics/ledger.jsonl"
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
    path = home() / PLACE
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
    from filelock import FileLock, Timeout

    if not reason.strip():
        raise InputError("reason", "must say in words why", reason)
    path = own() / PLACE
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = {
        "kind": kind,
        "reason": reason.strip().encode("utf-8", "replace").decode(),
        "lock_sha256": lock_sha256,
        "data_sha256": data_sha256,
        "lock": lock,
    }
    try:
        with FileLock(f"{path}.lock").acquire(timeout=WAIT_S):
            entry = _next(read_ledger(), fields)
            with path.open("ab") as file:
                file.write(entry.model_dump_json().encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
    except Timeout:
        raise InputError(PLACE, f"another process has held it for {WAIT_S:g} s", cure="wait for it to end") from None
    return entry


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
    where, cure = f"{PLACE}:{number}", "put the ledger back as git has it; what was opened stays opened"
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
