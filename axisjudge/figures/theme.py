"""One look for all figures: colours that colour-blind readers can tell apart, marks with intervals, heatmaps."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from axisjudge.checks import InputError
from axisjudge.stats.estimate import Estimate, no_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Figure


# What a figure needs whatever it draws: names that leave room for the marks, and something to be seen.

#: Characters of a name on an axis, and of an unbroken word anywhere; tables have the whole.
LONGEST = 34


def cut_names(figure: Figure) -> None:
    """Cut long names on axes and long words in texts in their middle: models differ at the end, makers at the start."""
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if isinstance(axis.get_major_locator(), FixedLocator):
                names = [label.get_text() for label in axis.get_ticklabels()]
                if any(len(line) > LONGEST for name in names for line in name.split("\n")):
                    axis.set_ticklabels(["\n".join(map(cut_middle, name.split("\n"))) for name in names])
    for text in figure.findobj(Text):
        if isinstance(text, Text):
            text.set_text(re.sub(rf"\S{{{LONGEST + 1},}}", lambda word: cut_middle(word[0]), text.get_text()))


def cut_middle(name: str, most: int = LONGEST) -> str:
    """At most so many characters, the first and the last of a longer name."""
    kept = most - 1
    return name if len(name) <= most else f"{name[: kept // 2]}…{name[-(kept - kept // 2) :]}"


def is_empty(figure: Figure) -> bool:
    """Whether axes stand there with nothing in them, because all that they would show is undefined."""
    return bool(figure.axes) and not any(_shows(ax) for ax in figure.axes)


def _shows(ax: Axes) -> bool:
    """Whether axes hold a mark with finite coordinates, in the units of the axes; lines across them are no marks."""
    lines = (line for line in ax.lines if line.get_transform() == ax.transData)
    if any(map(_is_seen, lines)) or ax.images:
        return True
    return any(map(_has_values, ax.collections)) or any(_has_area(patch, ax) for patch in ax.patches)


def _is_seen(line: Any) -> bool:
    """A mark, or a stretch between two points that differ."""
    points = np.asarray(line.get_xydata(), dtype=float)
    points = points[np.isfinite(points).all(axis=1)] if points.size else points
    marked = line.get_marker() not in (None, "None", "", " ")
    return bool(points.size) and (marked or bool(np.ptp(points, axis=0).any()))


def _has_values(collection: Any) -> bool:
    """Cells by their values; marks by where they are; areas and bars by their outlines."""
    values = collection.get_array()
    if values is not None:
        return bool(np.ma.count(np.ma.masked_invalid(values)))
    offsets = np.ma.masked_invalid(collection.get_offsets())
    if collection.get_offset_transform() == collection.axes.transData:
        return bool(offsets.count())
    return any(np.isfinite(path.vertices).all(axis=1).any() for path in collection.get_paths())


def _has_area(patch: Any, ax: Axes) -> bool:
    if patch.get_data_transform() != ax.transData or patch.get_fill() is False:
        return False
    return bool(np.isfinite(patch.get_path().vertices).all()) and np.isfinite(patch.get_extents().bounds).all()


INK, QUIET, FAINT = "#222222", "#585858", "#dddddd"


class VerdictMark(NamedTuple):
    """How a verdict is drawn; never by colour alone."""

    colour: str
    marker: str
    sign: str


#: Colours after Okabe and Ito.
VERDICTS = {
    "correct": VerdictMark("#0072B2", "o", "✓"),
    "incorrect": VerdictMark("#D55E00", "X", "✗"),
    "uncertain": VerdictMark("#8a8a8a", "s", "?"),
    "not_applicable": VerdictMark("#b5b5b5", "_", "–"),
}
LOST = VerdictMark("#8a8a8a", "x", "!")

ACCENT = "#0072B2"
TITLE, LABEL, SMALL = 11.5, 9.5, 8.0


def new_axes(width: float, height: float) -> Axes:
    """Fresh axes of a figure of `width` x `height` inches."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def side_by_side(ax: Axes, count: int, *, sharex: bool = False) -> list[Axes]:
    """So many axes in the place of one, with one scale upright.

    Raises
    ------
    InputError
        The axes stand in no grid of a figure.
    """
    spec, figure = ax.get_subplotspec(), ax.get_figure(root=True)
    if spec is None or figure is None:
        raise InputError("ax", "must stand in the grid of a figure", cure="make it by plt.subplots()")
    ax.remove()
    axes: Any = spec.subgridspec(1, count).subplots(sharex=sharex, sharey=True, squeeze=False)
    return list(axes[0])


def panels(count: int, *, width: float, height: float) -> tuple[Figure, list[Axes], list[Axes]]:
    """`count` panels of one scale, three in a row: the figure, the panels, and those at the left edge."""
    import matplotlib.pyplot as plt

    columns = min(3, count)
    rows = -(-count // columns)
    size = (width * columns, height * rows)
    figure, axes = plt.subplots(
        rows, columns, figsize=size, layout="constrained", squeeze=False, sharex=True, sharey=True
    )
    every = axes.ravel().tolist()
    for ax in every[count:]:
        ax.set_axis_off()
    return figure, every[:count], axes[:, 0].tolist()


def describe(drawn: Axes | Figure, how: str) -> None:
    """Leave on the figure how it is read, for its caption: what a mark is, the unit of its uncertainty, n."""
    drawn.get_figure(root=True).set_label(how)  # type: ignore[union-attr]


#: The label of texts that a caption says too; of none that begins so a legend is made.
NOTE = "_note"
#: How the label begins of texts that are shorter on a phone: what follows is what a phone shows.
PHONE = "_phone:"


def dress(
    ax: Axes,
    title: str,
    note: str = "",
    *,
    how: str = "",
    x: str | None = None,
    y: str | None = None,
    lines: Literal["x", "y", "both", ""] = "",
) -> Axes:
    """Title above left, the note (n and unit) in grey below it, no frame, small ticks: what ends every plot.

    `how` is how the figure is read, for its caption, where that is more than the note; `x` and `y` name the axes in
    small grey letters, and `lines` are quiet ones behind what is drawn.
    """
    ax.set_title(f"{title}\n" if note else title, loc="left", fontsize=TITLE, color=INK, fontweight="bold", pad=9)
    if note or how:
        describe(ax, how or note)
    if note:
        above = {"xy": (0, 1), "xycoords": "axes fraction", "xytext": (0, 7), "textcoords": "offset points"}
        ax.annotate(note, **above, fontsize=SMALL, color=QUIET, va="bottom", label=NOTE)  # type: ignore[arg-type]
    for named, text in ((ax.set_xlabel, x), (ax.set_ylabel, y)):
        if text is not None:
            named(text, fontsize=SMALL, color=QUIET)
    if lines:
        grid(ax, lines)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(FAINT)
    ax.tick_params(length=0, labelsize=LABEL, colors=INK)
    return ax


def grid(ax: Axes, axis: Literal["x", "y", "both"] = "x") -> None:
    """Quiet lines behind what is drawn."""
    ax.grid(axis=axis, color=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)


def look_of(verdict: str | None) -> VerdictMark:
    """How a verdict is drawn, a lost one too."""
    return VERDICTS.get(verdict or "", LOST)


def in_words(axis: str) -> str:
    """An axis name as people write it."""
    return axis.replace("_", " ")


#: How the two marks of a pair are drawn: what is spoken of, and what stands beside it.
FILLED, HOLLOW = {"color": ACCENT}, {"color": QUIET, "markerfacecolor": "white"}


def legend_below(
    ax: Axes, marks: Mapping[str, Mapping[str, Any]] | None = None, *, inches: float = 0.35, ncols: int = 2
) -> None:
    """The legend under the axes, `inches` below their lower edge whatever their height.

    `marks` are names and how their marks look (matplotlib's arguments), beside what is drawn with a label. Long names
    take fewer than `ncols` columns, so that the legend never takes the room of what is drawn.
    """
    from matplotlib.transforms import offset_copy

    for name, look in (marks or {}).items():
        ax.plot([], [], **{"marker": "o", "linestyle": "", **look}, label=name)
    names = ax.get_legend_handles_labels()[1]
    widths = [0.45 + SMALL / 120 * min(LONGEST, len(name)) for name in names]  # inches: the mark, and the name
    room = 0.85 * ax.get_figure(root=True).get_figwidth()  # type: ignore[union-attr]
    if names and (ncols < len(names) or sum(widths) > room):
        ncols = max(1, min(ncols, int(room / max(widths))))
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=offset_copy(ax.transAxes, fig=ax.get_figure(root=True), y=-inches, units="inches"),
        ncols=ncols,
        frameon=False,
        fontsize=SMALL,
        labelcolor=QUIET,
        borderpad=0,
    )


# One mark for an estimate with its interval, and the axes that such marks stand on.


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
    estimate: Ranged,
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
    if math.isnan(estimate.estimate):
        return
    ends, here, line = [estimate.ci_low, estimate.ci_high], [at, at], {"color": colour, "linewidth": 1.7, **how}
    ax.plot(*((here, ends) if upright else (ends, here)), **line)
    point = (at, estimate.estimate) if upright else (estimate.estimate, at)
    face = colour if filled else "white"
    ax.plot(*point, marker, color=colour, markersize=size, markerfacecolor=face, zorder=3)  # whole, over lines


def level(of: Estimate | None, kind: str = "intervals") -> str:
    """The level of an interval, ``95% intervals``; ``no intervals`` where there is nothing that has one."""
    return "no intervals" if of is None else f"{of.ci_level:.0%} {kind}"


def intervals(of: Estimate | None) -> str:
    """The level and the unit of an interval, ``95% intervals over 28 tasks``."""
    return level(of) if of is None else f"{level(of)} over {of.clusters}"


def percent_ends(share: Ranged) -> str:
    """The interval in per cent, ``12–34%``."""
    return no_interval() if math.isnan(share.ci_low) else f"{100 * share.ci_low:.0f}–{100 * share.ci_high:.0f}%"


def named_rows(ax: Axes, names: Sequence[str]) -> None:
    """One row a name, the first on top; long names break after their first colon."""
    ax.set_yticks(range(len(names)), [name if len(name) <= LONGEST else name.replace(": ", ":\n", 1) for name in names])
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


def at_the_right(ax: Axes, at: float, text: str, *, size: float = LABEL, colour: str = INK, **how: Any) -> None:
    """Words outside the axes at the height of a mark."""
    beside: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    ax.annotate(text, (1, at), (7, 0), fontsize=size, color=colour, **beside, **how)


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


# One heatmap for all: shades from 0 to 1, every cell with its own words in ink that can be read on it.

#: How far into the palette shades go: beyond it dark ink cannot be read.
DEEPEST = 0.55
#: Cells without a value.
EMPTY = "#f2f2f2"


def shades(palette: str) -> Colormap:
    """The lighter part of a palette, on which dark ink stands out; grey where there is no value."""
    import matplotlib as mpl

    lighter = mpl.colormaps[palette](np.linspace(0, DEEPEST, 256))
    return mpl.colors.ListedColormap(lighter, palette).with_extremes(bad=EMPTY, under="white")


def plot_heatmap(
    values: ArrayLike,
    *,
    ax: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    palette: str = "YlOrBr",
    gap: float = 2.5,
) -> Axes:
    """Values from 0 to 1 as shades, rows down and columns across; a cell's words are the caller's (`cell_text`).

    The scale of colour is fixed, so that heatmaps of one quantity can be laid side by side.

    Parameters
    ----------
    values : array, shape (rows, columns)
        NaN stays grey.
    palette : str
        Name of a matplotlib or seaborn palette.
    gap : float
        White between cells, in points.
    """
    import seaborn as sns

    table = np.asarray(values, dtype=float)
    figure: Any = ax.get_figure(root=True)
    layout = figure.get_layout_engine()
    figure.set_layout_engine("none")  # seaborn draws it, with names that are not cut yet and would leave no room
    sns.heatmap(
        table,
        ax=ax,
        cmap=shades(palette),
        vmin=0,
        vmax=1,
        cbar=False,
        linewidths=gap,
        linecolor="white",
        xticklabels=list(columns),
        yticklabels=list(rows),
    )
    figure.set_layout_engine(layout)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set_yticklabels(ax.get_yticklabels(), rotation=0)
    return ax


def cell_text(
    ax: Axes, row: int, column: float, text: str, *, down: float = 0.0, quiet: bool = False, **how: Any
) -> None:
    """Words in a cell of a heatmap, `down` of its height below its middle."""
    style = {"ha": "center", "va": "center", "color": QUIET if quiet else INK} | how
    ax.text(column + 0.5, row + 0.5 + down, text, **style)
