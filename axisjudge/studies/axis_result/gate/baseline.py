"""Baselines: the scores of runs as a JSON file in git, and their history across commits."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from axisjudge.checks import InputError
from axisjudge.results import Result, dumps
from axisjudge.scores.axis.result import AxisResult
from axisjudge.scores.curves.fitted import CurveFit
from axisjudge.studies.axis_result.runs import QUANTITIES
from axisjudge.trajectory import Trajectory
from axisjudge.workbench import own, whole_or_not_at_all

FORMAT = "axisjudge-baseline/1"
#: The success that the original program gives a call with an error that nobody judged.
FAILED_SUCCESS = 0.3
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
#: How programs say that what they called could not be reached (errno names, and curl's and Python's words for them).
_UNREACHED = re.compile(
    r"\bE(CONNREFUSED|CONNRESET|CONNABORTED|HOSTUNREACH|NETUNREACH|NOTFOUND|TIMEDOUT|AI_AGAIN|PIPE)\b"
    r"|connection (refused|reset)|(could not|couldn't|failed to) (connect|resolve)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class ScoredRun(Result):
    """What a baseline keeps of one run.

    `scores` has the composite and the four dimensions, None where there is none; `ends` are those of the composite.
    `broken` is None, or says why nothing of the run can have worked: it failed, or each of its calls did. `calls` is
    how many it made; baselines made before it was kept do not know.
    """

    scenario: str
    agent: str
    trajectory_id: str
    scores: Mapping[str, float | None]
    ends: tuple[float, float]
    broken: str | None = None
    calls: int | None = field(default=None, compare=False)

    @property
    def pair(self) -> tuple[str, str]:
        """Scenario and agent."""
        return self.scenario, self.agent


@dataclass(frozen=True, kw_only=True)
class Baseline(Result):
    """Runs with their scores under one name, and the ruler they were measured with."""

    name: str
    ruler: Mapping[str, Any]
    runs: tuple[ScoredRun, ...]


def scored_runs(trajectories: Sequence[Trajectory], results: Sequence[AxisResult]) -> tuple[ScoredRun, ...]:
    """What a gate compares of each run, ordered by scenario, agent and run.

    Raises
    ------
    InputError
        A run of no scenario: nothing says which runs are repeats of one another.
    """
    runs = []
    for trajectory, result in zip(trajectories, results, strict=True):
        if result.task_id is None:
            cure = "name the scenario with --checks, or give runs that name their task, as AXIS reports do"
            raise InputError(
                f"run {result.trajectory_id}", "names no scenario, so its repeats are not known", cure=cure
            )
        dimensions: dict[str, float | None] = {each.name: each.score for each in result.dimensions}
        runs.append(
            ScoredRun(
                scenario=result.task_id,
                agent=result.agent or "not stated",
                trajectory_id=result.trajectory_id,
                scores={name: {**dimensions, "composite": result.composite}[name] for name in QUANTITIES},
                ends=result.interval,
                broken=_broken(trajectory, result),
                calls=sum(each.is_call for each in result.interactions),
            )
        )
    return tuple(sorted(runs, key=lambda each: (*each.pair, each.trajectory_id)))


def ruler_of(results: Iterable[AxisResult], curves: Mapping[str, CurveFit] | None = None) -> dict[str, Any]:
    """By what the scores were measured: only scores of one ruler can be compared."""
    results = list(results)
    return {
        "rules": sorted({each.rules.name for each in results}),
        "judged_by": sorted({each.judged_by for each in results}),
        "weights": dict(results[0].weights) if results else {},
        "curves": {name: repr(fit.curve) for name, fit in sorted((curves or {}).items())},
    }


def folder() -> Path:
    """Where baselines are kept: the folder ``baselines`` of the workbench, without one that of the working folder."""
    try:
        return own() / "baselines"
    except InputError:
        return Path("baselines")


def path_of(name: str) -> Path:
    """The file of a baseline.

    Raises
    ------
    InputError
        A name of other than 1 to 64 letters, digits, ``-`` and ``_``.
    """
    if not _NAME.fullmatch(name):
        raise InputError("baseline", "a name is 1 to 64 letters, digits, - and _", name)
    return folder() / f"{name}.json"


def save_baseline(baseline: Baseline) -> Path:
    """Write the baseline as a whole, replacing what bore its name; git keeps what was there."""
    target = path_of(baseline.name)
    with whole_or_not_at_all(target) as unfinished:
        unfinished.write_text(dumps({"format": FORMAT, **baseline.to_dict()}), encoding="utf-8")
    return target


def read_baseline(name: str) -> Baseline:
    """The baseline of that name.

    Raises
    ------
    InputError
        There is none of that name, or its file is no baseline.
    """
    path = path_of(name)
    if not path.is_file():
        kept = ", ".join(sorted(each.stem for each in path.parent.glob("*.json"))) or "none yet"
        raise InputError(f"baseline {name}", f"is not there; kept are: {kept}", cure="make it with --save-baseline")
    return _baseline(path.read_text(encoding="utf-8"), str(path))


@dataclass(frozen=True)
class Commit(Result):
    """One commit's state of a baseline, for one scenario and agent."""

    commit: str
    date: str
    subject: str
    scenario: str
    agent: str
    n_runs: int
    n_broken: int
    means: Mapping[str, float]


def history(name: str) -> list[Commit]:
    """Mean scores of a baseline per commit of its file, the newest first, one row a scenario and agent.

    Raises
    ------
    InputError
        The file stands in no git repository, or was never committed.
    """
    path = path_of(name).absolute()
    listed = _git(path, "log", "--format=%H%x1f%cs%x1f%s", "--", path.name).splitlines()
    if not listed:
        raise InputError(f"baseline {name}", "was never committed", cure=f"git add {path.name} and commit it")
    rows = []
    for line in listed:
        commit, date, subject = line.split("\x1f", 2)
        try:
            text = _git(path, "show", f"{commit}:./{path.name}")
        except InputError:  # the commit that took the file away
            continue
        for (scenario, agent), runs in by_pair(_baseline(text, f"{path.name} at {commit[:8]}").runs).items():
            broken = sum(each.broken is not None for each in runs)
            means = {each: fmean(scores) for each in QUANTITIES if (scores := values(runs, each))}
            rows.append(Commit(commit[:8], date, subject, scenario, agent, len(runs), broken, means))
    return rows


def by_pair(runs: Iterable[ScoredRun]) -> dict[tuple[str, str], list[ScoredRun]]:
    """Runs by scenario and agent, in order."""
    pairs: dict[tuple[str, str], list[ScoredRun]] = {}
    for run in sorted(runs, key=lambda each: each.pair):
        pairs.setdefault(run.pair, []).append(run)
    return pairs


def values(runs: Iterable[ScoredRun], quantity: str) -> list[float]:
    """The scores that there are."""
    return [float(score) for each in runs if (score := each.scores.get(quantity)) is not None]


def _broken(trajectory: Trajectory, result: AxisResult) -> str | None:
    """Why nothing of a run can have worked; None where some of it did, or it called nothing."""
    if result.failed:
        return "the run failed"
    answers = [each.content or "" for each in trajectory.steps if each.role == "tool"]
    if answers and all(_UNREACHED.search(text) for text in answers):
        return f"none of its {len(answers)} calls reached what it called"
    calls = {each.id for each in result.interactions if each.is_call}
    rows = [row for row in result.signal_rows if row["id"] in calls]
    failed = {row["id"] for row in rows if row["success"] is not None and row["success"] <= FAILED_SUCCESS}
    return f"each of its {len(calls)} calls failed" if calls and failed == calls else None


def _baseline(text: str, where: str) -> Baseline:
    from cattrs.preconf.json import make_converter

    try:
        saved = json.loads(text)
        if saved["format"] != FORMAT:
            raise InputError(where, f"must be of format {FORMAT}", saved["format"])
        baseline = make_converter(detailed_validation=False).structure(saved, Baseline)
        if lacking := next((run for run in baseline.runs if set(run.scores) != set(QUANTITIES)), None):
            raise KeyError(f"scores of run {lacking.trajectory_id}")
        return baseline
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(where, "is no baseline", what, "make it anew with --save-baseline") from None


def _git(path: Path, *arguments: str) -> str:
    command = ["git", "-C", str(path.parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8").stdout
    except (OSError, subprocess.CalledProcessError) as error:
        told = getattr(error, "stderr", None) or str(error)
        raise InputError(path.name, "its history needs git and a repository", told.strip().splitlines()[0]) from None
