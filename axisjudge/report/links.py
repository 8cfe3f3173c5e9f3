"""From a name in a table to the run behind it: addresses into the explorer that stands beside a report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from axisjudge.checks import InputError
from axisjudge.figures.markup import literal

if TYPE_CHECKING:
    from axisjudge.explorer import Grid
    from axisjudge.trajectory import Trajectory

EXPLORER = "explorer.html"
#: Columns that name a run, and the step of it that is meant.
RUNS = ("trajectory_id", "trajectory", "run_id", "run", "item_id", "item", "original", "twin")
STEPS = ("step_index", "step")
#: Columns that say of which items a row is: by the name of the explorer's filter, and by what it can be set to.
JUDGES = ("judge", "rater", "judge_1", "judge_2", "other_judge")
FILTERS = {
    "on": ("question", "axis", "breaks"),
    "agent": ("agent",),
    "domain": ("domain",),
    "side": ("side",),
    "versions": ("rubric_version", "version"),
    "edit": ("edit", "text"),
}
#: Columns that count items, and what is true of the items counted.
COUNTS = {
    "any_incorrect": {"word": "incorrect"},
    "incorrect": {"word": "incorrect"},
    "lost": {"word": "lost"},
    "flipped": {"only": "flipped"},
}


@dataclass(frozen=True)
class Links:
    """What an explorer holds, by the names of its filters: tables link to these and to nothing else."""

    runs: frozenset[str] = frozenset()
    judges: frozenset[str] = frozenset()
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of_row(self, row: Mapping[str, Any], behind: Mapping[str, str]) -> dict[str, str]:
        """Addresses by column: a run's name leads to the run, a count of items to these items.

        The row's first cell leads to the items that the row is of: those of the judge, the two judges, the axis, the
        agent, the domain, the side, the rubric version or the edit that it names, and of `behind`, what is true of them
        and stands in no column. A row that names something the explorer does not have leads nowhere. In a map of
        axes by agents the column is the agent. Means over several pairs of judges or families have no filter.
        """
        named = {name: row[name] for name in RUNS if isinstance(row.get(name), str)}
        items = self._items(row)
        if named:
            axis = None if items is None else items.get("on")
            step = next((row[name] for name in STEPS if isinstance(row.get(name), int)), None)
            return {name: _address(run=run, axis=axis, step=step) for name, run in named.items() if run in self.runs}
        if items is None or not (items := {**behind, **items}) or not self.values:
            return {}
        if "find" in items and "judge" not in items:
            return {}  # an edit is of twins that were judged, and of runs that it could not be made of
        links = {next(iter(row)): _address(**items)}
        some = {name: true for name, true in COUNTS.items() if isinstance(row.get(name), int) and row[name] > 0}
        links |= {name: _address(**{**items, **true}) for name, true in some.items()}
        for name in row:
            if (agent := self._agent(name)) is not None and not str(row[name]).startswith("0"):
                links[name] = _address(**{**items, **agent, "word": "incorrect"})
        return links

    def _items(self, row: Mapping[str, Any]) -> dict[str, str] | None:
        """The filters that a row's names stand for; None where one of them is not to be had."""
        from axisjudge.studies.failures.profiles import ALL_AGENTS

        filters = {}
        for name, columns in FILTERS.items():
            for value in [row[column] for column in columns if isinstance(row.get(column), str) and row[column]]:
                if value in self.values.get(name, ()):
                    filters[name] = value
                elif value != ALL_AGENTS:
                    return None
        if stratum := row.get("stratum"):
            if stratum not in self.values.get(row.get("by", ""), ()):
                return None
            filters[row["by"]] = stratum
        judges = [row[column] for column in JUDGES if isinstance(row.get(column), str) and row[column]]
        if len(judges) > 2 or not self.judges.issuperset(judges):
            return None
        filters |= dict(zip(("judge", "beside"), judges, strict=False))
        if edit := filters.pop("edit", None):
            filters["find"] = f"~{edit}-"  # as twins are named
        return filters

    def _agent(self, column: str) -> dict[str, str] | None:
        from axisjudge.studies.failures.profiles import ALL_AGENTS

        if column == ALL_AGENTS:
            return {}
        return {"agent": column} if column in self.values.get("agent", ()) else None


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
    links = Links(frozenset(grid.runs), frozenset(column.rater for column in grid.columns), _values(grid))
    sentence = f"[Explorer of {many(len(grid.runs), 'run')}]({EXPLORER}): every verdict at the steps that it cites."
    rows = "the first cell of a row to the items that it is of"
    return links, f"{sentence} Names of runs in tables lead there, {rows}, and browsers' Back returns."


def _values(grid: Grid) -> dict[str, frozenset[str]]:
    """What each filter of the explorer can be set to."""
    runs = [grid.trajectories[name] for name in grid.runs if name in grid.trajectories]
    edits = {re.sub(r"-\d+$", "", name.rpartition("~")[2]) for name in grid.runs if "~" in name}
    values = {
        "on": grid.questions,
        "agent": (run.agent for run in runs),
        "domain": (run.domain for run in runs),
        "side": grid.sides.values(),
        "versions": (column.version for column in grid.columns),
        "edit": edits,
    }
    return {name: frozenset(value for value in some if value) for name, some in values.items()}
