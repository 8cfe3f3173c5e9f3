"""Tables of a page: HTML that follows the light it is shown in, and short markdown for the record; CSV and LaTeX files.

Long tables of a page are sorted and searched by DataTables as itables brings it, packed into the page once.
"""

from __future__ import annotations

import csv
import gzip
import html
import io
import math
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError
from axisjudge.figures.markup import csp_hash, literal, visible
from axisjudge.report.links import NO_LINKS, Links
from axisjudge.results import pandas_rows, rounded, written
from axisjudge.sharing import safe_cell, shared_frame
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
    """A polars frame from a polars or pandas frame or a list of rows.

    Raises
    ------
    InputError
        It is something else.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if not isinstance(frame, list) and not hasattr(frame, "reset_index"):
        raise InputError("table", "must be a polars or pandas frame, or a list of rows", type(frame).__name__)
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
    behind: Mapping[str, str] | Sequence[Mapping[str, str]] | None = (),
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
    each: Mapping[str, str] | None = behind if behind is None or isinstance(behind, Mapping) else {}
    filters = [*(behind if isinstance(behind, Sequence) else ()), *[each] * rows.height][: rows.height]
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
    if isinstance(value, float):
        return written(rounded(value), spec)
    return format(value, spec) if isinstance(value, int) else str(value)


def label_of(name: str) -> str:
    """A column's name as its head is written."""
    return name.replace("_", " ")


def _rest(frame: pl.DataFrame, shown: int, whole: str | None = None) -> str | None:
    more = frame.height - shown
    stand = f"stand in {whole}" if whole else "are not shown"
    return f"{more:,} more rows {stand}" if more > 0 else None


#: What LaTeX would obey (a row that begins with a bracket or a star too) or has no letter for, and how it is written.
_LATEX = (
    {letter: f"\\{letter}" for letter in "{}$&#_%"}
    | {letter: f"{{{letter}}}" for letter in "[]*"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "…": r"\ldots{}", "–": "--"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "−": "$-$", "✓": r"$\surd$", "✗": r"$\times$"}
    | {"→": r"$\rightarrow$", "≠": r"$\neq$", "≤": r"$\leq$", "≥": r"$\geq$"}
)


def write_table(folder: Path, name: str, frame: pl.DataFrame, caption: str, *, columns: int = 1) -> None:
    """Write `name`.csv and `name`.tex, without keys, to a folder, which is made where there is none."""
    folder.mkdir(exist_ok=True)
    frame = shared_frame(frame)
    set_in = as_latex(frame, caption, name, columns=columns, whole=f"tables/{name}.csv")
    for path, text in ((f"{name}.csv", as_csv(frame)), (f"{name}.tex", set_in)):
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


def as_csv(frame: pl.DataFrame) -> str:
    """All rows and columns, numbers with as many digits as results have; lists are joined with semicolons."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(safe_cell, frame.columns))
    writer.writerows([_plain(value) for value in row] for row in frame.iter_rows())
    return stream.getvalue()


#: Inches of a column of two, and of a page with one: `axisjudge.report.bundle.typeset` sets its pages by these.
COLUMN, PAGE = 3.3, 6.5
#: Both columns of a page with two, and the gap between them.
GAP = 0.3
SPREAD = 2 * COLUMN + GAP
#: Points of the type in tables, between columns on each side, from line to line; the most that a table may be high.
TYPE, SIDE, LINE, HIGHEST = 8.0, 3.0, 9.6, 520.0
#: Type of 8 points is set wider than that of 10 points is when made smaller, of which the widths are known.
_WIDER = 1.09
#: Where a word may go on in the next line (a number keeps its sign, point and thousands), and after so many letters.
_BREAK, _UNBROKEN = re.compile(r"(?<=[\w)][-_/:=@+])|(?<=[\w)][.,])(?=[^\d\s])"), 14
#: What the old encoding of the type has elsewhere; in today's it is as wide as this at most.
_ELSEWHERE = dict.fromkeys('_<>|{}\\"~^', 0.8)
#: Lines that a row takes in a narrow table before it is better set across both columns.
_DEEP = 3


def as_latex(frame: pl.DataFrame, caption: str, label: str, *, columns: int = 1, whole: str = "") -> str:
    r"""A floating table for ``\usepackage{array,booktabs}`` that is no wider and no higher than where it stands.

    Words go to the left and break, numbers to the right. What all rows share is said once, under the table. Of a table
    that is too wide or too long even so the first columns and rows are set, and a line says how many more `whole` has.

    Parameters
    ----------
    frame : pl.DataFrame
        What to show.
    caption, label : str
        Its heading, and what it is referred to by: ``tab:LABEL``.
    columns : int
        1 or 2 on a page; with 2 what fits no column of 3.3 inches spans both.
    whole : str
        The file that has every row and column.
    """
    texts, numbers, same = laid_out(frame, {}, frame.height, few=0)
    texts = texts.select(pl.Series(name, map(visible, texts[name]), pl.String) for name in texts.columns)
    narrow = _fitted(texts, COLUMN if columns == 2 else PAGE)
    spans = columns == 2 and (narrow is None or narrow.n_left or narrow.mean_lines > _DEEP)
    fitted = _fitted(texts, SPREAD) if spans else narrow
    assert fitted is not None  # one column always fits
    rows = list(fitted.rows(HIGHEST))
    less = [
        many(count, f"more {what}")
        for count, what in ((fitted.n_left, "column"), (texts.height - len(rows), "row"))
        if count
    ]
    rest = f"{' and '.join(less)} in {whole or 'the whole table'}" if less else ""
    notes = [f"{latex(line)}." for line in (same, rest) if line]
    shown = texts.columns[: len(fitted.widths)]
    kinds = "".join(
        rf">{{\ragged{'left' if name in numbers else 'right'}\arraybackslash}}p{{{width:.1f}pt}}"
        for name, width in zip(shown, fitted.widths, strict=True)
    )
    head = " & ".join(_breaking(label_of(name)) for name in shown) + r" \\"
    where = "table*" if spans else "table"
    return "\n".join(
        [
            rf"\begin{{{where}}}",
            rf"  \centering\fontsize{{{TYPE:g}}}{{{LINE:g}}}\selectfont\setlength{{\tabcolsep}}{{{SIDE:g}pt}}",
            rf"  \caption{{{latex(caption)}}}",
            rf"  \label{{tab:{label}}}",
            rf"  \begin{{tabular}}{{@{{}}{kinds}@{{}}}}",
            r"    \toprule",
            f"    {head}",
            r"    \midrule",
            *(f"    {' & '.join(map(_breaking, row))} " + r"\\" for row in rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            *(rf"  \par\smallskip\raggedright {line}" for line in notes),
            rf"\end{{{where}}}",
            "",
        ]
    )


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A table's texts in the columns that fit, with their widths in points, and how many columns do not."""

    texts: pl.DataFrame
    widths: list[float]
    n_left: int

    def lines_of(self, row: tuple[str, ...]) -> int:
        return max(_lines(text, width) for text, width in zip(row, self.widths, strict=False))

    @property
    def mean_lines(self) -> float:
        return sum(map(self.lines_of, self.texts.iter_rows())) / max(1, self.texts.height)

    def rows(self, points: float) -> Iterator[tuple[str, ...]]:
        """The first rows, as many as are not higher together than so many points; at least one."""
        high = 0.0
        for number, row in enumerate(self.texts.iter_rows()):
            high += LINE * self.lines_of(row)
            if number and high > points:
                return
            yield row[: len(self.widths)]


def _fitted(texts: pl.DataFrame, inches: float) -> _Fitted | None:
    """Widths between what the longest unbroken piece of a column needs and what its longest text does."""
    least, most = [], []
    for name in texts.columns:
        heads = label_of(name)
        pieces = [max(map(_width, _pieces(text)), default=0.0) for text in (heads, *texts[name])]
        least.append(max(pieces))
        most.append(max(least[-1], *map(_width, texts[name]), 0.0))
    n = len(least)
    while n > 1 and sum(least[:n]) + 2 * SIDE * (n - 1) > 72.27 * inches:
        n -= 1
    room = 72.27 * inches - 2 * SIDE * (n - 1)
    if sum(least[:n]) > room:
        return None if n < len(least) else _Fitted(texts.select(texts.columns[:1]), [room], len(least) - 1)
    more = sum(most[:n]) - sum(least[:n])
    share = min(1.0, (room - sum(least[:n])) / more) if more else 0.0
    widths = [low + share * (high - low) for low, high in zip(least[:n], most[:n], strict=True)]
    return _Fitted(texts.select(texts.columns[:n]), widths, len(least) - n)


def _lines(text: str, width: float) -> int:
    """Lines that a text takes in a column, filled word by word."""
    lines, filled = 1, 0.0
    for piece in _pieces(text):
        size = _width(piece + " ")
        if filled and filled + size > width + _width(" "):
            lines, filled = lines + 1, 0.0
        filled += size
    return lines


def _pieces(text: str) -> list[str]:
    """What a line is never broken within: words, and of long ones the parts."""
    parts = (part for word in text.split() for part in _BREAK.split(word))
    return [part[at : at + _UNBROKEN] for part in parts for at in range(0, len(part), _UNBROKEN)]


def _breaking(text: str) -> str:
    """Text for LaTeX that may break where `_pieces` says."""
    return " ".join(r"\allowbreak{}".join(map(latex, _pieces(word))) for word in text.split())


def _width(text: str) -> float:
    """Points that a text takes in a table's type."""
    return _WIDER * TYPE * sum(map(_advance, text))


@cache
def _advance(letter: str) -> float:
    """The width of a letter of Computer Modern in units of the type; of one that it lacks that of a wide letter."""
    font = _font()
    if letter not in font:
        return 0.95 if ord(letter) > 0x2E7F else 0.78
    return float(font[letter])


@cache
def _font() -> dict[str, float]:
    import matplotlib as mpl
    from matplotlib.ft2font import FT2Font

    font = FT2Font(str(Path(mpl.get_data_path()) / "fonts" / "ttf" / "cmr10.ttf"))
    font.set_size(100, 72)
    codes = font.get_charmap()
    return {chr(code): font.load_char(code).linearHoriAdvance / 65536 / 100 for code in codes} | _ELSEWHERE


def latex(text: str) -> str:
    """Text as LaTeX shows it, whatever stands in it."""
    return "".join(_LATEX.get(letter, letter) for letter in visible(" ".join(text.split())))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(rounded(value))
    if isinstance(value, list | tuple | pl.Series):
        return ";".join(str(_plain(item)) for item in value)
    return safe_cell(visible(value)) if isinstance(value, str) else value


_HERE = Path(__file__).resolve().parent / "page"
#: In the package of itables, whose import would bring pandas: the library as one module.
_LIBRARY = "itables/html/dt_bundle.js"
#: How that module ends: what it hands out, under which names.
_EXPORT = re.compile(r"\bexport\s*\{([^}]*)\};?")
#: Sorts what is there by now; before the library has come it does nothing, and the library sorts what it finds.
SORT = "<script>globalThis.axisjudgeSort?.()</script>"


@dataclass(frozen=True)
class Sorting:
    """The parts of a page that sort its tables.

    Attributes
    ----------
    markup : str
        The packet and the script that opens it, for the end of a page.
    css : str
        The style of what DataTables adds to a table.
    policy : str
        The hashes of the two scripts, as a content security policy names them. No other script may run.
    """

    markup: str
    css: str
    policy: str


@cache
def sorting() -> Sorting:
    """DataTables and how we use it. The same versions give the same bytes.

    Raises
    ------
    LookupError
        The library of the installed itables does not say which of its names is DataTables.
    """
    program, unpack = _program(), _text("unpack.js")
    packet = b64encode(gzip.compress(program.encode(), compresslevel=9, mtime=0)).decode()
    markup = f'<script type="text/plain" id="axisjudge-sorting">{packet}</script>\n<script>{unpack}</script>'
    return Sorting(markup, _text("sorting.css"), f"script-src '{csp_hash(unpack)}' '{csp_hash(program)}'")


def in_notebook(table: str, name: str, *, first: bool) -> str:
    """A table of a notebook as an output that sorts itself; the `first` one of a notebook brings the library.

    Where outputs may run nothing, as in a notebook that is not trusted, the table stands as it is.
    """
    brought = f"<style>{sorting().css}</style>{sorting().markup}" if first else ""
    region = f'<div class="axisjudge-region" tabindex="0" role="region" aria-label="{html.escape(name)}">{table}</div>'
    return f"{region}{brought}{SORT}"


def tables_in_notebook(frames: Mapping[str, Any]) -> str:
    """Tables by their captions as one output of a notebook, those that are long sorted."""
    shown, is_first = "", True
    for caption, frame in frames.items():
        table = as_polars(frame)
        markup = html_table(table, {}, caption, None)
        if is_sortable(table):
            markup, is_first = in_notebook(markup, caption, first=is_first), False
        shown += markup
    return shown


def _program() -> str:
    library = Path(str(distribution("itables").locate_file(_LIBRARY))).read_text(encoding="utf-8")
    handed_out = _EXPORT.search(library)
    main = handed_out and re.search(r"([\w$]+) as default", handed_out[1])
    if not handed_out or not main:
        raise LookupError(f"{_LIBRARY} hands out no default: DataTables is not found in it")
    inner = library[: handed_out.start()] + f"const DataTable = {main[1]};" + library[handed_out.end() :]
    return f'"use strict";\n(() => {{\n{inner}\n{_text("sorting.js")}}})();\n'


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
