"""Finding notebooks and checking what is passed to them; nothing is run here."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import nbformat
import pytest
from benches import PARAMETERS
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.report import Page, digest, run_report, run_reports
from axisjudge.report.notebook import checked_parameters, find_notebook, parameters_of, read_source
from axisjudge.report.render import report_html
from axisjudge.workbench import at, home

Write = Callable[..., Path]


@pytest.mark.parametrize("name", ["05_failures", "failures", "05", "05_failures.ipynb"])
def test_a_notebook_is_found_with_and_without_its_number(bench: Path, notebook: Write, name: str) -> None:
    path = notebook("05_failures")
    notebook("06_trace")
    assert find_notebook(name, bench) == path


@pytest.mark.parametrize(("name", "near"), [("05_failure_profile", "05_failures"), ("failurs", "failures")])
def test_an_unknown_report_is_an_error_that_names_the_nearest(
    bench: Path, notebook: Write, name: str, near: str
) -> None:
    notebook("05_failures")
    with pytest.raises(InputError, match=f"did you mean '{near}'"):
        run_report(name, workbench=bench)


def test_a_notebook_without_a_number_is_no_report(bench: Path, notebook: Write) -> None:
    notebook("label")
    with pytest.raises(InputError, match="no notebook named NN_name"):
        run_reports(workbench=bench)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"sede": 1},
            "parameter of 05_x: must be one of ratings, seed, level, title; found 'sede'; did you mean 'seed'",
        ),
        ({"seed": "seven"}, "parameter seed of 05_x: must be int; found 'seven'"),
        ({"seed": 1.5}, "must be int; found 1.5"),
        ({"seed": True}, "must be int; found True"),
        ({"level": "high"}, "must be float; found 'high'"),
        ({"ratings": 3}, "must be str; found 3"),
        ({"title": 3}, "must be str or None; found 3"),
    ],
)
def test_unknown_parameters_and_wrong_types_are_errors(
    bench: Path, notebook: Write, given: dict[str, object], message: str
) -> None:
    notebook("05_x")
    with pytest.raises(InputError) as caught:
        run_report("x", given, workbench=bench)
    assert message in str(caught.value)
    assert list((bench / "reports").iterdir()) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"seed": "3"}, 3),
        ({"level": "1"}, 1.0),
        ({"level": 1}, 1.0),
        ({"ratings": "3"}, "3"),
        ({"title": "None"}, None),
        ({"title": "A title"}, "A title"),
    ],
)
def test_text_is_read_as_the_parameters_type(notebook: Write, given: dict[str, object], expected: object) -> None:
    known = parameters_of(read_source(notebook("05_x")), "05_x")
    values = checked_parameters(known, given, "05_x")
    (name,) = given
    assert values[name] == expected
    assert type(values[name]) is type(expected)
    assert set(values) == set(known)


def test_truth_values_and_lists_are_read_from_text(notebook: Write) -> None:
    path = notebook("05_x", parameters='strict = False\naxes: list[str] = ["sequencing"]')
    known = parameters_of(read_source(path), "05_x")
    values = checked_parameters(known, {"strict": "true", "axes": "['termination']"}, "05_x")
    assert values == {"strict": True, "axes": ["termination"]}


def test_a_notebook_without_a_parameters_cell_is_an_error(bench: Path, notebook: Write) -> None:
    notebook("05_x", parameters=None)
    with pytest.raises(InputError, match="notebook 05_x: needs exactly one cell tagged parameters; found 0"):
        run_report("x", workbench=bench)


@pytest.mark.parametrize("source", ["import os", "n = 1 + x", "n = len('a')", "a = b = 1", "n: int", "print(1)"])
def test_parameters_are_literals(bench: Path, notebook: Write, source: str) -> None:
    notebook("05_x", parameters=f"{PARAMETERS}\n{source}")
    with pytest.raises(InputError, match="parameters of 05_x: each line must be"):
        run_report("x", workbench=bench)


@pytest.mark.parametrize("source", ["%matplotlib inline", "n: int = ", "n = {[]: 1}"])
def test_a_cell_of_parameters_that_is_no_python_is_an_error(bench: Path, notebook: Write, source: str) -> None:
    notebook("05_x", parameters=f"{PARAMETERS}\n{source}")
    with pytest.raises(InputError, match="parameters of 05_x"):
        run_report("x", workbench=bench)


def test_reports_are_listed_whatever_stands_in_the_first_cell(bench: Path, notebook: Write) -> None:
    for name, source in (("05_empty", ""), ("06_code", "import os")):
        book = nbformat.read(notebook(name), as_version=4)
        book.cells[0] = nbformat.v4.new_code_cell(source)
        nbformat.write(book, bench / "notebooks" / f"{name}.ipynb")
    notebook("07_whole")
    with at(bench):
        done = CliRunner().invoke(app, ["report", "--list", "--json"])
    questions = [row["question"] for row in json.loads(done.stdout)["reports"]]
    assert questions == ["05_empty", "06_code", "Which capability broke?"]


@pytest.mark.parametrize(
    "words",
    [
        ["05_x", "--labels", "labels.jsonl"],
        ["05_x", "--no-redact"],
        ["05_x", "-p", "seed=1", "-p", "seed=2"],
        ["--gallery", "-p", "seed=1"],
        ["--check", "a", "-p", "seed=1"],
    ],
)
def test_what_a_report_would_pass_over_is_refused(bench: Path, notebook: Write, words: list[str]) -> None:
    notebook("05_x")
    with at(bench):
        done = CliRunner().invoke(app, ["report", *words])
    assert isinstance(done.exception, InputError)
    assert words[-2] in str(done.exception) or words[-1].removeprefix("--no-") in str(done.exception)
    assert not list((bench / "reports").iterdir())


def test_every_notebook_is_checked_before_any_is_run(bench: Path, notebook: Write) -> None:
    notebook("05_x")
    notebook("06_y", parameters="other: int = 1")
    with pytest.raises(InputError, match="parameter of 06_y"):
        run_reports(parameters={"seed": 1}, workbench=bench)
    assert list((bench / "reports").iterdir()) == []


def test_a_file_that_is_no_notebook_is_an_error(bench: Path) -> None:
    (bench / "notebooks" / "05_x.ipynb").write_text("{not json", encoding="utf-8")
    with pytest.raises(InputError, match="not a notebook"):
        run_report("x", workbench=bench)


def test_a_page_hangs_on_what_its_notebook_can_reach_and_on_its_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a comment, nor a docstring, nor another study makes it stale; a formula that it reaches does."""
    package = tmp_path / "axisjudge"
    texts = {
        "__init__.py": "_HOME = {'explore': 'axisjudge.explorer'}\ndef __getattr__(name): ...",
        "explorer.py": "page = 1",
        "formulas.py": "def mean(x):\n    return sum(x) / len(x)",
        "studies/__init__.py": "__all__ = ['one', 'other']\ndef __getattr__(name): ...",
        "studies/one.py": "from axisjudge.judges import make\n"
        "def one():\n    from axisjudge.formulas import mean\n    return mean",
        "judges/__init__.py": "_HOME = {'make': 'making'}\n__all__ = ['make']\ndef __getattr__(name): ...",
        "judges/making.py": "make = 1",
        "studies/other.py": "x = 1",
        "report/page.css": "p {}",
    }
    for name, text in texts.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    monkeypatch.setattr(digest, "PACKAGE", package)
    code = "import axisjudge\naxisjudge.studies.one(axisjudge.judge())"
    before = digest.package_sha256(code)

    def is_stale(name: str, text: str) -> bool:
        (package / name).write_text(text)
        after = digest.package_sha256(code)
        (package / name).write_text(texts[name])
        return after != before

    mean = texts["formulas.py"]
    assert not is_stale("formulas.py", mean.replace("(x):", "(x):\n    'The mean.'  # as ever"))
    assert is_stale("formulas.py", mean.replace("/ len(x)", "/ (len(x) - 1)"))
    assert not is_stale("studies/other.py", "x = 22")
    assert not is_stale("explorer.py", "page = 22")
    assert is_stale("studies/one.py", texts["studies/one.py"].replace("return mean", "return mean or 1"))
    assert is_stale("judges/making.py", "make = 22")
    assert is_stale("report/page.css", "p { color: red }")
    assert digest.package_sha256(f"{code}\naxisjudge.explore()") != before


def test_outputs_do_not_change_what_a_notebook_is(notebook: Write) -> None:
    path = notebook("05_x")
    before = digest.notebook_sha256(read_source(path))
    book = nbformat.read(path, as_version=4)
    book.cells[1].execution_count = 3
    book.cells[1].outputs = [nbformat.v4.new_output("stream", text="hello")]
    assert digest.notebook_sha256(book) == before
    book.cells[1].source += "\n"
    assert digest.notebook_sha256(book) != before


class Shell:
    """An IPython shell in which these cells ran."""

    def __init__(self, *cells: str) -> None:
        self.user_ns = {"In": ["", *cells]}


@pytest.mark.parametrize(
    ("injected", "message"),
    [
        ("# Parameters\nsede = 3\n", "did you mean 'seed'"),
        ('# Parameters\nseed = "three"\n', "must be int"),
        ("# Parameters\nseed = 3\nlevel = 0.9\n", ""),
        ("# Parameters\nseed = print(3)\n", ""),
        ("sede = 3", ""),
    ],
)
def test_plain_papermill_cannot_misspell_a_parameter(
    monkeypatch: pytest.MonkeyPatch, injected: str, message: str
) -> None:
    import IPython

    monkeypatch.setattr(IPython, "get_ipython", lambda: Shell(PARAMETERS, injected))
    if message:
        with pytest.raises(InputError, match=message):
            from axisjudge.report import Page
    else:
        from axisjudge.report import Page  # noqa: F401


def test_seeing_that_nothing_is_to_do_loads_no_table_library() -> None:
    asked = "import sys, axisjudge.report.run; print({'numpy', 'polars', 'pandas', 'matplotlib'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "set()"


@pytest.mark.parametrize("path", sorted((home() / "notebooks").glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_a_page_is_told_what_to_show_and_no_page_call_ends_in_a_value(path: Path) -> None:
    """What a page shows has a caption or is a sentence; a frame that ends a cell folds away."""
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    for source in cells:
        last = ast.parse(source).body[-1]
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
            receiver, _, name = ast.unparse(last.value.func).partition(".")
            if receiver == "page":
                assert signature(getattr(Page, name)).return_annotation == "None", source


def test_a_frame_that_ends_a_cell_folds_away() -> None:
    frame = nbformat.v4.new_output("execute_result", {"text/html": "<table><tr><td>7</td></tr></table>"})
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("frame", outputs=[frame])])
    page = report_html(book, "a page", "made")
    assert re.search(r"<details[^>]*><summary>what this cell shows</summary>.*<td>7</td>.*?</details>", page, re.DOTALL)
