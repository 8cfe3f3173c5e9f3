"""axisjudge twins as a user meets it."""

import json

import pytest
from cli.conftest import axisjudge

from axisjudge import protocol, workbench
from axisjudge.readers import read_trajectories
from axisjudge.twins import make_twins
from axisjudge.workbench import home


@pytest.fixture(scope="module")
def results():
    return min((home() / "data" / "demo" / "results").glob("*.json"))


def truth_of_twins(results, path, *edits):
    """Planted truth of the originals and, the same, of their twins: a simulated judge knows nothing else."""
    made = make_twins(read_trajectories(results).trajectories, edits).twins
    twins = {}
    for twin in made:
        twins.setdefault(twin.original_id, []).append(twin.trajectory.id)
    planted = [json.loads(line) for line in (home() / "data" / "demo" / "planted.jsonl").read_text().splitlines()]
    of_twins = [
        {**row, "trajectory_id": twin, "item_id": twin}
        for row in planted
        for twin in twins.get(row["trajectory_id"], ())
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*planted, *of_twins]))
    return path


@pytest.mark.slow
def test_the_matrix_for_people_and_the_whole_as_json_and_nothing_is_judged_twice(results, tmp_path, called):
    out = tmp_path / "twins.jsonl"
    chosen = ("twins", results, "--edits", "cut_tail", "--edits", "reworded", "--out", out)
    truth = truth_of_twins(results, tmp_path / "truth.jsonl", "cut_tail", "reworded")
    chosen += ("--judge", "rules", "--judge", f"simulated:wren,truth={truth}")
    page = axisjudge(*chosen)
    assert page.returncode == 0, page.stderr
    assert "Twin matrix of rules" in page.stdout
    assert "refused: no change was made" in page.stdout
    assert "Without labels this is no halo" in page.stdout
    written = out.read_bytes()
    full = json.loads(called(*chosen, "--labels", home() / "data" / "demo" / "planted.jsonl", "--json").stdout)
    assert out.read_bytes() == written
    assert len(full["cells"]) == 2 * 2 * 5
    assert {cell["expected"] for cell in full["cells"]} == {"must", "must_not"}
    assert any(each["label_correlation"] is not None for each in full["halo"])


def test_written_twins_are_trajectories_that_read_reads(results, tmp_path, called):
    path = tmp_path / "twins.jsonl"
    page = called("twins", results, "--write", path, "--seed", 7, "--limit", 4)
    assert page.returncode == 0, page.stderr
    assert called("read", path).returncode == 0
    first = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert first["meta"]["twin"]["seed"] == 7


def test_an_unknown_edit_is_one_line_and_exit_code_2(results, called):
    page = called("twins", results, "--edits", "cut_tale")
    assert (page.returncode, page.stdout) == (2, "")
    assert "did you mean 'cut_tail'?" in page.stderr
    assert page.stderr.count("\n") == 1


def test_held_out_runs_are_left_alone_and_that_is_said(results, tmp_path):
    bench = protocol.rehearsal(tmp_path / "bench")
    with workbench.at(bench):
        protocol.make_split(read_trajectories(results).trajectories, salt="demo")
    page = axisjudge("--workbench", bench, "twins", results, "--edits", "reworded")
    assert page.returncode == 0, page.stderr
    assert "of 28 runs are held out (evaluation) and were left alone." in page.stdout
