"""Killed in full flight, the judging of signals resumes: the same ratings, and only calls in flight are paid twice."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from hashlib import sha256

import pytest
from judges.servers import Scripted, serving
from judging.signal_worlds import LOCAL, N_POINTS, model, run

from axisjudge.judging.signals import SignalQuestions, signals_run
from axisjudge.ratings import read_ratings
from axisjudge.readers import read_trajectories
from axisjudge.scores.axis.scenario import read_scenario
from axisjudge.verdict import IDENTITY

N = 5
SAME = [*IDENTITY, "status", "value", "rationale"]


@pytest.fixture
def counts():
    return Counter()


@pytest.fixture
def start(counts, tmp_path):
    runs = tmp_path / "runs.jsonl"
    runs.write_text(
        "".join(run(f"run-{number}", result="r" * (number + 1)).model_dump_json() + "\n" for number in range(N))
    )
    checks = tmp_path / "fix.yaml"
    checks.write_text("name: fix\nchecks: [The sum is right., Tests were run.]\n")
    lock, answer = threading.Lock(), model(LOCAL)

    def counted(request):
        with lock:
            counts[sha256(json.dumps(request["messages"]).encode()).hexdigest()] += 1
        time.sleep(0.03)
        return answer(request)

    with serving(Scripted(counted)) as server:

        def begin(out):
            judge = f"openai-compatible:qwen3-8b@{server.url}/v1"
            arguments = ["axis-result", runs, "--checks", checks, "--judge", judge, "--out", out, "--json"]
            return subprocess.Popen(
                [sys.executable, "-m", "axisjudge", *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "NO_PROXY": "127.0.0.1"},
            )

        begin.url = f"{server.url}/v1"
        yield begin


def finish(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return json.loads(out)


@pytest.mark.slow
def test_a_run_killed_in_full_flight_resumes(start, counts, tmp_path):
    broken = tmp_path / "broken.jsonl"
    runs = read_trajectories(tmp_path / "runs.jsonl").trajectories
    asked = SignalQuestions(scenarios=[read_scenario(tmp_path / "fix.yaml")])
    unbroken = signals_run(runs, [f"openai-compatible:qwen3-8b@{start.url}"], asked).carry_out(progress=False)
    assert sum(counts.values()) == 4 * N
    counts.clear()
    process = start(broken)
    deadline = time.monotonic() + 30
    while not broken.exists() or not broken.stat().st_size:
        assert time.monotonic() < deadline, process.communicate()
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    asked_before = sum(counts.values())
    assert asked_before < 4 * N
    result = finish(start(broken))
    table = read_ratings(broken)
    assert table.height == N * sum(N_POINTS.values())
    assert table.select(SAME).sort(IDENTITY).equals(unbroken.select(SAME).sort(IDENTITY))
    assert len(counts) == 4 * N
    assert sum(counts.values()) - 4 * N <= 16  # those under way when it was killed
    assert len(result["results"]) == N
