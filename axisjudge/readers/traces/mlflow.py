"""MLflow's traces: ``{info, data: {spans}}``, alone, in a list or a search, a line each, or as rows of a dataframe.

Who writes them: ``Trace.to_json``, ``mlflow traces get`` and ``search``, and ``search_traces`` as records of JSON
(``trace`` as JSON text, or ``spans``). What a span was given and gave back is JSON text in ``mlflow.spanInputs`` and
``mlflow.spanOutputs``; ``CHAT_MODEL`` and ``LLM`` are calls of a model, ``TOOL`` runs of a tool.
Source: mlflow/mlflow, mlflow/entities/span.py (three versions of a span), trace.py, trace_info.py.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import from_json

from axisjudge.readers.events import (
    UNKNOWN,
    WRONG_SHAPE,
    Line,
    Tally,
    dict_of,
    events_of,
    json_of,
    listed,
    nanoseconds,
    text_at,
)
from axisjudge.readers.messages import Found, word
from axisjudge.readers.traces.openinference import arguments_in
from axisjudge.readers.traces.runs import Run, trajectories_of

FORMAT = "mlflow"
_KINDS = {"LLM": "llm", "CHAT_MODEL": "chat_model", "TOOL": "tool"}
_FAILED = ("STATUS_CODE_ERROR", "ERROR", 2, "2")


def recognise(value: Any) -> bool:
    """Whether the JSON value is a trace, or holds some."""
    return next(_traces(value), None) is not None


def read_log(lines: Iterable[Line], tally: Tally) -> Iterator[Found]:
    """One trajectory a trace."""
    runs: dict[str, Run] = {}
    positions: dict[str, str] = {}
    for position, value in events_of(lines, tally):
        if not recognise(value):
            tally.add(UNKNOWN, "not a trace", position)
        for trace in _traces(value):
            info, spans = trace
            name = str(info.get("trace_id") or info.get("request_id"))
            task = text_at(dict_of(info, "tags"), "task_id")
            for span in spans:
                try:
                    run = _run(span, name, task)
                except (KeyError, TypeError, ValueError, OverflowError):
                    tally.add(WRONG_SHAPE, "a span without its id or times", position)
                else:
                    runs.setdefault(f"{name} {run.id}", run)
                    positions.setdefault(run.trace, position)
    yield from trajectories_of(runs.values(), positions, FORMAT, tally)


def _traces(value: Any) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The traces in a JSON value: what is said of each, and its spans."""
    if not isinstance(value, dict):
        return
    if isinstance(value.get("traces"), list):
        for member in value["traces"]:
            yield from _traces(member)
        return
    whole = json_of(value.get("trace"))
    value = whole if isinstance(whole, dict) else value
    info = dict_of(value, "info") or value
    spans = listed(dict_of(value, "data").get("spans", value.get("spans")))
    known = [span for span in map(json_of, spans) if isinstance(span, dict) and _is_span(span)]
    if known and ("trace_id" in info or "request_id" in info):
        yield info, known


def _is_span(span: dict[str, Any]) -> bool:
    attributes = span.get("attributes")
    return isinstance(attributes, dict) and any(str(key).startswith("mlflow.") for key in attributes)


def _run(span: dict[str, Any], trace: str, task: str | None) -> Run:
    attributes = {key: _value(value) for key, value in span["attributes"].items()}
    status = dict_of(span, "status") or {"code": span.get("status_code"), "message": span.get("status_message")}
    ended = span.get("end_time_unix_nano", span.get("end_time"))
    kind = str(attributes.get("mlflow.spanType")).upper()
    given = attributes.get("mlflow.spanInputs")
    if kind == "TOOL" and isinstance(given, str):
        given = json_of(arguments_in(given))
    return Run(
        id=str(span.get("span_id") or span["context"]["span_id"]),
        trace=trace,
        parent=word(span.get("parent_span_id") or span.get("parent_id")),
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
