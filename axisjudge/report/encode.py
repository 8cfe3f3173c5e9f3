"""Results as JSON that is the same whenever the results are."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import polars as pl

from axisjudge.checks import InputError


def as_json(value: Any, where: str = "value") -> Any:
    """`value` in JSON's own types: NaN and infinities become null, frames become lists of rows.

    Parameters
    ----------
    value : object
        A number, text, list, dict, numpy array, polars or pandas frame, a dataclass, or anything with ``to_dict()``.
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
            return as_json(value.value, where)
        case datetime.date() | datetime.datetime():
            return value.isoformat()
        case np.ndarray() | np.generic():
            return as_json(value.tolist(), where)
        case pl.DataFrame():
            return as_json(value.to_dicts(), where)
        case pl.Series():
            return as_json(value.to_list(), where)
        case Mapping():
            return {_key(key, where): as_json(item, f"{where}.{key}") for key, item in value.items()}
        case Set():
            return sorted((as_json(item, where) for item in value), key=repr)
        case list() | tuple():
            return [as_json(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if _is_pandas(value):
        return as_json(pandas_rows(value), where)
    if hasattr(value, "to_dict"):
        return as_json(value.to_dict(), where)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name), where) for field in dataclasses.fields(value)}
    raise InputError(where, "must be a number, text, list, dict, table or result", type(value).__name__)


def pandas_rows(frame: Any) -> list[dict[str, Any]]:
    """Rows of a pandas frame or series; an index that carries names becomes columns."""
    table = frame.to_frame() if not hasattr(frame, "columns") else frame
    if type(table.index).__name__ != "RangeIndex":
        table = table.reset_index()
    rows: list[dict[str, Any]] = table.to_dict("records")
    return rows


def dumps(value: Any) -> str:
    """JSON text with sorted keys, one item a line, and a newline at the end."""
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _is_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "index")


def _key(key: Any, where: str) -> str:
    if isinstance(key, str | bool | int | float):
        return str(key)
    raise InputError(where, "keys must be text or numbers", key, "join them to one text")
