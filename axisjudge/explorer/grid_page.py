"""The explorer as one HTML file that works offline: the grid at once, each run packed until it is opened."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.explorer.grid import Grid
from axisjudge.explorer.page import embedded, page_of, written
from axisjudge.labels.decisions import SUFFIX, TAKEN_BACK
from axisjudge.labels.record import OPEN

#: What one file holds; a browser opens this many runs in a few seconds, and more are for the notebook.
MOST_RUNS = 5_000
#: Bytes of packed runs in one file.
MOST_BYTES = 160_000_000


def write_explorer(path: str | Path, grid: Grid) -> Path:
    """Write the grid with its runs as one file; it needs no network.

    Raises
    ------
    InputError
        More runs than a file holds, or the file cannot be written.
    """
    return written(path, explorer_html(grid))


def explorer_html(grid: Grid) -> str:
    """The page as text. The same grid gives the same bytes.

    Raises
    ------
    InputError
        More than `MOST_RUNS` runs, or more than `MOST_BYTES` of them.
    """
    cure = "choose some with --limit, --agent or --axis, or open them in a notebook: axisjudge.explore(ratings, runs)"
    if len(grid.runs) > MOST_RUNS:
        raise InputError("explorer file", f"holds at most {MOST_RUNS} runs", len(grid.runs), cure)
    flags = {"open_flag": OPEN, "taken_back": TAKEN_BACK, "suffix": SUFFIX}
    index = embedded({**grid.index(), "changes": grid.rubric_changes(), **flags})
    packed, size = [], 0
    given: dict[str, int] = {}
    for at in range(len(grid.runs)):
        packed.append(_pack(_opened(grid, at, given)))
        size += len(packed[-1])
        if size > MOST_BYTES:
            raise InputError("explorer file", f"holds at most {MOST_BYTES:,} bytes of runs", f"{at + 1} runs", cure)
    parts = [f'<script type="text/plain" id="run-{at}">{each}</script>' for at, each in enumerate(packed)]
    parts += [
        f'<script type="text/plain" id="given-{at}">{_pack(json.loads(each))}</script>' for each, at in given.items()
    ]
    digest = sha256((index + "".join(packed)).encode()).hexdigest()[:16]
    data = f'<script type="application/json" id="index" data-hash="{digest}">{index}</script>'
    rest = "".join(f"{part}\n" for part in parts)
    return page_of("explorer", f"{len(grid.runs)} runs", "explorer_page.js", data, doing="The explorer", rest=rest)


def _opened(grid: Grid, at: int, given: dict[str, int]) -> dict[str, Any]:
    """A run as it is opened, with the tools and policy that runs share taken out, and what a decision starts from."""
    opened = grid.opened(at)
    run = opened["run"]
    if run is None:
        return opened
    shared = json.dumps({"policy": run["policy"], "tools": run["tools"]}, ensure_ascii=False)
    bases = {question: grid.base(at, question) for question in grid.rubrics}
    rest = {name: value for name, value in run.items() if name not in ("policy", "tools")}
    return {**opened, "run": rest, "given": given.setdefault(shared, len(given)), "bases": bases}


def _pack(content: Any) -> str:
    """JSON, packed by gzip without a date and written in letters that no markup uses."""
    plain = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return b64encode(gzip.compress(plain, compresslevel=6, mtime=0)).decode()
