"""AXIS Results of many runs, from the rules' signals or from ratings of them; by assumed curves, or fitted ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

import polars as pl

from axisjudge.checks import InputError
from axisjudge.ratings.table import ratings_frame
from axisjudge.scores.axis.goal import Grade
from axisjudge.scores.axis.judged import questions
from axisjudge.scores.axis.judged.rule_signals import rule_signals
from axisjudge.scores.axis.judged.signals import Signals
from axisjudge.scores.axis.result import AxisResult, score_run
from axisjudge.scores.axis.rule_sets import DOCUMENTED, RuleSet
from axisjudge.scores.axis.scenario import Scenario, scenario_for
from axisjudge.scores.axis.transcript.categories import CATEGORIES
from axisjudge.scores.axis.transcript.run import AxisRun, run_of_trajectory
from axisjudge.scores.curves.curve import LogNormalCurve
from axisjudge.scores.curves.fitted import CurveFit
from axisjudge.trajectory import Trajectory

RULES = "rules"


class Scoring(TypedDict, total=False):
    """How runs are scored: what `axis_results` takes beside runs and signals."""

    grades: pl.DataFrame | None
    scenarios: Sequence[Scenario]
    combine: questions.Combine
    rules: RuleSet
    weights: Mapping[str, float] | None
    curves: Mapping[str, CurveFit] | None


def axis_results(
    trajectories: Iterable[Trajectory],
    *,
    signals: pl.DataFrame | None = None,
    grades: pl.DataFrame | None = None,
    scenarios: Sequence[Scenario] = (),
    combine: questions.Combine = "mean",
    rules: RuleSet = DOCUMENTED,
    weights: Mapping[str, float] | None = None,
    curves: Mapping[str, CurveFit] | None = None,
) -> list[AxisResult]:
    """The AXIS Result of every trajectory.

    Parameters
    ----------
    trajectories : iterable of Trajectory
    signals : polars.DataFrame, optional
        Ratings of signals; without it the rules judge them.
    grades : polars.DataFrame, optional
        Ratings of goal checks; by default those in `signals`.
    scenarios : sequence of Scenario, optional
        One scenario holds for all runs; of several each run's is the one that bears its task's name. Without any the
        scenario that a source carries itself is taken (AXIS reports do).
    combine : {"mean", "median"}
        What the numbers of several raters are made into, signal by signal, before anything is scored.
    rules : RuleSet
    weights : mapping, optional
        Weights of the four dimensions.
    curves : mapping of process dimension to CurveFit, optional
        Fitted curves in place of the program's; each result is marked with what its scores mean and the curve's band.

    Raises
    ------
    InputError
        A run finds no scenario among several, a curve is of no process dimension, a rating of no interaction.
    """
    fitted = fitted_curves(curves or {})
    graded = next((table for table in (grades, signals) if table is not None), ratings_frame([]))
    results = []
    for trajectory in trajectories:
        scenario = scenario_for(trajectory, scenarios)
        run = run_of_trajectory(trajectory, rules)
        if run.task_id is None and len(scenarios) == 1 and scenario is not None:
            run = replace(run, task_id=scenario.name, cluster_id=scenario.name)
        rows = _of_run(signals, run)
        judged = rule_signals(run) if rows is None else _known(questions.signals_of_ratings(rows, combine=combine), run)
        checks = None if scenario is None else _grades(_of_run(graded, run), scenario, run.rules, combine)
        by = RULES if rows is None else questions.judged_by(rows, combine)
        result = score_run(run, judged, grades=checks, weights=weights, curves=fitted, judged_by=by)
        marks = [
            mark
            for table in (grades, signals)
            for mark in questions.marks_of_judges(_of_run(table, run), run.agent_family)
        ]
        marks += curve_marks(result, curves or {})
        results.append(replace(result, marks=tuple(dict.fromkeys((*result.marks, *marks)))))
    return results


def rule_ratings(trajectories: Iterable[Trajectory]) -> pl.DataFrame:
    """The rules' signals of every trajectory as a ratings table."""
    runs = (run_of_trajectory(trajectory, DOCUMENTED) for trajectory in trajectories)
    return ratings_frame([rating for run in runs for rating in questions.ratings_of_signals(run, rule_signals(run))])


def _of_run(ratings: pl.DataFrame | None, run: AxisRun) -> pl.DataFrame | None:
    return None if ratings is None else ratings.filter(pl.col("trajectory_id") == run.id)


def _known(signals: Signals, run: AxisRun) -> Signals:
    """The signals, if all are of interactions that the run has."""
    ids = {each.id for each in run.interactions}
    for each in signals.values():
        if unknown := [audit.id for audit in each.audits if audit.id not in ids]:
            rule = f"has no interaction of that number under the {run.rules.name} rules, which a rating is about"
            raise InputError(f"trajectory {run.id}", rule, unknown[0], "judge it anew under these rules")
    return signals


def _grades(
    rows: pl.DataFrame | None, scenario: Scenario, rules: RuleSet, combine: questions.Combine
) -> list[Grade] | None:
    """The grades of a scenario's checks; where somebody was asked, the program counts a missing one as 0."""
    if rows is None:
        return None
    grades = questions.grades_of_ratings(rows, scenario.checks, combine=combine)
    asked = not rows.filter(pl.col("scale") == "check").is_empty()
    if rules.missing == "defaults" and asked:
        return [grade._replace(score=0) if grade.score is None else grade for grade in grades]
    return grades


def fitted_curves(fits: Mapping[str, CurveFit]) -> dict[str, LogNormalCurve]:
    """The curves of process dimensions that stand, for `score_run`; the others keep the program's.

    Raises
    ------
    InputError
        A curve of something that is no process dimension.
    """
    if unknown := sorted(set(fits) - set(CATEGORIES)):
        cure = "fit them with --dimension, a column of these names"
        raise InputError("curves", f"AXIS dimensions are {', '.join(CATEGORIES)}", unknown[0], cure)
    return {name: fit.curve for name, fit in fits.items() if fit.curve is not None}


def curve_marks(result: AxisResult, fits: Mapping[str, CurveFit]) -> tuple[str, ...]:
    """What a reader must know of scores under fitted curves: their meaning, the curve's band, what stays assumed."""
    if not fits or result.failed:
        return ()
    marks = []
    for name in CATEGORIES:
        fit, raw = fits.get(name), result.dimension(name).raw
        if fit is None or fit.curve is None:
            marks.append(f"{name}: the program's assumed curve, fitted to no data")
        elif raw is not None:
            band = fit.band(raw)
            ends = f"the curve leaves {float(band.low):.0f} to {float(band.high):.0f} open"
            if raw >= 1:
                ends = "raw 1 scores 100 by the program's rule"
            marks.append(f"{name}: {fit.score_name} by a fitted curve, {fit.meaning}; {ends}")
    return tuple(marks)
