"""Parts on workers: the same results in the same order; what fails is named, what is lost is done anew."""

import os
import signal
import time

import pytest

from axisjudge.checks import InputError
from axisjudge.cluster import InTurn, OnCluster, workers_of


def square(number):
    if number == 13:
        raise InputError("thirteen", "is no number")
    return number * number


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


@pytest.mark.parametrize("named", ["local:none", "local:0", "jobqueue:slurm.yaml", "nonsense://x"])
def test_what_is_no_cluster_is_refused(named):
    with pytest.raises(InputError, match="--cluster"), workers_of(named):
        pass


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
