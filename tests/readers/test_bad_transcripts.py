"""Transcripts that are cut off, spoilt or mixed with anything: an error that says where, or warnings; never a crash."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers.made_logs import claude, codex, function, gave, item, output, use
from test_traces import ENTRIES, by_events, by_request, jaeger, newer, older, otlp

from axisjudge.checks import InputError
from axisjudge.readers import Reading, read_trajectories

CLAUDE = [
    {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": ["Bash"]},
    claude("user", "Count.", 0, uuid="u1"),
    claude("assistant", [{"type": "thinking", "thinking": "Hm."}, use("Bash", "a", command="ls")], 1, uuid="u2"),
    claude("user", [gave("a", [{"type": "text", "text": "P"}], is_error=True)], 2, toolUseResult={"durationMs": 3}),
    claude("assistant", "Sub.", 3, uuid="u4", isSidechain=True, parentUuid="u2"),
    {"type": "result", "subtype": "success", "session_id": "s", "is_error": True, "result": "x", "errors": ["e"]},
]
CODEX = [
    codex(0, {"id": "r", "instructions": "x", "source": {"subagent": {"thread_spawn": {}}}}, "session_meta"),
    codex(0, {"model": "gpt-5-codex"}, "turn_context"),
    codex(1, {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Count."}]}),
    codex(1, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look."}], "content": None}),
    codex(2, function("a", '{"command": ["ls"]}')),
    codex(2, {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}}),
    codex(
        3,
        {"type": "exec_command_end", "call_id": "a", "exit_code": 1, "duration": {"secs": 1, "nanos": 5}},
        "event_msg",
    ),
    codex(3, output("a", {"content": "x", "success": True, "metadata": {"exit_code": 0, "duration_seconds": 1}})),
    codex(3, output("c", [{"type": "input_text", "text": "x"}], "custom_tool_call_output")),
]
EXEC: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t"},
    item("reasoning", "i0", text="Look."),
    item("command_execution", "i1", command="ls", aggregated_output="x", exit_code=1, status="failed"),
    item("mcp_tool_call", "i2", server="s", tool="t", arguments={"q": 1}, result={"content": [{"text": "hit"}]}),
    item("agent_message", "i3", text="One."),
    {"type": "turn.failed", "error": {"message": "quota"}, "usage": {}},
]
CALL = {"id": "a", "name": "ls", "args": {"p": 1}, "result": [{"functionResponse": {"response": {"output": "P"}}}]}
GEMINI = {
    "sessionId": "g",
    "projectHash": "h",
    "messages": [
        {"type": "user", "timestamp": "t", "content": [{"text": "Count."}]},
        {"type": "gemini", "content": "x", "model": "m", "thoughts": [{"subject": "s"}], "toolCalls": [CALL]},
        {"type": "error", "content": "quota"},
    ],
}
STREAM = [
    {"type": "init", "session_id": "g", "model": "m"},
    {"type": "message", "role": "user", "content": "Count.", "delta": True},
    {"type": "tool_use", "tool_name": "ls", "tool_id": "a", "parameters": {"p": 1}},
    {"type": "tool_result", "tool_id": "a", "status": "error", "error": {"message": "no"}},
    {"type": "result", "status": "error", "error": {"message": "quota"}, "stats": {}},
]
REPORT = {
    "scenarioKey": "k",
    "agentName": "a",
    "agentConfig": {"model": "m"},
    "output": {"transcript": ENTRIES, "metadata": {"exitCode": 1, "error": "x", "sessionId": "s"}, "result": None},
}
LOGS = {
    "claude": CLAUDE,
    "codex": CODEX,
    "exec": EXEC,
    "gemini": [GEMINI],
    "stream": STREAM,
    "axis": [REPORT],
    "entries": ENTRIES,
    "jaeger": [jaeger(older())],
    "otlp": [otlp(newer())],
    "request": [otlp(by_request())],
    "events": [otlp(by_events(), outer="batches")],
}
LOOSE = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 0, 10**30, 1.5, float("inf"), "", "x", "type", '{"a": [1]}', "[{", b"\xff\xfe".hex()]),
    st.just([]),
    st.just({}),
    st.just([None, 1, "x", {}, []]),
    st.just({"type": "text", "text": 3, "content": [[]], "0": {"role": []}}),
)


def survives(path: Path, content: bytes) -> Reading | None:
    path.write_bytes(content)
    try:
        return read_trajectories(path)
    except InputError:
        return None


def lines_of(events: list[Any]) -> list[bytes]:
    return [json.dumps(event).encode() for event in events]


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every member of a JSON value as (container, key)."""
    inside = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [(value, key) for key, _ in inside] + [place for _, member in inside for place in places_in(member)]


@pytest.mark.parametrize("name", LOGS)
def test_each_of_these_is_read_without_fault(tmp_path: Path, name: str) -> None:
    reading = survives(tmp_path / "log", b"\n".join(lines_of(LOGS[name])))
    assert reading is not None
    assert reading.trajectories[0].steps


@pytest.mark.parametrize("name", LOGS)
@LOOSE
@given(data=st.data())
def test_one_value_of_a_wrong_kind_anywhere(tmp_path: Path, name: str, data: st.DataObject) -> None:
    events = copy.deepcopy(LOGS[name])
    places = places_in(events)
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = places[data.draw(st.integers(0, len(places) - 1))]
        container[key] = data.draw(VALUES)
    survives(tmp_path / "log", b"\n".join(lines_of(events)))


@pytest.mark.parametrize("name", LOGS)
@LOOSE
@given(data=st.data())
def test_a_file_cut_off_anywhere_with_other_lines_between(tmp_path: Path, name: str, data: st.DataObject) -> None:
    lines = lines_of(LOGS[name])
    for junk in data.draw(
        st.lists(st.one_of(st.binary(max_size=20), st.sampled_from([b"{", b"{}", b"[1]", b'{"type": 3}'])), max_size=4)
    ):
        lines.insert(data.draw(st.integers(0, len(lines))), junk)
    content = b"\n".join(lines)
    survives(tmp_path / "log", content[: data.draw(st.integers(0, len(content)))])


@pytest.mark.parametrize("name", ["claude", "codex", "exec", "stream", "entries"])
def test_a_log_cut_off_in_its_last_line_keeps_the_steps_before_and_says_so(tmp_path: Path, name: str) -> None:
    lines = lines_of(LOGS[name])
    whole = survives(tmp_path / "whole", b"\n".join(lines[:-1]))
    cut = survives(tmp_path / "cut", b"\n".join(lines)[:-5])
    assert whole is not None
    assert cut is not None
    assert [run.steps for run in cut.trajectories] == [run.steps for run in whole.trajectories]
    assert cut.summary().warnings["a line of broken JSON is left out"] == 1


def test_a_folder_of_notes_is_no_log(tmp_path: Path) -> None:
    """A text that only quotes such an event in passing is passed over."""
    (tmp_path / "notes.md").write_text('# Log\nSee {"type": "user", "message": {"role": "user"}} in line 3.\n')
    with pytest.raises(InputError, match="none of the 1 files there holds trajectories"):
        read_trajectories(tmp_path)


def test_who_speaks_in_a_report_is_told_apart(tmp_path: Path) -> None:
    kinds = ("system", "user", "assistant")
    entries = [{"type": kind, "timestamp": 1, "content": {"text": f"{kind} speaks"}} for kind in kinds]
    file = tmp_path / "report.json"
    file.write_text(json.dumps(REPORT | {"output": {"transcript": entries, "metadata": {}, "result": None}}))
    (run,) = read_trajectories(file).trajectories
    assert [(step.role, step.content) for step in run.steps] == [(kind, f"{kind} speaks") for kind in kinds]
