"""`axisjudge panel|curve|ratings|cost`: judges, scores and ratings files put together, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError, one_of
from axisjudge.cli import show
from axisjudge.cli.show import Ratings, Steps, new_file, pairs

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.ratings.merging import Merged
    from axisjudge.studies.curves.fits import CurveReport
    from axisjudge.studies.panels import Panels
    from axisjudge.studies.panels.voted import FittedPanel


# `axisjudge panel`: judges put together, their ratings, and which verdicts may stand without a person.

panel_app = show.app.group("panel", "Judges put together, and which of their verdicts may stand without a person.")

Panel = Annotated[Path, typer.Argument(help="A panel file that `panel fit` wrote.")]


@dataclass(frozen=True)
class LabelOptions:
    """People's labels, and what a bound on the error against them rests on."""

    labels: Annotated[list[Path], "Ratings files of people, or planted truth."] = field(default_factory=list)
    steps: Steps = False
    sampling: Annotated[str | None, "How labelled items were drawn, if the labels do not say: random."] = None
    level: Annotated[float, "How sure the bound on the error must be."] = 0.95

    def table(self) -> pl.DataFrame | None:
        from axisjudge.ratings import read_ratings

        return read_ratings(*self.labels, latest=True) if self.labels else None


def ways() -> list[str]:
    """Names of the ways of putting judges together."""
    from axisjudge.stats.panel_ways import WAYS

    return list(WAYS)


@panel_app.example(
    "fit ratings.jsonl --labels labels.jsonl --question sequencing --out panel.json", cls=show.naming("Ways", ways)
)
def fit_panel(
    ratings: Ratings,
    out: Annotated[Path, "The panel file to write."],
    labelled: LabelOptions = LabelOptions(),
    way: Annotated[str, "Named below [default: logistic, ordered on scales, families_equal without labels]"] = "",
    name: Annotated[str, "Its ratings stand under panel:NAME [default: the file's name]"] = "",
    question: Annotated[str, "Which question, where there are several."] = "",
    judge: Annotated[list[str], "A judge; may be given several times. All if none."] = [],
    risk: Annotated[list[float], "An error allowed among verdicts that stand; several times."] = [0.05, 0.1, 0.2],
    local: Annotated[list[str], "A judge, model or family that runs here at no price."] = [],
    price: Annotated[list[str], "JUDGE=USD for an item, where it is known better."] = [],
    cascade: Annotated[list[str], "A judge to ask in turn, the first one first; several times."] = [],
    seed: Annotated[int, "Of the parts of cross-validations."] = 0,
    json: show.Json = False,
) -> None:
    """Put judges together in every way, side by side on tasks left out, and keep the chosen one.

    Their words alone are taken, not their confidences; for one judge's own confidence see panel trust --judge.
    """
    from axisjudge.protocol import check_tuning
    from axisjudge.ratings import read_ratings
    from axisjudge.results import plain
    from axisjudge.studies.panels import panels
    from axisjudge.studies.panels.voted import hashes

    new_file(out)
    table = read_ratings(*ratings, latest=True)
    label_table = labelled.table()
    check_tuning(table["cluster_id"].unique().to_list())
    result = panels(
        table,
        label_table,
        way=way,
        question=question,
        judges=judge or None,
        step_level=True if labelled.steps else None,
        sampling=labelled.sampling,
        risks=risk,
        level=labelled.level,
        local=local,
        prices=_prices(price),
        cascade=cascade,
        name=name or out.stem,
        files={"ratings": hashes(ratings), "labels": hashes(labelled.labels)},
        seed=seed,
    )
    if not result.ways.votes.n_voted:
        raise InputError("ratings", "must hold a verdict of a judge: all were lost", cure="judge again")
    result.panel.save(out)
    if json:
        show.as_json({"panel": str(out), "sha256": result.panel.sha256, **_as_before(result), "answer": result.answer})
        return
    if result.banner:
        typer.echo(result.banner)
    typer.echo(show.text(result.answer))
    if result.ways.ways:
        show.table(plain(result.ways.table), "Ways of putting judges together, on tasks left out")
    show.table(plain(result.members.table), "Judges")
    show.table(plain(result.trust.table), "What may stand without a person")
    show.table(plain(result.frontier.table), "What money buys")
    answers = (result.members.answer, result.calibration.answer, *result.trust.each_risk, result.strata.answer)
    show.lines((*answers, result.frontier.answer), apart=True)
    typer.echo(f"\nPanel: {out} ({result.panel.sha256[:12]}). Next: axisjudge panel apply {out} RATINGS --out FILE")


@panel_app.example("apply panel.json ratings.jsonl --out panel-ratings.jsonl")
def apply_panel(
    panel: Panel,
    ratings: Ratings,
    out: Annotated[Path, "Where its ratings are written (JSONL or Parquet)."],
    json: show.Json = False,
) -> None:
    """Write the ratings of `panel:NAME`; they go through every page as any judge's."""
    from axisjudge.protocol import check_panel
    from axisjudge.ratings import read_ratings, write_ratings
    from axisjudge.studies.panels.voted import panel_ratings, read_panel

    fitted = read_panel(panel)
    given = panel_ratings(fitted, read_ratings(*ratings, latest=True))
    check_panel(fitted.rater, fitted.sha256, given)
    write_ratings(given, new_file(out))
    lost = given.filter(status="refused").height
    tuned = given.filter(given["cluster_id"].is_in(list(fitted.tuned_on))).height
    if json:
        show.as_json({"out": str(out), "rater": fitted.rater, "ratings": given.height, "lost": lost, "tuned": tuned})
        return
    show.table(_counted(given).to_dicts(), f"{given.height:,} ratings of {fitted.rater}: {out}")
    if lost:
        typer.echo(f"On {lost:,} items none of its judges gave a word.")
    if tuned:
        typer.echo(f"{tuned:,} are of tasks that it was fitted on: against these labels it looks better than it is.")


@panel_app.example("trust panel.json --ratings ratings.jsonl --labels more.jsonl --risk 0.05")
def trust(
    panel: Annotated[Path | None, typer.Argument(help="A panel file; or name one judge with --judge.")] = None,
    labelled: LabelOptions = LabelOptions(),
    ratings: Annotated[list[Path], "The judges' ratings [default: those the panel was fitted on]"] = [],
    judge: Annotated[str, "Instead of a panel: one judge, by its own confidence."] = "",
    question: Annotated[str, "With --judge: which question."] = "",
    risk: Annotated[float, "The error allowed among verdicts that stand."] = 0.05,
    cross_fitted: Annotated[bool, "Count labels of tasks fitted on as well, by fits without them."] = False,
    within: Annotated[int, "On grades: a verdict so many grades from people's is no error."] = 0,
    json: show.Json = False,
) -> None:
    """The confidence above which verdicts may stand without a person; exit code 1 where none may."""
    from axisjudge.protocol import check_tuning
    from axisjudge.ratings import read_ratings
    from axisjudge.results import plain
    from axisjudge.studies.panels import StandingOfStrata, sentences
    from axisjudge.studies.panels.trust import trust_judge, trust_panel
    from axisjudge.studies.panels.voted import read_panel, voted

    if (panel is None) == (not judge):
        raise InputError("PANEL", "name a panel file, or one judge with --judge")
    label_table = labelled.table()
    if label_table is not None:
        check_tuning(label_table["cluster_id"].unique().to_list(), where="labels")
    if panel is None and not ratings:
        raise InputError("--ratings", "with --judge the ratings must be named")
    fitted = None if panel is None else read_panel(panel)
    table = read_ratings(*(ratings or (_files_fitted_on(fitted) if fitted else ())), latest=True)
    asked: dict[str, Any] = {"question": question, "judges": [judge], "step_level": True if labelled.steps else None}
    if fitted is not None:
        if question not in ("", fitted.question):
            raise InputError("--question", f"panel {fitted.name} answers {fitted.question}", question, "leave it out")
        asked = {"question": fitted.question, "judges": fitted.asked_in(table["rater"]), "step_level": fitted.steps}
    elif cross_fitted:
        raise InputError("--cross-fitted", "is of a panel's own fits", f"--judge {judge}", "leave it out")
    votes = voted(table, label_table, **asked, sampling=labelled.sampling)
    how: dict[str, Any] = {"risk": risk, "level": labelled.level, "within": within}
    if fitted is not None:
        trust_result = trust_panel(fitted, votes, cross_fitted=cross_fitted, **how)
    else:
        trust_result = trust_judge(votes, judge, **how)
    if json:
        words = [sentences.stands_in_full(trust_result), sentences.worst(trust_result)]
        show.as_json({**trust_result.to_dict(), "sentences": words})
    else:
        typer.echo(show.text(sentences.stands_in_full(trust_result)))
        if trust_result.n_tuned:
            typer.echo(f"Labels of tasks that it was fitted on are left out: {trust_result.n_tuned:,}.")
        if trust_result.granted:
            show.table(plain(StandingOfStrata(trust_result, kind=votes.kind).table), "By word and by agent")
            typer.echo(f"\n{show.text(sentences.worst(trust_result))}")
    if not trust_result.granted:
        raise typer.Exit(1)


def _as_before(result: Panels) -> dict[str, Any]:
    """The fit in plain values, a key a thing."""
    from axisjudge.results import columns, plain, row

    votes = result.ways.votes
    counts = row(votes, columns("n_voted n_confident n_labelled n_labelled_tasks=votes.n_labelled_groups cluster_unit"))
    return {
        **plain(row(result, {"panel": "panel", "ways": "ways", "frontier": "frontier", "trust": "trust.trusts"})),
        **plain(row(result.members, {"worth": "worth", "effective": "effective", "prices": "prices"})),
        "reliability": result.calibration.to_dict() or None,
        "n_items": len(votes.items),
        "n_tasks": len(set(votes.tasks)),
        "made_up": list(votes.made_up),
        **counts,
    }


def _prices(given: list[str]) -> dict[str, float]:
    from axisjudge.ratings.scales import number_of

    prices = {name: number_of(price) for name, price in pairs("--price", given, "JUDGE=USD").items()}
    if wrong := [name for name, price in prices.items() if price is None]:
        raise InputError("--price", "is written JUDGE=USD", wrong[0])
    return {name: price for name, price in prices.items() if price is not None}


def _files_fitted_on(panel: FittedPanel) -> list[Path]:
    """The ratings files that a panel was fitted on, if they are still what they were."""
    from axisjudge.studies.panels.voted import hashes

    files = [Path(name) for name in panel.ratings]
    if not files or not all(file.is_file() for file in files):
        raise InputError("--ratings", "the files that the panel was fitted on are not here", cure="name the ratings")
    if hashes(files) != dict(panel.ratings):
        raise InputError(str(files[0]), "is not what it was when the panel was fitted", cure="name it with --ratings")
    return files


def _counted(given: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    kept = given.filter(pl.col("verdict").is_not_null())
    counts = {"ratings": pl.len(), "mean confidence": pl.col("confidence").mean()}
    return kept.group_by("verdict").agg(**counts).sort("ratings", "verdict", descending=[True, False])


# `axisjudge curve`: fit S-curves to data and put raw scores through them.

curve_app = show.app.group(
    "curve", "S-curves from raw scores to 0-100: fitted with their intervals, or refused with a reason."
)

_MOST_ROWS = 20

Table = Annotated[Path, typer.Argument(help="A table: CSV, JSON Lines or Parquet, one row a run.")]
Raw = Annotated[str, "Column of raw scores, from 0 to 1."]
Dimension = Annotated[str | None, "Column of dimensions; each has a curve of its own."]


@curve_app.example("fit scores.csv --raw raw --human human --task task --out curve.json")
def fit_curve(
    table: Table,
    raw: Raw = "raw",
    human: Annotated[str, "Column of people's scores, from 0 to 100, or of their labels."] = "human",
    task: Annotated[str, "Column of tasks: runs of one task are not independent."] = "task",
    dimension: Dimension = None,
    run: Annotated[str | None, "Column of runs, where rows are repeated judgings: shows the judge's noise."] = None,
    reference: Annotated[
        str, "criterion (50 is where people say 50) or norm (50 is the median of these runs)."
    ] = "criterion",
    labels: Annotated[str, "People's labels, worst first, with commas between."] = "",
    cut: Annotated[str, "The least label that counts as good."] = "",
    floor: Annotated[float | None, "Raw scores below count as this; by default raw 0 is left out of the fit."] = None,
    ci_level: Annotated[float, "Level of all intervals."] = 0.95,
    out: Annotated[Path | None, "Where to write the curve file."] = None,
    json: show.Json = False,
) -> None:
    """Median and sigma with intervals, rival forms on unseen tasks, warnings; exit code 1 where all is refused."""
    from axisjudge.scores.curves.fit import write_curves
    from axisjudge.studies.curves import ScoreColumns, curve_report
    from axisjudge.studies.curves.sources import read_table

    if out is not None:
        new_file(out)
    words = [word.strip() for word in labels.split(",") if word.strip()]
    report = curve_report(
        read_table(table, (task, dimension, run)),
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
        _print_curves(report)
        if out is not None:
            typer.echo(f"\nwritten: {out}" if stands else f"\nnot written, because every fit is refused: {out}")
    if not stands:
        raise typer.Exit(1)


@curve_app.example("apply runs.csv --curve curve.json --out scored.csv")
def apply_curve(
    table: Table,
    curve: Annotated[Path, "A curve file that `curve fit` wrote."],
    raw: Raw = "raw",
    dimension: Dimension = None,
    mended: Annotated[bool, "Divide by the curve's value at raw 1, so that raw 1 scores 100."] = False,
    out: Annotated[Path | None, "Where to write the table with scores."] = None,
    json: show.Json = False,
) -> None:
    """Every row's score with its band, under the name that says what 50 means."""
    from axisjudge.scores.curves.fit import read_curves
    from axisjudge.studies.curves.fits import apply_curves
    from axisjudge.studies.curves.sources import ScoreColumns, read_table, write_table

    fits = read_curves(curve)
    scored = apply_curves(
        read_table(table, (dimension,)), fits, ScoreColumns(raw=raw, dimension=dimension), mended=mended
    )
    if out is not None:
        write_table(scored, new_file(out))
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


def _print_curves(report: CurveReport) -> None:
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


# `axisjudge ratings|cost`: files of ratings put together, a dataset of them looked at, and what they have cost.

_MOST_NAMED = 10

ratings_app = show.app.group("ratings", "Put ratings files together, and look at a dataset.")


@ratings_app.example("merge ratings-*.jsonl --out ratings.jsonl --trajectories results")
def merge(
    ratings: show.Ratings,
    out: Annotated[Path, "New file (.jsonl, .parquet); without a suffix a dataset."],
    trajectories: Annotated[list[Path], "The runs that were to be rated: tells what is missing."] = [],
    strict: Annotated[bool, typer.Option("--require-whole", help="Exit 1 where something is missing.")] = False,
    json: show.Json = False,
) -> None:
    """Ratings files as one, by item, question and rater; of several lines of one identity the last one wins.

    Files count in the order in which they are named, but a judge's lost verdict never takes the place of one it gave.
    Identities whose lines have different verdicts are counted. What lines that gave way cost, `cost` says of their own
    files alone.
    """
    from axisjudge.labels.lint_people import some
    from axisjudge.ratings import read_every_line, write_ratings
    from axisjudge.ratings.dataset import scan_ratings
    from axisjudge.ratings.merging import merged, missing, write_dataset

    new_file(out)
    if out.suffix:
        written, table = merged(read_every_line(*ratings))
        write_ratings(table, out)
        lines: pl.LazyFrame = table.lazy()
    else:
        written = write_dataset(ratings, out)
        lines = scan_ratings(out)
    runs = [run.id for run in show.runs_of(trajectories)] if trajectories else []
    lacking = missing(lines, runs)
    if json:
        show.as_json({"out": str(out), **_merged_counts(written), **({"missing": lacking} if trajectories else {})})
    else:
        _print_merged(written, out)
        rows = [{**row, "trajectories": some(row["trajectories"], _MOST_NAMED)} for row in lacking]
        if trajectories:
            show.table(rows, f"Missing of {len(runs):,} trajectories (n without a rating, lost without a verdict)")
    if strict and lacking:
        raise typer.Exit(1)


@ratings_app.example("compact ratings.jsonl --out ratings")
def compact(ratings: show.Ratings, out: Annotated[Path, "The new folder."], json: show.Json = False) -> None:
    """Ratings files, or a dataset of many small ones, as a dataset of Parquet: a folder a question, few large files.

    Every command that takes ratings reads it; `agreement` does so without holding it in memory.
    """
    from axisjudge.ratings.merging import write_dataset

    written = write_dataset(ratings, out)
    if json:
        show.as_json({"out": str(out), **_merged_counts(written)})
    else:
        _print_merged(written, out)


@ratings_app.example("stats ratings")
def stats(
    ratings: Annotated[str, typer.Argument(help="A dataset: a folder, or an address such as s3://BUCKET/FOLDER.")],
    json: show.Json = False,
) -> None:
    """What is in a dataset: ratings, lost ones, items, clusters, raters, files and size of each question."""
    from axisjudge.ratings.dataset import dataset_stats

    show.listed("questions", dataset_stats(ratings), json=json)


def _merged_counts(merged: Merged) -> dict[str, Any]:
    return {"ratings": merged.n_ratings, "replaced": merged.n_replaced, "conflicts": merged.n_conflicts}


def _print_merged(merged: Merged, out: Path) -> None:
    typer.echo(
        f"{merged.n_ratings:,} ratings: {out}\n{merged.n_replaced:,} lines gave way to another one of their identity; "
        f"{merged.n_conflicts:,} identities had verdicts that differ"
    )


@show.app.example("cost data/ratings/ratings.jsonl")
def cost(ratings: Annotated[list[Path], typer.Argument(help="Ratings files.")], json: show.Json = False) -> None:
    """What each judge's ratings took: calls, tokens, the cached share, what was spent, and that per 1,000 verdicts."""
    from axisjudge.judging.estimate import cost_of
    from axisjudge.ratings import read_every_line

    costs = cost_of(read_every_line(*ratings))
    if json:
        show.as_json({"judges": [each.to_dict() for each in costs]})
        return
    show.table([each.row() for each in costs], "" if costs else "Ratings that cost something")
    for each in costs:
        if each.n_unpriced:
            why = "no price, no usage, or timed out"
            typer.echo(f"\n{each.rater}: calls whose cost nobody knows ({why}), not in the sum: {each.n_unpriced}.")
