"""The faces of labeller and explorer: plain JavaScript and CSS, joined without a build step, one for widget and page.

The pieces share one scope and come in the order of their use. Nothing in them reaches a network, and text of a
trajectory is only ever set as text.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

#: One stylesheet: what all share, then each face.
_STYLES = ("tokens.css", "record.css", "labeller.css", "explorer.css", "timeline.css")
_SHARED = ("dom.js", "mount.js", "store.js", "steps.js")
_LABELLER = (*_SHARED, "panel.js", "labeller.js")
_EXPLORER = (*_SHARED, "items.js", "list.js", "filters.js", "words.js", "deciding.js", "opened.js", "explorer.js")
_TIMELINE = (*_SHARED, "timeline.js")
#: What each end is joined from.
_PIECES = {
    "page.js": _LABELLER,
    "widget.js": (*_LABELLER, "kernel.js", "asked.js"),
    "served.js": (*_LABELLER, "kernel.js", "asked.js"),
    "explorer_page.js": _EXPLORER,
    "explorer_widget.js": (*_EXPLORER, "kernel.js"),
    "timeline_page.js": _TIMELINE,
}


@cache
def script(end: str) -> str:
    """One module: the styles, the labeller or the explorer, and the `end` it is used from, a page or a widget."""
    sheet = "".join(map(text, _STYLES))
    styles = f"const STYLES = {json.dumps(sheet).replace('<', chr(92) + 'u003c')};"
    return "\n".join([styles, *map(text, _PIECES[end]), text(end)])


def text(name: str) -> str:
    """One of the files beside this one."""
    return (files(__package__) / name).read_text(encoding="utf-8")
