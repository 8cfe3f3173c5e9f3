"""axisjudge label lint on the command line."""

import json

from labels.lint.simulated import changed, clean

from axisjudge.cli import main
from axisjudge.ratings import RatingsWriter


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["axisjudge", *map(str, words)])
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0, capsys.readouterr()
    raise AssertionError


def test_an_error_is_exit_code_one_and_a_warning_is_not(tmp_path, monkeypatch, capsys):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    rows = clean(1)
    constant = changed(rows, lambda one: {"verdict": "correct"} if one.rater == "ada" else None)
    for path, labels in ((good, rows), (bad, constant)):
        with RatingsWriter(path) as writer:
            writer.append(labels)
    code, said = run(monkeypatch, capsys, "label", "lint", good)
    assert (code, "Nothing found." in said.out) == (0, True)
    assert "no trajectories were given" in said.out
    code, said = run(monkeypatch, capsys, "label", "lint", bad)
    assert code == 1
    assert "error: constant annotator: ada said `correct` 80 times of 80" in said.out
    code, said = run(monkeypatch, capsys, "label", "lint", bad, "--json")
    assert code == 1
    assert {one["check"] for one in json.loads(said.out)["findings"]} >= {"constant annotator"}
    code, said = run(monkeypatch, capsys, "label", "lint", good, "--gold", "nobody")
    assert (code, len(said.err.splitlines())) == (2, 1)
