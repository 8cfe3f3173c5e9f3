"""`axisjudge agreement`: how far raters agree, per axis."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show


def agreement(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files (JSONL or Parquet).")],
    json: Annotated[bool, typer.Option("--json", help="Print the full result as JSON.")] = False,
) -> None:
    """Agreement per axis with intervals, chance-corrected beside raw, and what was lost."""
    from axisjudge.analysis.agreement import agreement_by_axis
    from axisjudge.ratings import read_ratings

    result = agreement_by_axis(read_ratings(*ratings))
    if json:
        show.as_json(result.to_dict())
        return
    show.table(result.rows(), "Agreement per axis")
    for sentence in result.sentences():
        typer.echo(sentence)
