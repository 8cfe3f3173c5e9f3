"""Workers: rules and AXIS on trajectories in files, and agreement in a dataset, in this process and on 1, 2 and 4.

One process has one core. Efficiency is its wall over that of n workers and over n, start-up included; on a busy machine
it says little. What the machine gives at most is measured beside it: the same command in two bare processes at once,
each on work of its own, against one alone. With two cores four workers show where it stops.
AXISJUDGE_BENCH_RUNS and AXISJUDGE_BENCH_RATINGS make it larger: 20000 and 100000000 are what CONTRIBUTING tells of.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from benchmarks.test_statistics import rating_lines

from axisjudge.ratings.table import by_identity
from axisjudge.readers import read_trajectories, write_trajectories

RUNS = int(os.environ.get("AXISJUDGE_BENCH_RUNS", "2000"))
RATINGS = int(os.environ.get("AXISJUDGE_BENCH_RATINGS", "2000000"))
WORKERS = ("", *(f"local:{n}" for n in os.environ.get("AXISJUDGE_BENCH_WORKERS", "1,2,4").split(",")))
FILES, TENTHS = 40, 10


def seconds(*commands: list[str]) -> float:
    """Wall of commands at once, each with one core for its tables unless it has workers."""
    begun = time.perf_counter()
    alone = {**os.environ, "POLARS_MAX_THREADS": "1"}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "axisjudge", *command],
            env=os.environ if "--cluster" in command else alone,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for command in commands
    ]
    assert [each.wait() for each in running] == [0] * len(commands)
    return time.perf_counter() - begun


def walls(*arguments: str, out: Path | None = None) -> None:
    """Seconds of a command with each number of workers, start-up included, and what they are worth."""
    alone = 0.0
    for workers in WORKERS:
        command = [*arguments, *(["--cluster", workers] if workers else [])]
        if out is not None:
            command += ["--out", str(out.with_stem(f"{out.stem}-{workers.partition(':')[2] or 'alone'}"))]
        wall = seconds(command)
        number = int(workers.partition(":")[2] or 1)
        alone = alone or wall
        worth = f", efficiency {alone / wall / number:.2f}" if workers else ""
        print(f"  {workers or 'one process':<12}{wall:9.1f} s{worth}")
    print(f"  load of the machine {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")


def ceiling(first: list[str], second: list[str]) -> None:
    """What two bare processes at once are worth, each of whom has as much to do as the first alone."""
    one, both = seconds(first), seconds(first, second)
    print(f"  bare: one alone {one:.1f} s, two at once {both:.1f} s, efficiency at most {one / both:.2f}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> Path:
    """Trajectories of tau2 again and again, under new ids."""
    runs = read_trajectories(shared_data / "tau2_retail", strict=False).trajectories
    folder = tmp_path_factory.mktemp("runs")
    for number in range(FILES):
        own = range(number * RUNS // FILES, (number + 1) * RUNS // FILES)
        again = ((runs[at % len(runs)], at // len(runs)) for at in own)
        copies = [
            run.model_copy(update={"id": f"{run.id}-{lap}", "task_id": f"{run.task_id}-{lap}"}) for run, lap in again
        ]
        (folder / str(number % TENTHS)).mkdir(exist_ok=True)
        write_trajectories(folder / str(number % TENTHS) / f"{number:02d}.jsonl", copies)
    return folder


@pytest.mark.timeout(7200)
def test_rules_on_trajectories_in_files(tmp_path: Path, folder: Path) -> None:
    print(f"\nrules on {RUNS:,} trajectories of tau2 in {FILES} files")
    walls("judge", str(folder), out=tmp_path / "ratings.jsonl")
    first, second = (["judge", str(folder / part), "--out", str(tmp_path / f"{part}.jsonl")] for part in "01")
    ceiling(first, second)


@pytest.mark.timeout(7200)
def test_axis_on_trajectories_in_files(folder: Path) -> None:
    print(f"\nAXIS Results of {RUNS:,} trajectories of tau2 in {FILES} files")
    walls("axis-result", str(folder), "--json")


@pytest.mark.timeout(7200)
def test_agreement_in_a_dataset(tmp_path: Path) -> None:
    """Parts are written as `ratings compact` writes them, of up to 400,000 ratings each."""
    table = by_identity(rating_lines(min(RATINGS, 2_000_000) // 10))
    laps = max(1, RATINGS // 2_000_000)
    for lap in range(laps):
        names = ("trajectory_id", "item_id", "task_id", "cluster_id")
        own = table.with_columns(pl.col(name) + f"-{lap}" for name in names)
        for (question,), part in own.group_by("question", maintain_order=True):
            home = tmp_path / "ratings" / f"question={question}"
            home.mkdir(parents=True, exist_ok=True)
            part.drop("question").write_parquet(home / f"part-{lap:05d}-of-{laps:05d}.parquet")
    print(f"\nagreement on {RATINGS:,} ratings in {5 * laps} parts")
    walls("agreement", str(tmp_path / "ratings"), "--json")
