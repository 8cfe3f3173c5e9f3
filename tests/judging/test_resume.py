"""Killed at any instant, a run resumes and ends with the ratings of an unbroken one; no call is paid twice but those in
flight. The real command line, a real server on loopback, a real SIGKILL."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import polars as pl
import pytest
from judging.worlds import trajectories

from axisjudge.cli import main
from axisjudge.ratings import RatingsWriter, read_ratings
from axisjudge.verdict import IDENTITY

N, CONCURRENCY = 12, 4
SAME = [*IDENTITY, "status", "verdict", "confidence", "cited_step_indices", "rationale"]


class DeterministicModel(BaseHTTPRequestHandler):
    """Speaks chat completions; answers by a hash of the prompt and counts how often each prompt came."""

    protocol_version = "HTTP/1.1"
    counts: ClassVar[Counter[str]] = Counter()
    lock = threading.Lock()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = sha256(json.dumps(json.loads(body)["messages"]).encode()).hexdigest()
        with self.lock:
            self.counts[key] += 1
        time.sleep(0.03)
        word = "correct" if int(key, 16) % 3 else "incorrect"
        verdict = {"rationale": key[:8], "cited_step_indices": [0], "verdict": word, "confidence": 0.5}
        message = {"role": "assistant", "content": json.dumps(verdict)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = json.dumps(
            {"id": key[:6], "object": "chat.completion", "created": 1, "model": "qwen-test", "choices": [choice]}
        ).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)
        except OSError:  # the client was killed; that is the point
            self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    DeterministicModel.counts.clear()
    http = ThreadingHTTPServer(("127.0.0.1", 0), DeterministicModel)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}/v1"
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def command(server, tmp_path):
    source = tmp_path / "runs.jsonl"
    source.write_text("".join(trajectory.model_dump_json() + "\n" for trajectory in trajectories(N)))

    def start(out):
        judge = f"openai-compatible:qwen-test@{server}"
        arguments = ["judge", source, "--judge", judge, "--concurrency", str(CONCURRENCY), "--out", out]
        return subprocess.Popen(
            [sys.executable, "-m", "axisjudge", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )

    return start


def finish(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


@pytest.mark.slow
def test_a_run_killed_at_any_instant_resumes(command, tmp_path):
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    finish(command(whole))
    assert sum(DeterministicModel.counts.values()) == N * 5
    DeterministicModel.counts.clear()

    rng = random.Random(7)
    kills = 0
    while kills < 2:
        process = command(broken)
        before = broken.stat().st_size if broken.exists() else 0
        deadline = time.monotonic() + 30
        while not broken.exists() or broken.stat().st_size == before:  # let it get going, then kill it in full flight
            assert time.monotonic() < deadline, process.communicate()
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.08))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += 1
    finish(command(broken))

    table, expected = read_ratings(broken), read_ratings(whole)
    assert table.select(SAME).sort(IDENTITY).equals(expected.select(SAME).sort(IDENTITY))
    paid_twice = sum(count - 1 for count in DeterministicModel.counts.values())
    assert paid_twice <= kills * CONCURRENCY
    assert len(DeterministicModel.counts) == N * 5


def test_ctrl_c_says_that_nothing_is_lost(command, tmp_path):
    out = tmp_path / "r.jsonl"
    process = command(out)
    deadline = time.monotonic() + 30
    while not out.exists() or not out.stat().st_size:
        assert time.monotonic() < deadline, process.communicate()
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert err.endswith("axisjudge: stopped; what is written stays, the same command goes on from there\n")
    assert "Traceback" not in err
    finish(command(out))
    assert read_ratings(out).height == N * 5


@pytest.mark.slow
def test_the_torn_line_of_a_kill_is_mended(command, tmp_path):
    out = tmp_path / "r.jsonl"
    finish(command(out))
    whole = out.read_bytes()
    out.write_bytes(whole[:-100])
    DeterministicModel.counts.clear()
    finish(command(out))
    assert sum(DeterministicModel.counts.values()) == 1
    assert read_ratings(out).height == N * 5
    assert all(pl.read_ndjson(out)["status"] == "ok")


def test_who_finds_the_file_taken_is_told_in_one_line(tmp_path, monkeypatch, capsys):
    source, out = tmp_path / "runs.jsonl", tmp_path / "r.jsonl"
    source.write_text(trajectories(1)[0].model_dump_json() + "\n")
    monkeypatch.setitem(RatingsWriter.__init__.__kwdefaults__, "wait", 0.2)
    monkeypatch.setattr("sys.argv", ["axisjudge", "judge", str(source), "--out", str(out)])
    with RatingsWriter(out), pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    printed = capsys.readouterr()
    assert "another process has been writing here" in printed.err
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err + printed.out
