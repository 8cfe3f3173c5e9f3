"""What is behind an AXIS Result? (notebook 07, `axisjudge axis-result`)"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.ratings.edge import BY_JUDGE, as_ratings, once
from axisjudge.results import Result
from axisjudge.scores.axis.judged.signals import Combine, asked_of_axis
from axisjudge.scores.axis.result import DIMENSIONS, GOAL, AxisResult
from axisjudge.scores.axis.rule_sets import DOCUMENTED, RuleSet
from axisjudge.scores.axis.scenario import Scenario, Scoring, axis_results
from axisjudge.scores.curves.curve import CurveFit
from axisjudge.stats.agreement.chance_corrected import Agreement, krippendorff_alpha
from axisjudge.stats.calibration import auroc
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import FEWEST_CLUSTERS, clustered_proportion
from axisjudge.studies._shared.frames import Floats, Given, Kind, first_of_each, kind_of, made_up_raters, mean_of
from axisjudge.studies._shared.result import Study, open_door
from axisjudge.studies._shared.words import in_cell, many
from axisjudge.studies.axis_result import sentences as say
from axisjudge.studies.axis_result.runs import AllRuns, MeansOfAgents, OneRun, RunComparison, WeakestSignals
from axisjudge.studies.axis_result.runs import agent_means as agent_means
from axisjudge.studies.axis_result.runs import all_runs as all_runs
from axisjudge.studies.axis_result.runs import compare_runs as compare_runs
from axisjudge.studies.axis_result.runs import compare_sources as compare_sources
from axisjudge.studies.axis_result.runs import one_run as one_run
from axisjudge.studies.axis_result.runs import weakest_signals as weakest_signals
from axisjudge.trajectory import Trajectory, as_runs

#: Two numbers this near to each other agree; twentieths are the finest steps that judges commonly use.
WITHIN = 0.1
#: The signal under which a graded goal check stands.
GOAL_SIGNAL = "goal"


@dataclass(frozen=True)
class JudgePair(Result):
    """Two judges on one signal: the share of items within `WITHIN`, and how much higher the second's numbers are."""

    raters: tuple[str, str]
    cross_family: bool
    within: Estimate
    mean_difference: float


@dataclass(frozen=True)
class SignalAgreement(Result):
    """Agreement on one signal.

    `n_items` counts interactions (or runs, or checks) with a number of any judge, `n_common` those with one of every
    judge. `within` is the share of pairs of judges that agree within a tenth, over pairs of different families, and
    `alpha` is Krippendorff's for interval data over all judges; `means` are the judges' means, `lost` their ratings
    without a number.
    """

    question: str
    n_items: int
    n_common: int
    means: Mapping[str, float]
    lost: Mapping[str, int]
    alpha: Agreement
    within: Estimate
    pairs: tuple[JudgePair, ...]

    def row(self) -> dict[str, Any]:
        """One row of the table."""
        return {
            "signal": self.question,
            "n": self.n_items,
            "common": self.n_common,
            "lost": sum(self.lost.values()),
            "within": in_cell(self.within, ".0%"),
            "alpha": in_cell(self.alpha),
            "lowest mean": min(self.means.values(), default=math.nan),
            "highest mean": max(self.means.values(), default=math.nan),
        }


@dataclass(frozen=True)
class AgreementOnSignals(Result):
    """Agreement on every signal, and on the goal's checks, of judges of different families.

    `by_one` names signals that one judge alone gave numbers for (rules grade no checks): no agreement can be stated.
    """

    within: ClassVar = WITHIN
    _keys = ("raters", "families", "within", "signals", "sentences")

    raters: tuple[str, ...]
    families: tuple[str, ...]
    signals: tuple[SignalAgreement, ...]
    made_up: tuple[str, ...]
    n_other_repeats: int
    by_one: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """One row a signal."""
        return [each.row() for each in self.signals]

    @property
    def sentences(self) -> list[str]:
        """What the table says, and what it does not."""
        known = [each for each in self.signals if not math.isnan(each.within.estimate)]
        weakest = min(known, key=lambda each: each.within.estimate, default=None)
        pairs = None if weakest is None else (weakest.question, in_cell(weakest.within, ".0%"))
        return [
            *say.of_judges(self.raters, self.families, self.made_up, WITHIN),
            *say.of_agreement(pairs, len(set(self.families)), self.n_other_repeats, self.by_one),
        ]


def agreement_on_signals(ratings: pl.DataFrame, *, repeat: int = 0, ci_level: float = 0.95) -> AgreementOnSignals:
    """Agreement of judges, not of people who rated too, on the signals and goal checks of a ratings table.

    Intervals are over tasks where the ratings name them, else over runs: interactions of one run are not independent.

    Raises
    ------
    InputError
        There are no such ratings, fewer than two judges, or several ratings of one judge for one item.
    """
    table = asked_of_axis(ratings).filter(BY_JUDGE)
    left_out = table.filter(pl.col("repeat") != repeat).height
    table = table.filter(pl.col("repeat") == repeat).with_columns(
        pl.when(pl.col("scale") == "check").then(pl.lit(GOAL_SIGNAL)).otherwise(pl.col("question")).alias("signal"),
        (pl.col("item_id") + " " + pl.col("question")).alias("item"),
        pl.when(pl.col("scale") == "check").then(pl.col("value") / 10).otherwise(pl.col("value")).alias("number"),
    )
    judges = table.select("family", "rater").unique().sort("family", "rater")
    if judges.height < 2:
        raise InputError("ratings", "agreement on signals needs two judges", judges["rater"].to_list())
    cure = "keep one prompt and rater version (axisjudge.read_ratings(..., latest=True))"
    once(table, "item", "rater", rule="each judge may rate a signal of an interaction once", cure=cure)
    raters, families = tuple(judges["rater"]), tuple(judges["family"])
    parts = table.partition_by("signal", as_dict=True)
    order = sorted((str(key[0]) for key in parts), key=lambda name: (name == GOAL_SIGNAL, name))
    several = [name for name in order if parts[name,]["rater"].n_unique() > 1]
    signals = tuple(_signal(name, parts[name,], ci_level) for name in several)
    by_one = tuple(name for name in order if name not in several)
    return AgreementOnSignals(raters, families, signals, made_up_raters(table), left_out, by_one)


def _signal(name: str, table: pl.DataFrame, ci_level: float) -> SignalAgreement:
    judges = table.select("family", "rater").unique().sort("family", "rater")
    raters, families = judges["rater"].to_list(), judges["family"].to_list()
    unit = "run" if table.select((pl.col("cluster_id") == pl.col("trajectory_id")).all()).item() else "task"
    items = first_of_each(table, ("item", "cluster_id"))
    wide = items.join(table.pivot("rater", index="item", values="number"), on="item", how="left")
    numbers = wide.select(pl.col(raters).cast(pl.Float64).fill_null(math.nan)).to_numpy()
    clusters = wide["cluster_id"].rank("dense").to_numpy()
    how: dict[str, Any] = {"cluster_unit": unit, "ci_level": ci_level}
    pairs, across = [], []
    for first, second in itertools.combinations(range(len(raters)), 2):
        difference = numbers[:, second] - numbers[:, first]
        # .8 and .9 differ by a little more than a tenth in floats
        near = np.where(np.isnan(difference), math.nan, np.abs(difference) <= WITHIN + 1e-9)
        cross_family = families[first] != families[second]
        within = clustered_proportion(near, clusters, **how)
        pairs.append(JudgePair((raters[first], raters[second]), cross_family, within, mean_of(difference)))
        across += [near] if cross_family else []
    across = across or [np.full(len(clusters), math.nan)]
    lost = dict(table.filter(pl.col("status") != "ok").group_by("rater").len().iter_rows())
    means = dict(table.group_by("rater").agg(pl.col("number").mean()).drop_nulls().sort("rater").iter_rows())
    return SignalAgreement(
        question=name,
        n_items=int((~np.isnan(numbers)).any(axis=1).sum()),
        n_common=int((~np.isnan(numbers)).all(axis=1).sum()),
        means=means,
        lost={rater: lost.get(rater, 0) for rater in raters},
        alpha=krippendorff_alpha(numbers, level="interval", clusters=clusters, **how),
        within=clustered_proportion(np.concatenate(across), np.tile(clusters, len(across)), **how),
        pairs=tuple(pairs),
    )


@dataclass(frozen=True)
class JudgedResults(Result):
    """What judges make of runs.

    `together` are the results from all judges' numbers, combined signal by signal before anything is scored; `apart`
    those from each judge's own. `agreement` is None where fewer than two judges gave a first repeat.
    """

    _keys: ClassVar = {"judges": "apart", "agreement": "agreement"}

    together: tuple[AxisResult, ...]
    apart: Mapping[str, tuple[AxisResult, ...]]
    agreement: AgreementOnSignals | None

    def to_frame(self) -> pl.DataFrame:
        """One row a judge and run, then the combined result: the composite and the dimensions."""
        every = [*self.apart.items()] if len(self.apart) > 1 else []
        rows = [
            {
                "judge": rater,
                "run": result.trajectory_id,
                "axis_result": result.shown,
                **{dimension.name: dimension.score for dimension in result.dimensions},
                "bounds": f"{result.bounds[0]:g} to {result.bounds[1]:g}",
            }
            for rater, results in [*every, ("together", self.together)]
            for result in results
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def judged_results(
    trajectories: Sequence[Trajectory], ratings: pl.DataFrame, *, ci_level: float = 0.95, **how: Unpack[Scoring]
) -> JudgedResults:
    """Results from the ratings of each judge and of all together; `how` is that of `axis_results`.

    A judge that graded no checks (rules, say) is given the grades of the others, or those in `how`.
    """
    apart, asked = {}, asked_of_axis(ratings)
    for rater in sorted(set(asked["rater"])):
        own = ratings.filter(pl.col("rater") == rater)
        graded = own.filter(pl.col("scale") == "check").height or how.get("grades") is not None
        given: Scoring = how if graded else {**how, "grades": ratings}
        apart[rater] = tuple(axis_results(trajectories, signals=own, **given))
    together = tuple(axis_results(trajectories, signals=ratings, **how))
    several = asked.filter(BY_JUDGE, pl.col("repeat") == 0)["rater"].n_unique() > 1
    return JudgedResults(together, apart, agreement_on_signals(ratings, ci_level=ci_level) if several else None)


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
        return " ".join(filter(None, (comparison.answer, "" if graded else say.UNGRADED, say.ASSUMED)))
    if sum(each.n_runs for each in agents.agents) == 1:
        return say.one_run(run.run)
    return f"{agents.answer} {comparison.answer} {say.ASSUMED}"


def next_step(run: OneRun, comparison: RunComparison) -> str:
    """What to run, and where to read."""
    more = FEWEST_CLUSTERS - len(comparison.tasks)
    if comparison.refusal:
        first = "Give runs of the same tasks to compare with (-p compare=PATH)"
    elif more > 0:
        first = f"Run both on {many(more, 'more task')}: {len(comparison.tasks)} cannot speak for others"
    else:
        first = "Read the runs of the tasks that changed most"
    return f"{first}. Below stands where run {run.run.trajectory_id} lost points, call by call."


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
        As in `axisjudge.scores.axis.scenario.axis_results`.
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
    >>> found.runs.table["axis_result"].to_list()
    ['40-94', '41-95']
    """
    in_open_unit_interval("ci_level", ci_level)
    trajectories, compare = (_once(as_runs(runs)) for runs in (trajectories, compare))
    given, graded = (None if each is None else as_ratings(each) for each in (signals, grades))
    ids = {run.id for run in (*trajectories, *compare)}
    for name, rated in (("signals", given), ("grades", graded)):
        if rated is not None and rated.height and ids.isdisjoint(rated["trajectory_id"]):
            raise InputError(name, "rate none of these runs", rated["trajectory_id"][0], "give those of these runs")
    how = Scoring(grades=graded, scenarios=scenarios, combine=combine, rules=rules, weights=weights, curves=curves)
    results, others = (axis_results(runs, signals=given, **how) for runs in (trajectories, compare))
    table = signals if signals is not None else grades
    kind: Kind = "polars" if table is None else kind_of(table)
    shown: dict[str, Any] = {"made_up": made_up_raters(given, graded), "kind": kind}
    behind = behind_results(results, others, run_id=run_id, names=names, ci_level=ci_level, **shown)
    judged = None if given is None else judged_results([*trajectories, *compare], given, ci_level=ci_level, **how)
    return replace(behind, judged=judged)


def _once(runs: list[Trajectory]) -> list[Trajectory]:
    """The runs, if none is there twice: it would be a repeat that nobody made."""
    if twice := [name for name, n in Counter(run.id for run in runs).items() if n > 1]:
        raise InputError("trajectories", "each run counts once", twice[0], "keep one of them")
    return runs


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
    scores = {f"result, {end} end": [each.bounds[at] for each in results] for at, end in enumerate(("low", "high"))}
    for name in DIMENSIONS:
        if name != GOAL:
            of = [each.dimension(name) for each in results]
            scores[name] = [np.nan if one.score is None else one.score for one in of]
            scores[f"{name}, low end"] = [one.low for one in of]
    rewarded = np.array([rewards.get(each.trajectory_id) for each in results], float)
    tasks = np.array([each.cluster_id for each in results])
    return [_spread(name, np.array(values, float), rewarded, tasks) for name, values in scores.items()]


def _spread(name: str, values: Floats, rewarded: Floats, tasks: NDArray[np.str_]) -> Spread:
    known = ~np.isnan(values)
    ends = np.quantile(values[known], (0, 0.25, 0.5, 0.75, 1)) if known.any() else np.full(5, np.nan)
    both = known & ~np.isnan(rewarded)
    auc = auroc(values[both] / 100, rewarded[both] >= 1, clusters=tasks[both]) if both.any() else None
    least, lower, median, upper, most = ends.tolist()
    return Spread(name, int(known.sum()), len(np.unique(values[known])), least, lower, median, upper, most, auc)


def spread_rows(spreads: Sequence[Spread]) -> list[dict[str, Any]]:
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
        for one in spreads
    ]


open_door(axis_result)
