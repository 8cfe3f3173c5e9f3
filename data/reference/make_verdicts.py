"""Make verdicts.parquet and rules_findings.csv from public data: verdicts, steps and counts only, ids hashed.

    python data/reference/make_verdicts.py FOLDER [--more FOLDER] [--kept-back FOLDER] [--out FOLDER]

FOLDER holds tau2_retail/, tau_bench/, agentrx/, agentprocessbench/ and context/. The folders of ``--more`` and
``--kept-back`` hold a subfolder a source with results files (README.md names them); the rules were made on the sets of
FOLDER and ``--more``, and are confirmed once a release on those kept back. Without them their rows stay as they are.
What stands in the file of the rules before they learned to abstain (`BEFORE`) is kept, so that both versions can be set
side by side.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.judges.rules.findings import KINDS
from axisjudge.judges.rules.judge import VERSION, findings_of, grade_trajectory
from axisjudge.labels.agentrx import ANY_STEP, NO_AXIS, read_agentrx
from axisjudge.labels.reference import read_tool_kinds, reference_ratings
from axisjudge.readers import read_trajectories
from axisjudge.studies.located.counts import ANY_RUN, kind_counts
from axisjudge.trajectory import ToolSchema, Trajectory

HERE = Path(__file__).parent
DIGITS = 8
BEFORE = "rules-2"
#: tau-bench's first version offers a scratch pad that the tools file lacks.
THINK = ToolSchema(name="think", kind="generic", parameters={"type": "object", "properties": {"thought": {}}})
SCHEMA = {
    **dict.fromkeys(("subset", "half", "task_id", "trajectory_id", "agent"), pl.String),
    "failed": pl.Boolean,
    **dict.fromkeys(("question", "rater", "rater_kind", "rater_version", "verdict"), pl.String),
    "cited_step_indices": pl.List(pl.Int16),
    "flags": pl.List(pl.String),
}


@dataclass(frozen=True, eq=False)
class Run:
    """A run with its outcome: by reward, or by people's label of the result where there is no reward."""

    subset: str
    task: str
    trajectory: Trajectory
    failed: bool
    steps: dict[int, int] | None = None

    @property
    def about(self) -> dict[str, Any]:
        """The columns of every row about this run."""
        unseen = sha256(self.task.encode()).digest()[0] % 2
        return {
            "subset": self.subset,
            "half": "unseen" if unseen else "looked at",
            "task_id": short(self.task),
            "trajectory_id": short(f"{self.subset}/{self.trajectory.id}"),
            "agent": self.trajectory.agent,
            "failed": self.failed,
        }


def short(name: str) -> str:
    """A short hash of a source's id."""
    return sha256(name.encode()).hexdigest()[:DIGITS]


def runs_of(folder: Path) -> list[Run]:
    """The runs of the four data sets. Half of the tasks were not looked at while the rules were mended."""
    tools, policy = folder / "context" / "tools.json", folder / "context" / "retail_policy.md"
    rx = [folder / "agentrx" / name for name in ("tau_dataset_full.json", "tau_dataset_failed.json")]
    sets = {
        "retail": read_trajectories(folder / "tau2_retail", tools=tools, policy=policy).trajectories,
        "airline": read_trajectories(folder / "tau_bench", tools=f"{tools}#airline").trajectories,
        "agentrx": read_trajectories(*rx, tools=f"{tools}#retail").trajectories,
    }
    made = []
    for subset, runs in sets.items():
        domain = "airline" if subset == "airline" else "retail"
        for run in runs:
            tools_of = run.tools if subset == "retail" else (*(run.tools or ()), THINK)
            own = run.model_copy(update={"tools": tools_of})
            made.append(Run(subset, f"{domain}/{run.task_id}", own, (run.reward or 0) < 1))
    return [*made, *hotpotqa(folder / "agentprocessbench" / "trajectories" / "hotpotqa_half.jsonl")]


def hotpotqa(path: Path) -> Iterator[Run]:
    """Questions answered by search, with people's labels of every step and of the result."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record, run in zip(records, read_trajectories(path).trajectories, strict=True):
        labels = {int(step): label for step, label in record["step_labels"].items()}
        yield Run("hotpotqa", f"hotpotqa/{record['query_index']}", run, record["final_label"] != 1, labels)


def rows_of(runs: list[Run], labels: Path) -> Iterator[dict[str, Any]]:
    """What the rules, the reference and people say of the runs."""
    by_id = {run.trajectory.id: run for run in runs}
    rules = {"rater": "rules", "rater_kind": "rules", "rater_version": VERSION}
    for run in runs:
        for axis, answer in grade_trajectory(run.trajectory).items():
            said = {"verdict": answer.verdict, "cited_step_indices": answer.cited_step_indices, "flags": answer.flags}
            yield {**run.about, **rules, "question": axis, **said}
        if run.steps is not None:
            wrong = [step for step, label in run.steps.items() if label == -1]
            people = {"rater": "people", "rater_kind": "human", "question": ANY_STEP}
            yield {**run.about, **people, "verdict": "incorrect" if wrong else "correct", "cited_step_indices": wrong}
    located = reference_ratings(run.trajectory for run in runs)
    named = read_agentrx(labels, [run.trajectory for run in runs if run.subset == "agentrx"])
    for row in pl.concat([located, named.filter(pl.col("question") != NO_AXIS)]).iter_rows(named=True):
        yield {**by_id[row["trajectory_id"]].about, **{name: row[name] for name in [*SCHEMA][6:]}}


def kept_back(folder: Path, context: Path) -> Iterator[Run]:
    """Runs of sources that nothing was made on: one subfolder a source, in it results files of tau2-bench.

    A run that was read before (the same words and calls) counts once. Where a file has no policy, retail's is taken.
    """
    seen: set[str] = set()
    for path in sorted(folder.glob("*/*.json")):
        info = json.loads(path.read_text(encoding="utf-8"))["info"]["environment_info"]
        domain = info["domain_name"]
        known = domain in ("retail", "airline", "telecom")
        given = {"tools": f"{context / 'tools.json'}#{domain}"} if known else {}
        if domain == "retail" and not info.get("policy"):
            given["policy"] = str(context / "retail_policy.md")
        for run in read_trajectories(path, **given).trajectories:
            words = json.dumps([(step.role, step.content) for step in run.steps])
            if run.reward is not None and run.steps and short(words) not in seen:
                seen.add(short(words))
                subset = f"{path.parent.name}/{domain}" if known else f"{path.parent.name}/other worlds"
                yield Run(subset, f"{domain}/{run.task_id}", run, run.reward < 1)


def counts_of(runs: Iterable[Run], side: str) -> pl.DataFrame:
    """For each kind of finding, set and task: runs flagged, those that failed, and cited steps that people label.

    Kinds that are off by default are counted too. The kind `ANY_RUN` counts all runs of a set and task.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for run in runs:
        found = findings_of(run.trajectory)
        for kind in (ANY_RUN, *sorted({finding.kind for finding in found})):
            labels = [
                run.steps[step]
                for finding in found
                if finding.kind == kind and run.steps is not None
                for step in finding.steps
                if step in run.steps
            ]
            place = (kind, run.subset, short(run.task))
            counts[*place, "flagged"] += 1
            counts[*place, "failed"] += run.failed
            counts[*place, "steps"] += len(labels)
            counts[*place, "wrong_steps"] += labels.count(-1)
    rows = [
        {
            "kind": kind,
            "axis": KINDS[kind].axis if kind in KINDS else "any axis",
            "side": side,
            "subset": subset,
            "task_id": task,
        }
        | {name: counts[kind, subset, task, name] for name in ("flagged", "failed", "steps", "wrong_steps")}
        for kind, subset, task in sorted({key[:3] for key in counts})
    ]
    return pl.DataFrame(rows)


def readme_rows(counts: pl.DataFrame) -> Iterator[str]:
    """The rows of README's table: the kinds that hold on sets that nothing was made on, most flagged first."""
    for one in sorted(kind_counts(counts, 0.95), key=lambda one: -one.kept_back.n_items):
        if one.holds and KINDS[one.kind].verdict == "incorrect":
            kept, made = ((round(of.estimate * of.n_items), of.n_items) for of in (one.kept_back, one.made_on))
            ends = f"{one.kept_back.ci_low:.0%} to {one.kept_back.ci_high:.0%}"
            shares = f"{kept[0]} of {kept[1]} ({ends}) | {one.base:.0%} | {made[0]} of {made[1]}"
            yield f"| `{one.kind}` | {one.axis} | {shares} |"


def make(folder: Path, out: Path, more: Path | None, kept: Path | None) -> None:
    """Write both files; of a side that is not given the counts stay."""
    runs = runs_of(folder)
    made = pl.DataFrame(list(rows_of(runs, folder / "agentrx" / "human_labels.json")), schema=SCHEMA)
    path = out / "verdicts.parquet"
    if path.is_file():
        older = pl.read_parquet(path).filter(rater_version=BEFORE)
        made = pl.concat([older.select(list(SCHEMA)), made])
    number = pl.col("rater_version").str.extract(r"(\d+)$").cast(pl.Int64)
    made = made.sort("rater_kind", "rater", number, "subset", "trajectory_id", "question", nulls_last=True)
    made.write_parquet(path, compression="zstd", compression_level=19, statistics=False, row_group_size=made.height)
    path_of_counts = out / "rules_findings.csv"
    counts = [counts_of(runs, "made on")]
    for extra, side in ((more, "made on"), (kept, "kept back")):
        if extra is not None:
            counts.append(counts_of(kept_back(extra, folder / "context"), side))
        elif (HERE / path_of_counts.name).is_file():
            before = pl.read_csv(HERE / path_of_counts.name, schema_overrides={"task_id": pl.String})
            public = pl.col("subset").is_in(sorted({run.subset for run in runs}))
            counts.append(before.filter(pl.col("side") == side, ~public))
    table = pl.concat(counts).sort("side", "subset", "kind", "task_id")
    table.write_csv(path_of_counts)
    print("\n".join(readme_rows(table)))
    print(f"{made.height:,} verdicts, {path.stat().st_size:,} bytes; {len(read_tool_kinds())} tools of known kind")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="as named above")
    parser.add_argument("--more", type=Path, help="further sources that the rules were made on")
    parser.add_argument("--kept-back", type=Path, help="sources that nothing was made on")
    parser.add_argument("--out", type=Path, default=HERE)
    given = parser.parse_args()
    make(given.folder, given.out, given.more, given.kept_back)
