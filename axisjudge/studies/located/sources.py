"""Where the located truth of a page comes from: what ships with the workbench, or results of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from axisjudge.datasets.verdicts import published_findings, published_verdicts


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
    trajectories: str = "", *, ratings: str = "", judges: Sequence[str] = ("rules",), tools: str = "", subset: str = ""
) -> LocatedSource:
    """Load ratings, reference and outcomes.

    Without `trajectories` the verdicts that ship with the workbench are taken, of one `subset` or all. `trajectories`
    are results of tau2-bench or tau-bench (file, folder or glob): `judges` judge them now, with `tools` as their tool
    definitions, or `ratings` is a file of ratings of them.

    Raises
    ------
    InputError
        Files that cannot be read, or runs whose task says nothing of what was expected.
    """
    if not trajectories:
        table, runs = published_verdicts(subset)
        return LocatedSource(table, runs, published_findings(), _PUBLISHED)
    from axisjudge.imports.reference import read_reference
    from axisjudge.judging import judge
    from axisjudge.ratings import read_ratings
    from axisjudge.readers import read_trajectories

    read = read_trajectories(trajectories, tools=tools or None).trajectories
    judged = read_ratings(ratings, latest=True) if ratings else judge(read, judges, progress=False)
    outcomes = [(run.id, run.domain or "", "all", run.reward < 1) for run in read if run.reward is not None]
    runs = pl.DataFrame(outcomes, schema=["trajectory_id", "domain", "half", "failed"], orient="row")
    about = f"The runs in {Path(trajectories).name}, with the reference's own reading of their tasks."
    return LocatedSource(pl.concat([judged, read_reference(trajectories)]), runs, None, about)


_PUBLISHED = (
    "Verdicts on 883 public runs, recorded and shipped with the workbench without their texts: tau2-bench retail (four "
    "agents), tau-bench airline (one), AgentRx (tau-bench retail, one), and questions of HotpotQA answered by search. "
    "The rules judged them in two versions; the second was mended on half of the tasks and the other half was looked "
    "at afterwards."
)
