"""The four cells of agreement by confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from axisjudge.figures import theme
from axisjudge.figures.heatmap import cell_text, plot_heatmap
from axisjudge.figures.marks import intervals, percent_ends
from axisjudge.stats.estimate import Estimate, many

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from axisjudge.stats.confidence.triage import Triage


def plot_triage(where: str, cells_of: Triage, *, ax: Axes | None = None) -> Axes:
    """The four cells of agreement by confidence, counts and shares inside, and the AUC of confidence for agreement."""
    ax = theme.new_axes(5.6, 3.2) if ax is None else ax
    cells = np.array([[cells_of.agree_sure, cells_of.disagree_sure], [cells_of.agree_unsure, cells_of.disagree_unsure]])
    words = [["trust most", "question the rubric"], ["agree, but ask why unsure", "read first"]]
    total = cells.sum()
    rows = [f"all sure\n{_agree(cells_of.agreement_sure)}", f"not all\n{_agree(cells_of.agreement_unsure)}"]
    columns = ["judges agree", "judges are split"]
    plot_heatmap(cells / total, ax=ax, rows=rows, columns=columns, palette="Blues", gap=3)
    for row, column in np.ndindex(2, 2):
        text = f"{cells[row, column]:,} ({cells[row, column] / total:.0%})"
        cell_text(ax, row, column, text, down=-0.1, fontsize=theme.LABEL + 2)
        cell_text(ax, row, column, words[row][column], down=0.18, fontsize=theme.SMALL)
    theme.dress(ax, f"{where[:1].upper()}{where[1:]}: agreement by confidence")
    note = (
        f"sure: from each judge's own {cells_of.quantile:.0%} quantile on; AUC {cells_of.auc.worded()}; "
        f"{many(total, 'item')} in {cells_of.auc.clusters}"
    )
    ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.QUIET, loc="left", labelpad=6)
    theme.describe(ax, f"{note}; {intervals(cells_of.auc)}")
    return ax


def _agree(rate: Estimate) -> str:
    return f"{rate.estimate:.0%} agree ({percent_ends(rate)})"
