"""What is behind an AXIS Result? (notebook 07, `axisjudge axis-result`)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from axisjudge.ratings.edge import as_ratings
from axisjudge.results import Result
from axisjudge.scores.axis.judged.questions import Combine
from axisjudge.scores.axis.result import DIMENSIONS, GOAL, AxisResult
from axisjudge.scores.axis.rule_sets import DOCUMENTED, RuleSet
from axisjudge.scores.axis.scenario import Scenario
from axisjudge.scores.axis.scoring import Scoring, axis_results
from axisjudge.scores.curves.fitted import CurveFit
from axisjudge.stats.confidence.calibration import auroc
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.frames import Given, Kind, kind_of
from axisjudge.studies._shared.result import Study, open_door
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.axis_result import sentences as say
from axisjudge.studies.axis_result.judged import JudgedResults, judged_results
from axisjudge.studies.axis_result.runs import (
    AllRuns,
    MeansOfAgents,
    OneRun,
    RunComparison,
    WeakestSignals,
    agent_means,
    all_runs,
    compare_runs,
    compare_sources,
    one_run,
    weakest_signals,
)
from axisjudge.trajectory import Trajectory

__all__ = [
    "AxisResults",
    "agent_means",
    "all_runs",
    "answer_of",
    "axis_result",
    "compare_runs",
    "compare_sources",
    "one_run",
    "weakest_signals",
]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AxisResults(Study):
    """AXIS Results of many runs, one of them taken apart, and two sets compared.

    `others` are the results of the runs to compare with. `judged` has the results of each judge, where ratings of
    signals were given.
    """

    run: OneRun
    weakest: WeakestSignals
    runs: AllRuns
    agents: MeansOfAgents
    comparison: RunComparison
    others: tuple[AxisResult, ...]
    judged: JudgedResults | None

    @property
    def answer(self) -> str:
        """What changed between the two sets; where there is one, the agents' means, or the one run."""
        return answer_of(self.run, self.agents, self.comparison)


def answer_of(run: OneRun, agents: MeansOfAgents, comparison: RunComparison) -> str:
    """What changed between two sets; where there is one, the agents' means, or the one run."""
    if not comparison.refusal:
        graded = any(each.means["composite"].n_items for each in agents.agents)
        return " ".join([comparison.answer, *([] if graded else [say.UNGRADED]), say.ASSUMED])
    if sum(each.n_runs for each in agents.agents) == 1:
        return say.one_run(run.run)
    return f"{agents.answer} {comparison.answer} {say.ASSUMED}"


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
        Its parts by name.

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
    >>> found.runs.table["axis_result"].tolist()
    ['40-94', '41-95']
    """
    given, graded = (None if each is None else as_ratings(each) for each in (signals, grades))
    how = Scoring(grades=graded, scenarios=scenarios, combine=combine, rules=rules, weights=weights, curves=curves)
    results, others = (axis_results(runs, signals=given, **how) for runs in (trajectories, compare))
    table = signals if signals is not None else grades
    found = behind_results(
        results,
        others,
        made_up=made_up_raters(given, graded),
        run_id=run_id,
        names=names,
        ci_level=ci_level,
        kind="polars" if table is None else kind_of(table),
    )
    judged = None if given is None else judged_results([*trajectories, *compare], given, **how)
    return replace(found, judged=judged)


def behind_results(
    results: Sequence[AxisResult],
    others: Sequence[AxisResult] = (),
    *,
    made_up: tuple[str, ...] = (),
    run_id: str = "",
    names: tuple[str, str] = ("source", "compare"),
    ci_level: float = 0.95,
    kind: Kind = "polars",
) -> AxisResults:
    """`axis_result` of runs that are scored already, by whatever workers."""
    shown: Any = {"kind": kind, "made_up": made_up}
    run = one_run(results, run_id, **shown)
    return AxisResults(
        run=run,
        weakest=weakest_signals(run),
        runs=all_runs(results, **shown),
        agents=agent_means(results, ci_level=ci_level, **shown),
        comparison=compare_sources(results, others, names=names, ci_level=ci_level, **shown),
        others=tuple(others),
        judged=None,
    )


@dataclass(frozen=True)
class Spread(Result):
    """How one score lies over many runs: its ends, its middle half, how many values it takes.

    `low end` and `high end` are those between which a result lies by all that is known. `auc` is the chance that a run
    with full reward scores higher than one without, None where no rewards were given.
    """

    score: str
    n_runs: int
    n_values: int
    least: float
    lower_quartile: float
    median: float
    upper_quartile: float
    most: float
    auc: Estimate | None


def spreads(results: Sequence[AxisResult], rewards: Mapping[str, float | None]) -> list[Spread]:
    """The spread of the composite's ends and of each process dimension with the low end of what it may be.

    Parameters
    ----------
    results : sequence of AxisResult
    rewards : mapping
        Run -> reward, None where it has none; 1 is full.
    """
    scores: dict[str, list[float]] = {
        "result, low end": [each.bounds[0] for each in results],
        "result, high end": [each.bounds[1] for each in results],
    }
    for name in DIMENSIONS:
        if name != GOAL:
            of = [each.dimension(name) for each in results]
            scores[name] = [np.nan if one.score is None else one.score for one in of]
            scores[f"{name}, low end"] = [one.low for one in of]
    return [_spread(name, np.array(values, float), results, rewards) for name, values in scores.items()]


def _spread(name: str, values: Any, results: Sequence[AxisResult], rewards: Mapping[str, float | None]) -> Spread:
    known = ~np.isnan(values)
    ends = np.quantile(values[known], (0, 0.25, 0.5, 0.75, 1)) if known.any() else np.full(5, np.nan)
    rewarded = np.array([rewards.get(each.trajectory_id) for each in results], float)
    both = known & ~np.isnan(rewarded)
    tasks = np.array([each.cluster_id for each in results])
    auc = auroc(values[both] / 100, rewarded[both] >= 1, clusters=tasks[both]) if both.any() else None
    least, lower, median, upper, most = map(float, ends)
    return Spread(name, int(known.sum()), len(np.unique(values[known])), least, lower, median, upper, most, auc)


def spread_rows(found: Sequence[Spread]) -> list[dict[str, Any]]:
    """The table of a command: a row a score."""
    return [
        {
            "score": one.score,
            "runs": one.n_runs,
            "values": one.n_values,
            "least": f"{one.least:g}",
            "middle half": f"{one.lower_quartile:g} to {one.upper_quartile:g}",
            "median": f"{one.median:g}",
            "most": f"{one.most:g}",
            **({} if one.auc is None else {"AUC against reward": one.auc.worded()}),
        }
        for one in found
    ]


open_door(axis_result)
