"""The labeller as one HTML file for a person without Python: it works from disk and gives back a JSONL file."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from axisjudge.checks import InputError
from axisjudge.explorer.front import script, text
from axisjudge.explorer.session import Session
from axisjudge.labels.decisions import OPEN
from axisjudge.sharing import shared

_WELCOME = (
    "You will read runs of an AI agent, step by step, and say for each of five capabilities whether the agent used it "
    "correctly. Each has a rubric; open it whenever you are in doubt. Cite the steps that decided your verdict.",
    "Everything stays in this browser on this computer: close the page whenever you like and open the same file again "
    "(not in a private window: it forgets). When you are done, press Download and send the file back.",
)
#: Runs that are packed together.
TOGETHER = 25
#: The one style of a page outside its shadow tree.
STYLE = ":root { color-scheme: light dark } body { margin: 0 } main { --height: 100dvh; min-height: 100dvh }"


def write_page(path: str | Path, session: Session, secrets: Counter[str] | None = None, *, redact: bool = True) -> Path:
    """Write the page; it carries its trajectories, needs no network and is told none of the judges' verdicts.

    Keys and tokens are taken out of the runs and counted in `secrets`, unless `redact` is False.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    counted = Counter[str]() if secrets is None else secrets
    return written(path, page_html(session, counted if redact else None))


def page_html(session: Session, secrets: Counter[str] | None = None) -> str:
    """The page as text, without the keys in its runs where they are counted. The same session gives the same bytes."""
    n, given = len(session.trajectories), dict[str, int]()

    def shown(item: int) -> Any:
        return session.run(item) if secrets is None else shared(session.run(item), secrets)

    alike = [(run.task_id or "", run.agent or "") for run in session.trajectories]
    order = sorted(range(n), key=alike.__getitem__)
    pieces = {
        **_groups("items", range(n), lambda item: _asked(session, item), together=10 * TOGETHER),
        **_groups("runs", order, lambda item: given_apart(shown(item), given)),
        **{f"given-{at}": letters_of(each) for each, at in given.items()},
    }
    about = {"about": session.about(), "open_flag": OPEN, "welcome": _WELCOME, "together": TOGETHER}
    asked = [[session.base(item, axis) for axis in session.axes_of(item)] for item in range(n)]
    digest = sha256(embedded([about, asked]).encode()).hexdigest()[:16]  # of what is asked, however it is packed
    about |= {"places": sorted(range(n), key=order.__getitem__), "hash": digest}
    data = f'<script type="application/json" id="labelling">{embedded(about)}</script>'
    title = "Labelling" + (f": {session.rater}" if session.rater else "")
    rest = elements(pieces)
    return page_of("labeller", title, "page.js", data, doing="Labelling", kind=' type="module"', rest=rest)


def _groups(name: str, items: Sequence[int], of: Callable[[int], Any], *, together: int = TOGETHER) -> dict[str, str]:
    """Items packed together, in the order given: runs of one task are alike and take a fifth less room side by side."""
    groups = [items[first : first + together] for first in range(0, len(items), together)]
    return {f"{name}-{at}": packed([of(item) for item in group]) for at, group in enumerate(groups)}


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
    return _as_json(content).replace("<", "\\u003c")


def _as_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def elements(pieces: Mapping[str, str]) -> str:
    """Packed pieces as elements of a page, each unpacked when it is needed."""
    return "".join(f'<script type="text/plain" id="{name}">{each}</script>\n' for name, each in pieces.items())


def given_apart(run: Mapping[str, Any], given: dict[str, int]) -> dict[str, Any]:
    """A run as it is shown without policy and tools, which many share; `given` numbers these."""
    alike = _as_json({"policy": run["policy"], "tools": run["tools"]})
    rest = {name: value for name, value in run.items() if name not in ("policy", "tools")}
    return {"run": rest, "given": given.setdefault(alike, len(given))}


def _asked(session: Session, item: int) -> dict[str, Any]:
    """The fields of a run's labels that are known: those that all axes share, and each axis's own."""
    axes = session.axes_of(item)
    bases = [{**session.base(item, axis), "flags": _flags(session, item, axis)} for axis in axes]
    base = {name: value for name, value in bases[0].items() if all(each[name] == value for each in bases)}
    own = [{name: value for name, value in each.items() if name not in base} for each in bases]
    return {"base": base, "bases": dict(zip(axes, own, strict=True))}


def _flags(session: Session, item: int, axis: Any) -> list[str]:
    """A random draw is told; any other would tell what drew the item, so it is named by its plan."""
    if session.sampling.method in ("random", "unknown"):
        return session.drawn_flags(item, axis)
    return [session.sampling.plan_flag]


def csp_hash(content: str) -> str:
    """The hash of a script or style, as a content security policy names it."""
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def packed(content: Any) -> str:
    """Content as JSON, packed."""
    return letters_of(_as_json(content))


def letters_of(text: str) -> str:
    """Text, packed without a date and written in letters of 7 bits, which take a seventh more room and not a third.

    Three of these mean something to markup and are written as others: NUL, carriage return and ``<``.
    """
    packed = gzip.compress(text.encode("utf-8", "surrogatepass"), compresslevel=9, mtime=0)
    bits = np.unpackbits(np.frombuffer(packed, np.uint8))
    sevens = np.packbits(np.pad(bits, (0, -len(bits) % 7)).reshape(-1, 7), axis=1)[:, 0] >> 1
    return np.where(np.isin(sevens, (0, 13, 60)), sevens + 128, sevens).astype(np.uint8).tobytes().decode("latin-1")
