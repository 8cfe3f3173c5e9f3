"""`axisjudge read` and `judge` where one file of several is broken, and where a tool's kind is stated."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from axisjudge.checks import InputError
from axisjudge.cli import app


def chat(number: int) -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": "cancel_trip", "arguments": '{"trip_id": "T-11"}'}}
    return {
        "id": f"run-{number}",
        "task_id": "trips",
        "messages": [
            {"role": "system", "content": "Ask for an explicit yes before any change."},
            {"role": "user", "content": "What would cancelling trip T-11 cost?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "done"},
            {"role": "assistant", "content": "It is done."},
        ],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    runs = tmp_path / "runs"
    runs.mkdir()
    for number in (1, 3):
        (runs / f"{number}.json").write_text(json.dumps(chat(number)))
    (runs / "2.json").write_text(json.dumps(chat(2))[:-9])
    return runs


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("command", ["read", "judge"])
def test_a_broken_file_is_listed_with_its_reason_and_the_exit_code_is_one(command: str, folder: Path) -> None:
    out = ["--out", folder.parent / "ratings.jsonl"] if command == "judge" else []
    page = run(command, folder, *out)
    assert page.exit_code == 1
    assert "cut off" in page.stderr
    shown = run(command, folder, *out, "--json")
    assert shown.exit_code == 1
    (refused,) = json.loads(shown.stdout)["refused"]
    assert refused["path"] == str(folder / "2.json")
    if command == "judge":
        lines = [json.loads(line) for line in (folder.parent / "ratings.jsonl").read_text().splitlines()]
        assert {line["trajectory_id"] for line in lines} == {"run-1", "run-3"}
        assert run(command, folder, *out, "--dry-run").exit_code == 1


ACCOUNTED = {
    "axis-result": [],
    "axis-result --fail-under 0": [],
    "scorecard score": [],
    "twins --edits misreported_amount": ["--write", "twins.jsonl"],
    "explore ratings.jsonl --out page.html": ["--trajectories"],
    "agreement ratings.jsonl": ["--trajectories"],
    "export ratings.jsonl --to csv --out ratings.csv": ["--trajectories"],
    "label page --out labelling.html": [],
    "split make": [],
    "label next --half-width 0.1 --out next.sampling.json": ["--trajectories"],
}


@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=pytest.mark.slow) if "ratings" in name else name for name in ACCOUNTED]
)
def test_every_command_that_reads_runs_gives_the_same_account(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = folder / "2.json"
    bad.write_text("")
    monkeypatch.chdir(folder.parent)
    if command == "split make":
        run("init", folder.parent)
        monkeypatch.setenv("AXISJUDGE_HOME", str(folder.parent))
    if "ratings" in command:
        assert run("judge", folder / "1.json", "--out", "ratings.jsonl").exit_code == 0
    more = ACCOUNTED[command]
    last = [folder] if more[-1:] == ["--trajectories"] else []
    words = [*command.split(), *([] if last else [folder]), *more, *last]
    page = run(*words)
    assert (page.exit_code, type(page.exception)) == (1, SystemExit), page.output
    assert str(bad) in page.stderr
    assert "Gate passed" not in page.stdout
    for written in ("ratings.csv", "twins.jsonl"):
        Path(written).unlink(missing_ok=True)
    shown = run(*words, "--json")
    assert shown.exit_code == 1, shown.output
    assert "Traceback" not in shown.stderr
    assert [file["path"] for file in json.loads(shown.stdout)["refused"]] == [str(bad)]


@pytest.mark.parametrize("command", ["read", "judge"])
def test_strict_ends_the_run_at_once(command: str, folder: Path) -> None:
    page = run(command, folder, "--strict", *(["--out", folder.parent / "r.jsonl"] if command == "judge" else []))
    assert isinstance(page.exception, InputError)  # exit code 2 outside of the test client
    assert "2.json" in str(page.exception)
    assert not (folder.parent / "r.jsonl").exists()


def test_read_to_writes_what_could_be_read(folder: Path) -> None:
    own = folder.parent / "own.jsonl"
    assert run("read", folder, "--to", own).exit_code == 1
    assert run("read", own).exit_code == 0
    assert len(own.read_text().splitlines()) == 2


@pytest.mark.parametrize(("kind", "verdict"), [("write", "incorrect"), ("read", "not_applicable"), (None, "uncertain")])
def test_the_stated_kind_of_a_tool_reaches_the_rules(kind: str | None, verdict: str, folder: Path) -> None:
    out = folder.parent / "ratings.jsonl"
    stated = [] if kind is None else ["--tool-kind", f"cancel_trip={kind}"]
    rules = ["--judge", "rules,all=true"]  # the kind of finding that rests on it is off by default
    page = run("judge", folder / "1.json", "--axis", "sequencing", "--out", out, *rules, *stated, "--json")
    assert page.exit_code == 0, page.output
    (line,) = (json.loads(line) for line in out.read_text().splitlines())
    assert line["verdict"] == verdict
