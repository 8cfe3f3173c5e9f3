"""One mark for an estimate with its interval, and the axes that such marks stand on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from axisjudge.figures.theme import ACCENT, INK, LABEL, dress, grid, in_words, new_axes
from axisjudge.stats.estimate import no_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from axisjudge.stats.estimate import Estimate


class Ranged(Protocol):
    """A value with an interval; NaN where there is none."""

    @property
    def estimate(self) -> float: ...
    @property
    def ci_low(self) -> float: ...
    @property
    def ci_high(self) -> float: ...


def interval_mark(
    ax: Axes,
    found: Ranged,
    at: float,
    *,
    colour: str = ACCENT,
    marker: str = "o",
    filled: bool = True,
    upright: bool = False,
    size: float = 7.0,
    **how: Any,
) -> None:
    """An estimate with its interval, lying at height `at` (upright: at that place of the axis across).

    Hollow where not `filled`; nothing where the estimate is NaN, and no bar where it has no interval.
    """
    if math.isnan(found.estimate):
        return
    ends, here, line = [found.ci_low, found.ci_high], [at, at], {"color": colour, "linewidth": 1.7, **how}
    ax.plot(*((here, ends) if upright else (ends, here)), **line)
    point = (at, found.estimate) if upright else (found.estimate, at)
    ax.plot(*point, marker, color=colour, markersize=size, markerfacecolor=colour if filled else "white")


def level(of: Estimate | None, kind: str = "intervals") -> str:
    """The level of an interval, ``95% intervals``; ``no intervals`` where there is nothing that has one."""
    return "no intervals" if of is None else f"{of.ci_level:.0%} {kind}"


def intervals(of: Estimate | None) -> str:
    """The level and the unit of an interval, ``95% intervals over 28 tasks``."""
    return level(of) if of is None else f"{level(of)} over {of.clusters}"


def percent_ends(found: Ranged) -> str:
    """The interval in per cent, ``12–34%``."""
    return no_interval() if math.isnan(found.ci_low) else f"{100 * found.ci_low:.0f}–{100 * found.ci_high:.0f}%"


def named_rows(ax: Axes, names: Sequence[str]) -> None:
    """One row a name, the first on top."""
    ax.set_yticks(range(len(names)), list(names))
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)


def percent_tick(share: float, _: object = None) -> str:
    """What stands at a tick of an axis in per cent: 77.5% is never called 78%."""
    return f"{100 * share:.3g}%"


def percent_axis(ax: Axes, largest: float = 1.0) -> None:
    """The axis across in per cent, from 0 to `largest`, with quiet lines."""
    ax.set_xlim(-0.02 * largest, 1.02 * largest)
    ax.locator_params(axis="x", nbins=6, steps=[1, 2, 5, 10])
    ax.xaxis.set_major_formatter(percent_tick)
    grid(ax)


def at_the_right(ax: Axes, at: float, text: str) -> None:
    """Words outside the axes at the height of a mark."""
    ax.annotate(text, (1.02, at), xycoords=("axes fraction", "data"), va="center", fontsize=LABEL, color=INK)


#: Rows of a table that a figure shows; the table has all of them.
ROWS = 30


def plot_rows(frame: pl.DataFrame, title: str, *, ax: Axes | None = None) -> Axes:
    """A row a mark: the first column of fractions of a table, with its interval where `low` and `high` columns follow.

    Its rows are named by the columns of text before that; a table without fractions is drawn by its first counts.
    """
    frame = frame.head(ROWS)
    names = [name for name, kind in frame.schema.items() if kind == pl.String]
    fractions = [name for name, kind in frame.schema.items() if kind.is_float()]
    counts = [name for name, kind in frame.schema.items() if kind.is_integer()]
    ax = new_axes(7.0, 1.1 + 0.36 * max(1, len(frame))) if ax is None else ax
    if frame.is_empty() or not (fractions or counts):
        return dress(ax, title)
    value, columns = (fractions or counts)[0], frame.columns
    at = columns.index(value)
    ends = [name for name, end in zip(columns[at + 1 : at + 3], ("low", "high"), strict=False) if name.endswith(end)]
    for row, (estimate, *interval) in enumerate(frame.select(pl.col(value, *ends).cast(pl.Float64)).iter_rows()):
        if estimate is not None and not math.isnan(estimate):
            ax.plot(interval, [row] * len(interval), color=ACCENT, linewidth=1.7)
            ax.plot(estimate, row, "o", color=ACCENT, markersize=7)
    before = [name for name in names if columns.index(name) < at] or names[:1]
    words = [in_words(" / ".join(map(str, cells))) for cells in frame.select(before).iter_rows()] if before else []
    named_rows(ax, words or [str(row + 1) for row in range(len(frame))])
    ax.set_xlabel(in_words(value), fontsize=LABEL, color=INK)
    grid(ax)
    return dress(ax, title)
