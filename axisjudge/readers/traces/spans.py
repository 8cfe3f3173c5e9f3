"""Spans of traces, from the JSON of Jaeger, OTLP and Phoenix."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from axisjudge.readers.events import WRONG_SHAPE, Tally, dict_of, listed, nanoseconds, text_at
from axisjudge.readers.traces import phoenix


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
        place = whole
        for name in path:
            inner = place.setdefault(name, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[last] = value
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
            tally.add(WRONG_SHAPE, "a span without its ids, times or attributes", position)


def _records(value: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    if phoenix.recognise(value):
        yield from ((_phoenix, span) for span in phoenix.records(value))
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
    attributes = phoenix.flat(span.get("attributes") or {})
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
