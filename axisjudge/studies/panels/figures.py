"""Figures of panels: ways side by side, weights, reliability, what may stand, and error against price."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from axisjudge.figures import theme
from axisjudge.stats.calibration import ReliabilityCurve
from axisjudge.stats.estimate import Estimate, many
from axisjudge.stats.panel_nested import REFERENCE, NestedWay
from axisjudge.studies.panels.sentences import NAMES
from axisjudge.studies.panels.trust import Frontier, Point, PointKind, Trust
from axisjudge.studies.panels.voted import FittedPanel

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


def plot_ways(ways: Mapping[str, NestedWay], *, ax: theme.Axes | None = None) -> theme.Axes:
    """The gain of every way over the best single judge, on tasks left out; the accuracy itself at the right.

    The way that is right most often stands first.
    """
    ways = dict(sorted(ways.items(), key=lambda way: -np.nan_to_num(way[1].accuracy.estimate)))
    ax = theme.new_axes(7.0, 1.2 + 0.42 * len(ways)) if ax is None else ax
    ax.axvline(0, color=theme.QUIET, linewidth=1)
    for row, (way, each) in enumerate(ways.items()):
        theme.at_the_right(ax, row, f"{each.accuracy.estimate:.1%}")
        if way == REFERENCE:
            ax.plot(0, row, "o", color=theme.INK, markersize=7, markerfacecolor="white")
        else:
            theme.interval_mark(ax, each.gain, row)
    theme.named_rows(ax, [NAMES[way] for way in ways])
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:+.3g}" if share else "0")
    accuracy = ways[REFERENCE].accuracy
    note = f"{accuracy.n_items:,} labelled items, each left out where it is tried; paired {theme.intervals(accuracy)}"
    points = "points of accuracy more than the best single judge; at the right how often it is right"
    return theme.dress(ax, "What putting judges together gains", note, x=points, lines="x")


def plot_weights(panel: FittedPanel, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Each judge's weight, the heaviest on top, with its family."""
    order = np.argsort(-np.array(panel.weights), kind="stable")
    ax = theme.new_axes(7.0, 1.1 + 0.27 * len(order)) if ax is None else ax
    for row, judge in enumerate(order):
        ax.barh(row, panel.weights[judge], color=theme.ACCENT if panel.weights[judge] > 0 else "#D55E00", height=0.6)
        theme.at_the_right(ax, row, panel.families[judge])
    ax.axvline(0, color=theme.QUIET, linewidth=1)
    theme.named_rows(ax, [panel.judges[judge] for judge in order])
    meaning = _WEIGHTS.get(panel.way, "weight of a judge's word")
    note = f"{NAMES[panel.way]}; {many(panel.n_labels, 'label')} of {many(len(panel.tuned_on), 'task')}"
    start = "weight: the " if panel.way in _WEIGHTS else ""
    how = f"{start}{meaning}, orange below 0; {note}; weights are fitted once and have no intervals"
    x = f"{meaning}; at the right its family"
    theme.dress(ax, "How much each judge's word counts", note, how=how, x=x, lines="x")
    ax.tick_params(axis="y", labelsize=theme.SMALL)
    return ax


def plot_reliability(curve: ReliabilityCurve, *, ax: theme.Axes | None = None) -> theme.Axes:
    """The panel's probability of its own word against how often it is right, on tasks left out."""
    ax = theme.new_axes(5.2, 4.6) if ax is None else ax
    sure, low, high = curve.confidence, curve.band_low, curve.band_high
    ax.plot([0, 1], [0, 1], color=theme.QUIET, linewidth=1, linestyle=":")
    ax.fill_between(sure, low, high, color=theme.FAINT, linewidth=0, label="if perfectly calibrated")
    at_one = float(np.ptp(sure)) < 1e-3  # a step and a band of no width, which nobody sees
    if at_one:
        ax.plot(sure[[0, 0]], [low.min(), high.max()], color=theme.FAINT, linewidth=7, zorder=1)
    marker = "o" if at_one else None
    ax.step(sure, curve.calibrated, where="mid", color=theme.ACCENT, linewidth=2, label="observed", marker=marker)
    ax.set_xlim(max(0.0, float(sure.min()) - 0.02), 1.01)
    ax.set_ylim(0, 1.02)
    ax.legend(frameon=False, fontsize=theme.SMALL, labelcolor=theme.QUIET, loc="lower right")
    items = f"{curve.n_items:,} labelled items"
    how = f"blue: observed; grey: the 90% band of a perfectly calibrated panel of {items}"
    axes = {"x": "probability of the panel's word", "y": "share that is right"}
    title, note = "Can its probabilities be taken at their word?", f"{items}, left out"
    return theme.dress(ax, title, note, how=how, lines="both", **axes)


def plot_trust(trusts: Sequence[Trust], *, ax: theme.Axes | None = None) -> theme.Axes:
    """The error among what would stand, with the bound that was tested, as more and more is let stand."""
    ax = theme.new_axes(7.0, 4.0) if ax is None else ax
    longest = max(trusts, key=lambda each: len(each.alone.tests))
    tests, sure = longest.alone.tests, f"{100 * longest.alone.confidence_level:g}% sure"
    points = ((test.share, test.error.estimate, test.error.ci_high) for test in tests)
    shares, errors, bounds = zip(*points, strict=True)
    ax.plot(shares, errors, "o-", color=theme.ACCENT, markersize=4, label="error among the labelled")
    ax.plot(shares, bounds, "-", color=theme.ACCENT, linewidth=1, alpha=0.6)
    shaded = f"up to the bound ({sure})"
    ax.fill_between(shares, errors, bounds, color=theme.ACCENT, alpha=0.12, linewidth=0, label=shaded)
    for each in trusts:
        risk = each.alone.risk
        ax.axhline(risk, color=theme.QUIET, linewidth=0.9, linestyle="--")
        words = f"risk {100 * risk:g}%: {f'{each.alone.share:.0%}' if each.granted else 'none'} stand"
        theme.at_the_right(ax, risk, words, size=theme.SMALL)
        if each.granted and each.alone.error is not None:
            ax.plot(each.alone.share, each.alone.error.ci_high, "s", color="#D55E00", markersize=7)
    ax.set_xlim(-0.02, 1.01)
    ax.set_ylim(0, max([*bounds, *(each.alone.risk for each in trusts)]) * 1.1)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(theme.percent_tick)
    ax.locator_params(axis="y", nbins=6, steps=[1, 2, 5, 10])
    theme.legend_below(ax, inches=0.55)
    note = f"{longest.subject}: {longest.n_labelled:,} labelled items; squares: as far as the bound holds"
    how = f"line: error among the labelled; shaded: up to its bound, {sure} over whole tasks; {note}"
    x = "share of verdicts that would stand, the most confident first"
    return theme.dress(ax, "Which verdicts may stand without a person", note, how=how, x=x, lines="both")


def plot_frontier(frontier: Frontier, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Error, or kappa with people on words in order, against price; what another point beats in both is grey."""
    ax = theme.new_axes(7.4, 4.6) if ax is None else ax
    points, best, by_kappa = frontier.points, frontier.best, frontier.by_kappa

    def outcome(point: Point) -> Estimate:
        return point.kappa if by_kappa else point.error

    grey: dict[str, Any] = {"color": "#c4c4c4", "markersize": 4.5}
    for point in points:
        if point.dominated:
            ax.plot(point.price, outcome(point).estimate, KINDS[point.kind][1], **grey, zorder=1)
    stairs = [point.price for point in best], [outcome(point).estimate for point in best]
    ax.step(*stairs, where="post", color=theme.QUIET, linewidth=0.9, zorder=2)
    for point in best:
        colour, marker = KINDS[point.kind]
        theme.interval_mark(
            ax, outcome(point), point.price, colour=colour, marker=marker, upright=True, size=8, alpha=0.55
        )
    kinds = dict.fromkeys(point.kind for point in points)
    marks = {kind.value: dict(zip(("color", "marker"), KINDS[kind], strict=True)) for kind in kinds}
    beaten = {f"beaten in price and {'kappa' if by_kappa else 'error'}": grey} if len(best) < len(points) else {}
    least = min((point.price for point in points if point.price > 0), default=1.0)  # a dollar where all is free
    most = 2 * max(least, *(point.price for point in points))
    ax.set_xscale("symlog", linthresh=least, linscale=0.5)
    ax.set_xlim(-0.3 * least, most)
    decades = range(math.ceil(math.log10(1.2 * least)), math.ceil(math.log10(most)))
    ax.set_xticks([0, *(10.0**decade for decade in decades)])
    ax.set_xticks([], minor=True)
    ax.xaxis.set_major_formatter(lambda price, _: f"${price:g}" if price else "0")
    if not by_kappa:
        ax.yaxis.set_major_formatter(theme.percent_tick)
    theme.legend_below(ax, marks | beaten, inches=0.62, ncols=5)
    first = outcome(points[0])
    note = f"{first.n_items:,} labelled items; {theme.intervals(first)}"
    y = f"{'kappa with people' if by_kappa else 'error'} on tasks left out"
    theme.dress(ax, "What money buys", note, x="US dollars an item", y=y, lines="both")
    _label_steps(ax, [(point, outcome(point)) for point in best], down=by_kappa)
    return ax


def _label_steps(ax: theme.Axes, steps: Sequence[tuple[Point, Estimate]], *, down: bool) -> None:
    """What each step of the staircase is, slanted and moved to the right so that neighbours do not meet."""
    x, line = -1.0, {"arrowstyle": "-", "color": theme.QUIET, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0}
    slant: dict[str, Any] = {"rotation": -40 if down else 40, "rotation_mode": "anchor", "arrowprops": line}
    for point, of in steps:
        ends = [end for end in (of.ci_low, of.ci_high) if not math.isnan(end)] or [of.estimate]
        y = min(ends) if down else max(ends)
        x = max(ax.transAxes.inverted().transform(ax.transData.transform((point.price, y)))[0], x + 0.04)
        name = f"{'cascade' if point.kind is PointKind.CASCADE else 'panel'} of {len(point.judges)}"
        if len(point.judges) < 3 and point.kind is not PointKind.CASCADE:
            name = " + ".join(theme.cut_middle(judge, _LONG) for judge in point.judges)
        offset: dict[str, Any] = {"xytext": (x, -6 if down else 6), "textcoords": ("axes fraction", "offset points")}
        style: dict[str, Any] = {"va": "top" if down else "bottom", "color": KINDS[point.kind][0]}
        ax.annotate(name, (point.price, y), **offset, **slant, **style, fontsize=theme.SMALL)
