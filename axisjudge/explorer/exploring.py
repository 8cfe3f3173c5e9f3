"""Opening the explorer: in a notebook, or as one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axisjudge.explorer.grid import Grid
from axisjudge.protocol import held_out_side, no_such_run
from axisjudge.stats.estimate import many
from axisjudge.trajectory import Trajectory

if TYPE_CHECKING:
    from ipywidgets import Accordion

    from axisjudge.explorer.grid_widget import Explorer


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
