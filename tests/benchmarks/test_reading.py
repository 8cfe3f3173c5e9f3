"""How fast trajectories are read: MB/s and memory on the tau2 retail files, each form on the same runs."""

import gzip
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from axisjudge.readers import counted, read_trajectories, summarise, write_trajectories

RUNS = 5
# not getrusage: its peak is carried over from the process that started this one
PEAK = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"


def seconds(work: Callable[[], object]) -> float:
    """Median wall time of several runs."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def test_reading(shared_data: Path, tmp_path: Path) -> None:
    sources = sorted((shared_data / "tau2_retail").glob("*.json"))
    reading = read_trajectories(*sources)
    own, packed = tmp_path / "runs.jsonl", tmp_path / "runs.jsonl.gz"
    write_trajectories(own, reading.trajectories)
    packed.write_bytes(gzip.compress(own.read_bytes(), 6))
    print(f"\n{'files':<34}{'MB':>8}{'seconds':>10}{'MB/s':>8}{'steps/s':>10}")
    for name, files in (
        ("tau2 results (4)", sources),
        ("own JSON Lines", [own]),
        ("own JSON Lines, gzipped", [packed]),
    ):
        size = sum(file.stat().st_size for file in files) / 1e6
        took = seconds(lambda files=files: read_trajectories(*files))
        steps = summarise(map(counted, reading.trajectories)).steps / took
        print(f"{name:<34}{size:>8.1f}{took:>10.3f}{size / took:>8.1f}{steps:>10.0f}")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_memory(shared_data: Path) -> None:
    """Peak memory of a fresh process that holds all trajectories, and of one that only streams through them."""
    folder = str(shared_data / "tau2_retail")
    print(f"\n{'in a process of its own':<34}{'peak MB':>8}")
    for name, work in (
        ("import only", "readers"),
        ("all trajectories held", "kept = readers.read_trajectories(folder)"),
        ("streamed", "readers.summarise(map(readers.counted, readers.iter_trajectories(folder)))"),
    ):
        code = f"import sys; import axisjudge.readers as readers; folder = sys.argv[1]; {work}; {PEAK}"
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
        print(f"{name:<34}{int(done.stdout) / 1024:>8.0f}")
