"""`axisjudge rubric`: what the judges are told."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.cli import show
from axisjudge.cli.rubrics.lock import lock, statistics, status
from axisjudge.cli.rubrics.rubric_compare import compare
from axisjudge.cli.rubrics.rubric_lint import lint

if TYPE_CHECKING:
    import polars as pl

app = show.group("Rubrics: what judges are told, how it changed, and its lock.")


@app.command("list", epilog="Example: axisjudge rubric list")
def list_(json: show.Json = False) -> None:
    """All rubrics: axis, version, status, length and what changed."""
    from axisjudge.rubric import list_rubrics
    from axisjudge.verdict import AXES

    rubrics = [rubric for axis in AXES for rubric in list_rubrics(axis)]
    if json:
        fields = [{**rubric.model_dump(mode="json"), "sha256": rubric.sha256} for rubric in rubrics]
        show.as_json({"rubrics": fields})
        return
    show.table(
        [
            {
                "axis": rubric.axis,
                "version": rubric.version,
                "status": rubric.status,
                "date": str(rubric.date),
                "tokens": rubric.tokens,
                "sha256": rubric.sha256[:12],
                "changes": rubric.changes,
            }
            for rubric in rubrics
        ]
    )


@app.command("show", epilog="Example: axisjudge rubric show argument_validity v2")
def show_(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    version: Annotated[str | None, typer.Argument(help="A version such as v2; the current one if none.")] = None,
) -> None:
    """The text that judges are shown."""
    from axisjudge.rubric import load_rubric

    typer.echo(load_rubric(axis, version).text, nl=False)


app.command("lint", epilog="Example: axisjudge rubric lint argument_validity --superseded")(lint)
app.command(
    "lock",
    cls=show.naming("Statistics", statistics),
    epilog="Example: axisjudge rubric lock --judge rules --axis sequencing --margin 0.05",
)(lock)
app.command("status", epilog="Example: axisjudge rubric status")(status)

app.command("compare", epilog="Example: axisjudge rubric compare ratings.jsonl --change argument_validity=v2:v3")(
    compare
)

Found = Annotated[list[Path] | None, typer.Option(help="A ratings file [default: data/ratings/*.jsonl, for log]")]


@app.command("diff", epilog="Example: axisjudge rubric diff argument_validity v2 v3 --ratings ratings.jsonl")
def diff(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    before: Annotated[str, typer.Argument(help="The older version.")],
    after: Annotated[str, typer.Argument(help="The newer version.")],
    ratings: Found = None,
    json: show.Json = False,
) -> None:
    """What changed in the text; with ratings also which verdicts changed, rater by rater."""
    from axisjudge.protocol.history import rubric_diff
    from axisjudge.ratings import read_ratings

    table = read_ratings(*ratings) if ratings else None
    found = rubric_diff(axis, before, after, table)
    claim = {} if table is None else show.standing_fields(table)
    if json:
        said = None if found.verdicts is None else found.verdicts.to_dicts()
        show.as_json({"axis": axis, "before": before, "after": after, "text": found.text, "verdicts": said, **claim})
        return
    typer.echo(found.text or f"The prose of {before} and {after} is the same.")
    if table is None or found.verdicts is None or found.changed is None:
        return
    typer.echo(f"\nVerdicts: {found.changed.height} of {found.verdicts.height} changed from {before} to {after}")
    show.table(_counts(found.verdicts), "Before and after, by rater")
    show.table(found.changed.drop("repeat", "cluster_id").to_dicts(), "Changed")
    show.standing(table)


@app.command("log", epilog="Example: axisjudge rubric log argument_validity")
def log(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    ratings: Found = None,
    json: show.Json = False,
) -> None:
    """The trail of an axis: version, date, commit, and the judges' agreement then, from ratings given or found."""
    from dataclasses import asdict

    from axisjudge.protocol.history import rubric_trail
    from axisjudge.ratings import read_ratings
    from axisjudge.workbench import home

    trail = rubric_trail(axis)
    paths = ratings or sorted((home() / "data" / "ratings").glob("*.jsonl"))
    table = read_ratings(*paths) if paths else None
    rows = [{**asdict(stone), **_agreement_then(table, axis, stone.sha256)} for stone in trail]
    if json:
        claim = {} if table is None else show.standing_fields(table)
        show.as_json({"axis": axis, "ratings": [str(path) for path in paths], "versions": rows, **claim})
        return
    shown = ("version", "date", "status", "commit", "judges", "n", "percent", "kappa", "changes")
    show.table([{name: row[name] for name in shown} for row in rows])
    read = ", ".join(path.name for path in paths) or "no ratings file"
    typer.echo(f"Agreement of judges that were shown the version, from {read}.")
    if table is not None:
        show.standing(table)


def _agreement_then(table: "pl.DataFrame | None", axis: str, sha256: str) -> dict[str, Any]:
    """Agreement of the judges that were shown this text; nothing where fewer than two were."""
    import polars as pl

    from axisjudge.studies.agreement.by_question import agreement_by_axis

    nothing = {"judges": None, "n": None, "percent": None, "kappa": None}
    if table is None:
        return nothing
    shown = (pl.col("question") == axis) & (pl.col("rubric_sha256") == sha256) & (pl.col("repeat") == 0)
    own = table.filter(shown).unique(subset=["item_id", "rater"], keep="last", maintain_order=True)
    if own["rater"].n_unique() < 2:
        return nothing
    row = agreement_by_axis(own).questions[0].brief()
    return {"judges": own["rater"].n_unique(), **{name: row[name] for name in ("n", "percent", "kappa")}}


def _counts(verdicts: "pl.DataFrame") -> list[dict[str, Any]]:
    import polars as pl

    return verdicts.group_by("rater", "before", "after").agg(n=pl.len()).sort("rater", "before", "after").to_dicts()
