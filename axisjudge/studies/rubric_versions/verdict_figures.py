"""Verdicts of a turn as pictures: how each judge's moved, where judges are split now, and the whole trail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from axisjudge.figures import theme
from axisjudge.figures.heatmap import cell_text, plot_heatmap
from axisjudge.figures.marks import interval_mark, intervals
from axisjudge.studies._shared.arrays import words_of
from axisjudge.studies._shared.words import many
from axisjudge.studies.rubric_versions.turn import Turn
from axisjudge.verdict import VERDICTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Coefficients along the trail: colour, marker, name.
_TRAIL = {
    "percent": (theme.ACCENT, "o", "agreement (raw)"),
    "alpha": ("#D55E00", "s", "Krippendorff's alpha"),
}


def plot_trail(turns: Sequence[Turn], *, ax: Axes | None = None) -> Axes:
    """Agreement under every version of one axis's rubric, in order, with intervals over tasks.

    `turns` are comparisons of consecutive versions. Below each version stands how many runs it was compared on and how
    often it was asked; between two versions what may be said of the step.
    """
    newest = {version.version: (turn, version) for turn in turns for version in turn.versions}
    ax = theme.new_axes(max(5.0, 1.6 + 1.5 * len(newest)), 3.6) if ax is None else ax
    for number, (name, (colour, marker, label)) in enumerate(_TRAIL.items()):
        at = [position + 0.07 * (2 * number - 1) for position in range(len(newest))]
        values = [version.named[name] for _, version in newest.values()]
        ax.plot(at, [value.estimate for value in values], color=colour, linewidth=1, alpha=0.45)
        for position, value in zip(at, values, strict=True):
            interval_mark(ax, value, position, colour=colour, marker=marker, upright=True)
        ax.plot([], [], marker, color=colour, label=label, linewidth=0)
    for position, turn in enumerate(turns):
        steps = "\n".join(str(turn.decision.outcome).split(" ", 1))
        ax.annotate(steps, (position + 0.5, 1.06), ha="center", va="bottom", fontsize=theme.SMALL, color=theme.INK)
    ticks = [f"{name}\n{many(turn.n_items, 'run')}, {version.n_repeats}x" for name, (turn, version) in newest.items()]
    ax.set_xticks(range(len(ticks)), ticks)
    ax.set_xlim(-0.5, len(ticks) - 0.5)
    ax.set_ylim(min(0.0, *ax.get_ylim()), 1.3)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
    ax.axhline(0, color=theme.FAINT, linewidth=0.8, zorder=0)
    ax.grid(axis="y", color=theme.FAINT, linewidth=0.8)
    theme.legend_below(ax, inches=0.55, ncols=2)
    percent = turns[-1].versions[1].coefficients["percent"]
    note = f"{intervals(percent)}; {many(len(turns[-1].judges), 'judge')}"
    return theme.dress(ax, f"The trail of {theme.in_words(turns[0].axis)}", note)


def plot_transitions(turn: Turn) -> Figure:
    """One matrix a judge: its verdict under the old version (down) against that under the new one (across).

    Counts of runs, shaded by the share of the row; off the diagonal the verdict flipped.
    """
    total = np.sum([shift.matrix for shift in turn.shifts], axis=0)
    used = np.flatnonzero(total.sum(axis=0) + total.sum(axis=1)).tolist()
    names = [f"{theme.look_of(VERDICTS[at]).sign} {theme.in_words(VERDICTS[at])}" for at in used]
    figure, axes, left = theme.panels(len(turn.shifts), width=3.5, height=1.5 + 0.42 * len(used))
    for ax, shift in zip(axes, turn.shifts, strict=True):
        counts = np.array(shift.matrix, dtype=float)[np.ix_(used, used)]
        rows = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, rows, out=np.full_like(counts, math.nan), where=rows > 0)
        plot_heatmap(shares, ax=ax, rows=names, columns=names, palette="Blues")
        for row, column in np.ndindex(*counts.shape):
            flipped = row != column and counts[row, column] > 0
            cell_text(
                ax,
                row,
                column,
                f"{counts[row, column]:.0f}",
                quiet=not counts[row, column],
                fontweight="bold" if flipped else "normal",
                fontsize=theme.LABEL,
            )
        ax.tick_params(labelsize=theme.SMALL)
        ax.set_xticklabels([name.replace(" ", "\n") for name in names])
        ax.set_xlabel(f"{shift.n_flipped} of {shift.n_items} flipped", fontsize=theme.SMALL, color=theme.QUIET)
        ax.set_title(shift.judge.removeprefix("simulated:"), loc="left", fontsize=theme.LABEL, color=theme.INK)
    axes[0].set_yticklabels(names, rotation=0)
    for ax in left:
        ax.set_ylabel(turn.before, fontsize=theme.SMALL, color=theme.QUIET)
    title = f"{theme.in_words(turn.axis)}: verdicts under {turn.before} (down) and {turn.after} (across)"
    figure.suptitle(title, x=0.01, ha="left", fontsize=theme.LABEL, color=theme.INK)
    return figure


def plot_contested(turn: Turn, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """Runs x judges: the verdicts under the new version on runs that judges are split on; framed, they flipped.

    The `most` runs with most flips come first; what the old version said stands small beside a flipped verdict.
    """
    pair, (old, new) = turn.pair, words_of(turn.pair.verdicts, VERDICTS)
    split = [at for at, words in enumerate(new) if len({*words} - {None}) > 1]
    flips = pair.flipped.sum(axis=1)
    rows = sorted(split, key=lambda at: (-flips[at], pair.items[at]))[:most]
    ax = theme.new_axes(3.2 + 1.15 * len(turn.judges), 1.5 + 0.24 * max(len(rows), 1)) if ax is None else ax
    for (y, at), x in product(enumerate(rows), range(len(turn.judges))):
        look = theme.look_of(new[at, x])
        ax.plot(x, y, "s", color=look.colour, alpha=0.22, markersize=14, markeredgewidth=0)
        ax.annotate(look.sign, (x, y), ha="center", va="center", color=look.colour, fontsize=theme.LABEL)
        if pair.flipped[at, x]:
            ax.plot(x, y, "s", color="none", markeredgecolor=theme.INK, markersize=14)
            ax.annotate(
                f"was {theme.look_of(old[at, x]).sign}",
                (x + 0.2, y),
                va="center",
                color=theme.QUIET,
                fontsize=theme.SMALL - 1,
            )
    ax.set_xticks(range(len(turn.judges)), [judge.removeprefix("simulated:") for judge in turn.judges])
    ax.xaxis.tick_top()
    ax.set_xlim(-0.5, len(turn.judges) - 0.3)
    ax.set_yticks(range(len(rows)), [pair.items[at] for at in rows])
    ax.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    listed = "" if len(rows) == len(split) else f"; the {len(rows)} with most flips"
    signs = ", ".join(f"{theme.look_of(word).sign} {theme.in_words(word)}" for word in VERDICTS)
    where = f"split on {len(split)} of {many(turn.n_items, 'run')} under {turn.after}{listed}"
    note = f"{where}; framed: flipped from {turn.before}\n{signs}\n\n"
    theme.dress(ax, f"Contested on {theme.in_words(turn.axis)}\n\n", note)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(labelsize=theme.SMALL)
    return ax
