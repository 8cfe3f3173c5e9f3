"""`axisjudge label lint`: what is wrong with people's labels before a judge is compared with them."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show
from axisjudge.cli.options import LabelFiles


def lint(
    labels: LabelFiles,
    trajectories: Annotated[
        list[Path], typer.Option(help="The runs that were labelled: for ids and steps that do not exist.")
    ] = [],  # noqa: B006
    gold: Annotated[
        list[str], typer.Option(help="A rater whose labels are merged ones; else those called gold, key, merged, ...")
    ] = [],  # noqa: B006
    json: show.Json = False,
) -> None:
    """Check people's labels; exits 1 where they must not be used as they are."""
    from axisjudge.labels.lint import lint_labels, read_in_writing_order

    runs = show.runs_of(trajectories).trajectories if trajectories else None
    result = lint_labels(read_in_writing_order(*labels), trajectories=runs, gold=gold)
    if json:
        show.as_json(result.to_dict())
    else:
        who = "1 person" if len(result.people) == 1 else f"{len(result.people)} people"
        typer.echo(f"{result.n_labels} labels by {who}")
        for fault in result.findings:
            typer.echo(f"\n{fault.severity}: {fault.check}: {show.text(fault.what)}")
            for head, text in (("where", fault.where), ("how sure", fault.sure), ("cure", fault.cure)):
                typer.echo(f"  {head}: {show.text(text)}")
        if not result.findings:
            typer.echo("Nothing found.")
        rows = [{"check": check, "why not": reason} for check, reason in result.not_checked.items()]
        if rows:
            show.table(rows, "Not checked")
    if result.failed:
        raise typer.Exit(1)
