"""`axisjudge judge --cluster`: rules or a replay on many workers, file by file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from axisjudge.cli import options, show
from axisjudge.cli.runs.judged import losses, tally


def run_on_cluster(
    cluster: str,
    paths: Sequence[Path],
    judges: Sequence[str],
    out: Path,
    *,
    reading: Mapping[str, Any],
    judging: Mapping[str, Any],
    others: Mapping[str, Any],
    json: bool,
) -> None:
    """Judge files on the workers that `cluster` names, and print what came.

    `others` are options of the command that are for a run in one process; none of them may be set.
    """
    from axisjudge.cluster import workers_of
    from axisjudge.judging.machines.by_file import judge_files

    options.in_one_process(others)
    with workers_of(cluster) as workers:
        found = judge_files(paths, judges, out, workers, reading=reading, judging=judging)
    refused = [asdict(file) for file in found.refused]
    if json:
        counts = {"trajectories": found.n_trajectories, "written": found.n_written, "warnings": found.n_warnings}
        ends = {"ratings": tally(found.ratings), "lost": losses(found.ratings), "refused": refused}
        show.as_json({"out": str(out), **counts, **ends})
    else:
        warned = f", {found.n_warnings} warnings (axisjudge read lists them)" if found.n_warnings else ""
        typer.echo(f"{found.n_trajectories:,} trajectories{warned}; {found.n_written:,} ratings written")
        show.table(tally(found.ratings))
        typer.echo(f"\nRatings: {out}")
    show.stop_if_refused(found.refused, quiet=json)
