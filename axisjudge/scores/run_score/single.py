"""One run scored in plain Python, as an agent's own program and the service do: what `score_runs` gives for a table.

A table of one row costs milliseconds, which a service pays on every write. Both must agree on every run; a property
test holds them together.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from axisjudge.checks import InputError
from axisjudge.scores.run_score.baseline import checked_frozen
from axisjudge.scores.run_score.card import Scorecard
from axisjudge.scores.run_score.reasons import EARLIEST, FIELDS, LARGEST, LATEST
from axisjudge.scores.run_score.rules import (
    COMPONENTS,
    CPU_SHARE,
    DECIMALS,
    MEMORY_SHARE,
    NEUTRAL,
    OUTCOMES,
    UNRANKED,
    ScorecardRules,
    tier_of,
)
from axisjudge.scores.run_score.runs import Run, counted_stages, end_time
from axisjudge.scores.run_score.score import DEFAULT, Baseline

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

    Unless `strict`, it never raises into the run that it scores: a field that cannot be read is left out, a history
    that cannot be had gives no baseline, and the reasons are recorded.

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
        Only when strict: a field cannot be read, or a component cannot be computed.

    Examples
    --------
    >>> run = {"run_id": "run-1", "agent_id": "a", "workspace_id": "w", "outcome": "COMPLETED"}
    >>> stages = [{"name": "lint", "attempts": 1, "passed": True}]
    >>> card = score_run({**run, "stages": stages})
    >>> card.score, card.low, card.high, card.tier
    (85, 70, 100, 'Gold')
    """
    this, unreadable = (run, {}) if isinstance(run, Run) else _readable(run, strict=strict)
    try:
        others = [] if baseline != "rolling" else list(history() if callable(history) else history)
        failure = ""
    except Exception as error:
        if strict:
            raise
        others, failure = [], f"the source of the baseline failed ({type(error).__name__})"
    if isinstance(baseline, str):
        here = {each.run_id: each for each in others if each.workspace_id == this.workspace_id}
        here.pop(this.run_id, None)
        entering = [each for each in here.values() if enters_baseline(each)]
        timed = [(ended_at(each) or 0, each.wall_seconds or 0.0) for each in entering]
        card = score_single(this, *RollingBaseline(timed, window=rules.window).before(ended_at(this)), rules)
    else:
        card = score_single(this, checked_frozen(baseline).get(this.workspace_id), None, rules)
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
    return run.wall_seconds if _wrong("wall_seconds", run.wall_seconds) is None else None


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
    executed, passed = counted_stages(run.stages)
    use = {name: getattr(run, name) for name in FIELDS["resource_efficiency"]}
    why = {
        "completion": _of_completion(run.outcome),
        "error_rate": _of_stages(executed, passed),
        "latency": _of_latency(run, p50, samples, rules),
        "resource_efficiency": _of_resources(use),
    }
    reasons = {name: reason for name, reason in why.items() if reason is not None}
    is_empty = not executed and all(given is None for given in (run.outcome, run.wall_seconds, *use.values()))
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
        computed["resource_efficiency"] = _resources(*use.values())
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


def _wrong(name: str, value: float | None) -> str | None:
    if value is None:
        return f"{name} not given"
    if not math.isfinite(value):
        return f"{name} is not a finite number"
    if value < 0:
        return f"{name} is negative"
    return f"{name} is absurdly large" if value > LARGEST[name] else None


def _of_completion(outcome: str | None) -> str | None:
    if outcome is None:
        return "no outcome given"
    return None if outcome in OUTCOMES else f"unknown outcome {outcome}"


def _of_stages(executed: float | None, passed: float | None) -> str | None:
    if executed is None or passed is None:
        return "no stages given"
    if wrong := _wrong("stages_executed", executed) or _wrong("stages_passed_first", passed):
        return wrong
    if executed == 0:
        return "no stage was executed"
    return "more stages passed than were executed" if passed > executed else None


def _of_latency(run: Run, p50: float | None, samples: int | None, rules: ScorecardRules) -> str | None:
    if wrong := _wrong("wall_seconds", run.wall_seconds):
        return wrong
    if samples is None:
        return "no frozen baseline of this workspace" if p50 is None else None
    if samples == 0 and ended_at(run) is None:  # else runs before its end were counted
        known = end_time(run.ended_at) is not None
        return "the end time lies outside 2000-2100" if known else "no usable end time"
    few = samples < rules.min_samples
    return f"{samples} completed runs before it; a baseline needs {rules.min_samples}" if few else None


def _of_resources(use: dict[str, float | None]) -> str | None:
    if not any(given is not None for given in use.values()):
        return "no resource data"
    wrong = (_wrong(name, given) for name, given in use.items())
    nothing = (f"{name} is 0" for name in ("memory_limit_bytes", "cpu_wall_ms") if use[name] == 0)
    return next(filter(None, (*wrong, *nothing)), None)


def _readable(fields: Mapping[str, Any], *, strict: bool) -> tuple[Run, dict[str, str]]:
    """The run with the fields that can be read, and what is wrong with the others."""
    try:
        return Run.model_validate(dict(fields)), {}
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
