"""From a name in a table to the run behind it: addresses into the explorer that stands beside a report."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from axisjudge.checks import InputError
from axisjudge.figures.markup import literal
from axisjudge.verdict import VERDICTS

if TYPE_CHECKING:
    from axisjudge.explorer import Grid
    from axisjudge.trajectory import Trajectory

EXPLORER = "explorer.html"
#: Columns that name a run, and the step of it that is meant.
RUNS = ("trajectory_id", "trajectory", "run_id", "run", "item_id", "item", "original", "twin")
STEPS = ("step_index", "step")
#: Columns that say of which items a row is: by the name of the explorer's filter that is set to what they hold.
COLUMNS = {
    "on": ("question", "axis", "breaks"),
    "agent": ("agent", "agents", "agent_family"),
    "domain": ("domain",),
    "side": ("side",),
    "versions": ("rubric_version", "version"),
    "names": ("edit", "text"),
    "label": ("measure", "people say"),
    "person": ("person",),
}
JUDGES = ("judge", "rater", "judge_1", "judge_2", "other_judge", "judge_family", "judges")
UNDECIDED = "uncertain\nnot_applicable\nlost"
#: Columns that count items, and what is true of the items counted.
COUNTS: dict[str, dict[str, str]] = {
    "any_incorrect": {"word": "incorrect"},
    "any_judged": {"word": "correct\nincorrect"},
    "consensus_incorrect": {"word": "incorrect", "only": "alike"},
    "incorrect": {"word": "incorrect"},
    "lost": {"word": "lost"},
    "flipped": {"only": "flipped"},
    "no_common_step": {"only": "steps", "repeat": "0"},
    "labels": {"label": "fails or not"},
    "no verdict": {"word": UNDECIDED},
    "flagged, with label": {"word": "incorrect", "only": "labelled"},
    "failed, with side": {"label": "incorrect", "only": "decided"},
    **{f"judge: {word}": {"word": word} for word in VERDICTS},
    "judge: no side": {"word": UNDECIDED},
}
#: What people say of the items of which a share of right verdicts is.
MEASURES = {"sensitivity": "incorrect", "specificity": "correct"}


@dataclass(frozen=True)
class Links:
    """What an explorer holds: its runs, and for each of its filters what it is set to by a name in a table.

    A filter that is set to several names has them one a line.
    """

    runs: frozenset[str] = frozenset()
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of_row(self, row: Mapping[str, Any], behind: Mapping[str, str] | None) -> dict[str, str]:
        """Addresses by column: a run's name leads to the run, a count of items to these items.

        The row's first cell leads to the items that the row is of: those of the judges, the axis, the agents, the
        domain, the side, the rubric version, the stratum or the edit that it names, and of `behind`, which wins: what
        is true of them and stands in no column. A row that names something the explorer does not have leads nowhere;
        nor does one of which it is not known what it counts (None). In a map of axes by agents the column is the agent.
        """
        from axisjudge.stats.correction import ALL_AGENTS  # brings numpy, which a page without links spares

        items = self._items(row, behind or {})
        if named := {name: row[name] for name in RUNS if isinstance(row.get(name), str)}:
            axis = None if items is None else items.get("on")
            step = next((row[name] for name in STEPS if isinstance(row.get(name), int)), None)
            return {name: _address(run=run, axis=axis, step=step) for name, run in named.items() if run in self.runs}
        if behind is None or not items or not self.names:
            return {}
        first = next(iter(row))
        if "run" in items:
            return {first: _address(run=items["run"], axis=items.get("on"))}
        if "names" in items and "names" not in behind and "judge" not in items:
            return {}  # an edit is of twins that were judged, and of runs that it could not be made of
        links = {first: _address(**items)}
        some = {name: true for name, true in COUNTS.items() if isinstance(row.get(name), int) and row[name] > 0}
        links |= {
            name: _address(**{**items, **true})
            for name, true in some.items()
            if "label" not in true or self.names.get("label")
        }
        for name in row:
            agent = "" if name == ALL_AGENTS else self.names.get("agent", {}).get(name)
            if agent is not None and not str(row[name]).startswith("0"):
                links[name] = _address(**{**items, **({"agent": agent} if agent else {}), "word": "incorrect"})
        return links

    def of_figure(self, behind: Mapping[str, str]) -> str | None:
        """The address of the items that a figure draws."""
        return _address(**behind) if self.names else None

    def _items(self, row: Mapping[str, Any], behind: Mapping[str, str]) -> dict[str, str] | None:
        """The filters that a row's names stand for; None where one of them is not to be had."""
        from axisjudge.stats.correction import ALL_AGENTS

        filters: dict[str, str] = {}
        columns = {**COLUMNS, str(row.get("by")): ("stratum",)} if row.get("stratum") else COLUMNS
        for name, those in columns.items():
            for value in _texts(row, those):
                if value == ALL_AGENTS or behind.get(name, "any") != "any":
                    continue
                if name not in self.names or (set_to := self._set_to(name, value)) is None:
                    return None
                filters[name] = set_to
        named = [] if "judge" in behind else _texts(row, JUDGES)
        judges = [judge for value in named if (judge := self._set_to("judge", value))]
        if len(judges) < len(named) or len(judges) > 2:
            return None
        if isinstance(row.get("judges"), str) and judges and judges[0].count("\n") == 1:
            judges = judges[0].split("\n")
        filters |= dict(zip(("judge", "beside"), judges, strict=False))
        return {**behind, **filters}  # any label yields to the one that a row names

    def _set_to(self, name: str, value: str) -> str | None:
        known = self.names.get(name, {})
        parts = [value] if value in known else re.split(" / |, ", value)
        return "\n".join(known[part] for part in parts) if known.keys() >= set(parts) else None


def _texts(row: Mapping[str, Any], columns: Iterable[str]) -> list[str]:
    return [row[column] for column in columns if isinstance(row.get(column), str) and row[column]]


NO_LINKS = Links()


def _address(**parts: Any) -> str:
    given = {name: value for name, value in parts.items() if value is not None}
    return f"{EXPLORER}#{urlencode(given, quote_via=quote)}"


def write_links(
    ratings: Any, trajectories: Iterable[Trajectory], folder: Path | None, secrets: Counter[str]
) -> tuple[Links, str]:
    """Write the explorer of `ratings` into a report's folder; what is taken out of it is counted in `secrets`.

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
        write_explorer(folder / EXPLORER, grid, secrets)
    except InputError as error:
        return NO_LINKS, literal(f"There is no explorer of these ratings: {error}.")
    links = Links(frozenset(grid.runs), _names(grid))
    link = f"[explorer of {many(len(grid.runs), 'run')}]({EXPLORER})"
    rows = "the first cell of a row opens the items that the row is about"
    sentence = f"The {link} shows every verdict at the steps that it cites. In tables the name of a run opens that run"
    return links, f"{sentence} in the explorer, and {rows}; the browser's Back button returns here."


def _names(grid: Grid) -> dict[str, dict[str, str]]:
    """What each filter of the explorer is set to by a name in a table."""
    from axisjudge.ratings.edge import answer_words, thirds  # brings polars, as the explorer does

    runs = [grid.trajectories[name] for name in grid.runs if name in grid.trajectories]
    edits = {re.sub(r"-\d+$", "", name.rpartition("~")[2]) for name in grid.runs if "~" in name}
    judged, labelled = ([row for rows in part.values() for row in rows] for part in (grid.cells, grid.labels))

    def named(what: str) -> set[str | None]:  # runs without a record have theirs from the ratings
        return {getattr(run, what) for run in runs} | {row[what] for row in (*judged, *labelled)}

    words = {row["verdict"] for row in labelled if row["verdict"]}
    lengths = {run.id: len(run.steps) for run in runs}
    answers = {run.id: answer_words(run) for run in runs}
    return {
        "on": _same(grid.questions),
        "agent": _joined((run.agent_family, run.agent) for run in runs) | _same(named("agent")),
        "domain": _same(named("domain")),
        "side": _same(grid.sides.values()),
        "versions": _same(column.version for column in grid.columns),
        "judge": _joined((row["family"], row["rater"]) for row in judged) | _same(row["rater"] for row in judged),
        "names": {edit: f"~{edit}-" for edit in edits},
        "label": {**_same(words), **MEASURES} if words else {},
        "person": _same(row["rater"] for row in labelled),
        "length": _ranges(lengths, thirds(lengths, "messages")),
        "answer": _ranges(answers, thirds(answers, "words")),
    }


def _same(values: Iterable[str | None]) -> dict[str, str]:
    return {value: value for value in values if value}


def _ranges(lengths: Mapping[str, int], third: Mapping[str, str]) -> dict[str, str]:
    """The shortest and the longest of each third."""
    ordered = sorted(lengths.items(), key=lambda each: each[1])
    shortest = {third[run]: length for run, length in reversed(ordered)}
    longest = {third[run]: length for run, length in ordered}
    return {name: f"{shortest[name]}-{longest[name]}" for name in longest}


def _joined(pairs: Iterable[tuple[str | None, str | None]]) -> dict[str, str]:
    """The members of each family, one a line."""
    families: defaultdict[str, set[str]] = defaultdict(set)
    for family, member in pairs:
        if family and member:
            families[family].add(member)
    return {family: "\n".join(sorted(members)) for family, members in families.items()}
