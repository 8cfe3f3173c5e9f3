"""The command line: parse, call, print.

Exit codes: 0 success, 1 a failed check, 2 bad input (one line that says what, where and how to mend it), 3 a budget
stopped the run, 4 what is required cannot be told, 130 Ctrl-C did. Each command imports what it needs inside its
function, so that ``--help`` stays quick.
"""

import sys
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from axisjudge.checks import InputError, OneLine, printable
from axisjudge.cli import show

INTERRUPTED = 130  # 128 + SIGINT, as shells count
#: The file of each command, so that one command reads no file of others.
FILES = {
    name: file
    for file, names in {
        "axis": ("axis-result", "axis-baseline"),
        "combining": ("panel", "curve", "ratings", "cost"),
        "files": ("read", "import", "export", "init", "data", "schema", "demo", "twins"),
        "judging": ("judge", "doctor", "models"),
        "labels": ("label",),
        "pages": ("report", "plan", "explore"),
        "rubrics": ("rubric",),
        "scorecard": ("scorecard",),
        "splits": ("split", "holdout"),
        "trust": ("check", "agreement", "compare", "confidence", "profile"),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'axisjudge.cli' has no attribute {name!r}")
    _load("")
    return show.app


def _load(command: str) -> None:
    """Have the file of a command register it, or all files where it is none."""
    for file in [FILES[command]] if command in FILES else dict.fromkeys(FILES.values()):
        import_module(f"axisjudge.cli.{file}")


def _version(asked: bool) -> None:
    if asked:
        from axisjudge import __version__

        typer.echo(__version__)
        raise typer.Exit


@show.app.callback()
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


#: What the parser raises for options and arguments that it cannot take; typer gives it no public name of its own.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


@cache
def _command_line(command: str) -> Any:
    """The command line as far as a command needs it, built from signatures once a process."""
    _load(command)
    return typer.main.get_command(show.app)


def main() -> None:
    """Run a command; what a user can mend is one line on standard error, never a stack trace."""
    warnings.showwarning = _show_warning
    try:
        code = _command_line(sys.argv[1] if len(sys.argv) > 1 else "")(prog_name="axisjudge", standalone_mode=False)
    except _UsageError as error:
        code = _show_usage(error)
    except InputError as error:
        code = _stop(2, error.message(["axisjudge", *sys.argv[1:]]))
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
    typer.echo("axisjudge: " + printable(message, kept="\n"), err=True)
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
