"""Tables as files: CSV for machines, LaTeX with booktabs for papers."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.figures.markup import visible
from axisjudge.report.tables.markup import formatted
from axisjudge.results import rounded
from axisjudge.sharing import safe_cell

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


def write_table(folder: Path, name: str, frame: pl.DataFrame, caption: str) -> None:
    """Write `name`.csv and `name`.tex to a folder, which is made where there is none."""
    folder.mkdir(exist_ok=True)
    for path, text in ((f"{name}.csv", as_csv(frame)), (f"{name}.tex", as_latex(frame, caption, name))):
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


def as_csv(frame: pl.DataFrame) -> str:
    """All rows and columns, numbers with as many digits as results have; lists are joined with semicolons."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(safe_cell, frame.columns))
    writer.writerows([_plain(value) for value in row] for row in frame.iter_rows())
    return stream.getvalue()


def as_latex(frame: pl.DataFrame, caption: str, label: str) -> str:
    r"""A floating table for ``\usepackage{booktabs}``: words to the left, numbers to the right."""
    texts = formatted(frame, {})
    kinds = "".join("r" if kind.is_numeric() else "l" for kind in frame.schema.values())
    lines = [" & ".join(latex(cell) for cell in row) + r" \\" for row in texts.rows()]
    head = " & ".join(latex(name.replace("_", " ")) for name in frame.columns) + r" \\"
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{latex(caption)}}}",
            rf"  \label{{tab:{label}}}",
            rf"  \begin{{tabular}}{{{kinds}}}",
            r"    \toprule",
            f"    {head}",
            r"    \midrule",
            *(f"    {line}" for line in lines),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def latex(text: str) -> str:
    """Text as LaTeX shows it, whatever stands in it."""
    return "".join(_LATEX.get(letter, letter) for letter in visible(" ".join(text.split())))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(rounded(value))
    if isinstance(value, list | tuple | pl.Series):
        return ";".join(str(_plain(item)) for item in value)
    return safe_cell(visible(value)) if isinstance(value, str) else value
