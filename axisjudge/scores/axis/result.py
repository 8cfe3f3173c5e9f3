"""Marks of an AXIS Result: what a reader must know before the numbers are used or compared."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, cast

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.scores.axis.dimensions import Dimension, Signal, failed_dimension, score_dimension, severity, speed
from axisjudge.scores.axis.judged.signals import SIGNALS, Grade, Signals, goal_bounds, goal_score, scope
from axisjudge.scores.axis.rule_sets import INSIGHT_BELOW, RuleSet
from axisjudge.scores.axis.transcript.categories import CATEGORIES, Category
from axisjudge.scores.axis.transcript.interactions import (
    ACTING,
    KNOWN_WAITS,
    OF_RUN,
    AxisRun,
    Interaction,
    TranscriptCounts,
)
from axisjudge.scores.axis.transcript.javascript import half_up, is_number
from axisjudge.scores.curves.curve import AXIS_CURVE, LogNormalCurve
from axisjudge.stats.estimate import many

NOT_COMPARABLE = "no time stamps: speed counts as perfect, so scores are not comparable with those of timed runs"

NOT_TIMED = "every call lasts 0 ms by its source: it does not time calls, so scores are not comparable with timed runs"


def marks_of(
    goal: Dimension, process: Sequence[Dimension], interactions: Sequence[Interaction], *, failed: bool
) -> tuple[str, ...]:
    """Marks in the order of their weight: goal, time stamps, missing signals, dimensions without data."""
    if failed:
        return ("the run failed: every score is 0 by rule",)
    marks = []
    if goal.score is None:
        lacking = "no goal checks" if not goal.n_interactions else "goal checks without a grade"
        marks.append(
            f"{lacking}: the result is an interval, with goal achievement at {goal.low:g} and at {goal.high:g}"
        )
    marks += _time_marks(interactions)
    for each in process:
        missing: dict[str, list[str]] = {}
        for signal in each.signals:
            if signal.n_missing and signal.weight and signal.name != "speed":
                those = many(signal.n_missing, "interaction") if signal.n else "all interactions"
                if signal.name == "necessity" and each.necessity.unnecessary:
                    those += f" but {', '.join(f'#{id}' for id in each.necessity.unnecessary)}"
                missing.setdefault(those, []).append(signal.name)
        if missing:
            of = ", ".join(f"{' and '.join(names)} of {those}" for those, names in missing.items())
            marks.append(f"{each.name} scores between {each.low:g} and {each.high:g}; not judged: {of}")
        if each.no_data:
            marks.append(f"{each.name} has no interactions, so the program sets {each.score:g}, which measures nothing")
    return tuple(marks)


def _time_marks(interactions: Sequence[Interaction]) -> list[str]:
    acting = [each for each in interactions if each.type in ACTING]
    if not acting:
        return []
    unknown = sum(each.duration_ms is None for each in acting)
    if unknown == len(acting) and all(each.start_ms is None for each in interactions):
        return [NOT_COMPARABLE]
    measured = [each for each in acting if each.measured]
    is_timed = any(each.duration_ms or each.duration_source == "stated" for each in measured)
    marks = [NOT_TIMED] if measured and not is_timed else []
    last_is_thinking = interactions[-1].type == "assistant" and interactions[-1].duration_ms is None
    if unknown > last_is_thinking:
        marks.append(f"durations unknown: {unknown} of {len(acting)}; they count as fast, the bounds have them slow")
    waits = [each.duration_ms for each in acting if each.wait in KNOWN_WAITS and each.duration_ms]
    if waits:
        marks.append(
            f"waiting for a person is left out of speed: {len(waits)} of {len(acting)} durations, "
            f"{sum(waits) / 1000:,.0f} s in all, the longest {max(waits) / 1000:,.0f} s"
        )
    if doubtful := [each for each in acting if each.wait == "permission"]:
        ids = ", ".join(f"#{each.id}" for each in doubtful)
        longest = max(each.duration_ms or 0 for each in doubtful) / 1000
        marks.append(
            f"too long for a file, so perhaps a permission was waited for: {ids}, up to {longest:,.0f} s; they count "
            "as fast, the bounds have them slow"
        )
    return marks


# The AXIS Result: four dimensions and their weighted mean, with what is known of each and what is not.


GOAL = "goal_achievement"
#: The four dimensions in the order in which they are added up.
DIMENSIONS = (GOAL, *CATEGORIES)
#: The program's weights of the dimensions.
DEFAULT_WEIGHTS: dict[str, float] = {GOAL: 0.4, "environment": 0.2, "service": 0.2, "agent": 0.2}
_SUM_WITHIN = 0.01
_SHORT = {"environment": "Env", "service": "Svc", "agent": "Agent"}


class Insight(NamedTuple):
    """The weakest signal of a dimension whose score lies below 75."""

    dimension: str
    signal: str
    shown: int

    def __str__(self) -> str:
        return f"{_SHORT[self.dimension]}: {self.signal} {self.shown}"


class Slowest(NamedTuple):
    """The tool call that took longest."""

    id: int
    tool_name: str | None
    duration_ms: int
    speed: float


@dataclass(frozen=True, kw_only=True)
class AxisResult(Result):
    """One run's AXIS Result.

    Parameters
    ----------
    composite : float or None
        The weighted mean of the four scores, rounded half up; None without a goal score.
    interval : (float, float)
        The composite with the goal at 0 and at 100 where it is unknown; else twice the composite itself.
    bounds : (float, float)
        The interval widened by missing signals and unknown durations at their ends.
    dimensions : tuple of Dimension
        Goal achievement, environment, service, agent.
    marks : tuple of str
        What a reader must know before using the numbers.
    """

    _also: ClassVar = {
        "band": "band",
        "insight": "insight",
        "signals": "signal_rows",
        "grades": "_grades",
        "dimensions": "_bands",
    }

    trajectory_id: str
    agent: str | None
    agent_family: str | None
    task_id: str | None
    cluster_id: str
    source: str
    rules: RuleSet
    weights: Mapping[str, float]
    failed: bool
    composite: float | None
    interval: tuple[float, float]
    bounds: tuple[float, float]
    dimensions: tuple[Dimension, ...]
    grades: tuple[Grade, ...]
    interactions: tuple[Interaction, ...]
    counts: TranscriptCounts
    insights: tuple[Insight, ...]
    slowest: Slowest | None
    judged_by: str
    marks: tuple[str, ...]

    def dimension(self, name: str) -> Dimension:
        """One of the four dimensions by name."""
        return next(dimension for dimension in self.dimensions if dimension.name == name)

    def in_short(self) -> AxisResult:
        """The scores, and what they are counted by: without interactions, audits, signals and grades."""
        dimensions = tuple(replace(each, audits=(), signals=()) for each in self.dimensions)
        return replace(self, interactions=(), grades=(), dimensions=dimensions)

    @property
    def band(self) -> str | None:
        """The word for the composite, where both ends of its bounds share it."""
        low, high = (self.rules.band(end) if end == end else None for end in self.bounds)
        return low if low == high else None

    @property
    def insight(self) -> str | None:
        """The insights in one line, None where no score lies below 75."""
        return "  |  ".join(map(str, self.insights)) or None

    def __repr__(self) -> str:
        parts = [f"{each.name} {'-' if each.score is None else each.score}" for each in self.dimensions]
        return f"AxisResult({self.shown}: {', '.join(parts)}; {self.rules.name})"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"

    @property
    def shown(self) -> str:
        """The composite as people read it: a number, or the ends between which it lies by all that is known."""
        return f"{self.bounds[0]}-{self.bounds[1]}" if self.composite is None else f"{self.composite}"

    @property
    def signal_rows(self) -> list[dict[str, Any]]:
        """One row for each interaction and dimension: what it was, how long it took, and its signals with reasons."""
        by_id = {each.id: each for each in self.interactions}
        return [
            {
                "dimension": dimension.name,
                "id": audit.id,
                "what": by_id[audit.id].tool_name or by_id[audit.id].type,
                "duration_ms": by_id[audit.id].duration_ms,
                "duration_source": by_id[audit.id].duration_source,
                "error": by_id[audit.id].has_error,
                "context_bytes": by_id[audit.id].context_bytes,
                "success": audit.success,
                "speed": None if by_id[audit.id].wait else _speed_of(by_id[audit.id]),
                "wait": by_id[audit.id].wait,
                "weight": audit.weight,
                "relevance": audit.relevance,
                "reason": audit.rationale,
            }
            for dimension in self.dimensions
            for audit in dimension.audits
        ]

    @property
    def dimension_rows(self) -> list[dict[str, Any]]:
        """One row for each dimension, for a table."""
        return [
            {
                "dimension": each.name,
                "share": self.weights[each.name],
                "score": each.score,
                "low": each.low,
                "high": each.high,
                "raw": each.raw,
                "band": self._band(each),
                **dict.fromkeys(SIGNALS),
                **{signal.name: signal.value for signal in each.signals},
            }
            for each in self.dimensions
        ]

    def _band(self, dimension: Dimension) -> str | None:
        """The word for a dimension, where both ends of its bounds share it."""
        if dimension.score is None or dimension.score != dimension.score:
            return None
        low, high = self.rules.band(dimension.low), self.rules.band(dimension.high)
        return low if low == high else None

    @property
    def _bands(self) -> list[dict[str, Any]]:
        return [{**each.to_dict(), "band": self._band(each)} for each in self.dimensions]

    @property
    def _grades(self) -> list[dict[str, Any]]:
        return [{**each._asdict(), **each.check._asdict()} for each in self.grades]


def score_run(
    run: AxisRun,
    signals: Signals,
    *,
    grades: Sequence[Grade] | None = None,
    weights: Mapping[str, float] | None = None,
    curves: Mapping[str, LogNormalCurve] | None = None,
    judged_by: str = "",
) -> AxisResult:
    """The AXIS Result of a run from its judged signals and graded checks.

    Parameters
    ----------
    run : AxisRun
    signals : mapping of category to CategorySignals
        Categories that nobody judged are absent.
    grades : sequence of Grade, optional
        The goal's checks with their grades. Without it there is no goal score; an empty list of checks scores 0.
    weights : mapping of dimension to float, optional
        Weights of the four dimensions, adding up to 1 within .01.
    curves : mapping of category to LogNormalCurve, optional
        The curve of each process dimension; by default the program's, median .5 and sigma .4, fitted to no data.
    judged_by : str
        Who judged the signals, for the record.

    Raises
    ------
    InputError
        When the weights break a rule.
    """
    weights = checked_weights(DEFAULT_WEIGHTS if weights is None else weights, "weights")
    curves = curves or {}
    if run.outcome.failed:
        grades = [grade._replace(score=0, rationale=run.outcome.reason) for grade in grades or ()]
        process = tuple(failed_dimension(category) for category in CATEGORIES)
        goal = Dimension(name=GOAL, score=0, low=0, high=0, n_interactions=len(grades))
    else:
        process = tuple(
            score_dimension(name, run.interactions, signals.get(name), run.rules, curves.get(name, AXIS_CURVE))
            for name in CATEGORIES
        )
        goal = _goal(grades)
    composite = _composite((goal.score, *(each.score for each in process)), weights)
    return AxisResult(
        trajectory_id=run.id,
        **{name: getattr(run, name) for name in OF_RUN},
        rules=run.rules,
        weights=weights,
        failed=run.outcome.failed,
        composite=composite,
        interval=(
            _composite((goal.low, *(each.score for each in process)), weights),
            _composite((goal.high, *(each.score for each in process)), weights),
        ),
        bounds=(
            _composite([each.low for each in (goal, *process)], weights),
            _composite([each.high for each in (goal, *process)], weights),
        ),
        dimensions=(goal, *process),
        grades=tuple(grades or ()),
        interactions=tuple(run.interactions),
        counts=run.counts,
        insights=_insights(process),
        slowest=_slowest(run.interactions),
        judged_by=judged_by,
        marks=(*run.marks, *marks_of(goal, process, run.interactions, failed=run.outcome.failed)),
    )


def checked_weights(weights: Mapping[str, float], where: str) -> dict[str, float]:
    """Weights of the four dimensions, if they may be used: none below 0, not all 0, adding up to 1 within .01.

    Raises
    ------
    InputError
    """
    if unknown := sorted(set(weights) - set(DIMENSIONS)):
        raise InputError(where, f"dimensions are {', '.join(DIMENSIONS)}", unknown[0])
    if missing := [name for name in DIMENSIONS if name not in weights]:
        raise InputError(where, "must name all four dimensions", sorted(weights), f"add {', '.join(missing)}")
    for name, weight in weights.items():
        if not is_number(weight) or not math.isfinite(weight) or weight < 0:
            raise InputError(f"{where}, {name}", "must be a number, 0 or greater", weight)
    total = sum(weights[name] for name in DIMENSIONS)
    if total == 0:
        raise InputError(where, "must not all be 0", cure="give each dimension that counts its share of 1")
    if abs(total - 1) > _SUM_WITHIN:
        cure = f"divide each by {total:g}"
        raise InputError(where, f"must add up to 1 (within {_SUM_WITHIN})", round(total, 6), cure)
    return {name: weights[name] for name in DIMENSIONS}


def mean_result(results: Sequence[AxisResult]) -> float | None:
    """The rounded mean of the composites of runs that did not fail, 0 if all did; None where one has no composite."""
    kept = [each.composite for each in results if not each.failed]
    if any(value is None for value in kept):
        return None
    return half_up(math.fsum(value for value in kept if value is not None) / len(kept)) if kept else 0


def _goal(grades: Sequence[Grade] | None) -> Dimension:
    if grades is None:
        return Dimension(name=GOAL, score=None, low=0, high=100)
    score = goal_score(grades)
    low, high = goal_bounds(grades) if score is None else (score, score)
    n = sum(grade.score is not None for grade in grades)
    return Dimension(name=GOAL, score=score, low=low, high=high, n_interactions=len(grades), n_audited=n)


def _composite(scores: Sequence[float | None], weights: Mapping[str, float]) -> Any:
    """The weighted sum of the rounded scores, rounded; None where one is missing that has weight."""
    total = 0.0
    for score, name in zip(scores, DIMENSIONS, strict=True):
        if score is not None:
            total += score * weights[name]
        elif weights[name]:
            return None
    return half_up(total)


def _insights(process: Sequence[Dimension]) -> tuple[Insight, ...]:
    weakest: list[tuple[Dimension, Signal | None]] = [
        (each, each.weakest()) for each in process if each.score is not None and each.score < INSIGHT_BELOW
    ]
    return tuple(Insight(each.name, weak.name, weak.shown or 0) for each, weak in weakest if weak)


def _slowest(interactions: Sequence[Interaction]) -> Slowest | None:
    timed = [each for each in interactions if each.is_call and each.duration_ms and each.wait not in KNOWN_WAITS]
    if not timed:
        return None
    longest = max(timed, key=lambda each: each.duration_ms or 0)
    return Slowest(longest.id, longest.tool_name, longest.duration_ms or 0, _speed_of(longest))


def _speed_of(interaction: Interaction) -> float:
    return speed(interaction.categories, interaction.duration_ms)


# What each interaction takes from its dimension, signal by signal: the way from a score back to what made it.


@dataclass(frozen=True)
class Deduction(Result):
    """What one signal of one interaction takes from the raw value of its dimension, in points of 100.

    `interaction` is None where the signal was judged for the dimension as a whole; `value` is the signal in [0, 1].
    """

    dimension: str
    signal: str
    interaction: int | None
    value: float
    points: float
    reason: str


def deductions(result: AxisResult) -> tuple[Deduction, ...]:
    r"""All deductions of a run, the largest first.

    Of a signal with weight :math:`W` among the weights :math:`\sum W` of those that have a value, interaction i takes
    :math:`100 \frac{W}{\sum W} \frac{w_i (1 - v_i)}{\sum_j w_j}`, with w its context bytes, or for speed
    :math:`(1 - v)^2 + 1`. So the deductions of a dimension add up to 100 less its raw value, before the curve. A failed
    run has none: its scores are 0 by rule.
    """
    if result.failed:
        return ()
    taken = [each for dimension in result.dimensions if dimension.name != GOAL for each in _of(dimension, result)]
    return tuple(sorted(taken, key=lambda each: (-each.points, each.dimension, each.signal, each.interaction or 0)))


def _of(dimension: Dimension, result: AxisResult) -> Iterator[Deduction]:
    known = [signal for signal in dimension.signals if signal.value is not None and signal.weight]
    total = sum(signal.weight for signal in known)
    for signal in known:
        share = 100 * signal.weight / total
        if signal.name == "necessity":
            if signal.value is not None and signal.value < 1:
                points = share * (1 - signal.value)
                needless = ", ".join(f"#{id}" for id in dimension.necessity.unnecessary)
                reason = "; ".join(
                    filter(None, (needless and f"unnecessary: {needless}", dimension.necessity.rationale))
                )
                yield Deduction(dimension.name, signal.name, None, signal.value, points, reason)
            continue
        parts = _timed(dimension, result) if signal.name == "speed" else _audited(dimension, signal, result)
        whole = sum(weight for _, _, weight, _ in parts)
        for id, value, weight, reason in parts:
            if value < 1:
                points = share * weight * (1 - value) / whole
                yield Deduction(dimension.name, signal.name, id, value, points, reason)


def _audited(dimension: Dimension, signal: Signal, result: AxisResult) -> list[tuple[int, float, float, str]]:
    """Interactions with their value, weight and reason; those that nobody judged do not count."""
    sizes = {each.id: max(1, each.context_bytes) for each in result.interactions}
    values = [(audit.id, getattr(audit, signal.name), audit.rationale) for audit in dimension.audits]
    return [(id, value, float(sizes[id]), reason) for id, value, reason in values if value is not None]


def _timed(dimension: Dimension, result: AxisResult) -> list[tuple[int, float, float, str]]:
    by_id = {each.id: each for each in result.interactions}
    by_defaults = result.rules.missing == "defaults"
    asked = [by_id[audit.id] for audit in dimension.audits]
    own = asked if by_defaults else scope(list(result.interactions), cast(Category, dimension.name))
    timed = [each for each in own if each.wait not in KNOWN_WAITS]
    speeds = [1.0 if each.wait else speed(each.categories, each.duration_ms) for each in timed]
    return [
        (each.id, value, severity(value), f"took {(each.duration_ms or 0) / 1000:,.1f} s")
        for each, value in zip(timed, speeds, strict=True)
    ]
