"""Figures of the calibration loop: agreement by rubric version, beliefs that moved, flips beside noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from axisjudge.figures import theme
from axisjudge.figures.marks import interval_mark, intervals, named_rows, percent_axis
from axisjudge.studies._shared.words import many
from axisjudge.studies.rubric_versions.published_versions import PublishedCourse
from axisjudge.studies.rubric_versions.turn import Turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLIPPED = "#D55E00"
_LABELS = {"percent": "agreement (raw)", "ac1": "Gwet's AC1", "alpha": "Krippendorff's alpha", "soft": "soft agreement"}
_MARKERS = ("o", "s", "D", "^")


def plot_agreement_by_version(turns: Sequence[Turn], *, ax: Axes | None = None) -> Axes:
    """Raw and chance-corrected agreement under each version of one axis's rubric, with intervals over tasks.

    `turns` are comparisons of consecutive versions; each version is drawn once, older ones paler.
    """
    import seaborn as sns

    versions = list({each.version: each for turn in turns for each in turn.versions}.values())
    ax = theme.new_axes(7.4, 1.5 + 0.27 * len(_LABELS) * len(versions)) if ax is None else ax
    colours = sns.light_palette(theme.ACCENT, len(versions) + 1).as_hex()[1:]
    step = 0.7 / len(versions)
    for number, (version, colour) in enumerate(zip(versions, colours, strict=True)):
        marker = _MARKERS[number % len(_MARKERS)]
        for row, name in enumerate(_LABELS):
            at, value = row + (number - (len(versions) - 1) / 2) * step, version.named.get(name)
            if value is None or math.isnan(value.estimate):
                why = "several pairs" if value is None else "undefined"
                ax.annotate(why, (0, at), **_beside(4), fontsize=theme.SMALL - 1.5)
            else:
                interval_mark(ax, value, at, colour=colour, marker=marker, size=6)
        ax.plot([], [], marker, color=colour, label=version.version, linewidth=0)
    ax.axvline(0, color=theme.FAINT, linewidth=0.8, zorder=0)
    named_rows(ax, list(_LABELS.values()))
    theme.grid(ax)
    theme.legend_below(ax, inches=0.35, ncols=len(versions))
    percent = versions[-1].coefficients["percent"]
    repeats = ", ".join(f"{version.version} asked {version.n_repeats}x" for version in versions)
    note = f"{intervals(percent)}; {many(turns[0].n_items, 'run')}; {repeats}"
    return theme.dress(ax, f"Agreement on {theme.in_words(turns[0].axis)} by rubric version", note)


def plot_beliefs(turn: Turn, *, most: int = 24) -> Figure:
    """One panel a judge: its belief that the run is correct, from the old version (open) to the new one (filled).

    The `most` runs on which any judge moved farthest, in one order for all judges; flipped verdicts are orange.
    """
    items = turn.moved_most(most)
    figure, axes, _ = theme.panels(len(turn.judges), width=3.4, height=1.5 + 0.2 * len(items))
    for number, (ax, judge) in enumerate(zip(axes, turn.judges, strict=True)):
        flipped = turn.pair.flipped[items, number]
        for row, (before, after) in enumerate(turn.pair.beliefs[:, items, number].T):
            colour = FLIPPED if flipped[row] else theme.ACCENT
            ax.plot([before, after], [row, row], color=colour, linewidth=1.4, alpha=0.7, zorder=1)
            if not math.isnan(before + after):
                ax.plot(before, row, "o", color="white", markeredgecolor=colour, markersize=5)
                ax.plot(after, row, "o", color=colour, markersize=5)
        ax.axvline(0.5, color=theme.FAINT, linewidth=1, zorder=0)
        ax.set_xlim(-0.03, 1.03)
        theme.dress(ax, "").set_title(
            judge.removeprefix("simulated:"), loc="left", fontsize=theme.LABEL, color=theme.INK
        )
        ax.set_xlabel("belief that the run is correct", fontsize=theme.SMALL, color=theme.QUIET)
        ax.tick_params(labelsize=theme.SMALL - 0.5)
    axes[0].set_yticks(range(len(items)), [turn.pair.items[at] for at in items])
    axes[0].set_ylim(len(items) - 0.4, -0.6)
    beliefs = f"beliefs under {turn.before} (open) and {turn.after} (filled)"
    title = f"{theme.in_words(turn.axis)}: {beliefs}; orange: the verdict flipped"
    figure.suptitle(title, x=0.01, ha="left", fontsize=theme.LABEL, color=theme.INK)
    most_moved = f"the {len(items)} runs of {turn.n_items} that moved most, one line each"
    theme.describe(figure, f"{_flipped(turn)} (orange); {most_moved}; single beliefs, without intervals")
    return figure


def plot_flips(turn: Turn, *, ax: Axes | None = None) -> Axes:
    """Share of differing verdicts of each judge: between repeats of one version (open), across versions (filled)."""
    ax = theme.new_axes(7.4, 1.5 + 0.55 * len(turn.shifts)) if ax is None else ax
    hollow: dict[str, Any] = {"color": "white", "markeredgecolor": theme.INK}
    for row, shift in enumerate(turn.shifts):
        if not math.isnan(shift.noise):
            ax.plot([shift.noise, shift.turnover], [row, row], color=theme.FAINT, linewidth=2.5, zorder=1)
            ax.plot(shift.noise, row, "o", **hollow, markersize=9)
        ax.plot(shift.turnover, row, "o", color=FLIPPED, markersize=7)
        directions = ", ".join(f"{count} {name}" for name, count in shift.directions.items()) or "no verdict flipped"
        right = max(shift.turnover, 0.0 if math.isnan(shift.noise) else shift.noise)
        ax.annotate(directions, (right, row), **_beside(9), fontsize=theme.SMALL)
    ax.plot([], [], "o", **hollow, label="between repeats of one version: noise")
    ax.plot([], [], "o", color=FLIPPED, label="across the versions")
    named_rows(ax, [shift.judge.removeprefix("simulated:") for shift in turn.shifts])
    percent_axis(ax)
    theme.legend_below(ax, inches=0.35, ncols=2)
    where = f"{many(turn.n_items, 'run')} in {turn.agreement.change.clusters}"
    note = f"share of pairs of verdicts on one run that differ; {where}"
    theme.dress(ax, f"Flips on {theme.in_words(turn.axis)}, {turn.before} to {turn.after}", note)
    theme.describe(ax, f"{_flipped(turn)}; {note}; open marks, the noise between repeats, stand in place of intervals")
    return ax


def plot_published_course(course: PublishedCourse, *, ax: Axes | None = None) -> Axes:
    """Each judge's belief that the one published run is correct, version by version; crosses say incorrect."""
    ax = theme.new_axes(6.4, 3.2) if ax is None else ax
    across = range(len(course.versions))
    for judge, colour in zip(course.judges, (FLIPPED, theme.ACCENT), strict=False):
        held = course.beliefs(judge)
        ax.plot(across, held, color=colour, linewidth=1.8, zorder=1)
        for at, value in enumerate(held):
            ax.plot(at, value, "o" if value > 0.5 else "X", color=colour, markersize=8, markeredgecolor="white")
        below: dict[str, Any] = {"xytext": (0, -9), "textcoords": "offset points", "va": "top"}
        ax.annotate(judge.rpartition(":")[2], (0, held[0]), **below, fontsize=theme.SMALL, color=colour)
    ax.axhline(0.5, color=theme.FAINT, linewidth=1, zorder=0)
    ax.set_xticks(across, course.versions)
    ax.set_xlim(-0.2, len(course.versions) - 0.8)
    ax.set_ylim(-0.1, 1.05)
    ax.set_ylabel("belief that the run is correct", fontsize=theme.SMALL, color=theme.QUIET)
    note = "one run of one task, so there is no interval; a cross marks the verdict incorrect"
    return theme.dress(ax, f"The published run under {many(len(course.versions), 'version')}", note)


def _flipped(turn: Turn) -> str:
    given = sum(shift.n_items for shift in turn.shifts)
    return f"{turn.n_flipped or 'none'} of {many(given, 'verdict')} flipped"


def _beside(points: float) -> dict[str, Any]:
    """How words stand to the right of a mark."""
    return {"xytext": (points, 0), "textcoords": "offset points", "va": "center", "color": theme.QUIET}
