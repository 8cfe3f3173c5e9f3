"""JSON as label files must be: a key that stands twice would lose a label without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError


def read_strict_json(path: Path) -> Any:
    """What a JSON file holds.

    Raises
    ------
    InputError
        The file cannot be read, is not JSON, or an object has one key twice.
    """
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=lambda pairs: _object(path, pairs))
    except InputError:
        raise
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise InputError(str(path), f"is not valid JSON ({error})") from error


def _object(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(str(path), "a key stands twice in one object, so one label would be lost", twice)
    return found
