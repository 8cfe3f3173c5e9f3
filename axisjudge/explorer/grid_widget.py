"""The explorer in a notebook: the grid at once, a run when it is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anywidget
import polars as pl
import traitlets

from axisjudge.checks import InputError
from axisjudge.explorer.front import script
from axisjudge.explorer.grid import Grid
from axisjudge.explorer.log import LabelLog
from axisjudge.explorer.searching import run_text, sought
from axisjudge.explorer.start import decisions_path
from axisjudge.labels.decisions import decision
from axisjudge.ratings import ratings_frame, read_ratings


class Explorer(anywidget.AnyWidget):
    """Shows a grid of runs x judges; `at` is where one is, as in a link, and may be set.

    Raises
    ------
    InputError
        `rater` cannot be the name of a file.
    """

    _esm = script("explorer_widget.js")
    grid = traitlets.Unicode().tag(sync=True)  # as JSON: Jupyter walks through a dictionary several times
    at = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    rater = traitlets.Unicode(allow_none=True).tag(sync=True)

    def __init__(self, grid: Grid, *, at: str = "", rater: str | None = None, folder: str | Path | None = None) -> None:
        self._grid, self._folder = grid, folder
        self._texts: dict[int, str] = {}
        if rater:
            decisions_path(rater, folder)
        index = json.dumps({**grid.index(), "changes": grid.rubric_changes()}, separators=(",", ":"))
        place = str(decisions_path("who", folder).parent)
        super().__init__(grid=index, at=at, place=place, rater=rater or None)
        self.on_msg(self._hear)

    def __repr__(self) -> str:
        return f"Explorer({len(self._grid.runs)} runs, {len(self._grid.columns)} columns)"

    @property
    def decisions(self) -> pl.DataFrame:
        """What was decided so far by this person, as a ratings table."""
        path = decisions_path(self.rater, self._folder) if self.rater else None
        return read_ratings(path) if path is not None and path.exists() else ratings_frame([])

    def _hear(self, _: object, message: Mapping[str, Any], __: object) -> None:
        try:
            self.send({"re": message["re"], "content": self.answer(message["kind"], message["content"])})
        except (InputError, OSError) as error:
            self.send({"re": message["re"], "error": str(error)})

    def answer(self, kind: str, content: Any) -> Any:
        """What the browser asked for: ``run`` (one opened), ``search`` (runs with a text), ``decide``, ``decided``."""
        if kind == "run":
            return self._grid.opened(content)
        if kind == "search":
            words = sought(content)
            return [at for at in range(len(self._grid.runs)) if words.search(self._text(at))]
        if kind == "decided":
            return self._decided(content)
        return self._decide(content)

    def _text(self, at: int) -> str:
        if at not in self._texts:
            self._texts[at] = run_text(*self._grid.record(at))
        return self._texts[at]

    def _decide(self, content: Mapping[str, Any]) -> None:
        created = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        base = self._grid.base(content["run"], content["question"])
        label = decision(base, content["word"], content["rater"], created)
        LabelLog(decisions_path(content["rater"], self._folder)).append(label)
        self.rater = content["rater"]

    def _decided(self, rater: str) -> list[dict[str, Any]]:
        """The decisions in the person's file, those of this grid's runs, as the browser keeps them."""
        path = decisions_path(rater, self._folder)
        place = {name: at for at, name in enumerate(self._grid.runs)}
        rows = read_ratings(path).iter_rows(named=True) if path.exists() else ()
        mine = [row for row in rows if row["trajectory_id"] in place]
        kept = ("question", "verdict", "flags")
        return [{"run": place[row["trajectory_id"]], **{name: row[name] for name in kept}} for row in mine]
