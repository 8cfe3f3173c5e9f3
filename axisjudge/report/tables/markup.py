"""Tables of a page: HTML that follows the light it is shown in, and a short markdown table for the record."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from axisjudge.figures.markup import literal
from axisjudge.report.links import NO_LINKS, Links
from axisjudge.results import pandas_rows, rounded
from axisjudge.stats.estimate import many

#: Rows shown in report.md; the rest is counted, and stands in the table's CSV.
ROWS, CELL_CHARACTERS = 25, 160
#: Rows from which on a table of a page is sorted and searched, and the most that a page holds. Of longer tables it
#: shows the first `ROWS`, which to sort would mislead.
SORTED, HELD = 10, 500
#: Longest texts of a column from which on it is given room for words, and for sentences.
WORDS, SENTENCES = 12, 60
#: Columns that fit a page; in wider tables what all rows share is said once.
FEW = 8
MISSING = "–"
#: A number with its unit, its interval or what it is a share of behind it: 1,209, 26%, 0.71 (0.51 to 0.87), 3 of 20.
_BEGINS = re.compile(r"(-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?=%|\s|$)")
#: For notebooks, whose colours it takes; a report has its own sheet and takes this one out.
_SHEET = """<style>.axisjudge-table { border-collapse: collapse; font-variant-numeric: tabular-nums; background: none;
color: var(--jp-content-font-color1, inherit); border-top: 2px solid; border-bottom: 2px solid; font-size: .92em }
.axisjudge-table caption { text-align: left; font-weight: 600; padding: .3em 0; color: inherit }
.axisjudge-table th, .axisjudge-table td { text-align: left !important; vertical-align: top; padding: .25em .7em;
white-space: normal; max-width: none }
.axisjudge-table thead th { vertical-align: bottom; border-bottom: 1px solid }
.axisjudge-table .number { text-align: right !important; white-space: nowrap }
.axisjudge-table .words { min-width: 12ch } .axisjudge-table .sentences { min-width: 32ch }
.axisjudge-table tfoot td { font-style: italic; border-top: 1px solid }
.axisjudge-region { overflow: auto } .axisjudge-region:has(.tall) { max-height: 46rem }</style>"""


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


def html_table(
    frame: pl.DataFrame,
    formats: Mapping[str, str],
    caption: str,
    note: str | None,
    *,
    links: Links = NO_LINKS,
    behind: Mapping[str, str] | Sequence[Mapping[str, str]] = (),
    whole: str | None = None,
) -> str:
    """The table as HTML, all text escaped; names that `links` knows lead into the explorer, as `behind` adds.

    At most `HELD` rows, of a longer table the first `ROWS`; `whole` is the file that holds all of them. `laid_out` says
    which columns become one. A table that `sorting` sorts is of the class ``sortable``.
    """
    most = HELD if frame.height <= HELD else ROWS
    texts, numbers, same = laid_out(frame, formats, most)
    ranks = _ranks(texts) if is_sortable(frame) else [{}] * texts.height
    kinds = {name: "number" if name in numbers else _kind(texts[name]) for name in texts.columns}
    head = "".join(f'<th scope="col" class="{kind}">{html.escape(label_of(name))}</th>' for name, kind in kinds.items())
    rows = frame.head(most)
    filters = [behind] * rows.height if isinstance(behind, Mapping) else [*behind, *[{}] * rows.height][: rows.height]
    body = "".join(
        f"<tr>{_cells(shown, kinds, links.of_row(row, more), rank)}</tr>"
        for shown, row, more, rank in zip(
            texts.iter_rows(named=True), rows.iter_rows(named=True), filters, ranks, strict=True
        )
    )
    notes = [html.escape(line) for line in (same, note, _rest(frame, most, whole)) if line]
    foot = "".join(f'<tr><td colspan="{max(1, texts.width)}">{line}</td></tr>' for line in notes)
    kind = f"axisjudge-table{' sortable' * is_sortable(frame)}{' tall' * (texts.height > ROWS)}"
    named = f"<caption><span>{html.escape(caption)}</span></caption>" if caption else ""
    return (
        f'{_SHEET}<table class="{kind}">{named}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{f'<tfoot>{foot}</tfoot>' if foot else ''}</table>"
    )


def is_sortable(frame: pl.DataFrame) -> bool:
    """Whether sorting helps: a table that is seen whole at a glance needs none, and of a cut one it would mislead."""
    return SORTED <= frame.height <= HELD


def laid_out(
    frame: pl.DataFrame, formats: Mapping[str, str], most: int, *, few: int = FEW
) -> tuple[pl.DataFrame, set[str], str]:
    """The texts of a table's first `most` rows, the names of columns of numbers, and what all rows share.

    The ends of an interval stand behind their value, ``0.71 (0.51 to 0.87)``. In a table of more than `few` columns
    those that say the same in every row become one line. The CSV has every column.
    """
    texts = formatted(frame, formats)
    numbers = {name for name, kind in frame.schema.items() if kind.is_numeric()}
    for before, low, high in zip(frame.columns, frame.columns[1:], frame.columns[2:], strict=False):
        base = low.removesuffix("low")
        ends = low.endswith("low") and high == f"{base}high" and low in numbers
        if ends and before.startswith(base.rstrip("_")) and frame.schema[before].is_float():
            rows = zip(texts[before], texts[low], texts[high], strict=True)
            both = [f"{value} ({least} to {largest})" if least != MISSING else value for value, least, largest in rows]
            texts = texts.with_columns(pl.Series(before, both, dtype=pl.String)).drop(low, high)
    same = [name for name in texts.columns[1:] if frame.height > 1 and texts[name].n_unique() == 1]
    if texts.width <= few or not same:
        return texts.head(most), numbers, ""
    shared = "; ".join(f"{label_of(name)} = {text}" for name in same if (text := texts[name][0]) not in ("", MISSING))
    return texts.drop(same).head(most), numbers, shared and f"The same in all rows: {shared}"


def _kind(texts: pl.Series) -> str:
    """Texts get the room that the longest of them needs; numbers stand to the right and never break."""
    longest = max((len(text) for text in texts), default=0)
    return "sentences" if longest > SENTENCES else "words" if longest > WORDS else "word"


def _cells(
    shown: Mapping[str, str], kinds: Mapping[str, str], links: Mapping[str, str], ranks: Mapping[str, str]
) -> str:
    cells = []
    for name, text in shown.items():
        inner = html.escape(text)
        inner = f'<a href="{html.escape(links[name])}">{inner}</a>' if text and name in links else inner
        rank = f' data-order="{ranks[name]}"' if name in ranks else ""
        cells.append(f'<td class="{kinds[name]}"{rank}>{inner}</td>')
    return "".join(cells)


def _ranks(texts: pl.DataFrame) -> list[dict[str, str]]:
    """Of each row the numbers that it is sorted by: those that all texts of a column begin with, if they do."""
    columns = {}
    for name in texts.columns:
        begun = {text: _BEGINS.match(text) for text in texts[name] if text not in ("", MISSING)}
        if begun and all(begun.values()):
            numbers = {text: match[1].replace(",", "") for text, match in begun.items() if match}
            columns[name] = [numbers.get(text, "") for text in texts[name]]
    return [{name: column[at] for name, column in columns.items()} for at in range(texts.height)]


def markdown_table(
    frame: pl.DataFrame,
    formats: Mapping[str, str],
    caption: str,
    note: str | None,
    *,
    most: int = ROWS,
    columns: int | None = None,
    whole: str | None = None,
) -> str:
    """The table as short markdown: at most `most` rows and `columns` columns, long cells cut; `whole` has all."""
    texts, numbers, same = laid_out(frame, formats, most)
    left = 0 if columns is None else texts.width - columns
    texts = texts.select(texts.columns[:columns])
    rule = ["---:" if name in numbers else "---" for name in texts.columns]
    rows = [[label_of(name) for name in texts.columns], rule, *texts.rows()]
    lines = ["| " + " | ".join(cell if row is rule else _cell(cell) for cell in row) + " |" for row in rows]
    head = [f"**{literal(caption)}**", ""] if caption else []
    more = f"{many(left, 'more column')} in {whole}" if left > 0 else None
    foot = [f"\n*{literal(line)}*" for line in (same, note, more, _rest(frame, most, whole)) if line]
    return "\n".join([*head, *lines, *foot])


def _cell(text: str) -> str:
    flat = " ".join(text.split())
    return literal(flat if len(flat) <= CELL_CHARACTERS else flat[: CELL_CHARACTERS - 1] + "…")


def _shown(value: Any, spec: str | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, pl.Series | list | tuple):
        return ", ".join(_shown(item, spec) for item in value) or MISSING
    if spec is None:
        spec = "," if isinstance(value, int) else ".2f" if isinstance(value, float) else ""
    return format(rounded(value), spec) if isinstance(value, int | float) else str(value)


def label_of(name: str) -> str:
    """A column's name as its head is written."""
    return name.replace("_", " ")


def _rest(frame: pl.DataFrame, shown: int, whole: str | None = None) -> str | None:
    more = frame.height - shown
    stand = f"stand in {whole}" if whole else "are not shown"
    return f"{more:,} more rows {stand}" if more > 0 else None
