"""Scenarios, their goal checks and weights from files; and AXIS Results of many runs by them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from axisjudge.checks import InputError, once_each
from axisjudge.ratings.table import ratings_frame
from axisjudge.rubric.axes import yaml_in
from axisjudge.scores.axis.judged import signals as questions
from axisjudge.scores.axis.judged.rule_signals import rule_signals
from axisjudge.scores.axis.judged.signals import GoalCheck, Grade, Signals
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS, DIMENSIONS, AxisResult, checked_weights, score_run
from axisjudge.scores.axis.rule_sets import DOCUMENTED, RuleSet
from axisjudge.scores.axis.transcript.categories import CATEGORIES
from axisjudge.scores.axis.transcript.interactions import AxisRun, run_of_trajectory
from axisjudge.scores.axis.transcript.javascript import is_number
from axisjudge.scores.curves.curve import CurveFit, LogNormalCurve
from axisjudge.trajectory import Trajectory

_CHECKS = ("checks", "judge", "rubric")
#: Fields of AXIS scenarios that say how a run is made, not how it is judged.
_OF_THE_RUN = {
    *("skip", "setup", "teardown", "agents", "skills", "mcp_servers", "limits", "artifacts", "variants", "key"),
    "$schema",
}


@dataclass(frozen=True)
class Scenario:
    """A task with its goal checks; `holistic` where one text describes the goal as a whole."""

    name: str
    prompt: str
    checks: tuple[GoalCheck, ...]
    holistic: bool = False


def read_scenario(path: str | Path) -> Scenario:
    """A scenario file, JSON or YAML: name, prompt, and checks (also called judge, or rubric).

    Raises
    ------
    InputError
        When the file cannot be read or breaks a rule.
    """
    path = Path(path)
    value = _loaded(path)
    if not isinstance(value, dict):
        raise InputError(str(path), "must be an object with name, prompt and checks", type(value).__name__)
    if unknown := sorted(map(str, set(value) - {"name", "prompt", *_CHECKS} - _OF_THE_RUN)):
        raise InputError(str(path), f"fields are name, prompt, {', '.join(_CHECKS)}", unknown[0])
    return scenario_of(value, str(path), name=path.stem)


def scenario_of(value: dict[str, Any], where: str, *, name: str = "") -> Scenario:
    """A scenario from its fields; `name` where it gives none."""
    given = [key for key in _CHECKS if key in value]
    if len(given) != 1:
        raise InputError(where, "must have checks once, as a text or a list", given or None, "add checks:")
    stated = value[given[0]]
    title = value.get("name") or value.get("scenarioName") or name
    checks, holistic = checks_of(stated, f"{where}, {given[0]}")
    return Scenario(str(title), str(value.get("prompt") or ""), checks, holistic)


def checks_of(stated: Any, where: str) -> tuple[tuple[GoalCheck, ...], bool]:
    """Checks from a text (one check of the goal as a whole) or a list of texts and ``{check, weight}``.

    Checks without a weight share equally what the others leave of 1.
    """
    if isinstance(stated, str):
        return (GoalCheck(stated, 1.0),), True
    if not isinstance(stated, list) or not stated:
        raise InputError(where, "must be a text or a list of checks", stated)
    items: list[dict[str, Any]] = [{"check": item} if isinstance(item, str) else item for item in stated]
    for number, item in enumerate(items, 1):
        _check_item(item, f"{where} {number}")
    given = [item["weight"] for item in items if item.get("weight") is not None]
    shared = max(0.0, 1 - sum(given)) / max(1, len(items) - len(given))
    weights = [shared if item.get("weight") is None else item["weight"] for item in items]
    if sum(weights) == 0:
        raise InputError(where, "weights must not all be 0", weights)
    return tuple(GoalCheck(item["check"], weight) for item, weight in zip(items, weights, strict=True)), False


def scenario_for(trajectory: Trajectory, scenarios: Sequence[Scenario]) -> Scenario | None:
    """A run's scenario: the only one, of several the one that bears its task's name, of none the one it carries.

    Raises
    ------
    InputError
        None of several bears its task's name, or the only one bears another and the run carries other checks itself.
    """
    carried = trajectory.meta.get("axis_scenario") or {}
    checks = carried.get("rubric", carried.get("judge"))
    fields = {"name": trajectory.task_id, "prompt": carried.get("prompt"), "checks": checks}
    own = scenario_of(fields, f"trajectory {trajectory.id}, scenario") if checks else None
    if len(scenarios) == 1:
        if own is not None and scenarios[0].name != trajectory.task_id and scenarios[0].checks != own.checks:
            rule = f"has checks of its own, and scenario {scenarios[0].name} is not named after its task"
            cure = "give a scenario for each task, or none where the runs bring theirs"
            raise InputError(f"trajectory {trajectory.id}", rule, trajectory.task_id, cure)
        return scenarios[0]
    if scenarios:
        named = {each.name: each for each in scenarios}
        if len(named) < len(scenarios):
            names = [each.name for each in scenarios]
            raise InputError("scenarios", "must have a name each", next(n for n in names if names.count(n) > 1))
        if trajectory.task_id not in named:
            cure = "name each scenario after its task, or give one for all"
            raise InputError(
                f"trajectory {trajectory.id}", "no scenario bears its task's name", trajectory.task_id, cure
            )
        return named[trajectory.task_id]
    return own


def read_weights(path: str | Path) -> dict[str, float]:
    """The weights of the four dimensions in an axis.config.json (``settings.scoring_weights``), else the defaults.

    Raises
    ------
    InputError
        When they are no numbers of 0 or more, are all 0, do not add up to 1 within .01, or stand somewhere else.
    """
    path = Path(path)
    if path.suffix != ".json":
        raise InputError(str(path), "must be an axis.config.json", cure="write the config's settings as JSON")
    value = _loaded(path)
    if not isinstance(value, dict):
        raise InputError(str(path), "must be an object", type(value).__name__)
    settings = value["settings"] if isinstance(value.get("settings"), dict) else {}
    given = settings.pop("scoring_weights", DEFAULT_WEIGHTS)
    if (misplaced := _weights_in(value)) is not None:
        rule = "holds weights where they are not read"
        raise InputError(str(path), rule, misplaced, "write them under settings, scoring_weights")
    where = f"{path}, settings.scoring_weights"
    if not isinstance(given, dict):
        raise InputError(where, "must be an object", given)
    return checked_weights(given, where)


def _weights_in(value: Any, path: str = "") -> str | None:
    """Where something like the weights of the dimensions stands, as a path of keys."""
    if isinstance(value, list):
        return next((weights for item in value if (weights := _weights_in(item, path)) is not None), None)
    if not isinstance(value, dict):
        return None
    if is_number(value.get("weight")) and any(isinstance(one, str) and one in DIMENSIONS for one in value.values()):
        return path or "weight"
    for key, inner in value.items():
        here = f"{path}.{key}" if path else str(key)
        if re.fullmatch(r"\w*weights|\w*scoring\w*weight", re.sub(r"[\W_]", "", str(key)).lower()):
            return here
        weight = inner.get("weight") if isinstance(inner, dict) else inner
        if str(key).lower() in DIMENSIONS and is_number(weight):
            return path or here
        if (weights := _weights_in(inner, here)) is not None:
            return weights
    return None


def _check_item(item: Any, where: str) -> None:
    if not isinstance(item, dict) or not isinstance(item.get("check"), str) or not item["check"].strip():
        raise InputError(where, "must be a text, or an object with a text as its check", item)
    weight = item.get("weight")
    if weight is not None and (not is_number(weight) or not math.isfinite(weight) or weight < 0):
        raise InputError(f"{where}, weight", "must be a number, 0 or greater", weight)


def _loaded(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(str(path), "must be UTF-8 text", error.reason) from error
    if path.suffix in (".yaml", ".yml"):
        import yaml

        try:
            return yaml_in(text)
        except yaml.YAMLError as error:
            raise InputError(str(path), f"is not valid YAML ({' '.join(str(error).split())})") from error
    try:
        return json.loads(text, object_pairs_hook=once_each)
    except ValueError as error:
        raise InputError(str(path), f"is not valid JSON ({error})") from error


# AXIS Results of many runs, from the rules' signals or from ratings of them; by assumed curves, or fitted ones.

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
        One scenario holds for all runs that carry no other; of several each run's is the one that bears its task's
        name. Without any the scenario that a source carries itself is taken (AXIS reports do).
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
