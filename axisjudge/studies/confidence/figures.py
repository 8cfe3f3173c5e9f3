"""Figures of confidence against labels: reliability diagrams with what a calibrated judge would show."""

from __future__ import annotations

from math import isnan
from textwrap import fill
from typing import TYPE_CHECKING

from axisjudge.figures.legible import cut_middle
from axisjudge.figures.theme import ACCENT, FAINT, INK, QUIET, SMALL, describe, dress, panels
from axisjudge.studies.confidence.calibration import Calibration, JudgeCalibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Characters of a name above a diagram.
_LINE = 22


def plot_reliability(calibration: Calibration) -> Figure:
    """One reliability diagram a judge and source of confidence, three in a row.

    The line is the share of correct verdicts by isotonic regression, the grey band where that line would lie for a
    judge whose confidence is exactly right, the ticks below how often each confidence was given.
    """
    figure, axes, left = panels(len(calibration.judges), width=3.3, height=3.5)
    for ax, judge in zip(axes, calibration.judges, strict=True):
        _diagram(ax, judge)
    for ax in left:
        ax.set_ylabel("share of correct verdicts", fontsize=SMALL, color=QUIET)
    figure.supxlabel("confidence; below each diagram how often it was given", fontsize=SMALL, color=QUIET)
    describe(
        figure,
        "line: share of correct verdicts; grey: where that line would lie, as a whole in 90% of draws, for a "
        "judge whose confidences are exactly right (its band widens with items that belong together)",
    )
    return figure


def _diagram(ax: Axes, judge: JudgeCalibration) -> None:
    curve = judge.curve
    ax.plot([0, 1], [0, 1], color=FAINT, linewidth=1, zorder=1)
    if curve.confidence.size > 1:
        ax.fill_between(curve.confidence, curve.band_low, curve.band_high, color="#d9d9d9", linewidth=0, zorder=0)
        ax.plot(curve.confidence, curve.calibrated, color=ACCENT, linewidth=1.8)
    else:
        low, high = curve.band_low[0], curve.band_high[0]
        ax.errorbar(curve.confidence, [(low + high) / 2], yerr=[(high - low) / 2], color="#bdbdbd", linewidth=5)
        ax.plot(curve.confidence, curve.calibrated, "o", color=ACCENT)
    heights = 0.12 * curve.count / curve.count.max()
    ax.vlines(curve.confidence, 0, heights, color=INK, linewidth=0.8)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(0, 1.03)
    ax.set_aspect("equal")
    name = fill(cut_middle(judge.judge.removeprefix("simulated:")), _LINE)
    dress(ax, name, f"{judge.source}, {curve.n_items:,} verdicts")
    ax.tick_params(labelsize=SMALL)
    said = f"ECE {curve.ece:.3f}, of a calibrated judge {curve.ece_if_calibrated:.3f}"
    said += "" if isnan(judge.auc.estimate) else f"; AUROC {judge.auc.estimate:.2f}"
    ax.set_xlabel(said, fontsize=SMALL, color=INK, loc="left")
