"""Real transcripts and traces: stated counts, each counted a second time over the raw JSON."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from test_traces import only

from axisjudge.readers import Reading, read_trajectories
from axisjudge.trajectory import Trajectory


class Counts(NamedTuple):
    """What one file holds: steps of some kinds, calls, and what is no step but counted."""

    user: int
    thinking: int
    calls: int
    results: int
    failed: int
    errors: int
    no_steps: int


def counts_of(reading: Reading) -> Counts:
    steps = [step for run in reading.trajectories for step in run.steps]
    assert all([step.index for step in run.steps] == list(range(len(run.steps))) for run in reading.trajectories)
    passed_over = {"an event that is no step", "reasoning without its text is left out", "a line that is not JSON"}
    warned = reading.summary().warnings
    assert warned.keys() <= passed_over | {"content that is not text is left out"}
    return Counts(
        user=sum(step.role == "user" for step in steps),
        thinking=sum(step.kind == "thinking" for step in steps),
        calls=sum(len(step.tool_calls) for step in steps),
        results=sum(step.role == "tool" for step in steps),
        failed=sum(step.error is True for step in steps),
        errors=sum(step.kind == "error" for step in steps),
        no_steps=sum(warned.get(rule, 0) for rule in passed_over),
    )


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]


def count_claude(path: Path) -> Counts:
    said = [(event["type"], event["message"]) for event in events(path) if "message" in event]
    blocks = [
        (kind, block)
        for kind, message in said
        for block in (
            [{"type": "text"}] if isinstance(message["content"], str) else message["content"]
        )
    ]  # fmt: skip
    kinds = Counter((kind, block["type"]) for kind, block in blocks)
    return Counts(
        user=sum(1 for kind, message in said if kind == "user" and "tool_result" not in str(message["content"])[:200]),
        thinking=kinds["assistant", "thinking"],
        calls=kinds["assistant", "tool_use"],
        results=kinds["user", "tool_result"],
        failed=sum(1 for _, block in blocks if block.get("is_error")),
        errors=sum(len(event.get("errors", [])) for event in events(path)),
        no_steps=len(path.read_text().splitlines()) - len(said) - sum(e["type"] == "result" for e in events(path)),
    )


def count_codex(path: Path) -> Counts:
    kinds = Counter((event["type"], event["payload"].get("type")) for event in events(path))
    payloads = [event["payload"] for event in events(path)]
    outputs = [payload["output"] for payload in payloads if payload.get("type") == "function_call_output"]
    reasoning = [payload for payload in payloads if payload.get("type") == "reasoning"]
    return Counts(
        user=sum(1 for p in payloads if p.get("type") == "message" and p["role"] == "user"),
        thinking=sum(1 for payload in reasoning if payload["summary"]),
        calls=kinds["response_item", "function_call"],
        results=len(outputs),
        failed=sum(1 for out in outputs if out.startswith("failed in") or '"exit_code":0' not in out),
        errors=0,
        no_steps=sum(n for (kind, _), n in kinds.items() if kind in ("event_msg", "turn_context"))
        + sum(1 for payload in reasoning if not payload["summary"]),
    )


TOOL_ITEMS = ("command_execution", "file_change", "mcp_tool_call", "web_search", "todo_list")


def count_codex_exec(path: Path) -> Counts:
    done = [event["item"] for event in events(path) if event["type"] == "item.completed"]
    kinds = Counter(item["type"] for item in done)
    others = Counter(event["type"] for event in events(path))
    tools = sum(kinds[kind] for kind in TOOL_ITEMS)
    return Counts(
        user=0,
        thinking=kinds["reasoning"],
        calls=tools,
        results=tools,
        failed=sum(1 for item in done if item.get("status") == "failed"),
        errors=kinds["error"] + others["error"] + others["turn.failed"],
        no_steps=sum(n for kind, n in others.items() if kind.startswith(("thread", "turn")) or kind == "item.updated"),
    )


def count_gemini(path: Path) -> Counts:
    messages = json.loads(path.read_text())["messages"]
    calls = list(chain.from_iterable(message.get("toolCalls", []) for message in messages))
    return Counts(
        user=sum(1 for message in messages if message["type"] == "user"),
        thinking=sum(len(message.get("thoughts", [])) for message in messages),
        calls=len(calls),
        results=sum(1 for call in calls if call["result"]),
        failed=sum(1 for call in calls if call["status"] != "success"),
        errors=0,
        no_steps=0,
    )


def count_gemini_stream(path: Path) -> Counts:
    kinds = Counter(event["type"] for event in events(path))
    return Counts(0, 0, kinds["tool_use"], kinds["tool_result"], 0, 0, kinds["init"] + kinds["result"])


ROLLOUTS = (
    "codex/rollout-2025-09-25T08-02-05-0199812e-64f0-7f73-91fc-095dda01c36e.jsonl",
    "codex/rollout-2025-09-25T15-12-14-019982b8-3422-79e0-8b3b-05abaf4f3c3e.jsonl",
)
FILES: list[tuple[str, str, Callable[[Path], Counts], Counts]] = [
    ("claude_code/full-session-askuserquestion.jsonl", "claude_code", count_claude, Counts(4, 0, 3, 2, 0, 0, 2)),
    ("claude_code/full-session-two.jsonl", "claude_code", count_claude, Counts(9, 0, 10, 10, 1, 0, 6)),
    ("claude_code/full-session.jsonl", "claude_code", count_claude, Counts(2, 0, 23, 20, 0, 0, 0)),
    ("stream_json/claude_mixed_log.txt", "claude_code", count_claude, Counts(0, 0, 1, 1, 0, 0, 9)),
    ("stream_json/claude_synthetic.jsonl", "claude_code", count_claude, Counts(1, 0, 2, 2, 0, 1, 2)),
    (ROLLOUTS[0], "codex", count_codex, Counts(4, 57, 57, 57, 12, 0, 178)),
    (ROLLOUTS[1], "codex", count_codex, Counts(2, 32, 34, 34, 0, 0, 105)),
    ("codex_exec/stream-output-1.jsonl", "codex_exec", count_codex_exec, Counts(0, 1, 0, 0, 0, 0, 3)),
    ("codex_exec/stream-output-2.jsonl", "codex_exec", count_codex_exec, Counts(0, 1, 1, 1, 0, 0, 3)),
    ("codex_exec/stream-output-3.jsonl", "codex_exec", count_codex_exec, Counts(0, 1, 1, 1, 0, 0, 3)),
    ("stream_json/codex_synthetic.jsonl", "codex_exec", count_codex_exec, Counts(0, 1, 8, 8, 3, 3, 6)),
    ("gemini/session-2025-10-27T19-55-981c87cb.json", "gemini", count_gemini, Counts(3, 31, 13, 13, 2, 0, 0)),
    ("gemini/session-2025-10-29T10-36-453aa339.json", "gemini", count_gemini, Counts(1, 6, 3, 3, 0, 0, 0)),
    ("gemini/session-2025-10-29T10-39-a63242d9.json", "gemini", count_gemini, Counts(1, 2, 1, 1, 1, 0, 0)),
    ("stream_json/gemini_synthetic.jsonl", "gemini", count_gemini_stream, Counts(0, 0, 2, 2, 0, 0, 2)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "form", "count", "stated"), FILES, ids=[name.split("/")[1][:40] for name, *_ in FILES]
)
def test_counts(shared_data: Path, name: str, form: str, count: Callable[[Path], Counts], stated: Counts) -> None:
    path = shared_data / "transcripts" / name
    reading = read_trajectories(path)
    assert [file.format for file in reading.files] == [form]
    assert counts_of(reading) == stated == count(path)


def test_no_other_file_is_there(shared_data: Path) -> None:
    """A sample without stated counts would be read without a test."""
    present = {str(p.relative_to(shared_data / "transcripts")) for p in (shared_data / "transcripts").rglob("*.*")}
    assert present == {name for name, *_ in FILES}
    reading = read_trajectories(shared_data / "transcripts", shared_data / "otel")
    assert (reading.summary().files, reading.summary().trajectories) == (17, 18)
    assert reading.summary().warnings.get("passed over") is None


def test_claude_code_steps_follow_the_messages_of_the_api(shared_data: Path) -> None:
    """Lines of one message are one step; every call keeps the time of its line, every result that of its own."""
    for path in sorted((shared_data / "transcripts" / "claude_code").glob("*.jsonl")):
        run = only(read_trajectories(path))
        lines = [event for event in events(path) if "message" in event]
        messages = [name for name, _ in groupby(line["message"].get("id", line["uuid"]) for line in lines)]
        assert len(run.steps) == len(messages)
        written = {
            block["id"]: line["timestamp"]
            for line in lines if line["type"] == "assistant"
            for block in line["message"]["content"] if block["type"] == "tool_use"
        }  # fmt: skip
        assert {c.id: c.timestamp or step.timestamp for step in run.steps for c in step.tool_calls} == written
        came = {
            line["message"]["content"][0]["tool_use_id"]: line["timestamp"]
            for line in lines
            if line["type"] == "user" and "tool_use_id" in line["message"]["content"][0]
        }
        assert {step.tool_call_id: step.timestamp for step in run.steps if step.role == "tool"} == came
        assert run.agent == "claude-sonnet-4-5-20250929"


def test_claude_code_results_and_endings(shared_data: Path) -> None:
    folder = shared_data / "transcripts" / "stream_json"
    (mixed,) = read_trajectories(folder / "claude_mixed_log.txt").trajectories
    assert (mixed.termination, mixed.meta["duration_ms"], mixed.meta["num_turns"]) == ("success", 10857, 4)
    assert {step.timestamp for step in mixed.steps} == {None}
    first, second = read_trajectories(folder / "claude_synthetic.jsonl").trajectories
    assert (first.termination, second.termination) == ("success", "error_during_execution")
    assert second.meta["axis_run"]["error"].startswith("Permission denied")


def test_codex_durations_are_those_that_the_outputs_state(shared_data: Path) -> None:
    for path in sorted((shared_data / "transcripts" / "codex").glob("*.jsonl")):
        run = only(read_trajectories(path))
        outputs = {
            event["payload"]["call_id"]: event["payload"]["output"]
            for event in events(path)
            if event["payload"].get("type") == "function_call_output"
        }
        stated = {
            identity: json.loads(output)["metadata"]["duration_seconds"] if output.startswith("{") else None
            for identity, output in outputs.items()
        }
        assert {step.tool_call_id: step.duration_s for step in run.steps if step.role == "tool"} == stated
        assert run.agent == "gpt-5-codex"
        assert all(step.timestamp for step in run.steps if step.role != "tool" or step.duration_s is not None)
        both = [each for each in run.steps if each.role == "tool" and each.duration_s is None and each.timestamp]
        assert not both, "call and output are written at one moment, which times nothing"


def test_every_duration_of_a_call_is_the_stated_one_or_the_difference_of_raw_time_stamps(shared_data: Path) -> None:
    found: Counter[str | None] = Counter()
    for path in sorted((shared_data / "transcripts" / "claude_code").glob("*.jsonl")):
        begun, ended, stated = {}, {}, {}
        for event in events(path):
            for block in event.get("message", {}).get("content", ()):
                if isinstance(block, dict) and block.get("type") == "tool_use":
                    begun[block["id"]] = datetime.fromisoformat(event["timestamp"])
                elif isinstance(block, dict) and block.get("type") == "tool_result":
                    ended[block["tool_use_id"]] = datetime.fromisoformat(event["timestamp"])
                    result = event.get("toolUseResult")
                    stated |= (
                        {block["tool_use_id"]: result["totalDurationMs"] / 1000} if "totalDurationMs" in result else {}
                    )
        for run in read_trajectories(path).trajectories:
            for call, took, source in run.call_durations:
                came = ended.get(call.id)
                raw = stated.get(call.id, None if came is None else (came - begun[call.id]).total_seconds())
                assert took == raw
                assert source == ("stated" if call.id in stated else "timestamps" if came else None)
                found[source] += 1
    assert found == {"timestamps": 31, "stated": 1, None: 4}


def test_a_session_that_writes_calls_with_their_results_times_none_of_them(shared_data: Path) -> None:
    folder = shared_data / "transcripts" / "gemini"
    sources = {path.stem[-8:]: only(read_trajectories(path)).call_durations for path in folder.glob("*.json")}
    assert {name: {source for *_, source in calls} for name, calls in sources.items()} == {
        "981c87cb": {"timestamps"},
        "453aa339": {None},
        "a63242d9": {None},
    }


@pytest.mark.parametrize(
    ("name", "n_tools", "others"), [("helm.json", 9, 93), ("tempo_export_with_batches.json", 10, 83)]
)
def test_traces(shared_data: Path, name: str, n_tools: int, others: int) -> None:
    path = shared_data / "otel" / name
    reading = read_trajectories(path)
    run: Trajectory = only(reading)
    assert [step.role for step in run.steps] == ["system", "user", "assistant", "tool", "assistant"]
    assert (run.agent, run.agent_family, run.termination) == ("gpt-4.1-mini-2025-04-14", "openai", "stop")
    assert len(run.tools or ()) == n_tools
    value = json.loads(path.read_text())
    spans = (
        value["data"][0]["spans"]
        if "data" in value
        else [
            span
            for batch in value["batches"]
            for scope in batch["instrumentationLibrarySpans"]
            for span in scope["spans"]
        ]
    )
    names = [span.get("operationName", span.get("name")) for span in spans]
    calls = sum(name == "openai.chat" for name in names)
    tools = sum(name.startswith("execute_tool") for name in names)
    assert (calls, tools) == (2, 1)
    assert reading.summary().warnings == {"an event that is no step": others}
    assert others == len(spans) - calls - tools
    (tool,) = (span for span in spans if span.get("operationName", span.get("name")).startswith("execute_tool"))
    duration = (
        tool["duration"] / 1e6 if "duration" in tool else (tool["endTimeUnixNano"] - tool["startTimeUnixNano"]) / 1e9
    )
    assert run.steps[3].duration_s == pytest.approx(duration)
    assert run.steps[3].tool_call_id == run.steps[2].tool_calls[0].id
    assert run.steps[3].content.startswith("NAME")


def test_axis_oracle_cases_keep_entries_and_run(oracles: Path, tmp_path: Path) -> None:
    """The scorer needs them exactly as they are; entries that are no steps are counted."""
    cases = json.loads(gzip.decompress((oracles / "axis_cases.json.gz").read_bytes()))["cases"]
    for number, case in enumerate(cases):
        (tmp_path / f"{number:03}.json").write_text(json.dumps(case))
    reading = read_trajectories(tmp_path)
    assert len(reading.trajectories) == len(cases) == 179
    mended = [warning.file for warning in reading.warnings if "half of a character pair" in warning.rule]
    assert len(mended) == 1
    for case, run in zip(cases, reading.trajectories, strict=True):
        assert run.meta["axis_run"] == case["run"]
        assert run.meta["axis_entries"] == case["transcript"] or "surrogate" in case["id"]
        calls = sum(entry["type"] == "tool_use" for entry in case["transcript"])
        assert sum(len(step.tool_calls) for step in run.steps) >= calls
