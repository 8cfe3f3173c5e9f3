"""The slim way in: what pipelines and servers call runs with the packages of the group `core` alone."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: Refuses every module of a distribution that is not named, runs commands one by one and prints their exit codes.
PROGRAM = """
import contextlib, io, json, sys

blocked, commands = json.load(sys.stdin)

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
from axisjudge.__main__ import main

for command in commands:
    sys.argv = ["axisjudge", *command]
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, errors.getvalue()]))
"""


def _core():
    """The distributions of the group and all that these need."""
    asked = [tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["core"]]
    names: set[str] = set()
    while asked:
        for line in asked.pop():
            name = _plain(line.partition(";")[0])
            if "extra ==" not in line and name not in names:
                names.add(name)
                try:
                    asked.append(requires(name) or [])
                except ModuleNotFoundError:  # of another platform
                    names.discard(name)
    return names


def _plain(requirement):
    name = requirement.strip()
    for mark in "[<>=!~ (":
        name = name.partition(mark)[0]
    return name.lower().replace("_", "-").replace(".", "-")


@pytest.fixture(scope="module")
def slim(tmp_path_factory):
    """Runs commands in a process that has the core alone."""
    core = _core()
    kept, blocked = set(), set()
    for each in distributions():
        tops = {file.parts[0].removesuffix(".py") for file in each.files or () if file.suffix in (".py", ".so")}
        (kept if _plain(each.metadata["Name"]) in core | {"axisjudge", "setuptools"} else blocked).update(tops)
    asked = sorted(name for name in blocked - kept if name.isidentifier())
    assert {"pandas", "matplotlib", "openai", "jupyterlab", "statsmodels"} <= set(asked)
    folder = tmp_path_factory.mktemp("slim")
    for part in ("rubrics", "notebooks"):
        (folder / part).symlink_to(ROOT / part)
    (folder / "data").mkdir()

    def run(*commands):
        given = json.dumps([asked, [list(map(str, command)) for command in commands]])
        done = subprocess.run([sys.executable, "-c", PROGRAM], input=given, capture_output=True, text=True, cwd=folder)
        assert done.returncode == 0, done.stderr
        return [tuple(json.loads(line)) for line in done.stdout.splitlines()]

    return run


@pytest.mark.slow
def test_what_pipelines_call_needs_the_core_alone(slim, tmp_path):
    table = tmp_path / "r.csv"
    rows = [f"t{n % 20},{'pass' if n % 3 else 'fail'},{'pass' if n % 4 else 'fail'}" for n in range(60)]
    table.write_text("task,gpt,human\n" + "\n".join(rows) + "\n")
    demo, rated = ROOT / "data" / "demo", tmp_path / "rated.jsonl"
    done = slim(
        ["read", demo / "results"],
        ["check", table, "--judge", "gpt", "--human", "human", "--cluster", "task"],
        ["judge", demo / "results", "--judge", "rules", "--limit", "8", "--tools", demo / "tools.json", "--out", rated],
        ["agreement", rated],
        ["profile", rated],
        ["axis-result", demo / "transcripts" / "cedar-mini"],
        ["scorecard", "score", demo / "runs" / "runs.jsonl"],
    )
    assert [code for code, _ in done] == [0] * 7, done


def test_what_needs_more_says_so_in_one_line(slim):
    ((code, said),) = slim(["report", "04"])
    assert code == 2
    assert said.count("\n") == 1
    assert "slim" in said
