"""OpenTelemetry traces of agents: Jaeger JSON, OTLP JSON, Tempo and Phoenix exports, with the spans' conversation.

Model calls carry messages as ``gen_ai.prompt.N.*`` and ``gen_ai.completion.N.*`` (older), as ``gen_ai.input.messages``
and ``gen_ai.output.messages`` (newer), as span events, as Google's request and response, or by the attributes of
OpenInference. Each call repeats what was said before it, so a message is a step where it first occurs. Tool calls have
spans of their own, which tell when a result arrived and how long it took.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers import trace_spans
from axisjudge.readers.events import NO_STEP, Line, Tally, events_of, json_of, listed, text_at
from axisjudge.readers.messages import ReadRun, Unread, carries_call, made, names_call, tool_schema
from axisjudge.readers.trace_spans import ModelCall, Piece, Span, ToolRun, spans_of, steps_of
from axisjudge.readers.traces import gen_ai, openinference
from axisjudge.trajectory import ToolSchema, Trajectory

FORMAT = "opentelemetry"
_FINISHED = ("gen_ai.response.finish_reasons", "gen_ai.completion.0.finish_reason", "llm.finish_reason")


def recognise(value: Any) -> bool:
    """Whether the JSON value is an export of traces."""
    if not isinstance(value, dict):
        return False
    traces = value.get("data")
    jaeger = isinstance(traces, list) and all(isinstance(trace, dict) and "spans" in trace for trace in traces[:1])
    otlp = any(
        isinstance(inner.get(key), list)
        for inner in (value, value.get("trace"))
        if isinstance(inner, dict)
        for key in ("resourceSpans", "batches")
    )
    return (jaeger and bool(traces)) or otlp or trace_spans.recognise(value)


def read_log(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    """One trajectory for each conversation; a trace that names none is one by itself."""
    traces: dict[str, list[Span]] = {}
    positions: dict[str, str] = {}
    for position, value in events_of(lines, tally):
        if not recognise(value):
            tally.unknown("not an export of traces", value, position)
            continue
        for span in spans_of(value, position, tally):
            traces.setdefault(span.trace, []).append(span)
            positions.setdefault(span.trace, position)
    conversations: dict[str, list[Span]] = {}
    for trace, spans in traces.items():
        names = (text_at(span.attributes, "gen_ai.conversation.id") for span in spans)
        conversations.setdefault(next((name for name in names if name), trace), []).extend(spans)
    for name, spans in conversations.items():
        if run := _run_of(name, spans, positions[spans[0].trace], tally):
            yield run
        else:
            tally.add("a trace without a model call or a tool call", "", positions[spans[0].trace])


def _run_of(name: str, spans: list[Span], position: str, tally: Tally) -> ReadRun | None:
    spans = sorted(spans, key=lambda span: span.start)
    models = _innermost([span for span in spans if _before(span) or _after(span)], spans)
    offered = (openinference.tools_offered(span) or gen_ai.tools_offered(span) for span in models)
    tools = [(span, piece) for span in spans if (piece := openinference.tool_piece(span) or gen_ai.tool_piece(span))]
    _refuse_unread(spans, [*models, *(span for span, _ in tools)], position)
    for _ in range(len(spans) - len(models) - len(tools)):
        tally.add(NO_STEP, "a span that is neither a model call nor a tool call", position)
    if not models and not tools:
        return None
    used = Counter(filter(None, map(_model_name, models)))
    ended = [span.attributes[key] for span in models for key in _FINISHED if span.attributes.get(key)]
    calls = [ModelCall(s.id, s.start, s.end, _before(s), _after(s), s.failed, s.problem) for s in models]
    runs = [ToolRun(span.start, span.end, piece, _failed(span, piece), span.problem) for span, piece in tools]
    trajectory = made(
        Trajectory,
        position,
        id=name,
        source=openinference.FORMAT if any(map(openinference.recognise, spans)) else FORMAT,
        agent=used.most_common(1)[0][0] if used else None,
        termination=", ".join(map(str, listed(ended[-1]))) if ended else None,
        steps=steps_of(calls, runs),
        tools=schemas_of(offered, tally, position),
        meta={"traces": sorted({span.trace for span in spans})},
    )
    return ReadRun(position, trajectory)


def _refuse_unread(spans: list[Span], read: list[Span], position: str) -> None:
    """Refuse a span of a kind unknown here that names a call, where no span around it or inside it is read."""
    parents = {span.id: span.parent for span in spans}
    known = {span.id for span in read}
    known |= outer_of(known, parents.get)
    for span in spans:
        if span.id not in known and not known & outer_of([span.id], parents.get) and carries_call(span.attributes):
            raise Unread(f"{position}, span {span.name}", [key for key in span.attributes if names_call(key)])


def _before(span: Span) -> list[Piece]:
    return openinference.pieces_before(span) or gen_ai.pieces_before(span)


def _after(span: Span) -> list[Piece]:
    return openinference.pieces_after(span) or gen_ai.pieces_after(span)


def _model_name(span: Span) -> str | None:
    stated = text_at(span.attributes, "gen_ai.response.model", "gen_ai.request.model")
    return stated or openinference.model_of(span)


def _failed(span: Span, call: Piece) -> bool:
    stated = json_of(call.text)
    return span.failed or (isinstance(stated, dict) and stated.get("isError") is True)


def _innermost(models: list[Span], spans: list[Span]) -> list[Span]:
    """Model calls that contain no other: a framework's span and its client's tell the same call."""
    parents = {span.id: span.parent for span in spans}
    outer = outer_of([span.id for span in models], parents.get)
    return [span for span in models if span.id not in outer]


def outer_of(calls: Iterable[str], parent: Callable[[str], str | None]) -> set[str]:
    """The ids of all that contains one of these calls."""
    outer: set[str] = set()
    for call in calls:
        above = parent(call)
        while above and above not in outer:
            outer.add(above)
            above = parent(above)
    return outer


def schemas_of(offered: Iterable[list[dict[str, Any]]], tally: Tally, position: str) -> tuple[ToolSchema, ...] | None:
    """The tools that the model was offered in any call; None where no call says."""
    schemas: dict[str, ToolSchema] = {}
    records = [record for records in offered for record in records]
    for record in records:
        try:
            schema = tool_schema(record, "tools")
        except InputError as error:
            tally.add("a tool definition of the wrong shape is left out", f"{error.where}: {error.rule}", position)
        else:
            schemas[schema.name] = schema
    return tuple(schemas.values()) if records else None
