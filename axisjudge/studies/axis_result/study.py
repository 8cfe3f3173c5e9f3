"""`axisjudge.studies.axis_result`: what is behind AXIS Results, and whether anything changed, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from axisjudge.ratings.edge import as_ratings
from axisjudge.scores.axis.judged.questions import Combine
from axisjudge.scores.axis.result import AxisResult
from axisjudge.scores.axis.rule_sets import DOCUMENTED, RuleSet
from axisjudge.scores.axis.scenario import Scenario
from axisjudge.scores.axis.scoring import Scoring, axis_results
from axisjudge.scores.curves.fitted import CurveFit
from axisjudge.studies._shared.frames import Given, Kind, Table, kind_of, native
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.axis_result import figures
from axisjudge.studies.axis_result import sentences as say
from axisjudge.studies.axis_result.comparison import RunComparison, compare_sources
from axisjudge.studies.axis_result.judged import JudgedResults, judged_results
from axisjudge.studies.axis_result.means import (
    AgentMeans,
    agent_means,
    chosen,
    means_frame,
    results_frame,
    weakest_rows,
)
from axisjudge.trajectory import Trajectory


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AxisResults(RatedResult):
    """AXIS Results of many runs, one of them taken apart, and two sets compared.

    `results` are those of the runs, `others` those of the runs to compare with; `run` is the one to explain. `judged`
    has the results of each judge, where ratings of signals were given; `made_up` names raters that are no judges.
    """

    kind: Kind
    results: tuple[AxisResult, ...]
    others: tuple[AxisResult, ...]
    run: AxisResult
    agents: tuple[AgentMeans, ...]
    comparison: RunComparison
    judged: JudgedResults | None

    @property
    def runs(self) -> pl.DataFrame:
        """One row a run: its result, dimensions, slowest call and weakest signals."""
        return results_frame(self.results)

    @property
    def table(self) -> Table:
        """The same in the caller's kind."""
        return native(self.runs, self.kind)

    @property
    def means(self) -> pl.DataFrame:
        """Mean scores, one row an agent and quantity."""
        return means_frame(self.agents)

    @property
    def weakest(self) -> pl.DataFrame:
        """Where the one run lost points."""
        return weakest_rows(self.run)

    @property
    def answer(self) -> str:
        """What changed between the two sets; where there is one, the agents' means, or the one run."""
        if not self.comparison.refusal:
            graded = any(each.means["composite"].n_items for each in self.agents)
            return " ".join([self.change, *([] if graded else [say.UNGRADED]), say.ASSUMED])
        if len(self.results) == 1:
            return say.one_run(self.run)
        return f"{say.of_means(self.agents)} {self.comparison.sentence} {say.ASSUMED}"

    @property
    def change(self) -> str:
        """What changed from one set to the other, or why that cannot be told."""
        if self.comparison.refusal:
            return self.comparison.sentence
        return say.between(self.comparison.names, self.comparison.sentence)

    @property
    def story(self) -> str:
        """The one run in a few sentences."""
        return " ".join(say.of_run(self.run))

    @property
    def counts(self) -> str:
        """The mean result of every agent; how many runs, agents and failures."""
        failed = sum(each.failed for each in self.results)
        return f"{say.of_means(self.agents)} {say.runs_counted(len(self.results), len(self.agents), failed)}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Who made numbers up, the one run with what must be known of it, the agents, the change, and the judges."""
        warning = (self.banner,) if self.banner else ()
        judges = self.judged.agreement.sentences if self.judged and self.judged.agreement else ()
        return (*warning, self.story, *self.run.marks, self.counts, self.change, *judges)

    def plots(self) -> Mapping[str, Plot]:
        """The one run on a line of time, every run's result, and the change."""
        return {
            "timeline": partial(figures.plot_axis_timeline, self.run),
            "all_runs": partial(figures.plot_axis_dimensions, self.results),
            "comparison": partial(figures.plot_axis_comparison, self.comparison),
        }


def axis_result(
    trajectories: Sequence[Trajectory],
    compare: Sequence[Trajectory] = (),
    *,
    signals: Given | None = None,
    grades: Given | None = None,
    scenarios: Sequence[Scenario] = (),
    combine: Combine = "mean",
    rules: RuleSet = DOCUMENTED,
    weights: Mapping[str, float] | None = None,
    curves: Mapping[str, CurveFit] | None = None,
    run_id: str = "",
    names: tuple[str, str] = ("source", "compare"),
    ci_level: float = 0.95,
) -> AxisResults:
    """What does an AXIS Result say, and did anything change between two sets of runs?

    Parameters
    ----------
    trajectories : sequence of Trajectory
    compare : sequence of Trajectory, optional
        Runs of the same tasks to compare with; without them the first two agents are compared.
    signals, grades : table, optional
        Ratings of the signals (without them the rules judge) and of the goal checks (by default those in `signals`).
    scenarios, combine, rules, weights, curves
        As in `axisjudge.scores.axis.scoring.axis_results`.
    run_id : str
        The run to explain; by default the one with the most failed or unnecessary interactions.
    names : (str, str)
        What the two sets are called.
    ci_level : float
        Level of intervals.

    Returns
    -------
    AxisResults
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`.

    Raises
    ------
    InputError
        No run, none of that id, or a rating of no interaction.

    Examples
    --------
    >>> import axisjudge
    >>> from axisjudge.datasets import demo_transcripts
    >>> runs = axisjudge.read_trajectories(*demo_transcripts()[:2]).trajectories
    >>> found = axisjudge.studies.axis_result(runs)
    >>> found.table["axis_result"].tolist()
    ['40-94', '41-95']
    """
    given, graded = (None if each is None else as_ratings(each) for each in (signals, grades))
    how = Scoring(grades=graded, scenarios=scenarios, combine=combine, rules=rules, weights=weights, curves=curves)
    results, others = (axis_results(runs, signals=given, **how) for runs in (trajectories, compare))
    table = signals if signals is not None else grades
    found = behind_results(
        results, others, made_up=made_up_raters(given, graded), run_id=run_id, names=names, ci_level=ci_level
    )
    judged = None if given is None else judged_results([*trajectories, *compare], given, **how)
    return replace(found, judged=judged, kind="pandas" if table is None else kind_of(table))


def behind_results(
    results: Sequence[AxisResult],
    others: Sequence[AxisResult] = (),
    *,
    made_up: tuple[str, ...] = (),
    run_id: str = "",
    names: tuple[str, str] = ("source", "compare"),
    ci_level: float = 0.95,
) -> AxisResults:
    """`axis_result` of runs that are scored already, by whatever workers."""
    return AxisResults(
        kind="pandas",
        results=tuple(results),
        others=tuple(others),
        run=chosen(results, run_id),
        agents=tuple(agent_means(results, ci_level=ci_level)),
        comparison=compare_sources(results, others, names=names, ci_level=ci_level),
        judged=None,
        made_up=made_up,
    )
