"""Figures of study plans: what studies of growing size give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from axisjudge.figures.marks import percent_tick
from axisjudge.figures.theme import QUIET, SMALL, describe, dress, grid, legend_below, new_axes
from axisjudge.stats.estimate import plural
from axisjudge.stats.planning.study_curve import StudyCurve
from axisjudge.studies._shared.words import many
from axisjudge.studies.plan.pilots import PanelError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_plans(curves: Mapping[str, StudyCurve], *, title: str, ax: Axes | None = None) -> Axes:
    """Half width (or power) against size, one line a scenario; a ring marks the size at which the target is met.

    Bars show the standard deviation of the half width between studies: yours may be luckier or not.
    """
    import matplotlib as mpl
    import seaborn as sns

    ax = new_axes(6.8, 3.9) if ax is None else ax
    first = next(iter(curves.values()))
    ax.axhline(first.target, color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
    for colour, (label, curve) in zip(sns.color_palette("colorblind", len(curves)), curves.items(), strict=True):
        sizes = [point.n for point in curve.points]
        values = [point.power if curve.of_power else point.half_width for point in curve.points]
        spread = None if curve.of_power else [point.spread for point in curve.points]
        ax.errorbar(
            sizes, values, yerr=spread, fmt="o-", color=colour, markersize=4, linewidth=1.6, elinewidth=1, label=label
        )
        if curve.needed is not None:
            ax.plot(curve.needed, curve.target, "o", color=colour, markersize=11, fillstyle="none", markeredgewidth=1.8)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
    ax.set_xticks(sorted({point.n for curve in curves.values() for point in curve.points}))
    ax.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    ax.set_xlabel(f"{first.unit}s", fontsize=SMALL, color=QUIET)
    ax.set_ylim(0, 1.02 if first.of_power else None)
    if first.of_power:
        ax.yaxis.set_major_formatter(percent_tick)
    what = "power" if first.of_power else "half width of the interval"
    _finished(ax, title, f"{what}; dashed: the target")
    bars = "" if first.of_power else "; bars: the standard deviation of the half width between studies"
    describe(ax, f"{what} by number of {plural(first.unit)}; dashed: the target, ring: where it is met{bars}")
    return ax


def plot_repeats(errors: Sequence[PanelError], *, ax: Axes | None = None) -> Axes:
    """Standard error of an item's mean verdict against the number of calls, one line a number of judges."""
    import seaborn as sns

    ax = new_axes(6.4, 3.4) if ax is None else ax
    counts = sorted({each.judges for each in errors})
    for colour, count in zip(sns.color_palette("colorblind", len(counts)), counts, strict=True):
        calls, values = zip(
            *((each.calls, each.standard_error) for each in errors if each.judges == count), strict=True
        )
        ax.plot(calls, values, "o-", color=colour, label=many(count, "judge"))
    ax.set_xlabel("calls per item (judges x repeats)", fontsize=SMALL, color=QUIET)
    ax.set_ylim(bottom=0)
    _finished(ax, "More judges or more repeats", "standard error of an item's mean verdict")
    describe(ax, "standard error of an item's mean verdict, from variances estimated once and without interval")
    return ax


def _finished(ax: Axes, title: str, note: str) -> Axes:
    grid(ax, "y")
    legend_below(ax, inches=0.55, ncols=4)
    return dress(ax, title, note)
