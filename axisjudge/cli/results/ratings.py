"""`axisjudge ratings|cost`: files of ratings put together, a dataset of them looked at, and what they have cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.cli import options, show

if TYPE_CHECKING:
    from axisjudge.ratings.merging import Merged

MOST_NAMED = 10

app = show.group("Put ratings files together, and look at a dataset.")


@app.command(epilog="Example: axisjudge ratings merge ratings-*.jsonl --out ratings.jsonl --trajectories results")
def merge(
    ratings: options.Ratings,
    out: Annotated[Path, typer.Option(help="New file (.jsonl, .parquet); without a suffix a dataset.")],
    trajectories: Annotated[
        list[Path], typer.Option(help="The runs that were to be rated: tells what is missing.")
    ] = [],  # noqa: B006
    strict: Annotated[bool, typer.Option("--require-whole", help="Exit 1 where something is missing.")] = False,
    json: show.Json = False,
) -> None:
    """Ratings files as one, by item, question and rater; of several lines of one identity the last one wins.

    Files count in the order in which they are named. Identities whose lines have different verdicts are counted.
    """
    import polars as pl

    from axisjudge.ratings import read_every_line, write_ratings
    from axisjudge.ratings.dataset import scan_ratings
    from axisjudge.ratings.merging import merged, missing, write_dataset

    options.new_file(out)
    if out.suffix:
        written, table = merged(read_every_line(*ratings))
        write_ratings(table, out)
        lines: pl.LazyFrame = table.lazy()
    else:
        written = write_dataset(ratings, out)
        lines = scan_ratings(out)
    runs = [run.id for run in show.runs_of(trajectories)] if trajectories else []
    lacking = missing(lines, runs)
    if json:
        show.as_json({"out": str(out), **_counts(written), **({"missing": lacking} if trajectories else {})})
    else:
        _tell(written, out)
        rows = [{**row, "trajectories": _few(row["trajectories"])} for row in lacking]
        if trajectories:
            show.table(rows, f"Missing of {len(runs):,} trajectories (n without a rating, lost without a verdict)")
    if strict and lacking:
        raise typer.Exit(1)


@app.command(epilog="Example: axisjudge ratings compact ratings.jsonl --out ratings")
def compact(
    ratings: options.Ratings,
    out: Annotated[Path, typer.Option(help="The new folder.")],
    json: show.Json = False,
) -> None:
    """Ratings files, or a dataset of many small ones, as a dataset of Parquet: a folder a question, few large files.

    Every command that takes ratings reads it; `agreement` does so without holding it in memory.
    """
    from axisjudge.ratings.merging import write_dataset

    written = write_dataset(ratings, out)
    if json:
        show.as_json({"out": str(out), **_counts(written)})
    else:
        _tell(written, out)


@app.command(epilog="Example: axisjudge ratings stats ratings")
def stats(
    ratings: Annotated[str, typer.Argument(help="A dataset: a folder, or an address such as s3://BUCKET/FOLDER.")],
    json: show.Json = False,
) -> None:
    """What is in a dataset: ratings, lost ones, items, clusters, raters, files and size of each question."""
    from axisjudge.ratings.dataset import dataset_stats

    show.listed("questions", dataset_stats(ratings), json=json)


def _counts(merged: Merged) -> dict[str, Any]:
    return {"ratings": merged.n_ratings, "replaced": merged.n_replaced, "conflicts": merged.n_conflicts}


def _tell(merged: Merged, out: Path) -> None:
    typer.echo(
        f"{merged.n_ratings:,} ratings: {out}\n{merged.n_replaced:,} lines gave way to a later one of their identity; "
        f"{merged.n_conflicts:,} identities had verdicts that differ"
    )


def _few(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def cost(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files.")],
    json: show.Json = False,
) -> None:
    """What each judge's ratings took: calls, tokens, the cached share, what was spent, and that per 1,000 verdicts."""
    from axisjudge.judging.estimate import cost_of
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
