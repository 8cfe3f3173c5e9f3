"""Agents' traces in OpenTelemetry and AXIS's own transcripts, made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from readers.made_logs import at, counted, log, only, outline

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories

SECOND = 10**9
START = 1_777_888_800 * SECOND  # 2026-05-04T10:00:00Z


def otlp_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(member) for member in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": otlp_value(v)} for k, v in value.items()]}}
    return {"stringValue": value}


def otlp_attributes(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": otlp_value(value)} for key, value in attributes.items()]


def otlp(spans: list[dict[str, Any]], *, outer: str = "resourceSpans", scope: str = "scopeSpans") -> dict[str, Any]:
    """Spans as OTLP's JSON; Tempo calls the members by other names."""
    made = [
        {
            "traceId": span.get("trace", "t1"),
            "spanId": span["id"],
            "parentSpanId": span.get("parent", ""),
            "name": span.get("name", "span"),
            "startTimeUnixNano": str(START + int(span["start"] * SECOND)),
            "endTimeUnixNano": START + int(span["end"] * SECOND),
            "attributes": otlp_attributes(span["attributes"]),
            "events": [{"name": name, "attributes": otlp_attributes(told)} for name, told in span.get("events", [])],
            "status": span.get("status", {}),
        }
        for span in spans
    ]
    return {outer: [{"resource": {}, scope: [{"spans": made}]}]}


def jaeger(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """The same spans as Jaeger's JSON."""
    made = []
    for span in spans:
        failed = {"error": True} if span.get("status", {}).get("code") == 2 else {}
        tags = {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in (span["attributes"] | failed).items()}
        logs = [{"event": name, **told} for name, told in span.get("events", [])]
        made.append(
            {
                "traceID": span.get("trace", "t1"),
                "spanID": span["id"],
                "operationName": span.get("name", "span"),
                "references": [{"refType": "CHILD_OF", "spanID": span["parent"]}] if "parent" in span else [],
                "startTime": (START + int(span["start"] * SECOND)) // 1000,
                "duration": round((span["end"] - span["start"]) * 10**6),
                "tags": [{"key": key, "type": "string", "value": value} for key, value in tags.items()],
                "logs": [
                    {"timestamp": 0, "fields": [{"key": k, "value": v} for k, v in record.items()]} for record in logs
                ],
            }
        )
    return {"data": [{"traceID": "t1", "spans": made}]}


CALLS = [
    {"id": "a", "name": "find", "arguments": '{"hall": 1}'},
    {"id": "b", "name": "find", "arguments": '{"hall": 2}'},
]
TOOL_SPANS = [
    {
        "id": f"tool-{call['id']}",
        "start": start,
        "end": end,
        "attributes": {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "find",
            "gen_ai.tool.call.id": call["id"],
            "gen_ai.tool.call.arguments": call["arguments"],
            "gen_ai.tool.call.result": result,
        },
        "status": status,
    }
    for call, start, end, result, status in zip(
        CALLS, (2.0, 2.0), (2.5, 4.0), ("P-1", "no such hall"), ({}, {"code": 2, "message": "failed"}), strict=True
    )
]


def older() -> list[dict[str, Any]]:
    """Two model calls with numbered attributes, inside a framework's span that tells the first again."""
    asked = {"gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be brief."}
    asked |= {
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "Count.",
        "gen_ai.response.model": "gpt-5-mini",
    }
    replied = {f"gen_ai.completion.0.tool_calls.{n}.{k}": v for n, c in enumerate(CALLS) for k, v in c.items()}
    again = {k.replace("completion.0", "prompt.2"): v for k, v in replied.items()} | {
        "gen_ai.prompt.2.role": "assistant"
    }
    heard = {}
    for number, (identity, text) in enumerate((("a", "P-1"), ("b", "no such hall")), 3):
        told = {"role": "tool", "tool_call_id": identity, "content": text}
        heard |= {f"gen_ai.prompt.{number}.{key}": value for key, value in told.items()}
    function = {"name": "find", "description": "Find it.", "parameters": '{"type": "object", "properties": {}}'}
    offered = {f"llm.request.functions.0.{key}": value for key, value in function.items()}
    return [
        {"id": "outer", "start": 0.5, "end": 4.5, "attributes": asked},
        {"id": "m1", "parent": "outer", "start": 1, "end": 1.5, "attributes": asked | replied | offered},
        *TOOL_SPANS,
        {
            "id": "m2",
            "start": 5,
            "end": 6,
            "attributes": asked
            | again
            | heard
            | {"gen_ai.completion.0.content": "One.", "gen_ai.completion.0.finish_reason": "stop"},
        },
        {"id": "http", "start": 0, "end": 7, "attributes": {"http.method": "GET"}},
    ]


def newer() -> list[dict[str, Any]]:
    """The same conversation in messages with parts."""
    system = {"gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}])}
    user = {"role": "user", "parts": [{"type": "text", "content": "Count."}]}
    parts = [{"type": "tool_call", **call, "arguments": json.loads(call["arguments"])} for call in CALLS]
    replied = {"role": "assistant", "parts": parts, "finish_reason": "tool_call"}
    heard = [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": identity, "response": text}]}
        for identity, text in (("a", "P-1"), ("b", "no such hall"))
    ]
    last = {"role": "assistant", "parts": [{"type": "text", "content": "One."}], "finish_reason": "stop"}
    common = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5-mini", **system}
    define = [{"type": "function", "name": "find", "description": "Find it.", "parameters": {"type": "object"}}]

    def messages(before: list[Any], after: list[Any]) -> dict[str, Any]:
        return {"gen_ai.input.messages": json.dumps(before), "gen_ai.output.messages": json.dumps(after)}

    first = common | messages([user], [replied]) | {"gen_ai.tool.definitions": json.dumps(define)}
    second = common | messages([user, replied, *heard], [last]) | {"gen_ai.response.finish_reasons": ["stop"]}
    return [
        {"id": "m1", "start": 1, "end": 1.5, "attributes": first},
        *TOOL_SPANS,
        {"id": "m2", "start": 5, "end": 6, "attributes": second},
    ]


def by_events() -> list[dict[str, Any]]:
    """The same conversation in span events."""
    calls = [
        {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in CALLS
    ]
    asked = [("gen_ai.system.message", {"content": "Be brief."}), ("gen_ai.user.message", {"content": "Count."})]
    replied = ("gen_ai.choice", {"index": 0, "message": json.dumps({"role": "assistant", "tool_calls": calls})})
    again = ("gen_ai.assistant.message", {"tool_calls": json.dumps(calls)})
    heard = [("gen_ai.tool.message", {"id": i, "content": t}) for i, t in (("a", "P-1"), ("b", "no such hall"))]
    last = ("gen_ai.choice", {"index": 0, "message": json.dumps({"role": "assistant", "content": "One."})})
    model = {"gen_ai.request.model": "gpt-5-mini"}
    done = model | {"gen_ai.response.finish_reasons": ["stop"]}
    return [
        {"id": "m1", "start": 1, "end": 1.5, "attributes": model, "events": [*asked, replied]},
        *TOOL_SPANS,
        {"id": "m2", "start": 5, "end": 6, "attributes": done, "events": [*asked, again, *heard, last]},
    ]


def by_request() -> list[dict[str, Any]]:
    """The same conversation as Google's agent kit records it: whole requests and responses."""
    asked = {"role": "user", "parts": [{"text": "Count."}]}
    parts = [{"function_call": {"id": c["id"], "name": "find", "args": json.loads(c["arguments"])}} for c in CALLS]
    replied = {"role": "model", "parts": parts}
    heard = [
        {
            "function_response": {
                "id": identity,
                "name": "find",
                "response": {"content": [{"type": "text", "text": text}]},
            }
        }
        for identity, text in (("a", "P-1"), ("b", "no such hall"))
    ]

    def call(contents: list[Any], content: Any) -> dict[str, Any]:
        request = {"config": {"system_instruction": "Be brief."}, "contents": contents}
        return {
            "gen_ai.request.model": "gpt-5-mini",
            "gen_ai.response.finish_reasons": '["stop"]',
            "gcp.vertex.agent.llm_request": json.dumps(request),
            "gcp.vertex.agent.llm_response": json.dumps({"content": content}),
        }

    last = {"role": "model", "parts": [{"text": "One."}]}
    history = [asked, replied, {"role": "user", "parts": heard}]
    return [
        {"id": "m1", "start": 1, "end": 1.5, "attributes": call([asked], replied)},
        *TOOL_SPANS,
        {"id": "m2", "start": 5, "end": 6, "attributes": call(history, last)},
    ]


@pytest.mark.parametrize("export", ["jaeger", "otlp", "tempo", "trace"])
@pytest.mark.parametrize("generation", [older, newer, by_events, by_request])
def test_the_same_conversation_from_every_export_and_generation(tmp_path: Path, export: str, generation: Any) -> None:
    spans = generation()
    tempo = otlp(spans, outer="batches", scope="instrumentationLibrarySpans")
    value = {"jaeger": jaeger(spans), "otlp": otlp(spans), "tempo": tempo, "trace": {"trace": otlp(spans)}}[export]
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(value, indent=1))
    reading = read_trajectories(file)
    run = only(reading)
    assert outline(run) == [
        ("system", "Be brief."),
        ("user", "Count."),
        ("assistant", " [find {'hall': 1}] [find {'hall': 2}]"),
        ("tool", "P-1"),
        ("tool", "no such hall"),
        ("assistant", "One."),
    ]
    results = [step for step in run.steps if step.role == "tool"]
    assert [(step.tool_call_id, step.error, step.duration_s) for step in results] == [
        ("a", False, 0.5),
        ("b", True, 2.0),
    ]
    times = ["01.000000", "01.000000", "01.500000", "02.500000", "04.000000", "06.000000"]
    assert [step.timestamp for step in run.steps] == [f"2026-05-04T10:00:{second}Z" for second in times]
    assert (run.id, run.agent, run.agent_family, run.termination) == ("t1", "gpt-5-mini", "openai", "stop")
    assert [tool.name for tool in run.tools or ()] == (["find"] if generation in (older, newer) else [])
    assert reading.summary().warnings == ({"an event that is no step": 2} if generation is older else {})


def test_spans_of_a_conversation_over_several_traces_and_lines(tmp_path: Path) -> None:
    def turn(trace: str, start: float, said: list[str]) -> dict[str, Any]:
        told = {f"gen_ai.prompt.{n}.{k}": v for n, text in enumerate(said[:-1])
                for k, v in (("role", "user" if n % 2 == 0 else "assistant"), ("content", text))}  # fmt: skip
        told |= {"gen_ai.completion.0.content": said[-1], "gen_ai.conversation.id": "c1"}
        return otlp([{"id": f"{trace}-m", "trace": trace, "start": start, "end": start + 1, "attributes": told}])

    reading = log(tmp_path / "t.jsonl", turn("x", 0, ["One?", "Yes."]), turn("y", 5, ["One?", "Yes.", "Two?", "Yes."]))
    run = only(reading)
    assert (run.id, run.meta["traces"]) == ("c1", ["x", "y"])
    assert outline(run) == [("user", "One?"), ("assistant", "Yes."), ("user", "Two?"), ("assistant", "Yes.")]


def test_tool_spans_without_a_model_call_make_their_own_calls(tmp_path: Path) -> None:
    traceloop = {"span.kind": "tool", "entity.name": "find", "entity.input": '{"hall": 1}', "entity.output": "P-1"}
    finds = {f"traceloop.{key}": value for key, value in traceloop.items()}
    failed = {"code": "STATUS_CODE_ERROR", "message": "no scale"}
    spans = [
        {"id": "a", "start": 1, "end": 3, "attributes": finds},
        {"id": "b", "start": 2, "end": 4, "attributes": {"gen_ai.tool.name": "weigh"}, "status": failed},
    ]
    run = only(log(tmp_path / "t.json", otlp(spans)))
    assert outline(run) == [
        ("assistant", " [find {'hall': 1}] [weigh {}]"),
        ("tool", "P-1"),
        ("tool", "no scale"),
    ]
    assert [(step.tool_name, step.error) for step in run.steps[1:]] == [("find", False), ("weigh", True)]


@pytest.mark.parametrize("missing", ["endTimeUnixNano", "startTimeUnixNano", "spanId"])
def test_a_span_of_a_tool_that_lacks_its_time_or_id_is_not_left_out(tmp_path: Path, missing: str) -> None:
    of_tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    whole = otlp([{"id": "m", "start": 0, "end": 1, "attributes": of_tool}])
    del whole["resourceSpans"][0]["scopeSpans"][0]["spans"][0][missing]
    with pytest.raises(InputError, match="without its ids, times or attributes, which tells of a call"):
        log(tmp_path / "t.json", whole)


def test_spans_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    good = otlp([{"id": "m", "start": 0, "end": 1, "attributes": {"gen_ai.completion.0.content": "Hi."}}])
    spans = good["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans += [{"name": "no ids"}, "no span", {**spans[0], "traceId": "t2", "attributes": []}]
    reading = log(tmp_path / "t.json", good)
    assert outline(only(reading)) == [("assistant", "Hi.")]
    assert reading.summary().warnings == {
        "an event of the wrong shape is left out": 2,
        "an event that is no step": 1,
        "a trace without a model call or a tool call": 1,
    }


# ---- AXIS ------------------------------------------------------------------------------------------------------------


def entry(kind: str, second: float | None, /, **content: Any) -> dict[str, Any]:
    return {"type": kind, **({"timestamp": at(second)} if second is not None else {}), "content": content}


LOOKS = [
    {"type": "text", "text": "Look."},
    {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}},
]
FOUND = [{"type": "tool_result", "tool_use_id": "a", "content": "P-1"}]
ENTRIES = [
    entry("system", 0, type="system", subtype="init", model="claude-opus-4-1", session_id="s"),
    entry("assistant", 1, type="assistant", message={"id": "m", "role": "assistant", "content": LOOKS}),
    entry("tool_result", 2, type="user", message={"role": "user", "content": FOUND}),
    entry("tool_use", 3, tool_name="fetch", tool_id="b", parameters={"url": "x"}, kind="fetch"),
    entry("error", 4, error="Tool failed", tool_id="b"),
    entry("tool_use", 5, type="command_execution", id="c", command="ls", status="in_progress"),
    entry("tool_result", 6, type="command_execution", id="c", aggregated_output="no", exit_code=1, status="failed"),
    entry("assistant", 7, type="reasoning", text="Hm."),
    entry("assistant", None, text="One."),
    entry("error", 9, message="stream lost"),
    entry("system", 9, type="plan", entries=[]),
    entry("system", 9, text="Time is up."),
]
STEPS = [
    ("assistant", "Look. [Bash {'command': 'ls'}]"),
    ("tool", "P-1"),
    ("assistant", " [fetch {'url': 'x'}]"),
    ("tool", "Tool failed"),
    ("assistant", " [command_execution {'command': 'ls'}]"),
    ("tool", "no"),
    ("thinking", "Hm."),
    ("assistant", "One."),
    ("error", "stream lost"),
    ("system", "Time is up."),
]


def test_axis_report_keeps_its_entries_and_its_run(tmp_path: Path) -> None:
    metadata = {"startTime": at(0), "endTime": at(10), "exitCode": 0, "durationMs": 10_000}
    report = {
        "scenarioKey": "parcels/count",
        "scenarioName": "Count",
        "agentName": "claude-code",
        "prompt": "Count.",
        "rubric": [{"check": "right number"}],
        "agentConfig": {"agent": "claude-code", "model": "claude-opus-4-1"},
        "output": {"transcript": ENTRIES, "result": "One.", "metadata": metadata},
    }
    file = tmp_path / "claude-code.json"
    file.write_text(json.dumps(report, indent=2))
    reading = read_trajectories(file)
    run = only(reading)
    assert outline(run) == STEPS
    assert run.meta["axis_entries"] == ENTRIES
    assert run.meta["axis_run"] == {"result": "One.", **metadata}
    assert run.meta["axis_scenario"]["rubric"] == [{"check": "right number"}]
    assert (run.agent, run.agent_family, run.task_id) == ("claude-code", "anthropic", "parcels/count")
    assert [step.error for step in run.steps if step.role == "tool"] == [False, True, True]
    assert [step.timestamp for step in run.steps[6:8]] == [at(7), None]
    assert counted(reading) == {
        ("an event that is no step", "system init"): 1,
        ("an event that is no step", "system plan"): 1,
    }


@pytest.mark.parametrize("lines", [True, False])
def test_axis_entries_alone(tmp_path: Path, lines: bool) -> None:
    if lines:
        run = only(log(tmp_path / "entries.jsonl", *ENTRIES))
    else:
        (tmp_path / "entries.json").write_text(json.dumps(ENTRIES, indent=1))
        run = only(read_trajectories(tmp_path / "entries.json"))
    assert (outline(run), run.meta["axis_entries"]) == (STEPS, ENTRIES)


def test_axis_report_folder_counts_each_run_once(tmp_path: Path) -> None:
    """The raw output beside a report is the same run again, under the same session."""
    (tmp_path / "a.json").write_text(json.dumps({"output": {"transcript": ENTRIES, "metadata": {"sessionId": "s"}}}))
    raw = [item["content"] for item in ENTRIES[:3]]
    alone = log(tmp_path / "a.raw.ndjson", *raw)
    assert only(alone).source == "claude_code"
    reading = read_trajectories(tmp_path)
    assert only(reading).source == "axis"
    assert counted(reading)["passed over", "the raw output of the run in a.json"] == 1
