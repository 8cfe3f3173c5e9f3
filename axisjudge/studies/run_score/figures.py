"""Figures of run scores: their spread, their components, their course, and whether they rank as labels do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from axisjudge.figures import theme
from axisjudge.figures.heatmap import cell_text, plot_heatmap
from axisjudge.figures.marks import at_the_right, interval_mark, intervals, named_rows, percent_tick
from axisjudge.scores.run_score import COMPONENTS, TIERS
from axisjudge.studies.run_score.calibration import ScoreCalibration
from axisjudge.studies.run_score.summary import ScoreSummary
from axisjudge.studies.run_score.trend import Trend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Tiers from pale to strong; each is also named.
_TIER_COLOURS = {"Bronze": "#f3e9e0", "Silver": "#eceff3", "Gold": "#fdf3d3", "Elite": "#e3eefa"}
_FROZEN = "#D55E00"


def plot_score_spread(summary: ScoreSummary, *, ax: Axes | None = None) -> Axes:
    """Every score of every agent on bands of the tiers, with the mean and its interval under the points."""
    import seaborn as sns

    agents = list(summary.means)
    ax = theme.new_axes(7.4, 1.2 + 0.8 * len(agents)) if ax is None else ax
    _tier_bands(ax)
    scores = {name: summary.scores[name].to_list() for name in ("score", "agent")}
    if scores["score"]:
        sns.swarmplot(
            x=scores["score"],
            y=scores["agent"],
            order=agents,
            size=2.8,
            color=theme.ACCENT,
            ax=ax,
            warn_thresh=1.0,
            orient="h",
        )
    for row, mean in enumerate(summary.means.values()):
        interval_mark(ax, mean, row + 0.44, colour=theme.INK, marker="D", size=5)
    named_rows(ax, agents)
    ax.set_ylim(len(agents) - 0.4, -0.65)
    ax.set_xlim(-1, 101)
    ax.set_ylabel("")
    ax.set_xlabel(
        "score; one dot a run, diamond and bar: mean with interval over specs", fontsize=theme.SMALL, color=theme.QUIET
    )
    theme.dress(ax, "Scores per agent", "bands: Bronze, Silver, Gold, Elite")
    widest = max(summary.means.values(), key=lambda mean: mean.n_clusters, default=None)
    theme.describe(ax, f"a dot is a run, a diamond the mean; {intervals(widest)}")
    return ax


def plot_components(summary: ScoreSummary, *, ax: Axes | None = None) -> Axes:
    """Mean of each component per agent as a theme.grid of numbers; colour only repeats them."""
    agents = list(summary.means)
    ax = theme.new_axes(1.9 + 1.4 * len(agents), 3.2) if ax is None else ax
    cells = summary.components.with_columns(pl.col("mean").fill_null(np.nan))
    means, runs = (cells[name].to_numpy().reshape(len(agents), -1).T for name in ("mean", "runs"))
    rows = [theme.in_words(name) for name in COMPONENTS]
    plot_heatmap(means / 100, ax=ax, rows=rows, columns=agents, palette="Blues")
    for (row, column), mean in np.ndenumerate(means):
        if np.isnan(mean):
            cell_text(ax, row, column, "no data", quiet=True, fontsize=theme.SMALL)
            continue
        cell_text(ax, row, column, f"{mean:.0f}", down=-0.15, fontsize=theme.LABEL + 1.5)
        cell_text(ax, row, column, f"{runs[row, column]} runs", down=0.22, fontsize=theme.SMALL)
    theme.dress(ax, "Components per agent")
    theme.describe(ax, "means over the runs in which a component could be computed, without intervals")
    ax.set_xlabel(
        "mean over the runs in which it could be computed", fontsize=theme.SMALL, color=theme.QUIET, loc="left"
    )
    return ax


def plot_score_trend(trend: Trend) -> Figure:
    """Mean score per period by the rolling and by the frozen baseline, one panel an agent."""
    import matplotlib.pyplot as plt

    agents = trend.frame["agent"].unique().sort().to_list()
    figure, panels = plt.subplots(
        1, len(agents), figsize=(1.2 + 2.2 * len(agents), 2.9), sharey=True, layout="constrained", squeeze=False
    )
    for ax, agent in zip(panels[0], agents, strict=True):
        own = trend.frame.filter(pl.col("agent") == agent)
        periods = own["period"].to_numpy()
        ax.plot(periods, own["frozen_score"], "s--", color=_FROZEN, markersize=5, label="frozen baseline")
        ax.plot(periods, own["rolling_score"], "o-", color=theme.ACCENT, markersize=5, label="rolling baseline")
        ax.set_xticks(periods, [moment.strftime("%b %y") for moment in own["starts"]], rotation=60)
        theme.grid(ax, "y")
        theme.dress(ax, agent, f"{own['runs'].sum()} runs")
        ax.tick_params(axis="x", labelsize=theme.SMALL)
    panels[0][0].set_ylabel("mean score", fontsize=theme.LABEL, color=theme.QUIET)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=theme.SMALL)
    theme.describe(figure, f"means of {trend.n_runs} runs, without intervals; both lines are of the same runs")
    return figure


def plot_score_calibration(calibration: ScoreCalibration, *, ax: Axes | None = None) -> Axes:
    """Share of good runs by score, with the S-curve and the score itself as forecasts."""
    ax = theme.new_axes(6.4, 4.0) if ax is None else ax
    for score, share in calibration.bands():
        interval_mark(ax, share, score, colour=theme.INK, size=5, upright=True)
    ax.plot([0, 100], [0, 1], ":", color=theme.QUIET, label="score / 100 as it stands")
    if calibration.fit.curve is not None:
        scores = np.linspace(1, 100, 200)
        ax.plot(scores, calibration.forecast(scores), color=theme.ACCENT, linewidth=1.8, label="fitted S-curve")
    ax.plot(
        [], [], "o", color=theme.INK, label="share of good runs in a fifth of all runs, with its interval over specs"
    )
    ax.set_xlim(0, 102)
    ax.set_ylim(-0.03, 1.09)
    ax.set_xlabel("score" + (f" without {calibration.dropped}" if calibration.dropped else ""), color=theme.QUIET)
    ax.yaxis.set_major_formatter(percent_tick)
    theme.grid(ax, "both")
    theme.legend_below(ax, inches=0.55, ncols=1)
    theme.dress(ax, "Good runs by score", f"labels: {calibration.labels}")
    theme.describe(ax, f"marks: a fifth of all runs each; labels: {calibration.labels}; {intervals(calibration.auc)}")
    return ax


def plot_aucs(calibration: ScoreCalibration, *, ax: Axes | None = None) -> Axes:
    """AUC of the score and of each component against the labels, with intervals; one half is chance."""
    aucs = calibration.aucs
    ax = theme.new_axes(6.4, 1.2 + 0.42 * len(aucs)) if ax is None else ax
    for row, auc in enumerate(aucs.values()):
        interval_mark(ax, auc, row)
        at_the_right(ax, row, "undefined" if np.isnan(auc.estimate) else f"{auc.estimate:.2f}")
    ax.axvline(0.5, color=theme.QUIET, linewidth=1, linestyle=":")
    named_rows(ax, [theme.in_words(name) for name in aucs])
    ax.set_xlim(0.2, 1.02)
    theme.grid(ax)
    note = f"labels: {calibration.labels}; {calibration.auc.n_items} runs, {intervals(calibration.auc)}; dotted: chance"
    return theme.dress(ax, "Chance that a good run scores higher (AUC)", note)


def _tier_bands(ax: Axes) -> None:
    starts = sorted(TIERS.items(), key=lambda each: each[1])
    for (tier, low), high in zip(starts, [*(low for _, low in starts[1:]), 101], strict=True):
        ax.axvspan(low - 0.5, high - 0.5, color=_TIER_COLOURS[tier], zorder=0)
        ax.annotate(
            tier,
            ((low + min(high, 100)) / 2, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, -9),
            textcoords="offset points",
            ha="center",
            fontsize=theme.SMALL,
            color=theme.QUIET,
        )
