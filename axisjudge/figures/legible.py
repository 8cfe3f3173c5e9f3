"""What a figure needs whatever it draws: names that leave room for the marks, and something to be seen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def cut_middle(name: str) -> str:
    """At most `LONGEST` characters, the first and the last of a longer name."""
    kept = LONGEST - 1
    return name if len(name) <= LONGEST else f"{name[: kept // 2]}…{name[-(kept - kept // 2) :]}"


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
