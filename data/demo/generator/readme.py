"""The demo's README, with its tables counted from the files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from generator.agents import AGENTS
from generator.catalogue import Record
from generator.kinds import AXES, FAULTS, NEAR_MISSES

TEXT = """# The demo: Fernhollow Cycles

{tasks} tasks x {agents} scripted agents in a bicycle shop that does not exist, with faults planted on known axes and
steps. It is here so that every command, notebook and report runs offline, without keys and without other people's data.

**Agreement with faults that we planted ourselves is no claim of accuracy.** Whoever plants a fault knows what it looks
like; real failures are rarer, stranger and less clear. Use the demo to see that the machinery works and what its output
looks like, never to say how good a judge is.

| file | holds |
|---|---|
| `results/<agent>.json` | the runs in tau2-bench's results form; policy and tool definitions are in the info block |
| `planted.jsonl` | what was planted, as ratings: five a run, rater and family `planted`, no confidence |
| `tools.json`, `policy.md` | tools and policy once more, for `--tools` and `--policy` |
| `generator/` | the program that writes all of this, this page included |

## How it is made

    python data/demo/generator --seed 1 --out data/demo

The committed files are seed 1; this page counts seed {seed}. The same seed gives the same bytes. Another seed gives
other people, numbers, prices and wordings, another order of tasks and other places for the faults, so a seed that was
never looked at is a held-out demo. The numbers of faults per agent stay the same.

- The shop is a small database with {tools} tools that really read and change it. Tool results, errors, amounts and
  later mentions follow from it, also after a fault.
- Customer and agent are scripts with many wordings: several requests in one conversation, changes of mind, clarifying
  questions, parallel calls, tool errors, refusals.
- The reward is computed as a benchmark does it: the records at the end against those of the task's goal, and the
  figures that had to be told. Many faults of process leave it at 1.
- A fault is noted when it happens, with the steps where it shows. A compound fault is one failure that shows on two
  axes and carries the flag `compound`. A near-miss looks like a fault and must be judged correct.
- Axes are `not_applicable` where a run has no call to judge, and all but termination where a run has no message.

## The agents

Names and families are invented. Runs judged incorrect on each axis, of {tasks} runs an agent, and the mean reward:

{profiles}

## Faults

{faults} ratings are incorrect, by {fault_kinds} kinds of fault.

{fault_table}

## Near-misses

{near} near-misses of {near_kinds} kinds.

{near_table}
"""


def readme(seed: int, made: Mapping[str, bytes]) -> str:
    """The page for the files of a seed."""
    ratings = [json.loads(line) for line in made["planted.jsonl"].splitlines()]
    results = {agent.name: json.loads(made[f"results/{agent.name}.json"]) for agent in AGENTS}
    flags = Counter(flag for rating in ratings for flag in rating["flags"])
    first = next(iter(results.values()))
    near = {kind: flags[f"near_miss:{kind}"] for kind in NEAR_MISSES}
    return TEXT.format(
        seed=seed,
        tasks=len(first["tasks"]),
        agents=len(AGENTS),
        tools=len(first["info"]["environment_info"]["tool_defs"]),
        profiles=_profiles(ratings, results),
        faults=sum(rating["verdict"] == "incorrect" for rating in ratings),
        fault_kinds=len(FAULTS),
        fault_table=_table(
            ("kind", "shows on", "ratings"),
            [(kind, " + ".join(shown), flags[f"fault:{kind}"]) for kind, shown in FAULTS.items()],
        ),
        near=sum(near.values()),
        near_kinds=len(near),
        near_table=_table(
            ("kind", "axis", "ratings"), [(kind, axis, near[kind]) for kind, (axis, _) in NEAR_MISSES.items()]
        ),
    )


def _profiles(ratings: list[Record], results: Mapping[str, Record]) -> str:
    rows = []
    for agent in AGENTS:
        wrong = Counter(r["question"] for r in ratings if r["agent"] == agent.name and r["verdict"] == "incorrect")
        rewards = [run["reward_info"]["reward"] for run in results[agent.name]["simulations"]]
        rows.append((agent.name, *[wrong[axis] for axis in AXES], f"{sum(rewards) / len(rewards):.2f}"))
    return _table(("agent", *AXES, "reward"), rows)


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
