"""The command line: parse, call, print.

Exit codes: 0 success, 1 a failed check, 2 bad input (one line that says what, where and how to mend it), 3 a budget
stopped the run, 4 what is required cannot be told, 130 Ctrl-C did. Each command imports what it needs inside its
function, so that ``--help`` stays quick.
"""

import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from axisjudge.checks import InputError, OneLine
from axisjudge.cli import axis, combining, files, judging, labels, pages, rubrics, scorecard, show, splits, trust

INTERRUPTED = 130  # 128 + SIGINT, as shells count


class _Commands(show.Accounting):
    """All commands, by what a reader wants to do."""

    SECTIONS: ClassVar = {
        "Start here": ("check", "demo", "init", "doctor"),
        "Judge": ("read", "judge", "cost", "rubric", "twins"),
        "People": ("label", "import", "export"),
        "Analyse": ("agreement", "compare", "confidence", "profile", "explore", "panel", "plan"),
        "Publish": ("report",),
        "Scores": ("axis-result", "axis-baseline", "scorecard", "curve"),
    }


app = typer.Typer(
    name="axisjudge",
    cls=_Commands,
    help="Grade agents' tool use on five axes, and learn how far the grades can be trusted.",
    epilog="Example: axisjudge demo",
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
        typer.Option(
            help="The folder with notebooks, rubrics and data (see init); else AXISJUDGE_HOME or the one you stand in."
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    if workbench is not None:
        from axisjudge.workbench import use

        use(workbench)


_Examples = tuple[tuple[Callable[..., None], str], ...]

#: Each command with an example of its use, whose first word is its name and with which its help ends.
_COMMANDS: _Examples = (
    (trust.check, "check results.csv --judge gpt --human label --cluster task"),
    (files.demo, "demo --subset hotpotqa"),
    (files.init, "init bench --demo"),
    (files.read, "read results/*.json --tools tools.json"),
    (judging.judge, "judge results.json --judge rules --panel published --limit 20"),
    (files.import_, "import results.csv --kind llm --kind label=human --out ratings.jsonl"),
    (files.export, "export ratings.jsonl --to crowd-kit --out labels.csv"),
    (trust.agreement, "agreement data/ratings/ratings.jsonl"),
    (trust.compare, "compare ratings.jsonl --labels labels.jsonl"),
    (trust.confidence, "confidence ratings.jsonl --labels data/demo/planted.jsonl"),
    (combining.cost, "cost data/ratings/ratings.jsonl"),
    (judging.doctor, "doctor --judge openai:gpt-5 --judge anthropic:claude-sonnet-4-6"),
    (trust.profile, "profile ratings.jsonl --trajectories data/demo/results"),
    (pages.explore, "explore ratings.jsonl --trajectories data/demo/results --out explorer.html"),
    (axis.axis_result, "axis-result session.jsonl --checks scenario.yaml"),
    (pages.report, "report 05_failures -p seed=7"),
    (files.twins, "twins data/demo/results --judge rules --edits misreported_amount"),
    (files.schema, "schema trajectory"),
)
_OF_LABELS: _Examples = (
    (labels.import_, "import export.json --sampling random --out data/labels/mine.jsonl"),
    (labels.export, "export data/labels/mine.jsonl --format crowd-kit --out labels.csv"),
    (labels.lint, "lint data/labels/*.jsonl --trajectories data/demo/results"),
    (labels.queue, "queue labels/*.jsonl --ratings ratings.jsonl --out adjudicate.sampling.json"),
    (
        labels.adjudicate,
        "adjudicate labels/*.jsonl --ratings ratings.jsonl --plan adjudicate.sampling.json --decisions third.jsonl",
    ),
    (labels.next_, "next --trajectories data/demo/results --half-width 0.1 --out next.sampling.json"),
)
_CLASSES = {"agreement": show.naming("Coefficients", show.coefficients)}
for command, example in _COMMANDS:
    name = example.split()[0]
    app.command(name, cls=_CLASSES.get(name), epilog=f"Example: axisjudge {example}")(command)
for command, example in _OF_LABELS:
    labels.app.command(example.split()[0], epilog=f"Example: axisjudge label {example}")(command)
app.add_typer(axis.baseline_app, name="axis-baseline")
app.add_typer(rubrics.app, name="rubric")
app.add_typer(splits.app, name="split")
app.add_typer(combining.ratings_app, name="ratings")
app.add_typer(splits.holdout_app, name="holdout")
app.add_typer(files.data_app, name="data")
app.add_typer(judging.models_app, name="models")
app.add_typer(pages.plan_app, name="plan")
app.add_typer(combining.curve_app, name="curve")
app.add_typer(combining.panel_app, name="panel")
app.add_typer(labels.app, name="label")
app.add_typer(scorecard.app, name="scorecard")


#: What the parser raises for options and arguments that it cannot take; typer gives it no public name of its own.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


@cache
def _command_line() -> Any:
    """All commands, built from their signatures once a process."""
    return typer.main.get_command(app)


def main() -> None:
    """Run a command; what a user can mend is one line on standard error, never a stack trace."""
    warnings.showwarning = _show_warning
    try:
        code = _command_line()(prog_name="axisjudge", standalone_mode=False)
    except _UsageError as error:
        code = _show_usage(error)
    except InputError as error:
        code = _stop(2, error.told(["axisjudge", *sys.argv[1:]]))
    except OneLine as error:
        code = _stop(1, str(error))
    except ModuleNotFoundError as error:
        lacking = (error.name or "").partition(".")[0]
        if lacking in ("", "axisjudge"):
            raise
        cure = "install axisjudge whole: pip install axisjudge"
        code = _stop(2, str(InputError(lacking, "is needed here, and this slim installation leaves it out", cure=cure)))
    except OSError as error:  # a folder that cannot be written, a full disk
        code = _stop(2, str(InputError(str(error.filename or "output"), f"cannot be used ({error.strerror or error})")))
    if code == INTERRUPTED:
        _stop(code, "stopped; what is written stays, the same command goes on from there")
    sys.exit(code)


def _stop(code: int, message: str) -> int:
    typer.echo(f"axisjudge: {message}", err=True)
    return code


def _show_usage(error: Any) -> int:
    """The parser's complaint in one line; a command that was given nothing at all shows its help instead."""
    message = str(error.format_message())
    if "\n" in message:
        typer.echo(message, err=True)
        return 2
    command = error.ctx.command_path if error.ctx else "axisjudge"
    return _stop(2, f"{message.rstrip('.')}; see {command} --help")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"axisjudge: warning: {' '.join(str(message).split())}", err=True)
