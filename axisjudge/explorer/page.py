"""The labeller as one HTML file for a person without Python: it works from disk and gives back a JSONL file."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from axisjudge.checks import InputError
from axisjudge.explorer.front import script, text
from axisjudge.explorer.session import Session
from axisjudge.labels.record import OPEN

_WELCOME = (
    "You will read runs of an AI agent, step by step, and say for each of five capabilities whether the agent used it "
    "correctly. Each has a rubric; open it whenever you are in doubt. Cite the steps that decided your verdict.",
    "Everything stays in this browser on this computer: close the page whenever you like and open the same file again. "
    "When you are done, press Download and send the file back.",
)
#: The one style of a page outside its shadow tree.
STYLE = ":root { color-scheme: light dark } body { margin: 0 } main { --height: 100dvh; min-height: 100dvh }"


def write_page(path: str | Path, session: Session) -> Path:
    """Write the page; it carries its trajectories, needs no network and is told none of the judges' verdicts.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    return written(path, page_html(session))


def page_html(session: Session) -> str:
    """The page as text. The same session gives the same bytes."""
    data = f'<script type="application/json" id="labelling">{embedded(_content(session))}</script>'
    title = "Labelling" + (f": {session.rater}" if session.rater else "")
    return page_of("labeller", title, "page.js", data, doing="Labelling", kind=' type="module"')


def page_of(
    face: str, title: str, end: str, data: str, *, doing: str, kind: str = "", rest: str = "", connects: bool = False
) -> str:
    """A page with one face, its data before and the `rest` behind its script.

    A content security policy names the hashes of its one script and one style and allows nothing else, but for
    questions to the server it came from where it `connects`.
    """
    program = script(end)
    return Template(text("page.html")).substitute(
        face=face,
        title=escape(title),
        script=program,
        script_hash=csp_hash(program),
        style=STYLE,
        style_hash=csp_hash(STYLE),
        doing=doing,
        connect="; connect-src 'self'" if connects else "",
        kind=kind,
        data=data,
        rest=rest,
    )


def written(path: str | Path, page: str) -> Path:
    """Write a page as a file; where it stands."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(str(path), f"cannot be written ({error.strerror or error})") from error
    return target


def embedded(content: Any) -> str:
    """JSON that cannot leave the element it stands in: no ``<`` is left, so no text can close or open a tag."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _content(session: Session) -> dict[str, Any]:
    items = [
        {
            "run": session.run(item),
            "bases": {
                axis: {**session.base(item, axis), "flags": _flags(session, item, axis)}
                for axis in session.axes_of(item)
            },
        }
        for item in range(len(session.trajectories))
    ]
    content = {"about": session.about(), "items": items, "open_flag": OPEN, "welcome": _WELCOME}
    return {**content, "hash": sha256(embedded(content).encode()).hexdigest()[:16]}


def _flags(session: Session, item: int, axis: Any) -> list[str]:
    """A random draw is told; any other would tell what drew the item, so it is named by its plan."""
    if session.sampling.method in ("random", "unknown"):
        return session.drawn_flags(item, axis)
    return [session.sampling.plan_flag]


def csp_hash(content: str) -> str:
    """The hash of a script or style, as a content security policy names it."""
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
