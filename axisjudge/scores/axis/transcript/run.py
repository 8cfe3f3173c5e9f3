"""A run to be scored: its entries, its interactions and how it ended.

From a trajectory's steps, whatever format it was read from: a time stamp says when a step was complete. A call begins
at its own time stamp, else at its step's; what the agent wrote beside its calls is taken to stand before the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from axisjudge.scores.axis.rule_sets import DOCUMENTED, RuleSet
from axisjudge.scores.axis.transcript.entries import (
    Entry,
    entries_of_axis,
    is_network_call,
    summarise_input,
    valid_time,
)
from axisjudge.scores.axis.transcript.interactions import Interaction, TranscriptCounts, count, interactions_of
from axisjudge.trajectory import Step, ToolCall, Trajectory


class ProcessEnd(NamedTuple):
    """How the agent's process ended: its result, exit code and error, and when it ran."""

    result: str | None = ""
    exit_code: int = 0
    error: str | None = None
    start_time: Any = None
    end_time: Any = None

    @property
    def failed(self) -> bool:
        """Whether the run failed: an error, or no result and an exit code other than 0."""
        return self.error is not None or (self.result is None and self.exit_code != 0)

    @property
    def reason(self) -> str:
        """Why it failed, in words."""
        return f"Run failed: {self.error}" if self.error is not None else f"Run failed with exit code {self.exit_code}"


#: What is taken where the source says nothing of its end.
COMPLETED = ProcessEnd()


@dataclass(frozen=True)
class AxisRun:
    """A run's interactions under one set of rules; whose they are and what a reader should know of them (`marks`)."""

    id: str
    entries: Sequence[Entry] = field(repr=False)
    interactions: list[Interaction] = field(repr=False)
    rules: RuleSet
    outcome: ProcessEnd = COMPLETED
    agent: str | None = None
    agent_family: str | None = None
    task_id: str | None = None
    cluster_id: str = ""
    source: str = ""
    marks: tuple[str, ...] = ()

    @property
    def counts(self) -> TranscriptCounts:
        """Counts and times, with those of the agent's process before the first and after the last entry."""
        start, end = (valid_time(time, self.rules) for time in (self.outcome.start_time, self.outcome.end_time))
        first, last = (self.entries[at].time_ms if self.entries else None for at in (0, -1))
        return count(self.interactions, startup_ms=_between(start, first), shutdown_ms=_between(last, end))


def _between(earlier: int | None, later: int | None) -> int | None:
    return later - earlier if earlier is not None and later is not None and later > earlier else None


#: What a run and its result take over from a trajectory as it is.
OF_RUN = ("agent", "agent_family", "task_id", "cluster_id", "source")


def run_of_trajectory(trajectory: Trajectory, rules: RuleSet = DOCUMENTED) -> AxisRun:
    """A run from a trajectory: from AXIS's own entries where it keeps them, else from its steps.

    How the run ended is taken from ``meta["axis_run"]`` where the source told it.
    """
    known: dict[str, Any] = {name: getattr(trajectory, name) for name in OF_RUN}
    outcome = outcome_of(trajectory.meta.get("axis_run"))
    if isinstance(raw := trajectory.meta.get("axis_entries"), list):
        kept = [entry for entry in raw if isinstance(entry, dict) and isinstance(entry.get("type"), str)]
        left_out = len(raw) - len(kept)
        if left_out:
            known["marks"] = (f"entries without a type left out: {left_out}",)
        return run_of_axis(kept, id=trajectory.id, rules=rules, outcome=outcome, **known)
    entries, marks = entries_of_steps(trajectory.steps, rules)
    return run_of_entries(entries, id=trajectory.id, rules=rules, outcome=outcome, marks=marks, **known)


def outcome_of(ended: Any) -> ProcessEnd:
    """How the source says that the agent's process ended (``meta["axis_run"]``); completed where it does not say."""
    if not isinstance(ended, dict):
        return COMPLETED
    exit_code, error = ended.get("exitCode"), ended.get("error")
    return ProcessEnd(
        ended.get("result"),
        exit_code if isinstance(exit_code, int) else 0,
        None if error is None else str(error),
        ended.get("startTime"),
        ended.get("endTime"),
    )


def run_of_axis(
    raw: Sequence[dict[str, Any]],
    *,
    id: str,
    rules: RuleSet = DOCUMENTED,
    outcome: ProcessEnd = COMPLETED,
    **about: Any,
) -> AxisRun:
    """A run from AXIS raw entries, each ``{type, timestamp, content}``."""
    return run_of_entries(entries_of_axis(raw, rules), id=id, rules=rules, outcome=outcome, **about)


def run_of_entries(
    entries: Sequence[Entry], *, id: str, rules: RuleSet = DOCUMENTED, outcome: ProcessEnd = COMPLETED, **about: Any
) -> AxisRun:
    """A run from entries; `about` gives the other fields of `AxisRun`."""
    start = valid_time(outcome.start_time, rules)
    interactions = interactions_of(entries, rules, run_start_ms=start)
    return AxisRun(id, entries, interactions, rules, outcome, **{"cluster_id": id, **about})


def entries_of_steps(steps: Sequence[Step], rules: RuleSet) -> tuple[list[Entry], tuple[str, ...]]:
    """Entries of a run's steps, and marks: what was left out.

    Calls of a user simulator and their results are not the agent's and are left out.
    """
    others = {call.id for step in steps for call in step.tool_calls if call.requestor == "user" and call.id}
    kept = [step for step in steps if not (step.role == "tool" and step.tool_call_id in others)]
    entries = [entry for step in kept for entry in _entries(step, rules)]
    count = sum(len(step.tool_calls) - len(step.agent_calls) for step in steps)
    marks = (f"calls of the user simulator left out: {count}",) if count else ()
    return entries, marks


def _entries(step: Step, rules: RuleSet) -> Iterator[Entry]:
    time = valid_time(step.timestamp, rules)
    if step.role == "tool":
        duration = None if step.duration_s is None else round(1000 * step.duration_s)
        yield Entry(
            "tool_result",
            time,
            tool_name=step.tool_name,
            result_text=step.content,
            tool_id=step.tool_call_id,
            failed=step.error,
            duration_ms=duration,
        )
    elif step.role == "assistant":
        calls = [_call(call, time, rules) for call in step.agent_calls]
        if step.content or not calls:
            written = valid_time(step.content_timestamp, rules)
            earliest = _earliest(time, (call.time_ms for call in calls)) if written is None else written
            yield Entry("assistant", earliest, step.content)
        yield from calls
    elif step.kind == "error":
        yield Entry("error", time, step.content, error_message=step.content, is_error=True)
    else:
        yield Entry(step.role, time, step.content)


def _call(call: ToolCall, time: int | None, rules: RuleSet) -> Entry:
    given: Any = call.arguments
    tool_input = {"arguments": given} if isinstance(given, str) else given
    own_time = valid_time(call.timestamp, rules) if call.timestamp else time
    summary = summarise_input(tool_input)
    return Entry(
        "tool_use",
        own_time,
        tool_name=call.name,
        tool_input=tool_input,
        input_summary=summary,
        tool_id=call.id,
        is_network=is_network_call(call.name, tool_input, summary, None, rules),
    )


def _earliest(time: int | None, others: Iterable[int | None]) -> int | None:
    return min((each for each in (time, *others) if each is not None), default=None)
