"""Interactions: a transcript's entries paired, merged, classified, timed and weighed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from axisjudge.scores.axis.rule_sets import DOCUMENTED, RuleSet
from axisjudge.scores.axis.transcript.categories import CATEGORIES, WAITS_FOR_PERSON, Categories, categorise
from axisjudge.scores.axis.transcript.entries import (
    Entry,
    entries_of_axis,
    is_network_call,
    summarise_input,
    valid_time,
)
from axisjudge.scores.axis.transcript.javascript import stringify, utf8_length
from axisjudge.trajectory import DurationSource, Step, ToolCall, Trajectory

#: How far behind a tool call an error entry may stand and still be taken as its error.
_ERROR_WITHIN = 2
#: Types of interactions that take time: calls and thinking. Other lines (a message, an error) are no action.
ACTING = ("tool_use", "assistant")

#: Whose time a duration is where a person stood in the way: the tool asks somebody, somebody refused the call,
#: somebody's message comes next; or perhaps somebody had to allow it, as a file is not read for a minute.
Wait = Literal["answer", "refusal", "message", "permission"]
#: Waits that are known, and not only likely.
KNOWN_WAITS = ("answer", "refusal", "message")
#: A tool that reads or writes files and lasts longer than this has probably waited for a permission.
_LONG_FOR_FILES_MS = 60_000
_FILE_TOOL = re.compile(
    r"read|write|edit|multiedit|notebookedit|glob|grep|ls|list_dir(ectory)?|replace|replace_in_file|apply_patch"
    r"|(read|write|edit)_file|write_to_file|list_files|grep_(search|files)|search_file(s|_content)"
    r"|read_many_files|str_replace(_based)?_edit(or|_tool)"
)
_HEAD_OF_REFUSAL = 300
_REFUSED = re.compile(
    r"(?i)user (doesn.t|does not|didn.t|did not) want to|interrupted by (the )?user"
    r"|(rejected|declined|denied|cancelled|canceled|aborted) by (the )?user"
    r"|user (has )?(rejected|declined|denied|cancelled|canceled|aborted)",
)


class Interaction(NamedTuple):
    """What the agent did at one point: a tool call with its result, merged thinking, an error, or another line.

    `id` counts from 1; `entries` are the positions of its entries. `duration_ms` is None where unknown; `start_ms`
    counts from the run's start. `context_bytes` is what it put into the context window, in UTF-8 bytes. `detail` is
    the text, or a tool's input in brief. `answered` says whether a tool call has a result. `duration_source` says where
    the duration comes from: ``stated`` by the agent, ``timestamps`` of a call and its result, a ``gap`` to the next
    interaction. `wait` says that a person's time is in the duration.
    """

    id: int
    type: str
    entries: tuple[int, ...]
    categories: Categories
    tool_name: str | None
    has_error: bool
    duration_ms: int | None
    start_ms: int | None
    context_bytes: int
    detail: str
    answered: bool = True
    duration_source: DurationSource | Literal["gap"] | None = None
    wait: Wait | None = None

    @property
    def measured(self) -> bool:
        """Whether the duration is that of a call to its result, and no gap."""
        return self.duration_source in ("stated", "timestamps")

    @property
    def is_call(self) -> bool:
        """Whether it is a tool call."""
        return self.type == "tool_use"


class TranscriptCounts(NamedTuple):
    """Counts and times over a run's interactions; an interaction of two categories counts in both.

    `call_durations` says of how many tool calls the duration was stated by the agent, is a difference of time stamps
    (``timestamps``, or a ``gap`` to what came next where there is no result), or is unknown.
    `startup_ms` is from the start of the agent's process to the first entry, `shutdown_ms` from the last entry to its
    end; None where unknown or not above 0.
    """

    interactions: int
    by_category: dict[str, int]
    errors: int
    unknown_durations: int
    total_ms: int
    wall_clock_ms: int
    startup_ms: int | None = None
    shutdown_ms: int | None = None
    call_durations: Mapping[str, int] = MappingProxyType({})


def interactions_of(entries: Sequence[Entry], rules: RuleSet, *, run_start_ms: int | None = None) -> list[Interaction]:
    """The interactions of a transcript, in order."""
    walk = _Walk(entries, rules, run_start_ms)
    made = [walk.interaction(at) for at in range(len(entries)) if at not in walk.consumed]
    return _with_gaps(made, rules)


def pair_entries(entries: Sequence[Entry]) -> dict[int, int]:
    """For each tool call its result, and for each result its call: by id first, then by position.

    By id the last call and the last result win. A call still without a result then takes the first unpaired result
    behind it, if no other call stands between; ids are not compared then.
    """
    pair: dict[int, int] = {}
    uses = {entry.tool_id: at for at, entry in enumerate(entries) if entry.type == "tool_use" and entry.tool_id}
    for at, entry in enumerate(entries):
        if entry.type == "tool_result" and entry.tool_id and entry.tool_id in uses:
            pair[at] = uses[entry.tool_id]
            pair[uses[entry.tool_id]] = at
    last_use: int | None = None
    for at, entry in enumerate(entries):
        if entry.type == "tool_use":
            last_use = at if at not in pair else None
        elif entry.type == "tool_result" and at not in pair and last_use is not None:
            pair[at], pair[last_use] = last_use, at
            last_use = None
    return pair


def count(
    interactions: Sequence[Interaction], *, startup_ms: int | None = None, shutdown_ms: int | None = None
) -> TranscriptCounts:
    """Counts and times of a run."""
    last = interactions[-1] if interactions else None
    wall = 0 if last is None or last.start_ms is None else last.start_ms + (last.duration_ms or 0)
    return TranscriptCounts(
        interactions=len(interactions),
        by_category={category: sum(category in each.categories for each in interactions) for category in CATEGORIES},
        errors=sum(each.has_error for each in interactions),
        unknown_durations=sum(each.duration_ms is None for each in interactions),
        total_ms=sum(each.duration_ms for each in interactions if each.duration_ms is not None),
        wall_clock_ms=wall,
        startup_ms=startup_ms,
        shutdown_ms=shutdown_ms,
        call_durations=dict(Counter(each.duration_source or "unknown" for each in interactions if each.is_call)),
    )


class _Walk:
    """One pass over the entries; `consumed` are those that an earlier interaction took in."""

    def __init__(self, entries: Sequence[Entry], rules: RuleSet, run_start_ms: int | None) -> None:
        self.entries, self.rules = entries, rules
        self.pair = pair_entries(entries)
        self.consumed: set[int] = set()
        times = (entry.time_ms for entry in (entries if rules.zero == "first_valid" else entries[:1]))
        self.zero = run_start_ms or next((time for time in times if time is not None), None)
        self._count = 0

    def interaction(self, at: int) -> Interaction:
        self._count += 1
        entry = self.entries[at]
        self.consumed.add(at)
        if entry.type == "assistant":
            return self._thinking(at)
        if entry.type == "tool_use":
            return self._call(at)
        texts = (entry.error_message, entry.text) if entry.is_error else (entry.text, entry.result_text, "(no content)")
        text = next((text for text in texts if text is not None), "")
        categories = categorise(entry.type, entry.tool_name, entry.kind, self.rules)
        return self._new(at, entry.type, (at,), categories, entry.tool_name, entry.is_error, text=text)

    def _thinking(self, at: int) -> Interaction:
        end = at
        while end < len(self.entries) and self.entries[end].type == "assistant":
            end += 1
        self.consumed.update(range(at + 1, end))
        text = " ".join(part for entry in self.entries[at:end] if (part := entry.text))
        return self._new(at, "assistant", tuple(range(at, end)), ("agent",), None, False, text=text)

    def _call(self, at: int) -> Interaction:
        use = self.entries[at]
        members, failed, duration = [at], False, None
        source: DurationSource | None = None
        tool_input, summary, context_bytes = use.tool_input, use.input_summary, 0
        partner = self.pair.get(at)
        answered = partner is not None and partner not in self.consumed
        if partner is not None and answered:
            self.consumed.add(partner)
            members.append(partner)
            result = self.entries[partner]
            failed = self.rules.failed_results and result.failed is True
            duration, source = result.duration_ms, "stated"
            if duration is None:
                duration, source = _elapsed(use.time_ms, result.time_ms), "timestamps"
            tool_input = result.tool_input if tool_input is None else tool_input
            summary = result.input_summary if summary is None else summary
            context_bytes = utf8_length(result.result_text or "")
        wait = None if not answered or partner is None else self._wait(use, self.entries[partner], duration)
        if not failed and (error := self._error_behind(at)) is not None:
            self.consumed.add(error)
            members.append(error)
            failed = True
        if tool_input is not None:
            context_bytes += utf8_length(stringify(tool_input))
        categories = categorise(
            "tool_use", use.tool_name, use.kind, self.rules, input_summary=use.input_summary, is_network=use.is_network
        )
        name = "unknown" if use.tool_name is None else use.tool_name
        return Interaction(
            self._count,
            "tool_use",
            tuple(members),
            categories,
            name,
            failed,
            duration,
            self._start(use.time_ms),
            context_bytes,
            summary or "",
            answered,
            None if duration is None else source,
            wait,
        )

    def _wait(self, use: Entry, result: Entry, duration: int | None) -> Wait | None:
        name = (use.tool_name or "").lower()
        if self.rules.waits == "counted":
            return None
        if name in WAITS_FOR_PERSON:
            return "answer"
        if result.failed is not False and _REFUSED.search((result.result_text or "")[:_HEAD_OF_REFUSAL]):
            return "refusal"
        stated = result.duration_ms is not None
        long = duration is not None and duration > _LONG_FOR_FILES_MS and not stated
        return "permission" if long and _FILE_TOOL.fullmatch(name) else None

    def _error_behind(self, at: int) -> int | None:
        for behind in range(at + 1, min(at + 1 + _ERROR_WITHIN, len(self.entries))):
            if self.entries[behind].is_error and behind not in self.consumed:
                return behind
        return None

    def _new(
        self,
        at: int,
        kind: str,
        members: tuple[int, ...],
        categories: Categories,
        name: str | None,
        failed: bool,
        *,
        text: str,
    ) -> Interaction:
        start = self._start(self.entries[at].time_ms)
        return Interaction(self._count, kind, members, categories, name, failed, None, start, utf8_length(text), text)

    def _start(self, time: int | None) -> int | None:
        return None if time is None or self.zero is None else max(0, time - self.zero)


def _elapsed(start: int | None, end: int | None) -> int | None:
    return end - start if start is not None and end is not None and end >= start else None


def _with_gaps(made: list[Interaction], rules: RuleSet) -> list[Interaction]:
    """Unknown durations filled with the time to the next interaction, for those whose gap counts."""
    for at in range(len(made) - 1):
        this, following = made[at], made[at + 1]
        if this.duration_ms is not None or this.start_ms is None or following.start_ms is None:
            continue
        if rules.gaps == "all" or (this.type == "assistant" and following.start_ms >= this.start_ms):
            reply = rules.waits == "apart" and following.type == "user"
            wait: Wait | None = "message" if reply else this.wait
            made[at] = this._replace(duration_ms=following.start_ms - this.start_ms, wait=wait, duration_source="gap")
    return made


# A run to be scored: its entries, its interactions and how it ended.


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
    entries, marks = entries_of_run(trajectory, rules)
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


def entries_of_run(trajectory: Trajectory, rules: RuleSet) -> tuple[list[Entry], tuple[str, ...]]:
    """Entries of a run's steps, and marks: what was left out.

    Calls of a user simulator and their results are not the agent's and are left out.
    """
    steps = trajectory.steps
    others = {at for at, asked in trajectory.answered_calls.items() if asked.call.requestor == "user"}
    entries = [entry for step in steps if step.index not in others for entry in _entries(step, rules)]
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
