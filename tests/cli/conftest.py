"""Commands of the tests' own process."""

import subprocess

import pytest

from axisjudge.cli import main


@pytest.fixture
def called(monkeypatch, capsys):
    """The command in this process, whose imports are done: what it ends with and prints.

    The first command of a file is run as a user runs it, in a process of its own.
    """

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["axisjudge", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        return subprocess.CompletedProcess(arguments, stop.value.code or 0, *capsys.readouterr())

    return call
