"""`axisjudge profile`: which capability broke."""

from pathlib import Path
from typing import Annotated, Any

import typer

from axisjudge.cli import show
from axisjudge.cli.options import Ratings


def profile(
    ratings: Ratings,
    trajectories: Annotated[list[Path], typer.Option(help="Trajectories to take rewards from.")] = [],  # noqa: B006
    json: show.Json = False,
) -> None:
    """Failed runs per agent and axis, by any judge and by consensus, with intervals and what is undecided."""
    import polars as pl

    from axisjudge.protocol.standing import standing_rows
    from axisjudge.ratings.selection import MADE_UP
    from axisjudge.ratings.table import ratings_in_parts
    from axisjudge.readers import read_trajectories
    from axisjudge.results import plain
    from axisjudge.studies._shared.scope import banner
    from axisjudge.studies.failures.panel import panel_of_parts
    from axisjudge.studies.failures.profiles import failure_profile, reward_table
    from axisjudge.studies.failures.sentences import extremes, false_failures, sample

    runs = read_trajectories(*trajectories).trajectories if trajectories else ()
    stamped, made_up = list[tuple[pl.DataFrame, int]](), set[str]()

    def looked_at(part: pl.DataFrame) -> pl.DataFrame:
        stamped.append(standing_rows(part.lazy()))
        made_up.update(part.filter(pl.col("rater_kind").is_in(MADE_UP))["rater"].unique())
        return part

    panel = panel_of_parts(map(looked_at, ratings_in_parts(*ratings, lean=True)))
    failures = failure_profile(panel, reward_table(runs))
    table, n_judged = pl.concat([rows for rows, _ in stamped]), sum(n for _, n in stamped)
    if json:
        show.as_json({**failures.to_dict(), **show.standing_fields(table, n_judged)})
        return
    if warning := banner([rater for rater in panel.judges if rater in made_up]):
        typer.echo(warning)
    show.table([_row(row) for row in plain(failures.to_frame())], "Failed runs per agent and axis")
    show.lines(
        (sample(failures), extremes(failures), extremes(failures, "consensus"), false_failures(failures)), apart=True
    )
    show.standing(table, n_judged)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    undecided = ("uncertain", "lost", "not_rated")
    return {
        "agent": row["agent"],
        "axis": row["axis"],
        "any judge": _share(row, "any"),
        "consensus": _share(row, "consensus"),
        "n/a": row["not_applicable"],
        **{word.replace("_", " "): row[word] for word in undecided},
    }


def _share(row: dict[str, Any], measure: str) -> str:
    low, high = row[f"{measure}_low"], row[f"{measure}_high"]
    counts = f"{row[f'{measure}_incorrect']}/{row[f'{measure}_judged']}"
    return counts if low is None or low != low else f"{counts} ({low:.0%} to {high:.0%})"
