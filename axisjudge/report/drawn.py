"""Figures as bytes, the same on every machine, at twice the size of the screen; and their captions."""

from __future__ import annotations

import io
import warnings
from typing import Any

from axisjudge.figures.legible import cut_names

#: Twice the 96 dots that a page counts to an inch.
DPI = 192
#: A figure as a picture, for the web, and for papers.
KINDS = ("png", "svg", "pdf")
_FONTS: dict[Any, Any] = {
    "font.sans-serif": ["DejaVu Sans"],
    "font.serif": ["DejaVu Serif"],
    "font.monospace": ["DejaVu Sans Mono"],
    "mathtext.fontset": "dejavusans",
    "savefig.facecolor": "white",
    "svg.hashsalt": "axisjudge",
    "pdf.fonttype": 42,
}
#: What a file of a figure says of itself: no date, no version.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def drawn_bytes(figure: Any, banner: str | None, kind: str = "png") -> bytes:
    """The figure as PNG, SVG or PDF: no date, no version, fixed fonts and resolution; the banner stands above it."""
    import matplotlib as mpl

    stream = io.BytesIO()
    cut_names(figure)
    with mpl.rc_context(_FONTS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # it is drawn as a box
        warnings.filterwarnings("ignore", message="constrained_layout not applied")  # said of names that leave no room
        text = banner and figure.text(0, 1, banner.upper(), va="bottom", fontsize=8, weight="bold", color="#b3261e")
        options = {"bbox_inches": "tight", "pad_inches": 0.15, "metadata": _METADATA[kind]}
        figure.savefig(stream, format=kind, dpi=DPI, **options)
        if text:
            text.remove()
    return stream.getvalue()


def title_of_figure(figure: Any) -> str:
    """The title of a figure's first axes that have one."""
    titles = (axes.get_title(loc) for axes in figure.axes for loc in ("left", "center", "right"))
    return " ".join(next(filter(None, titles), "").split())


def width_of(png: bytes) -> int:
    """Width in CSS pixels (96 an inch) of a PNG drawn at `DPI`."""
    return round(int.from_bytes(png[16:20], "big") * 96 / DPI)


#: What a figure shows, where its title is short: the unit and the marks belong into a caption.
_CAPTIONS = {
    "agreement_matrix": "Agreement of every two raters; frames hold the judges of one family.",
    "families": "Agreement of pairs of judges within a family and across families. A dot is a pair, a large mark the "
    "mean of its group with its interval.",
    "with_labels": "Agreement of each judge with the labels, with intervals, judges of one family together.",
    "triage": "Accuracy of judges by agreement and confidence.",
    "against_people": "Agreement of each judge with the majority of people, with intervals. A grey band, where there "
    "is one, is what people reach among themselves.",
    "stand_in": "The alternative annotator test: how often each judge is at least as close to people as a person is.",
    "corrected_rates": "Failure rates as each judge gives them (open marks) and corrected by the labels (filled marks, "
    "with intervals); grey is the interval of the labels alone.",
    "reliability": "Reliability: how often a judge is right at each level of its confidence.",
}


def caption_of(name: str, title: str) -> str:
    """The caption of a figure: its title where that states something, and what is drawn."""
    words = _CAPTIONS.get(name, "")
    if not words:
        return title or name.replace("_", " ").capitalize()
    return words if len(title.split()) < 5 or not any(letter.isdigit() for letter in title) else f"{title}. {words}"
