"""The command line: parse, call, print.

Exit codes: 0 success, 1 a failed check, 2 bad input (one line that says what, where and how to mend it), 3 a budget
stopped the run, 4 what is required cannot be told, 130 Ctrl-C did. Each command imports what it needs inside its
function, so that ``--help`` stays quick.
"""

import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from axisjudge.checks import InputError, OneLine, printable
from axisjudge.cli import axis, combining, files, judging, labels, pages, rubrics, scorecard, splits, trust  # noqa: F401
from axisjudge.cli.show import app

INTERRUPTED = 130  # 128 + SIGINT, as shells count


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
