"""Spans of traces, from the JSON of Jaeger, OTLP and Phoenix, and the conversation that they tell."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from axisjudge.readers.chats import gemini_contents
from axisjudge.readers.chats.parts import MessagePart, message_parts, part_of
from axisjudge.readers.chats.response_items import ITEMS, add_item
from axisjudge.readers.events import (
    Steps,
    Tally,
    as_text,
    dict_of,
    iso,
    json_of,
    listed,
    nanoseconds,
    seconds,
    text_at,
    type_of,
)
from axisjudge.readers.messages import ROLES, call_of, refuse_unread, word
from axisjudge.trajectory import Role, Step, ToolCall

# Phoenix's exports of spans, and those of OpenTelemetry's SDK, as one form: span records with a context.
#
# Who writes them: Phoenix's REST API and client (``GET /v1/projects/{id}/spans``, ``{"data": [span, ...]}``), its
# command line (``px trace list``, ``px trace get``: ``{"traceId": ..., "spans": [span, ...]}``), its span dataframes
# written by ``DataFrame.to_json`` or as JSON Lines (a row a span, columns such as ``context.trace_id`` and
# ``attributes.llm.input_messages``), and ``ReadableSpan.to_json`` of OpenTelemetry's SDK. Source:
# https://github.com/Arize-ai/phoenix (src/phoenix/server/api/routers/v1/spans.py, src/phoenix/trace/trace_dataset.py,
# js/packages/phoenix-cli/src/trace.ts).

_COLUMN = "context.trace_id"


def recognise(value: Any) -> bool:
    """Whether a JSON value is a span, a row of a span dataframe, or an object that holds such."""
    return next(records(value), None) is not None


def records(value: Any) -> Iterator[dict[str, Any]]:
    """The spans of an export, each with ``context`` and ``attributes`` as objects."""
    if not isinstance(value, dict):
        return
    if isinstance(value.get("context"), dict):
        if {"trace_id", "span_id"} <= value["context"].keys():
            yield value
        return
    if isinstance(value.get(_COLUMN), str):
        yield _of_row(value)
        return
    held = value.get("spans") if "traceId" in value else value.get("data")
    if isinstance(held, list) and isinstance(value.get("columns"), list):  # orient="split"
        named = value.get("index") or [None] * len(held)
        for name, row in zip(named, held, strict=False):
            yield from records({**dict(zip(value["columns"], row, strict=False)), "": name})
    elif isinstance(held, list):  # REST, px, orient="table"
        for member in held:
            yield from records(member)
    elif isinstance(column := value.get(_COLUMN), dict):  # orient="columns"
        for name in column:
            cells = {head: cell.get(name) for head, cell in value.items() if isinstance(cell, dict)}
            yield from records({**cells, "": name})
    elif value and all(isinstance(row, dict) and isinstance(row.get(_COLUMN), str) for row in value.values()):
        for name, row in value.items():  # orient="index"
            yield from records({**row, "": name})


def _of_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a dataframe as a span; its index, where the span's id stands there, is under the empty name."""
    stated = {name: cell for name, cell in row.items() if cell is not None}
    attributes = {**stated.pop("attributes", {})} if isinstance(stated.get("attributes"), dict) else {}
    attributes |= {
        name.removeprefix("attributes."): cell for name, cell in stated.items() if name[:11] == "attributes."
    }
    if "span_kind" in stated:
        attributes.setdefault("openinference.span.kind", stated["span_kind"])
    span_id = stated.get("context.span_id", stated.get("span_id", stated.get("", f"row {stated.get('start_time')}")))
    return {**stated, "attributes": attributes, "context": {"trace_id": stated[_COLUMN], "span_id": str(span_id)}}


def flat(attributes: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Attributes under dotted names, however deep they were nested: ``llm.input_messages.0.message.role``.

    What is JSON by itself (arguments, schemas, values, metadata) is not opened.
    """
    values: dict[str, Any] = {}
    for name, value in attributes.items():
        key = f"{prefix}{name}"
        whole = key.rpartition(".")[2] in ("arguments", "json_schema", "value", "parameters", "metadata")
        if isinstance(value, list) and value and all(isinstance(member, dict) for member in value):
            value = {str(number): member for number, member in enumerate(value)}
        if isinstance(value, dict) and not whole:
            values |= flat(value, f"{key}.")
        elif value is not None:
            values[key] = value
    return values


# Spans, whichever of the three they come from.


class Span(NamedTuple):
    """A span: times in nanoseconds since 1970, attributes and events with their values as plain JSON."""

    trace: str
    id: str
    parent: str | None
    name: str
    start: int
    end: int
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    failed: bool
    problem: str


def numbered(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The records that ``prefix.0.role``, ``prefix.0.tool_calls.0.name``, ``prefix.1.role`` stand for, in order."""
    whole: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(f"{prefix}."):
            continue
        *path, last = key.removeprefix(f"{prefix}.").split(".")
        node = whole
        for name in path:
            inner = node.setdefault(name, {})
            if not isinstance(inner, dict):
                break
            node = inner
        else:
            node[last] = value
    return [record for record in _in_order(whole) if isinstance(record, dict)]


def _in_order(value: Any) -> Any:
    """Objects whose names are all numbers as lists, in the order of the numbers."""
    if not isinstance(value, dict):
        return value
    inner = {name: _in_order(member) for name, member in value.items()}
    if inner and all(name.isdecimal() for name in inner):
        return [inner[name] for name in sorted(inner, key=int)]
    return inner


def spans_of(value: dict[str, Any], position: str, tally: Tally) -> Iterator[Span]:
    """All spans of an export; one without ids or times is counted and left out."""
    for make, record in _records(value):
        try:
            yield make(record)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            tally.broken("a span without its ids, times or attributes", record, position)


def _records(value: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    if recognise(value):
        yield from ((_phoenix, span) for span in records(value))
        return
    if "data" in value:
        yield from ((_jaeger, span) for trace in listed(value["data"]) for span in _members(trace, "spans"))
        return
    inner = dict_of(value, "trace") or value
    for batch in (*_members(inner, "resourceSpans"), *_members(inner, "batches")):
        for scope in (*_members(batch, "scopeSpans"), *_members(batch, "instrumentationLibrarySpans")):
            yield from ((_otlp, span) for span in _members(scope, "spans"))


def _members(record: Any, key: str) -> list[Any]:
    members = record.get(key) if isinstance(record, dict) else None
    return members if isinstance(members, list) else []


def _jaeger(span: dict[str, Any]) -> Span:
    attributes = {str(tag["key"]): tag["value"] for tag in span.get("tags") or []}
    events = [{str(field["key"]): field["value"] for field in log["fields"]} for log in span.get("logs") or []]
    references = [link["spanID"] for link in span.get("references") or [] if link.get("refType") == "CHILD_OF"]
    start = int(span["startTime"]) * 1000
    return Span(
        trace=str(span["traceID"]),
        id=str(span["spanID"]),
        parent=str(references[0]) if references else None,
        name=str(span.get("operationName")),
        start=start,
        end=start + int(span["duration"]) * 1000,
        attributes=attributes,
        events=[(str(event.get("event")), event) for event in events],
        failed=attributes.get("error") is True or attributes.get("otel.status_code") == "ERROR",
        problem=str(attributes.get("otel.status_description") or ""),
    )


def _otlp(span: dict[str, Any]) -> Span:
    status = span.get("status") or {}
    return Span(
        trace=str(span["traceId"]),
        id=str(span["spanId"]),
        parent=text_at(span, "parentSpanId"),
        name=str(span.get("name")),
        start=int(span["startTimeUnixNano"]),
        end=int(span["endTimeUnixNano"]),
        attributes=_attributes(span),
        events=[(str(event.get("name")), _attributes(event)) for event in span.get("events") or []],
        failed=status.get("code") in (2, "STATUS_CODE_ERROR"),
        problem=str(status.get("message") or ""),
    )


def _phoenix(span: dict[str, Any]) -> Span:
    start = nanoseconds(span["start_time"])
    stated = span.get("status")
    status = stated if isinstance(stated, dict) else {}
    attributes = flat(span.get("attributes") or {})
    events = [event for event in listed(span.get("events")) if isinstance(event, dict)]
    return Span(
        trace=str(span["context"]["trace_id"]),
        id=str(span["context"]["span_id"]),
        parent=text_at(span, "parent_id"),
        name=str(span.get("name")),
        start=start,
        end=start if span.get("end_time") is None else nanoseconds(span["end_time"]),
        attributes=attributes,
        events=[(str(event.get("name")), dict_of(event, "attributes")) for event in events],
        failed=(text_at(span, "status_code") or text_at(status, "status_code")) == "ERROR",
        problem=text_at(span, "status_message") or text_at(status, "description") or "",
    )


def _attributes(record: dict[str, Any]) -> dict[str, Any]:
    return {str(attribute["key"]): _value(attribute.get("value")) for attribute in record.get("attributes") or []}


def _value(value: Any) -> Any:
    """The plain value of OTLP's ``{"stringValue": ...}`` and its like."""
    if not isinstance(value, dict) or not value:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "arrayValue":
        return [_value(member) for member in inner.get("values") or []]
    if kind == "kvlistValue":
        return {member["key"]: _value(member.get("value")) for member in inner.get("values") or []}
    return int(inner) if kind == "intValue" else inner


# Pieces of conversation, as the records of traces tell them, and the messages that they come from.

SPEAKERS: dict[str, Role] = {**ROLES, "human": "user", "model": "assistant", "ai": "assistant"}
_CALLS = ("tool_calls", "function_call")
_READ = ("role", "content", "parts", "tool_call_id", "name", *_CALLS)


@dataclass(frozen=True)
class Piece:
    """A piece of conversation: ``text``, ``thinking``, ``call`` or ``result``; `error` is a result's, where stated.

    `joins` says that it is of one message with the piece before it.
    """

    kind: str
    role: Role = "assistant"
    text: str = ""
    id: str | None = None
    name: str | None = None
    given: Any = None
    error: bool | None = None
    joins: bool = field(default=False, compare=False)

    @cached_property
    def content(self) -> str:
        """Equal for two records of the same piece, whatever their ids."""
        if self.kind == "call":
            given = json_of(self.given)
            return json.dumps([self.kind, self.name, given or {}], sort_keys=True, default=str)
        return json.dumps([self.kind, None if self.kind == "result" else self.role, self.text])

    def is_same(self, other: "Piece") -> bool:
        """Whether both tell the same piece: by their ids where both have one, else by what they hold."""
        if self.kind != other.kind:
            return False
        return self.id == other.id if self.id and other.id else self.content == other.content

    def call(self) -> ToolCall:
        """The call that the piece stands for."""
        return call_of("", self.name or "unknown", self.given, id=self.id)


def pieces_of(messages: list[Any]) -> list[Piece]:
    """The pieces of a list of messages, in any of the usual forms; what is no object is left out."""
    pieces = []
    for message in (told for each in messages if isinstance(told := json_of(each), dict)):
        unnamed: Role = "tool" if message.get("tool_call_id") else "assistant"
        role, joins = SPEAKERS.get(str(message.get("role")), unnamed), "role" not in message
        for part in _parts_of(message, role):
            speaker: Role = {"result": "tool", "text": role}.get(part.kind, "assistant")
            about: dict[str, Any] = {"text": part.text, "id": part.id, "name": part.name, "error": part.error}
            if part.call:
                about = {"id": part.call.id, "name": part.call.name, "given": part.call.arguments}
            if part.text or part.kind != "text":
                pieces.append(Piece(part.kind, speaker, joins=joins, **about))
                joins = True
    return pieces


def _parts_of(message: dict[str, Any], role: Role) -> Iterable[MessagePart]:
    if "role" not in message and type_of(message) in ITEMS:
        return _of_item(message)
    content = json_of(message.get("content")) if str(message.get("content"))[:2] == "[{" else message.get("content")
    parts = message.get("parts", content)
    if role == "tool" and not isinstance(message.get("parts"), list):
        identity, failed = word(message.get("tool_call_id") or message.get("id")), message.get("is_error")
        failed = failed if isinstance(failed, bool) else None
        return [MessagePart("result", plain(content), None, identity, text_at(message, "name"), failed)]
    refuse_unread(message, "message", _READ)
    stated = [part for one in (parts if isinstance(parts, list) else [parts]) if one for part in _of_part(one)]
    beside = [record for key in _CALLS for record in listed(json_of(message.get(key)))]
    calls = [_flat_call(record) for record in beside if isinstance(record, dict)]
    return message_parts({**message, "tool_calls": calls, "function_call": None}, stated, role, "message", [])


def _flat_call(record: dict[str, Any]) -> dict[str, Any]:
    """A call beside a content; one that is cut off has no name."""
    inner = dict_of(record, "function") or record
    given = inner.get("arguments", inner.get("args"))
    return {"id": word(record.get("id")), "name": text_at(inner, "name") or "unknown", "arguments": given}


def _of_item(item: dict[str, Any]) -> Iterator[MessagePart]:
    """An item of OpenAI's Responses that is no message: a call, a result, both of a provider's tool, or a thought."""
    steps = Steps()
    add_item(steps, item, "item")
    for step in steps.all():
        if step.role == "tool":
            yield MessagePart("result", step.content, None, step.tool_call_id, step.tool_name, step.error)
        elif step.content:
            yield MessagePart("thinking" if step.kind == "thinking" else "text", step.content)
        yield from (MessagePart("call", call=call) for call in step.tool_calls)


def _of_part(part: Any) -> Iterable[MessagePart]:
    """A part of a message: an item, a part with a type, or one of Gemini's, whose key says what it is."""
    if not isinstance(part, dict):
        refuse_unread({"content": part}, "message", ())
        return [MessagePart("text", as_text(part))]
    if type_of(part) in ITEMS - {"reasoning"}:
        return _of_item(part)
    read = gemini_contents.part_of if "type" not in part and "content" not in part else part_of
    return filter(None, [read(part, "part", [])])


def plain(content: Any) -> str:
    """A tool's content as text: typed parts give their texts, anything else is shown as it is."""
    if isinstance(content, dict) and isinstance(content.get("content"), list):
        return plain(content["content"])
    if isinstance(content, list) and content and all(isinstance(part, dict) and "text" in part for part in content):
        return "\n".join(as_text(part["text"]) for part in content)
    return as_text(content)


# One conversation from the model calls and tool runs of a trace, each step where it first occurs.
# A model call repeats what was said before it, and a tool's run tells a call that the model has told too. A model's
# record may end after its tool has run (a stream that is closed late, a record around the whole loop), and clocks
# differ: whoever tells a piece first makes it a step, and what tells it again adds nothing.


@dataclass(frozen=True)
class ModelCall:
    """A call of a model: times in nanoseconds since 1970, what it was given, what it gave back, and what went wrong."""

    id: str
    start: int
    end: int
    before: Sequence[Piece]
    after: Sequence[Piece]
    failed: bool = False
    problem: str = ""


@dataclass(frozen=True)
class ToolRun:
    """A run of a tool: the call it stands for, whose text is what came back; `end` is None where nothing came."""

    start: int
    end: int | None
    call: Piece
    failed: bool = False
    problem: str = ""


@dataclass(frozen=True)
class _Spoken:
    """A piece that is a step, and by whom: a model's ``reply``, a ``history``, or a tool's ``run``."""

    piece: Piece
    by: str


@dataclass
class _Conversation:
    steps: Steps = field(default_factory=Steps)
    spoken: list[_Spoken] = field(default_factory=list)
    waiting: list[Piece] = field(default_factory=list)
    answered: list[Piece] = field(default_factory=list)
    heard: dict[str, str] = field(default_factory=dict)

    def history(self, model: ModelCall) -> int:
        """What a model call was given, as far as it is new; gives the number of pieces said by then."""
        left, number = list(self.spoken), 0
        for piece in model.before:
            number += not piece.joins
            known = next((spoken for spoken in left if spoken.piece.is_same(piece)), None)
            if known is None and piece.kind == "result" and not piece.id:  # texts of one result differ between records
                runs = (s for s in left if s.by == "run" and s.piece.kind == "result")
                known = next((s for s in runs if piece.name in (None, s.piece.name)), None)
            if known is None:
                self._say(piece, iso(model.start), f"message {number} before {model.id}", "history")
            else:
                left.remove(known)
        return len(self.spoken)

    def reply(self, model: ModelCall, pieces: Sequence[Piece], moment: int, since: int) -> None:
        """What a model call gave back, but for what others have told since it was made."""
        ahead = [spoken for spoken in self.spoken[since:] if spoken.by != "reply"]
        for piece in pieces:
            known = next((spoken for spoken in ahead if spoken.piece.is_same(piece)), None)
            if known is None:
                self._say(piece, iso(moment), model.id, "reply")
            else:
                ahead.remove(known)

    def called(self, run: ToolRun) -> None:
        """A tool begins to run; its call is a step unless a model's record has told it."""
        if _call_of(run, self.waiting) is None and _call_of(run, self.answered) is None:
            self._say(run.call, iso(run.start), None, "run")

    def result(self, run: ToolRun, end: int) -> None:
        """A tool's result arrives, unless a model has already heard it."""
        asked = _call_of(run, self.waiting)
        if asked is None and (stated := _call_of(run, self.answered)) is not None:
            self.answered.remove(stated)
            return
        call = asked or run.call
        self.waiting = [other for other in self.waiting if other is not call]
        content = self.heard.get(call.id) if call.id else None
        text = (run.call.text if content is None else content) or run.problem
        self.spoken.append(_Spoken(Piece("result", "tool", text, call.id, call.name), "run"))
        took = seconds(end - run.start, 1e9)
        self.steps.result(call.id, text, iso(end), error=run.failed, name=call.name, duration_s=took)

    def _say(self, piece: Piece, timestamp: str | None, message: str | None, by: str) -> None:
        self.spoken.append(_Spoken(piece, by))
        if piece.kind == "call":
            self.waiting.append(piece)
            self.steps.call(piece.call(), timestamp, message=message)
        elif piece.kind == "result":
            call = next((other for other in self.waiting if not piece.id or other.id == piece.id), None)
            if call is not None:
                self.waiting.remove(call)
                self.answered.append(call)
            name = piece.name or (call.name if call else None)
            self.steps.result(piece.id, piece.text, timestamp, error=piece.error, name=name)
        elif piece.kind == "thinking":
            self.steps.thinking(piece.text, timestamp)
        else:
            self.steps.text(piece.role, piece.text, timestamp, message=message)


def steps_of(models: Sequence[ModelCall], runs: Sequence[ToolRun]) -> tuple[Step, ...]:
    """The steps of some model calls and tool runs, in the order of time."""
    talk = _Conversation()
    heard = (piece for model in models for piece in model.before if piece.kind == "result")
    talk.heard = {piece.id: piece.text for piece in heard if piece.id}
    moments = [(run.start, 1, number, 0) for number, run in enumerate(runs)]
    moments += [(run.end, 2, number, 0) for number, run in enumerate(runs) if run.end is not None]
    cuts = _reply_cuts(models, runs)
    for number, model in enumerate(models):
        begun, stated = cuts.get(number, (model.end, len(model.after)))
        begun, stated = (begun, stated) if begun < model.end else (model.end, len(model.after))
        moments.append((begun, -1, number, 0) if begun <= model.start else (model.start, 3, number, 0))
        moments.append((begun, 0, number, stated))
        moments += [(model.end, 0, number, -stated)] if stated < len(model.after) or begun < model.end else []
    since: dict[int, int] = {}
    for moment, what, number, stated in sorted(moments):
        if what in (-1, 3):
            since[number] = talk.history(models[number])
        elif what == 1:
            talk.called(runs[number])
        elif what == 2:
            talk.result(runs[number], moment)
        else:
            model = models[number]
            talk.reply(model, model.after[:stated] if stated > 0 else model.after[-stated:], moment, since[number])
            if model.failed and (stated <= 0 or stated == len(model.after)) and moment == model.end:
                talk.steps.error(model.problem, iso(model.end))
    return talk.steps.all()


def continues(earlier: Sequence[ModelCall], later: Sequence[ModelCall]) -> bool:
    """Whether the later calls go on with the talk of the earlier ones: the first was given what a model had said."""
    contents = {piece.content for model in earlier for piece in model.after}
    first = min(later, key=lambda model: model.start, default=None)
    return first is not None and any(piece.content in contents for piece in first.before)


def _reply_cuts(models: Sequence[ModelCall], runs: Iterable[ToolRun]) -> dict[int, tuple[int, int]]:
    """For each model whose calls were run: when the first of them began, and how many pieces its reply had by then.

    A call is made before its tool runs, whenever the record of the model ends.
    """
    order = sorted(range(len(models)), key=lambda number: models[number].start)
    free = [(m, p) for m in order for p, piece in enumerate(models[m].after) if piece.kind == "call"]
    cuts: dict[int, tuple[int, int]] = {}
    for run in sorted(runs, key=lambda run: run.start):
        begun = [(m, p) for m, p in free if run.call.id or models[m].start <= run.start]
        call = _call_of(run, [models[m].after[p] for m, p in begun])
        called = next(((m, p) for m, p in begun if models[m].after[p] is call), None)
        if called is not None:
            free.remove(called)
            first, stated = cuts.get(called[0], (run.start, 0))
            cuts[called[0]] = (min(first, run.start), max(stated, called[1] + 1))
    return cuts


def _call_of(run: ToolRun, calls: Iterable[Piece]) -> Piece | None:
    """The call that a tool's run belongs to: by its id, where one has none by name and arguments, else by name."""
    open_calls = list(calls)
    if run.call.id and (by_id := next((call for call in open_calls if call.id == run.call.id), None)):
        return by_id
    alike = [call for call in open_calls if call.name == run.call.name and not (call.id and run.call.id)]
    return next((call for call in alike if call.content == run.call.content), alike[0] if alike else None)
