"""Several machines share a run: shards that never pay twice, files on workers, and what a kill leaves."""

import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext
from hashlib import sha256

import polars as pl
import pytest
from judging.worlds import trajectories
from typer.testing import CliRunner

from axisjudge.checks import InputError
from axisjudge.cli import app
from axisjudge.cluster import InTurn
from axisjudge.judging import judge
from axisjudge.judging.machines import Shard, judge_files, judge_twins
from axisjudge.ratings import read_every_line, read_ratings
from axisjudge.ratings.merging import merged
from axisjudge.readers import read_trajectories, write_trajectories
from axisjudge.trajectory import Step, ToolCall, ToolSchema
from axisjudge.twins import EDITS, make_twins
from axisjudge.verdict import IDENTITY
from axisjudge.workbench import home

SAME = [*IDENTITY, "status", "verdict", "confidence", "cited_step_indices", "rationale"]


def test_each_run_is_in_one_shard_on_every_machine():
    ids = [f"run-{number}" for number in range(2_000)]
    shards = [Shard(number, 7) for number in range(1, 8)]
    held = [[name for name in ids if shard.holds(name)] for shard in shards]
    assert sorted(name for names in held for name in names) == sorted(ids)
    assert min(map(len, held)) > 200  # 286 expected, standard deviation 16
    assert [name for name in ids[:12] if Shard(1, 2).holds(name)] == [
        name for name in ids[:12] if int(sha256(name.encode()).hexdigest()[-1], 16) % 2 == 0
    ]


def test_rates_are_divided_and_names_stay():
    spec = "openai-compatible:qwen3-8b@http://localhost:8000/v1,rpm=600,tpm=1000,concurrency=3"
    (whole,), (part,) = (Shard(1, of).of_judges([spec]) for of in (1, 4))
    assert (part.options["rpm"], part.options["tpm"], part.options["concurrency"]) == (150, 250, 3)
    assert part.rater == whole.rater


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "1/0", "a/b", "-1/4"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(InputError, match="--shard"):
        Shard.parse(text)


@pytest.fixture
def files(tmp_path):
    """Twelve runs in four files, one of which a second file has once more."""
    runs = trajectories(12)
    lots = [runs[:7], runs[3:6], runs[6:9], [runs[0], *runs[9:]]]
    folder = tmp_path / "runs"
    folder.mkdir()
    for number, lot in enumerate(lots):
        write_trajectories(folder / f"{number}.jsonl", lot)
    return folder


def test_files_on_workers_give_the_ratings_of_one_run_and_go_on_where_they_were(tmp_path, files, monkeypatch):
    whole = judge(trajectories(12), ["rules"], progress=False)
    out = tmp_path / "r.jsonl"
    monkeypatch.setenv("AXISJUDGE_HOME", str(home()))
    found = judge_files([files], ["rules"], out, InTurn())
    monkeypatch.setenv("AXISJUDGE_HOME", "elsewhere")
    with pytest.raises(InputError, match="AXISJUDGE_HOME"):  # judging files here chose no workbench for good
        home()
    monkeypatch.undo()
    assert (found.n_trajectories, found.n_written, found.refused) == (12, whole.height, ())
    assert read_ratings(out).select(SAME).equals(whole.select(SAME))
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:17]) + lines[17][:40])  # killed while it wrote
    with pytest.warns(UserWarning, match="torn"):
        again = judge_files([files], ["rules"], out, InTurn())
    assert again.n_written == whole.height - 17
    assert read_ratings(out).select(SAME).equals(whole.select(SAME))


def test_a_broken_file_is_named_and_the_others_are_judged(tmp_path, files):
    (files / "9.jsonl").write_text('{"id": "x", "source": "own", "steps": [{"index": 5, "role": "user"}]}\n')
    found = judge_files([files], ["rules"], tmp_path / "r.jsonl", InTurn())
    assert [file.path for file in found.refused] == [str(files / "9.jsonl")]
    assert found.n_trajectories == 12


def test_judges_that_ask_somebody_are_not_for_workers(tmp_path, files):
    with pytest.raises(InputError, match="--shard"):
        judge_files([files], ["openai:gpt-5"], tmp_path / "r.jsonl", InTurn())


def test_shards_that_name_one_file_are_told_apart(tmp_path, files):
    """The second is refused before it writes; the first goes on in its file, and ratings of other runs may be there."""

    def judged(number, *paths):
        command = ["judge", *map(str, paths), "--shard", f"{number}/2", "--out", str(tmp_path / "r.jsonl"), "--json"]
        return CliRunner().invoke(app, command).exception

    one = min(files.iterdir())
    assert judged(1, one) is None
    before = (tmp_path / "r.jsonl").read_bytes()
    assert before
    refused = judged(2, files)
    assert isinstance(refused, InputError)
    assert "r-2-of-2.jsonl" in str(refused)
    assert (tmp_path / "r.jsonl").read_bytes() == before
    assert judged(1, files) is None
    of_first = set(read_ratings(tmp_path / "r.jsonl")["trajectory_id"])
    assert of_first == {run.id for run in read_trajectories(files).trajectories if Shard(1, 2).holds(run.id)}


def begun(*arguments):
    return subprocess.Popen([sys.executable, "-m", "axisjudge", *map(str, arguments)], stderr=subprocess.PIPE)


def ended(run):
    """The exit code, and what the command had to say; its pipe is closed, lest a later test is blamed for it."""
    _, said = run.communicate(timeout=240)
    return run.returncode, said.decode() if run.returncode > 0 else ""


@pytest.mark.slow
def test_four_shards_one_killed_and_resumed_are_the_unbroken_run(tmp_path):
    """The demo by rules, over four processes; one is killed as soon as it has written, then resumed alone."""
    demo = home() / "data" / "demo" / "results"
    assert ended(begun("judge", demo, "--out", tmp_path / "whole.jsonl")) == (0, "")
    outs = [tmp_path / f"shard-{number}.jsonl" for number in range(1, 5)]
    runs = [begun("judge", demo, "--shard", f"{n}/4", "--out", out) for n, out in enumerate(outs, start=1)]
    while not (outs[1].exists() and outs[1].stat().st_size) and runs[1].poll() is None:
        time.sleep(0.001)
    runs[1].kill()
    assert [ended(run) for run in runs] == [(0, ""), (-signal.SIGKILL, ""), (0, ""), (0, "")]
    assert ended(begun("judge", demo, "--shard", "2/4", "--out", outs[1])) == (0, "")
    found, table = merged(read_every_line(*outs))
    assert (found.n_replaced, found.n_conflicts) == (0, 0)
    assert read_ratings(tmp_path / "whole.jsonl").select(SAME).sort(IDENTITY).equals(table.select(SAME).sort(IDENTITY))


@pytest.mark.slow
def test_two_worker_processes_write_what_one_writes(tmp_path, files):
    pytest.importorskip("dask.distributed")
    outs = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    judge_files([files], ["rules"], outs[0], InTurn())
    assert ended(begun("judge", files, "--cluster", "local:2", "--out", outs[1])) == (0, "")
    one, two = (pl.read_ndjson(out).select("item_id", "question", "verdict") for out in outs)
    assert one.equals(two)  # line for line
    assert Counter(one["item_id"]).most_common(1)[0][1] == 5


def test_twins_on_workers_are_those_of_one_place_with_the_same_ratings(tmp_path):
    """The first seven of eight runs, each of which changes a record and tells of it; and why no other edit is made."""
    takes = {"type": "object", "properties": {"book_id": {"type": "string"}}, "required": ["book_id"]}
    tools = tuple(ToolSchema(name=name, kind="write", parameters=takes) for name in ("renew_book", "lend_book"))

    def of(run, name):
        asked = ToolCall(id="a", name=name, arguments={"book_id": "b-4"})
        told = Step(
            index=2, role="tool", tool_call_id="a", tool_name=name, content='{"book_id": "b-4", "price": 120.5}'
        )
        more = Step(index=1, role="assistant", tool_calls=(asked,)), told
        said = Step(index=3, role="assistant", content="It is done and costs $120.50.")
        return run.model_copy(update={"steps": (run.steps[0], *more, said), "tools": tools})

    runs = [of(run, ("renew_book", "lend_book")[n // 4]) for n, run in enumerate(trajectories(8))]
    for number in range(2):
        write_trajectories(tmp_path / f"{number}.jsonl", runs[4 * number : 4 * number + 4])
    out = tmp_path / "r.jsonl"
    found = judge_twins([tmp_path / f"{n}.jsonl" for n in (0, 1)], EDITS, ["rules"], out, InTurn(), limit=7, reading={})
    whole = make_twins(runs[:7], EDITS)
    names = [twin.trajectory.id for twin in whole.twins]
    assert len(names) == 7
    assert [twin.trajectory.id for twin in found.twins.twins] == names
    assert all(not twin.trajectory.steps for twin in found.twins.twins)
    assert found.twins.refused == whole.refused
    expected = judge([*runs[:7], *(twin.trajectory for twin in whole.twins)], ["rules"], progress=False)
    assert found.ratings.select(SAME).sort(SAME[:3]).equals(expected.select(SAME).sort(SAME[:3]))
    assert read_ratings(out).height == expected.height


@pytest.mark.parametrize("command", [["judge", "--max-lost", "0.5"], ["twins", "--edits", "cut_tail"]])
def test_lost_verdicts_end_a_command_alike_on_workers_and_in_one_process(tmp_path, files, monkeypatch, command):
    lost = judge(trajectories(12), ["rules"], progress=False).with_columns(
        rater=pl.lit("lossy"), status=pl.lit("refused"), verdict=pl.lit(None, pl.String)
    )
    lost.write_ndjson(tmp_path / "lost.jsonl")
    monkeypatch.setattr("axisjudge.cluster.workers_of", lambda _: nullcontext(InTurn()))
    name, *more = command
    judges = ["--judge", "rules", "--judge", f"replay:{tmp_path / 'lost.jsonl'}"]
    for cluster in ([], ["--cluster", "local:1"]):
        out = tmp_path / f"{len(cluster)}.jsonl"
        done = CliRunner().invoke(app, [name, str(files), *judges, *more, *cluster, "--out", str(out)])
        assert done.exit_code == 1, done.output
        assert ("Lost verdicts" in done.output) == (name == "judge")
