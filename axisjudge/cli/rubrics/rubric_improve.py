"""`axisjudge rubric improve`: a model writes edits, the data decide."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import options, show


def improve(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    proposer: Annotated[str, typer.Option(help="The judge spec of the model that writes edits.")],
    judge: options.Judges = [],  # noqa: B006
    labels: Annotated[list[str], typer.Option(help="People's labels of the runs; repeatable.")] = [],  # noqa: B006
    target: Annotated[
        str, typer.Option(help="What is to rise: agreement with labels, agreement of judges, or reference.")
    ] = "labels",
    trajectories: Annotated[
        list[Path], typer.Option(help="The runs: files, folders, globs [default: data/trajectories, else the demo]")
    ] = [],  # noqa: B006
    version: Annotated[str | None, typer.Option(help="The version to begin with [default: current]")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Edits proposed in each search, at most.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="How often each text is asked about the confirm tasks.")] = 2,
    level: Annotated[float, typer.Option(help="How often, at most, a text that is no better is accepted.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Of the cut into train, select and confirm, and of the search.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Ratings file [default: data/ratings/improve/AXIS.jsonl]")] = None,
    concurrency: options.Concurrency = 16,
    budget: options.Budget = None,
    allow_unpriced: options.AllowUnpriced = False,
    yes: options.Yes = False,
    dry_run: options.DryRun = False,
    json: show.Json = False,
) -> None:
    """Have a model propose edits of a rubric; take one only where it is shown better on tasks it was not made from.

    Exit 0 where one is (the next version is written, a draft), 4 where none is shown, 1 where the best blinds judges to
    planted faults or moves other axes, 3 at the budget. The same command goes on where it was stopped.
    """
    from axisjudge.checks import one_of
    from axisjudge.iterating import BudgetReachedError
    from axisjudge.iterating.improving import improve as improved
    from axisjudge.iterating.work import TARGETS

    try:
        found = improved(
            axis,
            judges=judge,
            proposer=proposer,
            labels=labels or None,
            target=next(each for each in TARGETS if each == one_of("--target", target, TARGETS)),
            trajectories=trajectories or None,
            version=version,
            rounds=rounds,
            repeats=repeats,
            level=level,
            seed=seed,
            ratings=out,
            dry_run=dry_run,
            progress=not json,
            concurrency=concurrency,
            budget_usd=budget,
            allow_unpriced=allow_unpriced,
            confirm=yes,
        )
    except BudgetReachedError as error:
        typer.echo(f"axisjudge: {error}", err=True)
        raise typer.Exit(3) from None
    if isinstance(found, str):
        if json:
            show.as_json({"forecast": found})
        else:
            typer.echo(f"{found[0].upper()}{found[1:]}.")
        return
    if json:
        show.as_json(found.to_dict())
    else:
        show.lines([each for each in (found.banner, *found.notes) if each])
        rows = found.candidates.frame.drop("proposal_usd").to_dicts()
        show.table([{**row, "reason": (row["reason"] or "")[:60]} for row in rows], "Candidates, search by search")
        if found.confirmed.shown is not None:
            show.table(found.confirmed.frame.to_dicts(), "Gains as shares, with bounds that hold at every look")
        if not found.sentence_worth.frame.is_empty():
            show.table(found.sentence_worth.frame.to_dicts(), "What each changed sentence earned, by leaving it out")
        for said in (found.confirmed.answer, found.flips.answer, found.front.answer):
            typer.echo(f"\n{said}")
        typer.echo(f"\nSpent, as the server told or by list price: ${found.spent_usd:,.4f}.\n\n{found.answer}")
        if found.is_accepted:
            typer.echo(
                f"Next: axisjudge rubric diff {axis} {found.base} {found.version}, then axisjudge rubric promote"
            )
    if code := {"accepted": 0, "refused": 1}.get(found.ending, show.CANNOT_TELL):
        raise typer.Exit(code)
