"""`axisjudge label import|export|lint`: label files of others, ours for others, and what is wrong with them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import options, show
from axisjudge.cli.options import LabelFiles, new_file, pairs

if TYPE_CHECKING:
    from axisjudge.labels.formats import Terms
    from axisjudge.labels.formats.exchange import ImportedLabels
    from axisjudge.trajectory import Trajectory

Form = Annotated[
    str | None,
    typer.Option(
        "--format", help="jsonl, csv, label-studio, argilla, crowd-kit, agentrx, agentprocessbench or alttest."
    ),
]


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Label files of any known format.")],
    out: Annotated[Path, typer.Option(help="The labels file to write (JSON Lines).")],
    form: Form = None,
    axis_map: options.AxisMap = [],  # noqa: B006
    word_map: options.WordMap = [],  # noqa: B006
    scale: options.Scale = [],  # noqa: B006
    question: Annotated[str | None, typer.Option(help="What was asked, where the file does not say.")] = None,
    rater: Annotated[str | None, typer.Option(help="Who labelled, where the file does not say.")] = None,
    sampling: options.Drawn = None,
    sampling_key: options.DrawnBy = None,
    plan: Annotated[Path | None, typer.Option(help="The plan of the draw, NAME.sampling.json.")] = None,
    trajectories: options.Runs = [],  # noqa: B006
    json: show.Json = False,
) -> None:
    """Read people's labels from files of other tools, and say how their items were drawn."""
    from axisjudge.labels.formats import Terms, import_labels
    from axisjudge.labels.formats.exchange import knows, with_draw, without_draw
    from axisjudge.labels.sampling import read_sampling, sampling_path, write_sampling
    from axisjudge.ratings import RatingsWriter

    new_file(out)
    if plan is None and sampling is not None and sampling.endswith(".json"):
        plan, sampling = Path(sampling), None
    drawn = None if plan is None else read_sampling(plan)
    terms = Terms(
        rater=rater,
        question=question,
        axes=pairs("--axis-map", axis_map, at_last=True),
        words=pairs("--word-map", word_map, at_last=True),
        scales=pairs("--scale", scale, at_last=True),
        trajectories=by_id(trajectories),
    )
    found = [
        import_labels(path, terms, form=form, sampling=sampling, key=sampling_key, plan=drawn)
        if form or knows(path)
        else with_draw(_any(path, terms), path, sampling=sampling, key=sampling_key, plan=drawn)
        for path in files
    ]
    every = [rating for imported in found for rating in imported.ratings]
    if not every:
        raise InputError(", ".join(map(str, files)), "hold no labels")
    if sampling is None:
        options.must_say_the_draw(without_draw(every), len(every), ", ".join(path.name for path in files))
    with RatingsWriter(out) as writer:
        writer.append(every)
    if drawn is not None:
        write_sampling(sampling_path(out), drawn)
    rows = [
        {"file": path.name, "format": one.format, "labels": len(one.ratings), **_counts(one.ratings)}
        for path, one in zip(files, found, strict=True)
    ]
    notes = {str(path): list(one.notes) for path, one in zip(files, found, strict=True)}
    if json:
        show.as_json({"out": str(out), "files": rows, "notes": notes})
        return
    show.table(rows, f"Labels written to {out}")
    for path, remarks in notes.items():
        for note in remarks:
            typer.echo(f"{Path(path).name}: {note}.")


def _any(path: Path, terms: "Terms") -> "ImportedLabels":
    """People's labels of a file of any other tool, as `axisjudge import --kind human` reads it."""
    from axisjudge.imports import ImportOptions, import_ratings
    from axisjudge.labels.alttest import JUDGES, PEOPLE
    from axisjudge.labels.formats.exchange import ImportedLabels
    from axisjudge.labels.formats.terms import ratings_of

    how = ImportOptions(
        kind="human",
        question=(terms.question,) if terms.question else (),
        **{name: getattr(terms, name) for name in ("rater", "axes", "words", "scales", "trajectories")},
    )
    set_of = [path, path.with_name(JUDGES)] if path.name == PEOPLE else [path]
    read = import_ratings([each for each in set_of if each.is_file()], how, with_draw=False)
    people = read.ratings.filter(rater_kind="human") if len(set_of) > 1 else read.ratings
    return ImportedLabels(tuple(ratings_of(people)), read.files[0][1], read.notes)


def _counts(ratings: Sequence[object]) -> dict[str, int]:
    names = {"raters": "rater", "trajectories": "trajectory_id", "questions": "question"}
    counts = {head: len({getattr(rating, field) for rating in ratings}) for head, field in names.items()}
    return {**counts, "without_verdict": sum(getattr(rating, "status") != "ok" for rating in ratings)}  # noqa: B009


def by_id(paths: Sequence[Path]) -> "dict[str, Trajectory]":
    return {run.id: run for run in show.runs_of(paths).trajectories} if paths else {}


def export(
    labels: options.LabelFiles,
    form: Form,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    trajectories: options.Runs = [],  # noqa: B006
    json: show.Json = False,
) -> None:
    """Write labels for another tool; what its format cannot hold is refused or counted."""
    from axisjudge.labels.formats import Terms, export_labels
    from axisjudge.labels.formats.terms import ratings_of
    from axisjudge.ratings import read_ratings

    new_file(out)
    ratings = ratings_of(read_ratings(*labels))
    made = export_labels(ratings, str(form), Terms(trajectories=by_id(trajectories)))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(made.text, encoding="utf-8", newline="")
    needed = made.import_terms.as_options
    if json:
        show.as_json({"out": str(out), "labels": len(ratings), "not_held": made.lost, "import_with": needed})
        return
    typer.echo(f"{len(ratings)} labels written to {out}; read back and compared.")
    rows = [{"field": name, "labels": count} for name, count in made.lost.items()]
    if rows:
        show.table(rows, f"What {form} does not hold, and in how many labels it was said")
    if needed:
        typer.echo(f"To import it again: {' '.join(needed)}")


def lint(
    labels: LabelFiles,
    trajectories: Annotated[
        list[Path], typer.Option(help="The runs that were labelled: for ids and steps that do not exist.")
    ] = [],  # noqa: B006
    gold: Annotated[
        list[str], typer.Option(help="A rater whose labels are merged ones; else those called gold, key, merged, ...")
    ] = [],  # noqa: B006
    json: show.Json = False,
) -> None:
    """Check people's labels; exits 1 where they must not be used as they are."""
    from axisjudge.labels.lint import lint_labels, read_in_writing_order

    runs = show.runs_of(trajectories).trajectories if trajectories else None
    result = lint_labels(read_in_writing_order(*labels), trajectories=runs, gold=gold)
    if json:
        show.as_json(result.to_dict())
    else:
        who = "1 person" if len(result.people) == 1 else f"{len(result.people)} people"
        typer.echo(f"{result.n_labels} labels by {who}")
        for fault in result.findings:
            typer.echo(f"\n{fault.severity}: {fault.check}: {show.text(fault.what)}")
            for head, text in (("where", fault.where), ("how sure", fault.sure), ("cure", fault.cure)):
                typer.echo(f"  {head}: {show.text(text)}")
        if not result.findings:
            typer.echo("Nothing found.")
        rows = [{"check": check, "why not": reason} for check, reason in result.not_checked.items()]
        if rows:
            show.table(rows, "Not checked")
    if result.failed:
        raise typer.Exit(1)
