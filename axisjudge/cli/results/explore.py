"""`axisjudge explore`: runs x judges on every axis, in one file that works offline."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from axisjudge.checks import one_of
from axisjudge.cli import options, show


def explore(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files (JSONL or Parquet), labels among them if any.")],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    trajectories: options.Runs = [],  # noqa: B006
    labels: Annotated[list[Path], typer.Option(help="Labels or decisions that stand in files of their own.")] = [],  # noqa: B006
    axis: Annotated[list[str], typer.Option(help="Only this axis; may be given several times.")] = [],  # noqa: B006
    agent: Annotated[list[str], typer.Option(help="Only this agent's runs; may be given several times.")] = [],  # noqa: B006
    limit: options.Limit = None,
    tools: options.Tools = None,
    policy: options.Policy = None,
    redact: options.Redact = True,
    json: show.Json = False,
) -> None:
    """A grid of runs x judges that opens each run at the cited steps; one file, no network, at most 5,000 runs."""
    import polars as pl

    from axisjudge.explorer.grid import Grid
    from axisjudge.explorer.grid_page import write_explorer
    from axisjudge.labels.decisions import decisions_of
    from axisjudge.ratings import read_ratings
    from axisjudge.sharing import in_words
    from axisjudge.studies._shared.words import many

    table = read_ratings(*ratings, *labels)
    for name in axis:
        one_of("--axis", name, sorted(set(table["question"])))
    for name in agent:
        one_of("--agent", name, sorted(set(table["agent"].drop_nulls())))
    if axis:
        table = table.filter(pl.col("question").is_in(axis))
    if agent:
        table = table.filter(pl.col("agent").is_in(agent))
    runs = list(show.runs_of(trajectories, tools=tools, policy=policy).trajectories) if trajectories else []
    if limit is not None:
        rated = set(table["trajectory_id"])
        names = [run.id for run in runs if run.id in rated] or sorted(rated)
        table = table.filter(pl.col("trajectory_id").is_in(names[:limit]))
    rated = set(table["trajectory_id"])
    grid = Grid.of(table, [run for run in runs if run.id in rated] if axis or agent or limit else runs)
    secrets = Counter[str]()
    write_explorer(out, grid, secrets, redact=redact)
    decisions = decisions_of(table)
    if json:
        size = {"runs": len(grid.runs), "columns": len(grid.columns), "bytes": out.stat().st_size}
        show.as_json(
            {"page": str(out), **size, "secrets": dict(secrets), "notes": list(grid.notes), "decisions": decisions}
        )
        return
    judges = len({column.rater for column in grid.columns})
    counts = ", ".join((many(len(grid.runs), "run"), many(len(grid.questions), "question"), many(judges, "judge")))
    size_mb = out.stat().st_size / 1e6
    typer.echo(f"{counts}, {size_mb:.1f} MB: {out}")
    taken_out = [sentence] if (sentence := in_words(secrets)) else []
    show.lines((*taken_out, *grid.notes, *(each.sentence for each in decisions)))
