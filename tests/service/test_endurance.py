"""Hours of writes with kills in between: nothing acknowledged is lost, nothing grows, and it does not become slow.

`AXISJUDGE_ENDURANCE=3600 pytest -s tests/service/test_endurance.py` presses each store for an hour.
"""

import http.client
import json
import os
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from axisjudge.scores.run_score.score import score_runs, scorecards
from axisjudge.service.store import ScoreStore
from axisjudge.service.telemetry import JsonLinesSink, drain

from .load import Service, made_run, runs_in
from .test_service import scores_that_hold

SECONDS = float(os.environ.get("AXISJUDGE_ENDURANCE", "90"))
CLIENTS, WRITES_A_SECOND, IN_BULK = 4, 10, 20


@dataclass
class Endured:
    """A service that comes back after each kill, and what its clients saw meanwhile."""

    store: str
    events: Path
    service: Service = field(init=False)
    acknowledged: set[str] = field(default_factory=set)
    writes: list[tuple[float, float]] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    statuses: Counter[object] = field(default_factory=Counter)
    kills: int = 0
    away: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        self.service = Service(self.store, self.events)

    def kill(self) -> None:
        began = time.monotonic()
        self.service.kill()
        self.start()
        self.kills, self.away = self.kills + 1, self.away + time.monotonic() - began

    def megabytes(self) -> float:
        lines = Path(f"/proc/{self.service.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def write_until(endured: Endured, seed: int, began: float) -> None:
    """One client: each run until it is acknowledged, every twentieth time a bulk, and reads of what it wrote."""
    dice, client, pending = random.Random(seed), endured.service.client(), []
    for turn in range(10**9):
        numbers = [(turn * IN_BULK + k) * CLIENTS + seed for k in range(IN_BULK if turn % 20 == 19 else 1)]
        pending = [made_run(number, random.Random(number), late=8 * IN_BULK) for number in numbers]
        while pending:
            if time.monotonic() - began > SECONDS:
                return client.connection.close()
            try:
                pending = _send(endured, client, pending, began)
            except (OSError, http.client.HTTPException):
                client.connection.close()
                endured.statuses["broken"] += 1
                time.sleep(0.2)
                client = endured.service.client()
        time.sleep(dice.expovariate(WRITES_A_SECOND / CLIENTS))
    return None


def _send(endured, client, runs, began):
    """Post runs, and read the last of them back; those that are to be sent again."""
    path, body = ("/v1/runs", runs[0]) if len(runs) == 1 else ("/v1/runs/bulk", {"runs": runs})
    start = time.monotonic()
    status, answer = client.ask("POST", path, body)
    took, ids = time.monotonic() - start, [run["run_id"] for run in runs]
    each = [one["status"] for one in answer["outcomes"]] if path.endswith("bulk") and status == 200 else [status]
    with endured.lock:
        endured.statuses.update(each)
        if set(each) <= {200, 201}:
            endured.acknowledged.update(ids)
            endured.writes.append((start - began, took))
    if status == 503:
        time.sleep(0.2)
        return runs
    read, score = client.ask("GET", f"/v1/runs/{ids[-1]}/score")
    if read != 200 or score["run_id"] != ids[-1]:
        endured.statuses["GET", read] += 1
    return []


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS + 900)
def test_nothing_acknowledged_is_lost_over_hours(
    store_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Kills at random instants in the first half, one of them of PostgreSQL; the second half shows what grows."""
    endured = Endured(store_url, tmp_path / "events.jsonl")
    endured.start()
    dice, began = random.Random(40), time.monotonic()
    clients = [threading.Thread(target=write_until, args=(endured, k, began)) for k in range(CLIENTS)]
    for client in clients:
        client.start()
    kills = sorted(dice.uniform(0.02, 0.45) * SECONDS for _ in range(max(4, min(12, int(SECONDS / 200)))))
    database_dies = SECONDS * 0.26 if "://" in store_url else np.inf
    while (now := time.monotonic() - began) < SECONDS:
        if kills and now > kills[0]:
            kills.pop(0)
            endured.kill()
        if now > database_dies:
            database_dies = np.inf
            request.getfixturevalue("postgres").crash()
        endured.memory.append((now, endured.megabytes()))
        time.sleep(min(5.0, SECONDS / 100))
    for client in clients:
        client.join()
    said = endured.service.stop()
    store = ScoreStore(store_url)
    drain(store, JsonLinesSink(endured.events))
    held, runs = scores_that_hold(store), runs_in(store)
    store.close()
    lost = endured.acknowledged - set(held)
    events = Counter(json.loads(line)["score_id"] for line in endured.events.read_text().splitlines())
    at, took = np.array(endured.writes).T
    parts = {"first tenth": at < SECONDS / 10, "last tenth": at > 0.9 * SECONDS, "all": at >= 0}
    times = {
        name: (1000 * np.quantile(took[part], [0.5, 0.99])).round(1).tolist()
        for name, part in parts.items()
        if part.any()
    }
    when, size = np.array(endured.memory).T
    settled, ended = (
        float(np.median(size[(when > a * SECONDS) & (when <= b * SECONDS)])) for a, b in ((0.6, 0.7), (0.9, 1))
    )
    print(
        f"\n{SECONDS:.0f} s, {endured.kills} kills ({endured.away:.0f} s away): "
        f"{len(endured.acknowledged)} acknowledged, "
        f"{len(lost)} lost, {len(held)} held; statuses {dict(endured.statuses)}; p50 and p99 in ms {times}; "
        f"memory {settled:.0f} MB at .6, {ended:.0f} MB at the end, {size.max():.0f} at most; "
        f"{events.total()} events, {sum(count - 1 for count in events.values())} twice; stderr: {said!r}"
    )
    assert lost == set()
    assert set(endured.statuses) <= {200, 201, 503, "broken"}
    assert held == {card.run_id: card for card in scorecards(score_runs(runs))}
    assert set(held) == set(runs["run_id"])
    assert ended < 1.1 * settled + 10
