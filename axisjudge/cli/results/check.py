"""`axisjudge check`: judges against people from one table, without a workbench or a key."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show
from axisjudge.cli.options import AlikeOption

if TYPE_CHECKING:
    from axisjudge.studies.check import Decision
    from axisjudge.studies.check.compute import Checked

#: ``RATER:WORD=WORD`` of --words.
_MEANT = re.compile(r"(.*:[^=]+)=(.*)")
#: Of larger files it is said what is being done; of so many judges the table of counts is printed.
_LARGE, _MOST_COUNTED = 20_000_000, 4


def check(
    table: Annotated[Path, typer.Argument(help="CSV, TSV, JSON, JSON Lines, Parquet, Excel; packed too; - for stdin.")],
    judge: Annotated[list[str], typer.Option(help="A judge's column (in a long table its name); repeatable.")] = [],  # noqa: B006
    human: Annotated[list[str], typer.Option(help="People's column, or a person's name; repeatable.")] = [],  # noqa: B006
    cluster: Annotated[str, typer.Option(help="The column of tasks or queries; `none` for rows on their own.")] = "",
    confidence: Annotated[list[str], typer.Option(help="JUDGE=COLUMN, or COLUMN; in [0, 1].")] = [],  # noqa: B006
    item: Annotated[list[str], typer.Option(help="The column that names items; repeatable: several together.")] = [],  # noqa: B006
    rater: Annotated[str, typer.Option(help="Long table: the column of raters.")] = "",
    value: Annotated[str, typer.Option(help="Long table: the column of what they said.")] = "",
    words: Annotated[
        list[str],
        typer.Option(help="The words PASS,FAIL, or all words of a question; RATER:WORD=WORD: what a word stands for."),
    ] = [],  # noqa: B006
    pass_if: Annotated[list[str], typer.Option(help="'COLUMN >= 0.5': from where on a score passes.")] = [],  # noqa: B006
    scale: Annotated[str, typer.Option(help="nominal, or ordinal (ordinal:LOWEST,...,HIGHEST for words).")] = "",
    positive: Annotated[str, typer.Option(help="The word a judge should catch, asked against all others.")] = "",
    missing: Annotated[list[str], typer.Option(help="A further word that means no verdict; repeatable.")] = [],  # noqa: B006
    where: Annotated[list[str], typer.Option(help="COLUMN=WORD: only these rows.")] = [],  # noqa: B006
    sampling: Annotated[
        str,
        typer.Option(help="How labelled rows were drawn: random, by_judge_verdict[=JUDGE], by_human_label, by_key."),
    ] = "unknown",
    alike: AlikeOption = "items",
    risk: Annotated[float, typer.Option(help="The error a judge may make on what it decides alone.")] = 0.1,
    level: Annotated[float, typer.Option(help="Level of intervals and of requirements.")] = 0.95,
    require: Annotated[
        list[str], typer.Option(help="MEASURE>=NUMBER or JUDGE.MEASURE>=NUMBER, by lower bounds, all together.")
    ] = [],  # noqa: B006
    json: show.Json = False,
    html: Annotated[Path | None, typer.Option(help="Write one page that works offline.")] = None,
) -> None:
    """How often judges pass what people pass and catch what people fail, by task; what the file supports and what not.

    Take it for one table that holds both, without a workbench. Ratings files with labels of their own: `compare`.
    Judges without people: `agreement`. How sure they say they are: `confidence`. Exit 1 when a requirement is shown to
    fall short, 4 when labels are too few to tell.
    """
    from csv import reader

    from axisjudge.stats.estimate import exit_code
    from axisjudge.studies.check import check as check_table
    from axisjudge.studies.check import decide

    pairs = [each.rpartition("=")[::2] for each in confidence]
    if len(dict(pairs)) < len(pairs):
        raise InputError("--confidence", "names a judge twice", ", ".join(confidence))
    lists = [each for each in words if not _MEANT.fullmatch(each)]
    if len(lists) > 1:
        raise InputError("--words", "names the question's words once", "; ".join(lists))
    means = {parts[1]: parts[2] for each in words if (parts := _MEANT.fullmatch(each))}
    large = table.is_file() and table.stat().st_size > _LARGE
    if large:
        typer.echo(f"reading {table} ({table.stat().st_size / 1e6:,.0f} MB)", err=True)
    result = check_table(
        table,
        judges=judge,
        human=human,
        cluster=cluster,
        confidence=dict(pairs),
        item=item,
        rater=rater,
        value=value,
        words=next(reader([lists[0]], skipinitialspace=True)) if lists else (),
        means=means,
        pass_if=pass_if,
        positive=positive,
        scale=scale,
        missing=missing,
        where=where,
        sampling=sampling,
        alike=alike,
        risk=risk,
        ci_level=level,
        progress=(lambda text: typer.echo(text, err=True)) if large else None,
    )
    decisions = decide(result.read, require)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(result.page(), encoding="utf-8")
    if json:
        known = [{**vars(each), "sentence": each.sentence()} for each in decisions]
        show.as_json({**result.to_dict(), "requirements": known})
    else:
        _print(result.read, decisions)
        if html is not None:
            typer.echo(f"\nPage: {html}")
    raise typer.Exit(exit_code(decisions))


def _print(read: "Checked", decisions: "Sequence[Decision]") -> None:
    from axisjudge.studies.check.sentences import printed, report, verdict_line

    if decisions:
        typer.echo(f"{show.text(verdict_line(decisions, read.terms.ci_level))}\n")
    show.table(read.recognised, "What the columns are taken for", most=12)
    typer.echo()
    for part, lines in report(read).items():
        if part == "supported":
            show.table(printed(read), f"Estimate ({read.terms.ci_level:.0%} interval)")
            for rows in list(read.counts.values())[:_MOST_COUNTED]:
                show.table(rows, "Counts: people down, the judge across")
            show.table(read.disagreements, "Where they differ", most=10)
        if lines:
            typer.echo("" if part != "read" else None, nl=part != "read")
        show.lines(lines)
    for each in decisions:
        typer.echo(("\n" if each is decisions[0] else "") + show.text(each.sentence()))
