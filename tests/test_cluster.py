"""Parts on workers: the same results in the same order; what fails is named, what is lost is done anew."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from axisjudge.checks import InputError
from axisjudge.cluster import InTurn, OnCluster, workers_of


def square(number):
    if number == 13:
        raise InputError("thirteen", "is no number")
    return number * number


def squares(number):
    return [square(number)]


def itself(made):
    return made


def joined(lots):
    return [number for lot in lots for number in lot]


@pytest.fixture(scope="module")
def here():
    """A scheduler and two workers as threads of this process."""
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield OnCluster(client)


def test_results_come_in_the_order_of_the_parts(here):
    assert list(here.map(square, range(30, 60), str)) == list(InTurn().map(square, range(30, 60), str))


def test_a_part_that_fails_is_named_when_the_others_are_done(here):
    done = []
    with pytest.raises(InputError, match=r"1 of 20 parts failed 3 times: part 13: thirteen"):
        done.extend(here.map(square, range(20), "part {}".format))
    assert done == [number * number for number in range(20) if number != 13]


@pytest.mark.parametrize("size", [0, 1, 16, 17, 40])
def test_what_is_kept_and_combined_in_lots_is_the_whole(here, size):
    """However many lots it takes, each part is in it once and in order."""
    groups = [range(30, 31 + size), range(3)]
    for workers in (here, InTurn()):
        whole, briefs = zip(*workers.kept(squares, groups, joined, len, str), strict=True)
        assert list(workers.map(list, whole, str)) == [[number * number for number in group] for group in groups]
        assert [sum(each) for each in briefs] == [len(group) for group in groups]


WRITTEN_BY = []


class Table:
    """Says which thread wrote it out."""

    def __getstate__(self):
        WRITTEN_BY.append(threading.current_thread().name)
        return {"of": "polars"}


def test_what_a_part_gives_is_written_out_by_the_thread_that_made_it(here):
    """A table that the thread for what travels writes out while another is computed can wait for ever in polars."""
    WRITTEN_BY.clear()
    tables = list(here.map(lambda number: Table(), range(3), str))
    (whole, briefs), _ = here.kept(lambda number: Table(), [range(9), range(1)], lambda all: all[0], lambda all: 1, str)
    assert [type(each) for each in (*tables, *here.map(itself, [whole], str))] == [Table] * 4
    assert sum(briefs) == 2
    assert len(WRITTEN_BY) >= 7
    assert all("Dask-Default-Threads" in name for name in WRITTEN_BY), WRITTEN_BY


def test_a_part_that_fails_among_kept_ones_is_told(here):
    with pytest.raises(InputError, match=r"1 of 2 parts failed 3 times: part 12, part 13, part 14: thirteen"):
        here.kept(square, [range(4), range(12, 15)], sum, abs, "part {}".format)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "content"),
    [
        *((named, "") for named in ("local:none", "local:0", "jobqueue:slurm.yaml", "nonsense://x")),
        *itertools.product(("FILE", "jobqueue:FILE"), ("{}", "no json")),
    ],
)
def test_what_is_no_cluster_is_refused(tmp_path, named, content):
    (tmp_path / "cluster.json").write_text(content)
    named = named.replace("FILE", str(tmp_path / "cluster.json"))
    with pytest.raises(InputError, match="--cluster"), workers_of(named):
        pass


@pytest.mark.slow
def test_a_scheduler_may_be_looked_for_again_after_none_answered():
    code = """
import gc, threading
from axisjudge.checks import InputError
from axisjudge.cluster import workers_of

def look():
    try:
        with workers_of("nonsense://x"):
            pass
    except InputError as error:
        print(error)

def collecting(thread, *given, made=threading.Thread.__init__, **named):
    gc.collect()
    made(thread, *given, **named)

gc.disable()
look()
threading.Thread.__init__ = collecting  # what the first look left is collected while the second one starts
look()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stdout.count("--cluster") == 2, ended.stderr


@pytest.mark.slow
def test_a_lost_worker_loses_nothing(tmp_path):
    """The first attempt at part 3 takes its worker along."""
    pytest.importorskip("dask.distributed")
    mark = tmp_path / "killed"

    def kill_once(number):  # in here, so that it travels as it is: workers do not know this module
        if number == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.05)
        return number

    with workers_of("local:2") as workers:
        assert list(workers.map(kill_once, range(12), str)) == list(range(12))
    assert mark.exists()


@pytest.mark.slow
@pytest.mark.parametrize("while_", ["they begin", "they work"])
def test_losing_the_process_that_workers_are_copies_of_loses_nothing(while_, tmp_path):
    """It is killed again and again, so that lost workers cannot begin anew as copies of it."""
    pytest.importorskip("dask.distributed")
    code = """
import os, signal, sys, threading, time
from axisjudge import cluster
def kill():
    from multiprocessing.forkserver import _forkserver
    for _ in range(16):
        time.sleep(0.4)
        if _forkserver._forkserver_pid is not None:
            os.kill(_forkserver._forkserver_pid, signal.SIGKILL)
def slowly(number):
    import time
    time.sleep(0.25)
    return number
killer = threading.Thread(target=kill, daemon=True)
if sys.argv[1] == "they begin":
    killer.start()
with cluster.workers_of("local:2") as workers:
    if sys.argv[1] == "they work":
        killer.start()
    assert list(workers.map(slowly, range(40), str)) == list(range(40))
"""
    (tmp_path / "killing.py").write_text(f"if __name__ == '__main__':\n    {code.replace(chr(10), chr(10) + '    ')}\n")
    done = subprocess.run(
        [sys.executable, tmp_path / "killing.py", while_], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_run_whose_workers_all_are_lost_for_good_ends_in_a_line(monkeypatch):
    """Nobody takes part in a cluster without workers; a queue's may yet come, this machine's not."""
    distributed = pytest.importorskip("dask.distributed")
    monkeypatch.setattr("axisjudge.cluster._PATIENCE", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(InputError, match="all of this machine's are lost"),
    ):
        list(OnCluster(client, ours=True).map(square, range(3), str))


class OneKilled:
    """Workers of whom the one that begins the second part is killed as it does, once."""

    def __init__(self, workers, mark):
        self.workers, self.mark = workers, mark

    def map(self, work, parts, name, **at_once):
        parts, mark = list(parts), self.mark
        assert len(parts) > 2

        def one_killed(numbered):  # in here, so that it travels as it is
            number, part = numbered
            if number == 1 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return work(part)

        return self.workers.map(one_killed, list(enumerate(parts)), lambda numbered: name(numbered[1]), **at_once)

    def kept(self, work, groups, combine, brief, name):
        mark = self.mark.with_suffix(".kept")
        second = groups[0][1]

        def one_killed(part):
            if part == second and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return work(part)

        return self.workers.kept(one_killed, groups, combine, brief, name)


@pytest.mark.slow
def test_a_worker_killed_while_it_judges_or_counts_changes_no_result(tmp_path):
    """Rules on files, AXIS on files, and agreement in a dataset of what came."""
    pytest.importorskip("dask.distributed")
    from axisjudge.judging.machines import judge_files
    from axisjudge.ratings import read_ratings
    from axisjudge.ratings.merging import write_dataset
    from axisjudge.readers import read_trajectories, write_trajectories
    from axisjudge.readers.by_file import made_of_files
    from axisjudge.scores.axis.scenario import axis_results
    from axisjudge.studies.agreement import agreement_of_dataset
    from axisjudge.verdict import IDENTITY
    from axisjudge.workbench import home

    runs = read_trajectories(home() / "data" / "demo" / "results").trajectories
    for number in range(4):
        write_trajectories(tmp_path / "runs" / f"{number}.jsonl", runs[number::4])
    whole = judge_files([tmp_path / "runs"], ["rules"], tmp_path / "whole.jsonl", InTurn())
    marks = [tmp_path / name for name in ("judging", "scoring", "counting")]
    with workers_of("local:2") as workers:
        found = judge_files([tmp_path / "runs"], ["rules"], tmp_path / "found.jsonl", OneKilled(workers, marks[0]))
        scored = list(made_of_files([tmp_path / "runs"], axis_results, OneKilled(workers, marks[1])))
        columns = [*IDENTITY, "status", "verdict", "rationale"]
        one, other = (read_ratings(tmp_path / f"{name}.jsonl").select(columns) for name in ("whole", "found"))
        assert one.equals(other)
        assert found.n_written == whole.n_written == one.height
        write_dataset([tmp_path / "found.jsonl"], tmp_path / "ratings", ratings_a_part=40)
        counted = [
            agreement_of_dataset(str(tmp_path / "ratings"), workers=each)[0].overall.to_dict()
            for each in (InTurn(), OneKilled(workers, marks[2]))
        ]
    assert counted[0] == counted[1]
    assert [each.to_dict() for each in scored] == [
        each.to_dict() for each in made_of_files([tmp_path / "runs"], axis_results, InTurn())
    ]
    assert all(mark.exists() for mark in (*marks, marks[2].with_suffix(".kept")))


COMMANDS = {
    "read": ("read", "results", "--to", "out"),
    "axis-result": ("axis-result", "results"),
    "scorecard": ("scorecard", "score", "results", "--out", "out"),
    "twins": ("twins", "results", "--edits", "cut_tail", "--edits", "other_tool", "--out", "out"),
    "agreement": ("agreement", "ratings"),
    "profile": ("profile", "ratings"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_two_workers_print_and_write_the_bytes_of_one_process(tmp_path, command):
    pytest.importorskip("dask.distributed")
    from axisjudge.ratings import read_ratings
    from axisjudge.ratings.merging import write_dataset
    from axisjudge.readers import read_trajectories, write_trajectories
    from axisjudge.sources import load_source
    from axisjudge.workbench import home

    load_source("demo").ratings.write_parquet(tmp_path / "ratings.parquet")
    write_dataset([tmp_path / "ratings.parquet"], tmp_path / "ratings", ratings_a_part=60)
    runs = read_trajectories(home() / "data" / "demo" / "results").trajectories[:24]
    for number in range(3):
        write_trajectories(tmp_path / "results" / f"{number}.jsonl", [runs[0], *runs[number::3]])  # a copy in each
    printed, written = [], []
    for cluster in ([], ["--cluster", "local:2"]):
        arguments = [sys.executable, "-m", "axisjudge", *COMMANDS[command], "--json", *cluster]
        run = subprocess.run(
            arguments, cwd=tmp_path, env={**os.environ, "AXISJUDGE_HOME": str(home())}, capture_output=True
        )
        assert run.returncode == 0, run.stderr
        printed.append(run.stdout)
        out = tmp_path / "out"
        if command == "twins":
            written.append(read_ratings(out).drop("created_at", "run_id", "call_id", "latency_s").write_json())
        else:
            written.append(out.read_bytes() if out.exists() else b"")
        out.unlink(missing_ok=True)
    assert printed[0] == printed[1]
    assert written[0] == written[1]
