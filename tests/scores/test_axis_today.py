"""Tools of today, time that a person took, texts before a call, and weights in the wrong place."""

import json
from typing import Any

import pytest
from scores.axis_cases import answers, calls, judged_run, says

from axisjudge.checks import InputError
from axisjudge.readers.events import Steps
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS
from axisjudge.scores.axis.rule_sets import DOCUMENTED, UPSTREAM
from axisjudge.scores.axis.scenario import read_weights
from axisjudge.scores.axis.transcript.categories import TOOLSETS, categorise
from axisjudge.scores.axis.transcript.interactions import entries_of_run, interactions_of, run_of_axis
from axisjudge.trajectory import Step, ToolCall, Trajectory


@pytest.mark.parametrize(
    ("names", "category"),
    [
        ("run_shell_command read_file write_file list_directory MultiEdit apply_patch local_shell", "environment"),
        ("replace BashOutput exec_command execute_bash str_replace_based_edit_tool run_in_terminal", "environment"),
        ("WebFetch google_web_search web_search_call mcp_tool_call mcp__stock__read_file use_mcp_tool", "service"),
        ("update_plan ask_user write_todos Agent request_user_input think", "agent"),
        ("cancel_order weather", "service"),
    ],
)
def test_tools_of_today_are_known_by_one_table(names: str, category: str) -> None:
    for name in names.split():
        assert categorise("tool_use", name, None, DOCUMENTED) == (category,), name


def test_the_program_keeps_its_own_lists_and_every_row_has_a_source() -> None:
    for name in ("run_shell_command", "read_file", "MultiEdit", "apply_patch"):
        assert categorise("tool_use", name, None, UPSTREAM) == ("service",)
    assert all("/" in row.source for row in TOOLSETS)
    belongs: dict[str, set[str]] = {}
    for row in TOOLSETS:
        for where in ("environment", "service", "agent"):
            for name in getattr(row, where).split():
                belongs.setdefault(name, set()).add(where)
    assert all(len(places) == 1 for places in belongs.values()), "no tool belongs to two categories"


def wait_of(name: str, text: str, milliseconds: int, rules: Any = DOCUMENTED, **more: Any) -> str | None:
    entries = (calls(0, name), answers(milliseconds, text, **more))
    return run_of_axis(entries, id="run", rules=rules).interactions[0].wait


def test_time_that_a_person_took_is_told_apart() -> None:
    assert wait_of("AskUserQuestion", "the second one", 373_000) == "answer"
    assert wait_of("ask_user", "yes", 5_000) == "answer"
    assert wait_of("Bash", "The user doesn't want to proceed with this tool use.", 90_000, is_error=True) == "refusal"
    assert wait_of("Read", "text", 1_832_000) == "permission"
    assert wait_of("Read", "text", 3_000) is None
    assert wait_of("Bash", "built", 373_000) is None, "a program may take long"
    assert wait_of("AskUserQuestion", "the second one", 373_000, rules=UPSTREAM) is None


def test_a_wait_is_no_speed_and_a_likely_one_widens_the_bounds() -> None:
    quick = (calls(0, "Read", "q"), answers(100, id="q"))
    asked = judged_run(*quick, calls(1_000, "AskUserQuestion", "a"), answers(400_000, id="a"))
    assert asked.dimension("agent").signal("speed").value == 1.0
    assert asked.slowest is not None
    assert asked.slowest.id == 1
    assert any("waiting for a person" in mark for mark in asked.marks)
    allowed = judged_run(*quick, calls(1_000, "Read", "a"), answers(400_000, id="a")).dimension("environment")
    assert (allowed.signal("speed").value, allowed.signal("speed").n_missing) == (1.0, 1)
    assert allowed.low < allowed.high
    reply = {"type": "user", "timestamp": "2026-03-14T09:09:00.000Z", "content": {"text": "go on"}}
    spoken = judged_run(*quick, says(1_000, "Shall I?"), reply)
    assert spoken.interactions[1].wait == "message"
    assert spoken.dimension("agent").signal("speed").value == 1.0


def test_a_text_before_a_call_takes_the_time_until_that_call() -> None:
    steps = Steps()
    steps.text("assistant", "I look at it.", "2026-03-14T09:00:00.000Z", message="m")
    steps.call(ToolCall(id="a", name="Read"), "2026-03-14T09:00:03.500Z", message="m")
    steps.call(ToolCall(id="b", name="Read"), "2026-03-14T09:00:04.500Z", message="m")
    steps.result("a", "x", "2026-03-14T09:00:05.000Z", error=None)
    (step, _) = steps.all()
    assert step.timestamp == "2026-03-14T09:00:04.500Z"
    entries, _ = entries_of_run(Trajectory(id="run", source="test", steps=steps.all()), DOCUMENTED)
    text, first, second = interactions_of(entries, DOCUMENTED)
    assert (text.duration_ms, first.start_ms, second.start_ms) == (3_500, 3_500, 4_500)


def test_results_of_a_user_simulators_calls_are_left_out_with_ids_and_without() -> None:
    for identity in ("a", None):
        asked = ToolCall(id=identity, name="toggle", requestor="user")
        steps = (
            Step(index=0, role="user", tool_calls=(asked,)),
            Step(index=1, role="tool", tool_call_id=identity, content="on"),
            Step(index=2, role="assistant", content="Good."),
        )
        entries, marks = entries_of_run(Trajectory(id="run", source="test", steps=steps), DOCUMENTED)
        assert [entry.type for entry in entries] == ["user", "assistant"]
        assert marks


WEIGHTS = {"goal_achievement": 0.1, "environment": 0.3, "service": 0.3, "agent": 0.3}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"scoring_weights": WEIGHTS}, "scoring_weights"),
        (WEIGHTS, "goal_achievement"),
        ({"settings": {"scoringWeights": WEIGHTS}}, "settings.scoringWeights"),
        ({"settings": {"weights": WEIGHTS}}, "settings.weights"),
        ({"settings": {"scoring": {"weights": WEIGHTS}}}, "settings.scoring.weights"),
        ({"settings": WEIGHTS}, "settings"),
        ({"settings": {"scoring_weights": WEIGHTS}, "scoring_weights": WEIGHTS}, "found 'scoring_weights'"),
        ({"settings": {"dimensions": {"agent": {"weight": 0.3}}}}, "settings.dimensions"),
        ({"dimensions": [{"name": "agent", "weight": 0.3}]}, "dimensions"),
        ({"settings": {"scoring_weights": None}}, "must be an object"),
        ([WEIGHTS], "must be an object"),
    ],
)
def test_weights_in_the_wrong_place_are_an_error(tmp_path: Any, config: Any, words: str) -> None:
    path = tmp_path / "axis.config.json"
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        read_weights(path)


def test_a_config_without_weights_and_with_weighted_checks_has_the_defaults(tmp_path: Any) -> None:
    path = tmp_path / "axis.config.json"
    config = {
        "agents": ["codex"],
        "scenarios": [{"judge": [{"check": "done", "weight": 1}]}],
        "settings": {"concurrency": 2},
    }
    path.write_text(json.dumps(config))
    assert read_weights(path) == DEFAULT_WEIGHTS
    path.write_text(json.dumps({**config, "settings": {"scoring_weights": WEIGHTS}}))
    assert read_weights(path) == WEIGHTS


def test_a_band_is_named_only_where_both_ends_share_it() -> None:
    known = judged_run(calls(0, "Read"), answers(100))
    assert known.dimension_rows[1]["band"] == "excellent"
    unknown = judged_run({**calls(0, "Read"), "timestamp": ""}, answers(100), value=0.75)
    row = unknown.dimension_rows[1]
    assert (DOCUMENTED.band(row["low"]), DOCUMENTED.band(row["high"]), row["band"]) == ("fair", "good", None)
