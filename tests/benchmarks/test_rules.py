"""How fast the rules grade: ratings a second on one core, and the memory they take beside the trajectories."""

import time
import tracemalloc
from pathlib import Path
from statistics import median

from axisjudge.judges.rules.judge import grade_trajectory
from axisjudge.readers import read_trajectories

RUNS = 5


def test_rules(shared_data: Path) -> None:
    policy = shared_data / "context" / "retail_policy.md"
    tools = shared_data / "context" / "tools.json"
    trajectories = read_trajectories(shared_data / "tau2_retail", tools=tools, policy=policy).trajectories
    times, ratings = [], 0
    for _ in range(RUNS):
        start = time.process_time()
        ratings = sum(len(grade_trajectory(run)) for run in trajectories)
        times.append(time.process_time() - start)
    tracemalloc.start()
    for run in trajectories:
        grade_trajectory(run)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    seconds = median(times)
    print(
        f"\nrules: {len(trajectories)} runs, {ratings} ratings in {seconds:.2f} s of one core (median of {RUNS}),",
        end=" ",
    )
    print(f"{ratings / seconds:.0f} ratings/s, {peak:.1f} MB beside the trajectories")
