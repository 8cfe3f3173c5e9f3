"""How many transcripts a second can be scored, and where the time goes.

    python tests/benchmarks/axis_speed.py

Prints and asserts nothing. A transcript of 100 interactions is about 80 KB in Claude Code's form; its JSON is parsed
before the clock starts, and its signals are judged before, as a model would have. The parts are measured one by one.
"""

import json
import time
from collections.abc import Callable
from random import Random
from typing import Any

from axisjudge.scores.axis.judged.rule_signals import rule_signals
from axisjudge.scores.axis.judged.signals import Audit, CategorySignals, Necessity, Signals, scope
from axisjudge.scores.axis.result import score_run
from axisjudge.scores.axis.rule_sets import RULE_SETS
from axisjudge.scores.axis.transcript.categories import CATEGORIES
from axisjudge.scores.axis.transcript.entries import entries_of_axis
from axisjudge.scores.axis.transcript.interactions import interactions_of, run_of_axis

SIZES = (100, 200, 400, 800)
REPEATS = 15


def transcript(interactions: int, seed: int = 1) -> list[dict[str, Any]]:
    """Three calls with results of about a kilobyte for each message of the agent."""
    random, now, raw = Random(seed), 0, []

    def add(kind: str, block: dict[str, Any]) -> None:
        minutes, rest = divmod(now, 60_000)
        clock = f"{9 + minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d}.{rest % 1000:03d}"
        raw.append({"type": kind, "timestamp": f"2026-10-05T{clock}Z", "content": {"message": {"content": [block]}}})

    for number in range(interactions):
        now += random.randint(10, 900)
        if number % 4 == 3:
            add("assistant", {"type": "text", "text": f"Step {number}: the next file is src/page{number}.ts. " * 6})
            continue
        tool, given = random.choice(
            [
                ("Bash", {"command": f"npm test -- src/page{number}.ts", "description": "run the tests"}),
                ("Read", {"file_path": f"src/page{number}.ts", "limit": 200}),
                ("WebFetch", {"url": f"https://example.org/{number}", "prompt": "sum up"}),
                ("Edit", {"file_path": "src/a.ts", "old_string": "x" * 150, "new_string": "é" * 150}),
            ]
        )
        add("tool_use", {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given})
        now += random.randint(10, 3000)
        text = f"line {number} of page{number - 1}, café\n" * 28
        add("tool_result", {"type": "tool_result", "tool_use_id": f"t{number}", "content": text})
    return raw


def judged(run: Any) -> Signals:
    """Signals as a model would have returned them."""
    return {
        name: CategorySignals(
            tuple(Audit(each.id, 0.9, 0.8, 0.7, "judged") for each in scope(run.interactions, name)), Necessity(0.8)
        )
        for name in CATEGORIES
    }


def seconds(work: Callable[[], object]) -> float:
    """The best of several CPU times: other work on the machine only ever adds."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print the table."""
    print(f"{'interactions':>12} {'KB':>5} {'rules':<11} {'per second':>10} {'us each':>8}")
    for size in SIZES:
        raw = transcript(size)
        kilobytes = len(json.dumps(raw, ensure_ascii=False).encode()) / 1000
        for rules in RULE_SETS.values():
            signals = judged(run_of_axis(raw, id="run", rules=rules))
            took = seconds(lambda: score_run(run_of_axis(raw, id="run", rules=rules), signals))  # noqa: B023
            print(f"{size:>12} {kilobytes:>5.0f} {rules.name:<11} {1 / took:>10.0f} {1e6 * took / size:>8.1f}")
    raw, rules = transcript(SIZES[0]), RULE_SETS["documented"]
    text, run, entries = json.dumps(raw), run_of_axis(raw, id="run"), entries_of_axis(raw, rules)
    signals = judged(run)
    parts = {
        "parsing the JSON (not counted above)": lambda: json.loads(text),
        "entries: fields, time stamps, network": lambda: entries_of_axis(raw, rules),
        "interactions: pairs, categories, bytes": lambda: interactions_of(entries, rules),
        "dimensions, bounds, marks": lambda: score_run(run, signals),
        "judging by rules (not counted above)": lambda: rule_signals(run),
    }
    print(f"\nwhere the time of {SIZES[0]} interactions goes, in ms")
    for name, work in parts.items():
        print(f"  {name:<40} {1000 * seconds(work):.2f}")


if __name__ == "__main__":
    main()
