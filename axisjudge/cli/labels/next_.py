"""`axisjudge label next`: which runs to label next."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show
from axisjudge.cli.labels.label import blind_page
from axisjudge.cli.labels.looking import DrawRequest, label_until
from axisjudge.cli.options import DrawSeed, Page, Person, new_file


def next_(
    out: Annotated[Path, typer.Option(help="The plan, NAME.sampling.json; --half-width reads it at later looks.")],
    ratings: Annotated[list[Path] | None, typer.Argument(help="Ratings files of the panel's judges.")] = None,
    panel: Annotated[
        Path | None, typer.Option(help="A fitted panel: runs of which it is less sure are likelier.")
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(help="Without a panel: label until failure rates are known within this; .1 if none.")
    ] = None,
    axis: Annotated[str | None, typer.Option(help="With --half-width: one axis; all five if none.")] = None,
    n: Annotated[
        int | None, typer.Option(min=1, help="With a panel how many runs the draw holds, else how many come next (10).")
    ] = None,
    labels: Annotated[list[Path], typer.Option(help="Labels that there are.")] = [],  # noqa: B006
    keep: Annotated[
        Path | None, typer.Option(help="Write the labels that there are of drawn runs, as of this draw.")
    ] = None,
    seed: DrawSeed = 0,
    page: Page = None,
    trajectories: Annotated[list[Path], typer.Option(help="The runs: for the page, and without a panel.")] = [],  # noqa: B006
    rater: Person = None,
    json: show.Json = False,
) -> None:
    """Say which runs to label next: where a panel is unsure, or at random until failure rates are known well enough.

    Every draw has known probabilities, so that rates can still be estimated from the labels.
    """

    draw = DrawRequest(out, seed, labels, trajectories, page, rater, json)
    if panel is None:
        if ratings or keep is not None:
            raise InputError("--panel", "is needed to draw by what judges said", cure="name one, or leave ratings out")
        label_until(draw, half_width=half_width or 0.1, axis=axis, n=n or 10)
        return
    if not ratings or n is None:
        raise InputError("--panel", "needs the ratings of its judges and --n, how many runs to draw")
    if half_width is not None or axis is not None:
        raise InputError("--half-width", "is known without a panel only: its draws are of a fixed number")
    _by_panel(ratings, panel, draw, n=n, keep=keep)


def _by_panel(ratings: list[Path], panel: Path, draw: DrawRequest, *, n: int, keep: Path | None) -> None:
    """Draw runs where labels help most, with known probabilities."""
    from dataclasses import replace

    import polars as pl

    from axisjudge.labels.formats.terms import ratings_of
    from axisjudge.labels.record import read_labels
    from axisjudge.labels.sampling import set_drawn, write_sampling
    from axisjudge.labels.uncertain import draw_uncertain
    from axisjudge.protocol import check_tuning
    from axisjudge.ratings import RatingsWriter, read_ratings
    from axisjudge.studies.panels.voted import panel_ratings, read_panel

    fitted = read_panel(panel)
    given = panel_ratings(fitted, read_ratings(*ratings, latest=True))
    check_tuning(given["cluster_id"].unique().to_list())
    sure = given.with_columns(pl.col("confidence").fill_null(0.5))  # nobody's word: as unsure as can be
    key = f"{fitted.rater} {fitted.sha256[:12]}: unsure"
    items = sure.select("trajectory_id", "cluster_id", "confidence").iter_rows()
    plan = draw_uncertain(items, n, key=key, seed=draw.seed)
    labelled = read_labels(*draw.labels) if draw.labels else None
    has = set() if labelled is None else set(labelled.filter(question=fitted.question)["trajectory_id"])
    drawn = {item.trajectory_id: item for item in plan.items}
    again = sorted(has & drawn.keys())
    if keep is not None and labelled is not None:
        with RatingsWriter(new_file(keep)) as writer:
            for run in again:
                of_run = ratings_of(labelled.filter(trajectory_id=run, question=fitted.question))
                writer.append(set_drawn(of_run, plan.flags_for(drawn[run])))
    if draw.page is not None:
        rest = replace(plan, items=tuple(item for item in plan.items if item.trajectory_id not in has))
        blind_page(draw.page, draw.trajectories, rest, draw.rater)
    write_sampling(draw.out, plan)
    rows = [
        {"run": item.trajectory_id, "probability": item.probability, "labelled": item.trajectory_id in has}
        for item in plan.items
    ]
    if draw.json:
        counts = {"plan": str(draw.out), "runs": rows, "to_label": len(rows) - len(again)}
        show.as_json({**counts, "keep": keep and str(keep)})
        return
    left = f"{len(rows) - len(again)} of {len(rows)} drawn runs are still to be labelled"
    show.table(rows, f"{left}: {draw.out}", most=_MOST_ROWS)
    if again and keep is None:
        typer.echo(f"{len(again)} have labels already: --keep FILE writes these as labels of this draw.")


_MOST_ROWS = 20
