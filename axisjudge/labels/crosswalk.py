"""Other people's categories of failure on the five axes: tables under data/reference, read by name."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import get_args

from axisjudge.checks import InputError, one_of
from axisjudge.verdict import Axis
from axisjudge.workbench import find

#: The taxonomies of which there is a table.
TAXONOMIES = ("agentrx", "mast", "who_and_when")
#: A category that leaves its axis open, and one that maps to no axis.
BY_REASON, NONE = "by reason", "none"
#: The question under which a fault stands whose step is known and whose axis is not.
ANY_STEP = "any step"
_SIGNS = re.compile("['\u2019]")


@lru_cache(maxsize=len(TAXONOMIES))
def read_crosswalk(taxonomy: str) -> Mapping[str, Axis | str]:
    """Category -> axis, ``by reason`` or ``none``.

    Examples
    --------
    >>> read_crosswalk("agentrx")["Invalid Invocation"], read_crosswalk("mast")["FM-2.1 Conversation reset"]
    ('argument_validity', 'none')
    """
    axes = {row["label"]: row["axis"] for row in _rows(taxonomy)}
    for label, axis in axes.items():
        if axis not in (*get_args(Axis), BY_REASON, NONE):
            where = f"crosswalk_{taxonomy}.csv: {label}"
            raise InputError(where, f"must map to an axis, {BY_REASON} or {NONE}", axis)
    return MappingProxyType(axes)


@lru_cache(maxsize=len(TAXONOMIES))
def numbered_modes(taxonomy: str) -> Mapping[str, str]:
    """Key -> category: by its words (`category_key`), by those that it had in earlier rounds, and by its number.

    Examples
    --------
    >>> modes = numbered_modes("mast")
    >>> modes["derailment from task"], modes["2.3"]
    ('FM-2.3 Task derailment', 'FM-2.3 Task derailment')
    """
    keys: dict[str, str] = {}
    for row in _rows(taxonomy):
        number, _, words = row["label"].removeprefix("FM-").partition(" ")
        earlier = filter(None, (row.get("earlier") or "").split(";"))
        keys |= dict.fromkeys((number, *map(category_key, (words, *earlier))), row["label"])
    return MappingProxyType(keys)


def category_key(category: str) -> str:
    """A category's words, as two spellings of it share them: lower case, one space, no hyphen, slash or apostrophe."""
    return " ".join(_SIGNS.sub("", category.replace("-", " ").replace("/", " ")).lower().split())


def _rows(taxonomy: str) -> list[dict[str, str]]:
    path = find(f"data/reference/crosswalk_{one_of('taxonomy', taxonomy, TAXONOMIES)}.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
