"""Figures of agreement: who agrees with whom, family by family, and with people."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from axisjudge.figures import theme
from axisjudge.figures.heatmap import cell_text, plot_heatmap
from axisjudge.figures.marks import interval_mark, named_rows
from axisjudge.studies.agreement.cross_family import CrossFamily

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: With more raters a panel is drawn alone, in smaller type.
_FEW = 10
#: Pairs of one family, and of two.
_WITHIN, _ACROSS = "#D55E00", theme.ACCENT


def plot_agreement_matrix(found: CrossFamily, *, ax: Axes | None = None) -> Axes:
    """Agreement of every two raters, ordered by family; a frame round each family, labels set apart at the end.

    The scale of colour is fixed at 0 to 1, so that matrices can be laid side by side; every cell says its value.
    """
    n = len(found.raters)
    few = n <= _FEW
    ax = theme.new_axes(*_size(n)) if ax is None else ax
    names = [_name(rater) for rater in found.raters]
    plot_heatmap(found.matrix, ax=ax, rows=names, columns=names, palette="YlGnBu", gap=1.0)
    for row, column in itertools.permutations(range(n), 2):
        cell_text(ax, row, column, _short(found.matrix[row, column]), fontsize=theme.LABEL - 0.5 if few else 6.5)
    ax.set_xticks(ax.get_xticks(), names, rotation=60, ha="left", rotation_mode="anchor")
    theme.dress(ax, "")
    ax.tick_params(labelsize=theme.LABEL if few else theme.SMALL)
    _frame_families(ax, found)
    ax.set_xlabel(_matrix_note(found), fontsize=theme.SMALL, color=theme.QUIET, loc="left", labelpad=8)
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
    for ax, found in itertools.zip_longest(axes.ravel(), results):
        if found is None:
            ax.set_axis_off()
            continue
        plot_agreement_matrix(found, ax=ax)
        title = _questions(found) if len(results) > 1 else f"{_questions(found)}: agreement of every two raters"
        ax.set_title(title, loc="left", fontsize=theme.TITLE, fontweight="bold", color=theme.INK)
    return figure


def plot_families(results: Sequence[CrossFamily], *, ax: Axes | None = None) -> Axes:
    """For each question every pair of judges as a dot, within and across families, with the mean and its interval."""
    ax = theme.new_axes(7.4, 1.5 + 0.8 * len(results)) if ax is None else ax
    for row, found in enumerate(results):
        judged = [pair for pair in found.pairs if not set(pair.raters) & set(found.labellers)]
        groups = ((True, found.within, -0.17, _WITHIN, "D"), (False, found.across, 0.17, _ACROSS, "o"))
        for within, mean, shift, colour, marker in groups:
            values = np.array([pair.value for pair in judged if pair.within == within])
            spread = 0.07 * np.sin(2.4 * np.arange(values.size))  # fixed, so that the figure keeps its bytes
            ax.plot(values, row + shift + spread, ".", color=colour, alpha=0.35, markersize=5, linewidth=0)
            interval_mark(ax, mean, row + shift, colour=colour, marker=marker, size=6.5)
    ax.plot([], [], "D", color=_WITHIN, label="within a family")
    ax.plot([], [], "o", color=_ACROSS, label="across families")
    ax.axvline(0, color=theme.FAINT, linewidth=0.8)
    named_rows(ax, [_questions(found) for found in results])
    theme.grid(ax)
    theme.legend_below(ax, inches=0.35, ncols=2)
    first = results[0]
    level = f"{first.across.ci_level:.0%}"
    note = f"{first.label}; dots: pairs of judges; marks: their mean with {level} interval over {first.across.clusters}"
    return theme.dress(ax, "Agreement of judges within and across families", note)


def plot_with_labels(found: CrossFamily, *, ax: Axes | None = None) -> Axes:
    """Each judge's agreement with the labels, with its interval; grey: people among themselves, the ceiling."""
    n = len(found.judges)
    ax = theme.new_axes(7.4, 1.4 + 0.27 * n) if ax is None else ax
    ceiling = found.among_people
    if not math.isnan(ceiling.ci_low):
        ax.axvspan(ceiling.ci_low, ceiling.ci_high, color=theme.FAINT, linewidth=0)
        beside = {"xytext": (-3, 0), "textcoords": "offset points", "rotation": 90, "ha": "right", "va": "center"}
        place_of_text = {"xy": (ceiling.ci_low, 0.5), "xycoords": ("data", "axes fraction")}
        ax.annotate("people among themselves", **place_of_text, **beside, **_QUIET)  # type: ignore[arg-type]
    at, heights, above = 0.0, [], ""
    for family, mean in zip(found.families, found.with_labels.values(), strict=False):
        if family != above:
            at += 0.6 * bool(above)
            ax.annotate(family, (1.02, at), xycoords=("axes fraction", "data"), va="center", **_QUIET)
        interval_mark(ax, mean, at)
        heights.append(at)
        at, above = at + 1, family
    ax.set_yticks(heights, [_name(judge) for judge in found.judges])
    ax.set_ylim(at - 0.5, -0.5)
    ax.axvline(0, color=theme.FAINT, linewidth=0.8)
    theme.grid(ax)
    mean = found.with_labels[found.judges[0]]
    who = f"mean over {len(found.labellers)} labellers; " if len(found.labellers) > 1 else ""
    note = f"{found.label}, {_questions(found)}; {who}{mean.ci_level:.0%} intervals over {mean.clusters}"
    return theme.dress(ax, f"Judges against {_labels(found)}", note)


_QUIET: dict[str, Any] = {"fontsize": theme.SMALL, "color": theme.QUIET}


def _size(raters: int) -> tuple[float, float]:
    """Width and height of a matrix in inches."""
    cell = 0.55 if raters <= _FEW else 0.33
    return 3.6 + cell * raters, 2.2 + 0.93 * cell * raters


def _frame_families(ax: Axes, found: CrossFamily) -> None:
    from matplotlib.patches import Rectangle

    start = 0
    families = [*found.families[: len(found.judges)], *(_labels(found) for _ in found.labellers)]
    for family, members in itertools.groupby(families):
        size = len(list(members))
        frame = Rectangle((start, start), size, size, fill=False, edgecolor=theme.INK, linewidth=1.3, zorder=3)
        frame.set_clip_on(False)
        ax.add_patch(frame)
        place: dict[str, Any] = {"xy": (1.015, start + size / 2), "xycoords": ("axes fraction", "data"), "va": "center"}
        ax.annotate(family, **place, **_QUIET)
        start += size
    if found.labellers:
        ax.axhline(len(found.judges), color="white", linewidth=4)
        ax.axvline(len(found.judges), color="white", linewidth=4)


def _matrix_note(found: CrossFamily) -> str:
    return f"{found.label}; {found.across.n_items:,} items in {found.across.clusters}; – undefined"


def _short(value: float) -> str:
    return "–" if math.isnan(value) else f"{round(value, 2) + 0.0:.2f}".replace("0.", ".", 1).replace("-", "−")


def _name(rater: str) -> str:
    return rater.replace("_", " ").replace("simulated:", "")


def _questions(found: CrossFamily) -> str:
    return (
        theme.in_words(found.questions[0])
        if len(found.questions) == 1
        else f"{len(found.questions)} questions together"
    )


def _labels(found: CrossFamily) -> str:
    return "planted truth" if found.planted else "people"
