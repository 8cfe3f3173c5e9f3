"""One look for all figures: sizes, greys, and colours that colour-blind readers can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from axisjudge.checks import InputError
from axisjudge.figures.legible import LONGEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, FAINT = "#222222", "#6b6b6b", "#dddddd"


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


def dress(ax: Axes, title: str, note: str = "") -> Axes:
    """Title above left, the note (n and unit) in grey below it and in the caption, no frame, small ticks."""
    ax.set_title(f"{title}\n" if note else title, loc="left", fontsize=TITLE, color=INK, fontweight="bold", pad=9)
    if note:
        describe(ax, note)
        place = {"xy": (0, 1), "xycoords": "axes fraction", "xytext": (0, 7), "textcoords": "offset points"}
        ax.annotate(note, **place, fontsize=SMALL, color=QUIET, va="bottom")  # type: ignore[arg-type]
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


def legend_below(ax: Axes, *, inches: float, ncols: int) -> None:
    """The legend under the axes, `inches` below their lower edge whatever their height.

    Long names take fewer than `ncols` columns, so that the legend never takes the room of what is drawn.
    """
    from matplotlib.transforms import offset_copy

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
