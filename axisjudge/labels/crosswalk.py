"""Other people's categories of failure on the five axes: tables under data/reference, read by name."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import cast, get_args

from axisjudge.checks import InputError, one_of
from axisjudge.verdict import Axis
from axisjudge.workbench import find

#: The taxonomies of which there is a table.
TAXONOMIES = ("agentrx", "mast", "who_and_when")
#: A category that leaves its axis open, and one that maps to no axis.
BY_REASON, NONE = "by reason", "none"
#: The question under which a fault stands whose step is known and whose axis is not.
ANY_STEP = "any step"


@lru_cache(maxsize=len(TAXONOMIES))
def read_crosswalk(taxonomy: str) -> Mapping[str, Axis | str]:
    """Category -> axis, ``by reason`` or ``none``.

    Examples
    --------
    >>> read_crosswalk("agentrx")["Invalid Invocation"], read_crosswalk("mast")["FM-2.1 Conversation reset"]
    ('argument_validity', 'none')
    """
    path = find(f"data/reference/crosswalk_{one_of('taxonomy', taxonomy, TAXONOMIES)}.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = {row["label"]: row["axis"] for row in csv.DictReader(lines)}
    for label, axis in rows.items():
        if axis not in (*get_args(Axis), BY_REASON, NONE):
            raise InputError(f"{path.name}: {label}", f"must map to an axis, {BY_REASON} or {NONE}", axis)
    return MappingProxyType(cast("dict[str, Axis | str]", rows))


def category_key(category: str) -> str:
    """A category's words, as two spellings of it share them: lower case, one space, no hyphen or slash."""
    return " ".join(category.replace("-", " ").replace("/", " ").lower().split())
