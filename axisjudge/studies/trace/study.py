"""`axisjudge.studies.trace`: one run step by step, with what the judges say of it and where they point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from axisjudge.checks import InputError
from axisjudge.protocol import no_such_run
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, table_of
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies.trace import sentences
from axisjudge.studies.trace.figures import plot_trace
from axisjudge.studies.trace.judgements import most_contested, verdicts_of
from axisjudge.studies.trace.published_trace import joined, side_by_side
from axisjudge.studies.trace.run import TracedRun, TracedStep, traced
from axisjudge.trajectory import Trajectory


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Trace(RatedResult):
    """A run with the judges' verdicts and the steps they cite; `n_runs` is how many it was chosen from."""

    run: TracedRun
    n_runs: int
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a step: role, short text, calls, and who cites it for what."""
        columns = ("step", "role", "text", "calls", "error", "cited_by")
        rows = [
            (step.index, step.role, step.short, joined([name for name, _, _ in step.calls]), step.error, _citing(step))
            for step in self.run.steps
        ]
        return self._table(columns, rows)

    @property
    def verdicts(self) -> Table:
        """One row per axis and judge: verdict, confidence, cited steps; a table."""
        columns = ("axis", "judge", "verdict", "confidence", "cited_steps", "not_in_the_run")
        rows = [
            (each.axis, each.judge, each.word, _number(each.confidence), joined(each.cited), joined(each.invalid))
            for each in self.run.verdicts
        ]
        return self._table(columns, rows)

    @property
    def side_by_side(self) -> Table:
        """One row an axis: each judge's verdict at its confidence, and the steps that all cite; a table."""
        return table_of(side_by_side(self.run.verdicts), self.kind, columns=("axis",))

    @property
    def overlaps(self) -> Table:
        """One row per axis and two judges: shared steps and overlap; a table."""
        columns = ("axis", "judges", "same_verdict", "both_cite", "either_cites", "overlap", "by_chance", "distance")
        numbers = attrgetter("n_either", "jaccard", "chance", "distance")
        rows = [
            (pair.axis, " / ".join(pair.judges), pair.same_verdict, joined(pair.shared), *numbers(pair))
            for pair in self.run.overlaps
        ]
        return self._table(columns, rows)

    def _table(self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Table:
        return table_of([dict(zip(columns, row, strict=True)) for row in rows], self.kind, columns=columns)

    @property
    def answer(self) -> str:
        """Which run this is, and how far the judges are of one mind."""
        return sentences.answer(self.run, self.n_runs)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Who says what on each axis that is not found correct by all, and how far equal verdicts share evidence."""
        return (*sentences.verdicts(self.run), sentences.evidence(self.run))

    def plots(self) -> Mapping[str, Plot]:
        """The steps from left to right, with every judge's marks."""
        return {"timeline": partial(plot_trace, self.run)}


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _citing(step: TracedStep) -> str:
    return "; ".join(f"{each.axis} {each.word} ({each.judge})" for each in step.cited_by)


def trace(
    ratings: Given, runs: Trajectory | Sequence[Trajectory], trajectory_id: str = "", *, repeat: int = 0
) -> Trace:
    """What happened in this run, and which steps do the judges point to?

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns); ratings of other trajectories, of single steps
        and of other repeats are passed over.
    runs : Trajectory or sequence of Trajectory
        The run, or those to choose from.
    trajectory_id : str, optional
        Which of several; by default the most contested one: the run with the most axes on which one judge says correct
        and another incorrect, among equals the one with the most steps cited for an incorrect verdict.
    repeat : int
        Which repeat of the judges.

    Returns
    -------
    Trace
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`; `.verdicts` and `.overlaps` are tables too.

    Raises
    ------
    InputError
        No such run, or several of one id; no verdicts on it, or two of one judge on one axis.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> result = axisjudge.studies.trace(axisjudge.judge(runs, ["rules"], progress=False), runs)
    >>> len(result.table) == len(result.run.steps)
    True
    """
    verdicts = verdicts_of(ratings, repeat)
    if isinstance(runs, Trajectory):
        run, n_runs = runs, 1
    else:
        run, n_runs = pick(runs, trajectory_id or most_contested(verdicts)), len(runs)
    shown = traced(run, verdicts)
    return Trace(run=shown, n_runs=n_runs, kind=kind_of(ratings), made_up=shown.made_up)


def pick(runs: Sequence[Trajectory], trajectory_id: str) -> Trajectory:
    """The one run of that id; where there is none, the nearest id is suggested."""
    named = [run for run in runs if run.id == trajectory_id]
    if len(named) > 1:
        raise InputError("trajectory_id", "must name one run", f"{trajectory_id}, the id of {len(named)} runs")
    if named:
        return named[0]
    raise no_such_run("trajectory_id", trajectory_id, [run.id for run in runs])
