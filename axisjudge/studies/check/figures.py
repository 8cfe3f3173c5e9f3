"""The figures: what each judge passes and catches, with the interval of each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from axisjudge.figures.marks import interval_mark, named_rows
from axisjudge.figures.theme import FAINT, INK, QUIET, SMALL, dress
from axisjudge.studies.check.compute import CHANCE_CORRECTED
from axisjudge.studies.check.tables import heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from axisjudge.studies.check.checked import Checked


def plot_shares(result: Checked) -> Figure:
    """What each judge passes and catches, or how often it agrees where the question has no sides; one row a judge."""
    shares = ("specificity", "sensitivity", "balanced_accuracy")
    return _intervals(result, _given(result, shares) or ["agreement"], (0, 1))


def plot_agreement(result: Checked) -> Figure:
    """Agreement beyond chance, one row a judge."""
    return _intervals(result, _given(result, CHANCE_CORRECTED), (-1, 1))


def _given(result: Checked, names: Iterable[str]) -> list[str]:
    return [name for name in names if name in result.judges[0].measures]


def _intervals(result: Checked, names: list[str], span: tuple[float, float]) -> Figure:
    import matplotlib.pyplot as plt

    height = 1.1 + 0.28 * len(result.judges)
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.2 * len(names) + 1.5, height), sharey=True, squeeze=False, layout="constrained"
    )
    for ax, name in zip(axes[0], names, strict=True):
        _panel(ax, result, name, span)
    figure.supxlabel(f"{result.terms.ci_level:.0%} intervals by {result.votes.unit}", fontsize=SMALL, color=QUIET)
    return figure


def _panel(ax: Axes, result: Checked, name: str, span: tuple[float, float]) -> None:
    for row, judge in enumerate(result.judges):
        found = judge.measures[name]
        interval_mark(ax, found, row, size=5)
        if math.isnan(found.estimate):
            ax.annotate("not given", (sum(span) / 2, row), fontsize=SMALL, color=QUIET, ha="center", va="center")
    named_rows(ax, [judge.name for judge in result.judges])
    dress(ax, "")
    ax.set_title(heading(result, name), loc="left", fontsize=10, color=INK)
    ax.set_xlim(*span)
    ax.axvline(0.5 if name == "balanced_accuracy" else 0, color=FAINT, linewidth=1, zorder=0)
