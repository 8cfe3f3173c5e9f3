"""The three process dimensions: signals of a category's interactions, weighed, added up, and put on the curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from axisjudge.results import Result, columns
from axisjudge.scores.axis.judged.signals import (
    DEFAULT,
    DEFAULT_NECESSITY,
    SIGNAL_WEIGHTS,
    SIGNALS,
    UNJUDGED,
    Audit,
    CategorySignals,
    Necessity,
    scope,
    with_defaults,
)
from axisjudge.scores.axis.rule_sets import RuleSet
from axisjudge.scores.axis.transcript.categories import Categories, Category
from axisjudge.scores.axis.transcript.interactions import ACTING, KNOWN_WAITS, Interaction
from axisjudge.scores.axis.transcript.javascript import half_up
from axisjudge.scores.curves.curve import LogNormalCurve, axis_score

#: Speed of an interaction within each bound, and beyond the last one.
SPEEDS = (1.0, 0.9, 0.8, 0.6, 0.4)
SLOWEST = SPEEDS[-1]
#: Upper bounds in milliseconds, inclusive: excellent, good, fair, slow.
BOUNDS_MS = {
    "service": (2_000, 5_000, 10_000, 25_000),
    "environment": (500, 2_000, 5_000, 10_000),
    "agent": (2_000, 5_000, 15_000, 30_000),
}


def speed(categories: Categories, duration_ms: float | None) -> float:
    """Speed of one interaction; 1 where the duration is unknown. A call of two categories is held to service's bounds.

    Examples
    --------
    >>> speed(("environment",), 501), speed(("environment", "service"), 501), speed(("agent",), None)
    (0.9, 1.0, 1.0)
    """
    if duration_ms is None or duration_ms <= 0:
        return 1.0
    for category in ("service", "environment", "agent"):
        if category in categories:
            break
    for bound, value in zip(BOUNDS_MS[category], SPEEDS, strict=False):
        if duration_ms <= bound:
            return value
    return SLOWEST


def severity(value: float) -> float:
    """The weight of a speed: 1 for a quick interaction, 2 for one of speed 0."""
    return (1 - value) ** 2 + 1


def severity_weighted(speeds: Sequence[float]) -> float:
    """Mean of speeds with weights (1 - v)^2 + 1, so that slow ones count up to twice; 1 where there is none."""
    weighted = total = 0.0
    for value in speeds:
        weighted += value * severity(value)
        total += severity(value)
    return weighted / total if total else 1.0


class Signal(NamedTuple):
    """One signal of a dimension.

    `value` is None where nobody judged it. `low` and `high` take what is missing as 0 and as 1, and for speed what is
    unknown as the slowest and as the fastest. `n` interactions enter, `n_missing` more would.
    """

    name: str
    weight: float
    value: float | None
    low: float
    high: float
    n: int
    n_missing: int

    @property
    def shown(self) -> int | None:
        """The value in percent, rounded half up."""
        return None if self.value is None else int(half_up(100 * self.value))


@dataclass(frozen=True, kw_only=True)
class Dimension(Result):
    """A dimension's score from 0 to 100 with its bounds, and what it was made from.

    `score` is None where nothing was judged; `low` and `high` are the scores at the bounds of the signals. `raw` is
    the weighted sum of the signals before the curve. `n_interactions` counts what it is about and `n_audited` those
    that somebody judged; `no_data` says that the score is the program's value for a run without such interactions.
    `curve` is the one that took raw to the score.
    """

    _keys = columns("name score low high raw n_interactions n_audited necessity signals=_signals no_data curve")

    name: str
    score: float | None
    low: float
    high: float
    raw: float | None = None
    signals: tuple[Signal, ...] = ()
    n_interactions: int = 0
    n_audited: int = 0
    audits: tuple[Audit, ...] = ()
    necessity: Necessity = UNJUDGED
    no_data: bool = False
    curve: LogNormalCurve | None = None

    @property
    def _signals(self) -> list[dict[str, Any]]:
        return [{**each._asdict(), "shown": each.shown} for each in self.signals]

    def signal(self, name: str) -> Signal:
        """One of its signals by name."""
        return next(signal for signal in self.signals if signal.name == name)

    def weakest(self) -> Signal | None:
        """The signal with the lowest shown value, the first of equals; None where none has a value."""
        return min(
            (each for each in self.signals if each.shown is not None), key=lambda each: each.shown or 0, default=None
        )


def failed_dimension(category: Category) -> Dimension:
    """The dimension of a failed run: 0 throughout."""
    signals = tuple(
        Signal(name, weight, 0.0, 0.0, 0.0, 0, 0)
        for name, weight in zip(SIGNALS, SIGNAL_WEIGHTS[category], strict=True)
    )
    necessity = Necessity(0.0, (), "Run failed before any interactions occurred")
    return Dimension(name=category, score=0, low=0, high=0, signals=signals, necessity=necessity)


def score_dimension(
    category: Category,
    interactions: list[Interaction],
    given: CategorySignals | None,
    rules: RuleSet,
    curve: LogNormalCurve,
) -> Dimension:
    """One category's dimension from its interactions and their judged signals (None: nobody was asked)."""
    in_scope = scope(interactions, category)
    defaults = rules.missing == "defaults"
    signals_given = with_defaults(given, interactions, category) if defaults else (given or CategorySignals())
    by_id = {each.id: each for each in interactions}
    timed = [by_id[audit.id] for audit in signals_given.audits] if defaults else in_scope
    if not in_scope and not defaults:
        signals_given = CategorySignals(necessity=Necessity(DEFAULT_NECESSITY))
    weights = SIGNAL_WEIGHTS[category]
    known = {audit.id: audit for audit in signals_given.audits}
    absent = [] if defaults else [each.id for each in in_scope if each.id not in known]
    audits = [*signals_given.audits, *map(Audit, absent)]
    sizes = [max(1, by_id[audit.id].context_bytes) for audit in audits]
    signals: tuple[Signal, ...] = (
        _weighted("success", weights[0], [audit.success for audit in audits], sizes),
        _speed_signal(weights[1], timed),
        _weighted("weight", weights[2], [audit.weight for audit in audits], sizes),
        _weighted("relevance", weights[3], [audit.relevance for audit in audits], sizes),
        _necessity_signal(weights[4], signals_given.necessity, in_scope),
    )
    if not rules.weightless_insights:
        signals = tuple(signal for signal in signals if signal.weight)
    raw = _raw(signals)
    low = axis_score(sum(signal.low * signal.weight for signal in signals), curve)
    high = axis_score(sum(signal.high * signal.weight for signal in signals), curve)
    score = None if raw is None else axis_score(raw, curve)
    if score is not None and not defaults:  # a signal without a value may be known not to be perfect
        score = min(score, high)
    return Dimension(
        name=category,
        score=score,
        low=low,
        high=high,
        raw=raw,
        signals=signals,
        n_interactions=len(in_scope),
        n_audited=sum(audit.rationale != DEFAULT and audit.judged for audit in signals_given.audits),
        audits=signals_given.audits,
        necessity=signals_given.necessity,
        no_data=not in_scope,
        curve=curve,
    )


def _raw(signals: Sequence[Signal]) -> float | None:
    """The weighted sum of the signals that have a value, over the sum of their weights, in the signals' order."""
    total, weights = 0.0, 0.0
    for signal in signals:
        if signal.value is not None:
            total += signal.value * signal.weight
            weights += signal.weight
    return total / weights if weights else None


def _weighted(name: str, weight: float, values: list[float | None], sizes: list[int]) -> Signal:
    """Mean by context size; of no interactions at all 1."""
    known = present = 0.0
    for value, size in zip(values, sizes, strict=True):
        if value is not None:
            known += value * size
            present += size
    everything = float(sum(sizes))
    if not everything:
        return Signal(name, weight, 1.0, 1.0, 1.0, 0, 0)
    n = sum(value is not None for value in values)
    low, high = known / everything, (known + everything - present) / everything
    return Signal(name, weight, known / present if present else None, low, high, n, len(values) - n)


def _speed_signal(weight: float, timed: Sequence[Interaction]) -> Signal:
    """Severity-weighted speed; calls and thinking without a duration are unknown, other lines take no time.

    What waited for a person stays out; what has perhaps waited for a permission is unknown.
    """
    timed = [each for each in timed if each.wait not in KNOWN_WAITS]
    unknown = [each.type in ACTING and (each.duration_ms is None or each.wait is not None) for each in timed]
    speeds = [1.0 if each.wait else speed(each.categories, each.duration_ms) for each in timed]
    slow = [SLOWEST if hidden else value for hidden, value in zip(unknown, speeds, strict=True)]
    value = severity_weighted(speeds)
    return Signal("speed", weight, value, severity_weighted(slow), value, len(timed) - sum(unknown), sum(unknown))


def _necessity_signal(weight: float, necessity: Necessity, in_scope: Sequence[Interaction]) -> Signal:
    """The judged number; where there is none, at most the share of interactions that are not known as needless."""
    if necessity.score is None:
        needless = len({each.id for each in in_scope}.intersection(necessity.unnecessary))
        most = 1 - needless / len(in_scope) if in_scope else 1.0
        return Signal("necessity", weight, None, 0.0, most, 0, 1)
    return Signal("necessity", weight, necessity.score, necessity.score, necessity.score, 1, 0)
