"""MLflow's traces: ``{info, data: {spans}}``, alone, in a list or a search, a line each, or as rows of a dataframe.

Who writes them: ``Trace.to_json``, ``mlflow traces get`` and ``search``, and ``search_traces`` as records of JSON
(``trace`` as JSON text, or ``spans``). What a span was given and gave back is JSON text in ``mlflow.spanInputs`` and
``mlflow.spanOutputs``; ``CHAT_MODEL`` and ``LLM`` are calls of a model, ``TOOL`` runs of a tool.
Source: mlflow/mlflow, mlflow/entities/span.py (three versions of a span), trace.py, trace_info.py.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pydantic_core import from_json

from axisjudge.readers.events import Line, Tally, dict_of, json_of, listed, nanoseconds, text_at
from axisjudge.readers.messages import Found
from axisjudge.readers.traces.openinference import arguments_in
from axisjudge.readers.traces.runs import SpannedRun, read_runs

FORMAT = "mlflow"
_KINDS = {"LLM": "llm", "CHAT_MODEL": "chat_model", "TOOL": "tool"}
_FAILED = ("STATUS_CODE_ERROR", "ERROR", 2, "2")


def recognise(value: Any) -> bool:
    """Whether the JSON value is a trace, or holds some."""
    return next(_spans(value), None) is not None


def read_log(lines: Iterable[Line], tally: Tally) -> Iterator[Found]:
    """One trajectory a trace."""
    yield from read_runs(
        lines, tally, FORMAT, _spans, _run, unknown="not a trace", broken="a span without its id or times"
    )


class _Span(NamedTuple):
    """A span, the name of its trace, whose spans alone have ids of their own, and the trace's task."""

    trace: str
    task: str | None
    fields: dict[str, Any]


def _spans(value: Any) -> Iterator[_Span]:
    """The spans of the traces in a JSON value."""
    if not isinstance(value, dict):
        return
    if isinstance(value.get("traces"), list):
        for member in value["traces"]:
            yield from _spans(member)
        return
    whole = json_of(value.get("trace"))
    value = whole if isinstance(whole, dict) else value
    info = dict_of(value, "info") or value
    spans = listed(dict_of(value, "data").get("spans", value.get("spans")))
    known = [span for span in map(json_of, spans) if isinstance(span, dict) and _is_span(span)]
    if "trace_id" in info or "request_id" in info:
        name, task = str(info.get("trace_id") or info.get("request_id")), text_at(dict_of(info, "tags"), "task_id")
        yield from (_Span(name, task, span) for span in known)


def _is_span(span: dict[str, Any]) -> bool:
    attributes = span.get("attributes")
    return isinstance(attributes, dict) and any(str(key).startswith("mlflow.") for key in attributes)


def _run(record: _Span) -> SpannedRun:
    trace, task, span = record
    attributes = {key: _value(value) for key, value in span["attributes"].items()}
    status = dict_of(span, "status") or {"code": span.get("status_code"), "message": span.get("status_message")}
    ended = span.get("end_time_unix_nano", span.get("end_time"))
    kind = str(attributes.get("mlflow.spanType")).upper()
    given = attributes.get("mlflow.spanInputs")
    above = span.get("parent_span_id") or span.get("parent_id")
    if kind == "TOOL" and isinstance(given, str):
        given = json_of(arguments_in(given))
    return SpannedRun(
        id=f"{trace} {span.get('span_id') or span['context']['span_id']}",
        trace=trace,
        parent=None if above is None else f"{trace} {above}",
        kind=_KINDS.get(kind, kind.lower()),
        name=str(span.get("name")),
        start=nanoseconds(span.get("start_time_unix_nano", span.get("start_time"))),
        end=nanoseconds(ended) if ended else None,
        inputs=given,
        outputs=attributes.get("mlflow.spanOutputs"),
        problem=(text_at(status, "message") or "error") if status.get("code") in _FAILED else None,
        model=text_at(attributes, "mlflow.llm.model", "model"),
        task=task,
        tools=listed(attributes.get("mlflow.chat.tools")),
    )


def _value(text: Any) -> Any:
    """The value of an attribute, which is kept as JSON text."""
    try:
        return from_json(text) if isinstance(text, str) else text
    except ValueError:
        return text
