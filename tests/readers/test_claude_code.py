"""Claude Code by hand: each odd case becomes the step it should be, or is counted."""

import gzip
import json
from pathlib import Path

import pytest
from readers.made_logs import at, claude, counted, gave, log, only, outline, use

from axisjudge.checks import InputError
from axisjudge.readers import read_trajectories
from axisjudge.scores.axis.scenario import axis_results
from axisjudge.trajectory import Step, ToolCall, Trajectory


def test_fields_that_came_later_leave_hashes_of_older_trajectories_alone() -> None:
    call = ToolCall(id="c", name="find", arguments={"x": 1})
    steps = (Step(index=0, role="assistant", tool_calls=(call,)), Step(index=1, role="tool", content="y"))
    old = Trajectory(id="t", source="s", steps=steps)
    before = "6c762dbd51ee18f4bc507080b55197629df52b2b337f498e19ffe8a16215aaf0"  # as it was without these fields
    assert old.content_sha256 == before
    new = old.model_copy(update={"steps": (steps[0], steps[1].model_copy(update={"duration_s": 0.5}))})
    assert new.content_sha256 != before, "nor does a copy keep the hash of what it was copied from"
    assert Trajectory.model_validate_json(new.model_dump_json()) == new


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
    reading = log(
        tmp_path / "s.jsonl",
        claude("assistant", [use("Bash", "a"), use("Bash", "b"), use("Grep", "c")], 1),
        claude("user", [gave("a", "denied", is_error=True)], 2),
        claude("user", [gave("b", "boom")], 3, toolUseResult={"exitCode": 3, "durationMs": 1500}),
        claude("user", [gave("c", None)], 4, toolUseResult={"durationSeconds": 0.25}),
        claude("assistant", [{"type": "text", "text": "API Error: 529"}], 5, isApiErrorMessage=True),
    )
    run = only(reading)
    assert [(step.error, step.duration_s) for step in run.steps[1:4]] == [(True, None), (True, 1.5), (False, 0.25)]
    assert [each[1:] for each in run.call_durations] == [(1.0, "timestamps"), (1.5, "stated"), (0.25, "stated")]
    sources = {"timestamps": 1, "stated": 2}
    assert reading.summary().call_durations == sources
    (result,) = axis_results([run])
    assert [(each.duration_ms, each.duration_source) for each in result.interactions if each.is_call] == [
        (1000, "timestamps"),
        (1500, "stated"),
        (250, "stated"),
    ]
    assert result.counts.call_durations == sources
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


@pytest.mark.parametrize("indent", [None, 2])
def test_half_a_character_in_a_log_that_is_one_value_is_mended_too(tmp_path: Path, indent: int | None) -> None:
    events = [claude("user", "parcel \ud83d", 0), claude("assistant", "Yes.", 1)]
    file = tmp_path / "s.json"
    file.write_text(json.dumps(events, indent=indent))
    reading = read_trajectories(file)
    assert outline(only(reading)) == [("user", "parcel ?"), ("assistant", "Yes.")]


@pytest.mark.parametrize("spoilt", ["\\ud83d", "\\ud83d\\ude00"])
def test_a_log_that_breaks_elsewhere_than_at_half_a_character_is_refused(tmp_path: Path, spoilt: str) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps([claude("user", "SPOT", 0)], indent=2).replace("SPOT", spoilt)[:-3])
    with pytest.raises(InputError, match=r"s\.json"):
        read_trajectories(file)
