"""Bare papermill runs each notebook from another folder, and no output shows a raw repr of a frame."""

import re
from pathlib import Path

import nbformat
import papermill
import pytest

from axisjudge import protocol
from axisjudge.workbench import home

NOTEBOOKS = sorted((home() / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_bare_papermill_runs_it_from_another_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AXISJUDGE_REPORT_DIR", "AXISJUDGE_HOME"):
        monkeypatch.delenv(name, raising=False)
    out = tmp_path / "out" / path.name
    out.parent.mkdir()
    given = {"rater": "ada"} if path.stem == "label" else {}
    if given:  # labels are written: not into the checkout
        monkeypatch.setenv("AXISJUDGE_HOME", str(protocol.rehearsal(tmp_path / "out" / "bench")))
    papermill.execute_notebook(path, out, given, cwd=tmp_path, progress_bar=False, kernel_name="python3")
    shown = [output for cell in nbformat.read(out, 4).cells for output in cell.get("outputs", [])]
    assert shown
    for output in shown:
        data = output.get("data", {})
        assert not re.search(r"<small>shape: \(", data.get("text/html", "")), "a frame shows its shape"
        if set(data) == {"text/plain"}:
            assert not re.match(r"['\"<]|shape: ", data["text/plain"]), data["text/plain"][:80]
    assert {path.name for path in tmp_path.iterdir()} <= {"out"}, "it leaves nothing where it runs"
