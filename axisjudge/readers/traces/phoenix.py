"""Phoenix's exports of spans, and those of OpenTelemetry's SDK, as one form: span records with a context.

Who writes them: Phoenix's REST API and client (``GET /v1/projects/{id}/spans``, ``{"data": [span, ...]}``), its command
line (``px trace list``, ``px trace get``: ``{"traceId": ..., "spans": [span, ...]}``), its span dataframes written by
``DataFrame.to_json`` or as JSON Lines (a row a span, columns such as ``context.trace_id`` and
``attributes.llm.input_messages``), and ``ReadableSpan.to_json`` of OpenTelemetry's SDK.
Source: https://github.com/Arize-ai/phoenix (src/phoenix/server/api/routers/v1/spans.py,
src/phoenix/trace/trace_dataset.py, js/packages/phoenix-cli/src/trace.ts).
"""

from collections.abc import Iterator
from typing import Any

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
