"""Workers: rules and AXIS on trajectories in files, and agreement in a dataset, in this process and on 1, 2 and 4.

On a machine with two cores four workers show where it stops. AXISJUDGE_BENCH_RUNS and AXISJUDGE_BENCH_RATINGS make it
larger: 20000 and 100000000 are what CONTRIBUTING tells of. Efficiency by CPU is the seconds of a core that one process
takes over those of driver and workers together, their start-up included; it holds on a busy machine too, where walls
say little.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from benchmarks.test_statistics import rating_lines

from axisjudge.ratings.merging import write_dataset
from axisjudge.readers import read_trajectories, write_trajectories

RUNS = int(os.environ.get("AXISJUDGE_BENCH_RUNS", "2000"))
RATINGS = int(os.environ.get("AXISJUDGE_BENCH_RATINGS", "2000000"))
WORKERS = ("", *(f"local:{n}" for n in os.environ.get("AXISJUDGE_BENCH_WORKERS", "1,2,4").split(",")))
FILES = 40


def used() -> float:
    """Seconds of a core that commands took so far, those of their workers included."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def walls(*arguments: str, out: Path | None = None) -> None:
    """Seconds of a command with each number of workers, start-up included, and what two and four are worth."""
    alone, work = 0.0, 0.0
    for workers in WORKERS:
        command = [sys.executable, "-m", "axisjudge", *arguments, *(["--cluster", workers] if workers else [])]
        if out is not None:
            command += ["--out", str(out.with_stem(f"{out.stem}-{workers.partition(':')[2] or 'alone'}"))]
        begun, before = time.perf_counter(), used()
        subprocess.run(command, check=True, capture_output=True)
        wall, cpu = time.perf_counter() - begun, used() - before
        number = int(workers.partition(":")[2] or 1)
        alone, work = wall if workers == "local:1" else alone, work or cpu
        worth = f", efficiency {alone / wall / number:.2f}" if number > 1 and alone else ""
        print(f"  {workers or 'one process':<12}{wall:9.1f} s{worth}; {cpu:.1f} s of a core, by CPU {work / cpu:.2f}")
    print(f"  load of the machine {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")


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
        write_trajectories(folder / f"{number:02d}.jsonl", copies)
    return folder


@pytest.mark.timeout(7200)
def test_rules_on_trajectories_in_files(tmp_path: Path, folder: Path) -> None:
    print(f"\nrules on {RUNS:,} trajectories of tau2 in {FILES} files")
    walls("judge", str(folder), out=tmp_path / "ratings.jsonl")


@pytest.mark.timeout(7200)
def test_axis_on_trajectories_in_files(folder: Path) -> None:
    print(f"\nAXIS Results of {RUNS:,} trajectories of tau2 in {FILES} files")
    walls("axis-result", str(folder), "--json")


@pytest.mark.timeout(7200)
def test_agreement_in_a_dataset(tmp_path: Path) -> None:
    table: pl.DataFrame = rating_lines(min(RATINGS, 2_000_000) // 10)
    files = []
    for lap in range(max(1, RATINGS // 2_000_000)):
        names = ("trajectory_id", "item_id", "task_id", "cluster_id")
        files.append(tmp_path / f"{lap}.parquet")
        table.with_columns(pl.col(name) + f"-{lap}" for name in names).write_parquet(files[-1])
    begun = time.perf_counter()
    write_dataset(files, tmp_path / "ratings")
    print(f"\nagreement on {RATINGS:,} ratings (compacted in {time.perf_counter() - begun:.1f} s)")
    walls("agreement", str(tmp_path / "ratings"), "--json")
