"""Traces that services keep of agents: LangSmith, Langfuse and MLflow."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic_core import from_json

from axisjudge.checks import InputError
from axisjudge.readers.events import dict_of, json_of, listed, nanoseconds, text_at
from axisjudge.readers.messages import word
from axisjudge.readers.traces.openinference import arguments_in
from axisjudge.readers.traces.runs import SpannedRun, log_of_runs

# LangSmith's runs: a record of each chain, model call and tool run, from which the conversation is put together.
#
# Who writes them: ``Client.list_runs`` and ``Client.read_run(load_child_runs=True)`` of the SDK, dumped as JSON or
# JSON Lines; ``POST /runs/query`` (``{"runs": [...]}``); ``langsmith trace export`` and ``run export`` (a run a line,
# ``run_id`` for ``id``) and ``langsmith trace get``. Inputs and outputs are those of LangChain (``messages`` in
# batches, ``generations``), of the SDK's wrappers (OpenAI chat and Responses, Anthropic), or of the traced function.
# Source: https://github.com/langchain-ai/langsmith-sdk (python/langsmith/schemas.py, wrappers/),
# https://github.com/langchain-ai/langsmith-cli (internal/extract/extract.go), langchain_core/tracers/core.py.

_LANGSMITH = "langsmith"
_THREADS = ("thread_id", "session_id", "conversation_id")


def _langsmith_records(value: Any, *, inside: bool = False) -> Iterator[dict[str, Any]]:
    """The runs in a JSON value, those inside others too."""
    if not isinstance(value, dict):
        return
    if inside or (isinstance(value.get("run_type"), str) and ("id" in value or "run_id" in value)):
        yield value
        for child in listed(value.get("child_runs")):
            yield from _langsmith_records(child, inside=True)
    elif isinstance(value.get("runs"), list):
        for member in value["runs"]:
            yield from _langsmith_records(member)


def _langsmith_run(record: dict[str, Any]) -> SpannedRun:
    identity = str(record["id"] if "id" in record else record["run_id"])
    order = text_at(record, "dotted_order") or ""
    above = order.split(".")[0][-36:]  # a time and the id of the root, then those of the runs below it
    parent = word(record.get("parent_run_id"))
    if parent is None and "." in order:
        parent = order.split(".")[-2][-36:]
    ended = record.get("end_time")
    extra = json_of(record.get("extra"))
    settings = extra if isinstance(extra, dict) else {"metadata": record.get("custom_metadata")}
    asked, metadata = dict_of(settings, "invocation_params"), dict_of(settings, "metadata")
    return SpannedRun(
        id=identity,
        trace=text_at(record, "trace_id") or above or identity,
        parent=parent,
        kind=record["run_type"].lower(),
        name=str(record.get("name")),
        start=nanoseconds(record["start_time"]),
        end=None if ended is None else nanoseconds(ended),
        inputs=json_of(record.get("inputs")),
        outputs=json_of(record.get("outputs")),
        problem=text_at(record, "error"),
        model=text_at(metadata, "ls_model_name") or text_at(asked, "model", "model_name"),
        thread=next(filter(None, (word(metadata.get(key)) for key in _THREADS)), None),
        task=word(record.get("reference_example_id")),
        call=text_at(settings, "tool_call_id"),
        tools=listed(asked.get("tools")),
        failed=record.get("status") == "error",
    )


# Langfuse: a trace with its observations, or observations alone.
#
# Who writes them: ``GET /api/public/traces/ID`` (``api.trace.get`` of the SDK), ``GET /api/public/observations``
# (``{data, meta}``), the download of a trace in its page (``{trace, observations}``), and lists or lines of any of
# these. A ``GENERATION`` is a call of a model, a ``TOOL`` a run of a tool; the trace stands above both, so that its
# own input and output tell the conversation where no generation is kept. Source: langfuse/langfuse,
# fern/apis/server/definition/trace.yml and observations.yml; langfuse/langfuse-python,
# langfuse/langchain/CallbackHandler.py, which lists the tools offered as messages of the role ``tool``.

_LANGFUSE = "langfuse"
_LANGFUSE_KINDS = {"GENERATION": "llm", "TOOL": "tool"}


def _langfuse_records(value: Any) -> Iterator[dict[str, Any]]:
    """The observations of a JSON value, and each trace as one that stands above its own."""
    if not isinstance(value, dict):
        return
    trace = dict_of(value, "trace") or value
    inside = value.get("observations", trace.get("observations"))
    if isinstance(inside, list) and "id" in trace and ("timestamp" in trace or "trace" in value):
        if any(isinstance(one, str) for one in inside):
            cure = "fetch each trace by its id, GET /api/public/traces/ID, and keep what comes back"
            raise InputError("observations", "names its observations and does not hold them", inside[0], cure)
        starts = [one.get("startTime") for one in inside if isinstance(one, dict)]
        start = min(filter(None, map(word, [trace.get("timestamp"), *starts])), default=None)
        yield {"type": "TRACE", "traceId": trace["id"], "startTime": start, **trace}
        for one in inside:
            if isinstance(one, dict):
                parent = one.get("parentObservationId") or trace["id"]
                yield {"traceId": trace["id"], **one, "parentObservationId": parent}
    elif {"id", "traceId", "type", "startTime"} <= value.keys():
        yield value
    elif isinstance(value.get("data"), list) and "meta" in value:
        for member in value["data"]:
            yield from _langfuse_records(member)


def _langfuse_run(record: dict[str, Any]) -> SpannedRun:
    kind = str(record["type"]).upper()
    inputs, tools = _without_tools(json_of(record.get("input")))
    ended, failed = record.get("endTime"), record.get("level") == "ERROR"
    return SpannedRun(
        id=str(record["id"]),
        trace=str(record["traceId"]),
        parent=word(record.get("parentObservationId")),
        kind=_LANGFUSE_KINDS.get(kind, kind.lower()),
        name=str(record.get("name")),
        start=nanoseconds(record["startTime"]),
        end=None if ended is None else nanoseconds(ended),
        inputs=inputs,
        outputs=json_of(record.get("output")),
        problem=text_at(record, "statusMessage") or "error" if failed else None,
        model=text_at(record, "model", "providedModelName"),
        task=text_at(dict_of(record, "metadata"), "task_id"),
        call=text_at(dict_of(record, "metadata"), "tool_call_id"),
        tools=tools,
    )


def _without_tools(inputs: Any) -> tuple[Any, list[Any]]:
    """What a model was given, apart from the tools it was offered."""
    if not isinstance(inputs, list):
        return inputs, []
    offered = [_offered(message) for message in inputs]
    return [one for one, tool in zip(inputs, offered, strict=True) if tool is None], [*filter(None, offered)]


def _offered(message: Any) -> dict[str, Any] | None:
    content = json_of(message.get("content")) if isinstance(message, dict) and message.get("role") == "tool" else None
    is_schema = (
        isinstance(content, dict) and content.get("type") == "function" and "name" in dict_of(content, "function")
    )
    return content if is_schema and not message.get("tool_call_id") else None


# MLflow's traces: ``{info, data: {spans}}``, alone, in a list or a search, a line each, or as rows of a dataframe.
#
# Who writes them: ``Trace.to_json``, ``mlflow traces get`` and ``search``, and ``search_traces`` as records of JSON
# (``trace`` as JSON text, or ``spans``). What a span was given and gave back is JSON text in ``mlflow.spanInputs``
# and ``mlflow.spanOutputs``; ``CHAT_MODEL`` and ``LLM`` are calls of a model, ``TOOL`` runs of a tool. Source:
# mlflow/mlflow, mlflow/entities/span.py (three versions of a span), trace.py, trace_info.py.

_MLFLOW = "mlflow"
_MLFLOW_KINDS = {"LLM": "llm", "CHAT_MODEL": "chat_model", "TOOL": "tool"}
_FAILED = ("STATUS_CODE_ERROR", "ERROR", 2, "2")


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
    records = [span for span in map(json_of, spans) if isinstance(span, dict)]
    if ("trace_id" in info or "request_id" in info) and any(map(_is_span, records)):
        name, task = str(info.get("trace_id") or info.get("request_id")), text_at(dict_of(info, "tags"), "task_id")
        yield from (_Span(name, task, span) for span in records)


def _is_span(span: dict[str, Any]) -> bool:
    attributes = span.get("attributes")
    return isinstance(attributes, dict) and any(str(key).startswith("mlflow.") for key in attributes)


def _mlflow_run(record: _Span) -> SpannedRun:
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
        kind=_MLFLOW_KINDS.get(kind, kind.lower()),
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


SERVICES = (
    log_of_runs(
        _LANGSMITH, _langsmith_records, _langsmith_run, unknown="not a run", broken="a run without its id or start"
    ),
    log_of_runs(
        _LANGFUSE,
        _langfuse_records,
        _langfuse_run,
        unknown="not a trace",
        broken="an observation without its id, trace or start",
    ),
    log_of_runs(_MLFLOW, _spans, _mlflow_run, unknown="not a trace", broken="a span without its id or times"),
)
