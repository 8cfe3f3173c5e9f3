"""Notebooks run for real in a small workbench, and what is published of them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benches import COUNTS, FIGURE, rating, write_ratings

from axisjudge.report import ReportError, digest, run_report, run_reports
from axisjudge.report.digest import input_digest
from axisjudge.report.notebook import read_notebook

Write = Callable[..., Path]

KEPT = ("results.json", "report.md", "figures/failures.png")


@pytest.fixture(autouse=True)
def _own_matplotlib_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The kernel's font list is looked up once for all tests, wherever home is."""
    kept = os.environ.get("MPLCONFIGDIR")
    os.environ["MPLCONFIGDIR"] = kept or str(tmp_path_factory.getbasetemp() / "matplotlib")
    yield
    if kept is None:
        del os.environ["MPLCONFIGDIR"]


@pytest.fixture(autouse=True)
def _package_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package may be edited while its tests run; here its source counts as unchanged."""
    monkeypatch.setattr(digest, "package_sha256", lambda: "at rest")


def kept(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in KEPT}


def test_a_report_is_written_once_and_again_only_when_something_changed(bench: Path, notebook: Write) -> None:
    notebook("05_profiles")
    first = run_report("profiles", workbench=bench)
    assert (first.name, first.status, first.n_results) == ("05_profiles", "written", 3)
    assert first.html == bench / "reports" / "05_profiles" / "report.html"
    before = kept(first.folder)

    assert run_report("profiles", workbench=bench).status == "up to date"

    again = run_report("profiles", workbench=bench, force=True)
    assert again.status == "written"
    assert kept(again.folder) == before, "the same input gives the same bytes"

    (first.folder / "results.json").write_text(before["results.json"].decode().replace("0.95", "0.96"))
    assert run_report("profiles", workbench=bench).status == "written", "a published file was changed by hand"
    assert kept(first.folder) == before

    write_ratings(bench / "data" / "ratings" / "demo.jsonl", [rating(verdict="incorrect")])
    notebook("05_profiles", cells=[COUNTS])
    assert run_report("profiles", workbench=bench).status == "written"
    assert json.loads((first.folder / "results.json").read_text())["results"]["counts"] == [
        {"failures": 1, "question": "sequencing"}
    ]
    assert not (first.folder / "figures" / "failures.png").exists(), "a figure that is no longer made is removed"
    assert sorted(path.name for path in (bench / "reports").iterdir()) == ["05_profiles", "index.html"], "nothing aside"


def test_results_carry_scope_parameters_seeds_and_hashes_but_no_date_or_path(bench: Path, notebook: Write) -> None:
    notebook("05_profiles")
    outside = bench.parent / "mine.jsonl"
    write_ratings(outside, [rating()])
    report = run_report("profiles", {"ratings": str(outside), "seed": "11"}, workbench=bench)
    text = (report.folder / "results.json").read_text()
    results = json.loads(text)
    assert results["parameters"] == {"ratings": "mine.jsonl", "seed": 11, "level": 0.95, "title": None}
    assert results["seeds"] == {"seed": 11}
    assert set(results["inputs"]) == {"notebook", "ratings", "parameter ratings"}
    assert results["scope"].startswith("Conditional on 1 judge (rules)")
    assert results["banner"] is None
    assert results["results"]["undefined"] is None
    for published in (text, (report.folder / "report.md").read_text()):
        assert str(bench.parent) not in published
        assert sys.version.split()[0] not in published
    page = report.html.read_text()
    assert "Provenance" in page
    assert sys.version.split()[0] in page
    assert "Provenance" in json.dumps(read_notebook(report.folder / "05_profiles.ipynb"))
    assert "Provenance" not in (report.folder / "report.md").read_text()


def test_a_path_is_taken_from_where_the_caller_stands(
    bench: Path, notebook: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook("05_profiles")
    elsewhere = bench.parent / "elsewhere"
    elsewhere.mkdir()
    write_ratings(elsewhere / "mine.jsonl", [rating(agent="agent-z")])
    monkeypatch.chdir(elsewhere)
    report = run_report("profiles", {"ratings": "mine.jsonl"}, workbench=bench)
    assert json.loads((report.folder / "results.json").read_text())["conditional_on"]["agents"] == ["agent-z"]


def test_a_notebook_that_fails_publishes_nothing_and_the_others_are_published(bench: Path, notebook: Write) -> None:
    notebook("05_profiles")
    old = run_report("profiles", workbench=bench)
    before = {**kept(old.folder), "report.html": old.html.read_bytes()}
    notebook("05_profiles", cells=[COUNTS, FIGURE, "# A last word", "raise ValueError('first line\\nit broke here')"])
    notebook("06_trace")
    with pytest.raises(ReportError) as caught:
        run_reports(workbench=bench, parameters={"seed": 8})
    assert "05_profiles.ipynb, cell 7: it broke here" in str(caught.value)
    assert "reports/05_profiles/failed.ipynb" in str(caught.value)
    assert str(bench) not in str(caught.value)
    assert {**kept(old.folder), "report.html": old.html.read_bytes()} == before
    assert "it broke here" in (old.folder / "failed.ipynb").read_text()
    assert json.loads((bench / "reports" / "06_trace" / "results.json").read_text())["seeds"] == {"seed": 8}

    notebook("05_profiles")
    assert run_report("profiles", workbench=bench, force=True).status == "written"
    assert not (old.folder / "failed.ipynb").exists()


def test_a_kernel_that_dies_and_a_notebook_without_a_page_are_told(bench: Path, notebook: Write) -> None:
    notebook("05_dies", cells=["import os\nos._exit(3)"])
    silent = notebook("06_silent", cells=[])
    book = read_notebook(silent)
    book.cells[-1].source = "1 + 1"
    import nbformat

    nbformat.write(book, silent)
    with pytest.raises(ReportError) as caught:
        run_reports(workbench=bench)
    assert "05_dies.ipynb: Kernel died" in str(caught.value)
    assert "06_silent.ipynb: made no Page" in str(caught.value)
    assert not (bench / "reports" / "05_dies" / "results.json").exists()


def test_an_interrupted_run_ends_at_once_and_leaves_nothing(bench: Path, notebook: Write) -> None:
    begun = bench / "begun"
    notebook("05_long", cells=[f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)"])
    notebook("06_long", cells=["import time\ntime.sleep(600)"])
    notebook("07_never", cells=["import time\ntime.sleep(600)"])
    code = f"from axisjudge.report import run_reports; run_reports(workbench={str(bench)!r})"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as run:
        while not begun.exists() and run.poll() is None:
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        try:
            _, errors = run.communicate(timeout=60)
        finally:
            run.kill()
    assert "KeyboardInterrupt" in errors
    left = {str(path.relative_to(bench / "reports")) for path in (bench / "reports").rglob("*") if path.is_file()}
    assert left <= {"05_long/failed.ipynb", "06_long/failed.ipynb"}


def test_the_kernel_is_this_python_apart_from_the_users_settings(
    bench: Path, notebook: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = bench.parent / "home"
    start = home / ".ipython" / "profile_default" / "startup"
    start.mkdir(parents=True)
    (start / "00.py").write_text("personal = True")
    (home / "matplotlibrc").write_text("savefig.dpi: 31\n")
    broken = home / "jupyter" / "kernels" / "python3"
    broken.mkdir(parents=True)
    (broken / "kernel.json").write_text(json.dumps({"argv": ["/nowhere/python"], "display_name": "x", "language": "x"}))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("JUPYTER_PATH", str(home / "jupyter"))
    monkeypatch.setenv("MATPLOTLIBRC", str(home / "matplotlibrc"))
    cell = """\
import json, sys
import ipykernel, matplotlib
page.record("python", sys.executable)
page.record("personal", "personal" in globals())
page.record("dpi", matplotlib.rcParams["savefig.dpi"])
connection = json.loads(open(ipykernel.get_connection_file()).read())
page.record("transport", connection["transport"])"""
    notebook("05_kernel", cells=[cell])
    report = run_report("kernel", workbench=bench)
    assert json.loads((report.folder / "results.json").read_text())["results"] == {
        "python": sys.executable,
        "personal": False,
        "dpi": "figure",
        "transport": "ipc",
    }
    executed = (report.folder / "05_kernel.ipynb").read_text()
    assert "TCP" not in executed


@pytest.mark.parametrize(
    "changed", ["rubrics/v1.md", "data/new.csv", "notebooks/05_x.ipynb", "parameter", "mine.jsonl"]
)
def test_the_digest_follows_each_thing_a_report_is_made_from(bench: Path, notebook: Write, changed: str) -> None:
    path = notebook("05_x")
    mine = bench.parent / "mine.jsonl"
    mine.write_text("one")
    parameters = {"ratings": str(mine), "seed": 1}
    before = input_digest(bench, read_notebook(path), parameters)
    assert input_digest(bench, read_notebook(path), parameters) == before
    if changed == "parameter":
        parameters["seed"] = 2
    elif changed == "notebooks/05_x.ipynb":
        notebook("05_x", cells=[COUNTS])
    else:
        (mine if changed == "mine.jsonl" else bench / changed).write_text("two")
    assert input_digest(bench, read_notebook(path), parameters) != before


@pytest.mark.parametrize("kept_out", ["data/cache/big.json", "data/ratings/demo.jsonl.lock", "rubrics/.hidden"])
def test_the_digest_does_not_follow_caches_and_locks(bench: Path, notebook: Write, kept_out: str) -> None:
    book = read_notebook(notebook("05_x"))
    before = input_digest(bench, book, {})
    (bench / kept_out).parent.mkdir(exist_ok=True)
    (bench / kept_out).write_text("x")
    assert input_digest(bench, book, {}) == before
