"""Figures inside one cell's output, beside text and tables."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist


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
