"""Runs for tests of the run scorecard."""

from datetime import UTC, datetime, timedelta

from axisjudge.scores.run_score.rules import ScorecardRules, weighted_score
from axisjudge.scores.run_score.runs import Run

RULES = ScorecardRules()
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
WORKSPACE = {"agent_id": "agent-a", "workspace_id": "space-1"}
RESOURCES = {"memory_peak_bytes": 10.0, "memory_limit_bytes": 100.0, "cpu_throttled_ms": 0.0, "cpu_wall_ms": 1000.0}


def at(minutes: float) -> str:
    return (NOON + timedelta(minutes=minutes)).isoformat()


def run(run_id: str = "run-1", **fields) -> Run:
    return Run.model_validate({"run_id": run_id, **WORKSPACE, **fields})


def stages(first: int, executed: int) -> list[dict]:
    return [{"name": f"gate-{k}", "attempts": 1 if k < first else 3, "passed": True} for k in range(executed)]


def completed(walls, *, start=0.0, name="old", **fields) -> list[Run]:
    return [
        run(f"{name}-{k}", outcome="COMPLETED", wall_seconds=float(wall), ended_at=at(start + k), **fields)
        for k, wall in enumerate(walls)
    ]


def score_of(*components: int) -> int:
    return int(weighted_score(components, RULES.whole_weights))
