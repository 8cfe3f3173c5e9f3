"""`axisjudge import` and `axisjudge export`: ratings of other tools, and ours for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import InputError, one_of
from axisjudge.cli import options, show
from axisjudge.cli.labels.files import by_id
from axisjudge.cli.options import new_file, pairs

if TYPE_CHECKING:
    import polars as pl


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="CSV, JSON, JSONL, Parquet, or an export of a known tool; folders too."),
    ],
    out: Annotated[Path, typer.Option(help="The ratings file to write (JSON Lines, or .parquet).")],
    kind: Annotated[
        list[str],
        typer.Option(help="What the raters are: llm, decision_model, rules or human; NAME=KIND for one of them."),
    ] = [],  # noqa: B006
    family: Annotated[list[str], typer.Option(help="NAME=FAMILY: the model family of a rater.")] = [],  # noqa: B006
    rater: Annotated[str | None, typer.Option(help="Who rated, where the file does not say.")] = None,
    rater_column: Annotated[str | None, typer.Option(help="The column that names the rater.")] = None,
    column: Annotated[
        list[str],
        typer.Option(help="THEIRS=OURS: a column and our field: trajectory_id, verdict, ...; or ignore."),
    ] = [],  # noqa: B006
    question: Annotated[
        list[str], typer.Option(help="What was asked, where the file does not say; else the questions to take.")
    ] = [],  # noqa: B006
    axis_map: options.AxisMap = [],  # noqa: B006
    word_map: options.WordMap = [],  # noqa: B006
    item: Annotated[
        list[str], typer.Option(help="A column that names what was rated; several where only together they do.")
    ] = [],  # noqa: B006
    repeats: Annotated[
        bool, typer.Option("--repeats", help="Rows of one item and rater are repeats; else they are refused.")
    ] = False,
    missing: Annotated[list[str], typer.Option(help="A word that means that no rating came.")] = [],  # noqa: B006
    scale: options.Scale = [],  # noqa: B006
    sampling: options.Drawn = None,
    sampling_key: options.DrawnBy = None,
    trajectories: options.Runs = [],  # noqa: B006
    json: show.Json = False,
) -> None:
    """Read ratings by models, programs and people from files of other tools, each question on its own scale.

    Exit 1 when files of a folder were passed over.
    """
    from axisjudge.imports import ImportOptions, import_ratings
    from axisjudge.ratings import write_ratings

    new_file(out)
    for_all = [word for word in kind if "=" not in word]
    if len(for_all) > 1:
        raise InputError("--kind", "is one for all, and NAME=KIND for single raters", ", ".join(for_all))
    how = ImportOptions(
        kind=for_all[0] if for_all else None,
        kinds=pairs("--kind", [word for word in kind if "=" in word], at_last=True),
        families=pairs("--family", family, at_last=True),
        rater=rater,
        rater_column=rater_column,
        columns=pairs("--column", column, at_last=True),
        question=tuple(question),
        axes=pairs("--axis-map", axis_map, at_last=True),
        words=pairs("--word-map", word_map, at_last=True),
        item=tuple(item),
        repeats=repeats,
        missing=tuple(missing),
        scales=pairs("--scale", scale, at_last=True),
        trajectories=by_id(trajectories),
        sampling=sampling,
        sampling_key=sampling_key,
    )
    imported = import_ratings(files, how)
    if sampling is None and (imported.ratings["rater_kind"] == "human").all():  # labels alone, as `label import` asks
        silent = imported.ratings["flags"].list.contains("drawn:unknown").fill_null(True).sum()
        options.must_say_the_draw(int(silent), imported.ratings.height, ", ".join(path.name for path in files))
    write_ratings(imported.ratings, out)
    rows = [{"file": path.name, "format": form, "ratings": count} for path, form, count in imported.files]
    if json:
        raters = _raters(imported.ratings)
        over = list(imported.passed_over)
        notes = list(imported.notes)
        show.as_json({"out": str(out), "files": rows, "raters": raters, "notes": notes, "passed_over": over})
        raise typer.Exit(bool(over))
    show.table(rows, f"{imported.ratings.height} ratings written to {out}", most=20)
    show.table(_raters(imported.ratings), "Who rated")
    show.lines((f"{note}." for note in imported.notes), apart=True)
    if imported.passed_over:
        show.table([{"nothing taken of": each} for each in imported.passed_over], "Files passed over")
        raise typer.Exit(1)


def _raters(ratings: "pl.DataFrame") -> list[dict[str, object]]:
    import polars as pl

    counts = ratings.group_by("rater", "rater_kind", "family", maintain_order=True).agg(
        items=pl.col("item_id").n_unique(),
        questions=pl.col("question").n_unique(),
        ratings=pl.len(),
        lost=(pl.col("status") != "ok").sum(),
    )
    return counts.to_dicts()


def export(
    ratings: Annotated[list[Path], typer.Argument(metavar="RATINGS...", help="Ratings files (JSONL or Parquet).")],
    to: Annotated[
        str,
        typer.Option(
            help="parquet, csv, jsonl, inspect, crowd-kit, label-studio, argilla, alttest, agentprocessbench, agentrx."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    rater: Annotated[list[str], typer.Option(help="Only ratings by these.")] = [],  # noqa: B006
    question: Annotated[list[str], typer.Option(help="Only ratings of these questions.")] = [],  # noqa: B006
    trajectories: options.Runs = [],  # noqa: B006
    json: show.Json = False,
) -> None:
    """Write ratings for another tool; what its format cannot hold is refused or counted."""
    from axisjudge.imports import export_ratings
    from axisjudge.ratings import read_ratings

    new_file(out)
    table = _only(_only(read_ratings(*ratings), "rater", rater), "question", question)
    made = export_ratings(table, to, trajectories=by_id(trajectories))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(made.content)
    if json:
        held = {"out": str(out), "ratings": made.n_ratings, "not_held": dict(made.not_held), "notes": list(made.notes)}
        show.as_json(held)
        return
    typer.echo(f"{made.n_ratings} ratings written to {out}.")
    if made.not_held:
        rows = [{"field": name, "ratings": count} for name, count in made.not_held.items()]
        show.table(rows, f"What {to} does not hold, and in how many ratings it was said")
    show.lines(f"{note}." for note in made.notes)


def _only(table: "pl.DataFrame", name: str, wanted: Sequence[str]) -> "pl.DataFrame":
    import polars as pl

    for each in wanted:
        one_of(f"--{name}", each, sorted(set(table[name])))
    return table.filter(pl.col(name).is_in(list(wanted))) if wanted else table
