"""`axisjudge report|plan|explore`: pages made from ratings, and the plan of a study."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError, in_open_unit_interval, one_of, positive
from axisjudge.cli import show

if TYPE_CHECKING:
    from axisjudge.judges.pricing import Tokens
    from axisjudge.report import ReportResult
    from axisjudge.report.bundle.publishing import Published
    from axisjudge.studies.plan.pilots import JudgePrice, StudyPlan


@show.app.example("report 05_failures -p seed=7")
def report(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(help="Reports, with or without their number; all if none.")] = [],
    parameter: Annotated[list[str], typer.Option("-p", help="KEY=VALUE, a parameter of the notebook.")] = [],
    force: Annotated[bool, "Run even where nothing has changed."] = False,
    list_: Annotated[bool, typer.Option("--list", help="Print the reports with their questions, and stop.")] = False,
    gallery: Annotated[bool, "Make the reports of reports/gallery."] = False,
    publish: Annotated[str, "Write a document of this name from ratings."] = "",
    ratings: Annotated[list[str], typer.Option("--from", help="Its ratings: files, or votes:tau2.")] = [],
    labels: Annotated[list[str], "People's labels, where the ratings hold none."] = [],
    trajectories: Annotated[list[str], "The runs that were rated."] = [],
    title: Annotated[str, "Its title; by default the name in words."] = "",
    author: Annotated[list[str], "An author; by default those of pyproject.toml."] = [],
    bib: Annotated[str, "BibTeX entries to list beside those of the methods."] = "",
    columns: Annotated[int, "Columns of a page of its article.tex: 1 or 2."] = 1,
    date: Annotated[str, "Its day in CITATION.cff; by default today."] = "",
    check: Annotated[str, "Compute the numbers of a published folder anew."] = "",
    diff: Annotated[tuple[str, str] | None, "Two results, number by number."] = None,
    redact: show.Redact = True,
    cluster: show.Cluster = None,
    json: show.Json = False,
) -> None:
    """Run the notebooks and write reports/<name>/; what has not changed is left alone.

    Example: axisjudge report --publish my_study --from ratings.jsonl --labels labels.jsonl
    """

    if list_:
        _list(json)
        return
    asked = [name for name, given in (("--publish", publish), ("--check", check), ("--diff", diff)) if given]
    if asked and cluster is not None:
        raise InputError("--cluster", "is for reports of notebooks", asked[0], "leave it out")
    if len(asked) > 1 or (asked and (names or gallery)):
        raise InputError("report", "does one thing at a time", [*names, *asked])
    if bool(publish) != bool(ratings):
        raise InputError("--publish", "needs ratings, and --from a name", cure="--publish NAME --from RATINGS")
    if not publish:
        show.only_for(context, "--publish", *_PUBLISHED, cure="a notebook takes -p KEY=VALUE")
    if check or diff or gallery:
        show.only_for(context, "a report's name, or --publish", "parameter")
    given = show.pairs("-p", parameter, "KEY=VALUE", empty=True)
    if publish:
        from axisjudge.report.bundle import publish as published
        from axisjudge.workbench import own

        head: dict[str, Any] = {"title": title, "authors": author, "bib": bib, "columns": columns, "released": date}
        how: dict[str, Any] = {**head, "redact": redact, "settings": given, "home": own()}
        _print_published(published(publish, ratings, labels, trajectories, **how), json=json)
    elif check:
        _check(check, json)
    elif diff:
        _diff(*diff, json)
    else:
        _run(names, given, gallery, json, force=force, cluster=cluster)


#: Options of a document; a notebook has parameters for the like (``-p labels=FILE``).
_PUBLISHED = ("labels", "trajectories", "title", "author", "bib", "columns", "date", "redact")


def _list(json: bool) -> None:
    """Every report with its question, the first heading of its notebook."""
    from axisjudge.report.notebook import read_source, report_notebooks
    from axisjudge.report.render import title_of
    from axisjudge.workbench import home

    books = {name: read_source(path) for name, path in report_notebooks(home()).items()}
    rows = [{"report": name, "question": title_of(book, name)} for name, book in books.items()]
    show.listed("reports", rows, "Reports (axisjudge report NAME makes one)", json=json)


def _run(names: list[str], given: dict[str, str], gallery: bool, json: bool, **how: Any) -> None:
    from axisjudge.report.run import run_gallery, run_reports
    from axisjudge.sharing import in_words

    start = time.perf_counter()
    if gallery:
        results = run_gallery(names or None, **how, on_done=_progress)
    else:
        results = run_reports(names or None, given, **how, on_done=_progress)
    if json:
        rows = [{**asdict(result), "folder": str(result.folder), "html": str(result.html)} for result in results]
        show.as_json({"reports": rows})
        return
    written = [result for result in results if result.status == "written"]
    for result in written:
        typer.echo(f"  {result.name}  written in {result.seconds:.1f} s: {result.html}")
    for result in results:
        if result.unanswered:
            typer.echo(f"  {result.name}  has no answer. {result.unanswered}")
        if taken := in_words(result.secrets, may_stay=False):
            typer.echo(f"  {result.name}  {taken}")
    rest = len(results) - len(written)
    typer.echo(f"{len(written)} written, {rest} up to date, in {time.perf_counter() - start:.1f} s")
    if results:
        reports = results[0].folder.parents[1 if gallery else 0]
        typer.echo(f"All reports: {reports / 'index.html'}")


def _print_published(made: Published, *, json: bool) -> None:
    from axisjudge.sharing import in_words

    if json:
        show.as_json({**asdict(made), "folder": str(made.folder)})
        return
    typer.echo(made.about)
    typer.echo(f"{', '.join(made.parts)}: {made.n_figures} figures, {made.n_tables} tables")
    if sentence := in_words(Counter(made.secrets)):
        typer.echo(sentence)
    if made.without_pdf:
        typer.echo(f"No PDF: {made.without_pdf}; print article.html from a browser, or install chromium.")
    typer.echo(f"Written: {made.folder / 'article.html'}")
    typer.echo("It holds the ratings themselves, with the reasons of judges: look through inputs/ before it leaves.")


def _check(folder: str, json: bool) -> None:
    from axisjudge.report.bundle import check_bundle
    from axisjudge.stats.estimate import many

    checked = check_bundle(folder)
    if json:
        differ = [each.row() for each in checked.differences]
        show.as_json({**asdict(checked), "differences": differ, "holds": checked.holds})
    else:
        if checked.made_with != checked.checked_with:
            typer.echo(f"Made with axisjudge {checked.made_with}, checked with {checked.checked_with}.")
        if checked.differences:
            first = checked.differences[0]
            typer.echo(f"{many(len(checked.differences), 'difference')}; the first: {first.where}")
            typer.echo(f"  the bundle says  {show.text(first.before)}\n  its ratings say  {show.text(first.after)}")
        else:
            typer.echo(f"The ratings give the same results, article and tables: {checked.n_numbers:,} numbers.")
        for line in (*checked.files, *checked.notes):
            typer.echo(f"  {show.text(line)}")
    if not checked.holds:
        raise typer.Exit(1)


def _diff(before: str, after: str, json: bool) -> None:
    from axisjudge.report.difference import ABSENT, are_related, compare_results

    changes = compare_results(before, after)
    rows, related = [each.row() for each in changes], are_related(before, after, changes)
    if json:
        show.as_json({"related": related, "differences": rows})
        return
    if not related:
        shared = [row for row in rows if ABSENT not in (row["before"], row["after"])]
        typer.echo(
            f"These results are of different things: {len(rows) - len(shared):,} places stand in one of them alone, "
            f"and {len(shared):,} that stand in both differ. Compare results of one report and of the same raters."
        )
        return
    if not rows:
        typer.echo("The results are the same.")
    else:
        short = [{key: _short(value) for key, value in row.items()} | {"where": _ends(row["where"])} for row in rows]
        show.table(short, "Differences", most=_MOST_DIFFERENCES)


#: Differences that are printed.
_MOST_DIFFERENCES = 40


def _short(value: Any) -> Any:
    """A number as it is; a text, list or row in few words."""
    if value is None or isinstance(value, int | float):
        return None if value is None else f"{value:.10g}"
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _ends(where: str) -> str:
    """A long place by its ends: the last part says what differs."""
    return where if len(where) <= 60 else f"{where[:19]}…{where[-40:]}"


def _progress(result: ReportResult, done: int, of: int) -> None:
    """One line that is written over, for a person who waits; nothing where nobody looks."""
    if sys.stderr.isatty():
        line = f"\r  {done} of {of} reports, last {result.name} in {result.seconds:.1f} s"
        print(line.ljust(79), end="\r" if done < of else "\r" + " " * 79 + "\r", file=sys.stderr, flush=True)


# `axisjudge plan`: how large a study must be, and what it costs.

plan_app = show.app.group(
    "plan", "How many trajectories, labels, people and repeats a wanted precision takes, and what that costs."
)

Prevalence = Annotated[float, "Share of failures."]


@dataclass(frozen=True)
class Calls:
    """Judges whose calls are priced."""

    judge: Annotated[list[str], "A judge spec to price; may be given several times."] = field(default_factory=list)
    input_tokens: Annotated[int | None, typer.Option(min=1, help="Prompt tokens of one call.")] = None
    output_tokens: Annotated[int | None, typer.Option(min=1, help="Reply tokens of one call.")] = None

    def prices(self, piloted: Tokens | None = None) -> list[JudgePrice]:
        """What a call costs, of each judge: of the tokens given, else of a pilot's."""
        from axisjudge.judges.pricing import Tokens
        from axisjudge.studies.plan.pilots import TOKENS, judge_prices

        basis = piloted or TOKENS
        return judge_prices(self.judge, Tokens(self.input_tokens or basis.input, self.output_tokens or basis.output))


@dataclass(frozen=True)
class Labelling:
    """What a label takes."""

    minutes: Annotated[float | None, "Minutes that one label takes."] = None
    wage: Annotated[float, "US dollars for an hour of labelling."] = 40.0

    def usd(self) -> float | None:
        """Its price, where its minutes are given."""
        from axisjudge.studies.plan.pilots import label_price

        if self.minutes is None:
            return None
        return label_price(positive("--minutes", self.minutes), positive("--wage", self.wage))


@plan_app.example(
    "agreement --half-width 0.1 --kappa 0.6 --prevalence 0.2 --per-task 4",
    cls=show.naming("Coefficients", show.coefficients),
)
def agreement(
    half_width: Annotated[float, "Wanted half width of the interval."] = 0.1,
    coefficient: Annotated[str, "One of those named below."] = "cohen_kappa",
    kappa: Annotated[float, "Assumed kappa of two judges."] = 0.6,
    prevalence: Prevalence = 0.2,
    per_task: Annotated[int, typer.Option(min=1, help="Runs (agents) of one task.")] = 1,
    pilot: Annotated[Path | None, "Ratings to draw tasks from instead of assuming."] = None,
    axis: Annotated[str, "The pilot's question."] = "argument_validity",
    difference: Annotated[
        float | None,
        "With --pilot, the study's ratings so far: tasks until the first two judges (or versions) are shown "
        "to differ by so much in how often they fail runs, at no cost in level.",
    ] = None,
    calls: Calls = Calls(),
    json: show.Json = False,
) -> None:
    """Tasks for a half width of an agreement coefficient, from assumptions or from a pilot."""
    from axisjudge.ratings import read_ratings
    from axisjudge.stats.planning import plan_agreement
    from axisjudge.studies.plan.pilots import (
        difference_sentence,
        pilot_of,
        pilot_sentence,
        study_plan,
        tasks_to_differ,
    )

    in_open_unit_interval("--half-width", half_width)
    one_of("--coefficient", coefficient, show.coefficients())
    drawn = pilot_of(read_ratings(pilot, latest=True), axis) if pilot else None
    more: dict[str, Any] = {}
    further = ""
    if difference is not None:
        if drawn is None:
            raise InputError("--difference", "is planned from a study's ratings so far", cure="name them by --pilot")
        looked = tasks_to_differ(drawn, in_open_unit_interval("--difference", difference))
        more, further = {"difference": vars(looked)}, difference_sentence(looked, drawn)
    curve = plan_agreement(
        half_width,
        coefficient=coefficient,
        kappa=kappa,
        prevalence=prevalence,
        per_task=per_task,
        pilot=(drawn.ratings, drawn.tasks) if drawn else None,
    )
    if drawn and not json:
        typer.echo(pilot_sentence(drawn))
    runs, prices = (drawn.runs_per_task, calls.prices(drawn.tokens)) if drawn else (per_task, calls.prices())
    plan = study_plan(curve, judges=prices, calls_per_unit=runs)
    _print_study_plan(plan, json, more, further)


@plan_app.example("labels --half-width 0.05 --sensitivity 0.9 --specificity 0.9 --judged 1000")
def labels(
    half_width: Annotated[float, "Wanted half width of the corrected failure rate."] = 0.05,
    prevalence: Prevalence = 0.2,
    sensitivity: Annotated[float, "P(judge says incorrect | people say incorrect)."] = 0.9,
    specificity: Annotated[float, "P(judge does not say incorrect | people do not)."] = 0.9,
    judged: Annotated[int, typer.Option(min=10, help="Runs that the judge rates.")] = 1000,
    pilot: Annotated[list[Path], "Ratings and labels of a pilot, instead of the three assumptions above."] = [],
    axis: Annotated[str, "The pilot's question."] = "argument_validity",
    of: Annotated[str | None, "The pilot's judge, where it has several."] = None,
    calls: Calls = Calls(),
    labelling: Labelling = Labelling(),
    budget: Annotated[float | None, "US dollars to share between labels and judged runs (--minutes, --judge)."] = None,
    json: show.Json = False,
) -> None:
    """Labels, drawn at random, for a half width of a corrected failure rate."""
    from axisjudge.ratings import read_ratings
    from axisjudge.stats.planning import allocate_budget, one_more_judged, plan_corrected_rate
    from axisjudge.studies.plan.pilots import (
        allocation_sentence,
        judged_sentence,
        labelled_pilot,
        labelled_pilot_sentence,
        study_plan,
    )

    in_open_unit_interval("--half-width", half_width)
    assumed: dict[str, Any] = {"prevalence": prevalence, "sensitivity": sensitivity, "specificity": specificity}
    if pilot:
        rated = labelled_pilot(read_ratings(*pilot, latest=True), axis, of)
        assumed = rated.rates()
        if not json:
            typer.echo(f"{labelled_pilot_sentence(rated)}\n")
    gain, per_label = one_more_judged(half_width, **assumed, n_judged=judged), labelling.usd()
    prices = calls.prices()
    more: dict[str, Any] = {"one_more_judged": gain}
    further = judged_sentence(gain, prices)
    if budget is not None:
        priced = [each.usd_per_call for each in prices if each.usd_per_call is not None]
        if per_label is None or not sum(priced) or len(priced) < len(prices):
            cure = "say --minutes, and --judge with list prices"
            raise InputError("--budget", "needs the price of a label and of every judge", cure=cure)
        costs = {"usd_per_label": per_label, "usd_per_run": sum(priced)}
        shared = allocate_budget(positive("--budget", budget), **costs, **assumed)
        more |= {"allocation": vars(shared)}
        further = f"{further} {allocation_sentence(shared, budget)}"
    curve = plan_corrected_rate(half_width, **assumed, n_judged=judged)
    _print_study_plan(study_plan(curve, usd_per_label=per_label, labels_per_unit=1), json, more, further)


@plan_app.example("stand-in --people 3 --epsilon 0.1 --power 0.8")
def stand_in(
    power: Annotated[float, "Wanted probability that the claim can be made."] = 0.8,
    people: Annotated[int, typer.Option(min=3, help="People who label every item.")] = 3,
    epsilon: Annotated[float, "How much worse than a person the judge may be."] = 0.1,
    judge_accuracy: Annotated[float, "Assumed accuracy of the judge."] = 0.85,
    person_accuracy: Annotated[float, "Assumed accuracy of a person."] = 0.8,
    prevalence: Prevalence = 0.3,
    labelling: Labelling = Labelling(),
    json: show.Json = False,
) -> None:
    """Items for the claim that a judge may stand in for a person (alternative annotator test)."""
    from axisjudge.stats.planning import plan_stand_in
    from axisjudge.studies.plan.pilots import study_plan

    curve = plan_stand_in(
        power,
        n_people=people,
        epsilon=epsilon,
        judge_accuracy=judge_accuracy,
        person_accuracy=person_accuracy,
        prevalence=prevalence,
    )
    _print_study_plan(study_plan(curve, usd_per_label=labelling.usd(), labels_per_unit=people), json)


@plan_app.example("repeats ratings.jsonl")
def repeats(
    ratings: Annotated[list[Path], typer.Argument(help="A pilot's ratings: two judges or more, asked twice or more.")],
    json: show.Json = False,
) -> None:
    """What more judges or more repeats buy, from the variance components of a pilot."""
    from axisjudge.ratings import read_ratings
    from axisjudge.studies.plan import LOWER_BOUNDS
    from axisjudge.studies.plan.pilots import panel_errors

    errors = panel_errors(read_ratings(*ratings, latest=True))
    if not errors:
        cure = "judge some runs with --repeats 2 and two judges first"
        raise InputError(str(ratings[0]), "must hold two judges that were asked twice", cure=cure)
    if json:
        show.as_json({"rows": errors})
        return
    rows = [each.named_values() for each in errors]
    show.table([{k: v for k, v in row.items() if k != "fixed judges"} for row in rows], "An item's mean verdict")
    if any(each.fixed_judges for each in errors):
        typer.echo(f"\n{LOWER_BOUNDS}")


def _print_study_plan(plan: StudyPlan, json: bool, more: dict[str, Any] | None = None, further: str = "") -> None:
    from axisjudge.studies.plan import plan_sentence
    from axisjudge.studies.plan.pilots import plan_rows

    sentence = " ".join(filter(None, (plan_sentence(plan), further)))
    if json:
        show.as_json(plan.to_dict() | (more or {}) | {"sentence": sentence})
        return
    what = "Power" if plan.curve.of_power else "Half width"
    show.table([_plan_row(row) for row in plan_rows(plan)], f"{what} for {plan.curve.what}")
    typer.echo(f"\n{sentence}")


def _plan_row(row: dict[str, Any]) -> dict[str, Any]:
    digits = {"half width": "{:.3f}", "power": "{:.0%}", "without interval": "{:.0%}", "USD": "{:,.2f}"}
    return {
        name: digits[name].format(value) if name in digits and value is not None else value
        for name, value in row.items()
    }


# `axisjudge explore`: runs x judges on every axis, in one file that works offline.


@show.app.example("explore ratings.jsonl --trajectories data/demo/results --out explorer.html")
def explore(
    ratings: Annotated[list[Path], typer.Argument(help="Ratings files (JSONL or Parquet), labels among them if any.")],
    out: Annotated[Path, "The HTML file to write."],
    trajectories: show.Runs = [],
    labels: Annotated[list[Path], "Labels or decisions that stand in files of their own."] = [],
    axis: Annotated[list[str], "Only this axis; may be given several times."] = [],
    agent: Annotated[list[str], "Only this agent's runs; may be given several times."] = [],
    limit: show.Limit = None,
    tools: show.Tools = show.Tools(),
    redact: show.Redact = True,
    json: show.Json = False,
) -> None:
    """A grid of runs x judges that opens each run at the cited steps; one file, no network, at most 5,000 runs."""
    import polars as pl

    from axisjudge.explorer.grid import Grid
    from axisjudge.explorer.page import write_explorer
    from axisjudge.labels.decisions import decisions_of
    from axisjudge.ratings import read_ratings
    from axisjudge.sharing import in_words
    from axisjudge.studies._shared.words import many

    table = read_ratings(*ratings, *labels)
    of_all = table
    for option, column, given in (("--axis", "question", axis), ("--agent", "agent", agent)):
        for name in given:
            one_of(option, name, sorted(set(of_all[column].drop_nulls())))
        table = table.filter(pl.col(column).is_in(given)) if given else table
    runs = list(show.runs_of(trajectories, **vars(tools)).trajectories) if trajectories else []
    if limit is not None:
        rated = set(table["trajectory_id"])
        names = [run.id for run in runs if run.id in rated] or sorted(rated)
        table = table.filter(pl.col("trajectory_id").is_in(names[:limit]))
    rated = set(table["trajectory_id"])
    grid = Grid.of(table, [run for run in runs if run.id in rated] if axis or agent or limit else runs)
    secrets = Counter[str]()
    write_explorer(out, grid, secrets, redact=redact)
    decisions = decisions_of(table)
    if json:
        size = {"runs": len(grid.runs), "columns": len(grid.columns), "bytes": out.stat().st_size}
        show.as_json(
            {"page": str(out), **size, "secrets": dict(secrets), "notes": list(grid.notes), "decisions": decisions}
        )
        return
    judges = len({column.rater for column in grid.columns})
    counts = ", ".join((many(len(grid.runs), "run"), many(len(grid.questions), "question"), many(judges, "judge")))
    size_mb = out.stat().st_size / 1e6
    typer.echo(f"{counts}, {size_mb:.1f} MB: {out}")
    taken_out = [sentence] if (sentence := in_words(secrets)) else []
    show.lines((*taken_out, *grid.notes, *(each.sentence for each in decisions)))
