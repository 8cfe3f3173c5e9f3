"""Figures of S-curves: fits with their bands, the cliff, published points, composites under two sets of curves."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from axisjudge.figures import theme
from axisjudge.figures.marks import interval_mark, named_rows
from axisjudge.studies.curves.composites import CompositeComparison
from axisjudge.studies.curves.examples import Cliff, PublishedCurve
from axisjudge.studies.curves.fits import CurveReport, DimensionCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORANGE = "#D55E00"


def plot_curves(report: CurveReport) -> Figure:
    """One panel a dimension: runs as people see them, the fitted curve with its band, the assumed curve dashed.

    A bar at 50 is the interval of the median. Where the fit is refused the panel says why, and shows the data.
    """
    figure, axes, left = theme.panels(len(report.dimensions), width=3.5, height=3.4)
    for ax, each in zip(axes, report.dimensions, strict=True):
        _panel(ax, each)
    for ax in left:
        ax.set_ylabel("score, and people's scores", fontsize=theme.SMALL, color=theme.QUIET)
    figure.supxlabel(
        "raw score; blue: fitted with its band; dashed: assumed; dots: runs", fontsize=theme.SMALL, color=theme.QUIET
    )
    level = next((f"{each.fit.median.ci_level:.0%} " for each in report.dimensions if each.fit.curve), "")
    how = "dots: runs; blue: fitted, dashed: assumed; the bar is the interval of the median"
    theme.describe(figure, f"{how}; {level}intervals and bands over tasks")
    return figure


def _panel(ax: Axes, each: DimensionCurve) -> None:
    ax.scatter(each.points["raw"], each.points["human"], s=9, color=theme.QUIET, alpha=0.35, linewidths=0, zorder=1)
    drawn, fit = each.drawn(), each.fit
    ax.plot(drawn["raw"], drawn["assumed"], color=_ORANGE, linewidth=1.3, linestyle=(0, (5, 3)), zorder=2)
    ax.set_xlim(0, 1.02)
    ax.set_ylim(-2, 103)
    theme.grid(ax, "y")
    if fit.curve is None:
        note = fill(f"refused: {fit.refusals[0].reason}", 34)
        ax.text(0.03, 0.97, note, transform=ax.transAxes, fontsize=theme.SMALL, color=theme.INK, va="top")
        theme.dress(ax, theme.in_words(each.dimension), f"{fit.score_name}: no curve")
        return
    ax.fill_between(drawn["raw"], drawn["low"], drawn["high"], color=theme.ACCENT, alpha=0.2, linewidth=0, zorder=2)
    ax.plot(drawn["raw"], drawn["score"], color=theme.ACCENT, linewidth=1.8, zorder=3)
    low, high = max(fit.median.ci_low, 0.0), min(fit.median.ci_high, 1.02)
    ax.plot([low, high], [50, 50], color=theme.INK, linewidth=3, solid_capstyle="butt", zorder=4)
    note = f"{fit.score_name}: median {fit.median.estimate:.2f}, sigma {fit.sigma.estimate:.2f}"
    theme.dress(ax, theme.in_words(each.dimension), note)


def plot_cliff(top: Cliff, *, ax: Axes | None = None) -> Axes:
    """The top end of the assumed curve: the program's rounded scores with their jump, and the mended curve."""
    ax = theme.new_axes(6.4, 3.3) if ax is None else ax
    line, raw = top.line, top.line["raw"]
    ax.axhspan(min(top.unreachable) - 0.5, max(top.unreachable) + 0.5, color="#f2e3d8", linewidth=0)
    ax.plot(raw, line["curve"], color=_ORANGE, linewidth=1.8, label="assumed curve")
    ax.plot(raw, line["mended"], color=theme.ACCENT, linewidth=1.8, linestyle=(0, (5, 2)), label="mended: F(x) / F(1)")
    ax.plot([1.0], [100], "o", color=_ORANGE, markersize=7)
    ax.plot([1.0], [line["curve"][-1]], "o", color=_ORANGE, markersize=7, fillstyle="none")
    ax.text(0.852, max(top.unreachable) - 0.9, "cannot occur", fontsize=theme.SMALL, color=theme.INK, va="center")
    ax.set_xlim(0.85, 1.004)
    ax.set_xlabel("raw score", fontsize=theme.SMALL, color=theme.QUIET)
    theme.grid(ax, "y")
    theme.legend_below(ax, inches=0.5, ncols=2)
    note = "score from 0 to 100; the filled point is raw 1"
    theme.dress(ax, "The last step of the assumed curve is a cliff", note)
    theme.describe(ax, f"{note}; shaded: scores that cannot occur; computed from a formula, so no interval")
    return ax


def plot_published(curve: PublishedCurve, *, ax: Axes | None = None) -> Axes:
    """Published points on the curve through their two control points; lower raw values are better."""
    ax = theme.new_axes(6.4, 3.1) if ax is None else ax
    ax.plot(curve.line["raw_ms"], curve.line["score"], color=theme.ACCENT, linewidth=1.8)
    ax.plot(curve.points["raw_ms"], curve.points["score"], "o", color=theme.INK, markersize=5, fillstyle="none")
    ax.set_xscale("log")
    ax.set_xticks([1000, 2500, 5000, 10_000, 30_000], ["1,000", "2,500", "5,000", "10,000", "30,000"])
    ax.minorticks_off()
    ax.set_xlabel("milliseconds", fontsize=theme.SMALL, color=theme.QUIET)
    theme.grid(ax, "y")
    note = "score; circles: published; line: ours"
    theme.dress(ax, "Published points on a falling log-normal curve", note)
    theme.describe(ax, f"{note}; computed from a formula, so no interval")
    return ax


def plot_composites(compared: CompositeComparison, *, ax: Axes | None = None) -> Axes:
    """Each agent's mean composite under assumed and under fitted curves; bars are the fitted curves' uncertainty."""
    ax = theme.new_axes(6.4, 0.55 * compared.agents.height + 1.3) if ax is None else ax
    rows = compared.agents.sort("fitted", descending=True).to_dicts()
    for height, row in enumerate(rows):
        ax.plot([row["assumed"], row["fitted"]], [height, height], color=theme.FAINT, linewidth=2, zorder=1)
        ax.plot(row["assumed"], height, "D", color=_ORANGE, markersize=7, fillstyle="none", zorder=2)
        interval_mark(ax, _Mark(row["fitted"], row["low"], row["high"]), height, size=6, zorder=3)
    named_rows(ax, [row["agent"] for row in rows])
    ax.set_xlabel("mean composite", fontsize=theme.SMALL, color=theme.QUIET)
    theme.grid(ax)
    note = "diamond: assumed curves; dot: fitted curves with the band of their uncertainty"
    theme.dress(ax, "What fitting the curves does to composites", note)
    theme.describe(ax, f"{note} alone, no interval over runs")
    return ax


def plot_form_errors(report: CurveReport, *, ax: Axes | None = None) -> Axes:
    """Cross-validated error of every form, one mark a dimension."""
    import seaborn as sns

    ax = theme.new_axes(6.4, 3.2) if ax is None else ax
    losses = [(theme.in_words(each.dimension), loss) for each in report.dimensions for loss in each.forms]
    if losses:
        names = [name for name, _ in losses]
        sns.scatterplot(
            x=[loss.error for _, loss in losses],
            y=[loss.form.replace("_", "-") for _, loss in losses],
            ax=ax,
            hue=names,
            style=names,
            palette=sns.color_palette("colorblind", len(set(names))),
            s=55,
            linewidth=0,
        )
        ax.margins(y=0.15)
        theme.legend_below(ax, inches=0.5, ncols=3)
    ax.set_xlim(left=0)
    ax.set_xlabel("error on unseen tasks, in points", fontsize=theme.SMALL, color=theme.QUIET)
    theme.grid(ax)
    note = "root mean squared difference"
    theme.dress(ax, "Which form predicts people's scores of unseen tasks", note)
    theme.describe(ax, f"{note}, in points of the score; intervals of the differences over tasks are in the table")
    return ax


class _Mark(NamedTuple):
    estimate: float
    ci_low: float
    ci_high: float
