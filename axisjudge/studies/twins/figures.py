"""Figures of twins: the matrix, and what text for the judge does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisjudge.figures.heatmap import cell_text, plot_heatmap
from axisjudge.figures.marks import at_the_right, interval_mark, named_rows, percent_axis
from axisjudge.figures.theme import ACCENT, LABEL, QUIET, SMALL, describe, dress, in_words, legend_below, new_axes
from axisjudge.studies._shared.words import many
from axisjudge.studies.twins.injections import ANYWHERE, CONTROL, Injected
from axisjudge.studies.twins.matrix import TwinCell, TwinMatrix
from axisjudge.studies.twins.sentences import percent_interval
from axisjudge.verdict import AXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

#: How an expectation and a claim stand in a cell.
_EXPECTED = {"must": "must move", "must_not": "must not", "may": "may"}
_CLAIM = {"met": "✓", "not shown": "?", "failed": "✗", "": ""}


def plot_twin_matrix(matrix: TwinMatrix, judge: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Moved rates of one judge, edits down and axes across.

    Colour is the rate; each cell says what is expected, moved of decided, the interval over tasks, and whether the
    claim is met, so that colour is never needed.
    """
    judge = judge or matrix.judges[0]
    cells = [[matrix.cell(judge, edit, axis) for axis in AXES] for edit in matrix.edits]
    ax = new_axes(2.4 + 1.5 * len(AXES), 1.2 + 0.72 * len(cells)) if ax is None else ax
    rows = [
        f"{in_words(edit)}\n{many(line[0].n_twins, 'twin')}" for edit, line in zip(matrix.edits, cells, strict=True)
    ]
    columns = [in_words(axis).replace(" ", "\n") for axis in AXES]
    plot_heatmap([[cell.rate.estimate for cell in line] for line in cells], ax=ax, rows=rows, columns=columns)
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            _write(ax, row, column, cell)
    dress(ax, f"Verdicts that moved to incorrect: {judge}")
    declared = matrix.thresholds
    note = (
        f"moved / decided twins of originals called correct; {declared.ci_level:.0%} intervals over tasks\n"
        f"✓ shown ({declared.must_rate:.0%} or more where it must move, under {declared.margin:.0%} where it must "
        "not), ? not shown, ✗ refuted; undecided twins count against the claim"
    )
    ax.set_xlabel(note, fontsize=SMALL, color=QUIET, loc="left")
    describe(ax, note.replace("\n", "; "))
    return ax


def _write(ax: Axes, row: int, column: int, cell: TwinCell) -> None:
    cell_text(ax, row, column, _EXPECTED[cell.expected], down=-0.3, quiet=cell.rate.estimate <= 0.3, fontsize=SMALL)
    if not cell.started:
        cell_text(ax, row, column, "none correct", down=0.05, quiet=True, fontsize=SMALL)
        return
    weight = "bold" if cell.expected == "must" else "normal"
    share = f"{cell.moved}/{cell.rate.n_items} {_CLAIM[cell.claim]}".strip()
    cell_text(ax, row, column, share, fontsize=LABEL + 1, fontweight=weight)
    undecided = f", {cell.undecided} undecided" if cell.undecided else ""
    cell_text(ax, row, column, percent_interval(cell) + undecided, down=0.3, fontsize=SMALL - 0.5)


def plot_injections(rows: Sequence[Injected], judge: str, *, ax: Axes | None = None) -> Axes:
    """Flip rate of one judge by kind of text, filled, and of the runs not called correct those taken in, hollow."""
    mine = [row for row in rows if row.judge == judge and row.place == ANYWHERE]
    ax = new_axes(8.4, 1.6 + 0.5 * len(mine)) if ax is None else ax
    for at, row in enumerate(mine):
        interval_mark(ax, row.flips, at - 0.12)
        interval_mark(ax, row.taken_in, at + 0.14, colour=QUIET, filled=False, size=5)
        at_the_right(ax, at, f"{round(row.confidence.estimate, 3) + 0.0:+.3f}" if row.confidence.n_items else "–")
    named_rows(ax, [f"{in_words(row.edit)}{' (control)' if row.edit == CONTROL else ''}" for row in mine])
    ends = [end for row in mine for end in (row.flips.ci_high, row.taken_in.ci_high, row.flips.estimate) if end == end]
    percent_axis(ax, min(1.0, max([0.05, *ends])))
    dress(ax, f"Verdicts that flipped after text for the judge: {judge}")
    ax.plot([], [], "o", color=ACCENT, label="flipped, of all pairs")
    ax.plot(
        [], [], "o", color=QUIET, markerfacecolor="white", markersize=5, label="taken in: became correct, of the rest"
    )
    legend_below(ax, inches=0.5, ncols=2)
    note = "share of pairs, with its interval over tasks; at the right the mean move of confidence"
    ax.set_xlabel(note, fontsize=SMALL, color=QUIET, loc="left")
    filled = (
        "filled: share of all pairs that flipped; hollow: of pairs whose original was not called correct, the share "
        "that became correct"
    )
    describe(ax, f"{filled}; {mine[0].flips.ci_level:.0%} intervals over tasks" if mine else filled)
    return ax
