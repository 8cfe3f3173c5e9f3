"""Where the parts of a piece of work run: in this process one after another, or on a dask.distributed cluster.

A part is done anew when its worker is lost or it fails; what fails again and again is named at the end, when all other
parts are done. Results come in the order of the parts, whoever is done first, so that the same parts give the same
result on any number of workers.
"""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import islice
from multiprocessing import get_all_start_methods
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from axisjudge.checks import InputError

if TYPE_CHECKING:
    from dask.distributed import Client

Part = TypeVar("Part")
Result = TypeVar("Result")
Brief = TypeVar("Brief")


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel; a script that has loaded ipykernel is none."""
    kernel = sys.modules.get("ipykernel.kernelapp")
    return kernel is not None and kernel.IPKernelApp.initialized()


def watched(steps: Sequence[Part], name: str, *, delay: float = 0) -> Iterator[Part]:
    """The steps with a bar, on a terminal's standard error and in a notebook, from `delay` seconds on."""
    from tqdm import tqdm

    # a report run says TQDM_DISABLE; JupyterLab shows standard error on red, as if something had failed
    shown: dict[str, Any] = {"file": sys.stdout} if in_notebook() else {"disable": None}
    yield from tqdm(steps, desc=name, leave=False, dynamic_ncols=True, delay=delay, **shown)


#: How often a part that failed is done anew.
RETRIES = 2
#: Parts that are under way or done ahead of the one whose result is waited for, for each worker.
_AHEAD = 4
#: Parts that are combined at once: what each of them holds is held together.
_AT_ONCE = 8
#: Seconds after which it is looked whether anybody is left to do a part; workers begin anew in less.
_PATIENCE = 30
#: Failed parts named in one message.
_MOST_NAMED = 5
#: Workers of this machine have a core each; nobody looks at where their time goes, and seldom at how they do.
_LEAN = {
    **{f"distributed.nanny.environ.{name}": 1 for name in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS")},
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",  # these three, as dask has them, are 8% of a core
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.large-graph-warning-threshold": "1GiB",  # a part may be the counts of 10^8 ratings
    "distributed.scheduler.unknown-task-duration": "10s",  # work worth its way to a worker that has none
}
_FORMS = "is local:N, the address of a scheduler (tcp://HOST:8786), or jobqueue:FILE.json, the file that it wrote"


class _Packed:
    """What a part gave, as bytes.

    A worker has a thread of its own for what travels, and polars may wait for ever where that thread writes a table out
    while the other one computes: tables are packed and opened by the latter alone.
    """

    def __init__(self, made: Any) -> None:
        self._bytes = pickle.dumps(made, protocol=5)

    def open(self) -> Any:
        return pickle.loads(self._bytes)


class Workers:
    """What carries out the parts of a piece of work: here one part after another in this process."""

    def prepare(self, *modules: str) -> None:
        """Have the workers import `modules` while this process does something else."""

    def map(
        self, work: Callable[[Part], Result], parts: Sequence[Part], name: Callable[[Part], str], *, at_once: int = 1
    ) -> Iterator[Result]:
        """`work` of each part, in the order of the parts; the first that fails ends it."""
        return map(work, parts)

    def kept(
        self,
        work: Callable[[Part], Result],
        groups: Sequence[Sequence[Part]],
        combine: Callable[[Sequence[Result]], Result],
        brief: Callable[[Result], Brief],
        name: Callable[[Part], str],
    ) -> list[tuple[Any, list[Brief]]]:
        """What `combine` makes of `work` of each group's parts, left where it was made: `map` takes it in a part.

        With it comes what it is in `brief`, one or several that `combine` makes one of.
        """
        whole = [_combined([_together(work, combine, lot) for lot in _lots(group)], combine) for group in groups]
        return [(each, [brief(each)]) for each in whole]


InTurn = Workers


def _lots(parts: Sequence[Part], at_once: int = _AT_ONCE) -> Iterator[Sequence[Part]]:
    return (parts[at : at + at_once] for at in range(0, len(parts), at_once))


def _each(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    return [*map(work, parts)]


def _imported(modules: Sequence[str]) -> None:
    for name in modules:
        import_module(name)


def _together(
    work: Callable[[Part], Result], combine: Callable[[Sequence[Result]], Result], parts: Sequence[Part]
) -> Result:
    return combine(_each(work, parts))


def _carried_out(work: Callable[..., Any], *given: Any) -> _Packed:
    """What `work` makes of what is given, in the one thread of a worker that opens and packs."""
    return _Packed(work(*map(_opened, given)))


def _opened(given: Any) -> Any:
    """The same with everything packed in it, and in its lists and tuples, as it was made."""
    if isinstance(given, _Packed):
        return given.open()
    return type(given)(map(_opened, given)) if type(given) in (list, tuple) else given


def _combined(made: list[Any], combine: Callable[[Sequence[Any]], Any]) -> Any:
    """All that was made as one, lot by lot."""
    while len(made) > 1:
        made = [combine(lot) for lot in _lots(made)]
    return made[0]


class OnCluster(Workers):
    """Parts on the workers of a dask.distributed cluster, as many at a time as they can take.

    Where the workers are `ours`, and not a queue's that may yet come, it is an error that none is left.
    """

    def __init__(self, client: Client, *, ours: bool = False) -> None:
        self._client, self._ours = client, ours
        self._prepared: list[Any] = []

    def prepare(self, *modules: str) -> None:
        """Have the workers import `modules` while this process does something else."""
        self._prepared = [
            self._client.submit(_imported, modules, workers=[address], pure=False) for address in self._addresses()
        ]

    def map(
        self, work: Callable[[Part], Result], parts: Sequence[Part], name: Callable[[Part], str], *, at_once: int = 1
    ) -> Iterator[Result]:
        """`work` of each part; failed parts are done anew, then named when the others are done.

        A worker takes so many parts `at_once`, which pays where the work of each is short. The first parts are under
        way before the first result is asked for.

        Raises
        ------
        InputError
            Parts failed; `name` says which.
        """
        from dask.utils import funcname

        ahead = _AHEAD * max(1, self._n_workers())
        lots = [*_lots(parts, at_once)]

        def submit(at: int) -> Any:  # what bears the name of one work is thought to take as long; what is first, begins
            key = f"{funcname(work)}-{uuid4().hex}"
            return self._client.submit(
                _carried_out, _each, work, lots[at], key=key, priority=-at, retries=RETRIES, pure=False
            )

        return self._results(submit, lots, name, [submit(at) for at in range(min(ahead, len(lots)))])

    def kept(
        self,
        work: Callable[[Part], Result],
        groups: Sequence[Sequence[Part]],
        combine: Callable[[Sequence[Result]], Result],
        brief: Callable[[Result], Brief],
        name: Callable[[Part], str],
    ) -> list[tuple[Any, list[Brief]]]:
        """What `combine` makes of `work` of each group's parts, as futures of the cluster, and what is brief of each.

        A worker takes a lot of parts, so that what it makes of each of them need not travel. What is brief is that of
        lots, so that nobody waits for the whole.

        Raises
        ------
        InputError
            Parts failed; `name` says which.
        """
        submit = partial(self._client.submit, _carried_out, retries=RETRIES, pure=False)
        lots = [[*_lots(group)] for group in groups]
        made = [[submit(_together, work, combine, lot) for lot in group] for group in lots]
        whole = [_combined(group, partial(submit, combine)) for group in made]
        briefs = [submit(_each, brief, [lot]) for group in made for lot in group]
        del made  # a lot goes when it is in the whole
        results = self._results(briefs.__getitem__, [lot for group in lots for lot in group], name, briefs)
        rest = iter([*results])
        return [(each, [*islice(rest, len(group))]) for each, group in zip(whole, lots, strict=True)]

    def _results(
        self,
        submit: Callable[[int], Any],
        lots: Sequence[Sequence[Part]],
        name: Callable[[Part], str],
        begun: list[Any],
    ) -> Iterator[Any]:
        from tqdm import tqdm

        ahead = len(begun)
        failed: list[str] = []
        for at, lot in enumerate(tqdm(lots, unit=" parts", disable=None, dynamic_ncols=True)):
            while len(begun) < min(len(lots), at + ahead):
                begun.append(submit(len(begun)))
            self._until_done(begun[at])
            try:
                results = begun[at].result().open()
            except Exception as error:  # whatever a worker raised, its loss included
                failed.append(f"{', '.join(map(name, lot))}: {' '.join(str(error).split())}")
            else:
                yield from results
            begun[at] = None  # the cluster forgets a result that nobody holds
        if failed:
            more = f"; and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
            named = "; ".join(failed[:_MOST_NAMED]) + more
            raise InputError("--cluster", f"{len(failed)} of {len(lots)} parts failed {RETRIES + 1} times: {named}")

    def _n_workers(self) -> int:
        return len(self._addresses())

    def _addresses(self) -> list[str]:
        return list(self._client.scheduler_info(n_workers=-1)["workers"])

    def _until_done(self, part: Any) -> None:
        from dask.distributed import wait

        n_looks = 0  # with nobody there, one after another: a lost worker may be on its way back
        while not part.done():
            try:
                wait(part, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
            except TimeoutError:
                n_looks = 0 if self._n_workers() else n_looks + 1
                if self._ours and n_looks > 1:
                    cure = "run it again: what was written stays"
                    raise InputError(
                        "--cluster", "needs workers, and all of this machine's are lost", cure=cure
                    ) from None


def _workers_here(number: int, begin: str, tries: int = RETRIES + 1) -> Any:
    """Workers of this machine; where they do not begin it is tried again, then named.

    Later ones, for those that are lost too, are processes that depend on no other but this: the one that is copied may
    itself be lost.
    """
    import dask
    from dask.distributed import LocalCluster

    try:
        with dask.config.set({"distributed.worker.multiprocessing-method": begin}):
            return LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=number, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
            )
    except (RuntimeError, OSError, EOFError) as error:
        if tries > 1:
            return _workers_here(number, "spawn", tries - 1)
        why = " ".join(str(error.__cause__ or error).split())
        raise InputError("--cluster", f"needs workers, which {RETRIES + 1} times did not begin", why) from error


def _begin_forks() -> str:
    """How workers of this machine begin: where it can be, as copies of a process that imports dask while this one does.

    Polars is not among what it imports: a copy would lack its threads.
    """
    if "forkserver" not in get_all_start_methods():
        return "spawn"
    from multiprocessing.forkserver import ensure_running, set_forkserver_preload

    set_forkserver_preload(["distributed"])
    ensure_running()
    return "forkserver"


@contextmanager
def workers_of(cluster: str | None) -> Iterator[Workers]:
    """The workers that `cluster` names; without one this process.

    Parameters
    ----------
    cluster : str, optional
        ``local:N`` for N processes of this machine, the address of a dask scheduler, or ``jobqueue:FILE``, the
        scheduler file that the workers of a queue (SLURM, PBS) or anything else were given; ``FILE`` alone will do.

    Raises
    ------
    InputError
        No such form, a scheduler that does not answer, or dask is not installed.
    """
    if cluster is None:
        yield InTurn()
        return
    form, _, rest = cluster.partition(":")
    if form == "local":
        if not (rest.isdigit() and int(rest)):
            raise InputError("--cluster", _FORMS, cluster)
        begin = _begin_forks()
    try:
        import dask
        from dask.distributed import Client
    except ModuleNotFoundError as error:
        cure = "install axisjudge[cluster]"
        raise InputError("--cluster", "needs dask.distributed", error.name, cure) from error
    gc.collect()  # a client that found no scheduler, and is collected while another one starts, waits for ever
    with dask.config.set(_LEAN):
        if form == "local":
            with _workers_here(int(rest), begin) as here, Client(here) as client:  # type: ignore[no-untyped-call]
                yield OnCluster(client, ours=True)
            return
        try:
            file = rest if form == "jobqueue" else cluster
            how: dict[str, Any] = {"scheduler_file": file} if Path(file).is_file() else {"address": cluster}
            client = Client(**how, timeout=10)  # type: ignore[no-untyped-call]
        except (OSError, ValueError, TypeError, KeyError, AssertionError) as error:  # a file of something else, too
            cure = "start it with `dask scheduler`; on a queue submit `dask worker --scheduler-file FILE.json`"
            raise InputError("--cluster", _FORMS, cluster, cure) from error
        with client:
            yield OnCluster(client)
