"""`axisjudge holdout`: opening the held-out side, and the record of it."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show
from axisjudge.cli.rubrics.holdout_run import run

app = show.group("The held-out side: open it, judge it, and see who did.")


@app.command("open", epilog='Example: axisjudge holdout open --reason "v3 is final"')
def open_(
    reason: Annotated[str, typer.Option(help="Why, in words.")],
    ratings: Annotated[
        list[Path] | None,
        typer.Option(help="Where ratings of held-out runs are looked for [default: those in data/ratings]"),
    ] = None,
    despite_ratings: Annotated[
        bool, typer.Option("--despite-ratings", help="Open although such ratings are there; the ledger says so.")
    ] = False,
    json: show.Json = False,
) -> None:
    """Open the held-out side under the lock that holds; the ledger keeps the reason and the number.

    Nothing is opened where judges have rated held-out runs already: what is no longer unseen confirms nothing.
    """
    from axisjudge.protocol import kept_ratings, open_holdout, read_ledger
    from axisjudge.protocol.ledger import looks

    with show.failed_check():
        entry = open_holdout(reason, ratings=kept_ratings(ratings or ()), despite_ratings=despite_ratings)
        seen = looks(read_ledger())
    if json:
        show.as_json({**entry.model_dump(), "looks": seen})
        return
    typer.echo(f"Opening {entry.opening}: {entry.reason}")
    if seen > 1:
        typer.echo(f"The held-out side has now been seen {seen} times; reports print by how much the best may flatter.")
    typer.echo("Next: axisjudge holdout run")


app.command("run", epilog="Example: axisjudge holdout run --report 02_agreement")(run)


@app.command("log", epilog="Example: axisjudge holdout log")
def log(json: show.Json = False) -> None:
    """Every lock, opening and exploratory look, the chain checked: exit code 1 where it is broken."""
    from axisjudge.protocol import read_ledger

    with show.failed_check():
        entries = read_ledger()
    if json:
        show.as_json({"entries": [entry.model_dump(exclude={"lock"}) for entry in entries]})
        return
    if not entries:
        typer.echo("Nothing is locked, and the held-out side was never opened.")
        return
    rows = [
        {
            "line": entry.number,
            "what": f"opening {entry.opening}" if entry.kind == "opening" else entry.kind,
            "time": entry.time,
            "lock": (entry.lock_sha256 or "-")[:12],
            "data": (entry.data_sha256 or "-")[:12],
            "reason": entry.reason,
        }
        for entry in entries
    ]
    show.table(rows)
    typer.echo("The chain is whole.")
