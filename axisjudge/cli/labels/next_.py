"""`axisjudge label next`: which runs to label next."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show


def next_(
    out: Annotated[Path, typer.Option(help="The plan, NAME.sampling.json: written once, read at the next look.")],
    trajectories: Annotated[list[Path], typer.Option(help="The runs to be labelled.")] = [],  # noqa: B006
    labels: Annotated[list[Path], typer.Option(help="Labels that there are.")] = [],  # noqa: B006
    half_width: Annotated[float, typer.Option(help="Label until failure rates are known within this.")] = 0.1,
    axis: Annotated[str | None, typer.Option(help="The axis whose rate is wanted; all five if none.")] = None,
    n: Annotated[int, typer.Option(min=1, help="How many runs.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the draw and of the order.")] = 0,
    page: Annotated[Path | None, typer.Option(help="Write the blind labelling page of the next runs as well.")] = None,
    rater: Annotated[str | None, typer.Option(help="Who labels; the page asks if not given.")] = None,
    json: show.Json = False,
) -> None:
    """Say which runs to label next, and when failure rates are known well enough to stop."""
    from axisjudge.cli.labels.looking import label_until

    label_until(
        trajectories,
        labels,
        half_width=half_width,
        axis=axis,
        n=n,
        out=out,
        seed=seed,
        page=page,
        rater=rater,
        json=json,
    )
