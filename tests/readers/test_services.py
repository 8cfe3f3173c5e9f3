"""Langfuse's observations and MLflow's spans: traces of ours from their public schemas, counted from the raw JSON."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from readers.conversations import write

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories

NS = 1_767_261_600 * 10**9
ASKED = {"role": "user", "content": "Where are P-11 and P-12? 🚚"}
CALLS = [
    {"id": f"c{n}", "type": "function", "function": {"name": "find", "arguments": json.dumps({"parcel_id": parcel})}}
    for n, parcel in enumerate(("P-11", "P-12"))
]
SAID = {"role": "assistant", "content": None, "tool_calls": CALLS}
ANSWERS = [
    {"role": "tool", "tool_call_id": "c1", "content": "unknown parcel"},
    {"role": "tool", "tool_call_id": "c0", "content": "hall 7"},
]
DONE = {"role": "assistant", "content": "P-11 is in hall 7."}
SCHEMA = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
MODEL: dict[str, Any] = {"model": "gpt-4o", "messages": [ASKED]}
FIRST = {"choices": [{"message": SAID}]}
LAST = {"choices": [{"message": DONE, "finish_reason": "stop"}]}
#: Name, kind, start and end in seconds, what it was given and gave back, whether it failed. The second result is first.
WORK: list[tuple[str, str, int, int, Any, Any, bool]] = [
    ("agent", "AGENT", 0, 9, {"question": "where"}, "P-11 is in hall 7.", False),
    ("chat", "MODEL", 1, 2, {**MODEL, "tools": [SCHEMA]}, FIRST, False),
    ("find", "TOOL", 3, 5, {"parcel_id": "P-11"}, "hall 7", False),
    ("find", "TOOL", 3, 4, {"parcel_id": "P-12"}, "unknown parcel", True),
    ("chat", "MODEL", 6, 7, {**MODEL, "messages": [ASKED, SAID, *ANSWERS]}, LAST, False),
]


def moment(second: int) -> str:
    return f"2026-01-01T10:00:{second:02}.000Z"


def observations(trace: str = "t1") -> list[dict[str, Any]]:
    return [
        {
            "id": f"{trace}-o{n}",
            "traceId": trace,
            "type": {"MODEL": "GENERATION"}.get(kind, kind),
            "name": name,
            "startTime": moment(start),
            "endTime": moment(end),
            "parentObservationId": f"{trace}-o0" if n else None,
            "input": given,
            "output": gave["choices"][0]["message"] if kind == "MODEL" else gave,
            "model": "gpt-4o" if kind == "MODEL" else None,
            "level": "ERROR" if failed else "DEFAULT",
            "statusMessage": "no such parcel" if failed else None,
            "metadata": {},
        }
        for n, (name, kind, start, end, given, gave, failed) in enumerate(WORK)
    ]


def langfuse(trace: str = "t1") -> dict[str, Any]:
    held = {"id": trace, "name": "run", "timestamp": moment(0), "input": None, "output": None, "scores": []}
    return {**held, "observations": observations(trace)}


def mlflow(trace: str = "tr-1", version: int = 4) -> dict[str, Any]:
    """A trace by MLflow; its spans are of version 2, 3 or 4."""
    spans = []
    for n, (name, kind, start, end, given, gave, failed) in enumerate(WORK):
        kind = {"MODEL": "CHAT_MODEL"}.get(kind, kind)
        told = {"traceRequestId": trace, "spanType": kind, "spanInputs": given, "spanOutputs": gave}
        span: dict[str, Any] = {
            "name": name,
            "events": [],
            "attributes": {f"mlflow.{key}": json.dumps(value) for key, value in told.items()},
        }
        parent = "s0" if n else None
        code = "ERROR" if failed else "OK"
        if version == 2:
            span |= {"context": {"trace_id": "0x1", "span_id": f"s{n}"}, "parent_id": parent}
            span |= {"start_time": NS + start * 10**9, "end_time": NS + end * 10**9, "status_code": code}
        else:
            span |= {"trace_id": "AAAA", "span_id": f"s{n}", "parent_span_id": parent or ""}
            span |= {"start_time_unix_nano": NS + start * 10**9, "end_time_unix_nano": NS + end * 10**9}
            span["status"] = {"code": f"STATUS_CODE_{code}" if version == 3 else code, "message": ""}
        spans.append(span)
    name = "request_id" if version == 2 else "trace_id"
    return {"info": {name: trace, "state": "OK", "request_time": moment(0)}, "data": {"spans": spans}}


def row(trace: dict[str, Any]) -> dict[str, Any]:
    """As `search_traces` gives it in a dataframe."""
    info, spans = trace["info"], trace["data"]["spans"]
    request = {"messages": [ASKED]}
    return {**info, "trace": json.dumps(trace), "request": request, "response": "?", "spans": spans}


EXPORTS: dict[str, tuple[str, Callable[[], Any], int]] = {
    "Langfuse, a trace": ("langfuse", langfuse, 1),
    "Langfuse, its page's download": (
        "langfuse",
        lambda: {"trace": {"id": "t1", "timestamp": moment(0)}, "observations": observations()},
        1,
    ),
    "Langfuse, a list of traces": ("langfuse", lambda: [langfuse("a"), langfuse("b")], 2),
    "Langfuse, observations": ("langfuse", lambda: {"data": observations()[::-1], "meta": {"page": 1}}, 1),
    "Langfuse, a list of observations": ("langfuse", observations, 1),
    "MLflow, a trace": ("mlflow", mlflow, 1),
    "MLflow, version 3": ("mlflow", lambda: mlflow(version=3), 1),
    "MLflow, version 2": ("mlflow", lambda: mlflow(version=2), 1),
    "MLflow, a search": ("mlflow", lambda: {"traces": [mlflow("a"), mlflow("b")]}, 2),
    "MLflow, rows": ("mlflow", lambda: [row(mlflow("a")), row(mlflow("b"))], 2),
}


def ids(value: Any) -> Iterator[str]:
    """The ids of calls in what was given and came back, wherever they stand in the raw JSON."""
    text = json.dumps(value)
    yield from (name for name in ("c0", "c1") if name in text)


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("lines", [False, True])
def test_a_trace_is_a_run_with_its_calls_once(tmp_path: Path, export: str, lines: bool) -> None:
    form, make, runs = EXPORTS[export]
    value = make()
    path = tmp_path / "export"
    path.write_text("\n".join(map(json.dumps, value)) if lines and isinstance(value, list) else json.dumps(value))
    reading = read_trajectories(path)
    assert ([file.format for file in reading.files], len(reading.trajectories)) == ([form], runs)
    for run in reading.trajectories:
        assert [call.id for step in run.steps for call in step.tool_calls] == sorted(ids(value))
        assert [(s.role, s.tool_call_id, s.error) for s in run.steps] == [
            ("user", None, None),
            ("assistant", None, None),
            ("tool", "c1", True),
            ("tool", "c0", False),
            ("assistant", None, None),
        ]
        assert [step.content for step in run.steps][2:] == ["unknown parcel", "hall 7", "P-11 is in hall 7."]
        assert (run.agent, run.agent_family, [tool.name for tool in run.tools or ()]) == ("gpt-4o", "openai", ["find"])
    assert {run.id for run in reading.trajectories} <= {"t1", "a", "b", "tr-1"}, "scores of the service say this id"


def test_tools_that_langfuse_lists_among_the_messages_are_tools(tmp_path: Path) -> None:
    trace = langfuse()
    trace["observations"][1]["input"] = [ASKED, {"role": "tool", "content": SCHEMA}]
    (run,) = read_trajectories(write(tmp_path / "x.json", trace)).trajectories
    assert [tool.name for tool in run.tools or ()] == ["find"]
    assert sum(step.role == "tool" for step in run.steps) == 2


CALL = {"type": "tool_use", "id": "c", "name": "find", "input": {}}
PART = {"functionCall": {"name": "find", "args": {}}}


@pytest.mark.parametrize(
    "output",
    [
        [{"type": "text", "text": "I look."}, CALL],
        {"content": None, "tool_calls": CALLS[:1]},
        {"candidates": [{"content": {"role": "model", "parts": [PART]}}]},
        [{"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"}],
        {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": CALLS[:1]}},
        {"role": "assistant", "content": '<tool_call>{"name": "find", "arguments": {}}</tool_call>'},
    ],
)
def test_a_call_in_the_words_of_every_provider(tmp_path: Path, output: Any) -> None:
    trace = {**langfuse(), "observations": [{**observations()[1], "output": output}]}
    spans = mlflow()
    spans["data"]["spans"] = spans["data"]["spans"][1:2]
    spans["data"]["spans"][0]["attributes"]["mlflow.spanOutputs"] = json.dumps(output)
    for value in (trace, spans):
        (run,) = read_trajectories(write(tmp_path / "x.json", value)).trajectories
        assert [call.name for step in run.steps for call in step.tool_calls] == ["find"]


def test_a_result_that_is_a_message_answers_the_call_that_it_names(tmp_path: Path) -> None:
    trace = langfuse()
    *_, first, second, _ = trace["observations"]
    for tool, answer in ((first, ANSWERS[1]), (second, ANSWERS[0])):
        tool |= {"input": {}, "output": answer, "startTime": moment(3), "endTime": moment(4)}
    trace["observations"] = [*trace["observations"][:2], second, first]
    (run,) = read_trajectories(write(tmp_path / "x.json", trace)).trajectories
    told = {step.tool_call_id: step.content for step in run.steps if step.role == "tool"}
    assert told == {answer["tool_call_id"]: answer["content"] for answer in ANSWERS}


def test_what_went_wrong_is_the_result_of_a_tool_that_gave_nothing_back(tmp_path: Path) -> None:
    trace = langfuse()
    trace["observations"].pop()
    trace["observations"][-1]["output"] = None
    (run,) = read_trajectories(write(tmp_path / "x.json", trace)).trajectories
    assert [(step.content, step.error) for step in run.steps if step.role == "tool"] == [
        ("no such parcel", True),
        ("hall 7", False),
    ]


def test_a_trace_with_a_tool_alone_is_not_counted_as_one_without_calls(tmp_path: Path) -> None:
    trace = langfuse()
    trace["observations"] = trace["observations"][:3:2]
    warnings = read_trajectories(write(tmp_path / "x.json", trace)).summary().warnings
    assert "a trace without a model call or a tool call" not in warnings


def test_without_generations_the_trace_tells_the_conversation(tmp_path: Path) -> None:
    trace = {**langfuse(), "input": {"messages": [ASKED]}, "output": DONE, "observations": []}
    (run,) = read_trajectories(write(tmp_path / "x.json", trace)).trajectories
    assert [step.role for step in run.steps] == ["user", "assistant"]


def test_ids_of_observations_alone_are_refused_with_the_way_to_get_them(tmp_path: Path) -> None:
    trace = {**langfuse(), "observations": ["o1", "o2"]}
    with pytest.raises(InputError, match="fetch each trace"):
        read_trajectories(write(tmp_path / "x.json", trace))


STREAMS: dict[str, Any] = {
    "chunks": {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}}]},
    "get_final_message": {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}},
    "response.completed": {"type": "response.output_item.done", "item": {"type": "function_call"}},
    "tasks_output": {"raw": "x", "tasks_output": [{"raw": "x", "agent": "a"}]},
    "history": {"trajectory": [{"action": "ls", "observation": "a"}], "info": {}},
    "OpenHands": [{"id": 0, "source": "agent", "action": "run", "args": {"command": "ls"}}],
    "include_spans": {"info": {"trace_id": "t"}, "data": {"spans": []}},
    "list of messages": [{"system": "s", "chat": "USER: a ASSISTANT: b"}],
    "not runs": [{"instruction": "a", "input": "", "output": "b"}],
    "axisjudge schema trajectory": [{"weather": "grey"}],
}


@pytest.mark.parametrize("cure", STREAMS)
def test_what_is_no_record_of_runs_is_refused_with_what_to_bring(tmp_path: Path, cure: str) -> None:
    with pytest.raises(InputError) as caught:
        read_trajectories(write(tmp_path / "x.json", STREAMS[cure]))
    assert cure.removesuffix("chunks") in str(caught.value.cure)
