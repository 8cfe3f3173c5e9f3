"""axisjudge agreement where judges cite steps and are asked several times."""

import json

import pytest
from cli.conftest import axisjudge

from axisjudge.workbench import home


def judged(out, repeats):
    one_file = min((home() / "data" / "demo" / "results").glob("*.json"))
    asked = ("--judge", "rules", "--judge", "simulated:heron", "--repeats", repeats, "--out", out)
    done = axisjudge("judge", one_file, *asked)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_citations_and_repeats_are_told_where_there_are_any(tmp_path):
    ratings = judged(tmp_path / "r.jsonl", 2)
    page = axisjudge("agreement", ratings)
    assert page.returncode == 0, page.stderr
    assert "cited steps exist" in page.stdout
    assert "chance needs the number of steps" in page.stdout
    assert "above chance" not in page.stdout
    assert "simulated:heron, asked 2 times" in page.stdout
    full = json.loads(axisjudge("agreement", ratings, "--json").stdout)
    assert [judge["judge"] for judge in full["citations"]["judges"]] == ["rules", "simulated:heron"]
    assert all(pair["cited"]["chance"] is None for pair in full["citations"]["pairs"])
    assert len(full["repeats"]["judges"]) == 10


@pytest.mark.slow
def test_one_repeat_without_citations_says_nothing_of_them(tmp_path):
    ratings = judged(tmp_path / "r.jsonl", 1)
    lines = [json.loads(line) for line in ratings.read_text().splitlines()]
    bare = [json.dumps({**line, "cited_step_indices": [], "invalid_citations": []}) for line in lines]
    ratings.write_text("\n".join(bare) + "\n")
    page = axisjudge("agreement", ratings)
    assert page.returncode == 0, page.stderr
    assert "cited steps" not in page.stdout
    assert "asked 2 times" not in page.stdout
    assert "repeats its verdict" not in page.stdout
    full = json.loads(axisjudge("agreement", ratings, "--json").stdout)
    assert (full["citations"], full["repeats"]) == (None, None)


@pytest.mark.slow
def test_the_runs_tell_how_much_is_chance_and_rubric_versions_stay_apart(tmp_path):
    folder = home() / "data" / "demo" / "results"
    runs, ratings = min(folder.glob("*.json")), judged(tmp_path / "r.jsonl", 1)
    lines = [json.loads(line) for line in ratings.read_text().splitlines()]
    lines = [{**line, "rater_kind": "llm", "mechanism": "tool"} for line in lines]
    versions = [
        [{**line, "rubric_version": version, "prompt_sha256": version} for line in lines] for version in ("v1", "v2")
    ]
    ratings.write_text("".join(json.dumps(line) + "\n" for version in versions for line in version))
    page = axisjudge("agreement", ratings, "--trajectories", runs)
    assert page.returncode == 0, page.stderr
    full = json.loads(axisjudge("agreement", ratings, "--trajectories", runs, "--json").stdout)
    pairs = full["citations"]["pairs"]
    assert {pair["rubric_version"] for pair in pairs} == {"v1", "v2"}
    assert all(0 < pair["cited"]["chance"] < 1 for pair in pairs)
    excess = [pair["cited"]["excess"] for pair in pairs]
    low, high = (each(part["estimate"] for part in excess) for each in (min, max))
    (told,) = (line for line in page.stdout.splitlines() if "chance within the run" in line)
    assert f"exceeds chance within the run by {low:.2f} to {high:.2f}" in told
    above = sum(part["ci_low"] > 0 for part in excess)
    assert told.endswith(f" in {above} of them it is shown to lie above chance.")
    overlap = {
        pair["rubric_version"]: f"{pair['cited']['overlap']['estimate']:.2f} under {pair['rubric_version']}"
        for pair in pairs
        if pair["question"] == "tool_selection"
    }
    (told,) = (line for line in page.stdout.splitlines() if "under v1" in line and line.startswith("tool_selection: "))
    assert all(number in told for number in overlap.values())
    other = max(folder.glob("*.json"))
    wrong = axisjudge("agreement", ratings, "--trajectories", other)
    assert wrong.returncode == 2
    assert "needs the number of steps of run" in wrong.stderr
