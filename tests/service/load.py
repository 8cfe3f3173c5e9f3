"""A service in a process of its own, and clients that press it."""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from axisjudge.scores.run_score.runs import runs_frame
from axisjudge.service import database
from axisjudge.service.store import run_from

TOKEN = "not-a-key-not-a-key"
_START = datetime(2025, 1, 1, tzinfo=UTC)  # millions of seconds of runs end before today


class Service:
    """`axisjudge scorecard serve` on a free port of loopback."""

    def __init__(self, store: str, events: Path, *options: str) -> None:
        command = [sys.executable, "-m", "axisjudge", "scorecard", "serve", "--port", "0"]
        log = ["--access-log", str(events.with_name("access.jsonl"))] if "://" in store else []
        environment = os.environ | {"AXISJUDGE_SCORECARD_TOKENS": TOKEN}
        self.process = subprocess.Popen(
            [*command, "--store", store, "--events", str(events), *log, *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if "http://127.0.0.1:" not in said:
            raise RuntimeError(said + self.process.communicate()[1])
        self.port = int(said.rpartition(":")[2])

    def kill(self) -> None:
        """SIGKILL: nothing is finished, nothing is flushed."""
        self.process.send_signal(signal.SIGKILL)
        self._wait()

    def stop(self) -> str:
        """SIGTERM; what the service wrote to standard error."""
        self.process.terminate()
        return self._wait()

    def _wait(self) -> str:
        _, said = self.process.communicate(timeout=60)
        return said

    def client(self, token: str | None = TOKEN) -> "Client":
        return Client(self.port, token)


class Client:
    """One connection that is kept open."""

    def __init__(self, port: int, token: str | None) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        about = self.headers | headers | ({} if raw is None else {"Content-Type": "application/json"})
        self.connection.request(method, path, raw, about)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None


def made_run(number: int, dice: random.Random, *, late: float = 5.0, workspaces: int = 3) -> dict[str, Any]:
    """A run that ends about `number` seconds after the start, in no strict order."""
    return {
        "run_id": f"run-{number:06d}",
        "agent_id": f"agent-{dice.randrange(4)}",
        "workspace_id": f"space-{dice.randrange(workspaces)}",
        "outcome": dice.choice(["COMPLETED", "COMPLETED", "BLOCKED", "FAILED"]),
        "stages": [{"name": "lint", "attempts": dice.randrange(1, 4), "passed": True} for _ in range(3)],
        "wall_seconds": float(dice.randrange(30, 200)),
        "ended_at": (_START + timedelta(seconds=number - round(dice.uniform(0, late)))).isoformat(),
    }


@dataclass
class Pressed:
    """What clients saw: runs that were acknowledged, statuses that they did not expect, seconds of each request."""

    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    unexpected: list[tuple[str, int, Any]] = field(default_factory=list)
    broken: int = 0
    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)


def press(
    service: Service, *, clients: int, seconds: float, first: int = 0, kill_after: float | None = None
) -> Pressed:
    """Clients post runs (every fifth one twice, from two clients), and read them back, all at once."""
    found, lock = Pressed(), threading.Lock()
    until = time.monotonic() + seconds
    next_number = iter(range(first, 10**9))

    def one_client(seed: int) -> None:
        shared: list[dict[str, Any]] = []
        try:
            with service.client() as client:
                while time.monotonic() < until:
                    with lock:
                        number = next(next_number)
                    run = made_run(number, random.Random(number))
                    _post(client, run, found, lock)
                    if number % 5 == 0:
                        shared.append(run)
                    if shared and seed % 2:
                        _post(client, shared.pop(), found, lock)
                    _read(client, run["run_id"], found, lock)
        except (OSError, http.client.HTTPException):
            with lock:
                found.broken += 1

    threads = [threading.Thread(target=one_client, args=(seed,)) for seed in range(clients)]
    for thread in threads:
        thread.start()
    if kill_after is not None:
        time.sleep(kill_after)
        service.kill()
    for thread in threads:
        thread.join()
    return found


def _post(client: Client, run: dict[str, Any], found: Pressed, lock: threading.Lock) -> None:
    began = time.perf_counter()
    status, answer = client.ask("POST", "/v1/runs", run)
    with lock:
        found.writes.append(time.perf_counter() - began)
        if status in (200, 201):
            found.acknowledged[run["run_id"]] = run
        else:
            found.unexpected.append(("POST", status, answer))


def _read(client: Client, run_id: str, found: Pressed, lock: threading.Lock) -> None:
    began = time.perf_counter()
    status, answer = client.ask("GET", f"/v1/runs/{run_id}/score")
    with lock:
        found.reads.append(time.perf_counter() - began)
        if status != 200 or answer["run_id"] != run_id:
            found.unexpected.append(("GET", status, answer))


def runs_in(store):
    """All runs of a store as a table, by id."""
    asked = sa.select(database.agent_runs.c.facts).order_by(database.agent_runs.c.run_id)
    with store.database.reading() as connection:
        return runs_frame(run_from(facts) for facts in connection.execute(asked).scalars())
