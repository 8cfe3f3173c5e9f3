"""The explorer as one HTML file that works offline: the grid at once, each run packed until it is opened."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.explorer.grid import Grid
from axisjudge.explorer.page import TOGETHER, elements, given_apart, letters_of, packed, page_of, written
from axisjudge.labels.decisions import OPEN, SUFFIX, TAKEN_BACK
from axisjudge.sharing import shared

#: What one file holds; a browser opens this many runs in a few seconds, and more are for the notebook.
MOST_RUNS = 5_000
#: Letters of all texts in one file.
MOST_BYTES = 400_000_000
#: Letters of a block of texts.
_BLOCK = 256_000


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
    return written(path, explorer_html(grid, counted if redact else None))


def explorer_html(grid: Grid, secrets: Counter[str] | None = None) -> str:
    """The page as text. The same grid gives the same bytes.

    Every text that is searched stands once in the file, in blocks of `_BLOCK` letters; a run names its texts by number.
    A search unpacks the blocks one after the other and keeps none of them.

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
    uses, opened = [], []
    for at in range(len(grid.runs)):
        texts.used = []
        opened.append(_opened(grid, at, given, texts, secrets))
        uses.append(sorted(set(texts.used)))
        if len(opened) == TOGETHER or at + 1 == len(grid.runs):
            groups.append(packed(opened))
            opened = []
        if texts.size > MOST_BYTES:
            raise InputError("explorer file", f"holds at most {MOST_BYTES:,} letters", f"{at + 1} runs", cure)
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


class _Texts:
    """Texts, each once, by number; `blocks` are packed, `firsts` the number with which each block begins."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.blocks: list[str] = []
        self.firsts: list[int] = []
        self.used: list[int] = []
        self.size = 0
        self._open: list[str] = []
        self._letters = 0

    def number(self, text: str | None) -> int | None:
        """The number of a text, which the run at hand uses from now on; None of nothing."""
        if not text:
            return None
        if text not in self.numbers:
            self.numbers[text] = len(self.numbers)
            self._open.append(text)
            self._letters += len(text)
            self.size += len(text)
            if self._letters > _BLOCK:
                self.end_block()
        self.used.append(self.numbers[text])
        return self.numbers[text]

    def end_block(self) -> None:
        """Pack what is open: the texts' lengths as JavaScript counts them, a line's end, and the texts."""
        if self._open:
            lengths = [len(text.encode("utf-16-le", "surrogatepass")) // 2 for text in self._open]
            self.firsts.append(len(self.numbers) - len(self._open))
            self.blocks.append(letters_of(f"{json.dumps(lengths)}\n{''.join(self._open)}"))
            self._open, self._letters = [], 0


def _opened(grid: Grid, at: int, given: dict[str, int], texts: _Texts, secrets: Counter[str] | None) -> dict[str, Any]:
    """A run as it is opened, its texts by number, what runs share taken out, and what a decision starts from."""
    opened = grid.opened(at) if secrets is None else shared(grid.opened(at), secrets)
    for reason in chain(chain.from_iterable(opened["reasons"].values()), opened["notes"]):
        reason["why"] = texts.number(reason["why"])
    run = opened["run"]
    if run is None:
        return opened
    for step in run["steps"]:
        step["text"], step["answers"] = texts.number(step["text"]), texts.number(step["answers"])
        for call in step["calls"]:
            call["name"] = texts.number(call["name"])
            call["arguments"] = [[texts.number(name), texts.number(value)] for name, value in call["arguments"]]
    bases = {question: grid.base(at, question) for question in grid.rubrics}
    common = {
        name: value for base in bases.values() for name, value in base.items() if name not in (*_OF_QUESTION, _OF_BOTH)
    }
    shown = {question: base[_OF_BOTH] for question, base in bases.items()}
    return {**opened, **given_apart(run, given), "base": common, "shown": shown}


#: Fields of a decision that its question decides, and the one that depends on run and question.
_OF_QUESTION, _OF_BOTH = ("question", "rubric_version", "rubric_sha256"), "prompt_sha256"


def _of_questions(grid: Grid) -> dict[str, dict[str, Any]]:
    rubrics = grid.rubrics.values()
    return {
        each.axis: {"question": each.axis, "rubric_version": each.version, "rubric_sha256": each.sha256}
        for each in rubrics
    }
