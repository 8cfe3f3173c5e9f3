"""Figures of AXIS Results: one run on a line of time, its signals, and two sets of runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from axisjudge.figures import theme
from axisjudge.figures.marks import at_the_right, interval_mark, level, named_rows
from axisjudge.scores.axis.result import AxisResult
from axisjudge.scores.axis.transcript.interactions import ACTING, Interaction
from axisjudge.studies._shared.words import many
from axisjudge.studies.axis_result.comparison import RunComparison
from axisjudge.studies.axis_result.sentences import WAITS, Direction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rows and colours of the categories, after Okabe and Ito.
_CATEGORIES = {"environment": "#0072B2", "service": "#CC79A7", "agent": "#8a8a8a"}
_ERROR = "#D55E00"
#: A mark takes this share of the whole time at least, so that a call of some milliseconds can be seen.
_LEAST_WIDTH = 0.004
#: A name whose bar lies nearer to an end of the line than this share of it is written inwards.
_NEAR_THE_EDGE = 0.15


def plot_axis_timeline(result: AxisResult, *, ax: Axes | None = None) -> Axes:
    """Interactions from left to right, one row a category; a bar is as long as the interaction took.

    A diamond stands where the duration of a call or of a text is unknown, a cross where the interaction failed; a pale
    bar is time that a person took. The longest bar of each row is named for what it is: a call, a text and the writing
    of what follows it, a wait. A call of two categories stands in both rows.
    """
    ax = theme.new_axes(9.5, 2.9) if ax is None else ax
    timed = [each for each in result.interactions if each.start_ms is not None]
    end = max((1.0, *((each.start_ms or 0) + (each.duration_ms or 0) for each in timed))) / 1000
    rows = {category: row for row, category in enumerate(_CATEGORIES)}
    for each in timed:
        start, length = (each.start_ms or 0) / 1000, (each.duration_ms or 0) / 1000
        for category in each.categories:
            row, colour = rows[category], _CATEGORIES[category]
            if each.duration_ms is None and each.type in ACTING:
                ax.plot(start, row, "D", color=colour, markersize=4, markerfacecolor="white")
            elif each.duration_ms is not None:
                ax.barh(
                    row,
                    max(length, _LEAST_WIDTH * end),
                    left=start,
                    height=0.55,
                    color=colour,
                    alpha=0.25 if each.wait else 0.75,
                )
            if each.has_error:
                ax.plot(start, row - 0.42, "X", color=_ERROR, markersize=6)
    ax.set_xlim(-0.01 * end, 1.01 * end)
    for name, row in rows.items():
        _name_longest(ax, [each for each in timed if each.categories[0] == name and each.duration_ms], row)
    ax.plot([], [], "D", color=theme.QUIET, markerfacecolor="white", markersize=4, label="duration unknown")
    ax.plot([], [], "X", color=_ERROR, markersize=6, linestyle="none", label="failed")
    if any(each.wait for each in timed):
        ax.plot([], [], "s", color=theme.QUIET, alpha=0.25, markersize=7, linestyle="none", label="waits for a person")
    theme.legend_below(ax, inches=0.55, ncols=3)
    ax.set_yticks(list(rows.values()), list(rows))
    ax.set_ylim(len(rows) - 0.4, -0.75)
    ax.set_xlabel("seconds from the run's start", fontsize=theme.LABEL, color=theme.INK)
    theme.grid(ax)
    counts = result.counts
    note = f"{many(counts.interactions, 'interaction')}, {many(counts.errors, 'error')}; AXIS Result {result.shown}"
    if not timed:
        note += "; no time stamps, so there is nothing to draw"
    theme.dress(ax, "One run, by category", note)
    theme.describe(ax, f"a bar is an interaction, a cross one that failed; {note}; one run, so no interval")
    return ax


def plot_axis_dimensions(results: Sequence[AxisResult], *, ax: Axes | None = None) -> Axes:
    """Every run's composite, one row a task and agent; a line where it is an interval, whiskers for its bounds."""
    groups = sorted({(each.task_id or each.cluster_id, each.agent or "not stated") for each in results})
    ax = theme.new_axes(8.0, 1.2 + 0.34 * len(groups)) if ax is None else ax
    for row, group in enumerate(groups):
        runs = [each for each in results if (each.task_id or each.cluster_id, each.agent or "not stated") == group]
        for repeat, each in enumerate(runs):
            level = row + 0.22 * (repeat - (len(runs) - 1) / 2) / max(1, (len(runs) - 1) / 2)
            ax.plot(each.bounds, [level, level], color=theme.FAINT, linewidth=1.2)
            ax.plot(each.interval, [level, level], color=theme.ACCENT, linewidth=2)
            if each.composite is not None:
                ax.plot(each.composite, level, "o", color=theme.ACCENT, markersize=5)
    named_rows(ax, [f"{task}, {agent}" for task, agent in groups])
    ax.set_xlim(-1, 101)
    ax.set_xlabel("AXIS Result", fontsize=theme.LABEL, color=theme.INK)
    theme.grid(ax)
    theme.dress(ax, "Every run's AXIS Result", f"{many(len(results), 'run')}; grey: what is missing at its ends")
    ends = (
        "Blue lines go from goal 0 to goal 100 where the goal was not graded, grey lines from missing signals at their "
        "worst to their best: both are bounds, not confidence intervals"
    )
    theme.describe(ax, f"a dot is one of {many(len(results), 'run')}. {ends}")
    return ax


def plot_axis_comparison(comparison: RunComparison, *, ax: Axes | None = None) -> Axes:
    """Change of the composite and of each dimension, with intervals over repeats; clear of 0 is a change."""
    rows = comparison.changes
    ax = theme.new_axes(7.5, 1.3 + 0.4 * len(rows)) if ax is None else ax
    for row, each in enumerate(rows):
        interval_mark(ax, each.over_repeats, row, filled=each.direction is not Direction.NOT_SHOWN)
        at_the_right(ax, row, f"{each.before:.1f} to {each.after:.1f}")
    ax.axvline(0, color=theme.QUIET, linewidth=1)
    named_rows(ax, [theme.in_words(each.quantity) for each in rows] or [""])
    ax.set_xlabel(
        f"points, {comparison.names[1]} minus {comparison.names[0]}; filled where the interval leaves out 0",
        fontsize=theme.SMALL,
    )
    theme.grid(ax)
    bars = level(rows[0].over_repeats if rows else None)
    note = f"{many(comparison.n_before, 'run')} and {many(comparison.n_after, 'run')}; {bars} over repeats"
    note = comparison.reason or f"{note} of {many(len(comparison.tasks), 'task')}"
    return theme.dress(ax, "Change on the same tasks", note)


def _name_longest(ax: Axes, bars: Sequence[Interaction], row: int) -> None:
    """The longest bar of a row, by what its time was: its end of the line where the text would leave the figure."""
    if not bars:
        return
    longest = max(bars, key=lambda each: each.duration_ms or 0)
    seconds = (longest.duration_ms or 0) / 1000
    what = longest.tool_name if longest.is_call else "a text and the writing of the next step"
    text = f"#{longest.id} {WAITS[longest.wait] if longest.wait else what}, {seconds:,.1f} s"
    middle = (longest.start_ms or 0) / 1000 + seconds / 2
    share = middle / max(ax.get_xlim()[1], 1e-9)
    align = "left" if share < _NEAR_THE_EDGE else "right" if share > 1 - _NEAR_THE_EDGE else "center"
    ax.annotate(text, (middle, row - 0.3), ha=align, va="bottom", fontsize=theme.SMALL, color=theme.INK)
