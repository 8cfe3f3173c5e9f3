"""From a name in a table to the run behind it: addresses into the explorer that stands beside a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from axisjudge.checks import InputError
from axisjudge.figures.markup import literal

if TYPE_CHECKING:
    from axisjudge.trajectory import Trajectory

EXPLORER = "explorer.html"
#: Columns that name a run, an axis, a step, and counts of what any judge called incorrect.
RUNS = ("trajectory_id", "trajectory", "run_id", "run", "item_id", "item", "original", "twin")
QUESTIONS = ("question", "axis")
STEPS = ("step_index", "step")
FAILURES = ("any_incorrect", "incorrect")


@dataclass(frozen=True)
class Links:
    """What an explorer holds: tables link to these runs, questions and agents, and to nothing else."""

    runs: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()

    def of_row(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Addresses by column: a run's name leads to the run, a count of failures to the runs that it counts.

        In a map of axes by agents the column is the agent.
        """
        axis = next((row[name] for name in QUESTIONS if row.get(name) in self.questions), None)
        step = next((row[name] for name in STEPS if isinstance(row.get(name), int)), None)
        runs = {name: row[name] for name in RUNS if isinstance(row.get(name), str) and row[name] in self.runs}
        links = {name: _address(run=run, axis=axis, step=step) for name, run in runs.items()}
        if axis and row.get("agent") in self.agents:
            counts = {
                name: _address(on=axis, agent=row["agent"], word="incorrect") for name in FAILURES if row.get(name)
            }
            links |= counts
        cells = [name for name in row if axis and name in self.agents and not str(row[name]).startswith("0")]
        return links | {agent: _address(on=axis, agent=agent, word="incorrect") for agent in cells}


NO_LINKS = Links()


def _address(**parts: Any) -> str:
    given = {name: value for name, value in parts.items() if value is not None}
    return f"{EXPLORER}#{urlencode(given, quote_via=quote)}"


def write_links(ratings: Any, trajectories: Iterable[Trajectory], folder: Path | None) -> tuple[Links, str]:
    """Write the explorer of `ratings` into a report's folder.

    Returns
    -------
    Links
        What tables may link to; nothing where no explorer was written.
    str
        A sentence in markdown: where the explorer is, or how there would be one.
    """
    from axisjudge.explorer import Grid, write_explorer
    from axisjudge.stats.estimate import many

    runs = list(trajectories)
    if not runs:
        return NO_LINKS, "With the runs at hand (`-p trajectories=PATH`) names in tables lead to the steps judges cite."
    if folder is None:
        return NO_LINKS, "`axisjudge.explore(ratings, runs)` opens these runs at the steps that judges cite."
    try:
        grid = Grid.of(ratings, runs)
        write_explorer(folder / EXPLORER, grid)
    except InputError as error:
        return NO_LINKS, literal(f"There is no explorer of these ratings: {error}.")
    agents = {run.agent for run in grid.trajectories.values() if run.agent}
    links = Links(frozenset(grid.runs), frozenset(grid.questions), frozenset(agents))
    sentence = f"[Explorer of {many(len(grid.runs), 'run')}]({EXPLORER}): every verdict at the steps that it cites."
    return links, f"{sentence} Names of runs in tables lead there."
