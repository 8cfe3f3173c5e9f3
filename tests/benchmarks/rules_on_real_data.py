"""How far the rules judge can be trusted: against people's labels, against rewards, by chance, against planted truth.

Run by hand: `python -m tests.benchmarks.rules_on_real_data retail airline labels chance demo=data/demo`. It prints
tables and asserts nothing. Planted truth is our own; agreement with it is no claim of accuracy.
"""

import argparse
import json
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from axisjudge.judges import Answer
from axisjudge.judges.rules.judge import grade_trajectory
from axisjudge.readers import read_trajectories
from axisjudge.trajectory import ToolSchema, Trajectory
from axisjudge.verdict import AXES, Axis
from tests.judges.rules.chance import pass_rate, shuffled_pass_rate

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TOOLS = SHARED / "context" / "tools.json"
#: tau-bench's first version offers a scratch pad that the tools file lacks.
THINK = ToolSchema(
    name="think",
    kind="generic",
    parameters={"type": "object", "properties": {"thought": {"type": "string"}}, "required": ["thought"]},
)
#: People's failure categories and the axes that they speak of; other categories are the user's failures.
CROSSWALK: dict[str, tuple[Axis, ...]] = {
    "misinterpretation of tool output": ("result_interpretation",),
    "invalid invocation": ("argument_validity",),
    "adherence": ("sequencing",),
    "intent plan misalignment": ("tool_selection", "sequencing"),
}

Answers = dict[Axis, Answer]


def retail() -> list[Trajectory]:
    policy = SHARED / "context" / "retail_policy.md"
    return list(read_trajectories(SHARED / "tau2_retail", tools=TOOLS, policy=policy).trajectories)


def airline() -> list[Trajectory]:
    return _with_think(read_trajectories(SHARED / "tau_bench", tools=f"{TOOLS}#airline").trajectories)


def agentrx() -> list[Trajectory]:
    files = [SHARED / "agentrx" / name for name in ("tau_dataset_full.json", "tau_dataset_failed.json")]
    return _with_think(read_trajectories(*files, tools=f"{TOOLS}#retail").trajectories)


def _with_think(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    return [run.model_copy(update={"tools": (*(run.tools or ()), THINK)}) for run in trajectories]


def graded(name: str, trajectories: Sequence[Trajectory]) -> list[Answers]:
    """Grade and say how long it took."""
    start = time.process_time()
    answers = [grade_trajectory(run) for run in trajectories]
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n## {name}: {len(answers)} runs x {len(AXES)} axes in {seconds:.2f} s of one core, peak {peak:.0f} MB")
    return answers


def against_reward(name: str, trajectories: Sequence[Trajectory]) -> None:
    """Verdicts per axis at reward 1 and below, and the kinds of finding."""
    answers = graded(name, trajectories)
    print(f"{'axis':<24}{'reward 1':>26}{'reward below 1':>26}   (incorrect, uncertain, not applicable of runs)")
    kinds: dict[str, Counter[bool]] = defaultdict(Counter)
    for axis in AXES:
        cells = []
        for passed in (True, False):
            chosen = [
                answer[axis] for answer, run in zip(answers, trajectories, strict=True) if (run.reward == 1) == passed
            ]
            words = Counter(answer.verdict for answer in chosen)
            share = words["incorrect"] / len(chosen) if chosen else 0.0
            cells.append(
                f"{words['incorrect']} ({share:.1%}), {words['uncertain']}, {words['not_applicable']} of {len(chosen)}"
            )
        print(f"{axis:<24}{cells[0]:>26}{cells[1]:>26}")
    for answer, run in zip(answers, trajectories, strict=True):
        for axis in AXES:
            for kind in answer[axis].flags:
                kinds[kind][run.reward == 1] += 1
    print("kinds (runs at reward 1, below):", ", ".join(f"{k} {v[True]}/{v[False]}" for k, v in sorted(kinds.items())))


def against_people(trajectories: Sequence[Trajectory]) -> None:
    """How many labelled failures the rules find at the labelled step, and what else they flag in those runs."""
    answers = {run.id: answer for run, answer in zip(trajectories, graded("agentrx", trajectories), strict=True)}
    by_task = {run.task_id: run for run in trajectories if run.reward != 1}
    labels = json.loads((SHARED / "agentrx" / "human_labels.json").read_text(encoding="utf-8"))
    table: dict[str, Counter[str]] = defaultdict(Counter)
    unmatched, unmapped = [], Counter[str]()
    for label in labels:
        run = by_task.get(str(label["trajectory_id"]))
        if run is None:
            unmatched.append(label["trajectory_id"])
            continue
        for failure in label["failures"]:
            category = " ".join(failure["failure_category"].replace("-", " ").lower().split())
            axes = next((axes for name, axes in CROSSWALK.items() if name in category), None)
            if axes is None:
                unmapped[failure["failure_category"]] += 1
                continue
            place = _index_of(run, int(failure["step_number"]))
            said = [answers[run.id][axis] for axis in axes]
            cited = {step for answer in said if answer.verdict == "incorrect" for step in answer.cited_step_indices}
            row = table[" or ".join(axes)]
            row["labelled"] += 1
            row["flagged"] += any(answer.verdict == "incorrect" for answer in said)
            row["uncertain"] += any(answer.verdict == "uncertain" for answer in said)
            row["exact"] += place in cited
            row["within one"] += bool({place - 1, place, place + 1} & cited)
    _print_counts("labelled failures by axis", table, ("labelled", "exact", "within one", "flagged", "uncertain"))
    print("labels without a run:", unmatched or "none", "; categories that map to no axis:", dict(unmapped))


def _index_of(run: Trajectory, source_index: int) -> int:
    return next((step.index for step in run.steps if step.source_index == source_index), -99)


def by_chance(name: str, trajectories: Sequence[Trajectory]) -> None:
    """How many amounts pass as they were told, and how many when each comes from another run."""
    for what, found in (
        ("as told", pass_rate(trajectories)),
        ("shuffled", shuffled_pass_rate(trajectories, rng=Random(20260601))),
    ):
        ways = ", ".join(f"{way} {n}" for way, n in sorted(found.by_way.items()))
        print(f"{name:<10}{what:<10}{found.n_explained}/{found.n_tried} = {found.rate:.1%}   ({ways})")


def against_planted(folder: Path) -> None:
    """Confusion with the planted truth per axis, and what happens to each kind of fault and near-miss."""
    trajectories = list(read_trajectories(folder / "results").trajectories)
    answers = {run.id: answer for run, answer in zip(trajectories, graded(str(folder), trajectories), strict=True)}
    lines = [json.loads(line) for line in (folder / "planted.jsonl").read_text(encoding="utf-8").splitlines()]
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    faults: dict[str, Counter[str]] = defaultdict(Counter)
    near_misses: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        answer = answers[line["trajectory_id"]][line["question"]]
        word = answer.verdict or "lost"
        confusion[line["question"]][f"{line['verdict'][:9]}>{word[:9]}"] += 1
        hit = bool(set(answer.cited_step_indices) & set(line["cited_step_indices"]))
        for flag in line["flags"]:
            what, _, kind = flag.partition(":")
            if what in ("fault", "near_miss"):
                row = (faults if what == "fault" else near_misses)[f"{line['question']}: {kind}"]
                row["planted"] += 1
                row[word] += 1
                row["at its step"] += word == "incorrect" and hit
    print("planted>said, per axis (simulated faults: no claim of accuracy)")
    for axis in AXES:
        print(f"  {axis:<24}", ", ".join(f"{k} {v}" for k, v in sorted(confusion[axis].items())))
    columns = ("planted", "incorrect", "at its step", "uncertain", "correct", "not_applicable")
    _print_counts("faults by kind", faults, columns)
    _print_counts("near-misses by kind", near_misses, columns)


def _print_counts(title: str, table: Mapping[str, Counter[str]], columns: Sequence[str]) -> None:
    print(f"{title:<58}" + "".join(f"{column:>15}" for column in columns))
    for name, row in sorted(table.items()):
        print(f"  {name:<56}" + "".join(f"{row[column]:>15}" for column in columns))


SETS: dict[str, Callable[[], list[Trajectory]]] = {"retail": retail, "airline": airline, "agentrx": agentrx}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = "retail, airline, agentrx (against reward), labels (against people), chance, demo=FOLDER"
    parser.add_argument("what", nargs="+", help=f"any of {choices}")
    for what in parser.parse_args().what:
        if what in SETS:
            against_reward(what, SETS[what]())
        elif what == "labels":
            against_people(agentrx())
        elif what == "chance":
            print("\n## amounts explained by what the run had been given")
            for name, load in SETS.items():
                by_chance(name, load())
        elif what.startswith("demo="):
            against_planted(Path(what.removeprefix("demo=")))
        else:
            parser.error(f"{what!r} is none of {choices}")


if __name__ == "__main__":
    main()
