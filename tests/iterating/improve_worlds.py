"""Runs with labels for searches over edits: small, many, and all made up."""

from pathlib import Path

import numpy as np

from axisjudge.trajectory import Step, ToolCall, Trajectory
from axisjudge.verdict import Rating

AXIS = "argument_validity"
TOPICS = ("bread", "chairs", "stamps", "apples", "violins")


def runs_of(n_tasks: int, per_task: int = 4, *, said: str = "") -> list[Trajectory]:
    """Short runs, `per_task` agents to a task; each has words of its own."""
    made = []
    for task in range(n_tasks):
        for agent in range(per_task):
            topic = TOPICS[task % len(TOPICS)]
            ask = f"Please look after the {topic} of order Q{task:03d}-{agent} for me and for my sister Marigold today."
            call = ToolCall(id="c1", name="find_order", arguments={"order": f"Q{task:03d}-{agent}"})
            steps = (
                Step(index=0, role="user", content=f"{ask} {said}".strip()),
                Step(index=1, role="assistant", tool_calls=(call,)),
                Step(index=2, role="tool", content=f"Price {1000 + 7 * task + agent}.50", tool_call_id="c1"),
                Step(index=3, role="assistant", content=f"It is done, the {topic} are on their way."),
            )
            name = f"r{task:03d}{agent}"
            made.append(Trajectory(id=name, source="test", agent=f"agent-{agent}", task_id=f"t{task:03d}", steps=steps))
    return made


def planted(runs: list[Trajectory], path: Path, *, faults: float = 0.35, seed: int = 1) -> Path:
    """Planted truth of these runs on the axis, as a file of ratings."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8") as file:
        for run in runs:
            word = "incorrect" if rng.random() < faults else "correct"
            rating = Rating(
                trajectory_id=run.id, cluster_id=run.cluster_id, task_id=run.task_id, question=AXIS, rater="planted",
                rater_kind="planted", family="planted", verdict=word, cited_step_indices=[1],
            )  # fmt: skip
            file.write(rating.model_dump_json() + "\n")
    return path
