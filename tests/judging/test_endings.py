"""How runs end: the exit code, the last lines, and what is left when somebody stops one. The real command line."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from judging.providers import after, failing, healthy, providing
from judging.worlds import CoinJudge, trajectories

import axisjudge
from axisjudge.judging import judging_run
from axisjudge.ratings import read_ratings


@pytest.fixture
def command(tmp_path):
    source = tmp_path / "runs.jsonl"
    source.write_text("".join(run.model_dump_json() + "\n" for run in trajectories(8)))

    def start(provider, *models, more=()):
        arguments = ["judge", str(source), "--out", str(tmp_path / "r.jsonl"), *more]
        for model in models:
            arguments += ["--judge", f"openai-compatible:{model}@{provider.url},family={model}"]
        return subprocess.Popen(
            [sys.executable, "-m", "axisjudge", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )

    return start


def finished(process):
    out, err = process.communicate(timeout=90)
    return process.returncode, out, err


def test_a_dead_key_ends_with_1_and_says_so_in_the_last_lines(command):
    with providing(good=healthy(0.0), dead=failing(401, "invalid key")) as provider:
        code, out, _ = finished(command(provider, "good", "dead"))
        assert provider.calls["dead"] <= 8
    assert code == 1
    assert "is stopped" in out.strip().splitlines()[-1]
    assert "HTTP 401" in out


@pytest.mark.slow
def test_a_run_that_is_answered_ends_with_0_and_its_exact_losses_decide(command):
    def one_lost(number, body):
        return failing(422, "no")(number, body) if number == 3 else healthy(0.0)(number, body)

    with providing(m=one_lost) as provider:
        assert finished(command(provider, "m", more=["--max-lost", "0.01"]))[0] == 1  # one of forty
        code, out, _ = finished(command(provider, "m", more=["--max-lost", "0.01"]))
    assert code == 0  # what was lost was asked again
    assert "lost" in out


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_a_summary(command, tmp_path):
    with providing(m=healthy(0.2)) as provider:
        process = command(provider, "m", more=["--concurrency", "2"])
        deadline = time.monotonic() + 60
        while provider.calls["m"] < 4:
            assert time.monotonic() < deadline, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        code, out, err = finished(process)
    assert code == 130
    assert "How far each judge came" in out
    assert "Traceback" not in err
    assert 0 < read_ratings(tmp_path / "r.jsonl").height < 40


@pytest.mark.slow
def test_a_dry_run_tells_tokens_and_price(command):
    with providing(m=healthy()) as provider:
        code, out, _ = finished(command(provider, "m", more=["--dry-run", "--json"]))
        assert provider.calls["m"] == 0
    assert code == 0
    (row,) = json.loads(out)["estimate"]
    assert row["calls"] == 40
    assert "to" in row["tokens in"]


def test_in_memory_ctrl_c_gives_back_what_there_is():
    class Interrupting(CoinJudge):
        async def grade(self, trajectory, rubrics, *, repeat=0):
            if len(self.calls) == 12:
                os.kill(os.getpid(), signal.SIGINT)
            return await super().grade(trajectory, rubrics, repeat=repeat)

    with pytest.warns(UserWarning, match="interrupted"):
        table = axisjudge.judge(trajectories(8), [Interrupting(delay=0.01)], progress=False)
    assert 0 < table.height < 40


def test_with_a_file_ctrl_c_goes_on_to_the_caller(tmp_path):
    class Interrupting(CoinJudge):
        async def grade(self, trajectory, rubrics, *, repeat=0):
            if len(self.calls) == 12:
                os.kill(os.getpid(), signal.SIGINT)
            return await super().grade(trajectory, rubrics, repeat=repeat)

    run = judging_run(trajectories(8), [Interrupting(delay=0.01)], out=tmp_path / "r.jsonl")
    with pytest.raises(KeyboardInterrupt):
        run.carry_out(progress=False)
    assert run.outcome.code() == 130
    (end,) = run.outcome.ends
    assert end.calls == end.statuses["ok"] + end.unpriced >= 12  # what was given up on its way may be paid
    assert 0 < read_ratings(tmp_path / "r.jsonl").height < 40


def test_the_bar_tells_the_commonest_failure(capsys):
    with providing(m=after(2, failing(500, "out of order", retry_after="0.01"), healthy(0.0))) as provider:
        axisjudge.judge(trajectories(2), [f"openai-compatible:m@{provider.url},family=m"], progress=True)
    shown = capsys.readouterr().err
    assert "2 x HTTP 500" in shown
    assert "10/10" in shown
    assert threading.active_count() < 50


@pytest.mark.parametrize("module", ["typer", "polars"])
def test_ctrl_c_while_a_command_starts_is_one_line_too(module):
    """The interrupt is raised by the import itself, so that it comes at that moment on any machine."""
    program = (
        "import builtins, runpy, sys\n"
        "real = builtins.__import__\n"
        "def stopping(name, *more, **named):\n"
        f"    if name == {module!r}:\n"
        "        raise KeyboardInterrupt\n"
        "    return real(name, *more, **named)\n"
        "builtins.__import__ = stopping\n"
        "sys.argv = ['axisjudge', 'judge', 'README.md']\n"
        "runpy.run_module('axisjudge', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
