"""`axisjudge profile`: which capability broke."""

from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from axisjudge.cli import show
from axisjudge.cli.options import Cluster, Ratings, is_one_dataset

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.cluster import Workers
    from axisjudge.ratings.dataset import DatasetPart
    from axisjudge.studies.failures.panel import PanelPart


def profile(
    ratings: Ratings,
    trajectories: Annotated[list[Path], typer.Option(help="Trajectories to take rewards from.")] = [],  # noqa: B006
    cluster: Cluster = None,
    json: show.Json = False,
) -> None:
    """Failed runs per agent and axis, by any judge and by consensus, with intervals and what is undecided.

    A dataset (a folder that `axisjudge ratings compact` wrote) is read part by part and never whole.
    """
    from axisjudge.cluster import workers_of

    runs = show.runs_of(trajectories).trajectories if trajectories else ()
    with workers_of(cluster) as workers:
        workers.prepare("axisjudge.studies.failures.panel", "axisjudge.protocol.standing")
        import polars as pl

        from axisjudge.results import plain
        from axisjudge.studies.failures.panel import panel_of_votes
        from axisjudge.studies.failures.profile import failure_profile, reward_table
        from axisjudge.studies.failures.sentences import false_failures, sample

        looks = [*_looks(ratings, workers, cluster)]
    panel = panel_of_votes(look.votes for look in looks)
    failures = failure_profile(panel, reward_table(runs))
    table, n_judged = pl.concat([look.standing for look in looks]), sum(look.n_judged for look in looks)
    if json:
        show.as_json({**failures.to_dict(), **show.standing_fields(table, n_judged)})
        return
    if failures.banner:
        typer.echo(failures.banner)
    show.table([_row(row) for row in plain(failures.table)], "Failed runs per agent and axis")
    answers = (failures.answer, failures.by("consensus").answer, false_failures(len(panel.judges)))
    show.lines((sample(panel), *answers), apart=True)
    show.standing(table, n_judged)


class _Look(NamedTuple):
    """What is made of a part: its verdicts, ratings that the protocol tells of, and how many are by judges."""

    votes: "PanelPart"
    standing: "pl.DataFrame"
    n_judged: int
    n_older: int = 0


def _looks(ratings: list[Path], workers: "Workers", cluster: str | None) -> Iterator[_Look]:
    from axisjudge.ratings.dataset import parts_of
    from axisjudge.ratings.table import ratings_in_parts, warn_of_older
    from axisjudge.workbench import home

    if not is_one_dataset(ratings, cluster):
        yield from map(_look, ratings_in_parts(*ratings, lean=True))
        return
    n_older = 0
    for look in workers.map(partial(_look_at_part, home=home()), parts_of(ratings[0]), attrgetter("name")):
        n_older += look.n_older
        yield look
    warn_of_older(ratings, n_older)


def _look_at_part(part: "DatasetPart", *, home: Path) -> _Look:
    from axisjudge.ratings.table import ratings_of_part
    from axisjudge.workbench import at

    table, n_older = ratings_of_part(part, lean=True)
    with at(home):  # a worker stands in a folder of its own
        return _look(table)._replace(n_older=n_older)


def _look(table: "pl.DataFrame") -> _Look:
    from axisjudge.protocol.standing import standing_rows
    from axisjudge.studies.failures.panel import votes_of

    return _Look(votes_of(table), *standing_rows(table.lazy()))


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
