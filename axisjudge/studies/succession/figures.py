"""Figures of judges that change: the bridge from an old judge to a new one, and a judge watched for drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisjudge.figures.marks import interval_mark, intervals, named_rows, percent_tick
from axisjudge.figures.theme import ACCENT, FAINT, INK, QUIET, SMALL, describe, dress, in_words, new_axes, side_by_side
from axisjudge.studies.succession.bridge import Bridge
from axisjudge.studies.succession.drift import Drift

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NO = "#A34700"


def plot_bridge(bridge: Bridge, *, ax: Axes | None = None) -> Axes:
    """Both conditions per question: the shift within its margin, and agreement against what the old judge reaches.

    On axes that are given the left half is the shift, the right half the agreement.
    """
    rows = bridge.bridges
    ax = new_axes(8.2, 0.42 * len(rows) + 1.7) if ax is None else ax
    left, right = side_by_side(ax, 2)
    margin, level = rows[0].equivalence.margin, f"{1 - 2 * rows[0].equivalence.level:.0%} intervals"
    left.axvspan(-margin, margin, color="#e8eef3", linewidth=0)
    left.axvline(0, color=FAINT, linewidth=1)
    for at, row in enumerate(rows):
        interval_mark(left, row.equivalence.shift, at, colour=ACCENT if row.shift_within else _NO)
        interval_mark(right, row.equivalence.agreement, at, colour=ACCENT if row.agreement_enough else _NO)
        right.plot([row.least_agreement] * 2, [at - 0.28, at + 0.28], color=INK, linewidth=1.6)
    named_rows(left, [in_words(row.question) for row in rows])
    left.xaxis.set_major_formatter(_signed)
    right.xaxis.set_major_formatter(lambda share, _: "" if share > 1 else percent_tick(share))
    dress(left, "Shift of the failure rate", f"{level}; band: the margin")
    dress(right, "Agreement of the two judges", f"{level}; mark: the old judge with itself, minus the margin")
    unit = rows[0].equivalence.shift.clusters
    marks = "Right: the mark is the old judge's agreement with itself, minus the margin"
    describe(left, f"left: the band is the margin. {marks}. Bars are {level} over {unit}")
    return left


def plot_drift(drift: Drift, *, ax: Axes | None = None) -> Axes:
    """The change of the failure rate from the first occasion, with its interval; a cross says stop."""
    ax = new_axes(6.4, 3.0) if ax is None else ax
    ax.axhline(0, color=FAINT, linewidth=1)
    ax.plot(1, 0, "o", color=QUIET, markersize=6)
    for each in drift.occasions:
        colour, marker = (_NO, "X") if each.stop or each.number in drift.model_changed else (ACCENT, "o")
        interval_mark(ax, each.change.change, each.number, colour=colour, marker=marker, upright=True)
    ax.set_xticks([seen.number for seen in drift.seen])
    ax.set_xlabel("occasion", fontsize=SMALL, color=QUIET)
    ax.yaxis.set_major_formatter(_signed)
    ax.set_xlim(0.5, len(drift.seen) + 0.5)
    title = "Change of the failure rate since the first occasion"
    note = f"{drift.n_items:,} anchor items; a cross says stop"
    changes = [each.change.change for each in drift.occasions]
    dress(ax, title, note)
    describe(ax, f"{note}; {intervals(changes[0])}" if changes else note)
    return ax


def _signed(share: float, _: object) -> str:
    return f"{100 * share:+.3g}%" if share else "0"
