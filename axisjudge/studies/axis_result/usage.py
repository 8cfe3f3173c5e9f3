"""Tokens and cost of a run, where its source states them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from axisjudge.trajectory import Trajectory

#: Per kind of tokens the names under which sources count them: an AXIS report's, and those of agents' own logs. What
#: is written to a cache was read in full; thoughts that are counted apart were written.
_INPUT = ("input", "input_tokens", "cache_creation_input_tokens")
_CACHED = ("cacheReadInput", "cache_read_input_tokens", "cached_input_tokens", "cached")
_OUTPUT = ("output", "output_tokens", "thoughts")


class RunUsage(NamedTuple):
    """What a run took, as its source counts it: tokens in, of cached input, out, and dollars; None where unstated."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


def usage_of(trajectory: Trajectory) -> RunUsage:
    """The usage that the source states for the run as a whole; turns that are counted one by one are added up.

    Whether cached input is part of the input differs from source to source, so the two are never added.
    """
    run = trajectory.meta.get("axis_run")
    run = run if isinstance(run, dict) else {}
    stated = run.get("tokenUsage", trajectory.meta.get("usage", trajectory.meta.get("stats")))
    turns: list[Mapping[str, Any]] = [
        each for each in (stated if isinstance(stated, list) else [stated]) if isinstance(each, dict)
    ]
    cost = run.get("totalCostUsd", trajectory.meta.get("total_cost_usd", trajectory.meta.get("agent_cost")))
    return RunUsage(
        _total(turns, _INPUT),
        _total(turns, _CACHED),
        _total(turns, _OUTPUT),
        float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
    )


def _total(turns: list[Mapping[str, Any]], names: tuple[str, ...]) -> int | None:
    counts = [turn[name] for turn in turns for name in names if type(turn.get(name)) is int]
    return sum(counts) if counts else None
