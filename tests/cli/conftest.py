"""Commands of the tests' own process."""

import contextlib
import io
import os
import subprocess
import warnings
from unittest.mock import patch

import pytest

from axisjudge import workbench
from axisjudge.cli import main


def axisjudge(*arguments, cwd=None, env=None):
    """The command in this process, whose imports are done: what it ends with and prints.

    The first command of a file is run as a user runs it, in a process of its own.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        patch("sys.argv", ["axisjudge", *map(str, arguments)]),
        patch.dict(os.environ, env or {}, clear=env is not None),
        patch("axisjudge.workbench._chosen", workbench._chosen),
        contextlib.chdir(cwd or "."),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        with pytest.raises(SystemExit) as stop:
            main()
    return subprocess.CompletedProcess(arguments, stop.value.code or 0, out.getvalue(), err.getvalue())


@pytest.fixture
def called():
    """The command in this process."""
    return axisjudge
