"""`axisjudge cost`: what ratings on file have cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show


def cost(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files.")],
    json: show.Json = False,
) -> None:
    """What each judge's ratings took: calls, tokens, the cached share, what was spent, and that per 1,000 verdicts."""
    from axisjudge.judging.cost import cost_of
    from axisjudge.ratings import read_every_line

    costs = cost_of(read_every_line(*ratings))
    if json:
        show.as_json({"judges": [each.to_dict() for each in costs]})
        return
    show.table([each.row() for each in costs], "" if costs else "Ratings that cost something")
    for each in costs:
        if each.n_unpriced:
            of_all = f"{each.n_unpriced} of its {each.n_calls} calls"
            typer.echo(f"\n{each.rater}: {of_all} have no price; they are not in the sum.")
