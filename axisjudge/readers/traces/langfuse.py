"""Langfuse: a trace with its observations, or observations alone.

Who writes them: ``GET /api/public/traces/ID`` (``api.trace.get`` of the SDK), ``GET /api/public/observations``
(``{data, meta}``), the download of a trace in its page (``{trace, observations}``), and lists or lines of any of these.
A ``GENERATION`` is a call of a model, a ``TOOL`` a run of a tool; the trace stands above both, so that its own input
and output tell the conversation where no generation is kept.
Source: langfuse/langfuse, fern/apis/server/definition/trace.yml and observations.yml; langfuse/langfuse-python,
langfuse/langchain/CallbackHandler.py, which lists the tools offered as messages of the role ``tool``.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers.events import Line, Tally, dict_of, json_of, nanoseconds, text_at
from axisjudge.readers.messages import Found, word
from axisjudge.readers.traces.runs import SpannedRun, read_runs

FORMAT = "langfuse"
_KINDS = {"GENERATION": "llm", "TOOL": "tool"}


def recognise(value: Any) -> bool:
    """Whether the JSON value is a trace with observations, an observation, or holds such."""
    return next(_records(value), None) is not None


def read_log(lines: Iterable[Line], tally: Tally) -> Iterator[Found]:
    """One trajectory a trace."""
    yield from read_runs(
        lines,
        tally,
        FORMAT,
        _records,
        _run,
        unknown="not a trace",
        broken="an observation without its id, trace or start",
    )


def _records(value: Any) -> Iterator[dict[str, Any]]:
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
            yield from _records(member)


def _run(record: dict[str, Any]) -> SpannedRun:
    kind = str(record["type"]).upper()
    inputs, tools = _without_tools(json_of(record.get("input")))
    ended, failed = record.get("endTime"), record.get("level") == "ERROR"
    return SpannedRun(
        id=str(record["id"]),
        trace=str(record["traceId"]),
        parent=word(record.get("parentObservationId")),
        kind=_KINDS.get(kind, kind.lower()),
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
