"""What differs between two results."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.report.difference import compare_results, differences


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 0.1234567891}, {"a": 0.1234567892}, []),
        ({"a": 0.12345678}, {"a": 0.12345679}, ["a"]),
        ({"a": 0.0}, {"a": 1e-12}, ["a"]),
        ({"a": True}, {"a": 1}, ["a"]),
        ({"a": None}, {"a": 0}, ["a"]),
        ({"a": 1}, {"b": 1}, ["a", "b"]),
        ([1, 2], [1, 2, 3], ["[2]"]),
        ({"t": [{"judge": "x", "n": 1}, {"judge": "y", "n": 2}]}, {"t": [{"judge": "y", "n": 3}]}, ["t[x]", "t[y].n"]),
        ({"t": [{"n": 1}, {"n": 2}]}, {"t": [{"n": 1}, {"n": 4}]}, ["t[1].n"]),
        (["a", "b"], ["b", "a"], []),
    ],
)
def test_numbers_differ_beyond_rounding_and_rows_are_matched_by_name(
    before: object, after: object, where: list[str]
) -> None:
    assert [each.where for each in differences(before, after)] == where


def test_two_folders_are_compared_on_the_command_line(tmp_path: Path) -> None:
    for name, value in (("a", 0.5), ("b", 0.75)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps({"results": {"rate": value}}))
    (found,) = compare_results(tmp_path / "a", tmp_path / "b" / "results.json")
    assert (found.where, found.change) == ("results.rate", 0.25)
    done = CliRunner().invoke(app, ["report", "--diff", str(tmp_path / "a"), str(tmp_path / "b"), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["differences"][0]["after"] == 0.75
    assert "same" in CliRunner().invoke(app, ["report", "--diff", str(tmp_path / "a"), str(tmp_path / "a")]).stdout
    with pytest.raises(InputError, match=r"holds no results\.json"):
        compare_results(tmp_path, tmp_path / "a")


def test_results_of_different_things_are_called_so_and_their_names_not_listed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        rows = [{"judge": f"{name}-{number}", "rate": number / 9} for number in range(9)]
        (tmp_path / f"{name}.json").write_text(json.dumps({"n": 3, "results": rows}))
    done = CliRunner().invoke(app, ["report", "--diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    assert done.exit_code == 0
    assert "different things" in done.output
    assert "a-1" not in done.output
