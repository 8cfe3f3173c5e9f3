"""Several things in one place: a cell that names raters beside one of their words, or holds a record; maps, lists."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from axisjudge.imports.recognise import CLUSTERS, LEAST_OWN_IDS, NAMES, last_part, named_column, texts

_SEPARATORS = (",", ";", "|")
Cells = list[Any] | pl.Series


def raters_apart(columns: Mapping[str, Cells]) -> tuple[dict[str, Cells], list[str], dict[str, Cells]]:
    """The columns with a row for each rater of a cell, what is said of that, and those that are said once of them all.

    A column that is named for raters decides how many parts each row has. Other columns with as many parts in every row
    are spread with it, the rest said again in each row. Without such cells columns are given back as they are.
    """
    for name in columns:
        whole, one = last_part(name), name.strip()[:-1]
        if whole[:-1] not in NAMES["rater"] or not whole.endswith("s") or one in columns:
            continue
        cells = texts(columns).fill_null("")
        for separator in _SEPARATORS:
            parts = cells.select(pl.all().str.split(separator))
            raters = parts[name].list.eval(pl.element().str.strip_chars())
            sizes = raters.list.len()
            spread = [other for other in parts.columns if other != name and (parts[other].list.len() == sizes).all()]
            if sizes.max() == 1 or (raters.list.n_unique() < sizes).any() or not spread:
                continue
            rows = pl.int_range(len(sizes), eager=True).repeat_by(sizes).explode()
            apart: dict[str, Cells] = {
                other: parts[other].explode().str.strip_chars()
                if other in spread
                else (each[rows] if isinstance(each := columns[other], pl.Series) else [each[n] for n in rows])
                for other in columns
                if other != name
            }
            note = f"{name} and {', '.join(spread)} hold several raters' parts in a cell: each is a row"
            whose = {one: raters.explode()}
            return {**whose, **apart}, [note], {of: columns[of] for of in columns if of not in (name, *spread)}
    return dict(columns), [], {}


def records_in(cells: Cells) -> tuple[list[list[Any] | None], int]:
    """A list of the one record that each text is, and how many filled cells are none; nothing where many are none.

    A record is written as JSON or as Python writes it, and ends the text, as a model's reply does, in fences or not.
    """
    filled = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    if not any("{" in cell for cell in filled[:20]):
        return [], 0
    records = [[record] if (record := _record(cell)) else None for cell in cells]
    n_none = len(filled) - sum(map(bool, records))
    return (records, n_none) if n_none <= (1 - LEAST_OWN_IDS) * len(filled) else ([], 0)


def _record(cell: Any) -> dict[str, Any] | None:
    text = cell.strip("` \r\n") if isinstance(cell, str) else ""
    text = text[max(text.find("{"), 0) :]
    for read in (json.loads, ast.literal_eval) if text[:1] + text[-1:] == "{}" else ():
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            if isinstance(record := read(text), dict):
                return record
    return None


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


def rows_in_lists(content: Any) -> list[dict[str, Any]]:
    """Rows that are lists, their headings the first one or a list beside them (pandas' ``split``, W&B); else none."""
    lists = [content] if isinstance(content, list) else list(content.values()) if isinstance(content, Mapping) else []
    of_lists = (each for each in lists if isinstance(each, list) and each)
    rows = next((each for each in of_lists if all(isinstance(row, list) for row in each)), [])
    if not rows:
        return []
    others = [each for each in lists if each is not rows and isinstance(each, list)]
    beside = [each for each in others if len(each) == len(rows[0])]
    if not beside and any(len(each) == len(rows) for each in others):  # a column of pairs among other columns
        return []
    heads, rows = (beside[0], rows) if beside else (rows[0], rows[1:])
    names: list[Any] = [each.get("name") if isinstance(each, Mapping) else each for each in heads]
    named = len(names) > 1 and all(isinstance(each, str) for each in names) and len({*names}) == len(names)
    fit = named and all(len(row) == len(names) for row in rows)
    return [dict(zip(names, row, strict=True)) for row in rows] if fit else []


#: Rows of one id are parts of one item only where so many ids or more have several rows.
_FEWEST_PARTS = 5
#: More or longer words do not choose between two answers.
_MOST_CHOICES, _LONGEST_CHOICE = 8, 20


def rows_of_items(columns: Mapping[str, Cells]) -> tuple[Mapping[str, Cells], list[str]]:
    """The columns with one row an id where rows of one id are parts of it, and pairs of one id in one order; and which.

    Parts fill each other's empty cells and never say two things. A pair that stands in the other order in another row
    of its id is turned there, with all that is of its sides and with the words that choose between them.
    """
    if not (item := named_column(columns, (*NAMES["trajectory_id"], *CLUSTERS))):
        return columns, []
    cells = texts(columns)
    by_item = cells.group_by(item, maintain_order=True)
    repeated = int((by_item.len()["len"] > 1).sum())
    if repeated < _FEWEST_PARTS or cells[item].null_count():
        return columns, []
    if by_item.agg(pl.all().drop_nulls().n_unique()).drop(item).max_horizontal().max() == 1:
        whole = by_item.agg(pl.all().drop_nulls().first())
        if bool(by_item.agg(pl.all().is_null().n_unique()).drop(item).max_horizontal().max() == 1):
            return columns, []  # copies, and no parts
        note = f"{item}: {cells.height:,} rows are parts of {whole.height:,} items, each read as one"
        return whole.select(cells.columns).to_dict(), [note]
    return _in_one_order(columns, cells, item)


def _in_one_order(
    columns: Mapping[str, Cells], cells: pl.DataFrame, item: str
) -> tuple[Mapping[str, Cells], list[str]]:
    pairs = [(name, f"{name[:-1]}b") for name in columns if re.search(r"[\W_]a$", name) and f"{name[:-1]}b" in columns]
    of_sides = {name for pair in pairs for name in pair}
    verdicts = [name for name in columns if name not in of_sides and _chooses(cells[name])]
    made = [(one, other) for one, other in pairs if last_part(one) in ("model_a", "system_a", "agent_a")]
    if len(made) != 1 or not verdicts:
        return columns, []
    first: dict[tuple[str, ...], list[str]] = {}
    rows = cells.select(item, *made[0]).rows()
    orders = [(pair, first.setdefault((of, *sorted(map(str, pair))), pair)) for of, *pair in rows]
    turned = [at for at, (pair, order) in enumerate(orders) if pair != order]
    if not turned:
        return columns, []
    new = {name: list(columns[name]) for name in (*of_sides, *verdicts)}
    for at in turned:
        for one, other in pairs:
            new[one][at], new[other][at] = new[other][at], new[one][at]
        for name in verdicts:
            new[name][at] = _SIDE.sub(lambda side: "AaBb"["BbAa".index(side[0])], str(new[name][at] or "")) or None
    note = f"{len(turned):,} rows name a pair of another row of its {item} the other way round; they are turned"
    return {**columns, **new}, [f"{name}: {note}" for name in verdicts]


#: The letter of one of two answers in a word that chooses between them: ``model_a``, ``A>B``, ``[[B]]``.
_SIDE = re.compile(r"(?<![^\W_])[ABab](?![^\W_])")


def _chooses(cells: pl.Series) -> bool:
    words = cells.drop_nulls().unique().str.to_lowercase().to_list()
    sides = {side for each in words for side in _SIDE.findall(each)}
    return sides == {"a", "b"} and len(words) <= _MOST_CHOICES and max(map(len, words)) < _LONGEST_CHOICE
