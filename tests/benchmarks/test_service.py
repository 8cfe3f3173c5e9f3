"""Writes of the service beside a bare FastAPI with sqlite3 and the same fsync, in one run; 200 clients; half-open."""

import asyncio
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.service.load import TOKEN, Client, Service, made_run

BARE = """
import sqlite3, sys, threading
import uvicorn
from fastapi import FastAPI
from axisjudge.scores.run_score import Run
store = sqlite3.connect(sys.argv[1], check_same_thread=False, isolation_level=None)
for line in ("pragma journal_mode = wal", "pragma synchronous = full", "create table runs (run_id primary key, facts)"):
    store.execute(line)
app, one_writer = FastAPI(), threading.Lock()
@app.post("/v1/runs", status_code=201)
def keep(run: Run):
    with one_writer:
        store.execute("begin immediate")
        store.execute("insert or ignore into runs values (?, ?)", (run.run_id, run.model_dump_json()))
        store.execute("commit")
    return {"run_id": run.run_id}
uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def request(number: int, late: float) -> bytes:
    body = json.dumps(made_run(number, random.Random(number), late=late)).encode()
    head = (
        f"POST /v1/runs HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
    )
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def post(port: int, clients: int, each: int, first: int, late: float) -> np.ndarray:
    """Seconds of all writes together, then of each; clients write one after the other, all clients at once."""
    seconds: list[float] = []

    async def one(requests: list[bytes]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for each_request in requests:
            began = time.perf_counter()
            writer.write(each_request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 201"), head
            await reader.readexactly(int(re.search(rb"content-length: (\d+)", head.lower())[1]))
            seconds.append(time.perf_counter() - began)
        writer.close()

    async def all_clients() -> float:
        last = first + clients * each
        of_clients = [[request(number, late) for number in range(first + k, last, clients)] for k in range(clients)]
        began = time.perf_counter()
        await asyncio.gather(*map(one, of_clients))
        return time.perf_counter() - began

    return np.array([asyncio.run(all_clients()), *seconds])


def processor_seconds(process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> float:
    """Seconds of processor that a process has used; unlike those of the clock, hardly a matter of its neighbours."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(("clients", "each"), [(1, 400), (8, 60), (50, 12), (200, 5)])
def test_writes_beside_a_bare_server(clients: int, each: int, tmp_path: Path) -> None:
    port = free_port()
    bare = subprocess.Popen([sys.executable, "-c", BARE, str(tmp_path / "bare.sqlite"), str(port)])
    service = Service(str(tmp_path / "s.sqlite"), tmp_path / "events.jsonl")
    try:
        _wait(port)
        servers = ((port, bare), (service.port, service.process))
        for late in (0.0, 5.0):
            pairs = []
            for turn in range(5):
                first, pair = 10**6 * (turn + 1 + 5 * int(late > 0)), []
                for each_port, process in servers:
                    before = processor_seconds(process)
                    took = post(each_port, clients, each, first, late)
                    pair.append((took[0], processor_seconds(process) - before, np.quantile(took[1:], 0.99)))
                pairs.append(pair)
            wall, processor, last = np.median(pairs, axis=0).T
            (slower, dearer, _), n = np.median([np.divide(*pair[::-1]) for pair in pairs], axis=0), clients * each
            print(
                f"\n{clients} clients, {'late' if late else 'in order'}: "
                f"{slower:.2f} times the bare server's wall time, {dearer:.2f} times its processor; "
                f"a write {1000 * wall[0] / n:.2f} and {1000 * wall[1] / n:.2f} ms wall, "
                f"{1000 * processor[0] / n:.2f} and {1000 * processor[1] / n:.2f} ms processor; "
                f"p99 {last[0]:.3f} and {last[1]:.3f} s"
            )
    finally:
        service.stop()
        bare.terminate()
        bare.wait()


def _wait(port: int) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def test_a_wave_of_half_open_connections(tmp_path: Path) -> None:
    service = Service(str(tmp_path / "s.sqlite"), tmp_path / "events.jsonl")
    links = []
    for _ in range(600):
        link = socket.socket()
        link.connect(("127.0.0.1", service.port))
        links.append(link)
    began, status = time.perf_counter(), None
    while status != 200:
        try:
            with Client(service.port, None) as client:
                status, _ = client.ask("GET", "/healthz")
        except OSError:
            time.sleep(0.2)
    print(f"\nafter 600 half-open connections it answers {time.perf_counter() - began:.1f} s later", end=", ")
    for link in links:
        link.close()
    print(f"{len(service.stop())} bytes of log")
