"""A trajectory on one line, and under it the steps that each judge cites for each axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisjudge.figures.theme import (
    FAINT,
    INK,
    LABEL,
    SMALL,
    VERDICTS,
    describe,
    dress,
    in_words,
    legend_below,
    look_of,
    new_axes,
)
from axisjudge.studies._shared.words import many
from axisjudge.studies.trace.run import TracedRun, TracedVerdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROLES = {"system": "#efefef", "user": "#cfe3d4", "assistant": "#c9d9ee", "tool": "#efe3c4"}


def plot_trace(run: TracedRun, *, ax: Axes | None = None) -> Axes:
    """Steps from left to right, one row per axis and judge, a mark at every step that the judge cites.

    The mark's shape and colour are the verdict; at the right stand the verdict and the judge's own confidence.
    """
    n_steps, n_rows = len(run.steps), len(run.verdicts) + len(run.axes)
    ax = new_axes(min(max(7.5, 3.5 + 0.24 * n_steps), 14), 1.5 + 0.25 * n_rows) if ax is None else ax
    for step in run.steps:
        tile = {"color": _ROLES[step.role], "width": 0.92, "height": 0.8, "align": "center", "linewidth": 0}
        ax.barh(-1.2, left=step.index - 0.46, **tile)  # type: ignore[arg-type]
        if step.calls:
            ax.plot(step.index, -1.2, marker="v", color=INK, markersize=4)
    labels = {-1.2: "who acts"}
    row = 0
    for number, axis in enumerate(run.axes):
        judged = run.on(axis)
        if number % 2 == 0:
            ax.axhspan(row - 0.5, row + len(judged) + 0.5, color="#f6f6f6", zorder=0, linewidth=0)
        ax.text(-0.5, row, in_words(axis), va="center", fontsize=SMALL, fontweight="bold", color=INK)
        for place, given in enumerate(judged, start=row + 1):
            _row(ax, place, given, n_steps)
            labels[place] = given.judge
        row += len(judged) + 1
    ax.set_yticks(list(labels), list(labels.values()))
    ax.set_ylim(n_rows - 0.4, -1.9)
    ax.set_xlim(-0.8, max(n_steps, 1) - 0.2)
    ax.set_xlabel("step", fontsize=LABEL, color=INK)
    _legend(ax, run)
    note = f"one run of {many(n_steps, 'step')}; {many(len(run.judges), 'judge')}"
    dress(ax, "Steps that the judges cite, per axis", note)
    describe(ax, f"a mark is a cited step, its shape the verdict; {note}; of one run there is no interval")
    ax.tick_params(axis="y", labelsize=SMALL)
    ax.locator_params(axis="x", integer=True)
    return ax


def _row(ax: Axes, row: int, given: TracedVerdict, n_steps: int) -> None:
    colour, marker, _ = look_of(given.verdict)
    inside = [step for step in given.cited if 0 <= step < n_steps]
    ax.plot([-0.5, n_steps - 0.5], [row, row], color=FAINT, linewidth=0.6, zorder=1)
    ax.plot(inside, [row] * len(inside), marker, color=colour, markersize=7.5, markeredgewidth=1.2, zorder=3)
    sure = "" if given.confidence is None else f" {given.confidence:.2f}"
    beyond = f", cites {len(given.invalid)} that do not exist" if given.invalid else ""
    words = f"{in_words(given.word)}{sure}{beyond}"
    ax.annotate(words, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=SMALL, color=colour)


def _legend(ax: Axes, run: TracedRun) -> None:
    for role, colour in _ROLES.items():
        if any(step.role == role for step in run.steps):
            ax.plot([], [], "s", color=colour, markersize=8, label=role)
    ax.plot([], [], "v", color=INK, markersize=4, linestyle="none", label="calls a tool")
    for verdict, (colour, marker, _) in VERDICTS.items():
        if any(each.verdict == verdict and each.cited for each in run.verdicts):
            ax.plot([], [], marker, color=colour, linestyle="none", label=f"cited for {in_words(verdict)}")
    legend_below(ax, inches=0.5, ncols=4)
