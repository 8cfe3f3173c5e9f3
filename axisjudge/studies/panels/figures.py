"""Figures of panels: ways side by side, weights, reliability, what may stand, and error against price."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from axisjudge.figures.theme import (
    ACCENT,
    FAINT,
    INK,
    LABEL,
    QUIET,
    SMALL,
    at_the_right,
    cut_middle,
    describe,
    dress,
    grid,
    interval_mark,
    intervals,
    legend_below,
    named_rows,
    new_axes,
    percent_tick,
)
from axisjudge.stats.calibration import ReliabilityCurve
from axisjudge.stats.estimate import Estimate, many
from axisjudge.stats.panel_nested import REFERENCE, NestedWay
from axisjudge.studies.panels.sentences import NAMES
from axisjudge.studies.panels.trust import Frontier, Point, PointKind, Trust
from axisjudge.studies.panels.voted import FittedPanel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A colour and a marker for each kind of point, after Okabe and Ito.
KINDS = {
    PointKind.SINGLE: ("#0072B2", "o"),
    PointKind.PAIR: ("#009E73", "s"),
    PointKind.PANEL: ("#D55E00", "D"),
    PointKind.CASCADE: ("#CC79A7", "^"),
}


#: Letters of a judge's name that stand at a point.
_LONG = 16
_WEIGHTS = {
    "logistic": "log odds that a judge's word adds to that word",
    "ordered": "log odds of each step up that a judge's highest word adds over its lowest",
}


def plot_ways(ways: Mapping[str, NestedWay], *, ax: Axes | None = None) -> Axes:
    """The gain of every way over the best single judge, on tasks left out; the accuracy itself at the right."""
    ax = new_axes(7.0, 1.2 + 0.42 * len(ways)) if ax is None else ax
    ax.axvline(0, color=QUIET, linewidth=1)
    for row, (way, each) in enumerate(ways.items()):
        at_the_right(ax, row, f"{each.accuracy.estimate:.1%}")
        if way == REFERENCE:
            ax.plot(0, row, "o", color=INK, markersize=7, markerfacecolor="white")
        else:
            interval_mark(ax, each.gain, row)
    named_rows(ax, [NAMES[way] for way in ways])
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:+.3g}" if share else "0")
    ax.set_xlabel(
        "points of accuracy more than the best single judge; at the right the accuracy", fontsize=SMALL, color=QUIET
    )
    grid(ax)
    accuracy = ways[REFERENCE].accuracy
    note = f"{accuracy.n_items:,} labelled items; paired {intervals(accuracy)}"
    return dress(ax, "What putting judges together gains on tasks left out", note)


def plot_weights(panel: FittedPanel, *, ax: Axes | None = None) -> Axes:
    """Each judge's weight, the heaviest on top, with its family."""
    order = np.argsort(-np.array(panel.weights), kind="stable")
    ax = new_axes(7.0, 1.1 + 0.27 * len(order)) if ax is None else ax
    weights = np.array(panel.weights)[order]
    ax.barh(range(len(order)), weights, color=[ACCENT if weight > 0 else "#D55E00" for weight in weights], height=0.6)
    ax.axvline(0, color=QUIET, linewidth=1)
    named_rows(ax, [panel.judges[index] for index in order])
    for row, index in enumerate(order):
        at_the_right(ax, row, panel.families[index])
    grid(ax)
    ax.tick_params(axis="y", labelsize=SMALL)
    meaning = _WEIGHTS.get(panel.way, "weight of a judge's word")
    ax.set_xlabel(f"{meaning}; at the right its family", fontsize=SMALL, color=QUIET)
    note = f"{NAMES[panel.way]}; {many(panel.n_labels, 'label')} of {many(len(panel.tuned_on), 'task')}"
    dress(ax, "How much each judge's word counts", note)
    start = "weight: the " if panel.way in _WEIGHTS else ""
    describe(ax, f"{start}{meaning}, orange below 0; {note}; weights are fitted once and have no intervals")
    return ax


def plot_reliability(curve: ReliabilityCurve, *, ax: Axes | None = None) -> Axes:
    """The panel's probability of its own word against how often it is right, on tasks left out."""
    ax = new_axes(5.2, 4.6) if ax is None else ax
    ax.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle=":")
    ax.fill_between(
        curve.confidence, curve.band_low, curve.band_high, color=FAINT, linewidth=0, label="if perfectly calibrated"
    )
    at_one = float(np.ptp(curve.confidence)) < 1e-3  # a step and a band of no width, which nobody sees
    ax.step(
        curve.confidence,
        curve.calibrated,
        where="mid",
        color=ACCENT,
        linewidth=2,
        label="observed",
        marker="o" if at_one else None,
    )
    if at_one:
        ends = [curve.band_low.min(), curve.band_high.max()]
        ax.plot(curve.confidence[[0, 0]], ends, color=FAINT, linewidth=7, zorder=1)
    ax.set_xlim(max(0.0, float(curve.confidence.min()) - 0.02), 1.01)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("probability of the panel's word", fontsize=LABEL, color=INK)
    ax.set_ylabel("share that is right", fontsize=LABEL, color=INK)
    grid(ax, "both")
    ax.legend(frameon=False, fontsize=SMALL, labelcolor=QUIET, loc="lower right")
    dress(ax, "Can its probabilities be taken at their word?", f"{curve.n_items:,} labelled items, left out")
    describe(
        ax, f"blue: observed; grey: the 90% band of a perfectly calibrated panel of {curve.n_items:,} labelled items"
    )
    return ax


def plot_trust(trusts: Sequence[Trust], *, ax: Axes | None = None) -> Axes:
    """The error among what would stand, with the bound that was tested, as more and more is let stand."""
    ax = new_axes(7.0, 4.0) if ax is None else ax
    longest = max(trusts, key=lambda each: len(each.alone.tests))
    shares = [test.share for test in longest.alone.tests]
    ax.plot(
        shares,
        [test.error.estimate for test in longest.alone.tests],
        "o-",
        color=ACCENT,
        markersize=4,
        label="error among the labelled",
    )
    bounds = [test.error.ci_high for test in longest.alone.tests]
    ax.plot(shares, bounds, "-", color=ACCENT, linewidth=1, alpha=0.6)
    ax.fill_between(
        shares,
        [test.error.estimate for test in longest.alone.tests],
        bounds,
        color=ACCENT,
        alpha=0.12,
        linewidth=0,
        label=f"up to the bound ({100 * longest.alone.confidence_level:g}% sure)",
    )
    for each in trusts:
        ax.axhline(each.alone.risk, color=QUIET, linewidth=0.9, linestyle="--")
        words = f"{each.alone.share:.0%} stand" if each.granted else "none stand"
        ax.annotate(
            f"risk {100 * each.alone.risk:g}%: {words}",
            (1.01, each.alone.risk),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=SMALL,
            color=INK,
        )
        if each.granted and each.alone.error is not None:
            ax.plot(each.alone.share, each.alone.error.ci_high, "s", color="#D55E00", markersize=7)
    ax.set_xlim(-0.02, 1.0)
    ax.set_ylim(0, max([*bounds, *(each.alone.risk for each in trusts)]) * 1.1)
    ax.xaxis.set_major_formatter(percent_tick)
    ax.yaxis.set_major_formatter(percent_tick)
    ax.locator_params(axis="y", nbins=6, steps=[1, 2, 5, 10])
    ax.set_xlabel("share of verdicts that would stand, the most confident first", fontsize=LABEL, color=INK)
    grid(ax, "both")
    legend_below(ax, inches=0.55, ncols=2)
    note = f"{longest.subject}: {longest.n_labelled:,} labelled items; squares: as far as the bound holds"
    dress(ax, "Which verdicts may stand without a person", note)
    sure = f"{100 * longest.alone.confidence_level:g}%"
    describe(ax, f"line: error among the labelled; shaded: up to its bound, {sure} sure over whole tasks; {note}")
    return ax


def plot_frontier(frontier: Frontier, *, ax: Axes | None = None) -> Axes:
    """Error, or kappa with people on words in order, against price; what another point beats in both is grey."""
    ax = new_axes(7.4, 4.6) if ax is None else ax

    def outcome(point: Point) -> Estimate:
        return point.kappa if frontier.by_kappa else point.error

    for point in frontier.points:
        if point.dominated:
            ax.plot(
                point.price, outcome(point).estimate, KINDS[point.kind][1], color="#c4c4c4", markersize=4.5, zorder=1
            )
    best = frontier.best
    ax.step(
        [point.price for point in best],
        [outcome(point).estimate for point in best],
        where="post",
        color=QUIET,
        linewidth=0.9,
        zorder=2,
    )
    for point in best:
        colour, marker = KINDS[point.kind]
        ends = [outcome(point).ci_low, outcome(point).ci_high]
        ax.plot([point.price] * 2, ends, color=colour, linewidth=1.3, alpha=0.55, zorder=2)
        ax.plot(point.price, outcome(point).estimate, marker, color=colour, markersize=8, zorder=3)
    for kind in dict.fromkeys(point.kind for point in frontier.points):
        ax.plot([], [], KINDS[kind][1], color=KINDS[kind][0], label=kind.value)
    if len(best) < len(frontier.points):
        beaten = f"beaten in price and {'kappa' if frontier.by_kappa else 'error'}"
        ax.plot([], [], "o", color="#c4c4c4", markersize=4.5, label=beaten)
    least, most = _least_price(frontier.points), max(point.price for point in frontier.points)
    ax.set_xscale("symlog", linthresh=least, linscale=0.5)
    ax.set_xlim(-0.3 * least, 2 * max(most, least))
    decades = range(math.ceil(math.log10(1.2 * least)), math.ceil(math.log10(2 * max(most, least))))
    ax.set_xticks([0, *(10.0**decade for decade in decades)])
    ax.set_xticks([], minor=True)
    ax.xaxis.set_major_formatter(lambda price, _: f"${price:g}" if price else "0")
    if not frontier.by_kappa:
        ax.yaxis.set_major_formatter(percent_tick)
    ax.set_xlabel("US dollars an item", fontsize=LABEL, color=INK)
    named = "kappa with people" if frontier.by_kappa else "error"
    ax.set_ylabel(f"{named} on tasks left out", fontsize=LABEL, color=INK)
    grid(ax, "both")
    legend_below(ax, inches=0.62, ncols=5)
    first = outcome(frontier.points[0])
    dress(ax, "What money buys", f"{first.n_items:,} labelled items; {intervals(first)}")
    _label_steps(ax, [(point, outcome(point)) for point in best], down=frontier.by_kappa)
    return ax


def _label_steps(ax: Axes, steps: Sequence[tuple[Point, Estimate]], *, down: bool) -> None:
    """What each step of the staircase is, slanted and moved to the right so that neighbours do not meet."""
    x = -1.0
    for point, of in steps:
        ends = [end for end in (of.ci_low, of.ci_high) if not math.isnan(end)] or [of.estimate]
        y = min(ends) if down else max(ends)
        wanted, _ = ax.transAxes.inverted().transform(ax.transData.transform((point.price, y)))
        x = max(wanted, x + 0.04)
        ax.annotate(
            _short(point),
            (point.price, y),
            xytext=(x, -6 if down else 6),
            textcoords=("axes fraction", "offset points"),
            rotation=-40 if down else 40,
            rotation_mode="anchor",
            va="top" if down else "bottom",
            fontsize=SMALL,
            color=KINDS[point.kind][0],
            arrowprops={"arrowstyle": "-", "color": QUIET, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0},
        )


def _short(point: Point) -> str:
    """Judges by name where they are one or two."""
    if len(point.judges) < 3 and point.kind is not PointKind.CASCADE:
        return " + ".join(cut_middle(name, _LONG) for name in point.judges)
    return f"{'cascade' if point.kind is PointKind.CASCADE else 'panel'} of {len(point.judges)}"


def _least_price(points: Sequence[Point]) -> float:
    """The cheapest price that is not nothing; a dollar where all is free."""
    return min((point.price for point in points if point.price > 0), default=1.0)
