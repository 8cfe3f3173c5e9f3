"""`axisjudge rubric log`: the trail of an axis, each version's agreement, and what may be held against the one before.

A version's own figures rest on the runs that it was judged on. Two rows are compared on the runs, the judges and the
side that both have, and a row that shares none of them with the one before says so.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.cli import show

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.studies.agreement.by_question import QuestionAgreement

_COLUMNS = (
    *("version", "date", "status", "commit", "judges", "n", "side", "agents", "percent", "kappa"),
    *("change", "on", "compared", "changes"),
)


def log(
    axis: Annotated[str, typer.Argument(help="One of the five axes.")],
    ratings: Annotated[list[Path] | None, typer.Option(help="A ratings file [default: data/ratings/*.jsonl]")] = None,
    json: show.Json = False,
) -> None:
    """The trail of an axis: version, date, commit, the judges' agreement then, and how it changed on shared runs.

    Ratings are those given or found. `change` is of raw agreement, on the `on` runs of one side that both versions have
    from the same judges; `compared` says with which version, or why it cannot be.
    """
    from axisjudge.protocol.ledger import rubric_trail
    from axisjudge.ratings import read_ratings
    from axisjudge.workbench import home

    trail = rubric_trail(axis)
    searched = _searched(axis)
    paths = ratings or sorted((home() / "data" / "ratings").glob("*.jsonl"))
    table = read_ratings(*paths) if paths else None
    rows: list[dict[str, Any]] = []
    before: tuple[str, pl.DataFrame] | None = None
    for stone in trail:
        own = _shown(table, axis, stone.sha256)
        rows.append({**asdict(stone), **_then(own), **_against(before, own)})
        if own is not None:
            before = stone.version, own
    if json:
        claim = {} if table is None else show.standing_fields(table)
        show.as_json({"axis": axis, "ratings": [str(path) for path in paths], "versions": rows, **searched, **claim})
        return
    show.table([{name: row[name] for name in _COLUMNS} for row in rows])
    read = ", ".join(path.name for path in paths) or "no ratings file"
    typer.echo(f"Agreement of judges that were shown the version, from {read}; `uncertain` is a word of its own here,")
    typer.echo("so that all versions stand on the same runs (`judge` and `agreement` leave it out). More than noise?")
    typer.echo("  axisjudge rubric compare RATINGS --change AXIS=BEFORE:AFTER")
    if searched:
        typer.echo(f"\nThe last search by a model ({searched['drafts']} drafts in rubrics/{axis}/drafts):")
        typer.echo(f"  {searched['improvement']['answer']}")
    if table is not None:
        show.standing(table)


def _searched(axis: str) -> dict[str, Any]:
    """What the last `axisjudge rubric improve` came to, and how many drafts there are; empty where none was."""
    from axisjudge.iterating.work import DRAFTS, RECORD
    from axisjudge.studies.improvement import improvement
    from axisjudge.workbench import home

    folder = home() / "rubrics" / axis / DRAFTS
    if not (folder / RECORD).exists():
        return {}
    return {"drafts": len(list(folder.glob("*.md"))), "improvement": improvement(folder / RECORD).to_dict()}


def _shown(table: pl.DataFrame | None, axis: str, sha256: str) -> pl.DataFrame | None:
    """The verdicts of judges that were shown this text, one a run and judge; None where fewer than two were."""
    import polars as pl

    if table is None:
        return None
    shown = (pl.col("question") == axis) & (pl.col("rubric_sha256") == sha256) & (pl.col("repeat") == 0)
    own = table.filter(shown).unique(subset=["item_id", "rater"], keep="last", maintain_order=True)
    return own if own["rater"].n_unique() > 1 else None


def _then(own: pl.DataFrame | None) -> dict[str, Any]:
    """Agreement under a version, and on which runs of whom."""
    if own is None:
        return dict.fromkeys(("judges", "n", "side", "agents", "percent", "kappa"))
    from axisjudge.studies._shared.words import in_cell

    agreement = _agreement(own)
    cells = {name: agreement.coefficients.get(name) for name in ("percent", "kappa")}
    return {
        "judges": own["rater"].n_unique(),
        "n": agreement.n_items,
        "side": " and ".join(own["split"].fill_null("no split").unique().sort()),
        "agents": own["agent"].n_unique(),
        **{name: None if cell is None else in_cell(cell) for name, cell in cells.items()},
    }


def _agreement(own: pl.DataFrame) -> QuestionAgreement:
    from axisjudge.studies.agreement.by_question import agreement_by_axis

    return agreement_by_axis(own, uncertain="category").questions[0]  # one base for all versions


def _against(before: tuple[str, pl.DataFrame] | None, own: pl.DataFrame | None) -> dict[str, Any]:
    """The change of raw agreement on what both rows have in common, or why there is none."""
    import polars as pl

    nothing: dict[str, Any] = {"change": None, "on": None}
    if own is None or before is None:
        return {**nothing, "compared": None if own is None else "the first with ratings"}
    version, older = before
    cannot = f"not with {version}"
    judges = sorted(set(own["rater"]) & set(older["rater"]))
    if len(judges) < 2:
        return {**nothing, "compared": f"{cannot}: other judges"}
    mine = pl.col("rater").is_in(judges)
    same_runs = {"on": ["item_id", "split"], "how": "semi", "nulls_equal": True}
    old, new = older.filter(mine), own.filter(mine)
    old, new = old.join(new, **same_runs), new.join(old, **same_runs)  # type: ignore[arg-type]
    if new.is_empty():
        why = "another side" if set(own["split"]).isdisjoint(older["split"]) else _other_runs(own, older)
        return {**nothing, "compared": f"{cannot}: {why}"}
    values = [_agreement(table).coefficients.get("percent") for table in (old, new)]
    change = None if None in values else values[1].estimate - values[0].estimate  # type: ignore[union-attr]
    n, of = new["item_id"].n_unique(), (older["item_id"].n_unique(), own["item_id"].n_unique())
    only = "" if of == (n, n) else f", of {of[0]} and {of[1]} runs"
    fewer = "" if set(own["rater"]) == set(older["rater"]) else f", {len(judges)} judges of both"
    return {"change": change, "on": n, "compared": f"with {version}{only}{fewer}"}


def _other_runs(own: pl.DataFrame, older: pl.DataFrame) -> str:
    disjoint = set(own["agent"].drop_nulls()).isdisjoint(older["agent"].drop_nulls())
    return "runs of other agents" if disjoint else "other runs"
