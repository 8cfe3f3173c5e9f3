"""`axisjudge rubric`: what the judges are told."""

from typing import Annotated

import typer

from axisjudge.cli import show

app = typer.Typer(help="Rubrics: list and show.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list", epilog="Example: axisjudge rubric list")
def list_(json: Annotated[bool, typer.Option("--json", help="Print the full result as JSON.")] = False) -> None:
    """All rubrics: axis, version, status, length and what changed."""
    from axisjudge.rubric import list_rubrics
    from axisjudge.verdict import AXES

    rubrics = [rubric for axis in AXES for rubric in list_rubrics(axis)]
    if json:
        fields = [{**rubric.model_dump(mode="json"), "sha256": rubric.sha256} for rubric in rubrics]
        show.as_json({"rubrics": fields})
        return
    show.table(
        [
            {
                "axis": rubric.axis,
                "version": rubric.version,
                "status": rubric.status,
                "date": str(rubric.date),
                "tokens": rubric.tokens,
                "sha256": rubric.sha256[:12],
                "changes": rubric.changes,
            }
            for rubric in rubrics
        ]
    )


@app.command("show", epilog="Example: axisjudge rubric show argument_validity v2")
def show_(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    version: Annotated[str | None, typer.Argument(help="A version such as v2; the current one if none.")] = None,
) -> None:
    """The text that judges are shown."""
    from axisjudge.rubric import load_rubric

    typer.echo(load_rubric(axis, version).text, nl=False)
