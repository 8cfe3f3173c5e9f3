"""LangSmith's runs: a record of each chain, model call and tool run, from which the conversation is put together.

Who writes them: ``Client.list_runs`` and ``Client.read_run(load_child_runs=True)`` of the SDK, dumped as JSON or JSON
Lines; ``POST /runs/query`` (``{"runs": [...]}``); ``langsmith trace export`` and ``run export`` (a run a line,
``run_id`` for ``id``) and ``langsmith trace get``. Inputs and outputs are those of LangChain (``messages`` in batches,
``generations``), of the SDK's wrappers (OpenAI chat and Responses, Anthropic), or of the traced function.
Source: https://github.com/langchain-ai/langsmith-sdk (python/langsmith/schemas.py, wrappers/),
https://github.com/langchain-ai/langsmith-cli (internal/extract/extract.go), langchain_core/tracers/core.py.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from axisjudge.readers.events import Line, Tally, dict_of, json_of, listed, nanoseconds, text_at
from axisjudge.readers.messages import Found, word
from axisjudge.readers.traces.runs import SpannedRun, read_runs

FORMAT = "langsmith"
_THREADS = ("thread_id", "session_id", "conversation_id")


def recognise(value: Any) -> bool:
    """Whether the JSON value is a run, or holds some."""
    return next(_records(value), None) is not None


def read_log(lines: Iterable[Line], tally: Tally) -> Iterator[Found]:
    """One trajectory a trace, or a thread of traces that go on with each other."""
    yield from read_runs(
        lines, tally, FORMAT, _records, _run, unknown="not a run", broken="a run without its id or start"
    )


def _records(value: Any) -> Iterator[dict[str, Any]]:
    """The runs in a JSON value, those inside others too."""
    if not isinstance(value, dict):
        return
    if isinstance(value.get("run_type"), str) and ("id" in value or "run_id" in value):
        yield value
        for child in listed(value.get("child_runs")):
            yield from _records(child)
    elif isinstance(value.get("runs"), list):
        for member in value["runs"]:
            yield from _records(member)


def _run(record: dict[str, Any]) -> SpannedRun:
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
        kind=str(record["run_type"]),
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
