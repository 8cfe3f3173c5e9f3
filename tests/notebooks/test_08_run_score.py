"""Notebook 08 runs on the demo and on runs of one's own, and says what it must."""

import json

import nbformat
import pytest

from axisjudge.report import run_report
from axisjudge.workbench import home

NAME = "08_run_score"
FIGURES = ["aucs", "good_runs", "aucs_reward", "scores", "components", "trend", "moved"]


@pytest.mark.slow
def test_its_cells_run_on_the_demo():
    """Every cell in this process: no kernel, and no figure is written."""
    notebook = nbformat.read(home() / "notebooks" / f"{NAME}.ipynb", as_version=4)
    names = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
    page = names["page"]
    assert page.figures == FIGURES
    assert page.results["aucs_reward"]["dropped"] == "completion"
    assert page.results["aucs"]["auc"]["n_clusters"] == 16
    assert "does not show that its agent is the best" in " ".join(page.findings)


@pytest.mark.slow
def test_on_the_demo(bench):
    folder = run_report(NAME, {}, workbench=bench).folder
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert "Planted ratings" in results["banner"]
    found = results["results"]
    assert {"scores", "trend", "tier_changes", "competition", "aucs", "aucs_reward"} <= set(found)
    assert found["aucs_reward"]["dropped"] == "completion"
    assert found["aucs"]["auc"]["n_clusters"] == 16
    assert "does not show that its agent is the best" in page
    assert sorted(path.name for path in (folder / "figures").iterdir()) == [
        f"{name}.{kind}" for name in sorted(FIGURES) for kind in ("pdf", "png", "svg")
    ]
