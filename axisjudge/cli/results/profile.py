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
    from axisjudge.ratings import read_ratings
    from axisjudge.readers import read_trajectories
    from axisjudge.studies._shared.scope import MADE_UP, banner
    from axisjudge.studies.failures.profiles import failure_profile, reward_table
    from axisjudge.studies.failures.sentences import extremes, false_failures, sample

    runs = read_trajectories(*trajectories).trajectories if trajectories else ()
    table = read_ratings(*ratings, latest=True, lean=True)
    failures = failure_profile(table, reward_table(runs))
    if json:
        show.as_json({**failures.to_dict(), **show.standing_fields(table)})
        return
    kinds = dict(table.select("rater", "rater_kind").iter_rows())
    if warning := banner([rater for rater in failures.panel.judges if kinds[rater] in MADE_UP]):
        typer.echo(warning)
    show.table([_row(row) for row in failures.to_frame().to_dicts()], "Failed runs per agent and axis")
    show.lines(
        (sample(failures), extremes(failures), extremes(failures, "consensus"), false_failures(failures)), apart=True
    )
    show.standing(table)


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
