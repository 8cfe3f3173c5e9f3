"""Text of others, made harmless in markdown and for the eye; templates and figures as HTML."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.artist import Artist


def literal(text: str) -> str:
    """Text on one line with all that markdown or HTML would read as markup made literal."""
    flat = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", flat)


def untypeset(markup: str) -> str:
    """HTML in which JupyterLab takes no dollars for formulas: "$25 of $400" would lose its blanks."""
    return f'<div class="mathjax_ignore">{markup}</div>'


def visible(text: str) -> str:
    """Text with control and direction characters, which could reorder or hide what is read, made visible."""
    return re.sub(r"[^ -~\n\t]", _shown, text.replace("\r\n", "\n"))


def _shown(match: re.Match[str]) -> str:
    hidden = unicodedata.category(match[0]) in ("Cc", "Cf", "Cs", "Co")
    return f"\\u{ord(match[0]):04x}" if hidden else match[0]


def csp_hash(content: str) -> str:
    """The hash of a script or style, as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def cut(text: str, most: int) -> str:
    """At most so many characters of a text, and how many were cut."""
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} more characters)"


def markdown_rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a markdown table; every cell is literal already."""
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]


@cache
def template(package: str, name: str) -> Template:
    """A template that stands beside the modules of a package; a name that it is not given is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader(package, ".")
    of = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return of.get_template(name)


def inline(drawn: Artist, *, note: str = "") -> str:
    """A figure (or the figure of some axes) as an HTML image that needs no file; the figure is closed.

    `note` (a banner) stands above it.
    """
    import matplotlib.pyplot as plt

    figure: Any = drawn.get_figure(root=True)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=96, bbox_inches="tight", facecolor="white", metadata={"Software": None})
    plt.close(figure)
    text = f'<p style="color: #b3261e; font-size: 85%">{html.escape(note)}</p>' if note else ""
    alt = html.escape(next((axes.get_title(loc="left") for axes in figure.axes), "figure"))
    image = base64.b64encode(stream.getvalue()).decode()
    return f'{text}<img alt="{alt}" style="max-width: 100%" src="data:image/png;base64,{image}">'
