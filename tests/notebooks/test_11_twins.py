"""Notebook 11 runs on the demo and says which claims are met, refused edits and all."""

import json

import pytest

from axisjudge.report import run_report
from axisjudge.twins import EDITS

NAME = "11_twins"


@pytest.mark.slow
def test_on_the_demo(bench):
    folder = run_report(NAME, {"edits": ["cut_tail", "reworded"], "seed": 1}, workbench=bench).folder
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"]
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert {cell["edit"] for cell in found["matrix"]["cells"]} == {"cut_tail", "reworded"} < set(EDITS)
    halo = found["halo"]["halo"][0]
    assert (halo["pairs"], halo["halo"]) == (0, None)  # the rules decide no two axes of enough runs
    assert "refused: no change was made" in page
    asked = {(cell["edit"], cell["axis"]) for cell in found["matrix"]["cells"] if cell["expected"] == "must"}
    assert asked == {("cut_tail", "termination")}
    assert {path.stem for path in (folder / "figures").iterdir()} == {
        "matrix",
        "the_matrix_of_rulesalltrue",  # of each judge, folded
        "verdicts_that_must_not_move_and_did_at_least_once",
    }
