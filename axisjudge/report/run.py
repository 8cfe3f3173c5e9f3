"""From notebooks to published reports: check, run aside, and only then put in place."""

from __future__ import annotations

import json
import queue
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from axisjudge import workbench as place
from axisjudge.checks import InputError, one_of
from axisjudge.cluster import workers_of
from axisjudge.report import digest
from axisjudge.report.kernel import ReportError, WarmKernels, stop_kernels
from axisjudge.report.links import EXPLORER
from axisjudge.report.made import (
    NOTES,
    UNSURE,
    figures_in,
    provenance_cell,
    read_note,
    tables_in,
    why_stale,
    write_note,
)
from axisjudge.report.notebook import (
    checked_parameters,
    find_notebook,
    parameters_of,
    read_source,
    report_notebooks,
)
from axisjudge.sharing import shared

#: Notebooks run at the same time: a kernel is one process, and takes most of a core.
AT_ONCE = 2

#: The executed notebook of a run that failed is left under this name beside the old report.
FAILED = "failed.ipynb"


@dataclass(frozen=True)
class ReportResult:
    """One report after a run.

    Attributes
    ----------
    status, seconds : {"written", "up to date"}, float
        Whether the notebook was run or nothing had changed, and the time it took.
    n_results, unanswered : int, str
        Results recorded in results.json, and why the data hold too little for an answer (empty where there is one).
    secrets : mapping of kind to int
        Places from which keys and tokens were taken out.
    """

    name: str
    folder: Path
    html: Path
    status: Literal["written", "up to date"]
    seconds: float
    n_results: int
    unanswered: str = ""
    secrets: Mapping[str, int] = field(default_factory=dict)


OnDone = Callable[[ReportResult, int, int], None]


@dataclass(frozen=True)
class Job:
    """A notebook whose parameters have been checked, and the folder in which its report is published.

    `given` are the parameters that are passed to it, `parameters` those and the defaults of all others; `command` makes
    the report again.
    """

    name: str
    source: Path
    notebook: Any
    given: dict[str, Any]
    parameters: dict[str, Any]
    folder: Path
    made_from: str
    command: str


def run_report(
    name: str, parameters: Mapping[str, Any] | None = None, *, workbench: str | Path | None = None, force: bool = False
) -> ReportResult:
    """Run one notebook and publish its report; see `run_reports`."""
    return run_reports([name], parameters, workbench=workbench, force=force)[0]


def run_reports(
    names: Iterable[str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    force: bool = False,
    workbench: str | Path | None = None,
    on_done: OnDone | None = None,
    cluster: str | None = None,
) -> list[ReportResult]:
    """Run notebooks with papermill and publish reports/<name>/: report.md, report.html, results.json and figures.

    A report is made anew when its notebook, its parameters, what this package means to it, the packages below it or a
    file that its last run read have changed, and only then. A notebook that fails publishes nothing: the old report
    stays, and the notebook as far as it ran is left as reports/<name>/failed.ipynb.

    Parameters
    ----------
    names : iterable of str, optional
        Notebooks with or without their number; by default all ``NN_name.ipynb``.
    parameters : mapping, optional
        Passed to each of them; text is read as the type of the parameter.
    force : bool
        Run even if nothing changed.
    workbench : path, optional
        By default the workbench of this process.
    on_done : callable, optional
        Called with each result as it comes, how many there are by now, and how many there will be.
    cluster : str, optional
        Workers that share this workbench's folder (see `axisjudge.cluster.workers_of`); each makes one report at a
        time, in a kernel of its own.

    Raises
    ------
    InputError
        An unknown report or parameter, a value of the wrong type, a notebook without a parameters cell.
    ReportError
        One or more notebooks failed, one line each; the others are published.
    """
    home = Path(workbench).resolve() if workbench is not None else place.own()
    known = report_notebooks(home)
    sources = list(known.values()) if names is None else [find_notebook(name, home) for name in names]
    if not sources:
        raise InputError("notebooks", "there is no notebook named NN_name.ipynb to run", str(home / "notebooks"))
    jobs = [checked_job(source, parameters or {}, home) for source in dict.fromkeys(sources)]
    return run_jobs(jobs, home, force=force, on_done=on_done, cluster=cluster)


def run_gallery(names: Iterable[str] | None = None, **how: Any) -> list[ReportResult]:
    """Make the reports that reports/gallery/gallery.toml lists: a notebook and its parameters for each.

    Parameters
    ----------
    names : iterable of str, optional
        Which of them; by default all.
    **how
        ``force``, ``on_done`` and ``cluster``, as in `run_reports`.

    Raises
    ------
    InputError
        There is no such list, or an entry of it names no notebook or an unknown parameter.
    """
    from axisjudge.report.index import read_gallery, write_contents

    home = place.own()
    entries = read_gallery(home)
    chosen = {one_of("report of the gallery", name, list(entries)) for name in (entries if names is None else names)}
    folder = home / "reports" / "gallery"
    jobs = [
        checked_job(find_notebook(entry.notebook, home), entry.parameters, home, folder / name)
        for name, entry in entries.items()
        if name in chosen
    ]
    done = run_jobs(jobs, home, **how)
    write_contents(home)
    return done


def run_jobs(
    jobs: Iterable[Job],
    home: Path,
    *,
    force: bool = False,
    on_done: OnDone | None = None,
    cluster: str | None = None,
) -> list[ReportResult]:
    """Run the notebooks of stale reports, as many at once as there are lanes or workers; see `run_reports`."""
    jobs, stale = list(jobs), []
    done: dict[Path, ReportResult] = {}
    failures: dict[Path, str] = {}
    for job in jobs:
        start = time.perf_counter()
        if force or why_stale(job.folder, home, job.made_from):
            stale.append(job)
        else:
            done[job.folder] = _result(job, "up to date", time.perf_counter() - start)
            if on_done:
                on_done(done[job.folder], len(done), len(jobs))
    stale.sort(key=lambda job: -read_note(job.folder).get("seconds", 0))  # the longest first
    for job, result in _in_lanes(stale, home) if cluster is None else _on_workers(stale, home, cluster):
        if isinstance(result, ReportError):
            failures[job.folder] = str(result)
        elif isinstance(result, BaseException):
            raise result
        else:
            done[job.folder] = result
            if on_done:
                on_done(result, len(done), len(jobs))
    if stale or not (home / "reports" / "index.html").exists():
        from axisjudge.report.index import write_index

        write_index(home / "reports")
    if failures:
        raise ReportError("\n".join(failures[job.folder] for job in jobs if job.folder in failures))
    return [done[job.folder] for job in jobs]


def _in_lanes(jobs: list[Job], home: Path) -> Iterator[tuple[Job, ReportResult | BaseException]]:
    """Every job with its result, or with what went wrong, as they come; an interrupt stops the kernels at once."""
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    for needed in ("ipykernel", "jupyter_client", "nbconvert", "papermill"):  # said here, not by a thread that dies
        if find_spec(needed) is None:
            raise ModuleNotFoundError(f"No module named {needed!r}", name=needed)
    ended: queue.SimpleQueue[tuple[Job, ReportResult | BaseException]] = queue.SimpleQueue()
    lanes = [
        threading.Thread(target=_run_lane, args=(waiting, ended, home), daemon=True)
        for _ in range(min(AT_ONCE, len(jobs)))
    ]
    for lane in lanes:
        lane.start()
    whole = False
    try:
        for _ in jobs:
            while ended.empty():
                time.sleep(0.02)  # and never a wait without end, in which an interrupt may not be heard
            yield ended.get()
        whole = True
    finally:
        while not waiting.empty():
            waiting.get()
        while any(lane.is_alive() for lane in lanes):
            if not whole:
                stop_kernels()
            for lane in lanes:
                lane.join(timeout=0.2)


def _on_workers(jobs: list[Job], home: Path, cluster: str) -> Iterator[tuple[Job, ReportResult | ReportError]]:
    """Every job with its result, in their order; what a worker loses is begun anew on another."""
    with workers_of(cluster) as workers:
        yield from zip(jobs, workers.map(partial(_make_alone, home=home), jobs, attrgetter("name")), strict=True)


def _make_alone(job: Job, *, home: Path) -> ReportResult | ReportError:
    """One report, in a kernel of its own."""
    with WarmKernels(home) as lane:
        try:
            return _make(job, home, lane)
        except ReportError as error:
            return error


def _run_lane(waiting: Any, ended: Any, home: Path) -> None:
    with WarmKernels(home) as lane:
        while True:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                ended.put((job, _make(job, home, lane)))
            except BaseException as error:
                ended.put((job, error))


def checked_job(source: Path, given: Mapping[str, Any], home: Path, folder: Path | None = None) -> Job:
    """The notebook at `source` with parameters that it knows; its report goes to `folder`, else to reports/<name>."""
    name, notebook = source.stem, read_source(source)
    known = parameters_of(notebook, name)
    parameters = checked_parameters(known, given, name)
    given = {key: _absolute(parameters[key], home) for key in given}
    parameters |= given
    made_from = digest.input_digest(home, notebook, parameters)
    target = home / "reports" / name if folder is None else folder
    again = f"axisjudge report --gallery {target.name}" if folder else _command(name, given, home)
    return Job(name, source, notebook, given, parameters, target, made_from, again)


def _command(name: str, given: Mapping[str, Any], home: Path) -> str:
    """The command that makes a report anew, without the folders of this machine."""
    import shlex

    words = (f"-p {shlex.quote(f'{key}={digest.published_value(value, home)}')}" for key, value in given.items())
    return " ".join([f"axisjudge report {name}", *words])


def _absolute(value: Any, home: Path) -> Any:
    """Paths as the notebook can find them, from where the caller stands or from the workbench; all else unchanged."""
    return digest.with_paths(digest.with_paths(value, Path.cwd(), str), home, str)


def _result(job: Job, status: Literal["written", "up to date"], seconds: float) -> ReportResult:
    saved = json.loads((job.folder / "results.json").read_text(encoding="utf-8"))
    results, html = saved["results"], job.folder / "report.html"
    why, secrets = results.get("unanswered", ""), saved.get("secrets", {})
    return ReportResult(job.folder.name, job.folder, html, status, seconds, len(results), why, secrets)


def _make(job: Job, home: Path, lane: WarmKernels) -> ReportResult:
    """Run one notebook in a staging folder and publish what it made; one process at a time makes a report."""
    from filelock import FileLock

    start, began = time.perf_counter(), time.time()
    (job.folder.parent / NOTES).mkdir(parents=True, exist_ok=True)
    with FileLock(job.folder.parent / NOTES / f"{job.folder.name}.lock"):
        for left in job.folder.parent.glob(f".{job.folder.name}-*"):  # by a run that was killed
            if "-" not in left.name.removeprefix(f".{job.folder.name}-"):  # else of a report whose name begins alike
                shutil.rmtree(left, ignore_errors=True)
        inputs = digest.named_inputs(job.parameters, home)
        with tempfile.TemporaryDirectory(prefix=f".{job.folder.name}-", dir=job.folder.parent) as aside:
            staging = Path(aside) / job.name
            staging.mkdir()
            book = _run(job, home, staging, lane)
            read = _write_pages(job, home, staging, book, inputs, time.perf_counter() - start)
            _publish(staging, job)
        write_note(job.folder, home, job.made_from, read, began=began, seconds=time.perf_counter() - start)
    return _result(job, "written", time.perf_counter() - start)


def _run(job: Job, home: Path, staging: Path, lane: WarmKernels) -> Any:
    """Run the notebook; if it fails, leave it beside the old report as far as it came."""
    from axisjudge.report.page import PAGE_FILE

    executed = staging / f"{job.name}.ipynb"
    try:
        book = lane.execute(job.source, executed, job.given, staging=staging)
    except ReportError as error:
        job.folder.mkdir(exist_ok=True)
        if not executed.exists():
            raise
        executed.replace(job.folder / FAILED)
        raise ReportError(f"{error} (as far as it ran: {digest.portable(job.folder / FAILED, home)})") from error
    if not (staging / PAGE_FILE).exists():
        raise ReportError(f"{job.source.name}: made no Page, so there is nothing to publish")
    return book


def _write_pages(
    job: Job, home: Path, staging: Path, executed: Any, inputs: Mapping[str, str], seconds: float
) -> dict[str, Any]:
    """results.json, report.md and report.html from what the notebook said, without keys; what it read is given back.

    `inputs` are the hashes of files that parameters name, as they were before it ran.
    """
    from axisjudge import __version__
    from axisjudge.report.notebook import notebook_text
    from axisjudge.report.page import PAGE_FILE
    from axisjudge.report.render import report_html, report_markdown, title_of
    from axisjudge.results import dumps

    facts = json.loads((staging / PAGE_FILE).read_text(encoding="utf-8"))
    raters, read, costs, taken = (facts.pop(name) for name in ("raters", "read", "costs", "secrets"))
    secrets, after = Counter[str](taken), digest.named_inputs(job.parameters, home)
    _take_keys_out(executed, secrets)
    parameters = {key: digest.published_value(value, home) for key, value in job.parameters.items()}
    results = {
        **facts,
        "report": job.name,
        "title": title_of(job.notebook, job.name),
        "axisjudge": __version__,
        "command": job.command,
        "parameters": parameters,
        "seeds": {key: value for key, value in parameters.items() if key.split("_")[-1] == "seed"},
        "inputs": {
            **facts["inputs"],
            **{name: sha if after.get(name) == sha else UNSURE for name, sha in inputs.items()},
            "notebook": digest.notebook_sha256(job.notebook),
        },
    }
    results |= {"secrets": dict(secrets)} if secrets else {}
    (staging / "results.json").write_text(dumps(shared(results)), encoding="utf-8")
    first = facts.get("standing", {}).get("headline", "")
    (staging / "report.md").write_text(report_markdown(executed, first), encoding="utf-8")
    executed.metadata.pop("papermill", None)  # it names the folders of this machine, as the cell that it injects does
    for cell in executed.cells:
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.source = "\n".join(["# Parameters", *(f"{key} = {parameters[key]!r}" for key in job.given)])
    executed.cells.append(provenance_cell(home, results, raters, costs, seconds))
    (staging / f"{job.name}.ipynb").write_text(notebook_text(executed), encoding="utf-8")
    html = report_html(executed, results["title"], job.made_from, first)
    (staging / "report.html").write_text(html, encoding="utf-8")
    return dict(read)


def _take_keys_out(book: Any, secrets: Counter[str]) -> None:
    """Take keys and tokens that runs and reasons hold out of a notebook's outputs; they are counted in `secrets`."""
    for output in (each for cell in book.cells for each in cell.get("outputs", [])):
        if "text" in output:
            output["text"] = shared(output["text"], secrets)
        for kind, content in output.get("data", {}).items():
            if not kind.startswith("image/"):
                output["data"][kind] = shared(content, secrets)


def _publish(staging: Path, job: Job) -> None:
    """Move the files of a report into place, each in one step.

    The note on what it was made from names these files and is written last: should a kill come between two moves, the
    note fits no longer and the next run makes the report anew.
    """
    for files_in, name in ((figures_in, "figures"), (tables_in, "tables")):
        fresh = files_in(staging)
        if fresh:
            (job.folder / name).mkdir(parents=True, exist_ok=True)
        for file in fresh:
            file.replace(job.folder / name / file.name)
        for stale in {path.name for path in files_in(job.folder)} - {path.name for path in fresh}:
            (job.folder / name / stale).unlink()
    job.folder.mkdir(parents=True, exist_ok=True)
    if not (staging / EXPLORER).exists():
        (job.folder / EXPLORER).unlink(missing_ok=True)
    for name in ("results.json", "report.md", f"{job.name}.ipynb", "report.html"):
        (staging / name).replace(job.folder / name)
    if (staging / EXPLORER).exists():
        (staging / EXPLORER).replace(job.folder / EXPLORER)
    (job.folder / FAILED).unlink(missing_ok=True)
