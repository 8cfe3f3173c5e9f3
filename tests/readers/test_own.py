"""Our own JSON Lines: public, described by a schema, and read back as they were written."""

import json
from pathlib import Path
from typing import Any

import pytest
from conversations import chat, results, simulation, tau_bench_run, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import axisjudge
from axisjudge import Step, ToolCall, ToolSchema, Trajectory, read_trajectories, write_trajectories
from axisjudge.checks import InputError
from axisjudge.cli import app

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
words = st.none() | texts
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)
kinds = st.sampled_from(["read", "write", "generic"])
calls = st.builds(
    ToolCall,
    id=words,
    name=texts,
    arguments=objects | texts,
    arguments_error=words,
    requestor=st.sampled_from(["assistant", "user"]),
    timestamp=words,
)
steps = st.builds(
    Step,
    index=st.just(0),
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=texts,
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    tool_call_id=words,
    tool_name=words,
    error=st.none() | st.booleans(),
    timestamp=words,
    source_index=st.none() | st.integers(),
    kind=st.sampled_from([None, "thinking", "error"]),
    duration_s=st.none() | st.floats(0, 1e12),
)
tools = st.builds(ToolSchema, name=texts, description=texts, kind=st.none() | kinds, parameters=objects)
trajectories = st.builds(
    Trajectory,
    id=texts.filter(bool),
    source=texts,
    agent=words | st.just("gpt-4o"),
    agent_family=words,
    task_id=words,
    domain=words,
    reward=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    termination=words,
    steps=st.lists(steps, max_size=3).map(
        lambda made: tuple(step.model_copy(update={"index": n}) for n, step in enumerate(made))
    ),
    tools=st.none() | st.lists(tools, max_size=2).map(tuple),
    policy=words,
    meta=objects,
    tool_kinds=st.dictionaries(texts, kinds, max_size=2),
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(trajectories, min_size=1, max_size=3, unique_by=lambda run: run.id))
def test_what_is_written_is_read_back_equal(tmp_path: Path, runs: list[Trajectory]) -> None:
    for name in ("own.jsonl", "own.jsonl.gz"):
        assert write_trajectories(tmp_path / name, runs) == len(runs)
        reading = read_trajectories(tmp_path / name)
        assert list(reading) == runs
        assert len(reading) == len(runs)
        assert [run.content_sha256 for run in reading] == [run.content_sha256 for run in runs]


def test_a_number_that_json_has_no_word_for_is_not_lost(tmp_path: Path) -> None:
    call = ToolCall(name="pay", arguments={"amount": float("nan"), "limit": float("inf")})
    run = Trajectory(id="a", source="mine", steps=(Step(index=0, role="assistant", tool_calls=(call,)),))
    write_trajectories(tmp_path / "own.jsonl", [run])
    (back,) = read_trajectories(tmp_path / "own.jsonl")
    assert str(back.steps[0].tool_calls[0].arguments) == str(call.arguments)


def test_what_json_cannot_hold_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    run = Trajectory(id="a", source="mine", meta={"half": "\ud83d"})
    with pytest.raises(InputError, match="trajectory a"):
        write_trajectories(tmp_path / "own.jsonl", [run])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("source", [chat(), [tau_bench_run(1), tau_bench_run(2)], results(simulation())])
def test_read_to_converts_any_format_without_loss(tmp_path: Path, source: Any) -> None:
    given_file, own = write(tmp_path / "given.json", source), tmp_path / "own.jsonl"
    page = CliRunner().invoke(app, ["read", str(given_file), "--to", str(own), "--agent", "gpt-4o", "--json"])
    assert page.exit_code == 0, page.output
    assert json.loads(page.stdout)["to"] == str(own)
    assert read_trajectories(own).trajectories == read_trajectories(given_file, agent="gpt-4o").trajectories


@pytest.mark.parametrize("record", ["trajectory", "rating", "label"])
def test_the_schemas_are_json_schemas_of_what_is_written(record: str, tmp_path: Path) -> None:
    page = CliRunner().invoke(app, ["schema", record])
    assert page.exit_code == 0
    schema = json.loads(page.stdout)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    if record == "trajectory":
        run = Trajectory(id="a", source="mine", steps=(Step(index=0, role="user", content="Hello."),))
        write_trajectories(tmp_path / "own.jsonl", [run])
        line = json.loads((tmp_path / "own.jsonl").read_text())
        assert set(schema["required"]) <= line.keys() <= schema["properties"].keys()
        least = dict.fromkeys(schema["required"], "x")
        (back,) = read_trajectories(write(tmp_path / "least.json", least))
        assert (back.id, back.source, back.steps) == ("x", "x", ())
    else:
        person = schema["properties"]["rater_kind"]
        assert (person.get("const") == "human") is (record == "label")
        assert {"trajectory_id", "question", "rater", "rater_kind", "family"} <= set(schema["required"])


def test_an_unknown_record_has_no_schema() -> None:
    page = CliRunner().invoke(app, ["schema", "trajectories"])
    assert isinstance(page.exception, InputError)
    assert "trajectory" in str(page.exception)


def test_the_records_are_at_the_top_level() -> None:
    for name in ("Trajectory", "Step", "ToolCall", "ToolSchema", "read_trajectories", "write_trajectories"):
        assert name in axisjudge.__all__
        assert getattr(axisjudge, name).__doc__
