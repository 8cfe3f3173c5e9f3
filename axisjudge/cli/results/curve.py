"""`axisjudge curve`: fit S-curves to data and put raw scores through them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import one_of
from axisjudge.cli import show

if TYPE_CHECKING:
    from axisjudge.studies.curves.fits import CurveReport

app = show.group("S-curves from raw scores to 0-100: fitted with their intervals, or refused with a reason.")

_MOST_ROWS = 20

Table = Annotated[Path, typer.Argument(help="A table: CSV, JSON Lines or Parquet, one row a run.")]
Raw = Annotated[str, typer.Option(help="Column of raw scores, from 0 to 1.")]
Dimension = Annotated[str | None, typer.Option(help="Column of dimensions; each has a curve of its own.")]


@app.command(epilog="Example: axisjudge curve fit scores.csv --raw raw --human human --task task --out curve.json")
def fit(
    table: Table,
    raw: Raw = "raw",
    human: Annotated[str, typer.Option(help="Column of people's scores, from 0 to 100, or of their labels.")] = "human",
    task: Annotated[str, typer.Option(help="Column of tasks: runs of one task are not independent.")] = "task",
    dimension: Dimension = None,
    run: Annotated[
        str | None, typer.Option(help="Column of runs, where rows are repeated judgings: shows the judge's noise.")
    ] = None,
    reference: Annotated[
        str, typer.Option(help="criterion (50 is where people say 50) or norm (50 is the median of these runs).")
    ] = "criterion",
    labels: Annotated[str, typer.Option(help="People's labels, worst first, with commas between.")] = "",
    cut: Annotated[str, typer.Option(help="The least label that counts as good.")] = "",
    floor: Annotated[
        float | None, typer.Option(help="Raw scores below count as this; by default raw 0 is left out of the fit.")
    ] = None,
    ci_level: Annotated[float, typer.Option(help="Level of all intervals.")] = 0.95,
    out: Annotated[Path | None, typer.Option(help="Where to write the curve file.")] = None,
    json: show.Json = False,
) -> None:
    """Median and sigma with intervals, rival forms on unseen tasks, warnings; exit code 1 where all is refused."""
    from axisjudge.scores.curves.fit import write_curves
    from axisjudge.studies.curves import ScoreColumns, curve_report
    from axisjudge.studies.curves.sources import read_table

    words = [word.strip() for word in labels.split(",") if word.strip()]
    report = curve_report(
        read_table(table),
        ScoreColumns(raw=raw, human=human, task=task, dimension=dimension, run=run),
        reference="norm" if one_of("--reference", reference, ("criterion", "norm")) == "norm" else "criterion",
        labels=words,
        cut=cut,
        floor=floor,
        ci_level=ci_level,
    )
    stands = any(fit.curve for fit in report.fits.values())
    if out is not None and stands:
        write_curves(out, report.fits)
    if json:
        show.as_json(report.to_dict())
    else:
        _print(report)
        if out is not None:
            typer.echo(f"\nwritten: {out}" if stands else f"\nnot written, because every fit is refused: {out}")
    if not stands:
        raise typer.Exit(1)


@app.command(epilog="Example: axisjudge curve apply runs.csv --curve curve.json --out scored.csv")
def apply(
    table: Table,
    curve: Annotated[Path, typer.Option(help="A curve file that `curve fit` wrote.")],
    raw: Raw = "raw",
    dimension: Dimension = None,
    mended: Annotated[
        bool, typer.Option("--mended", help="Divide by the curve's value at raw 1, so that raw 1 scores 100.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Where to write the table with scores.")] = None,
    json: show.Json = False,
) -> None:
    """Every row's score with its band, under the name that says what 50 means."""
    from axisjudge.scores.curves.fit import read_curves
    from axisjudge.studies.curves.fits import apply_curves
    from axisjudge.studies.curves.sources import ScoreColumns, read_table, write_table

    fits = read_curves(curve)
    scored = apply_curves(read_table(table), fits, ScoreColumns(raw=raw, dimension=dimension), mended=mended)
    if out is not None:
        write_table(scored, out)
    if json:
        meanings = {name: fit.meaning for name, fit in fits.items()}
        show.as_json({"meaning": meanings, "mended": mended, "rows": scored.to_dicts()})
        return
    show.table(scored.head(_MOST_ROWS).to_dicts(), "Scores" + (" (mended top end)" if mended else ""))
    if (rest := scored.height - _MOST_ROWS) > 0:
        typer.echo(f"  and {rest:,} more rows, all of them with --out or --json")
    typer.echo()
    for name, fit in fits.items():
        typer.echo(f"{name}: {fit.score_name}; {fit.meaning}." if fit.curve else f"{name}: {fit.refusals[0]}")
    typer.echo("The band is the curve's uncertainty; a monotone curve never changes the order of raw scores.")


def _print(report: CurveReport) -> None:
    from axisjudge.studies.curves import form_errors

    show.table([each.row for each in report.dimensions], "Curves")
    if forms := form_errors(report).to_dict()["forms"]:
        show.table(forms, "Error on unseen tasks in points, and squared error beyond the log-normal fit's")
    for each in report.dimensions:
        if each.fit.floor_effects:
            rows = [
                {**effect._asdict(), "floor": "left out" if effect.floor is None else f"{effect.floor:g}"}
                for effect in each.fit.floor_effects
            ]
            show.table(rows, f"{each.dimension}: what a floor for raw 0 would make of the fit")
    show.lines([sentence for each in report.dimensions for sentence in each.sentences], apart=True)
