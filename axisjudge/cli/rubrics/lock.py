"""`axisjudge rubric lock` and `status`: what is frozen before the held-out side is opened, and whether it still is."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show
from axisjudge.cli.options import Panel, pairs

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.spec import JudgeSpec


def statistics() -> Iterable[str]:
    """What a plan can declare."""
    from axisjudge.protocol.plan import statistics

    return statistics()


def lock(
    judge: Annotated[
        list[str],
        typer.Option(help="A judge of the held-out side; repeatable [default: those of the open side's ratings]"),
    ] = [],  # noqa: B006
    panel: Panel = None,
    rubric: Annotated[list[str], typer.Option(help="A rubric version for an axis, as axis=v2 [default: current]")] = [],  # noqa: B006
    axis: Annotated[list[str], typer.Option(help="A primary axis; may be given several times. All five if none.")] = [],  # noqa: B006
    statistic: Annotated[
        str | None, typer.Option(help="The primary statistic, named below [default: cohen_kappa]")
    ] = None,
    uncertain: Annotated[str | None, typer.Option(help="exclude or category [default: exclude]")] = None,
    weighting: Annotated[str | None, typer.Option(help="none, product or minimum [default: none]")] = None,
    margin: Annotated[float | None, typer.Option(help="What still counts as no difference [default: 0.05]")] = None,
    n: Annotated[int | None, typer.Option(min=1, help="Held-out runs planned for [default: all]")] = None,
    plan: Annotated[Path | None, typer.Option(help="An analysis plan as JSON; options go before it.")] = None,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(
            help="Calibration ratings: confidence maps are fitted on them and frozen, aliases looked up "
            "[default: those in data/ratings]"
        ),
    ] = None,
    panel_file: Annotated[
        list[Path],
        typer.Option(help="A fitted panel that will be applied to the held-out side; may be given several times."),
    ] = [],  # noqa: B006
    allow_alias: Annotated[bool, typer.Option("--allow-alias", help="Take names whose model may change.")] = False,
    json: show.Json = False,
) -> None:
    """Freeze rubrics, prompts, judges, split and analysis plan; the held-out side can then be opened."""
    from axisjudge.protocol import AnalysisPlan, freeze_maps, kept_ratings, make_lock, plan_of, rated_before, read_split
    from axisjudge.protocol.lock import PLACE
    from axisjudge.rubric import list_rubrics
    from axisjudge.spec import panel as panel_of
    from axisjudge.spec import parse_specs
    from axisjudge.verdict import AXES, IDENTITY

    chosen = {
        "axes": axis or None,
        "statistic": statistic,
        "uncertain": uncertain,
        "weighting": weighting,
        "margin": margin,
        "n": n,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    fields = {"axes": list(AXES), **_from_file(plan), **given}
    AnalysisPlan.of(fields)
    split, every = read_split(), kept_ratings(ratings or ())
    table = None if every is None else every.unique(subset=list(IDENTITY), keep="last", maintain_order=True)
    judges = parse_specs([*judge, *(panel_of(panel) if panel else [])] or _judges_of(split.open_side, table))
    if table is not None:
        fields["maps"] = freeze_maps(table, split, raters=_confident(judges, table))
    with show.failed_check():
        locked = make_lock(
            judges,
            AnalysisPlan.of(fields),
            versions=pairs("--rubric", rubric, "axis=version", cure="for example argument_validity=v2"),
            allow_alias=allow_alias,
            ratings=table,
            panels=[path.absolute() for path in panel_file],
        )
    if json:
        show.as_json(locked)
        return
    show.table([{"axis": name, "rubric": held["version"]} for name, held in locked["rubrics"].items()])
    for name, held in locked["rubrics"].items():
        newer = [each.version for each in list_rubrics(name) if each.status == "draft"]
        if newer and newer[-1] != held["version"]:
            typer.echo(f"Locked with {held['version']}, though {newer[-1]} is a draft: {name}, no axis of the plan.")
    show.table([{"judge": name, "mechanism": held["mechanism"]} for name, held in locked["judges"].items()])
    if fitted := locked.get("panels"):
        show.table([{"panel": name, "sha256": held["sha256"][:12]} for name, held in fitted.items()])
    for name, alias in locked["aliases"].items():
        answered = ", ".join(alias["returned_models"]) or "nothing on record"
        typer.echo(f"Alias: {name} may be moved by its provider; answered so far: {answered}")
    typer.echo(plan_of(locked).sentence)
    frozen = plan_of(locked).maps.items()
    maps = ", ".join(f"{rater} ({each['kind']}, {each['n_fitted']})" for rater, each in frozen)
    typer.echo(f"Planned for {plan_of(locked).n} held-out runs. Confidence maps: {maps or 'none'}.")
    if early := rated_before(every, split):
        typer.echo(early.sentence)
    typer.echo(f'\nLock: {PLACE}. Next: axisjudge holdout open --reason "..."')


def status(json: show.Json = False) -> None:
    """Whether the lock still holds, and every field that changed since: exit code 1 where it does not."""
    from axisjudge.protocol import status as status_of

    state = status_of()
    if json:
        changed = [{"field": each.path, "was": each.was, "is": each.now} for each in state.changes]
        show.as_json({"locked": state.locked, "holds": state.holds, "faults": list(state.faults), "changes": changed})
    elif state.holds:
        typer.echo("The lock holds: nothing has changed since.")
    else:
        show.lines(state.reasons)
    if not state.holds:
        raise typer.Exit(1)


def _from_file(path: Path | None) -> dict[str, Any]:
    from axisjudge.protocol.ledger import read_json

    if path is None:
        return {}
    if not path.is_file():
        raise InputError("--plan", "no such file", str(path))
    fields = read_json(path, str(path))
    if not isinstance(fields, dict):
        raise InputError("--plan", "must hold one JSON object", str(path))
    return fields


def _judges_of(side: str, table: "pl.DataFrame | None") -> list[str]:
    """The judges that rated the open side."""
    import polars as pl

    from axisjudge.ratings.edge import BY_JUDGE

    mine = (pl.col("split") == side) & BY_JUDGE
    if table is not None and (rated := table.filter(mine)).height:
        return rated["rater"].unique().sort().to_list()
    cure = f"name them: --judge SPEC, or judge first: axisjudge judge --split {side} --judge SPEC"
    raise InputError("--judge", f"no judge is named, and none has rated the {side} side", cure=cure)


def _confident(judges: "list[JudgeSpec]", table: "pl.DataFrame") -> list[str]:
    """The judges that give confidences in a table."""
    giving = set(table.drop_nulls("confidence")["rater"])
    return [spec.rater for spec in judges if spec.rater in giving]
