"""Figures of agreement: who agrees with whom, what the panel is worth against labels, and triage by confidence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from axisjudge.figures import theme
from axisjudge.figures.heatmap import cell_text, plot_heatmap
from axisjudge.figures.marks import interval_mark, intervals, named_rows, percent_ends, percent_tick
from axisjudge.stats.estimate import Estimate, many
from axisjudge.studies._shared.triage import PanelTriage
from axisjudge.studies._shared.words import in_cell, sentence_case
from axisjudge.studies.agreement.cross_family import CrossFamily
from axisjudge.studies.agreement.effective import PanelWorth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: With more raters a panel is drawn alone, in smaller type.
_FEW = 10
#: So many judges can be named below their marks.
_NAMED = 8
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
#: Pairs of one family, and of two.
_WITHIN, _ACROSS = "#D55E00", theme.ACCENT


def plot_agreement_matrix(cross: CrossFamily, *, ax: Axes | None = None) -> Axes:
    """Agreement of every two raters, ordered by family; a frame round each family, labels set apart at the end.

    The scale of colour is fixed at 0 to 1, so that matrices can be laid side by side; every cell says its value.
    """
    n = len(cross.raters)
    few = n <= _FEW
    ax = theme.new_axes(*_size(n)) if ax is None else ax
    names = [_name(rater) for rater in cross.raters]
    plot_heatmap(cross.matrix, ax=ax, rows=names, columns=names, palette="YlGnBu", gap=1.0)
    for row, column in itertools.permutations(range(n), 2):
        cell_text(ax, row, column, _short(cross.matrix[row, column]), fontsize=theme.LABEL - 0.5 if few else 6.5)
    ax.set_xticks(ax.get_xticks(), names, rotation=60, ha="left", rotation_mode="anchor")
    theme.dress(ax, "")
    ax.tick_params(labelsize=theme.LABEL if few else theme.SMALL)
    _frame_families(ax, cross)
    note = f"{cross.label}; {many(cross.across.n_items, 'item')} in {cross.across.clusters}; – undefined"
    ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.QUIET, loc="left", labelpad=8)
    size = f"{many(cross.across.n_items, 'item')} in {cross.across.clusters}"
    theme.describe(
        ax, f"{size}; point estimates without intervals, – where undefined; a frame holds judges of one family"
    )
    return ax


def plot_agreement_matrices(results: Sequence[CrossFamily]) -> Figure:
    """One matrix for each question, two in a row; those of many raters below each other, so that digits can be read."""
    import matplotlib.pyplot as plt

    n = len(results[0].raters)
    columns = min(2 if n <= _FEW else 1, len(results))
    rows = math.ceil(len(results) / columns)
    width, height = _size(n)
    figure, axes = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), layout="constrained", squeeze=False
    )
    for ax, one in itertools.zip_longest(axes.ravel(), results):
        if one is None:
            ax.set_axis_off()
            continue
        plot_agreement_matrix(one, ax=ax)
        title = _questions(one) if len(results) > 1 else f"{_questions(one)}: agreement of every two raters"
        ax.set_title(title, loc="left", fontsize=theme.TITLE, fontweight="bold", color=theme.INK)
    return figure


def plot_families(results: Sequence[CrossFamily], *, ax: Axes | None = None) -> Axes:
    """For each question every pair of judges as a dot, within and across families, with the mean and its interval."""
    ax = theme.new_axes(7.4, 1.5 + 0.8 * len(results)) if ax is None else ax
    for row, of_question in enumerate(results):
        judged = of_question.pairs.filter(~pl.col("raters").list.get(1).is_in(list(of_question.labellers)))
        groups = ((True, of_question.within, -0.17, _WITHIN, "D"), (False, of_question.across, 0.17, _ACROSS, "o"))
        for within, mean, shift, colour, marker in groups:
            values = judged.filter(within=within)["value"].to_numpy()
            spread = 0.07 * np.sin(2.4 * np.arange(values.size))  # fixed, so that the figure keeps its bytes
            ax.plot(values, row + shift + spread, ".", color=colour, alpha=0.35, markersize=5, linewidth=0)
            interval_mark(ax, mean, row + shift, colour=colour, marker=marker, size=6.5)
    ax.plot([], [], "D", color=_WITHIN, label="within a family")
    ax.plot([], [], "o", color=_ACROSS, label="across families")
    ax.axvline(0, color=theme.FAINT, linewidth=0.8)
    named_rows(ax, [_questions(of_question) for of_question in results])
    theme.grid(ax)
    theme.legend_below(ax, inches=0.35, ncols=2)
    first = results[0]
    note = f"{first.label}; dots: pairs of judges; marks: their mean; {intervals(first.across)}"
    return theme.dress(ax, "Agreement of judges within and across families", note)


def plot_with_labels(cross: CrossFamily, *, ax: Axes | None = None) -> Axes:
    """Each judge's agreement with the labels, with its interval; grey: people among themselves, the ceiling."""
    n = len(cross.judges)
    ax = theme.new_axes(7.4, 1.4 + 0.27 * n) if ax is None else ax
    ceiling = cross.among_people
    if not math.isnan(ceiling.ci_low):
        ax.axvspan(ceiling.ci_low, ceiling.ci_high, color=theme.FAINT, linewidth=0)
        beside = {"xytext": (-3, 0), "textcoords": "offset points", "rotation": 90, "ha": "right", "va": "center"}
        place_of_text = {"xy": (ceiling.ci_low, 0.5), "xycoords": ("data", "axes fraction")}
        ax.annotate("people among themselves", **place_of_text, **beside, **_QUIET)  # type: ignore[arg-type]
    at, heights, above = 0.0, [], ""
    for family, mean in zip(cross.families, cross.with_labels.values(), strict=False):
        if family != above:
            at += 0.6 * bool(above)
            ax.annotate(family, (1.02, at), xycoords=("axes fraction", "data"), va="center", **_QUIET)
        interval_mark(ax, mean, at)
        heights.append(at)
        at, above = at + 1, family
    ax.set_yticks(heights, [_name(judge) for judge in cross.judges])
    ax.set_ylim(at - 0.5, -0.5)
    ax.axvline(0, color=theme.FAINT, linewidth=0.8)
    theme.grid(ax)
    mean = cross.with_labels[cross.judges[0]]
    who = f"mean over {len(cross.labellers)} labellers; " if len(cross.labellers) > 1 else ""
    note = f"{cross.label}, {_questions(cross)}; {who}{intervals(mean)}"
    theme.dress(ax, f"Judges against {_labels(cross)}", note)
    grey = "" if math.isnan(ceiling.ci_low) else "; grey: the interval of people among themselves"
    least, most = (pick(cross.with_labels.items(), key=lambda each: each[1].estimate) for pick in (min, max))
    ends = f"from {least[1].estimate:.2f} ({_name(least[0])}) to {most[1].estimate:.2f} ({_name(most[0])})"
    subject = f"{cross.label}, with {_labels(cross)} on {_questions(cross)}"
    theme.describe(ax, f"{subject}, is observed {ends}; {who}{intervals(mean)}{grey}")
    return ax


def plot_panel_worth(worth: PanelWorth, *, ax: Axes | None = None) -> Axes:
    """Accuracy of each judge and of the majority, with the effective number of judges over the band of label error."""
    import matplotlib as mpl

    ax = theme.new_axes(7.4, 3.2) if ax is None else ax
    if worth.measured is None:
        return _nothing(ax, f"{worth.where}: what the panel is worth", worth.reason)
    measured = worth.measured
    order = np.argsort(-measured.accuracy, kind="stable")
    families = list(dict.fromkeys(worth.families))
    for position, judge in enumerate(order):
        marker = _MARKERS[families.index(worth.families[judge]) % len(_MARKERS)]
        ax.plot(position, measured.accuracy[judge], marker, color=theme.ACCENT, markersize=7, markeredgecolor="white")
    ax.axhline(measured.majority, color="#D55E00", linewidth=1.6)
    corner: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"),
        "xytext": (0, 4),
        "textcoords": "offset points",
        "ha": "right",
    }
    ax.annotate(
        f"majority {measured.majority:.1%}", (1, measured.majority), **corner, fontsize=theme.SMALL, color="#A34700"
    )
    for at, family in enumerate(families):
        ax.plot([], [], _MARKERS[at % len(_MARKERS)], color=theme.ACCENT, label=family, linewidth=0)
    names = [worth.judges[judge].removeprefix("simulated:") for judge in order] if len(order) <= _NAMED else []
    ax.set_xticks(range(len(names)), names)
    theme.legend_below(ax, inches=0.4 if names else 0.15, ncols=6)
    ax.yaxis.set_major_locator(mpl.ticker.MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(percent_tick)
    theme.grid(ax, "y")
    number = measured.n_effective
    title = f"{len(worth.judges)} judges are worth {in_cell(number, '.1f')} independent ones"
    where = sentence_case(worth.where)
    note = f"{where}: accuracy against labels, best judge first; {many(number.n_items, 'item')} in {number.clusters}"
    theme.dress(ax, title, note)
    theme.describe(ax, f"{note}; accuracies without intervals, for the number {intervals(number)}")
    return ax


def plot_triage(triage: PanelTriage, *, ax: Axes | None = None) -> Axes:
    """The four cells of agreement by confidence, counts and shares inside, and the AUC of confidence for agreement."""
    ax = theme.new_axes(5.6, 3.2) if ax is None else ax
    if triage.table is None:
        return _nothing(ax, f"{triage.where}: triage by confidence", triage.reason)
    cells_of = triage.table
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
    theme.dress(ax, f"{sentence_case(triage.where)}: agreement by confidence")
    note = (
        f"sure: from each judge's own {cells_of.quantile:.0%} quantile on; AUC {cells_of.auc.worded()}; "
        f"{many(total, 'item')} in {cells_of.auc.clusters}"
    )
    ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.QUIET, loc="left", labelpad=6)
    theme.describe(ax, f"{note}; {intervals(cells_of.auc)}")
    return ax


_QUIET: dict[str, Any] = {"fontsize": theme.SMALL, "color": theme.QUIET}


def _size(raters: int) -> tuple[float, float]:
    """Width and height of a matrix in inches."""
    cell = 0.55 if raters <= _FEW else 0.33
    return 3.6 + cell * raters, 2.2 + 0.93 * cell * raters


def _frame_families(ax: Axes, of: CrossFamily) -> None:
    from matplotlib.patches import Rectangle

    start = 0
    families = [*of.families[: len(of.judges)], *(_labels(of) for _ in of.labellers)]
    for family, members in itertools.groupby(families):
        size = len(list(members))
        frame = Rectangle((start, start), size, size, fill=False, edgecolor=theme.INK, linewidth=1.3, zorder=3)
        frame.set_clip_on(False)
        ax.add_patch(frame)
        middle = (1.015, start + size / 2)
        ax.annotate(family, middle, xycoords=("axes fraction", "data"), va="center", **_QUIET)
        start += size
    if of.labellers:
        ax.axhline(len(of.judges), color="white", linewidth=4)
        ax.axvline(len(of.judges), color="white", linewidth=4)


def _short(value: float) -> str:
    return "–" if math.isnan(value) else f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1).replace("-", "−")


def _name(rater: str) -> str:
    return rater.replace("_", " ").replace("simulated:", "")


def _questions(of: CrossFamily) -> str:
    return theme.in_words(of.where)


def _labels(of: CrossFamily) -> str:
    return "planted truth" if of.panel.planted else "people"


def _nothing(ax: Axes, title: str, reason: str) -> Axes:
    from textwrap import fill

    ax.text(
        0.5, 0.5, fill(f"Not shown: {reason}.", 60), ha="center", va="center", fontsize=theme.LABEL, color=theme.QUIET
    )
    ax.set_xticks([])
    ax.set_yticks([])
    return theme.dress(ax, title)


def _agree(rate: Estimate) -> str:
    return f"{rate.estimate:.0%} agree ({percent_ends(rate)})"
