"""Figures of located truth: what is decided, which faults are found, and who holds a fault against failed runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from axisjudge.figures.marks import at_the_right, interval_mark, level, named_rows, percent_axis
from axisjudge.figures.theme import ACCENT, INK, QUIET, SMALL, describe, dress, in_words, legend_below, new_axes
from axisjudge.stats.estimate import Estimate, plural
from axisjudge.studies._shared.words import many
from axisjudge.studies.located.counts import ANY_AXIS, Decided, FaultsFound, Parting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (QUIET, ACCENT, "#D55E00", "#009E73", "#CC79A7")

#: Hatches beside colours, so that segments differ in print as well.
_HATCHED: dict[str, Any] = {"edgecolor": "white", "linewidth": 0}


def plot_decided(decided: Sequence[Decided], *, ax: Axes | None = None) -> Axes:
    """Share of runs on which each judge takes a side, by data set and axis, with counts at the right."""
    rows = [one for one in decided if one.half == "all" and one.axis != ANY_AXIS]
    places = list(dict.fromkeys((one.domain, one.axis) for one in rows))
    judges = list(dict.fromkeys(one.judge for one in rows))
    ax = new_axes(7.4, 1.4 + 0.34 * len(places)) if ax is None else ax
    for one in rows:
        number = judges.index(one.judge)
        height = places.index((one.domain, one.axis)) + 0.22 * (number - (len(judges) - 1) / 2)
        interval_mark(ax, one.decided, height, colour=_COLOURS[number % len(_COLOURS)], filled=number > 0, size=5)
        if number == len(judges) - 1:
            at_the_right(ax, height, f"{one.n_incorrect} incorrect, {one.n_correct} correct")
    for number, judge in enumerate(judges):
        colour = _COLOURS[number % len(_COLOURS)]
        ax.plot([], [], "o", color=colour, markerfacecolor=colour if number else "white", label=judge)
    legend_below(ax, inches=0.35, ncols=len(judges))
    named_rows(ax, [f"{domain}, {in_words(axis).lower()}" for domain, axis in places])
    percent_axis(ax)
    dress(ax, "Share decided", f"runs to which the axis applies; at the right what {judges[-1]} says")
    describe(ax, f"{_over_tasks(one.decided for one in rows)}; at the right: how many verdicts {judges[-1]} gave")
    return ax


def plot_faults_found(faults: Sequence[FaultsFound], *, ax: Axes | None = None) -> Axes:
    """Share of located faults that each judge finds: on the axis (filled), and at the step (hollow)."""
    judges = list(dict.fromkeys(one.judge for one in faults))
    rows = [one for one in faults if one.judge == judges[-1] and one.axis != ANY_AXIS]
    ax = new_axes(7.4, 1.4 + 0.4 * len(rows)) if ax is None else ax
    for height, one in enumerate(rows):
        interval_mark(ax, one.on_axis, height - 0.15, size=6)
        interval_mark(ax, one.at_step, height + 0.15, colour=QUIET, filled=False, size=6)
        at_the_right(ax, height, many(one.n_faults, "fault"))
    ax.plot([], [], "o", color=ACCENT, label="called incorrect on that axis")
    ax.plot([], [], "o", color=QUIET, markerfacecolor="white", label="and at the step")
    legend_below(ax, inches=0.35, ncols=2)
    named_rows(ax, [f"{one.domain}, {one.labeller}: {in_words(one.axis).lower()}" for one in rows])
    percent_axis(ax)
    dress(ax, f"Located faults that {judges[-1]} finds", "share of runs and axes with a located fault")
    describe(ax, f"filled: on the axis, hollow: at the step too; {_over_tasks(one.on_axis for one in rows)}")
    return ax


def plot_partings(partings: Sequence[Parting], *, ax: Axes | None = None) -> Axes:
    """Failed runs of each data set by who holds a fault against them, and passing runs that the judge flags."""
    judge = partings[-1].judge
    own = [one for one in partings if one.judge == judge]
    names = {
        "both": (ACCENT, "white", "", f"{judge} and the reference"),
        "reference": ("#56B4E9", INK, "//", "the reference alone"),
        "judge": ("#D55E00", INK, "xx", f"{judge} alone"),
        "neither": ("#d9d9d9", INK, "", "neither"),
    }
    domains = list(dict.fromkeys(one.domain for one in own))
    rows = [(domain, failed) for domain in domains for failed in (True, False)]
    ax = new_axes(7.4, 1.5 + 0.42 * len(rows)) if ax is None else ax
    for height, (domain, failed) in enumerate(rows):
        here = [one for one in own if (one.domain, one.failed) == (domain, failed)]
        total, left = sum(one.n_runs for one in here), 0.0
        counts = dict.fromkeys(names, 0)
        for one in here:
            counts[_who(one)] += one.n_runs
        for who, count in counts.items():
            width = count / max(total, 1)
            colour, ink, hatch, _ = names[who]
            ax.barh(height, width, left=left, color=colour, height=0.62, hatch=hatch, **_HATCHED)
            if width > 0.04:
                under = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
                ax.text(
                    left + width / 2,
                    height,
                    str(count),
                    ha="center",
                    va="center",
                    fontsize=SMALL,
                    color=ink,
                    bbox=under,
                )
            left += width
        at_the_right(ax, height, f"{total} runs")
    for colour, _, hatch, label in names.values():
        ax.barh(0, 0, color=colour, hatch=hatch, label=label, **_HATCHED)
    legend_below(ax, inches=0.35, ncols=4)
    named_rows(ax, [f"{domain}, {'failed' if failed else 'passed'}" for domain, failed in rows])
    percent_axis(ax)
    dress(ax, "Who holds a fault against the run", "the reference says nothing of runs that passed")
    describe(ax, "counts of runs, without intervals; the reference says nothing of runs that passed")
    return ax


def _over_tasks(rates: Iterable[Estimate]) -> str:
    """Level and unit of intervals whose numbers of tasks differ."""
    first = next(iter(rates), None)
    return level(first) if first is None else f"{level(first)} over {plural(first.cluster_unit)}"


def _who(one: Parting) -> str:
    if one.judge_says:
        return "both" if one.reference else "judge"
    return "reference" if one.reference else "neither"
