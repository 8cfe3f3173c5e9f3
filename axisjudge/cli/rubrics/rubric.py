"""`axisjudge rubric`: what the judges are told."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.cli import show
from axisjudge.cli.rubrics.lock import lock, statistics, status
from axisjudge.cli.rubrics.rubric_compare import compare
from axisjudge.cli.rubrics.rubric_improve import improve
from axisjudge.cli.rubrics.rubric_log import log

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
    heads = ("axis", "version", "status", "date", "tokens", "sha256", "changes")
    rows = [{name: getattr(rubric, name) for name in heads} for rubric in rubrics]
    show.table([{**row, "date": str(row["date"]), "sha256": row["sha256"][:12]} for row in rows])


@app.command("show", epilog="Example: axisjudge rubric show argument_validity v2")
def show_(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    version: Annotated[str | None, typer.Argument(help="A version such as v2; the current one if none.")] = None,
) -> None:
    """The text that judges are shown."""
    from axisjudge.rubric import load_rubric

    typer.echo(load_rubric(axis, version).text, nl=False)


@app.command("new", epilog="Example: axisjudge rubric new argument_validity --from v3")
def new(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    from_: Annotated[str | None, typer.Option("--from", help="The version it begins with [default: current]")] = None,
    changes: Annotated[str, typer.Option(help="What will be changed, in one sentence.")] = "",
    json: show.Json = False,
) -> None:
    """Begin the next version as a draft with the text of another; nothing is opened or judged."""
    from axisjudge.rubric import begin_version, read_rubric
    from axisjudge.workbench import home

    path = begin_version(axis, from_, changes=changes)
    draft, relative = read_rubric(path), path.relative_to(home()).as_posix()
    if json:
        show.as_json({"path": relative, **draft.model_dump(mode="json", exclude={"text"})})
        return
    typer.echo(f"{relative}: a draft of {axis} {draft.version}.")
    typer.echo(f"Next: edit it, say what changed in its front matter, then axisjudge rubric lint {axis}")


@app.command("promote", epilog="Example: axisjudge rubric promote argument_validity v5")
def promote(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    version: Annotated[str, typer.Argument(help="The draft, such as v5.")],
    json: show.Json = False,
) -> None:
    """Make a draft the current rubric of its axis; the one that was current is superseded."""
    from axisjudge.rubric import promote_version
    from axisjudge.workbench import home

    path, before = promote_version(axis, version)
    relative = path.relative_to(home()).as_posix()
    if json:
        show.as_json({"path": relative, "axis": axis, "current": version, "superseded": before})
        return
    typer.echo(f"{relative}: {axis} {version} is current{f', {before} superseded' if before else ''}.")
    typer.echo(f"Next: axisjudge rubric lint {axis}, then axisjudge rubric lock")


@app.command("lint", epilog="Example: axisjudge rubric lint argument_validity --superseded")
def lint(
    axes: Annotated[list[str] | None, typer.Argument(help="Axes; all five if none.")] = None,
    superseded: Annotated[bool, typer.Option("--superseded", help="Superseded versions as well.")] = False,
    json: show.Json = False,
) -> None:
    """Copies, names, missing sections, a peer's questions, outcome words, examples without verdict, silent changes."""
    from axisjudge.protocol.lock import locked_rubrics
    from axisjudge.rubric.lint import lint_rubrics

    findings = lint_rubrics(axes or (), superseded=superseded, locked=locked_rubrics())
    if json:
        show.as_json({"findings": [asdict(finding) for finding in findings]})
    else:
        rows = [{"place": f"{found.file}:{found.line}", **asdict(found)} for found in findings]
        show.table([{name: row[name] for name in ("place", "rule", "found", "cure")} for row in rows], "Findings")
    if findings:
        raise typer.Exit(1)


app.command(
    "lock",
    cls=show.naming("Statistics", statistics),
    epilog="Example: axisjudge rubric lock --judge rules --axis sequencing --margin 0.05",
)(lock)
app.command("status", epilog="Example: axisjudge rubric status")(status)

app.command("compare", epilog="Example: axisjudge rubric compare ratings.jsonl --change argument_validity=v2:v3")(
    compare
)

Found = Annotated[list[Path] | None, typer.Option(help="A ratings file.")]


@app.command("diff", epilog="Example: axisjudge rubric diff argument_validity v2 v3 --ratings ratings.jsonl")
def diff(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    before: Annotated[str, typer.Argument(help="The older version.")],
    after: Annotated[str, typer.Argument(help="The newer version.")],
    ratings: Found = None,
    json: show.Json = False,
) -> None:
    """What changed in the text; with ratings also which verdicts changed, rater by rater."""
    from axisjudge.protocol.ledger import rubric_diff
    from axisjudge.ratings import read_ratings

    table = read_ratings(*ratings) if ratings else None
    changes = rubric_diff(axis, before, after, table)
    claim = {} if table is None else show.standing_fields(table)
    if json:
        verdicts = None if changes.verdicts is None else changes.verdicts.to_dicts()
        show.as_json(
            {"axis": axis, "before": before, "after": after, "text": changes.text, "verdicts": verdicts, **claim}
        )
        return
    typer.echo(changes.text or f"The prose of {before} and {after} is the same.")
    if table is None or changes.verdicts is None or changes.changed is None:
        return
    typer.echo(f"\nVerdicts: {changes.changed.height} of {changes.verdicts.height} changed from {before} to {after}")
    show.table(_counts(changes.verdicts), "Before and after, by rater")
    show.table(changes.changed.drop("repeat", "cluster_id").to_dicts(), "Changed")
    show.standing(table)


app.command(
    "improve",
    epilog="Example: axisjudge rubric improve termination --judge openai:gpt-5 --proposer openai:gpt-6.1-sol "
    "--labels labels.jsonl --budget 20",
)(improve)

app.command("log", epilog="Example: axisjudge rubric log argument_validity")(log)


def _counts(verdicts: "pl.DataFrame") -> list[dict[str, Any]]:
    import polars as pl

    return verdicts.group_by("rater", "before", "after").agg(n=pl.len()).sort("rater", "before", "after").to_dicts()
