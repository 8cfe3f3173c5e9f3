"""Errors of ours in a notebook: the line of the cell and one line of what is wrong, no frames of libraries."""

import atexit

import pytest
from IPython.core.interactiveshell import InteractiveShell

from axisjudge.checks import InputError, WayOut
from axisjudge.report import ReportError


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell = InteractiveShell()
    yield shell
    atexit.unregister(shell.atexit_operations)  # it would look through all of the process's memory at its end


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        (
            "import axisjudge\naxisjudge.load_rubric('arguments')",
            ["line 2: axisjudge.load_rubric('arguments')", "InputError: axis: must be one of "],
        ),
        (
            "import axisjudge\ndef mine():\n    axisjudge.read_trajectories('nowhere.json')\nmine()",
            [
                "line 4: mine()",
                "line 3: axisjudge.read_trajectories('nowhere.json')",
                "InputError: nowhere.json: ",
            ],
        ),
        (
            "from axisjudge.protocol import ledger\nraise ledger.LedgerError('here', 'broken')",
            ["line 2: raise ledger.LedgerError('here', 'broken')", "LedgerError: here: broken"],
        ),
    ],
)
def test_an_error_in_a_cell_is_our_line_without_frames(shell, capsys, cell, lines):
    assert isinstance(shell.run_cell(cell).error_in_exec, InputError)
    said = capsys.readouterr().out.strip().splitlines()
    assert len(said) == len(lines)
    assert all(one.startswith(start) for one, start in zip(said, lines, strict=True)), said


def test_what_is_not_ours_keeps_its_frames(shell, capsys):
    shell.run_cell("import json\njson.loads('{')")
    assert "Traceback" in capsys.readouterr().out


def test_a_failed_report_is_told_alike():
    assert ReportError("02_agreement: failed")._render_traceback_() == ["ReportError: 02_agreement: failed"]


def test_a_command_that_mends_gives_each_option_and_value_once():
    """`--kind llm --kind llm` is refused by the command line."""
    ways = [WayOut(("--rater", "s", "--kind", "llm")), WayOut(("--kind", "a=llm", "--repeats", "--repeats"), "so")]
    said = InputError("a.csv", "may be both", ways=ways).message(["axisjudge", "import", "a.csv", "--kind", "llm"])
    assert said.partition("axisjudge ")[2] == (
        "import a.csv --kind llm --rater s; so: axisjudge import a.csv --kind llm --kind a=llm --repeats"
    )
