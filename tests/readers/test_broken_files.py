"""One broken line of a file, one broken file of a folder, one id twice: said, and the others are read."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conversations import chat, tau_bench_run, write
from readers.test_bad_input import refused

from axisjudge.readers import read_trajectories


@pytest.mark.parametrize("broken", [0, 1, 2])
@pytest.mark.parametrize("how", ["cut off", "no JSON", "not UTF-8"])
def test_a_broken_line_is_counted_and_the_others_are_read(tmp_path: Path, broken: int, how: str) -> None:
    lines = [json.dumps({"id": str(n), "messages": chat()}).encode() for n in range(3)]
    spoilt = {"cut off": lines[broken][:-5], "no JSON": b'{"id": oops}', "not UTF-8": b'{"id": "\xe4"}'}
    lines[broken] = spoilt[how]
    file = tmp_path / "talks.jsonl"
    file.write_bytes(b"\n".join(lines))
    reading = read_trajectories(file)
    assert [run.id for run in reading] == [str(n) for n in range(3) if n != broken]
    assert [(w.rule, w.position, w.count) for w in reading.warnings] == [
        ("a line of broken JSON is left out", f"line {broken + 1}", 1)
    ]
    (lost,) = reading.refused
    assert (lost.path, f"line {broken + 1}" in lost.reason) == (str(file), True), "a run is gone with the line"


def test_half_a_character_in_a_line_is_mended_and_counted(tmp_path: Path) -> None:
    line = json.dumps({"id": "a", "messages": chat()})
    file = tmp_path / "talks.jsonl"
    file.write_text(line + "\n" + line.replace('"a"', '"b"').replace("In hall 7.", "In hall \\ud83d."))
    reading = read_trajectories(file)
    assert [run.steps[-1].content for run in reading] == ["In hall 7.", "In hall ?."]
    assert [w.count for w in reading.warnings] == [1]


@pytest.mark.parametrize("whole", [{"messages": chat()}, [{"messages": chat()}] * 3, [tau_bench_run()] * 2])
def test_one_broken_value_written_over_lines_is_not_taken_for_lines(tmp_path: Path, whole: Any) -> None:
    """One member a line, the first broken: no line but the last would be JSON, and the others would be lost."""
    members = [json.dumps(member) for member in (whole if isinstance(whole, list) else whole["messages"])]
    members[0] = members[0][:-1]
    file = tmp_path / "talks.json"
    file.write_text(("[" if isinstance(whole, list) else '{"messages": [') + ",\n".join(members))
    assert "talks.json, line " in refused(file).where


def spoilt_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write(folder / "a.json", [tau_bench_run(1)])
    (folder / "b.json").write_text(json.dumps([tau_bench_run(2)])[:-9])
    write(folder / "c.json", [tau_bench_run(3), tau_bench_run(4) | {"traj": 7}])
    write(folder / "d.json", [tau_bench_run(3), tau_bench_run(5)])
    return folder


@pytest.mark.parametrize("glob", [False, True])
def test_broken_files_of_a_folder_are_refused_whole_and_the_others_read(tmp_path: Path, glob: bool) -> None:
    folder = spoilt_folder(tmp_path)
    reading = read_trajectories(f"{folder}/*.json" if glob else folder, strict=False)
    assert [(Path(file.path).name, file.trajectories) for file in reading.files] == [("a.json", 1), ("d.json", 2)]
    assert [run.task_id for run in reading] == ["1", "3", "5"]
    refused_files = {Path(file.path).name: file.reason for file in reading.refused}
    assert refused_files.keys() == {"b.json", "c.json"}
    assert "cut off" in refused_files["b.json"]
    assert "[1].traj" in refused_files["c.json"]
    assert not reading.warnings
    assert "2 files refused" in repr(reading)


BAD = {
    "empty": b"",
    "blank": b" \n\n",
    "a mark of UTF-8 alone": b"\xef\xbb\xbf",
    "UTF-16": '{"messages": []}'.encode("utf-16"),
    "nested past all bounds": b"[" * 100_000,
    "no JSON": b"killed",
    "cut off": b'{"messages": [{"role": "us',
    "of no known format": b'{"error": "timed out"}',
    "nothing": b"null",
    "an empty list": b"[]",
    "no run": b'{"simulations": [], "tasks": [], "info": {}}',
    "no event of a run": b'{"type": "summary", "summary": "Trips", "leafUuid": "7"}\n',
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", ["2.json", "2.log", "2.JSON"])
def test_a_file_that_ends_as_those_with_runs_do_never_vanishes(tmp_path: Path, kind: str, name: str) -> None:
    for number in (1, 3):
        write(tmp_path / f"{number}{Path(name).suffix.lower()}", {"id": str(number), "messages": chat()})
    (tmp_path / name).write_bytes(BAD[kind])
    (tmp_path / "README.md").write_text("# Notes")
    for paths in ([tmp_path], sorted(tmp_path.glob("[0-9]*"))):
        reading = read_trajectories(*paths, strict=False)
        assert [run.id for run in reading] == ["1", "3"]
        assert [file.path for file in reading.refused] == [str(tmp_path / name)]
        assert str(tmp_path / name) in refused(*paths).where


def circle(path: Path) -> None:
    path.symlink_to(path)


def lost(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("odd", [circle, lost, os.mkfifo])
def test_what_cannot_be_a_file_is_listed_and_nothing_waits_for_it(tmp_path: Path, odd: Callable[[Path], None]) -> None:
    """Links in a circle, links to nothing, pipes that nobody writes to; folders that lead back up are read once."""
    write(tmp_path / "1.json", {"id": "1", "messages": chat()})
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "again").symlink_to(tmp_path)
    odd(tmp_path / "below" / "2.json")
    for paths in ([tmp_path], [tmp_path / "1.json", tmp_path / "below" / "2.json"]):
        reading = read_trajectories(*paths, strict=False)
        assert [run.id for run in reading] == ["1"]
        assert [file.path for file in reading.refused] == [str(tmp_path / "below" / "2.json")]
        assert "below/2.json" in refused(*paths).where


@pytest.mark.skipif(os.getuid() == 0 and shutil.which("setpriv") is None, reason="root may read everything")
@pytest.mark.parametrize("closed", ["2.json", "below"])
def test_what_is_closed_to_us_is_listed_and_the_others_are_read(tmp_path: Path, closed: str) -> None:
    (tmp_path / "below").mkdir()
    for name in ("1.json", "2.json", "below/3.json"):
        write(tmp_path / name, {"id": Path(name).stem, "messages": chat()})
    (tmp_path / closed).chmod(0)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o555)
    somebody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.getuid() == 0 else []
    if subprocess.run([*somebody, sys.executable, "-c", "import axisjudge"], capture_output=True).returncode:
        pytest.skip("nobody but root may run Python here")
    program = "import sys; from axisjudge.readers import read_trajectories as read; r = read(sys.argv[1], strict=False)"
    program += "; print(*sorted(run.id for run in r), *(file.path for file in r.refused))"
    words = [*somebody, sys.executable, "-c", program, str(tmp_path)]
    page = subprocess.run(words, capture_output=True, text=True, check=True)
    (tmp_path / closed).chmod(0o755)
    assert page.stdout.split() == ["1", "3" if closed == "2.json" else "2", str(tmp_path / closed)]


def test_ratings_beside_runs_are_no_runs_that_are_missing(tmp_path: Path) -> None:
    """As `axisjudge judge` writes them; named alone they are refused with the command that reads them."""
    write(tmp_path / "1.json", {"id": "1", "messages": chat()})
    rating = {"schema_version": 1, "trajectory_id": "1", "rater": "rules", "rater_kind": "rules", "verdict": "correct"}
    (tmp_path / "ratings.jsonl").write_text(f"{json.dumps(rating)}\n" * 2)
    reading = read_trajectories(tmp_path)
    assert ([run.id for run in reading], reading.refused) == (["1"], ())
    assert [(Path(each.file).name, each.rule) for each in reading.warnings] == [("ratings.jsonl", "passed over")]
    assert "axisjudge agreement" in refused(tmp_path / "ratings.jsonl").cure


def test_where_every_file_is_broken_the_first_is_the_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(chat())[:-9])
    (tmp_path / "b.json").write_text(json.dumps([tau_bench_run(2)])[:-9])
    assert "a.json" in refused(tmp_path, strict=False).where


def test_an_id_that_occurs_twice_is_named_with_both_its_files(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"id": "trip-7", "messages": chat()})
    write(tmp_path / "b.json", [{"id": "trip-8", "messages": chat()}, {"id": "trip-7", "messages": chat()[:2]}])
    for said in (
        str(refused(tmp_path)),
        read_trajectories(tmp_path, strict=False).refused[0].reason,
    ):
        assert "trip-7" in said
        assert "a.json" in said
        assert "b.json, [1]" in said
    write(tmp_path / "b.json", {"id": "trip-7", "messages": chat()})
    (warning,) = read_trajectories(tmp_path).warnings
    assert "trip-7" in warning.detail
    assert "a.json" in warning.detail
    assert "b.json" in warning.file
