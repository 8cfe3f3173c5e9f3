"""ATIF: a turn's parts counted by themselves, what Harbor lays beside a run, and every run written and read back."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from axisjudge.cli import app
from axisjudge.datasets import demo_paths, demo_transcripts
from axisjudge.readers import read_trajectories
from axisjudge.readers.atif import atif_of, read
from axisjudge.trajectory import Step, ToolCall, Trajectory

TURNS = [
    {"step_id": 1, "source": "system", "message": "You tend a lighthouse."},
    {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "Is the lamp lit?"}]},
    {
        "step_id": 3,
        "source": "agent",
        "timestamp": "2026-03-01T10:00:00Z",
        "model_name": "gpt-5",
        "reasoning_content": "I look first.",
        "message": "I look.",
        "tool_calls": [
            {"tool_call_id": "a", "function_name": "look", "arguments": {"at": "lamp"}},
            {"tool_call_id": "b", "function_name": "log", "arguments": {}},
        ],
        "observation": {
            "results": [{"source_call_id": "a", "content": "dark"}, {"source_call_id": "b", "content": ""}]
        },
        "metrics": {"prompt_tokens": 7},
    },
    {
        "step_id": 4,
        "source": "agent",
        "message": "",
        "is_copied_context": True,
        "tool_calls": [{"tool_call_id": "c", "function_name": "light", "arguments": {}}],
        "observation": {"results": [{"source_call_id": "c", "subagent_trajectory_ref": [{"session_id": "mate"}]}]},
        "extra": {"tool_metadata": {"exit_code": 1}},
    },
    {"step_id": 5, "source": "agent", "message": "It burns."},
]
RUN = {
    "schema_version": "ATIF-v1.6",
    "session_id": "watch",
    "agent": {"name": "keeper", "version": "1", "tool_definitions": [{"function": {"name": "look"}}]},
    "steps": TURNS,
    "final_metrics": {"total_prompt_tokens": 7, "total_cost_usd": 0.5},
}


def counts(run):
    """Steps and calls of a record, by its own JSON alone."""
    steps = calls = 0
    for turn in run["steps"]:
        results = turn.get("observation", {}).get("results", [])
        spoken = bool(turn["message"] or turn.get("tool_calls"))
        steps += spoken + bool(turn.get("reasoning_content")) + len(results)
        calls += len(turn.get("tool_calls", []))
    return steps, calls


def test_a_turn_is_its_thinking_its_message_with_calls_and_each_result(tmp_path: Path) -> None:
    trial = tmp_path / "lamp__x1"
    (trial / "agent").mkdir(parents=True)
    (trial / "agent" / "trajectory.json").write_text(json.dumps(RUN))
    stated = {"task_name": "lamp", "trial_name": "lamp__x1", "verifier_result": {"rewards": {"reward": 1.0}}}
    (trial / "result.json").write_text(json.dumps(stated))
    reading = read_trajectories(trial / "agent")
    (run,) = reading
    assert (len(run.steps), sum(len(step.tool_calls) for step in run.steps)) == counts(RUN) == (9, 3)
    kinds = [(step.role, step.kind, step.tool_call_id, step.tool_name, step.error) for step in run.steps[2:]]
    assert kinds == [
        ("assistant", "thinking", None, None, None),
        ("assistant", None, None, None, None),
        ("tool", None, "a", "look", None),
        ("tool", None, "b", "log", None),
        ("assistant", None, None, None, None),
        ("tool", None, "c", "light", True),
        ("assistant", None, None, None, None),
    ]
    assert run.steps[7].content == "[subagent mate]"
    assert (run.id, run.agent, run.task_id, run.reward, run.tools[0].name) == ("watch", "gpt-5", "lamp", 1.0, "look")
    for rewards, reward in (
        ({"passed": 1}, 1.0),
        ({"speed": 0.2, "passed": 1}, None),
        ({"speed": 1, "reward": 0}, 0.0),
    ):
        (trial / "result.json").write_text(json.dumps({**stated, "verifier_result": {"rewards": rewards}}))
        (run,) = read_trajectories(trial / "agent")
        assert (run.reward, run.meta.get("rewards")) == (reward, rewards if len(rewards) > 1 else None)
    assert [(w.rule, w.count) for w in reading.warnings] == [("a step copied from an earlier trajectory", 1)]


def test_continuations_and_subagents_are_runs_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(RUN | {"subagent_trajectories": [RUN | {"trajectory_id": "mate"}]}))
    more = RUN | {"agent": {"name": "keeper", "extra": {"continuation_index": 1}}}
    (tmp_path / "b.json").write_text(json.dumps(more))
    assert [(run.id, run.task_id) for run in read_trajectories(tmp_path)] == [
        ("watch", None),
        ("watch/mate", "watch"),
        ("watch/1", "watch"),
    ]


@pytest.mark.parametrize("part", [{"tool_uses": [{"name": "x"}]}, {"message": [{"type": "tool_call", "name": "x"}]}])
def test_what_may_carry_a_call_unread_refuses_the_file(tmp_path: Path, part: dict) -> None:
    (tmp_path / "a.json").write_text(json.dumps(RUN | {"steps": [TURNS[0] | part]}))
    with pytest.raises(ValueError, match="may carry a call"):
        read_trajectories(tmp_path / "a.json")


ODD = Trajectory(
    id="odd/1",
    source="mine",
    meta={"trial": 2},
    steps=(
        Step(index=0, role="tool", content="late", tool_call_id="x", duration_s=1.5),
        Step(index=1, role="user", content="", tool_calls=(ToolCall(name="call", requestor="user"),)),
        Step(index=2, role="assistant", content="", kind="thinking"),
        Step(index=3, role="assistant", content=""),
        Step(index=4, role="assistant", tool_calls=(ToolCall(name="f", arguments="{", arguments_error="no"),)),
        Step(index=5, role="system", content="broke", kind="error", timestamp="Tuesday", agent="a"),
    ),
)


def test_every_run_that_is_written_is_read_back_equal(shared_data: Path) -> None:
    paths = [demo_paths()[0], *demo_transcripts()[:2], shared_data / "transcripts", shared_data / "otel"]
    for run in (ODD, *read_trajectories(*paths, strict=False)):
        (again,) = read(json.loads(json.dumps(atif_of(run))), "", Path("none"))
        assert again.trajectory == run


def test_read_to_atif_writes_a_file_a_run_or_a_line_a_run(tmp_path: Path) -> None:
    def command(*words):
        return CliRunner().invoke(app, ["read", *map(str, words)])

    source = tmp_path / "run.json"
    source.write_text(json.dumps([RUN, RUN | {"session_id": "night/2"}]))
    assert command(source, "--to", "atif", "--out", tmp_path / "each").exit_code == 0
    assert command(source, "--to", "atif", "--out", tmp_path / "all.jsonl").exit_code == 0
    assert [path.name for path in sorted((tmp_path / "each").iterdir())] == ["0001-watch.json", "0002-night_2.json"]
    runs = read_trajectories(source).trajectories
    assert (
        runs
        == read_trajectories(tmp_path / "each").trajectories
        == read_trajectories(tmp_path / "all.jsonl").trajectories
    )
    assert isinstance(command(source, "--to", "atif").exception, ValueError)
