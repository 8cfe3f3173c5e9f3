"""Several raters in one place: a cell that names them beside one of their words, and records that lie in maps."""

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


def out_of_maps(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose maps of rated records (``{"0": {"bart": {"reviews": [...]}}}``) are lists of these and their keys.

    A rated record holds a list of records that name raters.
    """
    return {name: cell if (rows := _rated(cell)) is None else rows for name, cell in record.items()}


def _rated(cell: Any) -> list[dict[str, Any]] | None:
    if not isinstance(cell, Mapping) or not cell or not all(isinstance(each, Mapping) for each in cell.values()):
        return None
    rows: list[dict[str, Any]] = []
    for key, value in cell.items():
        inner = [{**value}] if any(map(_name_raters, value.values())) else _rated(value)
        if inner is None:
            return None
        rows += [{**row, "record_id": f"{key}/{row['record_id']}" if "record_id" in row else key} for row in inner]
    return rows


def _name_raters(cell: Any) -> bool:
    records = cell if isinstance(cell, list) else []
    return bool(records) and all(
        isinstance(each, Mapping) and any(last_part(name) in NAMES["rater"] for name in each) for each in records
    )
