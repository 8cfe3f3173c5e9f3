"""A judge written in a notebook cell, in a real kernel: killed in mid-run, resumed, compared with the rules."""

import os
import signal
import sys
import time
from collections import Counter

import nbformat
import pytest
from judging.worlds import trajectories

from axisjudge.ratings import read_ratings
from axisjudge.verdict import IDENTITY

N, AT_ONCE = 8, 4

LOAD = """
import os, time, axisjudge
runs = axisjudge.read_trajectories({runs!r}).trajectories
"""
JUDGE = """
WORDS = ("sorry", "renew")

def is_polite(text):
    return any(word in text for word in WORDS)

@axisjudge.judge_function(name="courtesy", family="ours", kind="rules")
def courtesy(prompt):
    with open({calls!r}, "ab", buffering=0) as file:
        file.write(f"{{hash_of(prompt)}}\\n".encode())
    time.sleep(0.03)
    return {{"verdict": "correct" if is_polite(prompt.record) else "incorrect", "confidence": 0.75,
            "rationale": hash_of(prompt), "usage": {{"input_tokens": len(prompt), "cost_usd": 0.002}}}}

def hash_of(prompt):
    from hashlib import sha256
    return sha256(prompt.encode()).hexdigest()[:16]
"""
ASK = "ratings = axisjudge.judge(runs, judges=[courtesy, 'rules'], out={out!r}, concurrency={at_once}, progress=False)"
COMPARE = """
matrix = axisjudge.to_matrix(ratings, 'tool_selection')
print(ratings.height, sorted(set(ratings['rater'])), len(matrix.items))
"""


@pytest.fixture
def kernel(tmp_path):
    """Starts kernels of this Python; none is left behind."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import KernelManager

    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=CRITICAL"]

    class ThisPython(KernelManager):
        kernel_spec = KernelSpec(argv=command, display_name="Python 3", language="python")

    started = []

    def start():
        manager = ThisPython(transport="ipc", connection_file=str(tmp_path / f"k{len(started)}.json"))
        environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")}
        manager.start_kernel(env=environment)
        client = manager.client()
        started.append((manager, client))
        client.start_channels()
        client.wait_for_ready(timeout=60)
        return manager, client

    yield start
    for manager, client in started:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        manager.context.destroy(linger=0)


def run_cell(client, source):
    printed = []
    reply = client.execute_interactive(
        source, timeout=60, output_hook=lambda message: printed.append(message["content"].get("text", ""))
    )
    assert reply["content"]["status"] == "ok", reply["content"]
    return "".join(printed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_judge_in_a_cell_is_killed_and_resumes(kernel, tmp_path):
    source, out, calls = tmp_path / "runs.jsonl", tmp_path / "ratings.jsonl", tmp_path / "calls"
    source.write_text("".join(run.model_dump_json() + "\n" for run in trajectories(N)))
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(LOAD.format(runs=str(source))),
            nbformat.v4.new_code_cell(JUDGE.format(calls=str(calls))),
            nbformat.v4.new_code_cell(ASK.format(out=str(out), at_once=AT_ONCE)),
            nbformat.v4.new_code_cell(COMPARE),
        ]
    )
    nbformat.validate(notebook)
    load, judge, ask, compare = (cell.source for cell in notebook.cells)

    manager, client = kernel()
    for cell in (load, judge):
        run_cell(client, cell)
    client.execute(ask)
    deadline = time.monotonic() + 30
    while not out.exists() or out.read_bytes().count(b"courtesy") < 8:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(manager.provisioner.process.pid, signal.SIGKILL)
    manager.provisioner.process.wait()
    asked_before = calls.read_text().split()
    written_before = read_ratings_of_a_killed_run(out)
    assert 0 < written_before < N * 5

    _, client = kernel()
    printed = [run_cell(client, cell) for cell in (load, judge, ask, compare)]
    assert printed[-1].strip() == f"{2 * N * 5} ['courtesy', 'rules'] {N}"

    table = read_ratings(out)
    own = table.filter(table["rater"] == "courtesy")
    assert own.height == N * 5
    assert own["status"].unique().to_list() == ["ok"]
    assert own["rater_version"].n_unique() == 1  # the cell was typed again, not edited
    assert own["cost_usd"].to_list() == [0.002] * (N * 5)
    times = Counter(calls.read_text().split())
    assert len(times) == N * 5  # every question was asked
    assert sum(times.values()) - len(times) <= AT_ONCE  # twice only what was under way when it was killed
    assert len(asked_before) - written_before <= AT_ONCE

    edited = judge.replace('"renew"', '"please"')  # a constant that the function's helper reads
    for cell in (edited, ask):
        run_cell(client, cell)
    table = read_ratings(out)
    assert table.filter(table["rater"] == "courtesy").height == 2 * N * 5  # judged anew, and nothing overwritten
    assert table.filter(table["rater"] == "rules").height == N * 5
    assert table.select(IDENTITY).is_unique().all()


def read_ratings_of_a_killed_run(out):
    """How many of the function's ratings stand in whole lines."""
    head = out.read_bytes().rpartition(b"\n")[0]
    return sum(b'"rater":"courtesy"' in line for line in head.split(b"\n"))
