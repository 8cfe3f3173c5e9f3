"""Tables as files: CSV for machines, LaTeX with booktabs for papers."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.figures.markup import visible
from axisjudge.report.tables.markup import label_of, laid_out
from axisjudge.results import rounded
from axisjudge.sharing import safe_cell
from axisjudge.stats.estimate import many

#: What LaTeX would obey (a row that begins with a bracket or a star too) or has no letter for, and how it is written.
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "…": r"\ldots{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "→": r"$\rightarrow$",
    "≠": r"$\neq$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "−": "$-$",
}


def write_table(folder: Path, name: str, frame: pl.DataFrame, caption: str, *, columns: int = 1) -> None:
    """Write `name`.csv and `name`.tex to a folder, which is made where there is none."""
    folder.mkdir(exist_ok=True)
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
            r"  \centering\fontsize{8}{9.6}\selectfont\setlength{\tabcolsep}{3pt}",
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


@dataclass(frozen=True)
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
