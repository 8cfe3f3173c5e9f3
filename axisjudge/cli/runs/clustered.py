"""`axisjudge judge --cluster`: rules or a replay on many workers, file by file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from axisjudge.cli import show
from axisjudge.cli.runs.judged import losses, tally


def run_on_cluster(
    cluster: str,
    paths: Sequence[Path],
    judges: Sequence[str],
    out: Path,
    *,
    reading: Mapping[str, Any],
    judging: Mapping[str, Any],
    json: bool,
) -> None:
    """Judge files on the workers that `cluster` names, and print what came."""
    from axisjudge.cluster import workers_of
    from axisjudge.judging.machines.by_file import judge_files

    with workers_of(cluster) as workers:
        judged = judge_files(paths, judges, out, workers, reading=reading, judging=judging)
    show.account.refused += judged.refused
    refused = [asdict(file) for file in judged.refused]
    if json:
        counts = {"trajectories": judged.n_trajectories, "written": judged.n_written, "warnings": judged.n_warnings}
        ends = {"ratings": tally(judged.ratings), "lost": losses(judged.ratings), "refused": refused}
        show.as_json({"out": str(out), **counts, **ends})
    else:
        warned = f", {judged.n_warnings} warnings (axisjudge read lists them)" if judged.n_warnings else ""
        typer.echo(f"{judged.n_trajectories:,} trajectories{warned}; {judged.n_written:,} ratings written")
        show.table(tally(judged.ratings))
        typer.echo(f"\nRatings: {out}")
