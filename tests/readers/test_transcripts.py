"""Transcripts of agents, made by hand: each odd case of each format becomes the step it should be, or is counted."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from axisjudge.readers import Reading, read_trajectories
from axisjudge.trajectory import Step, ToolCall, Trajectory


def at(second: float) -> str:
    return f"2026-05-04T10:00:{second:06.3f}Z"


def log(path: Path, *events: dict[str, Any] | str) -> Reading:
    """What is read from a file with these lines."""
    path.write_text("".join((e if isinstance(e, str) else json.dumps(e)) + "\n" for e in events), encoding="utf-8")
    return read_trajectories(path)


def only(reading: Reading) -> Trajectory:
    (trajectory,) = reading.trajectories
    return trajectory


def counted(reading: Reading) -> dict[tuple[str, str], int]:
    return {(warning.rule, warning.detail): warning.count for warning in reading.warnings}


def outline(trajectory: Trajectory) -> list[tuple[str, str]]:
    """Role (or kind) and text, a call as its name and arguments."""
    return [
        (step.kind or step.role, step.content + "".join(f" [{c.name} {c.arguments}]" for c in step.tool_calls))
        for step in trajectory.steps
    ]


# ---- what a step holds -----------------------------------------------------------------------------------------------


def test_fields_that_came_later_leave_hashes_of_older_trajectories_alone() -> None:
    call = ToolCall(id="c", name="find", arguments={"x": 1})
    steps = (Step(index=0, role="assistant", tool_calls=(call,)), Step(index=1, role="tool", content="y"))
    old = Trajectory(id="t", source="s", steps=steps)
    before = "6c762dbd51ee18f4bc507080b55197629df52b2b337f498e19ffe8a16215aaf0"  # as it was without these fields
    assert old.content_sha256 == before
    new = old.model_copy(update={"steps": (steps[0], steps[1].model_copy(update={"duration_s": 0.5}))})
    assert new.content_sha256 != before, "nor does a copy keep the hash of what it was copied from"
    assert Trajectory.model_validate_json(new.model_dump_json()) == new


# ---- Claude Code -----------------------------------------------------------------------------------------------------


def claude(kind: str, content: Any, second: float, *, name: str | None = None, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": name or f"msg_{second}", "model": "claude-opus-4-1"}
    return {"type": kind, "message": message, "sessionId": "s1", "timestamp": at(second), **more}


def use(name: str, identity: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def gave(identity: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **more}


def test_claude_message_over_several_lines_is_one_step_that_keeps_the_times_of_its_calls(tmp_path: Path) -> None:
    run = only(
        log(
            tmp_path / "s.jsonl",
            claude("user", "Count the parcels.", 0),
            claude("assistant", [{"type": "thinking", "thinking": "Two halls.", "signature": "x"}], 1, name="m"),
            claude("assistant", [{"type": "text", "text": "I look in both."}], 2, name="m"),
            claude("assistant", [use("Bash", "a", command="ls hall1")], 3, name="m"),
            claude("assistant", [use("Bash", "b", command="ls hall2")], 4, name="m"),
            claude("user", [gave("a", "P-1")], 5),
            claude("user", [gave("b", [{"type": "text", "text": "P-2"}, {"type": "text", "text": "P-3"}])], 7.5),
            claude("assistant", [{"type": "text", "text": "Three."}], 9, name="n"),
        )
    )
    assert outline(run) == [
        ("user", "Count the parcels."),
        ("thinking", "Two halls."),
        ("assistant", "I look in both. [Bash {'command': 'ls hall1'}] [Bash {'command': 'ls hall2'}]"),
        ("tool", "P-1"),
        ("tool", "P-2\nP-3"),
        ("assistant", "Three."),
    ]
    asked = run.steps[2]
    assert asked.timestamp == at(4)
    assert [call.timestamp for call in asked.tool_calls] == [at(3), None]
    assert [(step.tool_call_id, step.tool_name, step.error, step.timestamp) for step in run.steps[3:5]] == [
        ("a", "Bash", False, at(5)),
        ("b", "Bash", False, at(7.5)),
    ]
    assert (run.id, run.agent, run.agent_family, run.source) == ("s1", "claude-opus-4-1", "anthropic", "claude_code")


def test_claude_message_that_goes_on_after_a_result_is_a_step_of_its_own(tmp_path: Path) -> None:
    run = only(
        log(
            tmp_path / "s.jsonl",
            claude("assistant", [use("Bash", "a")], 1, name="m"),
            claude("user", [gave("a", "x")], 2),
            claude("assistant", [use("Bash", "b")], 3, name="m"),
        )
    )
    assert [len(step.tool_calls) for step in run.steps] == [1, 0, 1]


def test_claude_errors_and_durations(tmp_path: Path) -> None:
    run = only(
        log(
            tmp_path / "s.jsonl",
            claude("assistant", [use("Bash", "a"), use("Bash", "b"), use("Grep", "c")], 1),
            claude("user", [gave("a", "denied", is_error=True)], 2),
            claude("user", [gave("b", "boom")], 3, toolUseResult={"exitCode": 3, "durationMs": 1500}),
            claude("user", [gave("c", None)], 4, toolUseResult={"durationSeconds": 0.25}),
            claude("assistant", [{"type": "text", "text": "API Error: 529"}], 5, isApiErrorMessage=True),
        )
    )
    assert [(step.error, step.duration_s) for step in run.steps[1:4]] == [(True, None), (True, 1.5), (False, 0.25)]
    assert outline(run)[-1] == ("error", "API Error: 529")


def test_claude_stream_with_its_result_line(tmp_path: Path) -> None:
    init = {"type": "system", "subtype": "init", "session_id": "s9", "model": "claude-opus-4-1", "tools": ["Bash"]}
    said = {"type": "assistant", "session_id": "s9", "message": {"id": "m", "role": "assistant", "content": "Done."}}
    done = {"type": "result", "subtype": "success", "session_id": "s9", "is_error": False, "duration_ms": 900}
    done |= {"num_turns": 1, "total_cost_usd": 0.01, "result": "Done."}
    run = only(log(tmp_path / "s.jsonl", init, said, done))
    assert (run.id, run.agent, run.termination, outline(run)) == (
        "s9",
        "claude-opus-4-1",
        "success",
        [("assistant", "Done.")],
    )
    assert (run.meta["duration_ms"], run.meta["num_turns"], run.meta["total_cost_usd"]) == (900, 1, 0.01)
    assert run.meta["axis_run"] == {"result": "Done."}
    assert outline(only(log(tmp_path / "r.json", done))) == [("assistant", "Done.")], "--output-format json"
    failed = done | {"is_error": True, "result": "limit reached"}
    run = only(log(tmp_path / "f.jsonl", init, said, failed))
    assert (run.termination, run.meta["axis_run"]["error"]) == ("error", "limit reached")


@pytest.mark.parametrize("name", ["mixed.log", "mixed.log.gz"])
def test_claude_inside_a_log_of_other_lines(tmp_path: Path, name: str) -> None:
    events = [claude("user", "Hi.", 0), claude("assistant", [{"type": "text", "text": "Hello."}], 1)]
    lines = [
        "[DEBUG] starting",
        '{"level": "info"}',
        json.dumps(events[0]),
        '{"type": "assistant", "mess',
        "warning: {odd}",
        json.dumps(events[1]),
        '{"type": "brand_new", "x": 1}',
        '{"type": "brand_new", "x": 2}',
    ]
    content = "\n".join(lines).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    reading = read_trajectories(tmp_path / name)
    assert outline(only(reading)) == [("user", "Hi."), ("assistant", "Hello.")]
    assert counted(reading) == {
        ("a line that is not JSON", ""): 2,
        ("a line of broken JSON is left out", ""): 1,
        ("an event of unknown type is left out", "type null"): 1,
        ("an event of unknown type is left out", "brand_new"): 2,
    }
    assert reading.summary().warnings["an event of unknown type is left out"] == 3


def test_claude_subagents_are_trajectories_in_the_cluster_of_their_session(tmp_path: Path) -> None:
    """Three ways to say it: an agent's id, a chain of parents without one, and the call that started it."""
    reading = log(
        tmp_path / "s.jsonl",
        claude("assistant", [use("Task", "t", prompt="look")], 1, uuid="u1"),
        claude("user", "look", 2, uuid="u2", parentUuid=None, isSidechain=True),
        claude("assistant", [use("Bash", "x")], 3, uuid="u3", parentUuid="u2", isSidechain=True),
        claude("user", "seek", 3, uuid="u4", isSidechain=True, agentId="ag7"),
        claude("assistant", "streamed", 4, uuid="u5", parent_tool_use_id="t"),
        claude("user", [gave("t", "found")], 5, uuid="u6"),
    )
    assert {run.id: len(run.steps) for run in reading.trajectories} == {"s1": 2, "s1/u2": 2, "s1/ag7": 1, "s1/t": 1}
    assert {run.cluster_id for run in reading.trajectories} == {"s1"}
    assert reading.warnings == ()


def test_claude_events_that_are_no_steps_are_counted_and_repeated_ones_left_out(tmp_path: Path) -> None:
    queued = {
        "type": "attachment",
        "attachment": {"type": "queued_command", "prompt": "And hall 2?"},
        "sessionId": "s1",
    }
    reading = log(
        tmp_path / "s.jsonl",
        {"type": "summary", "summary": "Parcels", "leafUuid": "u"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s1"},
        claude("user", "Hi.", 0, uuid="u1"),
        claude("user", "Hi.", 0, uuid="u1"),
        queued | {"uuid": "u2"},
        queued | {"uuid": "u3", "attachment": {"type": "todo_reminder"}},
        claude("assistant", [{"type": "redacted_thinking", "data": "x"}], 1),
        claude("user", [{"type": "image", "source": {}}, {"type": "text", "text": "this"}], 2),
        claude("user", 17, 3),
    )
    assert outline(only(reading)) == [("user", "Hi."), ("user", "And hall 2?"), ("user", "[image]\nthis")]
    assert counted(reading) == {
        ("an event that is no step", "summary"): 1,
        ("an event that is no step", "file-history-snapshot"): 1,
        ("an event that is no step", "queue-operation"): 1,
        ("an event that was there before is left out", "user"): 1,
        ("an event that is no step", "attachment"): 1,
        ("reasoning without its text is left out", "redacted_thinking"): 1,
        ("content that is not text is left out", "image"): 1,
        ("an event of the wrong shape is left out", "message.content: must be a list"): 1,
    }


def test_text_cut_in_the_middle_of_a_character_pair_is_mended_and_counted(tmp_path: Path) -> None:
    """Tools that cut by UTF-16 units leave half a pair; the line must not be lost for it."""
    line = json.dumps(claude("user", "parcel \ud83d", 0))
    reading = log(tmp_path / "s.jsonl", line, claude("assistant", "Yes.", 1))
    assert outline(only(reading)) == [("user", "parcel ?"), ("assistant", "Yes.")]
    assert [warning.position for warning in reading.warnings] == ["line 1"]


# ---- Codex -----------------------------------------------------------------------------------------------------------


def codex(second: float, payload: dict[str, Any], kind: str = "response_item") -> dict[str, Any]:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def output(identity: str, value: Any, kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": identity, "output": value}


def function(identity: str, arguments: str = "{}", name: str = "shell") -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": arguments, "call_id": identity}


def test_codex_rollout(tmp_path: Path) -> None:
    told = [{"type": "input_text", "text": "Count."}]
    reading = log(
        tmp_path / "rollout.jsonl",
        codex(0, {"id": "r1", "cwd": "/parcels", "instructions": "Be brief."}, "session_meta"),
        codex(0, {"model": "gpt-5-codex", "cwd": "/parcels"}, "turn_context"),
        codex(1, {"type": "message", "role": "developer", "content": told}),
        codex(1, {"type": "message", "role": "user", "content": told}),
        codex(2, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look."}], "content": None}),
        codex(2, {"type": "reasoning", "summary": [], "encrypted_content": "xx"}),
        codex(3, function("a", '{"command": ["ls"]}')),
        codex(3, {"type": "custom_tool_call", "call_id": "b", "name": "apply_patch", "input": "*** Begin"}),
        codex(4, {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["pwd"]}}),
        codex(5, output("a", json.dumps({"output": "P-1", "metadata": {"exit_code": 0, "duration_seconds": 0.5}}))),
        codex(5, output("b", "apply_patch verification failed: no", "custom_tool_call_output")),
        codex(
            6,
            {"type": "exec_command_end", "call_id": "c", "exit_code": 1, "duration": {"secs": 1, "nanos": 5e8}},
            "event_msg",
        ),
        codex(6, output("c", "boom")),
        codex(7, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One."}]}),
        codex(7, {"type": "agent_message", "message": "One."}, "event_msg"),
        codex(8, {"type": "error", "message": "stream lost"}, "event_msg"),
        codex(8, {"type": "turn_aborted", "reason": "interrupted"}, "event_msg"),
        codex(9, {"type": "telepathy"}),
    )
    run = only(reading)
    assert outline(run) == [
        ("system", "Count."),
        ("user", "Count."),
        ("thinking", "Look."),
        (
            "assistant",
            " [shell {'command': ['ls']}] [apply_patch {'input': '*** Begin'}]"
            " [local_shell {'type': 'exec', 'command': ['pwd']}]",
        ),
        ("tool", "P-1"),
        ("tool", "apply_patch verification failed: no"),
        ("tool", "boom"),
        ("assistant", "One."),
        ("error", "stream lost"),
    ]
    results = [step for step in run.steps if step.role == "tool"]
    assert [(step.error, step.duration_s) for step in results] == [(False, 0.5), (True, None), (True, 1.5)]
    assert (run.id, run.agent, run.policy, run.termination) == (
        "r1",
        "gpt-5-codex",
        "Be brief.",
        "turn_aborted: interrupted",
    )
    odd = counted(reading)
    assert odd["an event of unknown type is left out", "telepathy"] == 1
    assert odd["reasoning without its text is left out", "reasoning"] == 1
    assert odd["an event that is no step", "event_msg agent_message"] == 1


@pytest.mark.parametrize(
    ("value", "content", "error", "duration_s"),
    [
        (
            "Exit code: 2\nWall time: 0.3 seconds\nOutput:\nno",
            "Exit code: 2\nWall time: 0.3 seconds\nOutput:\nno",
            True,
            0.3,
        ),
        (
            "Process exited with code 0\nOutput:\nExit code: 9",
            "Process exited with code 0\nOutput:\nExit code: 9",
            False,
            None,
        ),
        ('{"output": "no", "metadata": {"exit_code": 2, "duration_seconds": 1}}', "exit code 2\nno", True, 1.0),
        ({"content": "Plan updated", "success": True}, "Plan updated", False, None),
        ([{"type": "input_text", "text": "two"}], "two", None, None),
        ("Plan updated", "Plan updated", None, None),
        ('{"weight": 3}', '{"weight": 3}', None, None),
        ("{broken", "{broken", None, None),
        (None, "", None, None),
    ],
)
def test_codex_outputs_tell_their_exit_code_in_several_ways(
    tmp_path: Path, value: Any, content: str, error: bool | None, duration_s: float | None
) -> None:
    step = only(log(tmp_path / "r.jsonl", codex(1, function("a")), codex(2, output("a", value)))).steps[1]
    assert (step.content, step.error, step.duration_s) == (content, error, duration_s)


def test_codex_older_rollout_without_wrapper(tmp_path: Path) -> None:
    reading = log(
        tmp_path / "r.jsonl",
        {"id": "old", "timestamp": at(0), "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Count."}]},
        function("a", "{}"),
        output("a", "{}"),
    )
    run = only(reading)
    assert (run.id, outline(run)) == ("old", [("user", "Count."), ("assistant", " [shell {}]"), ("tool", "{}")])
    assert all(step.timestamp is None for step in run.steps)
    assert counted(reading) == {("an event that is no step", "record_type state"): 1}


def test_codex_subagent_names_its_session(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}
    run = only(
        log(tmp_path / "r.jsonl", codex(0, {"id": "r", "source": source}, "session_meta"), codex(1, function("a")))
    )
    assert (run.id, run.task_id) == ("p/r", "p")


def item(kind: str, identity: str, event: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": f"item.{event}", "item": {"id": identity, "type": kind, **more}}


def test_codex_exec(tmp_path: Path) -> None:
    run_ls: dict[str, Any] = {"command": "ls", "aggregated_output": ""}
    reading = log(
        tmp_path / "exec.jsonl",
        {"type": "thread.started", "thread_id": "t1"},
        {"type": "turn.started"},
        item("reasoning", "i0", text="Look."),
        item("command_execution", "i1", "started", **run_ls, status="in_progress"),
        item("command_execution", "i2", "started", **run_ls, status="in_progress"),
        item("command_execution", "i2", **run_ls | {"aggregated_output": "P-1\n"}, exit_code=0, status="completed"),
        item("command_execution", "i1", **run_ls | {"aggregated_output": "no\n"}, exit_code=2, status="failed"),
        item(
            "mcp_tool_call",
            "i3",
            server="depot",
            tool="find",
            arguments={"q": 1},
            result={"content": [{"text": "hit"}]},
            error=None,
            status="completed",
        ),
        item(
            "mcp_tool_call",
            "i4",
            server="depot",
            tool="find",
            arguments=None,
            result=None,
            error={"message": "timeout"},
            status="failed",
        ),
        item("file_change", "i5", changes=[{"path": "a", "kind": "add"}], status="failed"),
        item("web_search", "i6", query="parcels"),
        item("agent_message", "i7", text="One."),
        item("error", "i8", message="cut"),
        item("telepathy", "i9"),
        {"type": "turn.failed", "error": {"message": "quota"}},
    )
    run = only(reading)
    assert outline(run) == [
        ("thinking", "Look."),
        ("assistant", " [command_execution {'command': 'ls'}] [command_execution {'command': 'ls'}]"),
        ("tool", "P-1\n"),
        ("tool", "exit code 2\nno\n"),
        ("assistant", " [mcp__depot__find {'q': 1}]"),
        ("tool", "hit"),
        ("assistant", " [mcp__depot__find {}]"),
        ("tool", "timeout"),
        ("assistant", " [file_change {'changes': [{'path': 'a', 'kind': 'add'}]}]"),
        ("tool", "[failed]"),
        ("assistant", " [web_search {'query': 'parcels'}]"),
        ("tool", ""),
        ("assistant", "One."),
        ("error", "cut"),
        ("error", "quota"),
    ]
    assert [step.error for step in run.steps if step.role == "tool"] == [False, True, False, True, True, None]
    assert (run.id, run.agent, run.termination) == ("t1", None, "turn.failed")
    assert counted(reading)["an event of unknown type is left out", "item telepathy"] == 1


def test_codex_exec_numbers_start_anew_in_a_resumed_thread(tmp_path: Path) -> None:
    """Two calls of one id would share their results."""
    again = [{"type": "thread.started", "thread_id": "t"}, item("web_search", "i0", query="x")]
    run = only(log(tmp_path / "e.jsonl", *again, *again))
    identities = [call.id for step in run.steps for call in step.tool_calls]
    assert len(set(identities)) == 2
    assert [step.tool_call_id for step in run.steps if step.role == "tool"] == identities


# ---- Gemini CLI ------------------------------------------------------------------------------------------------------


def test_gemini_session(tmp_path: Path) -> None:
    def response(**told: str) -> list[dict[str, Any]]:
        return [{"functionResponse": {"id": "x", "name": "ls", "response": told}}]

    calls = [
        {
            "id": "a",
            "name": "ls",
            "args": {"p": 1},
            "result": response(output="P-1"),
            "status": "success",
            "timestamp": at(5),
        },
        {"id": "b", "name": "ls", "args": {}, "result": response(error="no"), "status": "error", "timestamp": at(6)},
        {"id": "c", "name": "ls", "args": {}, "result": None, "status": "cancelled", "timestamp": at(6)},
        {"id": "d", "name": "ls", "args": {}, "status": "executing"},
    ]
    thought = {"subject": "Plan", "description": "look", "timestamp": at(1)}
    messages = [
        {"id": "1", "type": "user", "timestamp": at(0), "content": [{"text": "Count."}]},
        {
            "id": "2",
            "type": "gemini",
            "timestamp": at(2),
            "content": "Looking.",
            "model": "gemini-2.5-pro",
            "thoughts": [thought],
            "toolCalls": calls,
        },
        {"id": "3", "type": "info", "timestamp": at(7), "content": "Update available"},
        {"id": "4", "type": "error", "timestamp": at(8), "content": "quota"},
        {"id": "5", "type": "telepathy", "timestamp": at(8), "content": "?"},
        {"id": "6", "type": "gemini", "timestamp": at(9), "content": "One.", "model": "gemini-2.5-pro"},
    ]
    file = tmp_path / "session.json"
    session = {"sessionId": "g1", "projectHash": "h", "messages": messages}
    file.write_text(json.dumps(session, indent=2))
    reading = read_trajectories(file)
    run = only(reading)
    assert outline(run) == [
        ("user", "Count."),
        ("thinking", "Plan: look"),
        ("assistant", "Looking. [ls {'p': 1}] [ls {}] [ls {}] [ls {}]"),
        ("tool", "P-1"),
        ("tool", "no"),
        ("tool", ""),
        ("error", "quota"),
        ("assistant", "One."),
    ]
    assert [step.timestamp for step in run.steps] == [at(second) for second in (0, 1, 2, 5, 6, 6, 8, 9)]
    assert [step.error for step in run.steps if step.role == "tool"] == [False, True, True]
    assert (run.id, run.agent, run.agent_family) == ("g1", "gemini-2.5-pro", "google")
    assert counted(reading) == {
        ("an event that is no step", "info"): 1,
        ("an event of unknown type is left out", "telepathy"): 1,
    }
    lines = log(tmp_path / "session.jsonl", session | {"messages": []}, *messages)
    assert outline(only(lines)) == outline(run), "one message a line, as newer versions write it"


def test_gemini_stream(tmp_path: Path) -> None:
    reading = log(
        tmp_path / "stream.jsonl",
        {"type": "init", "session_id": "g2", "model": "gemini-2.5-pro", "timestamp": at(0)},
        {"type": "message", "role": "user", "content": "Count.", "timestamp": at(0)},
        {"type": "message", "role": "assistant", "content": "Loo", "delta": True, "timestamp": at(1)},
        {"type": "message", "role": "assistant", "content": "king.", "delta": True, "timestamp": at(2)},
        {"type": "tool_use", "tool_name": "ls", "tool_id": "a", "parameters": {"p": 1}, "timestamp": at(3)},
        {
            "type": "tool_result",
            "tool_id": "a",
            "status": "error",
            "error": {"type": "x", "message": "no"},
            "timestamp": at(4),
        },
        {"type": "error", "severity": "warning", "message": "loop", "timestamp": at(5)},
        {
            "type": "result",
            "status": "error",
            "error": {"message": "quota"},
            "stats": {"tool_calls": 1},
            "timestamp": at(6),
        },
    )
    run = only(reading)
    assert outline(run) == [
        ("user", "Count."),
        ("assistant", "Looking."),
        ("assistant", " [ls {'p': 1}]"),
        ("tool", "no"),
        ("error", "loop"),
        ("error", "quota"),
    ]
    assert (run.id, run.termination, run.meta["axis_run"]) == ("g2", "error", {"error": "quota"})
    assert (run.steps[1].timestamp, run.steps[3].error) == (at(2), True)
