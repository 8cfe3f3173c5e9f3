"""`axisjudge report`: regenerate reports."""

import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from axisjudge.checks import InputError
from axisjudge.cli import options, show

if TYPE_CHECKING:
    from axisjudge.report import ReportResult


def report(
    names: Annotated[list[str], typer.Argument(help="Reports, with or without their number; all if none.")] = [],  # noqa: B006
    parameter: Annotated[list[str], typer.Option("-p", help="KEY=VALUE, a parameter of the notebook.")] = [],  # noqa: B006
    force: Annotated[bool, typer.Option("--force", help="Run even where nothing has changed.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Print the reports with their questions, and stop.")] = False,
    gallery: Annotated[bool, typer.Option("--gallery", help="Make the reports of reports/gallery.")] = False,
    publish: Annotated[str, typer.Option("--publish", help="Write a document of this name from ratings.")] = "",
    ratings: Annotated[list[str], typer.Option("--from", help="Its ratings: files, or votes:tau2.")] = [],  # noqa: B006
    labels: Annotated[list[str], typer.Option(help="People's labels, where the ratings hold none.")] = [],  # noqa: B006
    trajectories: Annotated[list[str], typer.Option(help="The runs that were rated.")] = [],  # noqa: B006
    title: Annotated[str, typer.Option(help="Its title; by default the name in words.")] = "",
    author: Annotated[list[str], typer.Option(help="An author; by default those of pyproject.toml.")] = [],  # noqa: B006
    bib: Annotated[str, typer.Option(help="BibTeX entries to list beside those of the methods.")] = "",
    columns: Annotated[int, typer.Option(help="Columns of a page of its article.tex: 1 or 2.")] = 1,
    date: Annotated[str, typer.Option(help="Its day in CITATION.cff; by default today.")] = "",
    check: Annotated[str, typer.Option("--check", help="Compute the numbers of a published folder anew.")] = "",
    diff: Annotated[tuple[str, str] | None, typer.Option("--diff", help="Two results, number by number.")] = None,
    redact: options.Redact = True,
    cluster: options.Cluster = None,
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
    given = dict(_pair(text) for text in parameter)
    if publish:
        _publish(
            publish,
            ratings,
            labels,
            trajectories,
            given,
            {"title": title, "authors": author, "bib": bib, "columns": columns, "released": date, "redact": redact},
            json,
        )
    elif check:
        _check(check, json)
    elif diff:
        _diff(*diff, json)
    else:
        _run(names, given, gallery, json, force=force, cluster=cluster)


def _list(json: bool) -> None:
    """Every report with its question, the first heading of its notebook."""
    import json as read

    from axisjudge.report.notebook import report_notebooks
    from axisjudge.workbench import home

    cells = {
        name: "".join(read.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        for name, path in report_notebooks(home()).items()
    }
    rows = [{"report": name, "question": text.splitlines()[0].lstrip("# ")} for name, text in cells.items()]
    show.listed("reports", rows, "Reports (axisjudge report NAME makes one)", json=json)


def _run(names: list[str], given: dict[str, str], gallery: bool, json: bool, **how: Any) -> None:
    from axisjudge.report.run import run_gallery, run_reports

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
    rest = len(results) - len(written)
    typer.echo(f"{len(written)} written, {rest} up to date, in {time.perf_counter() - start:.1f} s")
    if results:
        reports = results[0].folder.parents[1 if gallery else 0]
        typer.echo(f"All reports: {reports / 'index.html'}")


def _publish(
    name: str,
    ratings: list[str],
    labels: list[str],
    trajectories: list[str],
    settings: dict[str, str],
    head: dict[str, Any],
    json: bool,
) -> None:
    from axisjudge import workbench
    from axisjudge.report.bundle import publish
    from axisjudge.sharing import in_words

    made = publish(name, ratings, labels, trajectories, settings=settings, **head, home=workbench.own())
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

    found = compare_results(before, after)
    rows, related = [each.row() for each in found], are_related(before, after, found)
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
        show.table(short, "Differences", most=_MOST)


#: Differences that are printed.
_MOST = 40


def _short(value: Any) -> Any:
    """A number as it is; a text, list or row in few words."""
    if value is None or isinstance(value, int | float):
        return None if value is None else f"{value:.10g}"
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _ends(where: str) -> str:
    """A long place by its ends: the last part says what differs."""
    return where if len(where) <= 60 else f"{where[:19]}…{where[-40:]}"


def _progress(result: "ReportResult", done: int, of: int) -> None:
    """One line that is written over, for a person who waits; nothing where nobody looks."""
    if sys.stderr.isatty():
        line = f"\r  {done} of {of} reports, last {result.name} in {result.seconds:.1f} s"
        print(line.ljust(79), end="\r" if done < of else "\r" + " " * 79 + "\r", file=sys.stderr, flush=True)


def _pair(text: str) -> tuple[str, str]:

    key, given, value = text.partition("=")
    if not given:
        raise InputError("-p", "is written KEY=VALUE", text)
    return key, value
