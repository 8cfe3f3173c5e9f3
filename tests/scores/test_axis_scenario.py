"""Scenario files, goal checks and the weights of a config."""

import json
from pathlib import Path
from typing import Any

import pytest

from axisjudge.checks import InputError
from axisjudge.scores.axis.judged.signals import GoalCheck, Grade, goal_bounds, goal_score
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS
from axisjudge.scores.axis.scenario import Scenario, checks_of, read_scenario, read_weights, scenario_for
from axisjudge.trajectory import Trajectory


def test_axis_json_and_our_yaml_give_the_same_scenario(tmp_path: Path) -> None:
    fields = {
        "name": "price",
        "prompt": "Fix the price.",
        "judge": [{"check": "fixed", "weight": 0.5}, {"check": "tested"}],
    }
    (tmp_path / "a.json").write_text(json.dumps({**fields, "skills": ["x"]}))
    (tmp_path / "a.yaml").write_text(
        "name: price\nprompt: Fix the price.\nchecks:\n  - check: fixed\n    weight: 0.5\n  - tested\n"
    )
    scenario = read_scenario(tmp_path / "a.json")
    assert scenario == read_scenario(tmp_path / "a.yaml")
    assert scenario.checks == (GoalCheck("fixed", 0.5), GoalCheck("tested", 0.5))


def test_a_text_is_one_check_of_the_whole_goal() -> None:
    assert checks_of("works", "x") == ((GoalCheck("works", 1.0),), True)


def test_checks_without_a_weight_share_what_is_left() -> None:
    checks, _ = checks_of([{"check": "a", "weight": 0.4}, "b", "c"], "x")
    assert [check.weight for check in checks] == pytest.approx([0.4, 0.3, 0.3])
    checks, _ = checks_of([{"check": "a", "weight": 1.5}, "b"], "x")
    assert [check.weight for check in checks] == [1.5, 0.0]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ([], "a list of checks"),
        (7, "a list of checks"),
        ([{"check": " "}], "a text"),
        ([{"check": "a", "weight": -1}], "0 or greater"),
        ([{"check": "a", "weight": True}], "0 or greater"),
        ([{"check": "a", "weight": 0}], "not all be 0"),
    ],
)
def test_checks_that_break_a_rule(said: Any, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        checks_of(said, "scenario")


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("a.yaml", "checks: [a\n", "not valid YAML"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", '{"name": "a", "checks": "a", "checks": "b"}', "key 'checks' is given twice"),
        ("a.yaml", "name: a\nchecks: a\nchecks: b\n", "key 'checks' is given twice"),
        ("a.yaml", "checks:\n- {check: a, check: b}\n", "key 'check' is given twice"),
        ("a.yaml", "- a\n", "must be an object"),
        ("a.yaml", "name: a\n", "must have checks once"),
        ("a.yaml", "check: a\nchecks: a\n", "fields are"),
    ],
)
def test_files_that_break_a_rule(tmp_path: Path, name: str, text: str, rule: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=rule):
        read_scenario(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read"):
        read_scenario(tmp_path / "none.yaml")


def config(tmp_path: Path, weights: Any) -> Path:
    path = tmp_path / "axis.config.json"
    path.write_text(json.dumps({"name": "x", "settings": {"scoring_weights": weights}}))
    return path


def test_weights_of_a_config(tmp_path: Path) -> None:
    given = {"goal_achievement": 0.5, "environment": 0.1, "service": 0.2, "agent": 0.195}
    assert read_weights(config(tmp_path, given)) == given
    (tmp_path / "empty.json").write_text("{}")
    assert read_weights(tmp_path / "empty.json") == DEFAULT_WEIGHTS


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"agent": 0.3}, r"must add up to 1 \(within 0.01\); found 1.1; divide each by 1.1"),
        ({"agent": -0.2}, "agent: must be a number, 0 or greater"),
        ({"agent": "0.2"}, "agent: must be a number"),
        ({"goal": 0.2}, "dimensions are goal_achievement"),
    ],
)
def test_weights_that_break_a_rule(tmp_path: Path, change: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        read_weights(config(tmp_path, {**DEFAULT_WEIGHTS, **change}))


def test_all_weights_zero_and_missing_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must not all be 0"):
        read_weights(config(tmp_path, dict.fromkeys(DEFAULT_WEIGHTS, 0)))
    with pytest.raises(InputError, match="add environment, service, agent"):
        read_weights(config(tmp_path, {"goal_achievement": 1}))


def test_goal_scores() -> None:
    checks = [GoalCheck("a", 2), GoalCheck("b", 1)]
    assert goal_score([Grade(checks[0], 10), Grade(checks[1], 5)]) == 83
    assert goal_score([Grade(GoalCheck("a", 0), 10)]) == 0
    assert goal_score([]) == 0
    assert goal_bounds([Grade(checks[0], 10), Grade(checks[1])]) == (67, 100)


def test_of_two_scenarios_with_one_name_neither_is_taken() -> None:
    twice = [Scenario(name="t", prompt=prompt, checks=(GoalCheck("works", 1.0),)) for prompt in ("a", "b")]
    with pytest.raises(InputError, match="must have a name each; found 't'"):
        scenario_for(Trajectory(id="r", source="s", task_id="t"), twice)


def test_checks_of_one_task_are_not_put_to_runs_of_another_that_bring_their_own():
    """Grades of goal.1 are of the run's first check, and were weighed as the first of whatever scenario was given."""
    own = {"judge": [{"check": "stock.csv is there", "weight": 1}]}
    run = Trajectory(id="r", source="axis", task_id="stock-export", meta={"axis_scenario": own})
    checks = Scenario("price-rounding", "", checks_of(["rounds half up"], "here")[0])
    with pytest.raises(InputError, match="checks of its own"):
        scenario_for(run, [checks])
    named = Scenario("stock-export", "", checks.checks)
    assert scenario_for(run, [named]) is named
    bare = run.model_copy(update={"meta": {}})
    assert scenario_for(bare, [checks]) is checks
