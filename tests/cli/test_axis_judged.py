"""axisjudge axis-result with judges: the plan, the results by judge, agreement, own families, stored ratings."""

import json

import pytest
from cli.conftest import axisjudge

from axisjudge.workbench import home

FOLDER = home() / "data" / "demo" / "transcripts"
ONE = FOLDER / "cedar-mini" / "price-rounding.1.json"
CHECKS = ("--checks", FOLDER / "price-rounding.yaml")
TWO = ("--judge", "simulated:heron", "--judge", "simulated:wren")


def axis_result(*arguments, code=0):
    done = axisjudge("axis-result", *arguments)
    assert done.returncode == code, done.stderr
    return done


def test_two_judges_give_a_result_each_one_together_and_their_agreement(tmp_path):
    out = tmp_path / "r.jsonl"
    page = axis_result(ONE, *CHECKS, *TWO, "--out", out).stdout
    assert page.startswith("SIMULATED OR PLANTED")
    for words in (
        "judged by simulated:heron, simulated:wren (the mean of 2, signal by signal)",
        "Results by judge",
        "\n  together ",
        "Agreement on each signal",
        "agent.relevance",
        f"Ratings: {out}",
    ):
        assert words in page
    stored = json.loads(axis_result(ONE, *CHECKS, "--signals", out, "--combine", "median", "--json").stdout)
    assert list(stored["judges"]) == ["simulated:heron", "simulated:wren"]
    assert stored["results"][0]["composite"] is not None
    assert "(the median of 2, signal by signal)" in stored["results"][0]["judged_by"]
    assert {each["question"] for each in stored["agreement"]["signals"]} >= {"agent.weight", "goal"}
    assert out.read_bytes().count(b"\n") == 2 * 80


def test_the_plan_is_shown_and_nothing_is_asked(tmp_path):
    plan = axis_result(ONE, *CHECKS, *TWO, "--out", tmp_path / "r.jsonl", "--dry-run").stdout
    assert "6 calls to make" in plan
    assert not (tmp_path / "r.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--judge", "anthropic:claude-sonnet-4-6"), "as is the agent it would judge; found 'claude-code in"),
        (("--judge", "openai-decisions:gpt-6-luna"), "judges no signals"),
    ],
)
def test_what_cannot_be_is_one_line(arguments, words, tmp_path):
    told = {"scenarioKey": "s", "agentName": "claude-code", "output": {"result": "Done.", "metadata": {"exitCode": 0}}}
    told["output"]["transcript"] = [
        {"type": "assistant", "timestamp": "2026-03-14T09:00:00Z", "content": {"text": "a"}}
    ]
    run = tmp_path / "run.json"
    run.write_text(json.dumps(told))
    done = axis_result(run, *arguments, "--out", tmp_path / "o.jsonl", code=2)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "o.jsonl").exists()
