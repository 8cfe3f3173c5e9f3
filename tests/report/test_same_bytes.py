"""What is kept in git comes out again, byte by byte, on this machine."""

import json
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("agg")

import axisjudge
from axisjudge.report import page
from axisjudge.report.notebook import read_source
from axisjudge.results import dumps

ROOT = Path(axisjudge.__file__).resolve().parent.parent


@pytest.mark.parametrize("name", ["06_trace", pytest.param("10_succession", marks=pytest.mark.slow)])
def test_a_report_comes_out_as_it_is_kept(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells run here, without a kernel; results and figures are those under reports/."""
    staging = tmp_path / name
    staging.mkdir()
    monkeypatch.setenv(page.REPORT_DIR, str(staging))
    monkeypatch.setenv("AXISJUDGE_HOME", str(ROOT))
    monkeypatch.setattr(page, "_show", lambda *_: None)
    names: dict[str, object] = {}
    with mpl.rc_context():
        for cell in read_source(ROOT / "notebooks" / f"{name}.ipynb").cells:
            if cell.cell_type == "code":
                exec(cell.source, names)
    said = json.loads((staging / page.PAGE_FILE).read_text(encoding="utf-8"))
    kept = json.loads((ROOT / "reports" / name / "results.json").read_text(encoding="utf-8"))
    cure = f"run `axisjudge report {name}` and commit what it changes"
    assert dumps(said["results"]) == dumps(kept["results"]), cure
    assert said["findings"] == kept["findings"], cure
    for figure in said["figures"]:
        drawn = (staging / "figures" / f"{figure}.png").read_bytes()
        assert drawn == (ROOT / "reports" / name / "figures" / f"{figure}.png").read_bytes(), f"{figure}: {cure}"
