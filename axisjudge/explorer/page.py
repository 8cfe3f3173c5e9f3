"""Pages as one HTML file each, which work from disk: the labeller for a person without Python, and the explorer."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from itertools import chain, pairwise
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from axisjudge.checks import InputError
from axisjudge.explorer.front import script, text
from axisjudge.explorer.grid import Grid
from axisjudge.explorer.session import Session
from axisjudge.figures.markup import csp_hash
from axisjudge.labels.decisions import SUFFIX, TAKEN_BACK
from axisjudge.sharing import shared
from axisjudge.verdict import OPEN
from axisjudge.workbench import write_markup

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
    return write_markup(path, page_html(session, counted if redact else None))


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


# The explorer as one HTML file that works offline: the grid at once, each run packed until it is opened.

#: What one file holds; a browser opens this many runs in a few seconds, and more are for the notebook.
MOST_RUNS = 5_000
#: Letters of all texts in one file.
MOST_BYTES = 400_000_000
#: Letters of a block of texts.
_BLOCK = 512_000
#: Runs whose texts stand together by their kind: more would take a hundredth less, and more blocks to open a run.
_SIDE_BY_SIDE = 10 * TOGETHER


def write_explorer(path: str | Path, grid: Grid, secrets: Counter[str] | None = None, *, redact: bool = True) -> Path:
    """Write the grid with its runs as one file; it needs no network.

    Parameters
    ----------
    secrets : Counter, optional
        Counts the secrets that were taken out, by kind.
    redact : bool
        Take keys and tokens out of everything that the file holds: it is made to be passed on.

    Raises
    ------
    InputError
        More runs than a file holds, or the file cannot be written.
    """
    counted = secrets if secrets is not None else Counter()
    return write_markup(path, explorer_html(grid, counted if redact else None))


def explorer_html(grid: Grid, secrets: Counter[str] | None = None) -> str:
    """The page as text. The same grid gives the same bytes.

    Every text that is searched stands once in the file, in blocks of `_BLOCK` letters; a run names its texts by number.
    Texts of one kind (a tool's answers, reasons) are alike, and stand side by side where runs are neighbours, which
    takes a seventh less. A search unpacks the blocks one after the other and keeps none of them.

    Raises
    ------
    InputError
        More than `MOST_RUNS` runs, or more than `MOST_BYTES` of them.
    """
    cure = "choose some with --limit, --agent or --axis, or open them in a notebook: axisjudge.explore(ratings, runs)"
    if len(grid.runs) > MOST_RUNS:
        raise InputError("explorer file", f"holds at most {MOST_RUNS} runs", len(grid.runs), cure)
    texts, given = _Texts(), dict[str, int]()
    groups: list[str] = []
    uses: list[list[int]] = []
    for first in range(0, len(grid.runs), _SIDE_BY_SIDE):
        window = range(first, min(first + _SIDE_BY_SIDE, len(grid.runs)))
        opened = [_opened(grid, at, given, secrets) for at in window]
        uses += texts.named_in(opened)
        groups += [packed(opened[at : at + TOGETHER]) for at in range(0, len(opened), TOGETHER)]
        if texts.size > MOST_BYTES:
            raise InputError("explorer file", f"holds at most {MOST_BYTES:,} letters", f"{window.stop} runs", cure)
    texts.end_block()
    index = packed(
        {
            **(grid.index() if secrets is None else shared(grid.index(), secrets)),
            "changes": grid.rubric_changes(),
            "bases": _of_questions(grid),
            "together": TOGETHER,
            "open_flag": OPEN,
            "taken_back": TAKEN_BACK,
            "suffix": SUFFIX,
            "blocks": texts.firsts,
        }
    )
    steps = [[number - before for before, number in pairwise([0, *each])] for each in uses]
    pieces = {"uses": packed(steps)}
    pieces |= {f"given-{at}": letters_of(each) for each, at in given.items()}
    for name, several in (("runs", groups), ("texts", texts.blocks)):
        pieces |= {f"{name}-{at}": each for at, each in enumerate(several)}
    digest = sha256((index + "".join(pieces.values())).encode()).hexdigest()[:16]
    data = f'<script type="text/plain" id="index" data-hash="{digest}">{index}</script>'
    title = f"{len(grid.runs)} runs"
    return page_of("explorer", title, "explorer_page.js", data, doing="The explorer", rest=elements(pieces))


#: Places whose few texts come again and again: they are named by their numbers, others by the step from the one before.
_AGAIN = ("answers", "name", "argument")


def _slots(opened: Mapping[str, Any]) -> Iterator[tuple[Any, Any, str, str]]:
    """Where the texts of a run stand: what holds each, its key there, the place, and the kind by which texts are alike.

    `placesOf` in explorer_page.js goes the same way.
    """
    for texts in (*(opened["reasons"][column] for column in sorted(opened["reasons"], key=int)), opened["notes"]):
        yield from ((reason, "why", "why", "why") for reason in texts)
    for step in (opened["run"] or {"steps": ()})["steps"]:
        answers = step["answers"] or ""
        yield step, "text", f"text {step['role']}", f"text {step['role']} {answers}"
        yield step, "answers", "answers", "answers"
        for call in step["calls"]:
            name = call["name"]
            yield call, "name", "name", "name"
            for pair in call["arguments"]:
                argument = pair[0]
                yield pair, 0, "argument", "argument"
                yield pair, 1, "value", f"value {name} {argument}"


class _Texts:
    """Texts, each once, by number; `blocks` are packed, `firsts` the number with which each block begins."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.blocks: list[str] = []
        self.firsts: list[int] = []
        self.size = 0
        self._open: list[str] = []
        self._letters = 0

    def named_in(self, opened: Sequence[Mapping[str, Any]]) -> list[list[int]]:
        """Put numbers where the texts of runs stand; the numbers of each run, in order."""
        slots = [list(_slots(run)) for run in opened]
        kinds: dict[str, str] = {}
        for holder, key, _, kind in chain.from_iterable(slots):
            if (text := holder[key]) and text not in self.numbers:
                kinds.setdefault(text, kind)
        for text in sorted(kinds, key=kinds.__getitem__):
            self._add(text)
        return [self._named(each) for each in slots]

    def _named(self, slots: Sequence[tuple[Any, Any, str, str]]) -> list[int]:
        used, last = set[int](), dict[str, int]()
        for holder, key, slot, _ in slots:
            number = self.numbers[holder[key]] if holder[key] else None
            if number is None or slot in _AGAIN:
                holder[key] = number
            else:
                holder[key] = number - last.get(slot, 0)
                last[slot] = number
            used |= set() if number is None else {number}
        return sorted(used)

    def _add(self, text: str) -> None:
        self.numbers[text] = len(self.numbers)
        self._open.append(text)
        self._letters += len(text)
        self.size += len(text)
        if self._letters > _BLOCK:
            self.end_block()

    def end_block(self) -> None:
        """Pack what is open: the texts' lengths as JavaScript counts them, a line's end, and the texts."""
        if self._open:
            lengths = [len(text.encode("utf-16-le", "surrogatepass")) // 2 for text in self._open]
            self.firsts.append(len(self.numbers) - len(self._open))
            self.blocks.append(letters_of(f"{json.dumps(lengths)}\n{''.join(self._open)}"))
            self._open, self._letters = [], 0


def _opened(grid: Grid, at: int, given: dict[str, int], secrets: Counter[str] | None) -> dict[str, Any]:
    """A run as it is opened, what runs share taken out, and what a decision starts from."""
    opened = grid.opened(at) if secrets is None else shared(grid.opened(at), secrets)
    run = opened["run"]
    if run is None:
        return opened
    for call in (call for step in run["steps"] for call in step["calls"]):
        call["arguments"] = [list(pair) for pair in call["arguments"]]
    bases = {question: grid.base(at, question) for question in grid.rubrics}
    common = {
        name: value for base in bases.values() for name, value in base.items() if name not in (*_OF_QUESTION, _OF_BOTH)
    }
    # digests side by side, in the order of the questions: letters of hexadecimals would be a twentieth of the file
    shown = b64encode(b"".join(bytes.fromhex(base[_OF_BOTH]) for base in bases.values())).decode()
    return {**opened, **given_apart(run, given), "base": common, "shown": shown}


#: Fields of a decision that its question decides, and the one that depends on run and question.
_OF_QUESTION, _OF_BOTH = ("question", "rubric_version", "rubric_sha256"), "prompt_sha256"


def _of_questions(grid: Grid) -> dict[str, dict[str, Any]]:
    rubrics = grid.rubrics.values()
    return {
        each.axis: {"question": each.axis, "rubric_version": each.version, "rubric_sha256": each.sha256}
        for each in rubrics
    }
