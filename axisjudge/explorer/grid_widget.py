"""The explorer in a notebook: the grid at once, a run when it is opened.

Words are looked for in the record (steps, calls, reasons and notes, and no names of fields), not in what is shown of
it: laying out the JSON of thousands of runs takes ten seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import traitlets

from axisjudge.checks import InputError
from axisjudge.explorer.front import script
from axisjudge.explorer.grid import Grid
from axisjudge.explorer.log import LabelLog, now
from axisjudge.explorer.widget import AnsweringWidget, decisions_path
from axisjudge.labels.decisions import SUFFIX, decision
from axisjudge.protocol import held_out_side, no_such_run
from axisjudge.ratings import ratings_frame, read_ratings
from axisjudge.stats.estimate import many
from axisjudge.trajectory import Trajectory

if TYPE_CHECKING:
    from ipywidgets import Accordion


class Explorer(AnsweringWidget):
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
        self._last = rater
        super().__init__(grid=index, at=at, place=place, rater=rater or None)

    def __repr__(self) -> str:
        return f"Explorer({len(self._grid.runs)} runs, {len(self._grid.columns)} columns)"

    @property
    def decisions(self) -> pl.DataFrame:
        """What was decided so far by whoever decided last, as a ratings table."""
        path = decisions_path(self._last, self._folder) if self._last else None
        return read_ratings(path) if path is not None and path.exists() else ratings_frame([])

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

    def _decide(self, content: Mapping[str, Any]) -> bool:
        """Keep a decision; whether one that was said later stands."""
        base = self._grid.base(content["run"], content["question"])
        label = decision(base, content["word"], content["rater"], now(content.get("ago")))
        self._last = content["rater"]
        return LabelLog(decisions_path(content["rater"], self._folder)).append(label) is not None

    def _decided(self, rater: str) -> list[dict[str, Any]]:
        """All lines of the person's file that are of this grid's runs, in order: what stands, and its trail."""
        self._last = rater
        index_of = {name: at for at, name in enumerate(self._grid.runs)}
        lines = LabelLog(decisions_path(rater, self._folder)).lines()
        kept = {"question", "verdict", "flags", "rationale", "created_at"}
        return [
            {"run": index_of[line.trajectory_id], **line.model_dump(include=kept)}
            for line in lines
            if line.trajectory_id in index_of and line.rater == f"{rater.strip()}{SUFFIX}"
        ]


def run_text(run: Trajectory | None, ratings: Iterable[Mapping[str, Any]]) -> str:
    """All text of a run and its ratings, one piece a line."""
    return "\n".join(_pieces(run, ratings))


def sought(find: str) -> re.Pattern[str]:
    """What finds words in a run's text in any case, or between two slashes a regular expression.

    In words a space stands for any or none, as in JSON laid out to be shown.

    Raises
    ------
    InputError
        The regular expression is none.
    """
    between = re.fullmatch(r"/(.+)/[gim]*", find.strip(), re.DOTALL)
    pattern = between[1] if between else r"\s*".join(map(re.escape, find.split()))
    try:
        return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    except re.error as error:
        raise InputError("search", f"is no regular expression ({error})", find) from None


def _pieces(run: Trajectory | None, ratings: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for step in run.steps if run else ():
        yield step.content
        yield step.tool_name or ""
        for call in step.tool_calls:
            yield call.name
            raw = isinstance(call.arguments, str)
            yield call.arguments if raw else json.dumps(call.arguments, ensure_ascii=False)  # type: ignore[misc]
    yield from (row["rationale"] or "" for row in ratings)


# Opening the explorer: in a notebook, or as one file.


def explorer_in_a_fold(ratings: Any, trajectories: Sequence[Trajectory]) -> Accordion:
    """The explorer under a fold, made when it is unfolded for the first time; arguments as `explore`."""
    from ipywidgets import HTML, Accordion

    title = f"Explorer: {many(len(trajectories), 'run')}, every verdict at the steps that it cites"
    fold = Accordion(children=[HTML("")], titles=(title,), selected_index=None)

    def unfold(change: Mapping[str, Any]) -> None:
        if change["new"] == 0 and isinstance(fold.children[0], HTML):
            fold.children = [explore(ratings, trajectories)]

    fold.observe(unfold, names="selected_index")
    return fold


def explore(
    ratings: Any,
    trajectories: Iterable[Trajectory] = (),
    *,
    at: str = "",
    rater: str | None = None,
    folder: str | Path | None = None,
) -> Explorer:
    """Runs x judges on every axis, in a notebook: look at a verdict, at the steps it cites, and decide who is right.

    Parameters
    ----------
    ratings : table
        A ratings table of any kind (polars, pandas, arrow, a dict of columns): judges' ratings, several rubric versions
        and repeats among them, and labels. Ratings of single steps are not shown.
    trajectories : iterable of Trajectory
        The runs that were rated; each reaches the browser when it is opened, so thousands are no burden.
    at : str
        Where to open: the end of a link, such as ``axis=sequencing&only=flipped`` or ``run=ID&axis=sequencing&step=7``.
    rater : str, optional
        Who decides; asked for at the first decision if not given.
    folder : path, optional
        Where decisions are kept, as ``NAME.decisions.jsonl``; data/labels of the workbench if not given.

    Returns
    -------
    Explorer
        A widget; its `decisions` are the decisions made so far, as a ratings table.

    Raises
    ------
    InputError
        No ratings of whole runs, or all runs are held out and not opened; the run named by `at` is held out.
    """
    from urllib.parse import parse_qs

    from axisjudge.explorer.grid_widget import Explorer

    grid = Grid.of(ratings, trajectories)
    for name in parse_qs(at).get("run", []):
        if name not in grid.runs and held_out_side(name):
            raise no_such_run("at", name, grid.runs)
    return Explorer(grid, at=at, rater=rater, folder=folder)
