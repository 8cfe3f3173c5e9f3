"""The same calls by axisjudge and by Inspect AI at one loopback server: time, CPU, memory, kills, 401, 429.

    .venv/bin/python -m benchmarks.beside_inspect INSPECT_PYTHON [RUNS.json]     (in tests/)

INSPECT_PYTHON is the Python of an environment with inspect-ai and openai; Inspect is no dependency of this project.
Both ask with `AT_ONCE` calls at once. Inspect gets rendered prompts and keeps the replies: axisjudge reads the runs,
renders them, checks replies and keeps ratings, so its figures cover more work.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.test_overhead import run_of
from judging.providers import Model, Provider, completion, failing, providing

from axisjudge.judges.prompt import INSTRUCTIONS, question, shared_prefix
from axisjudge.readers import read_trajectories, write_trajectories
from axisjudge.rubric import load_rubric
from axisjudge.trajectory import Trajectory
from axisjudge.verdict import AXES

RUNS, AT_ONCE, WAIT_S, CLOSED_S = 114, 16, 0.05, 60.0
USAGE = {"prompt_tokens": 4_000, "completion_tokens": 200, "total_tokens": 4_200}


@dataclass(frozen=True)
class Cost:
    """What a process cost: seconds, CPU seconds, peak memory in MB, exit code, calls that the server saw, last line."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    code: int
    calls: int
    said: str

    def __str__(self) -> str:
        per_call = 1_000 * self.cpu_s / max(1, self.calls)
        return (
            f"{self.calls} calls, wall {self.wall_s:.1f} s, CPU {self.cpu_s:.1f} s ({per_call:.1f} ms a call), "
            f"peak {self.peak_mb:.0f} MB, exit {self.code}; {self.said}"
        )


class Side:
    """One of the two programs, its input and what it leaves."""

    def __init__(self, name: str, folder: Path, python: str) -> None:
        self.name, self.folder, self.python = name, folder, python

    def command(self, url: str, out: Path, *, again: bool) -> list[str]:
        if self.name == "axisjudge":
            spec = f"openai-compatible:m@{url},family=m"
            runs = str(self.folder / "runs.jsonl")
            more = ["--out", str(out / "r.jsonl"), "--concurrency", str(AT_ONCE), "--yes", "--json"]
            return [sys.executable, "-m", "axisjudge", "judge", runs, "--judge", spec, *more]
        script = str(Path(__file__).with_name("inspect_calls.py"))
        logs = sorted(map(str, out.glob("*.eval")))
        return [
            self.python,
            script,
            str(self.folder / "prompts.jsonl"),
            url,
            str(out),
            str(AT_ONCE),
            *(logs[:1] * again),
        ]

    def start(self, url: str, out: Path, *, again: bool = False) -> "subprocess.Popen[bytes]":
        out.mkdir(exist_ok=True)
        keys = {"OPENAI_API_KEY": "not-a-key", "OPENAI_BASE_URL": url, "NO_PROXY": "127.0.0.1"}
        with (out / "said.txt").open("wb") as said:
            command = self.command(url, out, again=again)
            return subprocess.Popen(command, stdout=said, stderr=said, env={**os.environ, **keys})

    def cost(self, provider: Provider, out: Path, *, again: bool = False, longest_s: float = 400.0) -> Cost:
        before, begun = provider.calls["m"], time.monotonic()
        process = self.start(provider.url, out, again=again)
        pid = status = 0
        while pid == 0 and time.monotonic() - begun < longest_s:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0.02)
        if pid == 0:
            process.kill()
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
        code = os.waitstatus_to_exitcode(status)
        lines = (out / "said.txt").read_text(errors="replace").strip().splitlines() or [""]
        cpu = used.ru_utime + used.ru_stime
        calls = provider.calls["m"] - before
        return Cost(
            time.monotonic() - begun, cpu, used.ru_maxrss / 1_024, code, calls, self.left(out) or lines[-1][:120]
        )

    def left(self, out: Path) -> str:
        """What a program left on disk, in its own terms."""
        if self.name == "axisjudge":
            rows = [json.loads(line) for line in (out / "r.jsonl").open()] if (out / "r.jsonl").exists() else []
            answered = sum(row["status"] == "ok" for row in rows)
            return f"{answered} verdicts and {len(rows) - answered} losses kept"
        code = (
            "import sys;from inspect_ai.log import read_eval_log as r;l=r(sys.argv[1]);"
            "print(sum(bool(s.output.choices) for s in l.samples or ()),'answers kept, log',l.status)"
        )
        logs = sorted(out.glob("*.eval"))
        if not logs:
            return "no log"
        end = subprocess.run([self.python, "-c", code, str(logs[-1])], capture_output=True, text=True, check=False)
        return end.stdout.strip() or f"log cannot be read: {end.stderr.strip().splitlines()[-1][:80]}"


def answering(number: int, body: dict[str, object]) -> tuple[int, dict[str, str], dict[str, object], float]:
    return 200, {}, completion(body, USAGE), WAIT_S


def closed_for(seconds: float) -> Model:
    """429 with Retry-After from the first call on, for so long; then verdicts."""
    begun: list[float] = []

    def answer(number: int, body: dict[str, object]) -> tuple[int, dict[str, str], dict[str, object], float]:
        begun.append(time.monotonic())
        if begun[-1] - begun[0] < seconds:
            return failing(429, "rate limit reached", retry_after="5")(number, body)
        return answering(number, body)

    return answer


def killed(side: Side, out: Path, n_calls: int) -> str:
    """kill -9 at half of the calls, and what the next start pays again."""
    with providing(m=answering) as provider:
        process = side.start(provider.url, out)
        while provider.calls["m"] < n_calls // 2 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.3)
        kept = side.left(out)
        again = side.cost(provider, out, again=True)
        return f"{kept}; calls of both starts beyond {n_calls}: {provider.calls['m'] - n_calls} ({again.said})"


def written(folder: Path, runs: list[Trajectory]) -> int:
    """The same trajectories for both: as runs, and as rendered prompts; how many prompts."""
    write_trajectories(folder / "runs.jsonl", runs)
    rubrics = [load_rubric(axis) for axis in AXES]
    prompts = [
        {"system": INSTRUCTIONS, "user": f"{shared_prefix(run).text}\n{question(rubric, len(run.steps))}"}
        for run in runs
        for rubric in rubrics
    ]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(each) + "\n" for each in prompts), encoding="utf-8")
    return len(prompts)


def main(python: str, runs: str = "") -> None:
    chosen = read_trajectories(runs).trajectories[:RUNS] if runs else [run_of(number) for number in range(RUNS)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_calls = written(folder, [run for run in chosen if run.steps])
        for side in (Side("axisjudge", folder, python), Side("inspect", folder, python)):
            for what, model in (("all well", answering), ("401", failing(401, "bad key")), ("a minute of 429", None)):
                with providing(m=model or closed_for(CLOSED_S)) as provider:
                    cost = side.cost(provider, folder / f"{side.name}-{what.replace(' ', '-')}")
                print(f"{side.name}, {what}: {cost}", flush=True)
            print(f"{side.name}, kill -9 at half: {killed(side, folder / f'{side.name}-killed', n_calls)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
