"""Notebooks run for real in a small workbench, and what is published of them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from benches import COUNTS, FIGURE, rating, write_ratings

from axisjudge.ratings import ratings_frame
from axisjudge.report import Page, ReportError, digest, run, run_report, run_reports
from axisjudge.report.digest import input_digest
from axisjudge.report.made import why_stale
from axisjudge.report.notebook import read_source

Write = Callable[..., Path]

DEFAULTS = {"ratings": "data/ratings/demo.jsonl", "seed": 7, "level": 0.95, "title": None}
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
    monkeypatch.setattr(digest, "package_sha256", lambda _: "at rest")


def kept(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in KEPT}


@pytest.mark.slow
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
    left = sorted(path.name for path in (bench / "reports").iterdir())
    assert left == [".made", "05_profiles", "index.html"], "nothing aside"


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
    assert results["scope"].startswith("The ratings behind this page come from 1 judge (rules)")
    assert results["banner"] is None
    assert results["results"]["undefined"] is None
    for published in (text, (report.folder / "report.md").read_text()):
        assert str(bench.parent) not in published
        assert sys.version.split()[0] not in published
    page = report.html.read_text()
    assert "Provenance" in page
    assert sys.version.split()[0] in page
    assert "Provenance" in (report.folder / "05_profiles.ipynb").read_text()
    assert "Provenance" not in (report.folder / "report.md").read_text()


@pytest.mark.slow
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
    for published in (report.html, report.folder / "05_profiles.ipynb"):  # in code cells, too
        assert "mine.jsonl" in published.read_text()
        assert str(elsewhere) not in published.read_text()


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_kernel_that_dies_and_a_notebook_without_a_page_are_told(bench: Path, notebook: Write) -> None:
    notebook("05_dies", cells=["import os\nos._exit(3)"])
    silent = notebook("06_silent", cells=[])
    book = nbformat.read(silent, as_version=4)
    book.cells[-1].source = "1 + 1"

    nbformat.write(book, silent)
    with pytest.raises(ReportError) as caught:
        run_reports(workbench=bench)
    assert "05_dies.ipynb: Kernel died" in str(caught.value)
    assert "06_silent.ipynb: made no Page" in str(caught.value)
    assert not (bench / "reports" / "05_dies" / "results.json").exists()


@pytest.mark.slow
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
    left = {str(path.relative_to(bench / "reports")) for path in (bench / "reports").rglob("*.[!l]*") if path.is_file()}
    assert left <= {"05_long/failed.ipynb", "06_long/failed.ipynb"}


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_a_notebook_leaves_among_temporary_files_goes_with_its_kernel(bench: Path, notebook: Write) -> None:
    """A rehearsal: files that were made there are no input, those to which its links lead are."""
    (bench / "rubrics").mkdir(exist_ok=True)
    given = bench / "data" / "given" / "number.txt"
    given.parent.mkdir()
    given.write_text("1")
    leaving = """\
import tempfile
from pathlib import Path
from axisjudge import protocol
kept = protocol.rehearsal()
(kept / "data" / "ratings" / "mine.txt").write_text("3")
numbers = [path.read_text() for name in ("given", "ratings") for path in sorted((kept / "data" / name).glob("*.txt"))]
page.record("numbers", numbers)
page.record("left", [tempfile.mkdtemp(), str(kept)])"""
    notebook("05_leaving", cells=[leaving])
    report = run_report("leaving", workbench=bench)
    results = json.loads((report.folder / "results.json").read_text())["results"]
    assert results["numbers"] == ["1", "3"]
    assert len(results["left"]) == 2
    assert not [folder for folder in results["left"] if Path(folder).exists()]
    assert run_report("leaving", workbench=bench).status == "up to date"
    given.write_text("2")
    assert run_report("leaving", workbench=bench).status == "written"
    given.with_name("other.txt").write_text("4")
    again = run_report("leaving", workbench=bench)
    assert again.status == "written"
    assert json.loads((again.folder / "results.json").read_text())["results"]["numbers"] == ["2", "4", "3"]


@pytest.mark.parametrize("changed", ["notebooks/05_x.ipynb", "parameter", "mine.jsonl"])
def test_the_digest_follows_each_thing_a_report_is_made_from(bench: Path, notebook: Write, changed: str) -> None:
    path = notebook("05_x")
    mine = bench.parent / "mine.jsonl"
    mine.write_text("one")
    parameters = {"ratings": str(mine), "seed": 1}
    before = input_digest(bench, read_source(path), parameters)
    assert input_digest(bench, read_source(path), parameters) == before
    if changed == "parameter":
        parameters["seed"] = 2
    elif changed == "notebooks/05_x.ipynb":
        notebook("05_x", cells=[COUNTS])
    else:
        (mine if changed == "mine.jsonl" else bench / changed).write_text("two")
    assert input_digest(bench, read_source(path), parameters) != before


@pytest.mark.parametrize("value", ["replay:{}", "simulated:heron,truth={}", "{}", "rules,{}"])
@pytest.mark.parametrize("within", [str, lambda text: ["rules", text], lambda text: {"a": [text]}])
def test_the_digest_follows_files_in_lists_and_judge_specs(
    bench: Path, notebook: Write, value: str, within: Callable[[str], object]
) -> None:
    book = nbformat.read(notebook("05_x"), as_version=4)
    mine = bench.parent / "mine.jsonl"
    mine.write_text("one")
    parameters = {"judges": within(value.format(mine))}
    before = input_digest(bench, book, parameters)
    mine.write_text("two")
    assert input_digest(bench, book, parameters) != before


def test_a_pattern_names_the_files_that_it_matches(bench: Path, notebook: Write) -> None:
    book = nbformat.read(notebook("05_x"), as_version=4)
    parameters = {"trajectories": "data/ratings/*.json"}
    before = input_digest(bench, book, parameters)
    (bench / "data" / "ratings" / "other.txt").write_text("x")
    assert input_digest(bench, book, parameters) == before
    (bench / "data" / "ratings" / "a.json").write_text("x")
    assert input_digest(bench, book, parameters) != before


def test_paths_that_are_passed_lose_the_folders_of_this_machine(bench: Path) -> None:
    outside = bench.parent / "mine.jsonl"
    outside.write_text("one")
    said = digest.published_value(["rules", f"replay:{outside}", f"x:y,truth={bench / 'rubrics' / 'v1.md'}"], bench)
    assert said == ["rules", "replay:mine.jsonl", "x:y,truth=rubrics/v1.md"]


def test_a_path_is_put_where_it_stands_and_nowhere_else(bench: Path) -> None:
    folder = bench / "data" / "ratings"
    (folder / "my_demo.jsonl").write_text("one")
    given = digest.with_paths("demo.jsonl,replay:my_demo.jsonl,a=demo.jsonl", folder, lambda path: f"<{path.stem}>")
    assert given == "<demo>,replay:<my_demo>,a=<demo>"


def test_a_file_that_changes_while_its_report_is_made_has_no_hash(
    bench: Path, notebook: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = run.checked_job(notebook("05_profiles"), {}, bench)
    ratings, other = bench / "data" / "ratings" / "demo.jsonl", bench / "reports" / ".05_profiles-b-abcdefgh"
    other.mkdir()

    def ran(job: run.Job, home: Path, staging: Path, lane: object) -> object:
        monkeypatch.setenv("AXISJUDGE_REPORT_DIR", str(staging))
        Page(job.name, ratings_frame([rating()])).say("One.")
        if changed:
            ratings.write_text(ratings.read_text() + "\n")
        return nbformat.v4.new_notebook()

    monkeypatch.setattr(run, "_run", ran)
    before = digest.file_sha256(ratings)
    for changed in (False, True):
        inputs = json.loads((run._make(job, bench, None).folder / "results.json").read_text())["inputs"]
        assert (inputs["parameter ratings"] == before) is not changed
    assert "changed" in inputs["parameter ratings"]
    assert other.exists(), "it is of another report, which may run now"


READS = """\
import polars as pl
import beside
home = workbench.home()
page.record("rows", pl.read_csv(home / "data" / "read.csv").height)
page.record("text", (home / "data" / "read.txt").read_text())
page.record("listed", sorted(path.name for path in (home / "rubrics" / "axis").glob("v*.md")))
page.record("value", beside.VALUE)"""


@pytest.mark.slow
def test_a_report_is_stale_when_and_only_when_something_that_it_read_changed(bench: Path, notebook: Write) -> None:
    """Files opened by Python and by polars, folders listed by a pattern, a module beside the notebook."""
    notebook("05_reads", cells=[READS])
    (bench / "notebooks" / "beside.py").write_text("VALUE = 1\n")
    (bench / "rubrics" / "axis").mkdir()
    for name in ("rubrics/axis/v1.md", "data/read.csv", "data/read.txt"):
        (bench / name).write_text("a\n1\n")
    assert run_report("reads", workbench=bench).status == "written"
    unread = ["data/new.csv", "rubrics/v1.md", "rubrics/axis/notes.txt", "rubrics/other/v1.md", "notebooks/else.py"]
    for name in unread:
        (bench / name).parent.mkdir(exist_ok=True)
        (bench / name).write_text("not read")
        assert run_report("reads", workbench=bench).status == "up to date", name
    changed = ["rubrics/axis/v2.md", "data/read.csv", "data/read.txt", "notebooks/beside.py", "rubrics/split.json"]
    made_from = digest.input_digest(bench, read_source(bench / "notebooks" / "05_reads.ipynb"), DEFAULTS)
    folder = bench / "reports" / "05_reads"
    for name in changed:
        assert why_stale(folder, bench, made_from) == ""
        before = (bench / name).read_bytes() if (bench / name).exists() else None
        (bench / name).write_text("VALUE = 2\n")
        assert why_stale(folder, bench, made_from), name
        (bench / name).unlink() if before is None else (bench / name).write_bytes(before)
    (bench / "data" / "read.csv").write_text("a\n1\n2\n")
    assert run_report("reads", workbench=bench).status == "written"
    assert json.loads((folder / "results.json").read_text())["results"]["rows"] == 2


LEAVES = """\
import os, warnings
import matplotlib as mpl
page.record("left", ["LEFT" in os.environ, mpl.rcParams["font.size"], "left" in globals(), workbench._chosen is None])
os.environ["LEFT"], mpl.rcParams["font.size"], left = "1", 3, 1
workbench.use(workbench.home())"""


@pytest.mark.slow
def test_two_notebooks_in_one_kernel_know_nothing_of_each_other(
    bench: Path, notebook: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("axisjudge.report.run.AT_ONCE", 1)
    for name in ("05_first", "06_second"):
        notebook(name, cells=[LEAVES])
    first, second = run_reports(workbench=bench)
    left = [json.loads((report.folder / "results.json").read_text())["results"]["left"] for report in (first, second)]
    assert left[0] == left[1] == [False, 10.0, False, True]


@pytest.mark.slow
def test_a_staging_folder_that_a_kill_left_is_cleared(bench: Path, notebook: Write) -> None:
    notebook("05_profiles", cells=[])
    left = bench / "reports" / ".05_profiles-killed" / "05_profiles"
    left.mkdir(parents=True)
    run_report("profiles", workbench=bench)
    assert not left.parent.exists()


@pytest.mark.parametrize("kept_out", ["data/cache/big.json", "data/ratings/demo.jsonl.lock", "rubrics/.hidden"])
def test_the_digest_does_not_follow_caches_and_locks(bench: Path, notebook: Write, kept_out: str) -> None:
    book = nbformat.read(notebook("05_x"), as_version=4)
    before = input_digest(bench, book, {})
    (bench / kept_out).parent.mkdir(exist_ok=True)
    (bench / kept_out).write_text("x")
    assert input_digest(bench, book, {}) == before


@pytest.mark.slow
def test_a_page_says_what_its_judges_cost(bench: Path, notebook: Write) -> None:
    notebook("05_profiles")
    paid = {"rater": "openai:m", "rater_kind": "llm", "input_tokens": 2_000, "cached_tokens": 500, "output_tokens": 77}
    write_ratings(bench / "mine.jsonl", [rating(**paid, cost_usd=0.0125), rating()])
    report = run_report("profiles", {"ratings": str(bench / "mine.jsonl")}, workbench=bench)
    page = (report.folder / "05_profiles.ipynb").read_text()
    assert "| openai:m | 1 | 1 | 0 | 2000 | 0.250 | 77 | 0.013 | 12.500 |" in page
    assert "12.500" not in (report.folder / "results.json").read_text()
