"""The real files beside the checkout, with the counts that they must give."""

from pathlib import Path

import pytest

from axisjudge.labels.agentprocessbench import read_agentprocessbench
from axisjudge.readers import read_trajectories
from axisjudge.readers.reading import NOT_STATED

RETAIL = {
    # file: steps, agent calls, user calls, tool errors, empty runs, runs with reward 1, endings other than user_stop
    "gemini-3-flash": (2981, 866, 113, 31, 4, 89, {"agent_error": 4}),
    "gpt-4.1-mini": (3661, 896, 132, 72, 0, 66, {"max_steps": 1}),
    "gpt-5-mini": (3257, 796, 108, 37, 3, 65, {"agent_error": 3, "max_steps": 2}),
    "gpt-5-nano": (3606, 920, 103, 117, 0, 38, {"max_steps": 2, "too_many_errors": 1}),
}


@pytest.mark.slow
@pytest.mark.parametrize("agent", RETAIL)
def test_tau2_retail(shared_data: Path, agent: str) -> None:
    steps, agent_calls, user_calls, errors, empty, successes, endings = RETAIL[agent]
    reading = read_trajectories(shared_data / "tau2_retail" / f"{agent}.json")
    summary = reading.summary()
    assert summary.trajectories == summary.tasks == 114
    assert (summary.steps, summary.agent_tool_calls, summary.user_tool_calls) == (steps, agent_calls, user_calls)
    assert (summary.tool_errors, summary.empty) == (errors, empty)
    assert summary.rewards == {"n": 114, "mean": successes / 114, "missing": 0}
    assert summary.endings == {"user_stop": 114 - sum(endings.values()), **endings}
    assert summary.domains == {"retail": 114}
    assert (summary.with_tool_schemas, summary.with_policy) == (0, 114)
    assert reading.warnings == ()


@pytest.mark.slow
def test_tau2_retail_as_a_folder_with_its_tools(shared_data: Path) -> None:
    reading = read_trajectories(shared_data / "tau2_retail", tools=shared_data / "context" / "tools.json")
    summary = reading.summary()
    assert (summary.files, summary.trajectories, summary.tasks, summary.empty) == (4, 456, 114, 7)
    assert (summary.steps, summary.agent_tool_calls, summary.user_tool_calls) == (13505, 3478, 456)
    assert (summary.tool_errors, len(summary.tools), summary.with_tool_schemas) == (257, 15, 456)
    families = {trajectory.agent: trajectory.agent_family for trajectory in reading.trajectories}
    assert families == {
        "gemini-3-flash-preview": "google",
        "gpt-4.1-mini": "openai",
        "gpt-5-mini": "openai",
        "gpt-5-nano": "openai",
    }
    for trajectory in reading.trajectories:
        schemas = {schema.name for schema in trajectory.tools or ()}
        assert all(call.name in schemas for step in trajectory.steps for call in step.agent_calls)
        assert all(step.source_index == step.index for step in trajectory.steps)
        assert trajectory.cluster_id == f"retail/{trajectory.task_id}"
    user_tools = {c.name for t in reading.trajectories for s in t.steps for c in s.tool_calls if c.requestor == "user"}
    assert user_tools == {"check_for_stop"}
    empty = [trajectory for trajectory in reading.trajectories if not trajectory.steps]
    assert {trajectory.termination for trajectory in empty} == {"agent_error"}


def test_tau2_native(shared_data: Path) -> None:
    reading = read_trajectories(shared_data / "tau2_native")
    summary = reading.summary()
    assert (summary.files, summary.trajectories, summary.tasks, summary.empty) == (15, 34, 19, 0)
    assert (summary.steps, summary.agent_tool_calls, summary.user_tool_calls, summary.tool_errors) == (596, 144, 8, 5)
    assert summary.agents == {"openai/gpt-4.1-mini": 26, "xai/grok-3-mini": 4, "xai/grok-4-fast-reasoning": 4}
    assert summary.domains == {"mock": 13, "airline": 11, "airline-relaxed": 8, "retail": 1, "telecom": 1}
    assert summary.endings == {"user_stop": 31, "max_steps": 3}
    assert summary.rewards == {"n": 34, "mean": 16 / 34, "missing": 0}
    assert reading.warnings == ()
    four_trials = [t for t in reading.trajectories if t.agent == "xai/grok-3-mini"]
    assert sorted(trajectory.meta["trial"] for trajectory in four_trials) == [0, 1, 2, 3]
    assert {trajectory.task_id for trajectory in four_trials} == {"8"}
    first_roles = {trajectory.steps[0].role for trajectory in reading.trajectories}
    assert first_roles == {"assistant", "user"}


def test_tau2_native_tools_only_where_the_domain_matches(shared_data: Path) -> None:
    reading = read_trajectories(shared_data / "tau2_native", tools=shared_data / "context" / "tools.json")
    assert reading.summary().with_tool_schemas == 13  # airline, retail, telecom
    assert reading.summary().warnings == {"the tools file has nothing for the domain": 6}
    assert {warning.detail.split(",")[0] for warning in reading.warnings} == {"mock", "airline-relaxed"}


def test_tau_bench(shared_data: Path) -> None:
    reading = read_trajectories(shared_data / "tau_bench" / "gpt-4o-airline.json")
    summary = reading.summary()
    assert (summary.trajectories, summary.tasks, summary.steps) == (200, 50, 5308)
    assert (summary.agent_tool_calls, summary.user_tool_calls, len(summary.tools)) == (1164, 0, 14)
    assert summary.rewards == {"n": 200, "mean": 84 / 200, "missing": 0}
    assert summary.agents == summary.domains == summary.endings == {NOT_STATED: 200}
    assert reading.warnings == ()
    assert len({trajectory.id for trajectory in reading.trajectories}) == 200
    roles = [step.role for trajectory in reading.trajectories for step in trajectory.steps]
    assert {role: roles.count(role) for role in set(roles)} == {
        "system": 200,
        "user": 1490,
        "assistant": 2454,
        "tool": 1164,
    }
    assert all(isinstance(c.arguments, dict) for t in reading.trajectories for s in t.steps for c in s.tool_calls)


def test_tau_bench_with_what_the_source_lacks(shared_data: Path) -> None:
    reading = read_trajectories(
        shared_data / "tau_bench",
        agent="gpt-4o",
        tools=f"{shared_data / 'context' / 'tools.json'}#airline",
        policy=shared_data / "context" / "airline_policy.md",
    )
    summary = reading.summary()
    assert summary.agents == {"gpt-4o": 200}
    assert {trajectory.agent_family for trajectory in reading.trajectories} == {"openai"}
    assert (summary.with_tool_schemas, summary.with_policy) == (200, 200)
    plain = read_trajectories(shared_data / "tau_bench")
    assert [t.id for t in plain.trajectories] == [t.id for t in reading.trajectories], "ids are the content's alone"


def test_agentrx(shared_data: Path) -> None:
    reading = read_trajectories(shared_data / "agentrx", strict=False)
    summary = reading.summary()
    assert (summary.trajectories, summary.tasks, summary.steps, summary.agent_tool_calls) == (102, 102, 3142, 818)
    assert summary.rewards == {"n": 102, "mean": 73 / 102, "missing": 0}
    assert summary.warnings == {"identical content, counted once": 27, "passed over": 1}
    assert {Path(w.file).name for w in reading.warnings if w.rule == "passed over"} == {"retail_policy.txt"}
    assert {Path(file.path).name for file in reading.refused} == {"human_labels.json", "tools_structure.json"}
    assert all(step.source_index == step.index + 1 for t in reading.trajectories for step in t.steps)
    assert {file.format for file in reading.files} == {"agentrx"}


def test_agentrx_files_alone(shared_data: Path) -> None:
    full = read_trajectories(shared_data / "agentrx" / "tau_dataset_full.json").summary()
    failed = read_trajectories(shared_data / "agentrx" / "tau_dataset_failed.json").summary()
    assert (full.trajectories, full.steps, full.agent_tool_calls, full.rewards["mean"]) == (100, 3036, 793, 0.73)
    assert (failed.trajectories, failed.steps, failed.agent_tool_calls, failed.rewards["mean"]) == (29, 1064, 284, 0.0)


def test_inspect_logs(shared_data: Path) -> None:
    reading = read_trajectories(shared_data / "inspect_logs", strict=False)
    summary = reading.summary()
    assert (summary.files, summary.trajectories, summary.steps, summary.agent_tool_calls) == (7, 8, 48, 9)
    assert ["no samples" in file.reason for file in reading.refused] == [True]
    assert summary.agents == {"openai/gpt-4o-mini": 5, "ollama/llama3.1": 1, "hardcoded/hardcoded": 1, "...": 1}
    assert summary.tool_errors == 11
    assert summary.rewards == {"n": 7, "mean": 4 / 7, "missing": 1}
    assert summary.endings == {"stop": 7, NOT_STATED: 1}
    assert summary.warnings == {
        "a tool result without its call": 11,  # log_tool_call_error.json has results only
        "identical content, counted once": 1,  # one run, kept as .json and as .eval
    }


def test_inspect_attachments_and_deduplicated_messages(shared_data: Path) -> None:
    folder = shared_data / "inspect_logs"
    (run,) = read_trajectories(folder / "log_message_deduplication.eval").trajectories
    assert (len(run.steps), run.task_id, run.reward) == (12, "0", 0.0)
    described = {tool.name: tool.description for tool in run.tools or ()}
    assert described.keys() == {"bash", "python"}
    assert described["python"].startswith("Use the python function")
    (browser,) = read_trajectories(folder / "2025-05-12T20-27-36-04-00_browser.json").trajectories
    assert "attachment://" not in browser.model_dump_json()
    assert len(browser.tools or ()) == 8


def test_a_folder_without_trajectories_is_an_error(shared_data: Path) -> None:
    with pytest.raises(ValueError, match="is of no known format"):
        read_trajectories(shared_data / "context")


def test_runs_of_agentprocessbench_meet_their_labels(shared_data: Path) -> None:
    """By the run, the query that five runs share, and the step, which is a message of the agent's."""
    bench = shared_data / "agentprocessbench"
    runs = {run.id: run for run in read_trajectories(bench / "trajectories" / "hotpotqa_half.jsonl").trajectories}
    labels = read_agentprocessbench(bench, "hotpotqa")
    met = labels.filter(labels["trajectory_id"].is_in(list(runs)))
    assert met["trajectory_id"].n_unique() == len(runs) == 125
    for run, query, step in met.select("trajectory_id", "cluster_id", "step_index").unique().iter_rows():
        assert runs[run].task_id == query
        assert step is None or runs[run].steps[step].role == "assistant"
