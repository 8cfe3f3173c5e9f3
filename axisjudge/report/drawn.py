"""Figures as bytes, the same on every machine, at twice the size of the screen; and their captions."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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

    from axisjudge.figures.legible import cut_names  # numpy, for which a run with nothing to do need not wait

    cut_names(figure)
    with mpl.rc_context(_FONTS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # it is drawn as a box
        warnings.filterwarnings("ignore", message="constrained_layout not applied")  # said of names that leave no room
        text = banner and figure.text(0, 1, banner.upper(), va="bottom", fontsize=8, weight="bold", color="#b3261e")
        figure.set_dpi(DPI)
        if engine := figure.get_layout_engine():
            engine.execute(figure)
            figure.set_layout_engine(None)  # and not "none", for which it would be drawn once more for each kind
        seen = figure.get_tightbbox().padded(0.15)
        made = [_saved(figure, kind, seen) for kind in kinds]
        if text:
            text.remove()
    return made


def _saved(figure: Any, kind: str, seen: Any) -> bytes:
    stream = io.BytesIO()
    with _small_fonts():
        figure.savefig(stream, format=kind, dpi=DPI, bbox_inches=seen, metadata=_METADATA[kind])
    return stream.getvalue()


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
    titles = (
        figure.get_suptitle(),
        *(axes.get_title(loc) for axes in figure.axes for loc in ("left", "center", "right")),
    )
    return " ".join(next(filter(None, titles), "").split())


def width_of(png: bytes) -> int:
    """Width in CSS pixels (96 an inch) of a PNG drawn at `DPI`."""
    return round(int.from_bytes(png[16:20], "big") * 96 / DPI)


def reading_of(figure: Any) -> str:
    """How a figure is read, as a sentence: what its marks are, the unit of their uncertainty, n."""
    how = " ".join(str(figure.get_label()).split()).rstrip(".")
    return f"{how[:1].upper()}{how[1:]}." if how else ""
