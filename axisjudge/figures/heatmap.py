"""One heatmap for all: shades from 0 to 1, every cell with its own words in ink that can be read on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from axisjudge.figures.theme import INK, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

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
    gamma: float = 1.0,
    gap: float = 2.5,
) -> Axes:
    """Values from 0 to 1 as shades, rows down and columns across; a cell's words are the caller's (`cell_text`).

    The scale of colour is fixed, so that heatmaps can be laid side by side.

    Parameters
    ----------
    values : array, shape (rows, columns)
        NaN stays grey.
    palette : str
        Name of a matplotlib or seaborn palette.
    gamma : float
        Below 1 the lower end is finer.
    gap : float
        White between cells, in points.
    """
    import matplotlib as mpl
    import seaborn as sns

    norm = mpl.colors.PowerNorm(gamma, 0, 1)
    table = np.asarray(values, dtype=float)
    figure: Any = ax.get_figure(root=True)
    layout = figure.get_layout_engine()
    figure.set_layout_engine("none")  # seaborn draws it, with names that are not cut yet and would leave no room
    sns.heatmap(
        table,
        ax=ax,
        cmap=shades(palette),
        norm=norm,
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
    ax: Axes, row: int, column: int, text: str, *, down: float = 0.0, quiet: bool = False, **how: Any
) -> None:
    """Words in a cell of a heatmap, `down` of its height below its middle."""
    style = {"ha": "center", "va": "center", "color": QUIET if quiet else INK} | how
    ax.text(column + 0.5, row + 0.5 + down, text, **style)
