"""Add labels of runs read by hand to reading.csv, and set rules, reference and simulated judges beside them.

    python data/reference/make_reading.py FOLDER KEPT_BACK [--labels PASS2.csv KEY.csv [PASS1.csv] [--second PASS2.csv]]

FOLDER holds context/, KEPT_BACK a subfolder a source (README.md names both). LABELS have the columns NN, step, axis and
confidence, a line a fault, or one without step and axis for a run without any; KEY gives NN its trajectory_id. SECOND
holds a second reader's labels of the same runs. Rows of the readers stay as they are; those of rules and reference are
made anew. What is printed has the simulated judges too:
they know the reader's labels and disturb them, so that their error is known, and one sees what the reference,
taken for the truth, makes of it. The same figures without them: `axisjudge.studies.located.runs_read`.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

sys.path.insert(0, str(Path(__file__).parent))
from make_verdicts import HERE, Run, kept_back, short

from axisjudge.checks import InputError
from axisjudge.judges.rules.judge import grade_trajectory
from axisjudge.judges.simulated import PROFILES, PlantedVerdict, SimulatedJudge
from axisjudge.labels.reference import read_tool_kinds, reference_faults
from axisjudge.spec import JudgeSpec
from axisjudge.studies.located import runs_read
from axisjudge.studies.located.counts import (
    ANY_AXIS,
    LEAST_CONFIDENCE,
    READER,
    REFERENCE,
    SECOND_READER,
    against_reading,
    sure_enough,
)
from axisjudge.verdict import AXES

SCHEMA = {
    **dict.fromkeys(("trajectory_id", "task_id", "domain"), pl.String),
    "failed": pl.Boolean,
    "rater": pl.String,
    "step": pl.Int64,
    "axis": pl.String,
    "confidence": pl.Int64,
}
TEXT = {"NN": pl.String, "trajectory_id": pl.String, "axis": pl.String, "step": pl.Int64, "confidence": pl.Int64}


def run_id(run: Run) -> str:
    """The hash by which the files of this folder know a run that was read."""
    return short(run.trajectory.content_sha256)


def row(run: Run, rater: str, step: int | None, axis: str | None, confidence: int | None = None) -> dict[str, Any]:
    """One fault, or none, of one run."""
    about = {"trajectory_id": run_id(run), "task_id": short(run.task)}
    own = {"domain": run.task.partition("/")[0], "failed": run.failed}
    return {**about, **own, "rater": rater, "step": step, "axis": axis, "confidence": confidence}


def labelled(
    labels: pl.DataFrame, key: pl.DataFrame, runs: dict[str, Run], rater: str = READER
) -> Iterator[dict[str, Any]]:
    """A reader's rows of the runs of a key, every one of which has a line or more."""
    if set(labels["NN"]) != set(key["NN"]):
        odd = sorted(set(labels["NN"]) ^ set(key["NN"]))
        raise InputError("labels", "must have lines of every run of the key and of no other", odd, "add or drop these")
    for one in labels.join(key.select("NN", "trajectory_id"), on="NN", maintain_order="left").iter_rows(named=True):
        run, step = runs[one["trajectory_id"]], one["step"]
        acted = {step.index for step in run.trajectory.steps if step.role == "assistant"}
        if (step is None) != (one["axis"] is None) or one["axis"] not in {None, *AXES} or step not in {None, *acted}:
            raise InputError(
                f"labels of {one['NN']}", "need an axis and a step of the agent's", (step, one["axis"]), ""
            )
        yield row(run, rater, step, one["axis"], one["confidence"])


def held(runs: Iterable[Run]) -> Iterator[dict[str, Any]]:
    """What rules and reference hold against the runs."""
    kinds = read_tool_kinds()
    for run in runs:
        for axis, answer in grade_trajectory(run.trajectory).items():
            if answer.verdict == "incorrect":
                yield from (row(run, "rules", step, axis) for step in answer.cited_step_indices or (None,))
        for fault in reference_faults(run.trajectory, kinds):
            yield from (row(run, REFERENCE, step, fault.axis) for step in fault.steps or (None,))


def simulated(runs: list[Run], read: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """What simulated judges hold against the runs, to whom the reader's faults are the truth."""
    truth = planted(runs, read)
    for name in PROFILES:
        judge = SimulatedJudge(JudgeSpec.parse(f"simulated:{name}"))
        judge.truth = truth
        for run, axis in product(runs, AXES):
            answer = judge.answer(run.trajectory, axis)
            if answer.verdict == "incorrect":
                yield from (row(run, judge.rater, step, axis) for step in answer.cited_step_indices)


def planted(runs: list[Run], read: pl.DataFrame) -> dict[tuple[str, str], PlantedVerdict]:
    """The reader's labels as simulated judges take truth: a verdict on every run and axis."""
    found = read.drop_nulls("axis").group_by("trajectory_id", "axis").agg(pl.col("step").unique().sort())
    steps = {(run, axis): tuple(own) for run, axis, own in found.iter_rows()}
    by_axis = {(run.trajectory.id, axis): steps.get((run_id(run), axis), ()) for run, axis in product(runs, AXES)}
    return {pair: PlantedVerdict("incorrect" if own else "correct", own) for pair, own in by_axis.items()}


def shown(reading: pl.DataFrame) -> None:
    """Print precision and recall by axis, and what the reference taken for the truth says of all others."""
    of_first = pl.col("trajectory_id").is_in(
        reading.filter(pl.col("rater") == READER, pl.col("confidence").is_null())["trajectory_id"].implode()
    )
    sure = sure_enough(reading)
    parts = {
        "All runs": sure,
        "The runs read first": sure.filter(of_first),
        "Those read later": sure.filter(~of_first),
        f"All runs, faults of confidence under {LEAST_CONFIDENCE} counted too": reading,
    }
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, float_precision=2):
        for name, own in parts.items():
            print(f"{name}. {runs_read(own, least_confidence=1).answer}")
            print(runs_read(own, least_confidence=1).table)
    print("Recall of the reference's faults, were it taken for the truth (failed runs):")
    for one in against_reading(sure, by=REFERENCE):
        if one.axis == ANY_AXIS:
            found = one.recall
            print(f"  {one.rater}: {found.estimate:.2f} ({found.interval('.2f')}) of {found.n_items}")


def passes(first: Path, last: Path) -> str:
    """How many faults of a first pass stand in the last."""
    one, two = (
        {*pl.read_csv(path, schema_overrides=TEXT).drop_nulls("axis").select("NN", "axis").iter_rows()}
        for path in (first, last)
    )
    return f"Of {len(one)} pairs of run and axis in the first pass {len(one & two)} stand in the last, of {len(two)}."


def make(folder: Path, kept: Path, out: Path, labels: list[Path], second: Path | None) -> None:
    """Write reading.csv, and print what it says."""
    runs = {run_id(run): run for run in kept_back(kept, folder / "context")}
    known = pl.read_csv(HERE / "reading.csv", schema_overrides=SCHEMA)
    known = known.filter(pl.col("rater").is_in([READER, SECOND_READER]))
    names = ("trajectory_id", "rater", "step", "axis", "confidence")
    read = [row(runs[name], *fault) for name, *fault in known.select(names).iter_rows()]
    if labels:
        key = pl.read_csv(labels[1], schema_overrides=TEXT)
        read = [one for one in read if one["trajectory_id"] not in {*key["trajectory_id"]}]
        for path, rater in ((labels[0], READER), (second, SECOND_READER)):
            if path is not None:
                read += labelled(pl.read_csv(path, schema_overrides=TEXT), key, runs, rater)
    of_readers = pl.DataFrame(read, schema=SCHEMA)
    ours = [runs[name] for name in of_readers["trajectory_id"].unique(maintain_order=True)]
    reading = pl.concat([of_readers, pl.DataFrame([*held(ours)], schema=SCHEMA).unique(maintain_order=True)])
    reading.write_csv(out / "reading.csv")
    of_judges = pl.DataFrame([*simulated(ours, sure_enough(of_readers.filter(rater=READER)))], schema=SCHEMA)
    shown(pl.concat([reading, of_judges]))
    if len(labels) > 2:
        print(passes(labels[2], labels[0]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="holds context/")
    parser.add_argument("kept_back", type=Path, help="sources that nothing was made on")
    parser.add_argument(
        "--labels", type=Path, nargs="+", default=[], help="labels, their key, and those of a first pass"
    )
    parser.add_argument("--second", type=Path, help="a second reader's labels of the runs of the key")
    parser.add_argument("--out", type=Path, default=HERE)
    given = parser.parse_args()
    make(given.folder, given.kept_back, given.out, given.labels, given.second)
