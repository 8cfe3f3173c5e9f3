"""Plain files with clean diffs: how they are written, hashed and compared field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from axisjudge.checks import InputError
from axisjudge.workbench import whole_or_not_at_all

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
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(where, f"is not JSON ({error})", cure="put it back as git has it") from error


def _short(value: Any) -> str:
    if value == ABSENT:
        return ABSENT
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value):
        return value[:_HASH]
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
