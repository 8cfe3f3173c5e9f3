"""axisjudge compare as a user meets it."""

import json
import re

import pytest
from cli.conftest import axisjudge

from axisjudge.workbench import home


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    out = tmp_path_factory.mktemp("compare") / "ratings.jsonl"
    one_file = min((home() / "data" / "demo" / "results").glob("*.json"))
    done = axisjudge("judge", one_file, "--judge", "rules", "--judge", "simulated:heron", "--out", out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_words_first_then_tables_and_the_whole_as_json(ratings, called):
    labels = home() / "data" / "demo" / "planted.jsonl"
    page = axisjudge("compare", ratings, "--labels", labels)
    assert page.returncode == 0, page.stderr
    banner, first, *rest = page.stdout.splitlines()
    assert banner.startswith("SIMULATED OR PLANTED")
    assert first.startswith("Of 60 claims")
    outcomes = {what: int(n) for n, what in re.findall(r"(\d+) (not shown yet|shown false|not checked)", first)}
    assert sum(outcomes.values()) == 60, first  # none is made
    assert any(
        line.startswith("'may stand in for one of these people (at epsilon 0.2)' could not be checked") for line in rest
    )
    assert "Against the majority of people" in rest
    assert "Alternative annotator test" not in rest  # one labeller: the reason stands above
    full = json.loads(called("compare", ratings, "--labels", labels, "--epsilon", "0.1", "--json").stdout)
    assert full["epsilon"] == 0.1
    assert full["questions"][0]["question"] == "tool_selection"
    assert full["questions"][0]["judges"][0]["judge"] == "rules"


def test_requirements_end_with_what_is_known(ratings, called):
    labels = home() / "data" / "demo" / "planted.jsonl"
    for required, code in (
        ("simulated:heron.accuracy<=1", 0),
        ("simulated:heron.accuracy>=1", 1),
        ("sensitivity>=0.95", 4),
    ):
        page = called("compare", ratings, "--labels", labels, "--require", required, "--json")
        outcomes = {each["outcome"] for each in json.loads(page.stdout)["requirements"]}
        assert page.returncode == code, outcomes
        assert ("short" in outcomes) == (code == 1)
    page = called("compare", ratings, "--labels", labels, "--require", "nobody.accuracy>=1")
    assert (page.returncode, page.stderr.count("\n")) == (2, 1)


def test_what_cannot_be_compared_is_one_line_and_exit_code_2(ratings, called):
    labels = home() / "data" / "demo" / "planted.jsonl"
    for arguments, message in (
        (("--labels", ratings), "axisjudge: labels: must be of people"),  # a simulated judge is no person
        (("--labels", labels, "--sampling", "randm"), "axisjudge: sampling: must be one of random"),
        ((), "axisjudge: Missing option '--labels'"),
    ):
        page = called("compare", ratings, *arguments)
        assert (page.returncode, page.stdout) == (2, "")
        assert page.stderr.startswith(message), page.stderr
        assert page.stderr.count("\n") == 1


def test_where_judges_are_unfair_is_said_with_what_cannot_be_tried(ratings, called):
    labels = home() / "data" / "demo" / "planted.jsonl"
    page = called("compare", ratings, "--labels", labels, "--by", "agent,length", "--json")
    assert page.returncode == 0
    fairness = json.loads(page.stdout)["fairness"]
    assert {each["by"] for each in fairness} == {"agent", "length"}
    assert all("trajectories" in each["refusal"] for each in fairness if each["by"] == "length")
