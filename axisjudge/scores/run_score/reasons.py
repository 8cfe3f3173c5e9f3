"""Why a component of a run cannot be computed, in words; null where it can.

The expressions are made once: making them costs more than scoring one run does.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import overload

import polars as pl

from axisjudge.scores.run_score.rules import OUTCOMES

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
