"""`axisjudge label next`: which runs to label next."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.cli import show
from axisjudge.cli.options import Ratings, new_file


def next_(
    ratings: Ratings,
    panel: Annotated[Path, typer.Option(help="A fitted panel: runs of which it is less sure are likelier.")],
    n: Annotated[int, typer.Option(min=1, help="How many runs the draw holds, labelled ones among them included.")],
    out: Annotated[Path, typer.Option(help="The plan to write, NAME.sampling.json.")],
    labels: Annotated[list[Path], typer.Option(help="Labels that there are.")] = [],  # noqa: B006
    keep: Annotated[
        Path | None, typer.Option(help="Write the labels that there are of drawn runs, as of this draw.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw and of the order.")] = 0,
    page: Annotated[Path | None, typer.Option(help="Write the blind labelling page as well.")] = None,
    trajectories: Annotated[list[Path], typer.Option(help="The runs, for the page.")] = [],  # noqa: B006
    rater: Annotated[str | None, typer.Option(help="Who labels; the page asks if not given.")] = None,
    json: show.Json = False,
) -> None:
    """Draw runs where labels help most, with known probabilities, so that rates can still be estimated from them."""
    from dataclasses import replace

    import polars as pl

    from axisjudge.checks import InputError
    from axisjudge.labels.formats.terms import ratings_of
    from axisjudge.labels.record import read_labels
    from axisjudge.labels.sampling import set_drawn, write_sampling
    from axisjudge.labels.uncertain import draw_uncertain
    from axisjudge.protocol import check_tuning
    from axisjudge.ratings import RatingsWriter, read_ratings
    from axisjudge.studies.panels.applied import panel_ratings
    from axisjudge.studies.panels.fitted import read_panel

    fitted = read_panel(panel)
    given = panel_ratings(fitted, read_ratings(*ratings, latest=True))
    check_tuning(given["cluster_id"].unique().to_list())
    sure = given.with_columns(pl.col("confidence").fill_null(0.5))  # nobody's word: as unsure as can be
    key = f"{fitted.rater} {fitted.sha256[:12]}: unsure"
    plan = draw_uncertain(sure.select("trajectory_id", "cluster_id", "confidence").iter_rows(), n, key=key, seed=seed)
    told = read_labels(*labels) if labels else None
    has = set() if told is None else set(told.filter(question=fitted.question)["trajectory_id"])
    drawn = {item.trajectory_id: item for item in plan.items}
    again = sorted(has & drawn.keys())
    if keep is not None and told is not None:
        with RatingsWriter(new_file(keep)) as writer:
            for run in again:
                of_run = ratings_of(told.filter(trajectory_id=run, question=fitted.question))
                writer.append(set_drawn(of_run, plan.flags_for(drawn[run])))
    if page is not None:
        from axisjudge.explorer import write_page
        from axisjudge.explorer.session import Session
        from axisjudge.readers import read_trajectories

        if not trajectories:
            raise InputError("--page", "needs the runs", cure="name them with --trajectories")
        rest = replace(plan, items=tuple(item for item in plan.items if item.trajectory_id not in has))
        write_page(page, Session.of(read_trajectories(*trajectories).trajectories, rest, rater))
    write_sampling(out, plan)
    rows = [{"run": item.trajectory_id, "probability": item.probability, "labelled": item.trajectory_id in has}
            for item in plan.items]  # fmt: skip
    if json:
        show.as_json({"plan": str(out), "runs": rows, "to_label": len(rows) - len(again), "keep": keep and str(keep)})
        return
    show.table(rows[:_MOST_ROWS], f"{len(rows) - len(again)} of {len(rows)} drawn runs are still to be labelled: {out}")
    if (more := len(rows) - _MOST_ROWS) > 0:
        typer.echo(f"  and {more:,} more, all of them with --json")
    if again and keep is None:
        typer.echo(f"{len(again)} have labels already: --keep FILE writes these as labels of this draw.")


_MOST_ROWS = 20
