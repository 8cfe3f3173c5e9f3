"""`axisjudge demo` and `axisjudge init` as a newcomer meets them."""

import json
import re
import shlex

import pytest
from typer.testing import CliRunner

from axisjudge import workbench
from axisjudge.cli import app
from axisjudge.datasets import published_votes
from axisjudge.ratings import read_ratings


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)), prog_name="axisjudge")


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.setattr(workbench, "_chosen", None)
    monkeypatch.delenv("AXISJUDGE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def shown():
    page = run("demo")
    assert page.exit_code == 0
    return page.output


def test_it_prints_judges_by_balanced_accuracy_with_intervals(shown):
    rows = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines() if re.search(r"\d-\d+ +\d+$", line)]
    assert len(rows) == 20
    balanced = [float(row[4].split()[0]) for row in rows]
    assert balanced == sorted(balanced, reverse=True)
    assert all(re.fullmatch(r"\d\.\d\d \(\d\.\d\d-\d\.\d\d\)", cell) for row in rows for cell in row[2:5])
    assert sum(int(row[6]) for row in rows) == 631
    for figure in ("3,557 steps", "50 queries", "1,110", "2.3 independent"):
        assert figure in shown
    assert "nan" not in shown
    assert "SIMULATED" not in shown.upper()


def test_json_holds_the_whole_result_and_the_seed_decides():
    first, second = (json.loads(run("demo", "--subset", "hotpotqa", "--json", "--seed", 3).output) for _ in range(2))
    assert first == second
    assert (first["subset"], first["n_steps"], len(first["judges"])) == ("hotpotqa", 734, 20)
    assert {"found", "passed", "balanced", "n_lost", "rank_low", "rank_high"} <= first["judges"][0].keys()
    assert set(first["may_be_best"]) == {judge["judge"] for judge in first["judges"] if judge["rank_low"] == 1}
    assert first["effective_judges"]["ci_low"] < first["effective_judges"]["estimate"]


@pytest.mark.parametrize("name", ["votes.parquet", "deep/votes.jsonl"])
def test_the_votes_as_a_ratings_file(nowhere, name):
    assert run("demo", "--subset", "hotpotqa", "--out", name).exit_code == 0
    written = read_ratings(nowhere / name)
    assert written.height == published_votes("hotpotqa", level="step").height
    assert "is there already" in str(run("demo", "--out", name).exception)
    assert read_ratings(nowhere / name).height == written.height


def test_a_wrong_subset_or_ending_is_named(nowhere):
    assert "must be one of tau2, hotpotqa, bfcl" in str(run("demo", "--subset", "tau").exception)
    assert "must end in .parquet or .jsonl" in str(run("demo", "--out", "votes.csv").exception)
    assert not list(nowhere.iterdir())


def test_every_command_to_try_next_is_one(shown):
    told = [line.strip() for line in shown.partition("To try next:")[2].splitlines() if line.strip()]
    commands = [re.split(r"\s{2,}", line)[0] for line in told]
    assert len(commands) >= 4
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "axisjudge"
        assert run(words[1], "--help").exit_code == 0


def test_init_says_what_it_made_and_what_it_left(nowhere):
    first = run("init", "bench", "--demo")
    assert first.exit_code == 0
    assert str(nowhere / "bench") in first.output
    assert "notebooks/" in first.output
    mine = nowhere / "bench" / "rubrics" / "argument_validity" / "v3.md"
    mine.write_text("mine")
    again = run("init", "bench", "--json")
    said = json.loads(again.output)
    assert said["made"] == []
    assert "rubrics/argument_validity/v3.md" in said["kept"]
    assert mine.read_text() == "mine"
    assert "Nothing to make" in run("init", "bench").output


def test_what_the_readme_prints_of_it_is_what_it_prints(shown):
    text = (workbench.home() / "README.md").read_text(encoding="utf-8")
    quoted = text.partition("axisjudge demo")[2].partition("```text\n")[2].partition("```")[0]
    told = " ".join(shown.split())
    parts = [" ".join(part.split()) for part in re.split(r"\n  \.\.\.\n", quoted)]
    assert len(parts) == 2
    assert all(part in told for part in parts)
