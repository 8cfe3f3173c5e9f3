"""`axisjudge scorecard`: what it prints, what it stores, and what it says without the extra."""

import json
import subprocess
import sys

import pytest

from axisjudge.cli import main
from axisjudge.datasets import demo_paths, demo_runs

GOOD = {"run_id": "run-1", "agent_id": "a", "workspace_id": "w", "outcome": "COMPLETED"}


@pytest.fixture
def axisjudge(monkeypatch, capsys):
    """Runs a command in this process; what it printed, or its complaint where another exit code is expected."""

    def command(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["axisjudge", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert (ended.value.code or 0) == code, said.err
        return said.out if code == 0 else said.err

    return command


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(GOOD | {"run_id": "run-2", "outcome": "BLOCKED"}) + "\n")
    return path


def test_scores_per_agent_and_as_json(axisjudge, tmp_path):
    said = axisjudge("scorecard", "score", demo_runs(), "--out", tmp_path / "scores.jsonl")
    assert "384 runs of 4 agents, 378 scored." in said
    found = json.loads(axisjudge("scorecard", "score", demo_runs(), "--json", "--frozen"))
    assert len(found["runs"]) == 384
    assert found["rules"]["weights"]["completion"] == 0.4
    assert len((tmp_path / "scores.jsonl").read_text().splitlines()) == 384


def test_trajectories_are_scored_as_far_as_they_tell(axisjudge):
    assert "no stages given" in axisjudge("scorecard", "score", demo_paths()[0])


@pytest.mark.slow
def test_stored_shown_and_known_before(axisjudge, tmp_path, runs):
    store = tmp_path / "scores.sqlite"
    axisjudge("scorecard", "score", runs, "--store", store)
    axisjudge("scorecard", "score", runs, "--store", store)
    assert len((tmp_path / "scores.events.jsonl").read_text().splitlines()) == 2
    said = axisjudge("scorecard", "show", "run-1", "--store", store)
    assert "run-1: 70 of 100 (40 to 100), Gold, formula 2" in said
    assert json.loads(axisjudge("scorecard", "show", "run-2", "--store", store, "--json"))["tier"] == "Silver"
    assert "no such run" in axisjudge("scorecard", "show", "run-3", "--store", store, code=2)


def test_a_store_that_is_not_there_is_not_made(axisjudge, tmp_path, monkeypatch):
    missing = tmp_path / "none.sqlite"
    monkeypatch.setenv("AXISJUDGE_SCORECARD_TOKENS", "not-a-key-not-a-key")
    for command in (("show", "run-1"), ("token", "list"), ("token", "revoke", "x")):
        assert axisjudge("scorecard", *command, "--store", missing, code=2).count("\n") == 1
    assert "--behind-proxy" in axisjudge("scorecard", "serve", "--host", "0.0.0.0", "--store", missing, code=2)
    assert list(tmp_path.iterdir()) == []


def test_the_artefact_of_the_winner_is_said(axisjudge, tmp_path):
    path, store = tmp_path / "runs.jsonl", tmp_path / "s.sqlite"
    rows = [GOOD | {"run_id": f"run-{k}", "spec_id": "spec", "artefact": f"branch/{k}"} for k in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "branch/0" in axisjudge("scorecard", "rank", path, "--spec", "spec")
    axisjudge("scorecard", "score", path, "--store", store)
    assert "branch/1" in axisjudge("scorecard", "show", "run-1", "--store", store)
    (event, _) = map(json.loads, (tmp_path / "s.events.jsonl").read_text().splitlines())
    assert (event["artefact"], event["spec_id"]) == ("branch/0", "spec")


def test_ranked(axisjudge, tmp_path):
    said = axisjudge("scorecard", "rank", demo_runs(), "--spec", "spec-03")
    assert "is offered for review" in said
    assert json.loads(axisjudge("scorecard", "rank", demo_runs(), "--json"))["spec"] is None


def test_rules_from_a_file(axisjudge, tmp_path, runs):
    rules = tmp_path / "rules.json"
    rules.write_text('{"weights": {"completion": 0.7, "error_rate": 0.1, "latency": 0.1, "resource_efficiency": 0.1}}')
    found = json.loads(axisjudge("scorecard", "score", runs, "--rules", rules, "--json"))
    assert found["runs"][0]["score"] == 85
    for wrong in ('{"weights": {"completion": 1}}', '{"window": "x"}', '{"weight": {}}', "[", "[]"):
        rules.write_text(wrong)
        assert axisjudge("scorecard", "score", runs, "--rules", rules, code=2).count("\n") == 1


def test_strict_stops(axisjudge, runs):
    assert "run run-1, error_rate: cannot be computed: no stages given" in axisjudge(
        "scorecard", "score", runs, "--strict", code=2
    )


def test_one_line_for_bad_input(axisjudge, tmp_path):
    (tmp_path / "runs.jsonl").write_text('{"run_id": "a b"}\n')
    assert axisjudge("scorecard", "score", tmp_path / "runs.jsonl", code=2).count("\n") == 1
    assert axisjudge("scorecard", "score", tmp_path / "none.jsonl", code=2).count("\n") == 1


WITHOUT = """
import importlib.util, sys
gone = ("sqlalchemy", "psycopg", "fastapi", "uvicorn", "posthog", "starlette")
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.split(".")[0] in gone else found(name, package)
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in gone:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Gone())
"""


def without_the_extra(*arguments):
    program = f"{WITHOUT}\nsys.argv[0] = 'axisjudge'\nfrom axisjudge.cli import main\nmain()"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_without_the_extra_all_but_the_store_works_and_it_says_which_extra(tmp_path, runs):
    scored = without_the_extra("scorecard", "score", runs)
    assert (scored.returncode, "2 runs of 1 agent" in scored.stdout) == (0, True)
    for command in (("score", runs, "--store", tmp_path / "scores.sqlite"), ("serve", "--no-auth")):
        refused = without_the_extra("scorecard", *command)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert "pip install 'axisjudge[service]'" in refused.stderr


def test_scores_are_never_written_over_a_file_that_is_there(axisjudge, runs, tmp_path):
    (tmp_path / "kept.jsonl").write_text("kept")
    assert "is there already" in axisjudge("scorecard", "score", runs, "--out", tmp_path / "kept.jsonl", code=2)
    assert (tmp_path / "kept.jsonl").read_text() == "kept"


@pytest.mark.parametrize("rules", ['{"window": 20.5}', '{"min_samples": true}', '{"window": 30, "window": 20}'])
def test_rules_that_count_no_runs_or_are_given_twice_are_refused(axisjudge, runs, tmp_path, rules):
    (tmp_path / "rules.json").write_text(rules)
    said = axisjudge("scorecard", "score", runs, "--rules", tmp_path / "rules.json", code=2)
    assert len(said.splitlines()) == 1
