"""Figures of agreement: who agrees with whom, what the panel is worth against labels, and triage by confidence."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from axisjudge.figures import theme
from axisjudge.figures.heatmap import cell_text, plot_heatmap
from axisjudge.figures.marks import interval_mark, intervals, percent_tick
from axisjudge.stats.estimate import many
from axisjudge.studies._shared.words import in_cell, sentence_case
from axisjudge.studies.agreement.sentences import of_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: With more raters a panel is drawn alone, in smaller type.
_FEW = 10
#: So many judges can be named below their marks.
_NAMED = 8
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")


def plot_agreement_matrix(cross: Any, *, ax: Axes | None = None) -> Axes:
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


def plot_families(cross: Any, *, ax: Axes | None = None) -> Axes:
    """Families x families: the mean over pairs of their judges, with labels as the last row.

    Families stand by their agreement with the labels, the highest first; by name where there are none.
    """
    means = {frozenset((one.family_1, one.family_2)): one.mean.estimate for one in cross.by_family}
    labels = of_labels(cross.panel.planted) if cross.labellers else ""
    names = sorted(dict.fromkeys(cross.families[: len(cross.judges)]))
    names.sort(key=lambda name: -np.nan_to_num(means.get(frozenset((name, labels)), 0.0)))
    rows = [*names, *([labels] if labels else [])]
    values = np.array([[means.get(frozenset((row, column)), np.nan) for column in names] for row in rows])
    ax = theme.new_axes(2.6 + 0.78 * len(names), 1.5 + 0.42 * len(rows)) if ax is None else ax
    counts = [list(cross.families[: len(cross.judges)]).count(name) for name in names]
    columns = [f"{_name(name)}\n{many(count, 'judge')}" for name, count in zip(names, counts, strict=True)]
    plot_heatmap(np.clip(values, 0, 1), ax=ax, rows=[_name(row) for row in rows], columns=columns, palette="YlGnBu")
    for row, column in np.ndindex(*values.shape):
        weight = "bold" if row == column else "normal"
        cell_text(ax, row, column, _short(float(values[row, column])), fontsize=theme.LABEL + 1, fontweight=weight)
    if labels:
        ax.axhline(len(names), color="white", linewidth=7)
    theme.dress(ax, "")
    ax.set_title("Agreement of judges by family", loc="left", fontsize=theme.TITLE, fontweight="bold", color=theme.INK)
    ax.tick_params(labelsize=theme.LABEL)
    size = f"{many(cross.across.n_items or cross.within.n_items, 'item')} in {cross.across.clusters}"
    note = f"{cross.label}, mean over pairs; {size}; bold: within a family; – no pair"
    ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.QUIET, loc="left", labelpad=8)
    theme.describe(ax, f"{note}; point estimates, the table has their intervals")
    return ax


def plot_with_labels(cross: Any, *, ax: Axes | None = None) -> Axes:
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


def plot_panel_worth(worth: Any, *, ax: Axes | None = None) -> Axes:
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
    title = title if number.ci_low > 0 else f"{len(worth.judges)} judges against labels"
    where = sentence_case(worth.where)
    note = f"{where}: accuracy against labels, best judge first; {many(number.n_items, 'item')} in {number.clusters}"
    theme.dress(ax, title, note)
    theme.describe(ax, f"{note}; accuracies without intervals, for the number {intervals(number)}")
    return ax


_QUIET: dict[str, Any] = {"fontsize": theme.SMALL, "color": theme.QUIET}


def _size(raters: int) -> tuple[float, float]:
    """Width and height of a matrix in inches."""
    cell = 0.55 if raters <= _FEW else 0.33
    return 3.6 + cell * raters, 2.2 + 0.93 * cell * raters


def _frame_families(ax: Axes, of: Any) -> None:
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


def _questions(of: Any) -> str:
    return theme.in_words(of.where)


def _labels(of: Any) -> str:
    return of_labels(of.panel.planted)


def _nothing(ax: Axes, title: str, reason: str) -> Axes:
    from textwrap import fill

    ax.text(
        0.5, 0.5, fill(f"Not shown: {reason}.", 60), ha="center", va="center", fontsize=theme.LABEL, color=theme.QUIET
    )
    ax.set_xticks([])
    ax.set_yticks([])
    return theme.dress(ax, title)
