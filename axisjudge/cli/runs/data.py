"""`axisjudge data`: public data sets, pinned and checked."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show

app = show.group("Public data sets: list and fetch.")


@app.command("list", epilog="Example: axisjudge data list")
def list_(json: show.Json = False) -> None:
    """The data sets of data/registry.toml."""
    from axisjudge.datasets import list_datasets

    show.listed("datasets", [dataset.row() for dataset in list_datasets()], json=json)


@app.command("fetch", epilog="Example: axisjudge data fetch tau-bench-airline")
def fetch(
    name: Annotated[str, typer.Argument(help="A data set's name.")],
    to: Annotated[Path | None, typer.Option(help="Where to put it [default: data/cache]")] = None,
) -> None:
    """Download a data set and check its checksums; AXISJUDGE_DATA names a local mirror that is looked at first."""
    from axisjudge.datasets import fetch as fetch_dataset

    typer.echo(str(fetch_dataset(name, to=to)))
