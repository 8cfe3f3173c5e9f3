"""`axisjudge holdout run`: the opened side judged as the lock says, and the report of it."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show
from axisjudge.cli.options import Budget, Concurrency, DryRun, Yes

#: The report on judges' agreement; it prints first what was declared.
REPORT = "02_agreement"


def run(
    paths: Annotated[
        list[Path], typer.Argument(help="Trajectory files, folders or globs [default: those of the split]")
    ] = [],  # noqa: B006
    side: Annotated[str | None, typer.Option(help="Which side, where several are held out.")] = None,
    concurrency: Concurrency = 16,
    budget: Budget = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    report: Annotated[str, typer.Option(help="The report to make from the ratings; empty for none.")] = REPORT,
    out: Annotated[Path | None, typer.Option(help="Ratings file [default: data/ratings/opening-K.jsonl]")] = None,
    json: show.Json = False,
) -> None:
    """Judge the opened side with the judges, rubrics and axes of the lock, and make the report; run again, it resumes.

    Exit codes as `axisjudge judge` has them.
    """
    from axisjudge.cli.runs.judged import carried_out, losses, print_outcome, print_plan, stop, tally
    from axisjudge.judging import RunOptions
    from axisjudge.judging.api import held_out_run
    from axisjudge.protocol import read_sources, read_split

    with show.failed_check():
        reading = show.runs_of(paths) if paths else read_sources(read_split().sources)
        judging = held_out_run(reading.trajectories, side=side, out=out)
    options = RunOptions(concurrency=concurrency, budget_usd=budget, confirm=yes)
    if dry_run:
        print_plan(judging, options, json=json)
        return
    ratings = carried_out(judging, options, quiet=json)
    code = judging.outcome.code()
    page = None
    if report and not code:
        from axisjudge.report import run_report

        page = str(run_report(report, {"ratings": str(judging.kept.path)}).html)
    if json:
        came = {"ratings": tally(ratings), "lost": losses(ratings), "stopped": judging.outcome.sentences()}
        show.as_json({"out": str(judging.kept.path), "report": page, **came, **show.standing_fields(ratings)})
        stop(code)
        return
    show.table(tally(ratings))
    show.standing(ratings)
    typer.echo(f"\nRatings: {judging.kept.path}")
    print_outcome(judging.outcome)
    stop(code)
    if page:
        typer.echo(f"Report: {page}")
