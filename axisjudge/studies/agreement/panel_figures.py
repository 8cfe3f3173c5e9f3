"""Figures of a panel as a whole: what it is worth against labels, and triage by confidence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from axisjudge.figures.heatmap import cell_text, plot_heatmap
from axisjudge.figures.marks import percent_tick
from axisjudge.figures.theme import ACCENT, LABEL, QUIET, SMALL, dress, grid, legend_below, new_axes
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.triage import PanelTriage
from axisjudge.studies._shared.words import in_cell
from axisjudge.studies.agreement.effective import PanelWorth

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_panel_worth(worth: PanelWorth, *, ax: Axes | None = None) -> Axes:
    """Accuracy of each judge and of the majority, with the effective number of judges over the band of label error."""
    import matplotlib as mpl

    ax = new_axes(7.4, 3.2) if ax is None else ax
    if worth.measured is None:
        return _nothing(ax, f"{worth.where}: what the panel is worth", worth.reason)
    found = worth.measured
    order = np.argsort(-found.accuracy, kind="stable")
    families = list(dict.fromkeys(worth.families))
    for place, judge in enumerate(order):
        marker = _MARKERS[families.index(worth.families[judge]) % len(_MARKERS)]
        ax.plot(place, found.accuracy[judge], marker, color=ACCENT, markersize=7, markeredgecolor="white")
    ax.axhline(found.majority, color="#D55E00", linewidth=1.6)
    corner: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"),
        "xytext": (0, 4),
        "textcoords": "offset points",
        "ha": "right",
    }
    ax.annotate(f"majority {found.majority:.1%}", (1, found.majority), **corner, fontsize=SMALL, color="#A34700")
    for at, family in enumerate(families):
        ax.plot([], [], _MARKERS[at % len(_MARKERS)], color=ACCENT, label=family, linewidth=0)
    names = [worth.judges[judge].removeprefix("simulated:") for judge in order] if len(order) <= _FEW else []
    ax.set_xticks(range(len(names)), names)
    legend_below(ax, inches=0.4 if names else 0.15, ncols=6)
    ax.yaxis.set_major_locator(mpl.ticker.MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(percent_tick)
    grid(ax, "y")
    number = found.n_effective
    title = f"{len(worth.judges)} judges are worth {in_cell(number, '.1f')} independent ones"
    where = worth.where[0].upper() + worth.where[1:]
    note = f"{where}: accuracy against labels, best judge first; {number.n_items:,} items in {number.clusters}"
    return dress(ax, title, note)


def plot_triage(triage: PanelTriage, *, ax: Axes | None = None) -> Axes:
    """The four cells of agreement by confidence, counts and shares inside, and the AUC of confidence for agreement."""
    ax = new_axes(5.6, 3.2) if ax is None else ax
    if triage.table is None:
        return _nothing(ax, f"{triage.where}: triage by confidence", triage.reason)
    found = triage.table
    cells = np.array([[found.agree_sure, found.disagree_sure], [found.agree_unsure, found.disagree_unsure]])
    words = [["trust most", "question the rubric"], ["agree, but ask why unsure", "read first"]]
    total = cells.sum()
    rows = [f"all sure\n{_share(found.agreement_sure)}", f"not all\n{_share(found.agreement_unsure)}"]
    columns = ["judges agree", "judges are split"]
    plot_heatmap(cells / total, ax=ax, rows=rows, columns=columns, palette="Blues", gap=3)
    for row, column in np.ndindex(2, 2):
        text = f"{cells[row, column]:,} ({cells[row, column] / total:.0%})"
        cell_text(ax, row, column, text, down=-0.1, fontsize=LABEL + 2)
        cell_text(ax, row, column, words[row][column], down=0.18, fontsize=SMALL)
    dress(ax, f"{triage.where[0].upper()}{triage.where[1:]}: agreement by confidence")
    note = (
        f"sure: from each judge's own {found.quantile:.0%} quantile on; AUC {found.auc.worded()}; "
        f"{total:,} items in {found.auc.clusters}"
    )
    ax.set_xlabel(note, fontsize=SMALL, color=QUIET, loc="left", labelpad=6)
    return ax


#: So many judges can be named below their marks.
_FEW = 8
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")


def _nothing(ax: Axes, title: str, reason: str) -> Axes:
    from textwrap import fill

    ax.text(0.5, 0.5, fill(f"Not shown: {reason}.", 60), ha="center", va="center", fontsize=LABEL, color=QUIET)
    ax.set_xticks([])
    ax.set_yticks([])
    return dress(ax, title)


def _share(found: Estimate) -> str:
    interval = "no interval" if math.isnan(found.ci_low) else f"{100 * found.ci_low:.0f}–{100 * found.ci_high:.0f}%"
    return f"{found.estimate:.0%} agree ({interval})"
