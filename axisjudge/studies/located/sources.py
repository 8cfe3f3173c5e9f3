"""Where the located truth of a page comes from: what ships with the workbench, or results of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from axisjudge.checks import one_of
from axisjudge.datasets.verdicts import published_findings, published_verdicts
from axisjudge.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class LocatedSource:
    """Judges' ratings with labels of kind reference or human, and the outcome of each run.

    `findings` counts what the rules' kinds of finding flag, where that is known; `about` says what this is.
    """

    ratings: pl.DataFrame
    runs: pl.DataFrame
    findings: pl.DataFrame | None
    about: str


def load_located(
    trajectories: str = "",
    *,
    source: str = "published",
    ratings: str = "",
    judges: Sequence[str] = ("rules",),
    tools: str = "",
    subset: str = "",
) -> LocatedSource:
    """Load ratings, reference and outcomes.

    Parameters
    ----------
    trajectories : str
        Results of tau2-bench or tau-bench (file, folder or glob); they go before `source`.
    source : str
        ``published``: the verdicts that ship with the workbench, of one `subset` or all. ``demo``: the shipped demo's
        runs with their simulated judges, located by the reference and by what was planted.
    ratings, judges, tools : str
        Of `trajectories`: a file of ratings of them, or else who judges them now, and their tool definitions.

    Raises
    ------
    InputError
        Files that cannot be read, no such source, or runs whose task says nothing of what was expected.
    """
    if trajectories:
        return _own(trajectories, ratings, judges, tools)
    if one_of("source", source, ("published", "demo")) == "demo":
        return _demo()
    table, runs = published_verdicts(subset)
    return LocatedSource(table, runs, published_findings(), _PUBLISHED)


def _own(trajectories: str, ratings: str, judges: Sequence[str], tools: str) -> LocatedSource:
    from axisjudge.imports.reference import read_reference
    from axisjudge.judging import judge
    from axisjudge.ratings import read_ratings
    from axisjudge.readers import read_trajectories

    read = read_trajectories(trajectories, tools=tools or None).trajectories
    judged = read_ratings(ratings, latest=True) if ratings else judge(read, judges, progress=False)
    about = f"The runs in {Path(trajectories).name}, with the reference's own reading of their tasks."
    return LocatedSource(pl.concat([judged, read_reference(trajectories)]), _outcomes(read), None, about)


def _demo() -> LocatedSource:
    from axisjudge.datasets import demo_paths
    from axisjudge.imports.reference import read_reference
    from axisjudge.readers import read_trajectories
    from axisjudge.sources import load_source

    demo = load_source("demo")
    runs = _outcomes(read_trajectories(*demo_paths()).trajectories)
    located = read_reference(*demo_paths()).filter(
        pl.col("trajectory_id").is_in(demo.ratings["trajectory_id"].implode())
    )
    about = (
        f"{demo.about} The reference knows only what each task expects, and so holds faults against failed runs alone; "
        "what was planted is known of every run."
    )
    return LocatedSource(pl.concat([demo.ratings, located]), runs, None, about)


def _outcomes(runs: Iterable[Trajectory]) -> pl.DataFrame:
    outcomes = [(run.id, run.domain or "", "all", run.reward < 1) for run in runs if run.reward is not None]
    return pl.DataFrame(outcomes, schema=["trajectory_id", "domain", "half", "failed"], orient="row")


_PUBLISHED = (
    "Verdicts on 883 public runs, recorded and shipped with the workbench without their texts: tau2-bench retail (four "
    "agents), tau-bench airline (one), AgentRx (tau-bench retail, one), and questions of HotpotQA answered by search. "
    "The rules judged them in two versions; the second was mended on half of the tasks and the other half was looked "
    "at afterwards."
)
