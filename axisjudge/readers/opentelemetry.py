"""OpenTelemetry traces of agents: Jaeger JSON, OTLP JSON, Tempo exports; the conversation is built from their spans.

Model calls carry messages as ``gen_ai.prompt.N.*`` and ``gen_ai.completion.N.*`` (older), as ``gen_ai.input.messages``
and ``gen_ai.output.messages`` (newer), as span events, or as Google's request and response. Each call repeats what was
said before it, so a message is a step where it first occurs. Tool calls have spans of their own, which tell when a
result arrived and how long it took.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers.events import NO_STEP, UNKNOWN, Line, Steps, Tally, events_of, iso, seconds, text_at
from axisjudge.readers.messages import Found, made, tool_schema
from axisjudge.readers.spans import Piece, Span, json_of, listed, pieces_after, pieces_before, spans_of, tool_piece
from axisjudge.trajectory import ToolSchema, Trajectory

FORMAT = "opentelemetry"
_FINISHED = ("gen_ai.response.finish_reasons", "gen_ai.completion.0.finish_reason")


def recognise(value: Any) -> bool:
    """Whether the JSON value is an export of traces."""
    if not isinstance(value, dict):
        return False
    traces = value.get("data")
    jaeger = isinstance(traces, list) and all(isinstance(trace, dict) and "spans" in trace for trace in traces[:1])
    return (jaeger and bool(traces)) or any(
        isinstance(inner.get(key), list)
        for inner in (value, value.get("trace"))
        if isinstance(inner, dict)
        for key in ("resourceSpans", "batches")
    )


def read_log(lines: Iterable[Line], tally: Tally) -> Iterator[Found]:
    """One trajectory for each conversation; a trace that names none is one by itself."""
    traces: dict[str, list[Span]] = {}
    positions: dict[str, str] = {}
    for position, value in events_of(lines, tally):
        if not recognise(value):
            tally.add(UNKNOWN, "not an export of traces", position)
            continue
        for span in spans_of(value, position, tally):
            traces.setdefault(span.trace, []).append(span)
            positions.setdefault(span.trace, position)
    conversations: dict[str, list[Span]] = {}
    for trace, spans in traces.items():
        names = (text_at(span.attributes, "gen_ai.conversation.id") for span in spans)
        conversations.setdefault(next((name for name in names if name), trace), []).extend(spans)
    for name, spans in conversations.items():
        if found := _found(name, spans, positions[spans[0].trace], tally):
            yield found
        else:
            tally.add("a trace without a model call or a tool call", "", positions[spans[0].trace])


def _found(name: str, spans: list[Span], position: str, tally: Tally) -> Found | None:
    models = _innermost([span for span in spans if pieces_before(span) or pieces_after(span)], spans)
    tools = [span for span in spans if tool_piece(span)]
    for _ in range(len(spans) - len(models) - len(tools)):
        tally.add(NO_STEP, "a span that is neither a model call nor a tool call", position)
    if not models and not tools:
        return None
    used = Counter(
        filter(None, (text_at(s.attributes, "gen_ai.response.model", "gen_ai.request.model") for s in models))
    )
    ended = [span.attributes[key] for span in models for key in _FINISHED if span.attributes.get(key)]
    trajectory = made(
        Trajectory,
        position,
        id=name,
        source=FORMAT,
        agent=used.most_common(1)[0][0] if used else None,
        termination=", ".join(map(str, listed(ended[-1]))) if ended else None,
        steps=_Conversation(models, tools).steps.all(),
        tools=_schemas(models, tally, position),
        meta={"traces": sorted({span.trace for span in spans})},
    )
    return Found(position, trajectory)


def _innermost(models: list[Span], spans: list[Span]) -> list[Span]:
    """Model calls that contain no other: a framework's span and its client's tell the same call."""
    parents = {span.id: span.parent for span in spans}
    outer = set()
    for span in models:
        above = span.parent
        while above and above not in outer:
            outer.add(above)
            above = parents.get(above)
    return [span for span in models if span.id not in outer]


class _Conversation:
    """The steps of some model calls and tool calls, in the order of time."""

    def __init__(self, models: list[Span], tools: list[Span]) -> None:
        self.steps = Steps()
        self.said: Counter[str] = Counter()
        before = [piece for span in models for piece in pieces_before(span)]
        self.heard = {piece.id: piece.text for piece in before if piece.kind == "result" and piece.id}
        moments = [(span.end, 0, number, span) for number, span in enumerate(models)]
        moments += [(span.start, 1, number, span) for number, span in enumerate(tools)]
        moments += [(span.end, 2, number, span) for number, span in enumerate(tools)]
        moments += [(span.start, 3, number, span) for number, span in enumerate(models)]
        self.waiting: list[Piece] = []
        for _, what, _, span in sorted(moments, key=lambda moment: moment[:3]):
            (self._reply, self._called, self._result, self._history)[what](span)

    def _history(self, span: Span) -> None:
        known = self.said.copy()
        for piece in pieces_before(span):
            if known[piece.key] > 0:
                known[piece.key] -= 1
            else:
                self._say(piece, iso(span.start), f"before {span.id}")

    def _reply(self, span: Span) -> None:
        for piece in pieces_after(span):
            self._say(piece, iso(span.end), span.id)
        if span.failed:
            self.steps.error(span.problem, iso(span.end))

    def _called(self, span: Span) -> None:
        piece = tool_piece(span)
        if piece and self._asked(piece) is None:
            self._say(piece, iso(span.start), None)

    def _result(self, span: Span) -> None:
        piece = tool_piece(span)
        if piece is None:
            return
        asked = self._asked(piece) or piece
        self.waiting = [other for other in self.waiting if other is not asked]
        content = self.heard.get(asked.id) if asked.id else None
        result = Piece("result", id=asked.id, name=asked.name, text=piece.text if content is None else content)
        told = json_of(piece.text)
        failed = span.failed or (isinstance(told, dict) and told.get("isError") is True)
        self.said[result.key] += 1
        self.steps.result(
            asked.id,
            result.text or span.problem,
            iso(span.end),
            error=failed,
            name=asked.name,
            duration_s=seconds(span.end - span.start, 1e9),
        )

    def _asked(self, piece: Piece) -> Piece | None:
        """The call, not yet answered, that a tool span belongs to: by its id, else by its name."""
        same = (other for other in self.waiting if (piece.id == other.id if piece.id else piece.name == other.name))
        return next(same, None)

    def _say(self, piece: Piece, timestamp: str | None, message: str | None) -> None:
        self.said[piece.key] += 1
        if piece.kind == "call":
            self.waiting.append(piece)
            self.steps.call(piece.call(), timestamp, message=message)
        elif piece.kind == "result":
            self.steps.result(piece.id, piece.text, timestamp, error=None, name=piece.name)
            self.waiting = [other for other in self.waiting if other.id != piece.id]
        elif piece.kind == "thinking":
            self.steps.thinking(piece.text, timestamp)
        else:
            self.steps.text(piece.role, piece.text, timestamp, message=message and f"{message} {piece.role}")


def _schemas(models: list[Span], tally: Tally, position: str) -> tuple[ToolSchema, ...] | None:
    """The tools that the model was offered in any call; None where no call says."""
    schemas: dict[str, ToolSchema] = {}
    offered = False
    for span in models:
        for record in span.tools():
            offered = True
            try:
                schema = tool_schema(record, "tools")
            except InputError as error:
                tally.add("a tool definition of the wrong shape is left out", f"{error.where}: {error.rule}", position)
            else:
                schemas[schema.name] = schema
    return tuple(schemas.values()) if offered else None
