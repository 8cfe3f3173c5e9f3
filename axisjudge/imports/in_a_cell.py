"""Tables whose cells name several raters, and beside them hold the word of each: ``ann1,ann2`` and ``0,1``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from axisjudge.imports.recognise import NAMES, last_part

_SEPARATORS = (",", ";", "|")


def raters_apart(columns: Mapping[str, list[Any]]) -> tuple[dict[str, list[Any]], list[str], dict[str, list[Any]]]:
    """The columns with a row for each rater of a cell, what is said of that, and those that are said once of them all.

    A column that is named for raters decides how many parts each row has. Other columns with as many parts in every row
    are spread with it, the rest said again in each row. Without such cells columns are given back as they are.
    """
    for name, separator in ((name, each) for name in columns for each in _SEPARATORS):
        whole, one = last_part(name), name.strip()[:-1]
        if whole[:-1] not in NAMES["rater"] or not whole.endswith("s") or one in columns:
            continue
        raters = _parts(columns[name], separator)
        if not any(len(each) > 1 for each in raters) or any(len({*each}) < len(each) for each in raters):
            continue
        spread = {
            other: parts
            for other, cells in columns.items()
            if other != name and [*map(len, parts := _parts(cells, separator))] == [*map(len, raters)]
        }
        if spread:
            rows = [number for number, each in enumerate(raters) for _ in each]
            apart = {
                other: [cell for each in spread[other] for cell in each]
                if other in spread
                else [cells[number] for number in rows]
                for other, cells in columns.items()
                if other != name
            }
            whose = {one: [cell for each in raters for cell in each]}
            said = f"{name} and {', '.join(spread)} hold several raters' parts in a cell: each is a row"
            return {**whose, **apart}, [said], {of: columns[of] for of in columns if of not in (name, *spread)}
    return dict(columns), [], {}


def _parts(cells: Sequence[Any], separator: str) -> list[list[str]]:
    return [[each.strip() for each in ("" if cell is None else str(cell)).split(separator)] for cell in cells]
