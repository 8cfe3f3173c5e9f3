"""Figures of few runs: rates by the model and by design, judges, and where the variance comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from axisjudge.figures.legible import LONGEST
from axisjudge.figures.marks import at_the_right, interval_mark, level, named_rows, percent_axis
from axisjudge.figures.theme import ACCENT, describe, dress, in_words, legend_below, new_axes
from axisjudge.stats.estimate import Estimate, plural
from axisjudge.stats.latent.panel import VarianceShare
from axisjudge.studies.few_runs.beside import Beside, JudgeBeside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = "#D55E00"
#: Colour of a rate, and whether its mark is filled (the model's) or hollow (as counted).
_MARKS = ((_LABELS, True), (_LABELS, False), (ACCENT, True), (ACCENT, False))


def plot_rates(rates: Sequence[Beside], *, ax: Axes | None = None) -> Axes:
    """What fails and what is called incorrect, by agent and axis: the model's filled, design-based hollow."""
    rows = [one for one in rates if "all" not in (one.model.agent, one.model.axis)]
    rows = [*(rows if len(rows) > 1 else []), rates[-1]]
    ax = new_axes(7.4, 1.7 + 0.52 * len(rows)) if ax is None else ax
    for row, one in enumerate(rows):
        _four_marks(ax, row, (one.model.failing, one.labelled, one.model.called, one.called), size=5)
        at_the_right(ax, row, f"{one.model.called.n_items}")
    labels = (
        "fails, by the model",
        "labelled as failing",
        "called incorrect, by the model",
        "called incorrect, counted",
    )
    _legend(ax, labels)
    named_rows(ax, [_name(one) for one in rows])
    percent_axis(ax)
    dress(ax, "What these runs tell, with borrowed strength and without", "at the right the number of items")
    return _described(ax, rates[-1].model.called, rates[-1].called)


def plot_judges(judges: Sequence[JudgeBeside], *, ax: Axes | None = None) -> Axes:
    """Sensitivity and specificity of every judge: the model's filled, on labelled items hollow."""
    ax = new_axes(7.4, 1.6 + 0.4 * len(judges)) if ax is None else ax
    for row, one in enumerate(judges):
        rates = (one.model.sensitivity, one.sensitivity, one.model.specificity, one.specificity)
        _four_marks(ax, row, rates, size=4.5)
    kinds = ("by the model", "on labels")
    _legend(ax, [f"{rate}, {kind}" for rate in ("sensitivity", "specificity") for kind in kinds])
    named_rows(ax, [one.model.judge for one in judges])
    percent_axis(ax)
    dress(ax, "How often each judge is right", "where an item fails (sensitivity) and where not (specificity)")
    return _described(ax, judges[0].model.sensitivity, judges[0].specificity)


def plot_components(components: Sequence[VarianceShare], *, ax: Axes | None = None) -> Axes:
    """Shares of the variance of one verdict."""
    ax = new_axes(7.4, 1.3 + 0.36 * len(components)) if ax is None else ax
    for row, one in enumerate(components):
        interval_mark(ax, one.share, row)
        if not math.isnan(one.share.estimate):
            at_the_right(ax, row, f"{one.share.estimate:.0%}")
    named_rows(ax, [one.source for one in components])
    percent_axis(ax)
    bars = level(components[0].share if components else None, "posterior intervals")
    return dress(ax, "Where the variance of one verdict comes from", f"posterior means with {bars}")


def _described(ax: Axes, modelled: Estimate, counted: Estimate) -> Axes:
    """Filled and hollow marks in the words of a caption."""
    posterior = f"filled: the model's, {level(modelled, 'posterior intervals')}"
    describe(ax, f"{posterior}; hollow: as counted, {level(counted)} over {plural(counted.cluster_unit)}")
    return ax


def _four_marks(ax: Axes, row: int, rates: Sequence[Estimate], *, size: float) -> None:
    """Two rates one under the other, each by the model and as counted."""
    for at, (rate, (colour, filled)) in enumerate(zip(rates, _MARKS, strict=True)):
        interval_mark(ax, rate, row + 0.19 * (at - 1.5), colour=colour, filled=filled, size=size)


def _legend(ax: Axes, labels: Sequence[str]) -> None:
    for label, (colour, filled) in zip(labels, _MARKS, strict=True):
        ax.plot([], [], "o", color=colour, markerfacecolor=colour if filled else "white", label=label)
    legend_below(ax, inches=0.35, ncols=2)


def _name(one: Beside) -> str:
    agent, axis = one.model.agent, one.model.axis
    if agent == axis == "all":
        return "all"
    beside = ", " if len(agent) + len(axis) < LONGEST else ",\n"  # or both would be cut where they meet
    return in_words(axis) if agent.startswith("(") else f"{agent}{beside}{in_words(axis).lower()}"
