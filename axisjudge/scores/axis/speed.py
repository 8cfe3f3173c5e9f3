"""The speed signal: how long an interaction took, against what its category may take."""

from __future__ import annotations

from collections.abc import Sequence

from axisjudge.scores.axis.transcript.categories import Categories

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
