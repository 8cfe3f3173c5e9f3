"""Simulated studies of growing size: what each size gives, and the size at which a target is met."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from axisjudge.stats.estimate import Estimate

Rng = np.random.Generator

#: Share of studies of the needed size that meet a wanted half width: with its mean, every other study would miss it.
ASSURANCE = 0.8


@dataclass(frozen=True)
class Planned:
    """What studies of one size give.

    `half_width` is the half width that `ASSURANCE` of the simulated studies keep, of those that have an interval,
    `spread` its standard deviation between studies, `refused` the share of studies without an interval. For a
    test, `power` is the share of studies that reach the claim; `error` is the Monte Carlo standard error of the figure
    that is planned for.
    """

    n: int
    half_width: float
    spread: float
    refused: float
    power: float
    error: float


@dataclass(frozen=True)
class StudyCurve:
    """Studies of growing size, and the size at which the target is met (None where it is not, up to the largest).

    `what` names the statistic, `unit` what is counted (task, label, item), `target` the wanted half width or power,
    `assumed` what was put in.
    """

    what: str
    unit: str
    target: float
    points: tuple[Planned, ...]
    needed: int | None
    assumed: dict[str, float | int | str]

    @property
    def of_power(self) -> bool:
        """Whether the target is a power instead of a half width."""
        return not math.isnan(self.points[-1].power)


@dataclass(frozen=True)
class StudyQuestion:
    """What is planned: the statistic, what is counted, the target and what is assumed."""

    what: str
    unit: str
    target: float
    assumed: dict[str, float | int | str]

    def curve(self, points: list[Planned], needed: int | None) -> StudyCurve:
        """The answer."""
        return StudyCurve(self.what, self.unit, self.target, tuple(points), needed, self.assumed)


def _grow(
    sizes: Sequence[int],
    rng: Rng | int | None,
    planned: Callable[[int, Rng], Planned],
    enough: Callable[[list[Planned]], bool],
) -> list[Planned]:
    """Studies of growing size, until enough is seen."""
    source = np.random.default_rng(0 if rng is None else rng)
    points: list[Planned] = []
    for n in sorted(sizes):
        points.append(planned(n, source))
        if enough(points):
            break
    return points


def half_widths(
    asked: StudyQuestion,
    study: Callable[[int, Rng], Estimate],
    sizes: Sequence[int],
    replicates: int,
    rng: Rng | int | None,
) -> StudyCurve:
    """Grow the study until the half width that most keep is well below the target; the size lies between two sizes."""

    def planned(n: int, source: Rng) -> Planned:
        found = [study(n, source) for _ in range(replicates)]
        halves = np.array([(each.ci_high - each.ci_low) / 2 for each in found])
        given = halves[~np.isnan(halves)]
        kept, spread = (np.quantile(given, ASSURANCE), given.std()) if given.size else (math.nan, math.nan)
        error = 1.43 * spread / math.sqrt(given.size) if given.size else math.nan  # of a normal's 80% quantile
        return Planned(n, float(kept), float(spread), 1 - given.size / replicates, math.nan, float(error))

    def enough(points: list[Planned]) -> bool:
        return points[-1].half_width <= 0.8 * asked.target and points[-1].refused < 0.05

    points = _grow(sizes, rng, planned, enough)
    usable = [point for point in points if not math.isnan(point.half_width) and point.refused < 0.05]
    needed = crossing([point.n for point in usable], [point.half_width for point in usable], asked.target)
    return asked.curve(points, needed)


def powers(
    asked: StudyQuestion,
    study: Callable[[int, Rng], bool],
    sizes: Sequence[int],
    replicates: int,
    rng: Rng | int | None,
) -> StudyCurve:
    """Grow the study until its power is well above the target, or lost again: a claim can become harder with size."""

    def planned(n: int, source: Rng) -> Planned:
        power = float(np.mean([study(n, source) for _ in range(replicates)]))
        error = math.sqrt(max(power * (1 - power), 0.25 / replicates) / replicates)
        return Planned(n, math.nan, math.nan, 0.0, power, error)

    def enough(points: list[Planned]) -> bool:
        power = points[-1].power
        return power >= (1 + asked.target) / 2 or power < 0.05 < max(point.power for point in points)

    points = _grow(sizes, rng, planned, enough)
    needed = crossing([point.n for point in points], [-point.power for point in points], -asked.target)
    return asked.curve(points, needed)


def crossing(sizes: list[int], values: list[float], target: float) -> int | None:
    """The first size at which values reach down to the target, read off straight between two sizes on a log scale.

    Widths are read on a log scale too; powers come in negative and are read as they are.
    """
    first = next((at for at, value in enumerate(values) if value <= target), None)
    if not first:
        return None if first is None else sizes[0]
    (n_0, n_1), (v_0, v_1) = sizes[first - 1 : first + 1], values[first - 1 : first + 1]
    if v_1 > 0:
        v_0, v_1, target = math.log(v_0), math.log(v_1), math.log(target)
    way = (v_0 - target) / (v_0 - v_1)
    return math.ceil(float(n_0 * (n_1 / n_0) ** way))
