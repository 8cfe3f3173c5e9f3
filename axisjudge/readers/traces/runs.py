"""Runs as tracing services keep them: a record of each chain, model call and tool run, with inputs and outputs.

LangSmith's runs, Langfuse's observations and MLflow's spans say the same in other words; here the conversation is put
together from them. A trace is a trajectory. Traces of one thread are one where each was given what the one before it
had said. Where no model call is on record, as in an export of root runs alone, the root run tells the conversation.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from axisjudge.readers import events
from axisjudge.readers.messages import ReadRun, made
from axisjudge.readers.trace_spans import ModelCall, Piece, ToolRun, continues, pieces_of, plain, steps_of
from axisjudge.readers.traces.chat_forms import finish_in, is_message, message_of, messages_in
from axisjudge.readers.traces.openinference import arguments_in
from axisjudge.readers.traces.opentelemetry import outer_of, schemas_of
from axisjudge.trajectory import Trajectory

MODELS = ("llm", "chat_model")
R = TypeVar("R")


@dataclass(frozen=True)
class SpannedRun:
    """A run: times in nanoseconds since 1970, `end` None where it has not ended; inputs and outputs as plain JSON.

    `kind` is one of `MODELS`, ``tool``, or any other word. `thread` names the talk that its trace belongs to, `task`
    the example it was run on, `call` the call that a tool's run answers, `tools` what the model was offered.
    """

    id: str
    trace: str
    parent: str | None
    kind: str
    name: str
    start: int
    end: int | None
    inputs: Any
    outputs: Any
    problem: str | None = None
    model: str | None = None
    thread: str | None = None
    task: str | None = None
    call: str | None = None
    tools: list[Any] = field(default_factory=list)
    failed: bool = False


class _Trace(NamedTuple):
    """The runs of a trace: the root, those that tell messages, and the tools'."""

    root: SpannedRun
    models: list[tuple[SpannedRun, ModelCall]]
    tools: list[ToolRun]

    @property
    def calls(self) -> list[ModelCall]:
        return [call for _, call in self.models]


def log_of_runs(
    name: str,
    records_in: Callable[[Any], Iterator[R]],
    run_of: Callable[[R], SpannedRun],
    *,
    unknown: str,
    broken: str,
) -> events.LogFormat:
    """A format whose events hold records of runs: one trajectory a trace, or a thread of traces that go on.

    Of records with one id the first counts. An event without a record is counted as `unknown`, a record without what a
    run needs as `broken`.
    """

    def recognise(value: Any) -> bool:
        return next(records_in(value), None) is not None

    def read(lines: Iterable[events.Line], tally: events.Tally) -> Iterator[ReadRun]:
        runs: dict[str, SpannedRun] = {}
        positions: dict[str, str] = {}
        for position, value in events.events_of(lines, tally):
            records = list(records_in(value))
            if not records:
                tally.unknown(unknown, value, position)
            for record in records:
                try:
                    run = run_of(record)
                except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
                    tally.broken(broken, record, position)
                else:
                    runs.setdefault(run.id, run)
                    positions.setdefault(run.trace, position)
        yield from _trajectories(runs.values(), positions, name, tally)

    return events.LogFormat(name, recognise, read)


def _trajectories(
    runs: Iterable[SpannedRun], positions: dict[str, str], source: str, tally: events.Tally
) -> Iterator[ReadRun]:
    """One trajectory a trace, or a thread of traces that go on with each other; `positions` are those of the traces."""
    by_trace: dict[str, list[SpannedRun]] = {}
    for run in runs:
        by_trace.setdefault(run.trace, []).append(run)
    traces = (_trace(members, positions[trace], tally) for trace, members in by_trace.items())
    for name, thread in _threads([trace for trace in traces if trace.models or trace.tools]):
        yield _run_of(name, thread, positions[thread[0].root.trace], source, tally)


def _trace(runs: list[SpannedRun], position: str, tally: events.Tally) -> _Trace:
    runs = sorted(runs, key=lambda run: run.start)
    ids = {run.id: run for run in runs}
    parents = {run.id: run.parent for run in runs}
    root = min(runs, key=lambda run: (run.parent in ids, run.start))
    for run in runs:
        if run.kind in (*MODELS, "tool") and run.inputs is None and run.outputs is None:
            tally.add("a run without inputs and outputs", run.kind, position)
    stated = [(run, _model_call(run)) for run in runs if run.kind in MODELS]
    stated = [(run, call) for run, call in stated if call.before or call.after or call.failed]
    outer = outer_of([run.id for run, _ in stated], parents.get)
    models = [(run, call) for run, call in stated if run.id not in outer]
    tools = [_tool_run(run) for run in runs if run.kind == "tool"]
    if not models and root.kind != "tool":
        call = _model_call(root)
        models = [(root, call)] if call.before or call.after else []
    for _ in range(len(runs) - len(models) - len(tools)):
        tally.add(events.NO_STEP, "a run that is neither a model call nor a tool's", position)
    if not models and not tools:
        tally.add("a trace without a model call or a tool call", "", position)
    return _Trace(root, models, tools)


def _model_call(run: SpannedRun) -> ModelCall:
    before = pieces_of(messages_in(run.inputs, "user"))
    left, after = list(before), []
    for piece in pieces_of(messages_in(run.outputs, "assistant")):
        if run.kind not in MODELS and (known := next((one for one in left if one.is_same(piece)), None)):
            left.remove(known)  # the state of a graph holds what it was given once more
        else:
            after.append(piece)
    end = run.start if run.end is None else run.end
    return ModelCall(run.id, run.start, end, before, after, run.problem is not None, run.problem or "")


def _tool_run(run: SpannedRun) -> ToolRun:
    given = run.inputs
    if isinstance(given, dict) and given.keys() == {"input"}:
        inner = arguments_in(given["input"])
        inner = events.json_of(inner)
        given = inner if isinstance(inner, dict) else given
    if isinstance(given, dict) and given.get("type") == "tool_call" and isinstance(given.get("args"), dict):
        given = given["args"]
    result = run.outputs
    if isinstance(result, dict) and result.keys() == {"output"}:
        result = events.json_of(result["output"])
    identity, failed = run.call, run.problem is not None
    if is_message(result):
        message = message_of(result)
        identity = events.text_at(message, "tool_call_id") or identity
        failed = failed or message.get("is_error") is True
        result = message.get("content")
    call = Piece("call", text=plain(result), id=identity, name=run.name, given=given)
    return ToolRun(run.start, run.end, call, failed, run.problem or "")


def _threads(traces: list[_Trace]) -> Iterator[tuple[str, list[_Trace]]]:
    """The traces that are one conversation, with its name, in the order of time."""
    threads: dict[str, list[list[_Trace]]] = {}
    for trace in sorted(traces, key=lambda trace: trace.root.start):
        talks = threads.setdefault(trace.root.thread or trace.root.trace, [])
        before = next((talk for talk in talks if continues(talk[-1].calls, trace.calls)), None)
        if before is None:
            talks.append([trace])
        else:
            before.append(trace)
    for name, talks in threads.items():
        for talk in talks:
            yield name if len(talks) == 1 and len(talk) > 1 else talk[0].root.trace, talk


def _run_of(name: str, thread: list[_Trace], position: str, source: str, tally: events.Tally) -> ReadRun:
    models = [pair for trace in thread for pair in trace.models]
    used = Counter(filter(None, (_model_name(run) for run, _ in models)))
    last = thread[-1].root
    ended = filter(None, (finish_in(run.outputs) for run, _ in reversed(models)))
    trajectory = made(
        Trajectory,
        position,
        id=name,
        source=source,
        agent=used.most_common(1)[0][0] if used else None,
        task_id=next(filter(None, (trace.root.task for trace in thread)), None),
        termination="error" if last.failed or last.problem is not None else next(ended, None),
        steps=steps_of([call for _, call in models], [tool for trace in thread for tool in trace.tools]),
        tools=schemas_of((_offered(run) for run, _ in models), tally, position),
        meta={"traces": [trace.root.trace for trace in thread], "name": last.name},
    )
    return ReadRun(position, trajectory)


def _model_name(run: SpannedRun) -> str | None:
    sides = (side for side in (run.outputs, run.inputs) if isinstance(side, dict))
    return run.model or next(filter(None, (events.text_at(side, "model", "model_name") for side in sides)), None)


def _offered(run: SpannedRun) -> list[dict[str, Any]]:
    given = run.inputs.get("tools") if isinstance(run.inputs, dict) else None
    return [tool for tool in events.listed(run.tools or given) if isinstance(tool, dict)]
