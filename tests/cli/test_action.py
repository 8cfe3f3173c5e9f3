"""The action that `axisjudge init --ci` writes: its steps run as GitHub runs them, failing and passing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from studies.check.conftest import csv, votes

from .test_axis_gate import session


@pytest.fixture
def run_action(tmp_path, capsys, monkeypatch):
    """Write the action and run it on a command: exit code, summary and output of the job."""
    from axisjudge.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AXISJUDGE_HOME", raising=False)
    monkeypatch.setattr(sys, "argv", ["axisjudge", "init", ".", "--ci"])
    for _ in range(2):  # what is there stays
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    assert capsys.readouterr().out.count("Made in") == 1
    (written,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert written == tmp_path / ".github/actions/axisjudge/action.yml"
    action = yaml.safe_load(written.read_text())
    assert action["runs"]["using"] == "composite"

    def run(command, steps=(1,), **inputs):
        given = {name: each.get("default") for name, each in action["inputs"].items()} | inputs | {"command": command}
        out = {name: tmp_path / f"{name}.txt" for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        for path in out.values():
            path.write_text("")
        (tmp_path / "runner").mkdir(exist_ok=True)
        known = {name: str(path) for name, path in out.items()} | {"RUNNER_TEMP": str(tmp_path / "runner")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        for step in (action["runs"]["steps"][number] for number in steps):
            assert "${{" not in step["run"]  # what a caller gives reaches the shell as a variable, never as text
            asked = {name: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text) for name, text in step["env"].items()}
            env = os.environ | known | {"PATH": path} | {name: given[match[1]] for name, match in asked.items()}
            shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(shell, env=env, capture_output=True, text=True)
            if done.returncode:
                break
        return done.returncode, out["GITHUB_STEP_SUMMARY"].read_text(), out["GITHUB_OUTPUT"].read_text(), done.stdout

    return run


def record(folder, reports):
    folder.mkdir()
    for number, report in enumerate(reports):
        (folder / f"{number}.json").write_text(json.dumps(report))


@pytest.mark.slow
def test_a_real_regression_between_recorded_sessions_fails_the_job(run_action, tmp_path):
    """Three sessions before, three after in which every other answer of a tool is an error."""
    for folder in ("rubrics", "notebooks", "data"):  # a workbench of its own, which keeps the baseline
        (tmp_path / folder).mkdir()
    record(tmp_path / "before", [session(number) for number in (1, 2, 3)])
    record(tmp_path / "after", [session(number, change="worse") for number in (1, 2, 3)])
    made = [sys.executable, "-m", "axisjudge", "axis-result", "before", "--save-baseline", "main"]
    subprocess.run(made, check=True, capture_output=True)
    code, summary, output, _ = run_action('axis-result after --baseline main --fail-if "environment<-5"')
    assert (code, output) == (1, "decision=failed\n")
    assert "| broken" in summary
    assert "**regressed**" in summary


@pytest.mark.slow
def test_requirements_of_a_judge_pass_fail_and_cannot_be_told(run_action, tmp_path):
    (tmp_path / "my results.csv").write_text(csv(votes()))
    asked = "check 'my results.csv' --human human --require \"caught>=%s\""
    for number, code, decision in (("0.3", 0, "passed"), ("0.99", 1, "failed"), ("0.7", 4, "cannot tell")):
        found, summary, output, _ = run_action(asked % number, steps=(0, 1))
        assert (found, output) == (code, f"decision={decision}\n")
        assert f"    gpt: caught>={number}" in summary
    assert run_action(asked % "0.7", **{"cannot-tell": "pass"})[0] == 0


@pytest.mark.parametrize(
    "command", ["check $(touch made) `touch made`; touch made", pytest.param("", marks=pytest.mark.slow)]
)
def test_a_command_is_words_and_nothing_of_it_is_run(run_action, tmp_path, command):
    (tmp_path / "runner").mkdir()
    (tmp_path / "runner" / "summary.md").write_text("what an earlier gate of this job said")
    code, summary, output, _ = run_action(command)
    assert (code, output) == (2, "decision=error\n")
    assert "earlier gate" not in summary
    assert not (tmp_path / "made").exists()
