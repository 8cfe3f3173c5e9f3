"""The rules of the run scorecard and its formulas on whole columns: weights, latency, baseline, tiers, and why one
cannot be computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, overload

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.results import Result

#: Stored with every score; a changed formula has another version.
FORMULA_VERSION = "2"

#: The four components of a score, in the order of the text, with their default weights.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"completion": 0.4, "error_rate": 0.3, "latency": 0.2, "resource_efficiency": 0.1}
)
COMPONENTS = tuple(WEIGHTS)

#: Points of the completion component.
OUTCOMES: Mapping[str, int] = MappingProxyType({"COMPLETED": 100, "BLOCKED": 30, "FAILED": 0})

#: What a component is worth that cannot be computed.
NEUTRAL = 50

#: Lowest score of each tier.
TIERS: Mapping[str, int] = MappingProxyType({"Bronze": 0, "Silver": 40, "Gold": 70, "Elite": 90})
#: A run that was kept and not scored.
UNRANKED = "Unranked"

#: Runs of equal score are put in order by these, first to last.
TIE_BREAKS = (
    "higher completion",
    "higher error_rate",
    "shorter wall time (unknown last)",
    "earlier end (unknown last)",
    "run_id",
)

#: Shares of memory and CPU in resource efficiency.
MEMORY_SHARE, CPU_SHARE = 0.7, 0.3

#: Weights are taken to this many decimals, so that weighted sums are exact and a half is a half.
DECIMALS = 9
_SUM_TOLERANCE = 1e-4


@dataclass(frozen=True)
class ScorecardRules(Result):
    """What may be configured of the formula; as plain values, what is kept beside a score.

    Parameters
    ----------
    weights : mapping of component to float
        All greater than 0, their sum 1 within 1e-4.
    full_at, zero_at : float
        Latency is 100 up to `full_at` times the baseline, 0 from `zero_at` times it on, linear between. A `full_at`
        of 1.0 gives the curve of the original program, where half the typical time is worth no more than the typical.
    window : int
        Completed runs that the rolling baseline is the median of.
    min_samples : int
        With fewer of them there is no baseline.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    full_at: float = 0.5
    zero_at: float = 3.0
    window: int = 20
    min_samples: int = 5

    def __post_init__(self) -> None:
        if sorted(self.weights) != sorted(COMPONENTS):
            raise InputError("weights", f"need one weight for each of {', '.join(COMPONENTS)}", list(self.weights))
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and weight > 0):
                raise InputError(f"weights.{name}", "must be greater than 0", weight)
        total = math.fsum(self.weights.values())
        if abs(total - 1) > _SUM_TOLERANCE + 1e-12:
            raise InputError("weights", "must sum to 1 (within 0.0001)", total, "divide each by their sum")
        if not 0 <= self.full_at < self.zero_at < math.inf:
            raise InputError("full_at, zero_at", "need 0 <= full_at < zero_at", (self.full_at, self.zero_at))
        if not 1 <= self.min_samples <= self.window:
            raise InputError("min_samples, window", "need 1 <= min_samples <= window", (self.min_samples, self.window))

    @cached_property
    def whole_weights(self) -> tuple[int, ...]:
        """The weights in units of 10^-9, in the order of the components."""
        return tuple(int(round(Decimal(str(self.weights[name])), DECIMALS).scaleb(DECIMALS)) for name in COMPONENTS)

    @cached_property
    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is kept beside a score: the weights, and the rest."""
        rest = self.to_dict()
        return rest.pop("weights"), rest


def tier_of(score: int | None) -> str:
    """The tier of a score; None is Unranked.

    Examples
    --------
    >>> [tier_of(score) for score in (None, 39, 40, 69, 70, 89, 90)]
    ['Unranked', 'Bronze', 'Silver', 'Silver', 'Gold', 'Gold', 'Elite']
    """
    if score is None:
        return UNRANKED
    if not 0 <= score <= 100:
        raise InputError("score", "must lie between 0 and 100", score)
    return [tier for tier, lowest in TIERS.items() if score >= lowest][-1]


# The formulas of the run scorecard, on whole columns: NaN stands for what cannot be computed.
# Every half rounds up. A value within 1e-9 of a half counts as that half, because binary fractions miss most halves by
# less than that.

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def round_half_up(values: ArrayLike) -> Floats:
    """The nearest whole numbers, halves upward.

    Examples
    --------
    >>> round_half_up([0.5, 1.5, 2.4, 100 * 0.285]).tolist()
    [1.0, 2.0, 2.0, 29.0]
    """
    return np.asarray(np.floor(np.round(np.asarray(values, dtype=np.float64), DECIMALS) + 0.5))


def completion(outcome: Sequence[str | None] | pl.Series) -> Floats:
    """COMPLETED 100, BLOCKED 30, FAILED 0, anything else NaN."""
    words = pl.Series(outcome, dtype=pl.String)
    points = words.replace_strict(dict(OUTCOMES), default=None, return_dtype=pl.Float64)
    return points.fill_null(np.nan).to_numpy()


def error_rate(passed_first: ArrayLike, executed: ArrayLike) -> Floats:
    """100 x stages passed on their first attempt / stages executed; NaN where no stage was executed.

    Examples
    --------
    >>> error_rate([17, 3, 0], [20, 3, 0]).tolist()
    [85.0, 100.0, nan]
    """
    passed, done = np.asarray(passed_first, dtype=np.float64), np.asarray(executed, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(done > 0, np.floor((200 * passed + done) / (2 * done)), np.nan)


def latency(wall: ArrayLike, p50: ArrayLike, *, full_at: float, zero_at: float) -> Floats:
    """100 up to `full_at` times the baseline `p50`, 0 from `zero_at` times it on, linear between.

    A baseline of 0 seconds gives 100 to a run of 0 seconds and 0 to any other. NaN where either is NaN.

    Examples
    --------
    >>> latency([30, 60, 120, 180], 60, full_at=0.5, zero_at=3.0).tolist()
    [100.0, 80.0, 40.0, 0.0]
    """
    seconds, typical = np.asarray(wall, dtype=np.float64), np.asarray(p50, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        points = 100 * (zero_at - seconds / typical) / (zero_at - full_at)
    points = np.where(typical == 0, np.where(seconds == 0, 100.0, 0.0), points)
    return np.where(np.isnan(seconds) | np.isnan(typical), np.nan, round_half_up(np.clip(points, 0, 100)))


def resource_efficiency(peak: ArrayLike, limit: ArrayLike, throttled: ArrayLike, wall: ArrayLike) -> Floats:
    """0.7 memory + 0.3 cpu, where each is 100 - 100 x used / available, held to 0..100.

    Parameters
    ----------
    peak, limit : array
        Memory at its peak and its limit, in one unit.
    throttled, wall : array
        Time throttled and time elapsed, in one unit.

    Returns
    -------
    array
        NaN where a value is NaN, or where limit or elapsed time is 0.

    Examples
    --------
    >>> resource_efficiency([10, 600], [100, 512], [0, 50], [1000, 1000]).tolist()
    [93.0, 29.0]
    """
    memory, cpu = _spared(peak, limit), _spared(throttled, wall)
    return round_half_up(MEMORY_SHARE * memory + CPU_SHARE * cpu)


def weighted_score(components: ArrayLike, whole_weights: Sequence[int]) -> Ints:
    """The weighted sum of whole components, halves upward, computed in whole numbers so that a half is a half.

    Parameters
    ----------
    components : array of whole numbers 0..100, shape (..., 4)
    whole_weights : sequence of int
        Weights in units of 10^-9.

    Examples
    --------
    The worked example of the text:

    >>> int(weighted_score([100, 85, 72, 93], [400_000_000, 300_000_000, 200_000_000, 100_000_000]))
    89
    """
    unit = 10**DECIMALS
    total = np.asarray(components, dtype=np.int64) @ np.asarray(whole_weights, dtype=np.int64)
    return np.asarray((2 * total + unit) // (2 * unit))


def with_neutral(components: Floats, value: int = NEUTRAL) -> Ints:
    """The components as whole numbers, `value` for those that could not be computed."""
    return np.where(np.isnan(components), value, components).astype(np.int64)


def _spared(used: ArrayLike, available: ArrayLike) -> Floats:
    given, most = np.asarray(used, dtype=np.float64), np.asarray(available, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(most > 0, np.clip(100 - 100 * given / most, 0, 100), np.nan)


# Why a component of a run cannot be computed, in words; null where it can.
# The expressions are made once: making them costs more than scoring one run does.

#: The largest value that each measurement may have; beyond it a unit or a clock is wrong.
LARGEST: Mapping[str, float] = {
    "wall_seconds": 1e8,  # three years
    "memory_peak_bytes": 2.0**60,
    "memory_limit_bytes": 2.0**60,
    "cpu_throttled_ms": 1e12,
    "cpu_wall_ms": 1e11,  # three years
    "stages_executed": 1e6,
    "stages_passed_first": 1e6,
}
#: A run that ended before or after these has a broken clock.
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)

#: The fields that each component is made of.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "completion": ("outcome",),
    "error_rate": ("stages_executed", "stages_passed_first"),
    "latency": ("wall_seconds", "workspace_id", "ended_at"),
    "resource_efficiency": ("memory_peak_bytes", "memory_limit_bytes", "cpu_throttled_ms", "cpu_wall_ms"),
}


def _first(*reasons: tuple[pl.Expr, str]) -> pl.Expr:
    """The words of the first condition that holds; null where none does."""
    return pl.coalesce(pl.when(condition).then(pl.lit(words)) for condition, words in reasons)


@cache
def of_completion() -> pl.Expr:
    """No outcome, or one that the rules do not know."""
    outcome = pl.col("outcome")
    unknown = pl.when(~outcome.is_in(list(OUTCOMES))).then(pl.format("unknown outcome {}", outcome))
    return pl.coalesce(_first((outcome.is_null(), "no outcome given")), unknown)


@cache
def of_error_rate() -> pl.Expr:
    """No usable counts of stages, or no stage executed."""
    executed, passed = (pl.col(name) for name in FIELDS["error_rate"])
    return pl.coalesce(
        _first((executed.is_null(), "no stages given")),
        *(of_measurement(name) for name in FIELDS["error_rate"]),
        _first((executed == 0, "no stage was executed"), (passed > executed, "more stages passed than were executed")),
    )


@cache
def of_resource_efficiency() -> pl.Expr:
    """A measurement is missing or unusable, or there was nothing to use."""
    fields = FIELDS["resource_efficiency"]
    return pl.coalesce(
        _first((pl.all_horizontal(pl.col(fields).is_null()), "no resource data")),
        *(of_measurement(name) for name in fields),
        _first(*((pl.col(name) == 0, f"{name} is 0") for name in ("memory_limit_bytes", "cpu_wall_ms"))),
    )


@cache
def of_latency(min_samples: int, *, rolling: bool) -> pl.Expr:
    """No usable wall time, or no baseline; needs the columns ``p50`` and ``samples``."""
    no_workspace = _first((pl.col("workspace_id").is_null(), "no workspace given"))
    if not rolling:
        unknown = _first((pl.col("p50").is_null(), "no frozen baseline of this workspace"))
        return pl.coalesce(of_measurement("wall_seconds"), no_workspace, unknown)
    too_few = pl.when(pl.col("samples") < min_samples).then(too_few_before(min_samples, pl.col("samples")))
    return pl.coalesce(of_measurement("wall_seconds"), no_workspace, of_end_time(), too_few)


@overload
def too_few_before(min_samples: int) -> str: ...
@overload
def too_few_before(min_samples: int, samples: pl.Expr) -> pl.Expr: ...
def too_few_before(min_samples: int, samples: pl.Expr | None = None) -> str | pl.Expr:
    """Why there is no rolling baseline: so many completed runs stood before it, or too few of them."""
    needs = f"runs before it; a baseline needs {min_samples}"
    return f"too few {needs}" if samples is None else pl.format("{} completed " + needs, samples)


@cache
def of_end_time() -> pl.Expr:
    """No end time, or one that no clock should show."""
    ended = pl.col("ended_at")
    outside = ~ended.is_between(EARLIEST, LATEST)
    return _first((ended.is_null(), "no usable end time"), (outside, "the end time lies outside 2000-2100"))


@cache
def of_measurement(name: str) -> pl.Expr:
    """A measurement that is missing, not finite, negative or absurd."""
    value = pl.col(name)
    return _first(
        (value.is_null(), f"{name} not given"),
        (~value.is_finite(), f"{name} is not a finite number"),
        (value < 0, f"{name} is negative"),
        (value > LARGEST[name], f"{name} is absurdly large"),
    )


@cache
def is_empty() -> pl.Expr:
    """Whether nothing was given that a score could be made of: no outcome, no stage, no wall time, no resources."""
    given = pl.any_horizontal(pl.col("outcome", "wall_seconds", *FIELDS["resource_efficiency"]).is_not_null())
    return ~given & (pl.col("stages_executed").fill_null(0) == 0)


@cache
def enters_baselines() -> pl.Expr:
    """Whether a run is one of those that baselines are made of: completed, with workspace, end and wall time known."""
    is_timed = of_measurement("wall_seconds").is_null() & of_end_time().is_null()
    return is_timed & pl.col("workspace_id").is_not_null() & (pl.col("outcome") == "COMPLETED").fill_null(False)


# The baseline of latency: what a run of this workspace typically takes.
# The rolling baseline of a run is the median wall time (p50) of the last completed runs of its workspace that ended
# before it. "Before" means an earlier end time, to the microsecond; runs that end at the same instant are not before
# each other, so no run is ever in its own baseline. Where several runs that end at one instant compete for the last
# places of the window, the longer ones are taken. So the baseline follows from end times and wall times alone: in which
# order runs arrived, and what they are called, does not enter.

_ROWS_AT_ONCE = 200_000


def rolling_p50(
    workspace: Ints, ended_at: Ints, wall: Floats, counts: NDArray[np.bool_], *, window: int
) -> tuple[Floats, Ints]:
    """The rolling baseline of every run.

    Parameters
    ----------
    workspace : array of int, shape (n,)
        Workspace of each run, by number from 0; -1 where it is not known.
    ended_at : array of int, shape (n,)
        End of each run in microseconds; negative where it is not known.
    wall : array of float, shape (n,)
        Seconds each run took.
    counts : array of bool, shape (n,)
        Which runs enter baselines: completed, with workspace, end and wall time known.
    window : int
        How many completed runs a baseline looks back.

    Returns
    -------
    p50, samples : arrays, shape (n,)
        NaN and 0 where no completed run ended before.

    Examples
    --------
    >>> p50, samples = rolling_p50(np.zeros(4, int), np.arange(4), np.array([3., 1, 2, 9]), np.ones(4, bool), window=20)
    >>> p50.tolist(), samples.tolist()
    ([nan, 3.0, 2.0, 2.0], [0, 1, 2, 3])
    """
    instants, instant = np.unique(ended_at, return_inverse=True)
    rank = workspace.astype(np.int64) * len(instants) + instant  # in order of workspace, then of end
    entering = np.flatnonzero(counts)
    entering = entering[np.lexsort((wall[entering], rank[entering]))]
    ordered, home = rank[entering], workspace.astype(np.int64) * len(instants)
    before, of_others = np.searchsorted(ordered, rank), np.searchsorted(ordered, home)
    samples = np.where((workspace >= 0) & (ended_at >= 0), np.minimum(before - of_others, window), 0)
    held = np.minimum(np.arange(1, len(ordered) + 1) - np.searchsorted(ordered, home[entering]), window)
    medians = np.append(_medians_back(wall[entering], held, window), np.nan)  # the last one is what nobody has
    return np.where(samples > 0, medians[before - 1], np.nan), samples


def _medians_back(wall: Floats, held: Ints, window: int) -> Floats:
    """At each place the median of the last `held` values, its own included; none is longer than `window`."""
    medians = np.empty(len(wall))
    back = np.arange(window)
    for start in range(0, len(wall), _ROWS_AT_ONCE):
        rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(wall)))
        values = wall.take(rows[:, None] - back, mode="clip")
        values[back >= held[rows, None]] = np.inf
        values.sort(axis=1)
        low, high = (held[rows] - 1) // 2, held[rows] // 2
        medians[rows] = (values[rows - start, low] + values[rows - start, high]) / 2
    return medians


def checked_frozen(frozen: Mapping[str, float]) -> Mapping[str, float]:
    """The frozen baselines if each is a number of seconds from 0 up, else InputError."""
    for name, seconds in frozen.items():
        if not 0 <= seconds < np.inf:
            raise InputError(f"baseline of workspace {name}", "must be seconds from 0 up", seconds)
    return frozen
