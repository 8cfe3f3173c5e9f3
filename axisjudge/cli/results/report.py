"""`axisjudge report`: regenerate reports."""

from dataclasses import asdict
from typing import Annotated

import typer

from axisjudge.cli import show


def report(
    names: Annotated[list[str], typer.Argument(help="Reports, with or without their number; all if none.")] = [],  # noqa: B006
    parameter: Annotated[list[str], typer.Option("-p", help="KEY=VALUE of the notebook's parameters.")] = [],  # noqa: B006
    force: Annotated[bool, typer.Option("--force", help="Run even where nothing has changed.")] = False,
    json: show.Json = False,
) -> None:
    """Run the notebooks and write reports/<name>/; what has not changed is left alone."""
    from axisjudge.report import ReportError, ReportResult, run_reports

    def tell(result: ReportResult) -> None:
        if not json:
            typer.echo(f"  {result.name}  {result.status} in {result.seconds:.1f} s: {result.html}")

    try:
        results = run_reports(names or None, dict(_pair(text) for text in parameter), force=force, on_done=tell)
    except ReportError as error:
        typer.echo(f"axisjudge: {error}", err=True)
        raise typer.Exit(1) from None
    if json:
        rows = [{**asdict(result), "folder": str(result.folder), "html": str(result.html)} for result in results]
        show.as_json({"reports": rows})
    else:
        typer.echo(f"All reports: {results[0].folder.parent / 'index.html'}")


def _pair(text: str) -> tuple[str, str]:
    from axisjudge.checks import InputError

    key, given, value = text.partition("=")
    if not given:
        raise InputError("-p", "is written KEY=VALUE", text)
    return key, value
