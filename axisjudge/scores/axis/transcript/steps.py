"""The scorer's entries from a trajectory's steps, whatever format it was read from.

A time stamp says when a step was complete. A call begins at its own time stamp, else at its step's; what the agent
wrote beside its calls is taken to stand before the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from axisjudge.scores.axis.rule_sets import RuleSet
from axisjudge.scores.axis.transcript.entries import Entry, is_network_call, summarise_input, valid_time
from axisjudge.trajectory import Step, ToolCall


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
