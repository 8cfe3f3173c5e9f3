"""`axisjudge report`: regenerate reports."""

from typing import Annotated

import typer

from axisjudge.cli import show


def report(
    names: Annotated[list[str], typer.Argument(help="Reports, with or without their number; all if none.")] = [],  # noqa: B006
    parameter: Annotated[list[str], typer.Option("-p", help="KEY=VALUE of the notebook's parameters.")] = [],  # noqa: B006
    force: Annotated[bool, typer.Option("--force", help="Run even where nothing has changed.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the full result as JSON.")] = False,
) -> None:
    """Run the notebooks and write reports/<name>/; what has not changed is left alone."""
    from axisjudge.report import run_reports

    results = run_reports(names or None, dict(_pair(text) for text in parameter), force=force)
    rows = [
        {"report": result.name, "status": result.status, "seconds": round(result.seconds, 1), "page": str(result.html)}
        for result in results
    ]
    if json:
        show.as_json({"reports": rows})
    else:
        show.table(rows)


def _pair(text: str) -> tuple[str, str]:
    from axisjudge.checks import InputError

    key, given, value = text.partition("=")
    if not given:
        raise InputError("-p", "is written KEY=VALUE", text)
    return key, value
