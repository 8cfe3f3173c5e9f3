"""`axisjudge twins`: metamorphic checks, which need no labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from axisjudge.cli import options, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from axisjudge.twins import TwinSet


def twins(
    context: typer.Context,
    paths: options.Paths,
    judge: options.Judges = [],  # noqa: B006
    edits: Annotated[
        list[str], typer.Option(help="An edit, or injections; may be given several times. All if none.")
    ] = [],  # noqa: B006
    tools: options.Tools = None,
    tool_kind: options.ToolKinds = [],  # noqa: B006
    policy: options.Policy = None,
    labels: Annotated[Path | None, typer.Option(help="Labels of the originals, for the halo.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of where and how each run is edited.")] = 0,
    must_rate: Annotated[float, typer.Option(help="Least share of twins in which what must move moves.")] = 0.8,
    margin: Annotated[float, typer.Option(help="Largest share of twins in which what must not move moves.")] = 0.05,
    limit: options.Limit = None,
    write: Annotated[Path | None, typer.Option(help="Write the twins as trajectories to this file and stop.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Ratings file [default: data/ratings/twins.jsonl]; what is there is not asked again."),
    ] = None,
    budget: options.Budget = None,
    allow_unpriced: options.AllowUnpriced = False,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
    strict: options.Strict = False,
    cluster: options.Cluster = None,
    json: show.Json = False,
) -> None:
    """Edit runs so that one axis breaks, or nothing that matters, or text for the judge stands in them.

    See whether the judges' verdicts follow what changed, and only that.
    """
    from axisjudge.protocol import open_runs
    from axisjudge.readers import write_trajectories
    from axisjudge.twins import EDITS, INJECTIONS, make_twins
    from axisjudge.workbench import own

    named = [
        name for edit in edits or [*EDITS, *INJECTIONS] for name in (INJECTIONS if edit == "injections" else [edit])
    ]
    reading: dict[str, Any] = {"tools": tools, "policy": policy, "tool_kinds": tool_kind, "strict": strict}
    out = out or own() / "data" / "ratings" / "twins.jsonl"
    how = _Look(labels, must_rate, margin, out, json)
    if cluster is not None:
        from axisjudge.cluster import workers_of
        from axisjudge.judging.machines import judge_twins

        options.in_one_process(context, "write", "dry_run", "budget")
        with workers_of(cluster) as workers:
            found = judge_twins(paths, named, judge or ["rules"], out, workers, seed=seed, limit=limit, reading=reading)
        show.account.refused += found.refused
        show.lines(() if json else found.left)
        _print(found.ratings, found.twins, found.left, how)
        return
    runs, left = open_runs(show.runs_of(paths, **reading).trajectories)
    runs = runs[:limit]
    show.lines(() if json else left)
    made = make_twins(runs, named, seed=seed)
    if write is not None:
        written = write_trajectories(write, (twin.trajectory for twin in made.twins))
        if json:
            show.as_json({"out": str(write), "twins": written, "edits": made.rows(), "left_out": list(left)})
            return
        show.table(made.rows(), "Twins")
        typer.echo(f"\n{written} twins: {write}")
        return
    from axisjudge.cli.runs.judged import carried_out, print_outcome, print_plan, stop
    from axisjudge.judging import RunOptions, judging_run

    asked = [*runs, *(twin.trajectory for twin in made.twins)]
    run = judging_run(asked, judge or ["rules"], out=out)
    money = RunOptions(budget_usd=budget, allow_unpriced=allow_unpriced, confirm=yes)
    if dry_run:
        print_plan(run, money, "Calls to make", json=json, edits=made.rows())
        return
    ratings = carried_out(run, money, quiet=json)
    if code := run.outcome.code():
        print_outcome(run.outcome, quiet=json)
        stop(code)
    _print(ratings, made, left, how)


class _Look(NamedTuple):
    """How the ratings are looked at, and where they are."""

    labels: Path | None
    must_rate: float
    margin: float
    out: Path
    json: bool


def _print(ratings: pl.DataFrame, made: TwinSet, left: Sequence[str], how: _Look) -> None:
    from axisjudge.ratings import read_ratings
    from axisjudge.studies.twins import twins as study
    from axisjudge.studies.twins.sentences import grid, injection_rows

    known = None if how.labels is None else read_ratings(how.labels, latest=True)
    result = study(ratings, made.twins, known, must_rate=how.must_rate, margin=how.margin)
    if how.json:
        beside = {"out": str(how.out), "edits": made.rows(), "left_out": left}
        show.as_json({**beside, **result.moved.to_dict(), "injections": result.text.rows, "halo": result.halo.halos})
        return
    show.table(made.rows(), "Twins")
    for name in result.moved.matrix.judges:
        show.table(grid(result.moved.matrix, name), f"Twin matrix of {name}: moved/decided, interval over tasks")
    for name in result.text.judges:
        show.table(injection_rows(result.text.rows, name), f"Text for the judge, {name}: pairs of run and twin")
    show.lines(result.sentences, apart=True)
    typer.echo(f"\nRatings: {how.out}")
