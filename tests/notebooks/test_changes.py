"""One argument changed in one cell, and the page follows: five such changes, each against the page as it is."""

import json
import shutil
from pathlib import Path

import pytest

from axisjudge.report import run_report
from axisjudge.workbench import home

#: Notebook, what stands in a cell, what it is changed to, the part that must follow.
CHANGES = [
    ("05_failures", 'rule="any"', 'rule="consensus"', "axes_any_judge"),
    ("05_failures", "judges=None", 'judges=["rules", "simulated:heron"]', "profile"),
    ("05_failures", 'cluster="cluster_id"', 'cluster="agent"', "agents_by_success"),
    ("02_agreement", "repeat=0", "repeat=1", "citations"),
    ("03_people", "runs=n_runs", "runs=40", "run_rates"),
]


def results(name: str, bench: Path) -> dict[str, object]:
    folder = run_report(name, workbench=bench, force=True).folder
    return dict(json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "before", "after", "part"), CHANGES)
def test_one_argument_in_one_cell_changes_the_page(bench, name, before, after, part):
    book = bench / "notebooks" / f"{name}.ipynb"
    (bench / "notebooks").unlink()
    shutil.copytree(home() / "notebooks", bench / "notebooks")
    shipped = json.loads((home() / "reports" / name / "results.json").read_text(encoding="utf-8"))["results"]
    notebook = json.loads(book.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and before in "".join(cell["source"])]
    assert len(cells) == 1, "the argument stands in one cell"
    cells[0]["source"] = "".join(cells[0]["source"]).replace(before, after)
    book.write_text(json.dumps(notebook), encoding="utf-8")
    changed = results(name, bench)
    assert set(changed) == set(shipped)
    assert changed[part] != shipped[part]
