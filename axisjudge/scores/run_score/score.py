"""From runs to scores: one run in plain Python, as an agent's own program does, or a million as a table; the same
numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError

from axisjudge.checks import InputError, one_each
from axisjudge.results import Result
from axisjudge.scores.run_score import rules as formula
from axisjudge.scores.run_score.rules import (
    COMPONENTS,
    CPU_SHARE,
    DECIMALS,
    EARLIEST,
    FIELDS,
    FORMULA_VERSION,
    LATEST,
    MEMORY_SHARE,
    NEUTRAL,
    OUTCOMES,
    TIERS,
    UNRANKED,
    Floats,
    ScorecardRules,
    checked_frozen,
    tier_of,
)
from axisjudge.scores.run_score.runs import Run, end_time, runs_table
from axisjudge.stats.estimate import Estimate, many, plural, without_interval
from axisjudge.stats.proportions import FEWEST_CLUSTERS, cluster_codes, jackknife_interval

#: ``rolling``, or the seconds that are typical of each workspace (see `frozen_baseline`).
Baseline = Literal["rolling"] | Mapping[str, float]

DEFAULT = ScorecardRules()


def score_runs(
    runs: pl.DataFrame, *, rules: ScorecardRules = DEFAULT, baseline: Baseline = "rolling", strict: bool = False
) -> pl.DataFrame:
    """Score every run of a table.

    score = 0.4 completion + 0.3 error_rate + 0.2 latency + 0.1 resource_efficiency, halves rounded up.

    Parameters
    ----------
    runs : polars.DataFrame
        Columns of `RUN_SCHEMA`; only ``run_id`` must be there.
    rules : ScorecardRules
    baseline : "rolling" or mapping of workspace to seconds
        The rolling p50 of the runs in this very table, or frozen values.
    strict : bool
        Raise where a component cannot be computed, instead of taking 50 and recording the reason.

    Returns
    -------
    polars.DataFrame
        One row a run, in the order given: ids, ``ended_at``, ``score``, ``tier``, ``score_low`` and ``score_high`` (the
        components that could not be computed at 0 and at 100), the four components, a ``<component>_reason`` for each
        (null where it was computed), ``baseline_seconds`` (the p50), ``baseline_runs`` (how many runs it is the median
        of), ``formula_version``. A run whose ``scored`` is false, or of which nothing was given, has tier Unranked and
        no score.

    Raises
    ------
    InputError
        The table is not one of runs; or, when strict, a component cannot be computed.
    """
    table = runs_table(runs)
    if isinstance(baseline, str):
        table, samples = table.hstack(formula.rolling_p50(table, window=rules.window)), pl.col("samples")
    else:
        table, samples = table.with_columns(_frozen(table, baseline)), None
    conditions = formula.why_not(pl.col, pl.col("p50"), samples, rules.min_samples)
    why = table.select(**{name: formula.words_of_each(each) for name, each in conditions.items()})
    computed = why.select(pl.all().is_null()).to_numpy()
    values = np.where(computed, _values(table, rules), np.nan)
    is_scored = table["scored"].to_numpy()
    has_score = is_scored & ~table.select(formula.is_empty()).to_series().to_numpy()
    if strict:
        _refuse_neutral(table, why, is_scored)
    score, low, high = (
        formula.weighted_score(formula.with_neutral(values, stand_in), rules.whole_weights)
        for stand_in in (NEUTRAL, 0, 100)
    )
    tier = np.where(has_score, np.searchsorted(list(TIERS.values()), score, side="right") - 1, len(TIERS))
    whole = formula.with_neutral(values)
    scored = table.select(
        *("run_id", "agent_id", "workspace_id", "spec_id", "ended_at"),
        pl.Series("score", score),
        pl.Series("tier", np.array([*TIERS, UNRANKED])[tier]),
        pl.Series("score_low", low),
        pl.Series("score_high", high),
        *(pl.Series(name, whole[:, column]) for column, name in enumerate(COMPONENTS)),
        *(why[name].alias(f"{name}_reason") for name in COMPONENTS),
        pl.col("p50").alias("baseline_seconds"),
        pl.col("samples").alias("baseline_runs"),
        pl.lit(FORMULA_VERSION).alias("formula_version"),
    )
    if has_score.all():
        return scored
    return scored.with_columns(
        pl.when(pl.Series(has_score)).then(pl.col("score", "score_low", "score_high", *COMPONENTS)),
        pl.when(pl.Series(is_scored)).then(pl.col([f"{name}_reason" for name in COMPONENTS])),
    )


def frozen_baseline(runs: pl.DataFrame, *, rules: ScorecardRules = DEFAULT) -> dict[str, float]:
    """The typical seconds of each workspace, frozen: the p50 of its first completed runs, as many as the window holds.

    A rolling baseline moves with the agents, so a trend of scores over months says little; against a frozen one it
    says how they changed. A workspace with fewer than `min_samples` completed runs has none. Of runs that end at one
    instant the longer ones are taken, as in the rolling baseline.
    """
    order = ("workspace_id", "ended_at", "wall_seconds")
    timed = runs_table(runs).filter(formula.enters_baselines()).sort(*order, descending=[False, False, True])
    first = timed.group_by("workspace_id", maintain_order=True).head(rules.window)
    groups = first.group_by("workspace_id", maintain_order=True).agg("wall_seconds").iter_rows()
    return {str(name): float(np.median(wall)) for name, wall in groups if len(wall) >= rules.min_samples}


def without(scored: pl.DataFrame, dropped: str, *, rules: ScorecardRules = DEFAULT) -> Floats:
    """The weighted mean of the other components, not rounded: NaN for a run without a score.

    What a calibration takes when a component was itself made of the label.
    """
    kept = [name for name in COMPONENTS if name != dropped]
    if len(kept) == len(COMPONENTS):
        raise InputError("dropped", f"must be one of {', '.join(COMPONENTS)}", dropped)
    weights = np.array([rules.weights[name] for name in kept])
    values = scored.select(pl.col(kept).cast(pl.Float64).fill_null(np.nan)).to_numpy()
    return np.asarray(values @ weights / weights.sum())


def _values(table: pl.DataFrame, rules: ScorecardRules) -> Floats:
    """The four components of every run, whatever its fields hold."""
    numbers = table.select(pl.col(pl.Float64).fill_null(np.nan))
    use = (numbers[name].to_numpy() for name in formula.FIELDS["resource_efficiency"])
    executed, passed, wall, p50 = (
        numbers[name].to_numpy() for name in ("stages_executed", "stages_passed_first", "wall_seconds", "p50")
    )
    return np.column_stack(
        [
            formula.completion(table["outcome"]),
            formula.error_rate(passed, executed),
            formula.latency(wall, p50, full_at=rules.full_at, zero_at=rules.zero_at),
            formula.resource_efficiency(*use),
        ]
    )


def _frozen(table: pl.DataFrame, baseline: Mapping[str, float]) -> list[pl.Series]:
    typical = checked_frozen(baseline)
    p50 = table["workspace_id"].replace_strict(dict(typical), default=None, return_dtype=pl.Float64)
    return [p50.alias("p50"), pl.Series("samples", np.zeros(table.height, dtype=np.int64))]


def _refuse_neutral(table: pl.DataFrame, why: pl.DataFrame, is_scored: np.ndarray) -> None:
    for name in COMPONENTS:
        neutral = why[name].is_not_null().to_numpy() & is_scored
        if neutral.any():
            row = int(neutral.argmax())
            where = f"run {table['run_id'][row]}, {name}"
            raise InputError(where, f"cannot be computed: {why[name][row]}", cure="leave strict out to score it 50")


# The score of one run as a record.


@dataclass(frozen=True)
class Scorecard(Result):
    """The score of one run.

    `components` holds the four whole numbers, 50 for one that could not be computed; `reasons` says why for each of
    those. `low` and `high` are the score with these at 0 and at 100. A run that was not scored has tier Unranked, no
    score and no components.
    """

    run_id: str
    score: int | None
    tier: str
    low: int | None
    high: int | None
    components: Mapping[str, int]
    reasons: Mapping[str, str]
    baseline_seconds: float | None
    baseline_runs: int
    formula_version: str = FORMULA_VERSION

    def answer(self) -> dict[str, Any]:
        """The score as the API answers it; there the components go by the name that the text gave them, axes."""
        names = ("run_id", "score", "tier", "formula_version")
        return {name: getattr(self, name) for name in names} | {"axes": dict(self.components)}


#: What a row of a table of scores holds under a card's own names.
_AS_IN_ROW = ("run_id", "score", "tier", "baseline_seconds", "baseline_runs", "formula_version")


def scorecards(scored: pl.DataFrame) -> Iterator[Scorecard]:
    """The rows of a table of scores as records."""
    for row in scored.iter_rows(named=True):
        yield Scorecard(
            **{name: row[name] for name in _AS_IN_ROW},
            low=row["score_low"],
            high=row["score_high"],
            components={name: row[name] for name in COMPONENTS if row[name] is not None},
            reasons={name: why for name in COMPONENTS if (why := row[f"{name}_reason"]) is not None},
        )


# One run scored in plain Python, as an agent's own program and the service do: what `score_runs` gives for a table, by
# the same rules of what can be computed. Its three formulas are written out for numbers, as numpy takes 80 microseconds
# for one run's, these 4 (and a table of one run 14 milliseconds). A property test holds both together.

_UNIT = 10**DECIMALS
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
#: The id of a run whose own id could not be read; such a score cannot be stored.
UNIDENTIFIED = "unidentified"


def score_run(
    run: Run | Mapping[str, Any],
    history: Iterable[Run] | Callable[[], Iterable[Run]] = (),
    *,
    rules: ScorecardRules = DEFAULT,
    baseline: Baseline = "rolling",
    strict: bool = False,
) -> Scorecard:
    """Score one run against the earlier runs of its workspace.

    Unless `strict`, nothing that a run or its history holds raises into the run that is scored: a field that cannot be
    read is left out, a history that cannot be had gives no baseline, and the reasons are recorded.

    Parameters
    ----------
    run : Run or mapping
    history : iterable of Run, or a function that returns one
        Other runs; which of them count follows from the rules. The run itself never counts.
    rules, baseline, strict
        As in `score_runs`.

    Raises
    ------
    InputError
        A frozen baseline is no number of seconds from 0 up; when strict also: a field cannot be read, or a component
        cannot be computed.

    Examples
    --------
    >>> run = {"run_id": "run-1", "agent_id": "a", "workspace_id": "w", "outcome": "COMPLETED"}
    >>> stages = [{"name": "lint", "attempts": 1, "passed": True}]
    >>> card = score_run({**run, "stages": stages})
    >>> card.score, card.low, card.high, card.tier
    (85, 70, 100, 'Gold')
    """
    this, unreadable = (run, {}) if isinstance(run, Run) else _readable(run, strict=strict)
    frozen = None if isinstance(baseline, str) else checked_frozen(baseline)
    try:
        others = [] if baseline != "rolling" else list(history() if callable(history) else history)
        failure = ""
    except Exception as error:
        if strict:
            raise
        others, failure = [], f"the source of the baseline failed ({type(error).__name__})"
    if frozen is None:
        here = {each.run_id: each for each in others if each.workspace_id == this.workspace_id}
        here.pop(this.run_id, None)
        entering = [each for each in here.values() if enters_baseline(each)]
        timed = [(ended_at(each) or 0, each.wall_seconds or 0.0) for each in entering]
        card = score_single(this, *RollingBaseline(timed, window=rules.window).before(ended_at(this)), rules)
    else:
        card = score_single(this, frozen.get(this.workspace_id), None, rules)
    card = replace(card, reasons=_more_exact(card.reasons, unreadable, failure))
    if strict and card.reasons:
        name, why = next(iter(card.reasons.items()))
        raise InputError(f"run {this.run_id}, {name}", f"cannot be computed: {why}")
    return card


def ended_at(run: Run) -> int | None:
    """The end of a run in microseconds of UTC, None where it is not known or no clock should show it."""
    ended = end_time(run.ended_at)
    return (ended - _EPOCH) // _MICROSECOND if ended is not None and EARLIEST <= ended <= LATEST else None


def usable_wall(run: Run) -> float | None:
    """The seconds that a run took, None where they are not known or cannot be true."""
    unusable = formula.first_words(formula.unusable("wall_seconds", run.wall_seconds))
    return run.wall_seconds if unusable is None else None


def enters_baseline(run: Run) -> bool:
    """Whether baselines are made of this run: completed, with a usable end and wall time."""
    return run.outcome == "COMPLETED" and usable_wall(run) is not None and ended_at(run) is not None


class RollingBaseline:
    """The rolling p50 of one workspace, from the ends and wall times of the runs that enter it.

    Examples
    --------
    >>> rolling = RollingBaseline([(0, 3.0), (1, 1.0), (2, 2.0)], window=20)
    >>> rolling.before(0), rolling.before(2), rolling.before(9)
    ((None, 0), (2.0, 2), (2.0, 3))
    """

    def __init__(self, ended_and_wall: Iterable[tuple[int, float]], *, window: int) -> None:
        ordered = sorted(ended_and_wall)
        self._ends, self._walls = [end for end, _ in ordered], [wall for _, wall in ordered]
        self._window = window

    def before(self, ended_at: int | None) -> tuple[float | None, int]:
        """The median wall time of the last runs that ended earlier, and of how many; None where there is none."""
        if ended_at is None:
            return None, 0
        until = bisect_left(self._ends, ended_at)
        walls = sorted(self._walls[max(0, until - self._window) : until])
        n = len(walls)
        return ((walls[(n - 1) // 2] + walls[n // 2]) / 2, n) if n else (None, 0)


def score_single(run: Run, p50: float | None, samples: int | None, rules: ScorecardRules) -> Scorecard:
    """The score of one run whose baseline is known.

    Parameters
    ----------
    run : Run
    p50 : float or None
        Median seconds of the runs before it, None where there is none.
    samples : int or None
        How many runs that is the median of; None for a frozen baseline.
    rules : ScorecardRules
    """
    row = run.row()
    executed, passed = (row[name] for name in FIELDS["error_rate"])
    use = [row[name] for name in FIELDS["resource_efficiency"]]
    conditions = formula.why_not(row.__getitem__, p50, samples, rules.min_samples)
    reasons = {name: words for name, each in conditions.items() if (words := formula.first_words(each)) is not None}
    is_empty = not executed and all(given is None for given in (run.outcome, run.wall_seconds, *use))
    if not run.scored or is_empty:
        reasons = reasons if run.scored else {}
        return Scorecard(run.run_id, None, UNRANKED, None, None, {}, reasons, p50, samples or 0)
    computed: dict[str, int] = {}
    if "completion" not in reasons:
        computed["completion"] = OUTCOMES[run.outcome or ""]
    if "error_rate" not in reasons:
        computed["error_rate"] = _passed_first(executed or 0.0, passed or 0.0)
    if "latency" not in reasons:
        computed["latency"] = _latency(run.wall_seconds or 0.0, p50 or 0.0, rules)
    if "resource_efficiency" not in reasons:
        computed["resource_efficiency"] = _resources(*use)
    weights = dict(zip(COMPONENTS, rules.whole_weights, strict=True))
    known = sum(value * weights[name] for name, value in computed.items())
    unknown = sum(weights[name] for name in reasons)
    score, low, high = ((2 * (known + stand_in * unknown) + _UNIT) // (2 * _UNIT) for stand_in in (NEUTRAL, 0, 100))
    components = {name: computed.get(name, NEUTRAL) for name in COMPONENTS}
    return Scorecard(run.run_id, score, tier_of(score), low, high, components, reasons, p50, samples or 0)


def _passed_first(executed: float, passed: float) -> int:
    return math.floor((200 * passed + executed) / (2 * executed))


def _latency(wall: float, p50: float, rules: ScorecardRules) -> int:
    if p50 == 0:
        return 100 if wall == 0 else 0
    return _half_up(min(max(100 * (rules.zero_at - wall / p50) / (rules.zero_at - rules.full_at), 0.0), 100.0))


def _resources(peak: float, limit: float, throttled: float, wall: float) -> int:
    memory, cpu = (min(max(100 - 100 * used / most, 0.0), 100.0) for used, most in ((peak, limit), (throttled, wall)))
    return _half_up(MEMORY_SHARE * memory + CPU_SHARE * cpu)


def _half_up(value: float) -> int:
    return math.floor(round(float(value), DECIMALS) + 0.5)


def _readable(fields: Mapping[str, Any], *, strict: bool) -> tuple[Run, dict[str, str]]:
    """The run with the fields that can be read, and what is wrong with the others."""
    fields = {str(name): value for name, value in fields.items()}
    try:
        return Run.model_validate(fields), {}
    except ValidationError as error:
        problems = {str(each["loc"][0]): str(each["msg"]) for each in error.errors(include_url=False)}
    if strict:
        field, message = next(iter(problems.items()))
        raise InputError(f"run, {field}", message)
    ids = dict.fromkeys(("run_id", "agent_id", "workspace_id"), UNIDENTIFIED)
    return Run.model_validate(ids | {name: value for name, value in fields.items() if name not in problems}), problems


def _more_exact(reasons: Mapping[str, str], unreadable: Mapping[str, str], failure: str) -> dict[str, str]:
    """The reasons, with what is known of fields that could not be read and of a baseline that could not be had."""
    better = dict(reasons)
    for name in better:
        fields = ("stages",) if name == "error_rate" else FIELDS[name]
        if known := [field for field in fields if field in unreadable]:
            better[name] = f"{known[0]}: {unreadable[known[0]]}"
    if failure and "latency" in better:
        better["latency"] = failure
    return better


# How often each of several alternatives would win, were each tried once more on the same tasks.


#: With fewer repeats the best of a task's runs is luck that nothing can be said about.
FEWEST_REPEATS = 5


def win_probability(
    scores: ArrayLike,
    alternatives: ArrayLike,
    tasks: ArrayLike,
    *,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> dict[str, Estimate]:
    r"""Probability that one more run of an alternative scores highest, ties shared, averaged over tasks.

    On a task, with one run drawn from each alternative's own runs of it,
    :math:`p_a = \sum_x P(x_a = x) \sum_t P(t \text{ others tie at } x, \text{ none is above}) / (1 + t)`; all draws are
    enumerated, so there is no Monte Carlo error. The interval resamples whole tasks (delete-one jackknife-t on the
    logit) and so covers other tasks as well as other runs; on fewer than 10 tasks there is none.

    Parameters
    ----------
    scores : array of float, shape (n_runs,)
        Higher is better; NaN where a run has no score, and it then does not count.
    alternatives, tasks : arrays of labels, shape (n_runs,)

    Returns
    -------
    dict of alternative to Estimate
        In order of name. Where an alternative has fewer than 5 runs on a task, that task does not count; where no task
        is left, or there is one alternative, all estimates are NaN with the reason.

    Examples
    --------
    >>> win_probability([9, 9, 9, 1, 1, 5, 5, 5, 5, 5], ["a"] * 5 + ["b"] * 5, ["task"] * 10)["a"].estimate
    0.6
    """
    value = np.asarray(scores, dtype=np.float64)
    names = np.asarray(alternatives)
    one_each("alternatives", names, value.size, of="scores")
    groups = cluster_codes(tasks, value.size)
    known = np.unique(names)
    kept = ~np.isnan(value)
    shares, used = [], 0
    for task in np.unique(groups):
        runs = [value[kept & (groups == task) & (names == name)] for name in known]
        if min(len(own) for own in runs) >= FEWEST_REPEATS:
            shares.append(_wins(runs))
            used += sum(len(own) for own in runs)
    reason = _refusal(len(known), len(shares), cluster_unit)
    table = np.array(shares).reshape(len(shares), len(known))
    return {
        str(name): _estimate(table[:, index], used, value.size - used, reason, cluster_unit, ci_level)
        for index, name in enumerate(known)
    }


def _refusal(n_alternatives: int, n_tasks: int, unit: str) -> str:
    if n_alternatives < 2:
        return "one alternative has nobody to win against"
    if n_tasks == 0:
        return f"no {unit} has {FEWEST_REPEATS} or more scored runs of each alternative: the best of so few may be luck"
    return ""


def _wins(runs: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The share of each alternative in the wins of one task."""
    levels = np.unique(np.concatenate(runs))
    at = np.array([[(own == level).mean() for level in levels] for own in runs])
    below = np.cumsum(at, axis=1) - at
    shares = []
    for index in range(len(runs)):
        ties = np.ones((1, len(levels)))  # ties[t]: chance that t of the others tie at a level and the rest lie below
        for other in range(len(runs)):
            if other != index:
                none = np.zeros((1, len(levels)))
                ties = np.vstack([ties * below[other], none]) + np.vstack([none, ties * at[other]])
        split = 1 / (1 + np.arange(len(ties)))
        shares.append(float((at[index] * (split @ ties)).sum()))
    return np.array(shares)


def _estimate(
    shares: NDArray[np.float64], n_runs: int, n_missing: int, reason: str, unit: str, ci_level: float
) -> Estimate:
    estimate, low, high, n = math.nan, math.nan, math.nan, len(shares)
    if not reason:
        estimate = float(shares.mean())
        if n < FEWEST_CLUSTERS:
            reason = f"{many(n, unit)}; an interval needs at least {FEWEST_CLUSTERS}"
        else:
            left_out = (n * estimate - shares) / (n - 1)
            low, high = jackknife_interval(estimate, left_out, scale="logit", ci_level=ci_level)
            if math.isnan(low):
                reason = without_interval("it wins always or never, with or without any one of them").reason
    return Estimate(
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        ci_level=ci_level,
        n_items=n_runs,
        n_missing=n_missing,
        n_clusters=n,
        cluster_unit=unit,
        method="" if reason else f"jackknife-t over {plural(unit)} on the logit",
        reason=reason,
    )
