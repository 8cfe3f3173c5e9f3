"""Each format on tiny files of our own: what becomes of every field, and that nothing is guessed."""

import gzip
import json
from pathlib import Path

import pytest
from conversations import chat, results, simulation, tau_bench_run, write

from axisjudge.readers import counted, iter_trajectories, read_trajectories, summarise, write_trajectories


def test_tau_bench_names_no_agent_domain_or_ending(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.json", [tau_bench_run(3), tau_bench_run(3, trial=1)])
    first, second = read_trajectories(file).trajectories
    assert (first.source, first.task_id, first.reward) == ("tau_bench", "3", 1.0)
    assert (first.agent, first.agent_family, first.domain, first.termination) == (None, None, None, None)
    assert (first.tools, first.policy) == (None, None)
    expected = {"actions": [], "communicate": [], "database_matches": True}
    assert first.meta == {"trial": 0, "reward_breakdown": {"r_actions": 1.0}, "expected": expected}
    assert first.id != second.id, "two trials with the same words are two runs"
    _, call, result, _ = first.steps
    assert call.content == ""
    assert call.tool_calls[0].arguments == {"parcel_id": "P-11"}
    assert (result.tool_call_id, result.tool_name, result.error) == ("c1", "find_parcel", None)


def test_tau_bench_run_that_crashed_is_kept(tmp_path: Path) -> None:
    crashed = {"task_id": 1, "reward": 0.0, "info": {"error": "timed out"}, "traj": [], "trial": 0}
    reading = read_trajectories(write(tmp_path / "runs.json", [crashed]))
    (run,) = reading.trajectories
    assert (run.steps, run.termination, run.meta["error"]) == ((), "error", "timed out")
    assert reading.summary().empty == 1


def test_agentrx_keeps_the_messages_own_index(tmp_path: Path) -> None:
    messages = [message | {"index": number} for number, message in enumerate(chat(), 1)]
    run = tau_bench_run(traj=messages, records={})
    (trajectory,) = read_trajectories(write(tmp_path / "rx.json", [run])).trajectories
    assert trajectory.source == "agentrx"
    assert [step.source_index for step in trajectory.steps] == [1, 2, 3, 4]
    (plain,) = read_trajectories(write(tmp_path / "tb.json", [tau_bench_run()])).trajectories
    assert trajectory.id == plain.id, "numbering does not make another run"


def test_tau2_results_file(tmp_path: Path) -> None:
    reading = read_trajectories(write(tmp_path / "results.json", results(simulation())))
    (run,) = reading.trajectories
    assert (run.id, run.task_id, run.domain, run.agent, run.agent_family) == (
        "sim-0",
        "0",
        "parcels",
        "gpt-4.1-mini",
        "openai",
    )
    assert (run.reward, run.termination, run.policy, run.tools) == (0.5, "user_stop", "Be brief.", None)
    assert run.meta == {"trial": 0, "seed": 11, "reward_basis": ["DB"], "reward_breakdown": {"DB": 0.5}}
    assert [step.source_index for step in run.steps] == list(range(8))
    assert run.steps[0].timestamp == "2026-01-01T10:00:00"
    assert [len(step.agent_calls) for step in run.steps] == [0, 0, 0, 0, 2, 0, 0, 0]
    assert run.steps[1].tool_calls[0].requestor == "user"
    assert (run.steps[4].content, run.steps[6].tool_name, run.steps[6].error) == ("One moment.", "find_parcel", True)
    summary = reading.summary()
    assert (summary.agent_tool_calls, summary.user_tool_calls, summary.tool_errors) == (2, 1, 1)


def test_what_was_checked_of_a_tau2_run_goes_before_a_list_of_tasks_of_another_edition(tmp_path: Path) -> None:
    checked, listed = ({"name": "send", "arguments": {"parcel_id": name}} for name in ("P-11", "P-99"))
    run = simulation() | {"reward_info": {"reward": 0.0, "action_checks": [{"action": checked, "action_match": False}]}}
    tasks = [{"id": run["task_id"], "evaluation_criteria": {"actions": [listed]}}]
    (read,) = read_trajectories(write(tmp_path / "results.json", results(run) | {"tasks": tasks})).trajectories
    assert [one["arguments"] for one in read.meta["expected"]["actions"]] == [{"parcel_id": "P-11"}]


def test_tau2_tool_definitions(tmp_path: Path) -> None:
    """Built from tau2's schema (`ToolSignature`: name, doc, params, returns): no real file at hand has them."""
    parameters = {"type": "object", "properties": {"parcel_id": {"type": "string"}}, "required": ["parcel_id"]}
    definitions = {
        "find_parcel": {"name": "find_parcel", "doc": "Find a parcel.", "params": parameters, "returns": None},
        "wait": {"name": "wait", "doc": "Wait.", "params": None, "returns": None},
    }
    (run,) = read_trajectories(write(tmp_path / "r.json", results(simulation(), tool_defs=definitions))).trajectories
    assert run.tools is not None
    find, wait = run.tools
    assert (find.name, find.description, find.kind, find.parameters) == (
        "find_parcel",
        "Find a parcel.",
        None,
        parameters,
    )
    assert (wait.name, wait.parameters) == ("wait", {})


def test_tau2_policy_of_the_simulation_comes_first(tmp_path: Path) -> None:
    (run,) = read_trajectories(write(tmp_path / "r.json", results(simulation(policy="Be thorough.")))).trajectories
    assert run.policy == "Be thorough."


def test_tau2_without_agent_reward_or_messages(tmp_path: Path) -> None:
    value = results(simulation(messages=None, reward_info=None, termination_reason="agent_error"))
    value["info"]["agent_info"]["llm"] = None
    (run,) = read_trajectories(write(tmp_path / "r.json", value)).trajectories
    assert (run.agent, run.reward, run.steps, run.termination) == (None, None, (), "agent_error")


def directory_form(folder: Path, *simulations: dict, listed: tuple[str, ...] | None = None) -> Path:
    """tau2's directory form, after `Results.save(format="dir")` of tau2-bench's simulation.py."""
    value = results()
    del value["simulations"]
    ids = listed if listed is not None else tuple(simulation["id"] for simulation in simulations)
    value["simulation_index"] = [{"id": name, "task_id": "0", "trial": 0} for name in ids]
    for one in simulations:
        write(folder / "simulations" / f"{one['id']}.json", one)
    return write(folder / "results.json", value)


def test_tau2_directory_form(tmp_path: Path) -> None:
    """Built from tau2-bench's schema: its PyPI package writes one file only, and no real sample is at hand."""
    index = directory_form(tmp_path / "run", simulation(0), simulation(1))
    by_file, by_folder = read_trajectories(index), read_trajectories(tmp_path / "run")
    assert by_file.trajectories == by_folder.trajectories
    assert [run.id for run in by_folder.trajectories] == ["sim-0", "sim-1"]
    assert {run.agent for run in by_folder.trajectories} == {"gpt-4.1-mini"}
    assert by_folder.warnings == (), "the single files are not read a second time"
    (whole,) = read_trajectories(write(tmp_path / "one.json", results(simulation(0)))).trajectories
    assert by_folder.trajectories[0] == whole


def test_tau2_directory_form_with_a_missing_file(tmp_path: Path) -> None:
    index = directory_form(tmp_path, simulation(0), listed=("sim-0", "sim-9"))
    (warning,) = read_trajectories(index).warnings
    assert (warning.rule, warning.detail) == ("a listed simulation has no file", "sim-9")


def test_tau2_directory_form_with_a_file_too_many(tmp_path: Path) -> None:
    index = directory_form(tmp_path, simulation(0), simulation(1), listed=("sim-0",))
    reading = read_trajectories(index)
    assert len(reading.trajectories) == 2
    (warning,) = reading.warnings
    assert (warning.position, warning.rule) == (
        "simulations/sim-1.json",
        "a simulation that results.json does not list",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ('{"id": "sim-1", "task_id"', "the file is cut off"),
        ("{}", "must hold one tau2 simulation"),
        (json.dumps(simulation(1, messages=[{"role": "narrator"}])), r"messages\[0\]\.role: must be one of"),
    ],
)
def test_tau2_directory_form_names_the_bad_file(tmp_path: Path, content: str, message: str) -> None:
    """Also in a folder: one simulation less would go unseen."""
    directory_form(tmp_path, simulation(0), simulation(1))
    (tmp_path / "simulations" / "sim-1.json").write_text(content)
    with pytest.raises(ValueError, match=r"results\.json, simulations/sim-1\.json.*" + message):
        read_trajectories(tmp_path)


def test_tau2_directory_form_without_its_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lists 2 simulations, and simulations/ beside it has none"):
        read_trajectories(directory_form(tmp_path, listed=("a", "b")))


def test_a_single_tau2_simulation(tmp_path: Path) -> None:
    file = write(tmp_path / "sim.json", simulation())
    (run,) = read_trajectories(file, agent="claude-sonnet-4-5").trajectories
    assert (run.source, run.agent, run.agent_family, run.domain) == ("tau2", "claude-sonnet-4-5", "anthropic", None)


def test_a_tau2_voice_run_is_refused(tmp_path: Path) -> None:
    value = results(simulation(messages=None, ticks=[{"tick_id": 0}]))
    with pytest.raises(ValueError, match=r"r\.json, simulations\[0\]: is a voice run kept as ticks"):
        read_trajectories(write(tmp_path / "r.json", value))


def test_openai_messages_alone(tmp_path: Path) -> None:
    (run,) = read_trajectories(write(tmp_path / "chat.json", chat())).trajectories
    assert (run.source, run.agent, run.task_id, run.reward, run.tools) == ("openai_chat", None, None, None, None)
    assert [step.role for step in run.steps] == ["user", "assistant", "tool", "assistant"]
    assert len(run.id) == 16


def test_openai_records_with_tools_and_metadata(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "find_parcel", "parameters": {"type": "object"}}}]
    metadata = {"task_id": 7, "reward": 1, "domain": "parcels", "termination": "done", "shift": "night"}
    record = {"id": "talk-1", "model": "gpt-5", "messages": chat(), "tools": tools, "metadata": metadata}
    bare = {"messages": chat()}
    lines = tmp_path / "talks.jsonl"
    lines.write_text(f"{json.dumps(record)}\n\n{json.dumps(bare)}\n{json.dumps(chat()[:1])}\n")
    told, untold, opening = read_trajectories(lines).trajectories
    assert (told.id, told.agent, told.agent_family, told.task_id) == ("talk-1", "gpt-5", "openai", "7")
    assert (told.reward, told.domain, told.termination, told.meta) == (1.0, "parcels", "done", {"shift": "night"})
    assert [tool.name for tool in told.tools or ()] == ["find_parcel"]
    assert (untold.agent, untold.reward, untold.tools, untold.meta) == (None, None, None, {})
    assert len(opening.steps) == 1
    as_list = read_trajectories(write(tmp_path / "talks.json", [record, bare])).trajectories
    assert as_list == (told, untold)


def test_openai_older_and_newer_message_shapes(tmp_path: Path) -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"role": "assistant", "content": None, "function_call": {"name": "find_parcel", "arguments": "{}"}},
        {"role": "function", "name": "find_parcel", "content": "hall 7"},
        {"role": "assistant", "content": None, "refusal": "I cannot say."},
        {
            "role": "assistant",
            "tool_calls": [{"id": "x", "type": "custom", "custom": {"name": "shell", "input": "ls"}}],
        },
    ]
    reading = read_trajectories(write(tmp_path / "chat.json", messages))
    steps = reading.trajectories[0].steps
    assert [step.role for step in steps] == ["system", "user", "assistant", "tool", "assistant", "assistant"]
    assert steps[1].content == "Look:\n[image_url]"
    assert (steps[2].tool_calls[0].name, steps[3].tool_name) == ("find_parcel", "find_parcel")
    assert steps[4].content == "I cannot say."
    assert (steps[5].tool_calls[0].arguments, steps[5].tool_calls[0].name) == ("ls", "shell")
    assert [warning.rule for warning in reading.warnings] == [
        "content that is not text is left out",
        "arguments are not a JSON object",
    ]


def test_only_the_agents_own_messages_are_no_conversation(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is of no known format"):
        read_trajectories(write(tmp_path / "calls.json", chat()[1:]))


@pytest.mark.parametrize("name", ["ours.jsonl", "ours.jsonl.gz"])
def test_our_own_lines_round_trip(tmp_path: Path, name: str) -> None:
    value = results(simulation(0), simulation(1, messages=None))
    runs = read_trajectories(write(tmp_path / "r.json", value)).trajectories
    file = tmp_path / name
    assert write_trajectories(file, runs) == 2
    reading = read_trajectories(file)
    assert reading.trajectories == runs
    assert reading.files[0].format == "own"
    before = file.read_bytes()
    write_trajectories(file, iter(runs))
    assert file.read_bytes() == before


def test_writing_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    (run,) = read_trajectories(write(tmp_path / "r.json", results(simulation()))).trajectories
    file = tmp_path / "ours.jsonl"
    write_trajectories(file, [run])

    def breaking_off():
        yield run
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_trajectories(file, breaking_off())
    assert read_trajectories(file).trajectories == (run,)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours.jsonl", "r.json"]


@pytest.mark.parametrize("value", [[tau_bench_run()], results(simulation()), chat(), {"messages": chat()}])
def test_gzip_is_recognised_from_content(tmp_path: Path, value: object) -> None:
    plain = read_trajectories(write(tmp_path / "plain", value))
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(json.dumps(value).encode()))
    assert read_trajectories(packed).trajectories == plain.trajectories


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(chat()), encoding="utf-8-sig")
    assert len(read_trajectories(file).trajectories) == 1
    file.write_text(json.dumps(chat(), indent=1), encoding="utf-8-sig")
    assert len(read_trajectories(file).trajectories) == 1


def test_folders_globs_and_files(tmp_path: Path) -> None:
    write(tmp_path / "a" / "one.json", [tau_bench_run(1)])
    write(tmp_path / "a" / "deep" / "two.json", [tau_bench_run(2)])
    write(tmp_path / "a" / ".hidden" / "three.json", [tau_bench_run(3)])
    (tmp_path / "a" / "README.md").write_text("# Notes\n")
    reading = read_trajectories(tmp_path / "a")
    assert [run.task_id for run in reading.trajectories] == ["1", "2"]
    assert [(Path(w.file).name, w.rule) for w in reading.warnings] == [("README.md", "passed over")]
    assert len(read_trajectories(tmp_path / "a" / "*.json").trajectories) == 1
    assert len(read_trajectories(str(tmp_path / "**" / "*.json")).trajectories) == 2
    twice = read_trajectories(tmp_path / "a", tmp_path / "a" / "one.json")
    assert len(twice.trajectories) == 2
    rules = [warning.rule for warning in twice.warnings]
    assert sorted(rules) == ["passed over", "the file is read once, though it was given twice"]


def test_a_stream_keeps_account_as_it_goes(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [tau_bench_run(1), tau_bench_run(1)])
    write(tmp_path / "b.json", [tau_bench_run(2)])
    stream = iter_trajectories(tmp_path)
    assert next(stream).task_id == "1"
    assert stream.files == []
    summary = summarise(map(counted, stream), files=len(stream.files), warnings=stream.warnings)
    assert summary.trajectories == 1
    assert [file.trajectories for file in stream.files] == [1, 1]
    assert [warning.rule for warning in stream.warnings] == ["identical content, counted once"]


def test_a_summary_of_nothing_has_no_mean() -> None:
    summary = summarise([])
    assert summary.rewards["n"] == 0
    assert str(summary.rewards["mean"]) == "nan"
    assert summary.to_dict()["agents"] == {}
