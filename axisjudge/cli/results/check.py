"""`axisjudge check`: judges against people from one table, without a workbench or a key."""

from pathlib import Path
from typing import Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import show


def check(
    table: Annotated[Path, typer.Argument(help="CSV, TSV, JSON, JSON Lines or Parquet.")],
    judge: Annotated[list[str], typer.Option(help="A judge's column (in a long table its name); repeatable.")] = [],  # noqa: B006
    human: Annotated[list[str], typer.Option(help="People's column, or a person's name; repeatable.")] = [],  # noqa: B006
    cluster: Annotated[str, typer.Option(help="The column of tasks or queries; `none` for rows on their own.")] = "",
    confidence: Annotated[list[str], typer.Option(help="JUDGE=COLUMN, or COLUMN; in [0, 1].")] = [],  # noqa: B006
    item: Annotated[str, typer.Option(help="The column that names items.")] = "",
    rater: Annotated[str, typer.Option(help="Long table: the column of raters.")] = "",
    value: Annotated[str, typer.Option(help="Long table: the column of what they said.")] = "",
    words: Annotated[str, typer.Option(help="The words PASS,FAIL, or all words of a question that has more.")] = "",
    positive: Annotated[str, typer.Option(help="The word a judge should catch, asked against all others.")] = "",
    missing: Annotated[list[str], typer.Option(help="A further word that means no verdict; repeatable.")] = [],  # noqa: B006
    where: Annotated[list[str], typer.Option(help="COLUMN=WORD: only these rows.")] = [],  # noqa: B006
    sampling: Annotated[
        str,
        typer.Option(help="How labelled rows were drawn: random, by_judge_verdict[=JUDGE], by_human_label, by_key."),
    ] = "unknown",
    risk: Annotated[float, typer.Option(help="The error a judge may make on what it decides alone.")] = 0.1,
    require: Annotated[
        list[str], typer.Option(help="MEASURE>=NUMBER or JUDGE.MEASURE>=NUMBER, decided on the lower bound.")
    ] = [],  # noqa: B006
    json: show.Json = False,
    html: Annotated[Path | None, typer.Option(help="Write one page that works offline.")] = None,
) -> None:
    """How often judges pass what people pass and catch what people fail, by task; what the file supports and what not.

    Exit 1 when a requirement is shown to fall short, 4 when labels are too few to tell.
    """
    from csv import reader

    from axisjudge.stats.requirements import exit_code
    from axisjudge.studies.check import check as check_table
    from axisjudge.studies.check import decide
    from axisjudge.studies.check.sentences import report
    from axisjudge.studies.check.tables import printed

    pairs = [each.rpartition("=")[::2] for each in confidence]
    if len(dict(pairs)) < len(pairs):
        raise InputError("--confidence", "names a judge twice", ", ".join(confidence))
    result = check_table(
        table,
        judges=judge,
        human=human,
        cluster=cluster,
        confidence=dict(pairs),
        item=item,
        rater=rater,
        value=value,
        words=next(reader([words], skipinitialspace=True)) if words else (),
        positive=positive,
        missing=missing,
        where=where,
        sampling=sampling,
        risk=risk,
    )
    decisions = decide(result, require)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(result.page(), encoding="utf-8")
    if json:
        known = [{**vars(each), "sentence": each.sentence()} for each in decisions]
        show.as_json({**result.to_dict(), "requirements": known})
    else:
        for part, lines in report(result).items():
            if part == "supported":
                show.table(printed(result), "Estimate (95% interval)")
            if lines:
                typer.echo("" if part != "read" else None, nl=part != "read")
            show.lines(lines)
        for each in decisions:
            typer.echo(("\n" if each is decisions[0] else "") + show.text(each.sentence()))
        if html is not None:
            typer.echo(f"\nPage: {html}")
    raise typer.Exit(exit_code(decisions))
