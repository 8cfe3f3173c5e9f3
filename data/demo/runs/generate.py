"""Writes the demo's run set: `python data/demo/runs/generate.py --seed 1 --out data/demo/runs`.

Made up from beginning to end: agents, specs, figures and the labels of "people". The same seed gives the same bytes.
"""

import argparse
import json
import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

#: How good an agent is, how much better it is after half a year, its pace, and its share of the memory limit.
AGENTS = {
    "alder-large": (0.9, 0.3, 1.3, 0.55),
    "birch-2": (0.3, 0.6, 0.9, 0.35),
    "cedar-mini": (-0.5, 0.5, 0.6, 0.20),
    "damson-pro": (0.8, 0.2, 1.0, 0.45),
}
WORKSPACES = ("storefront", "workshop")
STAGES = ("lint", "build", "test", "review")
SPECS, REPEATS, DAYS = 16, 6, 182
#: What a run takes at the end of the half year, of what it took at its beginning.
SHORTER = 0.45
FIRST_DAY = datetime(2026, 4, 6, 8, tzinfo=UTC)
#: Imported runs, kept without a score.
IMPORTED = 6
LIMIT = 2 * 2**30


def made(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Runs in order of arrival, which is not quite that of their ends, and one planted label a run."""
    dice = random.Random(seed)
    specs = [(f"spec-{k + 1:02d}", WORKSPACES[k % 2], dice.gauss(0, 0.7), dice.uniform(120, 420)) for k in range(SPECS)]
    plans = [(dice.uniform(0, DAYS), agent, spec) for spec in specs for agent in AGENTS for _ in range(REPEATS)]
    made_runs = [_run(dice, day, agent, spec) for day, agent, spec in sorted(plans)]
    late = sorted(range(len(made_runs)), key=lambda k: k + (dice.random() < 0.05) * dice.randrange(2, 9))
    runs, labels = [], []
    for number, place in enumerate(late):
        run, quality = made_runs[place]
        run = {"run_id": f"run-{number + 1:04d}", **run}
        if place < IMPORTED:
            run["scored"] = False
        runs.append(run)
        labels.append(_label(run, dice.random() < _expit(1.6 * quality + dice.gauss(0, 0.4))))
    return runs, labels


def _run(
    dice: random.Random, day: float, agent: str, spec: tuple[str, str, float, float]
) -> tuple[dict[str, Any], float]:
    name, workspace, ease, size = spec
    skill, learns, pace, memory = AGENTS[agent]
    share = day / DAYS
    quality = skill + learns * share + ease + dice.gauss(0, 0.8)
    outcome = "COMPLETED" if quality > 0.1 + dice.gauss(0, 0.4) else "BLOCKED" if quality > -1 else "FAILED"
    reached = len(STAGES) if outcome == "COMPLETED" else dice.randrange(1, len(STAGES))
    stages = [
        _stage(dice, stage, quality, outcome != "FAILED" or k + 1 < reached) for k, stage in enumerate(STAGES[:reached])
    ]
    tries = sum(stage["attempts"] for stage in stages)
    wall = size * pace * math.exp(dice.gauss(0, 0.25)) * (1 - (1 - SHORTER) * share) * (0.7 + 0.1 * tries)
    run = {
        "agent_id": agent,
        "workspace_id": workspace,
        "spec_id": name,
        "outcome": outcome,
        "stages": stages,
        "wall_seconds": round(wall, 1),
        "ended_at": (FIRST_DAY + timedelta(days=day, seconds=wall)).isoformat(timespec="seconds"),
    }
    if dice.random() < 0.9:  # the others ran on somebody's own machine
        peak = min(memory * dice.uniform(0.6, 1.5), 1.0) * LIMIT
        throttled = max(dice.gauss(0.12, 0.1), 0) * wall
        run |= {"memory_peak_bytes": round(peak), "memory_limit_bytes": LIMIT}
        run |= {"cpu_throttled_ms": round(1000 * throttled), "cpu_wall_ms": round(1000 * wall)}
    return run, quality


def _stage(dice: random.Random, name: str, quality: float, passed: bool) -> dict[str, Any]:
    again = dice.random() > _expit(1.1 + quality)
    return {"name": name, "attempts": 1 + again * dice.randrange(1, 3), "passed": passed}


def _label(run: dict[str, Any], good: bool) -> dict[str, Any]:
    """A rating as in the ratings table: whether "people" would take the run over."""
    return {
        "schema_version": 1,
        "trajectory_id": run["run_id"],
        "item_id": run["run_id"],
        "task_id": run["spec_id"],
        "cluster_id": run["spec_id"],
        "agent": run["agent_id"],
        "domain": run["workspace_id"],
        "question": "run_taken_over",
        "scale": "unit",
        "rater": "planted",
        "rater_kind": "planted",
        "family": "planted",
        "repeat": 0,
        "status": "ok",
        "value": float(good),
    }


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def files(seed: int) -> dict[str, bytes]:
    """Every file by its name."""
    return {
        name: b"".join(json.dumps(record).encode() + b"\n" for record in records)
        for name, records in zip(("runs.jsonl", "labels.jsonl"), made(seed), strict=True)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name, content in files(chosen.seed).items():
        (chosen.out / name).write_bytes(content)


if __name__ == "__main__":
    main()
