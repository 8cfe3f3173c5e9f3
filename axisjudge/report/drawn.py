"""Figures as bytes, the same on every machine, at twice the size of the screen; and their captions."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

#: Twice the 96 dots that a page counts to an inch.
DPI = 192
#: A figure as a picture, for the web, and for papers.
KINDS = ("png", "svg", "pdf")
_FONTS: dict[Any, Any] = {
    "font.sans-serif": ["DejaVu Sans"],
    "font.serif": ["DejaVu Serif"],
    "font.monospace": ["DejaVu Sans Mono"],
    "mathtext.fontset": "dejavusans",
    "text.parse_math": False,  # ticks are made late; a dollar in a name begins no formula
    "savefig.facecolor": "white",
    "figure.autolayout": False,  # a figure that is laid out is not laid out again
    "figure.constrained_layout.use": False,
    "svg.hashsalt": "axisjudge",
    "pdf.fonttype": 42,
}
#: What a file of a figure says of itself: no date, no version.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def drawn_bytes(figure: Any, banner: str | None, *kinds: str) -> list[bytes]:
    """The figure as PNG, SVG or PDF: no date, no version, fixed fonts and resolution; the banner stands above it.

    It is laid out and measured once, as for PNG, and then drawn once for each of `kinds`.
    """
    import matplotlib as mpl

    from axisjudge.figures.theme import cut_names  # numpy, for which a run with nothing to do need not wait

    cut_names(figure)
    with mpl.rc_context(_FONTS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # it is drawn as a box
        warnings.filterwarnings("ignore", message="constrained_layout not applied")  # said of names that leave no room
        text = banner and figure.text(0, 1, banner.upper(), va="bottom", fontsize=8, weight="bold", color="#b3261e")
        figure.set_dpi(DPI)
        if engine := figure.get_layout_engine():
            engine.execute(figure)
            if _titles_broken(figure) | _ticks_apart(figure, slanted=False):
                engine.execute(figure)
            figure.set_layout_engine(None)  # and not "none", for which it would be drawn once more for each kind
        seen = figure.get_tightbbox().padded(0.15)
        made = [_saved(figure, kind, seen) for kind in kinds]
        if text:
            text.remove()
    return made


def _titles_broken(figure: Any) -> bool:
    """Break titles that pass the figure's right edge at words; whether there was one."""
    titles = [text for ax in figure.axes for text in (ax.title, ax._left_title, ax._right_title) if text.get_text()]
    boxes = [(text, text.get_window_extent()) for text in titles]
    over = [(text, (figure.bbox.x1 - box.x0) / box.width) for text, box in boxes if box.x1 > figure.bbox.x1 + 1]
    for text, room in over:
        lines = text.get_text().split("\n")
        width = max(12, int(0.95 * room * max(map(len, lines))))
        text.set_text("\n".join(textwrap.fill(line, width) for line in lines))
    return bool(over)


def _saved(figure: Any, kind: str, seen: Any) -> bytes:
    stream = io.BytesIO()
    with _small_fonts():
        figure.savefig(stream, format=kind, dpi=DPI, bbox_inches=seen, metadata=_METADATA[kind])
    return stream.getvalue()


def narrow(figure: Any, banner: str | None, kind: str, *rooms: float) -> bytes | None:
    """The figure at the size at which it is seen: of the widths in `rooms` (inches) the first in which it fits.

    Text is of `SMALLEST` points or more; titles go, as the caption has them. Where the figure fits in none it is drawn
    for the last if there are several, and not drawn for a single one. It is changed, so draw it as it is before.
    """
    import matplotlib as mpl

    from axisjudge.figures.theme import PHONE, cut_names

    cut_names(figure)
    width, height = figure.get_size_inches()
    with mpl.rc_context(_FONTS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="constrained_layout not applied|.*not compatible with tight_layout")
        _without_title(figure)
        for text in figure.findobj(_is_text):
            if len(rooms) == 1 and str(text.get_label()).startswith(PHONE):
                text.set_text(text.get_label().removeprefix(PHONE))
            text.set_fontsize(min(max(SMALLEST, text.get_fontsize() * 0.85), 8.0 if len(rooms) == 1 else 9.0))
        if banner:
            figure.text(0, 1, banner.upper(), va="bottom", fontsize=SMALLEST, weight="bold", color="#b3261e")
        if len(rooms) == 1:
            height *= _stacked(figure)
            _broken_names(figure)
            _whole_marks(figure)
        figure.set_layout_engine(_engine(figure))
        widths = [min(room, width) for room in rooms]
        least = 1.0 if len(rooms) == 1 else 0.75  # a phone has room below
        fits = any(_fits(figure, room, height * max(least, min(1.0, room / width))) for room in widths)
        figure.set_layout_engine(None)  # or it would be laid out anew, and pass what was measured
        seen = figure.get_tightbbox().padded(0.04 if len(rooms) == 1 else 0)
        return _saved(figure, kind, seen) if fits or len(rooms) > 1 else None


def _stacked(figure: Any) -> int:
    """Let panels that stand side by side stand one below the other; how many there are."""
    from matplotlib.gridspec import GridSpec

    specs = [ax.get_subplotspec() for ax in figure.axes]
    grids = {spec and spec.get_gridspec() for spec in specs}
    if None in specs or len(specs) < 2 or len(grids) > 1 or specs[0].get_gridspec().nrows > 1:
        return 1
    column = GridSpec(len(specs), 1, figure=figure)
    for at, ax in enumerate(figure.axes):
        ax.set_subplotspec(column[at, 0])
        ax.tick_params(labelleft=True, labelbottom=True)
    return len(specs)


def _broken_names(figure: Any) -> None:
    """Names of rows over two lines, where they are words."""
    for ax in figure.axes:
        names = [text.get_text() for text in ax.get_yticklabels()]
        if any(len(name) > _NAME and " " in name for name in names):
            ax.set_yticks(ax.get_yticks(), [textwrap.fill(name, max(_NAME, len(name) // 2 + 3)) for name in names])


def _whole_marks(figure: Any) -> None:
    """Marks at the end of a small axis are not cut in two."""
    for ax in figure.axes:
        low, high = sorted(ax.get_xlim())
        for line in ax.lines:
            if line.get_marker() not in ("", "None", None) and all(
                low <= x <= high for x in line.get_xdata(orig=False)
            ):
                line.set_clip_on(False)


def _engine(figure: Any) -> str:
    """Constrained layout divides by the ratios of rows, and a colorbar that seaborn draws has rows of none."""
    grids = (grid for ax in figure.axes if (grid := ax.get_gridspec()))
    has_none = any(0 in [*grid.get_height_ratios(), *grid.get_width_ratios()] for grid in grids)
    return "tight" if has_none else "constrained"


#: Points of the smallest text in a figure of a paper.
SMALLEST = 7.0
#: Letters of a row's name that stand in one line on a phone.
_NAME = 18
#: The least share of a paper figure's width that what is drawn has, beside names and legends.
_ROOM = 0.25


def _fits(figure: Any, room: float, height: float) -> bool:
    """Lay the figure out in so many inches; whether what is drawn in it has room there and no names overlap."""
    width = room
    for _ in range(8):
        figure.set_size_inches(width, height)
        _narrow_legends(figure, room)
        _wrapped(figure, room)
        figure.get_layout_engine().execute(figure)
        if _ticks_apart(figure):
            figure.get_layout_engine().execute(figure)
        seen = figure.get_tightbbox().width
        if seen <= room:
            break
        width -= seen - room
        if width < room / 2:
            return False
    drawn = sum({round(ax.get_position().x0, 2): ax.get_position().width for ax in figure.axes}.values())
    whole = seen <= room + 0.01 and drawn * width >= _ROOM * room
    return bool(whole and not _overlapping(figure) and not _cut(figure))


def _cut(figure: Any) -> bool:
    """Whether a text within axes passes the edge of the figure, as in a cell of a heatmap that is too narrow for it."""
    seen = figure.get_tightbbox()
    boxes = [text.get_window_extent() for ax in figure.axes for text in ax.texts if text.get_text()]
    return any(box.x0 < seen.x0 * figure.dpi - 1 or box.x1 > seen.x1 * figure.dpi + 1 for box in boxes)


def _ticks_apart(figure: Any, *, slanted: bool = True) -> bool:
    """Fewer numbers below axes where they stand on each other, and names there upright; whether there were such.

    Names that are `slanted` already may be left as they are.
    """
    from matplotlib.ticker import MaxNLocator

    changed = False
    for ax in figure.axes:
        texts = [text for text in ax.get_xticklabels() if text.get_visible() and text.get_text()]
        boxes = [text.get_window_extent().shrunk(1.0, 0.7) for text in texts if slanted or not text.get_rotation()]
        if not any(one.overlaps(two) for one, two in pairwise(boxes)):
            continue
        changed = True
        if isinstance(locator := ax.xaxis.get_major_locator(), MaxNLocator):
            locator.set_params(nbins=3)
        elif any(re.search("[a-z]", text.get_text()) for text in texts):
            ax.tick_params(axis="x", labelrotation=90)
    return changed


def _wrapped(figure: Any, room: float) -> None:
    """Break texts that are wider than the figure into lines."""
    for text in figure.findobj(_is_text):
        flat = " ".join(text.get_text().split())
        wide = _inches(text) / room
        if wide > 0.97 and " " in flat and not text.get_rotation():
            text.set_text(textwrap.fill(flat, int(len(flat) * 0.9 / wide / (1 + text.get_text().count("\n")))))


def _overlapping(figure: Any) -> bool:
    """Whether two texts of one of the axes stand on each other."""
    for ax in figure.axes:
        in_legend = ax.get_legend().findobj(_is_text) if ax.get_legend() else []  # which lays its own texts out
        texts = [text for text in ax.findobj(_is_text) if text.get_visible() and text.get_text().strip()]
        texts = [text for text in texts if text not in in_legend]
        boxes = [text.get_window_extent().shrunk(0.9, 0.7) for text in texts]
        if any(one.overlaps(two) for at, one in enumerate(boxes) for two in boxes[at + 1 :]):
            return True
    return False


def _narrow_legends(figure: Any, room: float) -> None:
    """Give a legend that is wider than the figure fewer columns; made anew, as one that is drawn cannot be laid out."""
    from matplotlib.transforms import IdentityTransform

    for ax in figure.axes:
        while (legend := ax.get_legend()) and legend._ncols > 1 and _inches(legend) > room:
            names = [text.get_text() for text in legend.get_texts()]
            style = {"frameon": False, "fontsize": SMALLEST, "labelcolor": legend.get_texts()[0].get_color()}
            at = {"bbox_to_anchor": legend.get_bbox_to_anchor(), "bbox_transform": IdentityTransform()}
            how = {"loc": legend._loc, "ncols": legend._ncols - 1, "borderpad": 0, **style, **at}
            ax.legend(legend.legend_handles, names, **how)


def _inches(artist: Any) -> float:
    return float(artist.get_window_extent().width / artist.get_figure(root=True).dpi)


def _is_text(artist: Any) -> bool:
    from matplotlib.text import Text

    return isinstance(artist, Text)


def _without_title(figure: Any) -> None:
    """Take off what the caption says: the title of a figure, of its only axes, and the notes under titles."""
    from axisjudge.figures.theme import NOTE

    how = str(figure.get_label())
    if figure._suptitle is not None:
        figure._suptitle.remove()
        figure._suptitle = None
    elif len(figure.axes) == 1 or sum(bool(title_of(ax)) for ax in figure.axes) == 1:
        for ax in figure.axes:
            for side in ("left", "center", "right"):
                ax.set_title("", loc=side)
    if (below := figure._supxlabel) is not None and _says(how, below.get_text()):
        below.remove()
        figure._supxlabel = None
    for ax in figure.axes:
        if _says(how, ax.get_xlabel()):
            ax.set_xlabel("")
        for text in [text for text in ax.texts if text.get_label() == NOTE]:
            text.remove()


def _says(how: str, text: str) -> bool:
    """Whether a caption says a text in parts of its own: a name of an axis may be a word in another sentence."""
    words = r"[\s;.]+".join(map(re.escape, filter(None, re.split(r"[\s;.]+", text))))
    return bool(re.search(rf"(^|[;.\n])\s*{words}\s*($|[;.\n])", how))


def title_of(ax: Any) -> str:
    """The title of axes, wherever it stands."""
    return next(filter(None, (ax.get_title(loc) for loc in ("left", "center", "right"))), "")


@contextmanager
def _small_fonts() -> Iterator[None]:
    """Fonts in a PDF without the tables that lay a text out, as it is laid out: they take half of a figure's time."""
    from fontTools import subset

    class Placed(subset.Options):  # type: ignore[misc]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.drop_tables += ["GDEF", "GPOS", "GSUB"]

    whole, subset.Options = subset.Options, Placed
    try:
        yield
    finally:
        subset.Options = whole


def title_of_figure(figure: Any) -> str:
    """The title of a figure, else of the first axes that have one."""
    titles = (figure.get_suptitle(), *map(title_of, figure.axes))
    return " ".join(next(filter(None, titles), "").split())


def width_of(png: bytes) -> int:
    """Width in CSS pixels (96 an inch) of a PNG drawn at `DPI`."""
    return round(int.from_bytes(png[16:20], "big") * 96 / DPI)


def reading_of(figure: Any) -> str:
    """How a figure is read, as a sentence: what its marks are, the unit of their uncertainty, n."""
    how = " ".join(str(figure.get_label()).split()).rstrip(".")
    return f"{how[:1].upper()}{how[1:]}." if how else ""
