"""What differs between two results, number by number, beyond rounding."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axisjudge.checks import DuplicateKey, InputError, once_each
from axisjudge.results import DIGITS

#: Two numbers are equal if they differ by less than the last digit that is written of them can.
TOLERANCE = 2 * 10.0 ** (1 - DIGITS)
ABSENT = "absent"


@dataclass(frozen=True)
class ResultDifference:
    """One place at which two results differ; `before` or `after` is ``"absent"`` where there is nothing."""

    where: str
    before: Any
    after: Any

    @property
    def change(self) -> float | None:
        """After less before, of two numbers."""
        numbers = _is_number(self.before) and _is_number(self.after)
        return self.after - self.before if numbers else None

    def row(self) -> dict[str, Any]:
        """As a row of a table."""
        return {"where": self.where, "before": self.before, "after": self.after, "change": self.change}


def compare_results(before: str | Path, after: str | Path) -> list[ResultDifference]:
    """The differences between two results.json, or the folders of reports or bundles that hold them.

    Rows of tables are matched by what names them (a judge, a question), so that a row that came in is one difference.

    Raises
    ------
    InputError
        A path holds no results.
    """
    return list(differences(read_results(before), read_results(after)))


def are_related(before: str | Path, after: str | Path, changes: Sequence[ResultDifference]) -> bool:
    """Whether two results are of one thing: not where most places of the smaller one are missing in the other."""
    lone = [
        sum(_leaves(getattr(each, here)) for each in changes if getattr(each, there) == ABSENT)
        for here, there in (("before", "after"), ("after", "before"))
    ]
    leaves = [_leaves(read_results(path)) for path in (before, after)]
    return all(2 * missing <= max(1, n) for missing, n in zip(lone, leaves, strict=True)) or not any(lone)


def _leaves(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_leaves, value.values() if isinstance(value, dict) else value))
    return 1


def read_results(path: str | Path) -> Any:
    """The content of results.json, named itself or by its folder.

    Raises
    ------
    InputError
        There is none, or it is not JSON.
    """
    file = Path(path) / "results.json" if Path(path).is_dir() else Path(path)
    try:
        return json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=once_each)
    except FileNotFoundError:
        raise InputError(
            str(path), "holds no results.json", cure="name a report's folder or its results.json"
        ) from None
    except DuplicateKey as error:
        raise InputError(str(file), "must be JSON", f"{error.doc!r} stands twice in one object") from None
    except (OSError, ValueError) as error:
        raise InputError(str(file), "must be JSON", str(error)) from None


def differences(before: Any, after: Any, where: str = "", *, ordered: bool = False) -> Iterator[ResultDifference]:
    """Where two plain values differ, in order; `ordered` matches the items of lists by their places, not by names."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            inner = f"{where}.{key}" if where else str(key)
            yield from differences(before.get(key, ABSENT), after.get(key, ABSENT), inner, ordered=ordered)
    elif isinstance(before, list) and isinstance(after, list):
        first, second = (_by_place if ordered else _by_name)(before, after)
        for key in [*first, *(key for key in second if key not in first)]:
            yield from differences(first.get(key, ABSENT), second.get(key, ABSENT), f"{where}[{key}]", ordered=ordered)
    elif not _equal(before, after):
        yield ResultDifference(where, before, after)


def _by_name(before: list[Any], after: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The items of two lists by what names each in both; by their places where that fails."""
    for name in (_name, _full_name):
        named = [{name(item): item for item in items} for items in (before, after)]
        if all(len(by_name) == len(items) for by_name, items in zip(named, (before, after), strict=True)):
            return named[0], named[1]
    return _by_place(before, after)


def _by_place(before: list[Any], after: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {str(at): item for at, item in enumerate(before)}, {str(at): item for at, item in enumerate(after)}


def _name(item: Any) -> str:
    """What names a row: its texts; a text names itself."""
    if isinstance(item, dict):
        return _full_name({key: value for key, value in item.items() if not isinstance(value, list)})
    return item if isinstance(item, str) else ""


def _full_name(item: Any) -> str:
    """The same with the texts in its lists."""
    if not isinstance(item, dict):
        return _name(item)
    texts = (text for value in item.values() for text in (value if isinstance(value, list) else [value]))
    return ", ".join(text for text in texts if isinstance(text, str) and len(text) <= 80)


def _equal(before: Any, after: Any) -> bool:
    if _is_number(before) and _is_number(after):
        return math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=0.0)
    return type(before) is type(after) and bool(before == after)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
