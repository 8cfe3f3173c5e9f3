"""The rules of the run scorecard and its formulas on whole columns: weights, latency, baseline, tiers, and why one
cannot be computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, reduce
from operator import add, and_
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, whole
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
        if not whole("min_samples", self.min_samples) <= whole("window", self.window):
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


# Why a component of a run cannot be computed. Each rule stands once, for the fields of one run (values, None where not
# given) and for those of a whole table (expressions of columns) alike: it yields its conditions in order, each with its
# words, and the first that holds tells; so of one run none is asked after it.

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

Condition = tuple[Any, Any]


def first_words(conditions: Iterable[Condition]) -> str | None:
    """The words of the first condition that holds of one run; None where none does."""
    return next((words for holds, words in conditions if holds), None)


def words_of_each(conditions: Iterable[Condition]) -> pl.Expr:
    """The words of the first condition that holds of each row; null where none does."""
    return pl.coalesce(
        pl.when(holds).then(words if isinstance(words, pl.Expr) else pl.lit(words)) for holds, words in conditions
    )


def why_not(field: Callable[[str], Any], p50: Any, samples: Any, min_samples: int) -> dict[str, Iterator[Condition]]:
    """Of each component the conditions under which it cannot be computed.

    Parameters
    ----------
    field : function
        A field of the runs table by its name: its value in one run, or `polars.col`.
    p50, samples : float and int, None, or expressions
        The baseline; `samples` is None for a frozen one.
    min_samples : int
    """
    return {
        "completion": _no_completion(field),
        "error_rate": _no_error_rate(field),
        "latency": _no_latency(field, p50, samples, min_samples),
        "resource_efficiency": _no_resource_efficiency(field),
    }


def _no_completion(field: Callable[[str], Any]) -> Iterator[Condition]:
    outcome = field("outcome")
    yield _missing(outcome), "no outcome given"
    unknown = ~outcome.is_in(list(OUTCOMES)) if isinstance(outcome, pl.Expr) else outcome not in OUTCOMES
    yield unknown, _filled("unknown outcome {}", outcome)


def _no_error_rate(field: Callable[[str], Any]) -> Iterator[Condition]:
    executed, passed = (field(name) for name in FIELDS["error_rate"])
    yield _missing(executed), "no stages given"
    yield from unusable("stages_executed", executed)
    yield from unusable("stages_passed_first", passed)
    yield executed == 0, "no stage was executed"
    yield passed > executed, "more stages passed than were executed"


def _no_latency(field: Callable[[str], Any], p50: Any, samples: Any, min_samples: int) -> Iterator[Condition]:
    yield from unusable("wall_seconds", field("wall_seconds"))
    yield _missing(field("workspace_id")), "no workspace given"
    if samples is None:
        yield _missing(p50), "no frozen baseline of this workspace"
        return
    yield from no_end_time(field("ended_at"))
    yield samples < min_samples, too_few_before(min_samples, samples)


def _no_resource_efficiency(field: Callable[[str], Any]) -> Iterator[Condition]:
    use = {name: field(name) for name in FIELDS["resource_efficiency"]}
    yield reduce(and_, map(_missing, use.values())), "no resource data"
    for name, value in use.items():
        yield from unusable(name, value)
    for name in ("memory_limit_bytes", "cpu_wall_ms"):
        yield use[name] == 0, f"{name} is 0"


def unusable(name: str, value: Any) -> Iterator[Condition]:
    """A measurement that is missing, not finite, negative or absurd."""
    yield _missing(value), f"{name} not given"
    infinite = ~value.is_finite() if isinstance(value, pl.Expr) else not math.isfinite(value)
    yield infinite, f"{name} is not a finite number"
    yield value < 0, f"{name} is negative"
    yield value > LARGEST[name], f"{name} is absurdly large"


def no_end_time(ended: Any) -> Iterator[Condition]:
    """No end time, or one that no clock should show."""
    yield _missing(ended), "no usable end time"
    yield (ended < EARLIEST) | (ended > LATEST), "the end time lies outside 2000-2100"


def too_few_before(min_samples: int, samples: Any) -> Any:
    """In words that so many completed runs before a run make no baseline."""
    return _filled(f"{{}} completed runs before it; a baseline needs {min_samples}", samples)


def _missing(value: Any) -> Any:
    return value.is_null() if isinstance(value, pl.Expr) else value is None


def _filled(words: str, value: Any) -> Any:
    return pl.format(words, value) if isinstance(value, pl.Expr) else words.format(value)


def usable_walls() -> pl.Expr:
    """The column of wall times, null where one is not known or cannot be true."""
    wall = pl.col("wall_seconds")
    return pl.when(words_of_each(unusable("wall_seconds", wall)).is_null()).then(wall)


def usable_ends() -> pl.Expr:
    """The column of ends, null where one is not known or no clock should show it."""
    ended = pl.col("ended_at")
    return pl.when(words_of_each(no_end_time(ended)).is_null()).then(ended)


def is_empty() -> pl.Expr:
    """Whether nothing was given that a score could be made of: no outcome, no stage, no wall time, no resources."""
    given = pl.any_horizontal(pl.col("outcome", "wall_seconds", *FIELDS["resource_efficiency"]).is_not_null())
    return ~given & (pl.col("stages_executed").fill_null(0) == 0)


def enters_baselines() -> pl.Expr:
    """Whether a run is one of those that baselines are made of: completed, with workspace, end and wall time known."""
    known = (usable_walls(), usable_ends(), pl.col("workspace_id"))
    is_known = pl.all_horizontal(each.is_not_null() for each in known)
    return is_known & (pl.col("outcome") == "COMPLETED").fill_null(False)


# The baseline of latency: what a run of this workspace typically takes.
# The rolling baseline of a run is the median wall time (p50) of the last completed runs of its workspace that ended
# before it. "Before" means an earlier end time, to the microsecond; runs that end at the same instant are not before
# each other, so no run is ever in its own baseline. Where several runs that end at one instant compete for the last
# places of the window, the longer ones are taken. So the baseline follows from end times and wall times alone: in which
# order runs arrived, and what they are called, does not enter.


def rolling_p50(runs: pl.DataFrame, *, window: int) -> pl.DataFrame:
    """The rolling baseline of every run of a runs table.

    Parameters
    ----------
    runs : polars.DataFrame
    window : int
        How many completed runs a baseline looks back.

    Returns
    -------
    polars.DataFrame
        Of each run ``p50`` and ``samples``: null and 0 where no completed run ended before.
    """
    wall, here = pl.col("wall_seconds"), "workspace_id"
    middle = (wall.rolling_quantile(0.5, side, window, min_samples=1).over(here) for side in ("lower", "higher"))
    timed = runs.filter(enters_baselines()).sort(here, "ended_at", "wall_seconds")
    baselines = timed.select(
        *(here, "ended_at"),
        p50=reduce(add, middle) / 2,
        samples=pl.int_range(1, pl.len() + 1).over(here).clip(upper_bound=window),
    )
    ends = runs.select(here, usable_ends()).with_row_index("row").sort("ended_at")
    last = ends.join_asof(
        baselines.sort("ended_at", maintain_order=True),
        on="ended_at",
        by=here,
        allow_exact_matches=False,
        check_sortedness=False,
    )
    return last.sort("row").select("p50", pl.col("samples").fill_null(0))


def checked_frozen(frozen: Mapping[str, float]) -> Mapping[str, float]:
    """The frozen baselines if each is a number of seconds from 0 up, else InputError."""
    for name, seconds in frozen.items():
        if not isinstance(seconds, int | float | np.number) or not 0 <= seconds < np.inf:
            raise InputError(f"baseline of workspace {name}", "must be seconds from 0 up", seconds)
    return frozen
