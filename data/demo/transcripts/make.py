"""Writes the demo transcripts: two invented agents, four scenarios, three repeats each, and the planted goal grades.

    python data/demo/transcripts/make.py --seed 1 --out data/demo/transcripts

The same seed gives the same bytes. The form is that of an AXIS report: one file a run, its transcript Claude Code's.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from axisjudge.ratings.table import json_line
from axisjudge.verdict import Rating

REPEATS = 3
_START_MS = 9 * 3_600_000  # nine o'clock, 5 October 2026


class Habit(NamedTuple):
    """How an agent works: how often it asks again, looks at what it does not need, fails first, and is slow."""

    asks_again: float
    looks_around: float
    fails_first: float
    slow: float
    misses: float


AGENTS = {
    "alder-large": Habit(asks_again=0.03, looks_around=0.08, fails_first=0.06, slow=0.08, misses=0.08),
    "cedar-mini": Habit(asks_again=0.16, looks_around=0.30, fails_first=0.22, slow=0.14, misses=0.30),
}


class Beat(NamedTuple):
    """One step of a script: what the agent says, the tool, its input, what comes back, and how long that takes."""

    says: str
    tool: str
    given: dict[str, Any]
    result: str
    milliseconds: int


_SCRIPTS = json.loads((Path(__file__).parents[1] / "generator/transcripts.json").read_text(encoding="utf-8"))
_ASIDES = [Beat(**beat) for beat in _SCRIPTS["asides"]]


@dataclass
class Session:
    """A transcript in the making."""

    random: Random
    session_id: str
    now: int = _START_MS
    entries: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0

    def wait(self, milliseconds: float) -> None:
        self.now += round(milliseconds * self.random.uniform(0.7, 1.4))

    def add(self, kind: str, role: str, blocks: Any) -> None:
        seconds, milliseconds = divmod(self.now, 1000)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{milliseconds:03d}"
        event = {"type": role, "message": {"role": role, "content": blocks}, "session_id": self.session_id}
        self.entries.append({"type": kind, "timestamp": f"2026-10-05T{clock}Z", "content": event})

    def play(self, beat: Beat, *, failure: str = "", slow: float = 1.0) -> None:
        self.wait(2_500)
        self.add("assistant", "assistant", [{"type": "text", "text": beat.says}])
        self.wait(700)
        self.calls += 1
        id = f"toolu_{self.calls:02d}"
        use = {"type": "tool_use", "id": id, "name": beat.tool, "input": beat.given}
        self.add("tool_use", "assistant", [use])
        self.wait(beat.milliseconds * slow)
        result = {
            "type": "tool_result",
            "tool_use_id": id,
            "content": failure or beat.result,
            "is_error": bool(failure),
        }
        self.add("tool_result", "user", [result])


def session(agent: str, name: str, repeat: int, seed: int) -> tuple[dict[str, Any], list[Rating]]:
    """One run in AXIS's report form, with the planted grades of its goal checks."""
    random, habit, script = Random(f"{seed} {agent} {name} {repeat}"), AGENTS[agent], _SCRIPTS["scripts"][name]
    run = Session(random, f"{agent}.{name}.{repeat}")
    run.add("user", "user", script["prompt"])
    for beat in (Beat(**beat) for beat in script["beats"]):
        if random.random() < habit.looks_around:
            run.play(random.choice(_ASIDES))
        if random.random() < habit.fails_first:
            run.play(beat, failure="Error: the working folder is locked by another process")
        slow = random.choice((6.0, 20.0)) if random.random() < habit.slow else 1.0
        run.play(beat, slow=slow)
        if random.random() < habit.asks_again and beat.tool in ("Read", "Grep"):
            run.play(beat)
    run.wait(3_000)
    run.add("assistant", "assistant", [{"type": "text", "text": script["last"]}])
    grades = [
        _grade(agent, name, run.session_id, number, random, habit) for number in range(1, len(script["checks"]) + 1)
    ]
    report = {
        "scenarioKey": name,
        "agentName": agent,
        "prompt": script["prompt"],
        "judge": script["checks"],
        "output": {
            "result": script["last"],
            "metadata": {"sessionId": run.session_id, "exitCode": 0},
            "transcript": run.entries,
        },
    }
    return report, grades


def _grade(agent: str, name: str, run_id: str, number: int, random: Random, habit: Habit) -> Rating:
    missed = random.random() < habit.misses
    return Rating(
        trajectory_id=run_id,
        task_id=name,
        cluster_id=name,
        agent=agent,
        question=f"goal.{number}",
        scale="check",
        rater="planted",
        rater_kind="planted",
        family="planted",
        value=random.choice((0, 2, 4)) if missed else random.choice((8, 9, 10, 10)),
        rationale="planted: missed" if missed else "planted: met",
    )


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    lines: list[bytes] = []
    for agent in AGENTS:
        folder = given.out / agent
        folder.mkdir(parents=True, exist_ok=True)
        for name in _SCRIPTS["scripts"]:
            for repeat in range(1, REPEATS + 1):
                report, grades = session(agent, name, repeat, given.seed)
                text = json.dumps(report, ensure_ascii=False)
                (folder / f"{name}.{repeat}.json").write_text(text + "\n", encoding="utf-8")
                lines += map(json_line, grades)
    (given.out / "goal_grades.jsonl").write_bytes(b"".join(lines))


if __name__ == "__main__":
    main()
