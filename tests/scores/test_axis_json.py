"""The original program's form of results, against what the original program itself gave."""

import json
from pathlib import Path
from typing import Any

import pytest
from scores.axis_cases import load_cases, result_of_case

from axisjudge.checks import InputError
from axisjudge.datasets import demo_goal_grades, demo_transcripts
from axisjudge.ratings import read_ratings
from axisjudge.readers import read_trajectories
from axisjudge.scores.axis.axis_json import axis_json, score_json
from axisjudge.scores.axis.rule_sets import DOCUMENTED, UPSTREAM
from axisjudge.scores.axis.scenario import axis_results
from axisjudge.scores.axis.transcript.categories import CATEGORIES


def as_written(value: Any) -> Any:
    """What JSON.stringify makes of the oracle's numbers: NaN is null."""
    if isinstance(value, dict):
        return None if value.keys() == {"$num"} else {key: as_written(item) for key, item in value.items()}
    return [as_written(item) for item in value] if isinstance(value, list) else value


def worded(goal: dict[str, Any]) -> dict[str, Any]:
    """The goal with rationales as text, which a judge may have given as a number."""
    return {**goal, "criteria": [{**each, "rationale": str(each["rationale"])} for each in goal["criteria"]]}


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: item for name, item in value.items() if name not in names}


def test_every_case_of_the_original_is_written_as_it_wrote_it(oracles: Path) -> None:
    cases = [case for case in load_cases(oracles) if "error" not in case["expected"]]
    assert len(cases) == 178
    for case in cases:
        wanted = as_written(case["expected"])
        found = json.loads(json.dumps(score_json(result_of_case(case)), allow_nan=False))
        for category in CATEGORIES:
            assert found[category] == without(wanted[category], "raw"), (case["id"], category)
        assert found["goalAchievement"] == worded(wanted["goalAchievement"]), case["id"]
        assert (found["axisScore"], found["weights"]) == (wanted["axisScore"], wanted["weights"]), case["id"]
        index = found["sparseIndex"]
        assert index["interactions"] == [without(each, "speed") for each in wanted["interactions"]], case["id"]
        assert index["stats"] == wanted["stats"], case["id"]


def test_a_report_of_many_runs_is_read_again_as_it_was(tmp_path: Path) -> None:
    runs = read_trajectories(*demo_transcripts()[:6]).trajectories
    results = axis_results(runs, grades=read_ratings(demo_goal_grades()), rules=UPSTREAM)
    report = axis_json(runs, results)
    assert report["summary"]["total"] == len(report["results"]) == 6
    whole, parts = tmp_path / "whole.json", tmp_path / "parts"
    whole.write_text(json.dumps(report, indent=2))
    parts.mkdir()
    for number, entry in enumerate(report["results"]):
        (parts / f"{number}.json").write_text(json.dumps(entry))
    for path in (parts, whole):
        again = read_trajectories(path).trajectories
        assert [each.steps for each in again] == [each.steps for each in runs]
        assert [(each.id, each.agent, each.task_id) for each in again] == [
            (each.id, each.agent, each.task_id) for each in runs
        ]


def test_what_the_form_has_no_word_for_is_refused() -> None:
    runs = read_trajectories(demo_transcripts()[0]).trajectories
    for rules, words in ((DOCUMENTED, "other rules"), (UPSTREAM, "not graded")):
        with pytest.raises(InputError, match=words):
            axis_json(runs, axis_results(runs, rules=rules))
