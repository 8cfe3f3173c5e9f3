"""`axisjudge panel`: judges put together, their ratings, and which verdicts may stand without a person."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show
from axisjudge.cli.options import Ratings, Steps, new_file, pairs

if TYPE_CHECKING:
    import polars as pl

    from axisjudge.studies.panels import Panels
    from axisjudge.studies.panels.voted import FittedPanel

app = show.group("Judges put together, and which of their verdicts may stand without a person.")

Panel = Annotated[Path, typer.Argument(help="A panel file that `panel fit` wrote.")]
Labels = Annotated[list[Path], typer.Option("--labels", help="Ratings files of people, or planted truth.")]
Sampling = Annotated[str | None, typer.Option(help="How labelled items were drawn, if the labels do not say: random.")]
Level = Annotated[float, typer.Option(help="How sure the bound on the error must be.")]


def ways() -> list[str]:
    """Names of the ways of putting judges together."""
    from axisjudge.stats.panels.ways import WAYS

    return list(WAYS)


@app.command(
    cls=show.naming("Ways", ways),
    epilog="Example: axisjudge panel fit ratings.jsonl --labels labels.jsonl --question sequencing --out panel.json",
)
def fit(
    ratings: Ratings,
    out: Annotated[Path, typer.Option(help="The panel file to write.")],
    labels: Labels = [],  # noqa: B006
    way: Annotated[
        str, typer.Option(help="Named below [default: logistic, ordered on scales, families_equal without labels]")
    ] = "",
    name: Annotated[str, typer.Option(help="Its ratings stand under panel:NAME [default: the file's name]")] = "",
    question: Annotated[str, typer.Option(help="Which question, where there are several.")] = "",
    judge: Annotated[list[str], typer.Option(help="A judge; may be given several times. All if none.")] = [],  # noqa: B006
    steps: Steps = False,
    sampling: Sampling = None,
    risk: Annotated[list[float], typer.Option(help="An error allowed among verdicts that stand; several times.")] = [  # noqa: B006
        0.05,
        0.1,
        0.2,
    ],
    level: Level = 0.95,
    local: Annotated[list[str], typer.Option(help="A judge, model or family that runs here at no price.")] = [],  # noqa: B006
    price: Annotated[list[str], typer.Option(help="JUDGE=USD for an item, where it is known better.")] = [],  # noqa: B006
    cascade: Annotated[
        list[str], typer.Option(help="A judge to ask in turn, the first one first; several times.")
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(help="Of the parts of cross-validations.")] = 0,
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

    table = read_ratings(*ratings, latest=True)
    label_table = read_ratings(*labels, latest=True) if labels else None
    check_tuning(table["cluster_id"].unique().to_list())
    result = panels(
        table,
        label_table,
        way=way,
        question=question,
        judges=judge or None,
        step_level=True if steps else None,
        sampling=sampling,
        risks=risk,
        level=level,
        local=local,
        prices=_prices(price),
        cascade=cascade,
        name=name or out.stem,
        files={"ratings": hashes(ratings), "labels": hashes(labels)},
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


@app.command(epilog="Example: axisjudge panel apply panel.json ratings.jsonl --out panel-ratings.jsonl")
def apply(
    panel: Panel,
    ratings: Ratings,
    out: Annotated[Path, typer.Option(help="Where its ratings are written (JSONL or Parquet).")],
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


@app.command(epilog="Example: axisjudge panel trust panel.json --ratings ratings.jsonl --labels more.jsonl --risk 0.05")
def trust(
    panel: Annotated[Path | None, typer.Argument(help="A panel file; or name one judge with --judge.")] = None,
    labels: Labels = [],  # noqa: B006
    ratings: Annotated[
        list[Path], typer.Option("--ratings", help="The judges' ratings [default: those the panel was fitted on]")
    ] = [],  # noqa: B006
    judge: Annotated[str, typer.Option(help="Instead of a panel: one judge, by its own confidence.")] = "",
    question: Annotated[str, typer.Option(help="With --judge: which question.")] = "",
    steps: Steps = False,
    risk: Annotated[float, typer.Option(help="The error allowed among verdicts that stand.")] = 0.05,
    level: Level = 0.95,
    sampling: Sampling = None,
    cross_fitted: Annotated[
        bool, typer.Option("--cross-fitted", help="Count labels of tasks fitted on as well, by fits without them.")
    ] = False,
    within: Annotated[int, typer.Option(help="On grades: a verdict so many grades from people's is no error.")] = 0,
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
    label_table = read_ratings(*labels, latest=True) if labels else None
    if label_table is not None:
        check_tuning(label_table["cluster_id"].unique().to_list(), where="labels")
    if panel is not None:
        fitted = read_panel(panel)
        table = read_ratings(*(ratings or _same(fitted)), latest=True)
        votes = voted(
            table,
            label_table,
            question=fitted.question,
            judges=list(fitted.asked),
            sampling=sampling,
            step_level=bool(table.filter(question=fitted.question)["step_index"].is_not_null().any()),
        )
        trust_result = trust_panel(fitted, votes, risk=risk, level=level, cross_fitted=cross_fitted, within=within)
    else:
        if not ratings:
            raise InputError("--ratings", "with --judge the ratings must be named")
        table = read_ratings(*ratings, latest=True)
        votes = voted(
            table, label_table, question=question, judges=[judge], sampling=sampling, step_level=True if steps else None
        )
        trust_result = trust_judge(votes, judge, risk=risk, level=level, within=within)
    if json:
        words = [sentences.stands_in_full(trust_result), sentences.worst(trust_result)]
        show.as_json({**trust_result.to_dict(), "sentences": words})
    else:
        typer.echo(show.text(sentences.stands_in_full(trust_result)))
        if trust_result.n_tuned:
            typer.echo(f"Labels of tasks that it was fitted on are left out: {trust_result.n_tuned:,}.")
        if trust_result.granted:
            show.table(plain(StandingOfStrata(trust_result, votes).table), "By word and by agent")
            typer.echo(f"\n{show.text(sentences.worst(trust_result))}")
    if not trust_result.granted:
        raise typer.Exit(1)


def _as_before(result: "Panels") -> dict[str, Any]:
    """The fit in plain values, a key a thing."""
    from axisjudge.results import plain

    votes, members = result.ways.votes, result.members
    return {
        "panel": plain(result.panel),
        "ways": result.ways.to_dict(),
        "worth": plain(members.worth),
        "reliability": result.calibration.to_dict() or None,
        "effective": plain(members.effective),
        "trust": plain(result.trust.trusts),
        "frontier": result.frontier.to_dict(),
        "prices": dict(members.prices),
        "n_items": len(votes.items),
        "n_voted": votes.n_voted,
        "n_confident": votes.n_confident,
        "n_tasks": len(set(votes.tasks)),
        "n_labelled": votes.n_labelled,
        "n_labelled_tasks": votes.votes.n_labelled_groups,
        "cluster_unit": votes.cluster_unit,
        "made_up": list(votes.made_up),
    }


def _prices(given: list[str]) -> dict[str, float]:
    from axisjudge.ratings.scales import number_of

    prices = {name: number_of(price) for name, price in pairs("--price", given, "JUDGE=USD").items()}
    if wrong := [name for name, price in prices.items() if price is None]:
        raise InputError("--price", "is written JUDGE=USD", wrong[0])
    return {name: price for name, price in prices.items() if price is not None}


def _same(panel: "FittedPanel") -> list[Path]:
    """The ratings files that a panel was fitted on, if they are still what they were."""
    from axisjudge.studies.panels.voted import hashes

    files = [Path(name) for name in panel.ratings]
    if not files or not all(file.is_file() for file in files):
        raise InputError("--ratings", "the files that the panel was fitted on are not here", cure="name the ratings")
    if hashes(files) != dict(panel.ratings):
        raise InputError(str(files[0]), "is not what it was when the panel was fitted", cure="name it with --ratings")
    return files


def _counted(given: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    kept = given.filter(pl.col("verdict").is_not_null())
    counts = {"ratings": pl.len(), "mean confidence": pl.col("confidence").mean()}
    return kept.group_by("verdict").agg(**counts).sort("ratings", descending=True)
