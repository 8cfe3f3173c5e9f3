"""axisjudge axis-result on the demo's transcripts."""

import json

import pytest
from cli.conftest import axisjudge

from axisjudge.workbench import home

FOLDER = home() / "data" / "demo" / "transcripts"
ONE = FOLDER / "cedar-mini" / "price-rounding.1.json"


def axis_result(*arguments):
    return axisjudge("axis-result", *arguments)


def test_one_run_is_printed_with_its_signals_and_marks():
    page = axis_result(ONE, "--checks", FOLDER / "price-rounding.yaml")
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith("AXIS Result 44-98 (run cedar-mini.price-rounding.1")
    for words in (
        "Dimensions",
        "necessity",
        "unnecessary: #7, #15",
        "Slowest call: #21 Bash, 4.4 s",
        "an interval",
    ):
        assert words in page.stdout


def test_many_runs_are_a_table_with_the_planted_banner():
    page = axis_result(FOLDER / "alder-large", FOLDER / "cedar-mini", "--grades", FOLDER / "goal_grades.jsonl")
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith("SIMULATED OR PLANTED")
    assert page.stdout.count("cedar-mini.") == 12
    assert "9 of 24: service has no interactions" in page.stdout
    assert "Mean AXIS Result of the runs that did not fail: 90\n" in page.stdout


def test_two_sets_are_compared_and_the_full_result_is_json():
    given = (FOLDER / "cedar-mini", "--compare", FOLDER / "alder-large", "--grades", FOLDER / "goal_grades.jsonl")
    page = axis_result(*given)
    assert page.returncode == 0, page.stderr
    full = json.loads(axis_result(*given, "--json").stdout)
    assert len(full["results"]) == 12
    changes = {each["quantity"]: each for each in full["comparison"]["changes"]}
    assert changes.keys() >= {"composite", "agent"}
    (told,) = (line for line in page.stdout.splitlines() if "12 runs each, on the same 4 tasks" in line)
    assert "95% sure for all 5 together" in told
    largest = max(changes, key=lambda name: abs(changes[name]["over_repeats"]["estimate"]))
    assert changes[largest]["change"] == "not shown"
    assert changes[largest]["over_repeats"]["ci_level"] == pytest.approx(0.99)
    points = abs(changes[largest]["over_repeats"]["estimate"])
    assert f"no change is shown in any of {len(changes)} scores" in told
    assert f"the largest: {largest.replace('_', ' ')} is {points:.1f} points" in told
    assert full["results"][0]["rules"]["name"] == "documented"


def test_rules_and_weights_are_taken(tmp_path):
    config = tmp_path / "axis.config.json"
    weights = {"goal_achievement": 0, "environment": 0.5, "service": 0.25, "agent": 0.25}
    config.write_text(json.dumps({"settings": {"scoring_weights": weights}}))
    page = axis_result(ONE, "--config", config, "--rules", "upstream", "--json")
    (result,) = json.loads(page.stdout)["results"]
    assert (result["weights"], result["rules"]["name"]) == (weights, "upstream")
    assert isinstance(result["composite"], int)  # goal achievement has no weight


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((ONE, "--rules", "original"), "--rules: must be one of documented, upstream"),
        ((ONE, "--compare", FOLDER / "alder-large" / "release-notes.1.json"), "share no task"),
        (("nowhere.jsonl",), "no such file or folder"),
        ((ONE, "--checks", "nowhere.yaml"), "nowhere.yaml: cannot be read"),
    ],
)
def test_bad_input_is_one_line(arguments, words):
    page = axis_result(*arguments)
    assert page.returncode == 2
    assert words in page.stderr
    assert page.stderr.count("\n") == 1
