"""What each interaction takes from its dimension, signal by signal: the way from a score back to what made it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from axisjudge.results import Result
from axisjudge.scores.axis.dimensions import Dimension, Signal, severity, speed
from axisjudge.scores.axis.judged.signals import scope
from axisjudge.scores.axis.result import GOAL, AxisResult
from axisjudge.scores.axis.transcript.categories import Category
from axisjudge.scores.axis.transcript.interactions import KNOWN_WAITS


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
