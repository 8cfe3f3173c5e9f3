"""What every result can do: give itself as plain values, the same whenever the result is."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
from collections.abc import Iterable, Mapping, Set
from typing import Any, ClassVar

import numpy as np
import polars as pl

from axisjudge.checks import InputError


class Result:
    """A frozen dataclass that gives itself as plain values: its fields, or what `_keys` names, and what `_also` names.

    `_keys` and `_also` hold names of fields or properties, or a mapping of key to such a name where the two differ. A
    name with dots reaches into a part (``rate.ci_low``); where the part is None, so is the value. `_flat` names parts
    whose own values stand beside these, or alone where no `_keys` are named.
    """

    _keys: ClassVar[Iterable[str]] = ()
    _also: ClassVar[Iterable[str]] = ()
    _flat: ClassVar[Iterable[str]] = ()

    def named_values(self) -> dict[str, Any]:
        """The named values as they are, NaN and parts included: a row of a table."""
        fields = (each.name for each in dataclasses.fields(self) if each.metadata.get("plain", True))  # type: ignore[arg-type]
        names = {**_named(self._keys or (() if self._flat else fields)), **_named(self._also)}
        return row(self, names)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, unrounded; NaN becomes None, so that the result is valid JSON."""
        flat = (plain(reached(self, name), name) or {} for name in self._flat)
        own = {key: plain(value, key) for key, value in self.named_values().items()}
        return {key: value for part in flat for key, value in part.items()} | own


def columns(*parts: str | Mapping[str, str]) -> dict[str, str]:
    """Columns, and where the value of each stands: ``columns("judge items=n_items low=auc.ci_low")``.

    A name alone stands for itself. One that ends in ``~`` is an estimate, and the ends of its interval follow it as
    ``name_low`` and ``name_high``; after ``~~`` as ``low`` and ``high``. Further mappings come in where they are given.
    """
    named: dict[str, str] = {}
    for part in parts:
        if isinstance(part, str):
            for column, _, path in (word.partition("=") for word in part.split()):
                name, own = column.rstrip("~"), "" if column.endswith("~~") else f"{column[:-1]}_"
                if name == column:
                    named[name] = path or name
                else:
                    ends = {name: "estimate", f"{own}low": "ci_low", f"{own}high": "ci_high"}
                    named |= {head: f"{path or name}.{end}" for head, end in ends.items()}
        else:
            named |= part
    return named


def reached(value: Any, path: str) -> Any:
    """What stands at a path of names with dots (``rate.ci_low``); None where a part of it is None."""
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


def row(value: Any, named: Mapping[str, str]) -> dict[str, Any]:
    """A row of a table: what stands in `value` at each of the paths that `columns` names."""
    return {column: reached(value, path) for column, path in named.items()}


#: Types of values that need no look; most values are of these.
_AS_THEY_ARE = frozenset({type(None), bool, int, str})


def plain(value: Any, where: str = "value") -> Any:
    """`value` in JSON's own types: NaN and infinities become None, frames become lists of rows.

    Parameters
    ----------
    value : object
        A number, text, list, dict, numpy array, polars or pandas frame, a dataclass or NamedTuple (by the names of its
        fields), a model of pydantic, or anything with ``to_dict()``.
    where : str
        Its name in error messages.

    Raises
    ------
    InputError
        A value of another type, or a dict whose keys are not text, numbers or truth values.
    """
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case enum.Enum():
            return plain(value.value, where)
        case datetime.date() | datetime.datetime():
            return value.isoformat()
        case np.ndarray() | np.generic():
            return plain(value.tolist(), where)
        case pl.DataFrame():
            return plain(value.to_dicts(), where)
        case pl.Series():
            return plain(value.to_list(), where)
        case Mapping():
            return {
                _key(key, where): item if type(item) in _AS_THEY_ARE else plain(item, f"{where}.{key}")
                for key, item in value.items()
            }
        case Set():
            return sorted((plain(item, where) for item in value), key=repr)
        case tuple() if hasattr(value, "_asdict"):  # a NamedTuple
            return plain(value._asdict(), where)
        case list() | tuple():
            return [
                item if type(item) in _AS_THEY_ARE else plain(item, f"{where}[{index}]")
                for index, item in enumerate(value)
            ]
    if _is_pandas(value):
        return plain(pandas_rows(value), where)
    if hasattr(value, "to_dict"):
        return plain(value.to_dict(), where)
    if hasattr(value, "model_dump"):  # pydantic's
        return plain(value.model_dump(mode="json"), where)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), where) for field in dataclasses.fields(value)}
    raise InputError(where, "must be a number, text, list, dict, table or result", type(value).__name__)


def pandas_rows(frame: Any) -> list[dict[str, Any]]:
    """Rows of a pandas frame or series; an index that names rows becomes columns, bare numbers of rows are left out.

    Names in several levels are joined to one.

    Raises
    ------
    InputError
        Two columns have one name, so that a row could hold one of them only.
    """
    table = frame.to_frame() if not hasattr(frame, "columns") else frame
    bare = table.index.nlevels == 1 and table.index.name is None and table.index.dtype.kind in "iu"
    table = table.reset_index(drop=bare, **({} if bare else {"allow_duplicates": True}))
    names = [" ".join(filter(None, map(str, name if isinstance(name, tuple) else [name]))) for name in table.columns]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InputError("columns", "must have different names", sorted(twice), "rename one, or drop the index")
    return [dict(zip(names, map(_of_pandas, row), strict=True)) for row in table.itertuples(index=False, name=None)]


def _of_pandas(value: Any) -> Any:
    """A cell without what only pandas knows: kinds of nothing; intervals and periods are as they are written."""
    kind = type(value).__name__
    return None if kind in ("NAType", "NaTType") else str(value) if kind in ("Interval", "Period") else value


def written(value: float, spec: str) -> str:
    """A number as `spec` has it, but -0.004 as ``0.00``: what is rounded to nought has no sign."""
    sign = spec[: spec[:1] in ("+", "-", " ")]
    return format(float(value), f"{sign}z{spec.removeprefix(sign)}")


#: Digits of a number in a file: fewer than sums in another order (another BLAS, more threads) disagree on.
DIGITS = 10


def rounded(value: Any) -> Any:
    """Plain values whose numbers have `DIGITS` significant digits; whole numbers and words stay as they are."""
    match value:
        case float():
            short = float(f"{value:.{DIGITS - 1}e}") + 0.0  # no -0.0, which is a matter of the order of a sum
            return short if math.isfinite(short) else value
        case dict():
            return {key: rounded(item) for key, item in value.items()}
        case list() | tuple():
            return [rounded(item) for item in value]
    return value


def dumps(value: Any) -> str:
    """JSON text with rounded numbers, sorted keys, one item a line, and a newline at the end: a file of results."""
    return json.dumps(rounded(value), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _named(names: Iterable[str]) -> Mapping[str, str]:
    return names if isinstance(names, Mapping) else {name: name for name in names}


def _is_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "index")


def _key(key: Any, where: str) -> str:
    if type(key) is str:
        return key
    if isinstance(key, str | bool | int | float):
        return str(key)
    raise InputError(where, "keys must be text or numbers", key, "join them to one text")
