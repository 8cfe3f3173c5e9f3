"""The command line: parse, call, print.

Exit codes: 0 success, 1 a failed check, 2 bad input (one line that says what, where and how to mend it), 3 a budget
stopped the run. Each command imports what it needs inside its function, so that ``--help`` stays quick.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from axisjudge.checks import InputError
from axisjudge.cli import agreement, data, judge, read, report, rubric

app = typer.Typer(
    name="axisjudge",
    help="Grade agents' tool use on five axes, and learn how far the grades can be trusted.",
    epilog="Example: axisjudge judge data/demo/results --judge rules",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from axisjudge import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    workbench: Annotated[
        Path | None,
        typer.Option(help="The folder with notebooks, rubrics and data; else AXISJUDGE_HOME or the checkout."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    if workbench is not None:
        from axisjudge.workbench import use

        use(workbench)


app.command(epilog="Example: axisjudge read results/*.json --tools tools.json")(read.read)
app.command(epilog="Example: axisjudge judge results.json --judge rules --panel published --limit 20")(judge.judge)
app.command(epilog="Example: axisjudge agreement data/ratings/ratings.jsonl")(agreement.agreement)
app.command(epilog="Example: axisjudge report 05_failure_profiles -p seed=7")(report.report)
app.add_typer(rubric.app, name="rubric")
app.add_typer(data.app, name="data")


def main() -> None:
    """Run a command; what a user can mend is one line on standard error, never a stack trace."""
    try:
        app()
    except InputError as error:
        typer.echo(f"axisjudge: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("axisjudge: stopped; what is written stays, the same command goes on from there", err=True)
        sys.exit(130)
