"""`axisjudge rubric lint`: what is wrong with a rubric before a judge reads it."""

from dataclasses import asdict
from typing import Annotated

import typer

from axisjudge.cli import show


def lint(
    axes: Annotated[list[str] | None, typer.Argument(help="Axes; all five if none.")] = None,
    superseded: Annotated[bool, typer.Option("--superseded", help="Superseded versions as well.")] = False,
    json: show.Json = False,
) -> None:
    """Copies, names, missing sections, a peer's questions, outcome words, examples without verdict, silent changes."""
    from axisjudge.protocol.lock import locked_rubrics
    from axisjudge.rubric.lint import lint_rubrics

    findings = lint_rubrics(axes or (), superseded=superseded, locked=locked_rubrics())
    if json:
        show.as_json({"findings": [asdict(finding) for finding in findings]})
    else:
        rows = [{"place": f"{found.file}:{found.line}", **asdict(found)} for found in findings]
        show.table([{name: row[name] for name in ("place", "rule", "found", "cure")} for row in rows], "Findings")
    if findings:
        raise typer.Exit(1)
