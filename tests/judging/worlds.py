"""Small trajectories and a judge without a network, for the tests of the judging run."""

import asyncio
from hashlib import sha256

from axisjudge.judges import Answer, Judge, Reply, Rubrics
from axisjudge.judging.plan import RunOptions
from axisjudge.judging.run import Running
from axisjudge.rubric import load_rubric
from axisjudge.spec import JudgeSpec
from axisjudge.trajectory import Step, Trajectory
from axisjudge.verdict import AXES


def trajectories(n: int) -> list[Trajectory]:
    return [
        Trajectory(
            id=f"run-{number}",
            source="test",
            agent="agent-a",
            task_id=str(number // 2),
            domain="library",
            termination="user_stop",
            steps=(Step(index=0, role="user", content=f"Please renew book {number}."), Step(index=1, role="assistant")),
        )
        for number in range(n)
    ]


def rubrics() -> Rubrics:
    return {axis: load_rubric(axis) for axis in AXES}


class CoinJudge(Judge):
    """Answers by a hash of what it is shown; counts its calls; statuses can be planted for chosen calls."""

    kind = "llm"

    def __init__(self, name: str = "coin", *, joint: bool = False, delay: float = 0.0) -> None:
        super().__init__(JudgeSpec(provider="simulated", model=name, family=name))
        self.calls: list[tuple[str, tuple[str, ...], int]] = []
        self.log: list[tuple[str, str]] = []
        self.under_way = self.most_under_way = 0
        self.delay = delay
        self.joint = joint  # type: ignore[misc]
        self.planted: dict[tuple[str, str], str] = {}
        self.closed = False

    def prompt_sha256(self, trajectory: Trajectory, rubrics: Rubrics) -> str:
        return sha256("".join([trajectory.id, *(rubric.text for rubric in rubrics.values())]).encode()).hexdigest()

    async def grade(self, trajectory: Trajectory, rubrics: Rubrics, *, repeat: int = 0) -> Reply:
        self.calls.append((trajectory.id, tuple(rubrics), repeat))
        self.log.append(("begins", trajectory.id))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(self.delay)
        self.under_way -= 1
        self.log.append(("ends", trajectory.id))
        answers = {}
        for axis in rubrics:
            status = self.planted.get((trajectory.id, axis), "ok")
            word = "correct" if int(sha256(f"{trajectory.id}{axis}".encode()).hexdigest(), 16) % 2 else "incorrect"
            ok = status == "ok"
            answers[axis] = Answer(
                status=status,  # type: ignore[arg-type]
                verdict=word if ok else None,  # type: ignore[arg-type]
                confidence=0.75 if ok else None,
                confidence_source="verbalized" if ok else None,
                cited_step_indices=(1, 7) if ok else (),
                rationale="by hash",
            )
        return Reply(answers, input_tokens=11, output_tokens=7, cost_usd=0.01, call_id=f"call-{len(self.calls)}")

    async def close(self) -> None:
        self.closed = True


async def run_plan(plan, sink, **given):
    """Carry a plan out; the ratings by status."""
    running = Running(plan, sink, RunOptions(**given))
    await running.run()
    return running.statuses
