"""Tables of a page: great-tables for the eye, a short markdown table for the record."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from axisjudge.figures.markup import literal
from axisjudge.results import pandas_rows, rounded

#: Rows shown in the page and in report.md; the rest is counted.
PAGE_ROWS, MARKDOWN_ROWS, CELL_CHARACTERS = 200, 20, 80


def as_polars(frame: Any) -> pl.DataFrame:
    """A polars frame from a polars or pandas frame or a list of rows."""
    if isinstance(frame, pl.DataFrame):
        return frame
    rows = frame if isinstance(frame, list) else pandas_rows(frame)
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def formatted(frame: pl.DataFrame, formats: Mapping[str, str]) -> pl.DataFrame:
    """Every cell as the text that is shown, by the column's format (``.2f``, ``.0%``) or by its kind."""
    return pl.DataFrame(
        {
            name: pl.Series(name, [_shown(value, formats.get(name)) for value in column], dtype=pl.String)
            for name, column in zip(frame.columns, frame.iter_columns(), strict=True)
        }
    )


def html_table(frame: pl.DataFrame, formats: Mapping[str, str], caption: str, note: str | None) -> str:
    """The table as HTML, all text escaped."""
    from great_tables import GT

    texts = formatted(frame.head(PAGE_ROWS), formats)
    right = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    table = GT(texts, id="t" + hashlib.sha256(repr((caption, frame.columns)).encode()).hexdigest()[:8])
    table = table.cols_label({name: _label(name) for name in frame.columns}).cols_align("left")
    if right:
        table = table.cols_align("right", columns=right)
    if caption:
        table = table.tab_header(title=caption)
    for line in filter(None, (note, _rest(frame, PAGE_ROWS))):
        table = table.tab_source_note(line)
    return str(table.as_raw_html())


def markdown_table(
    frame: pl.DataFrame, formats: Mapping[str, str], caption: str, note: str | None, *, most: int = MARKDOWN_ROWS
) -> str:
    """The table as short markdown: at most `most` rows, long cells cut."""
    texts = formatted(frame.head(most), formats)
    rule = ["---:" if kind.is_numeric() else "---" for kind in frame.schema.values()]
    rows = [[_label(name) for name in frame.columns], rule, *texts.rows()]
    lines = ["| " + " | ".join(cell if row is rule else _cell(cell) for cell in row) + " |" for row in rows]
    head = [f"**{literal(caption)}**", ""] if caption else []
    foot = [f"\n*{literal(line)}*" for line in (note, _rest(frame, most)) if line]
    return "\n".join([*head, *lines, *foot])


def _cell(text: str) -> str:
    flat = " ".join(text.split())
    return literal(flat if len(flat) <= CELL_CHARACTERS else flat[: CELL_CHARACTERS - 1] + "…")


def _shown(value: Any, spec: str | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, pl.Series | list | tuple):
        return ", ".join(_shown(item, spec) for item in value) or "–"
    if spec is None:
        spec = "," if isinstance(value, int) else ".2f" if isinstance(value, float) else ""
    return format(rounded(value), spec) if isinstance(value, int | float) else str(value)


def _label(name: str) -> str:
    return name.replace("_", " ")


def _rest(frame: pl.DataFrame, shown: int) -> str | None:
    return f"{frame.height - shown:,} more rows are not shown" if frame.height > shown else None
