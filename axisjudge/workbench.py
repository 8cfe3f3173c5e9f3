"""Where the workbench is: the folder that holds notebooks, rubrics, data and reports."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axisjudge.checks import InputError

_MARKS = ("rubrics", "notebooks", "data")
_chosen: Path | None = None


def use(path: str | Path) -> Path:
    """Make `path` the workbench of this process (the ``--workbench`` option)."""
    global _chosen
    _chosen = _checked(Path(path), "--workbench")
    return _chosen


@contextmanager
def at(path: str | Path) -> Iterator[Path]:
    """Within the block `path` is the workbench of this process (a rehearsal, say); afterwards it is what it was."""
    global _chosen
    before = _chosen
    try:
        yield use(path)
    finally:
        _chosen = before


def home() -> Path:
    """The workbench: ``--workbench``, else ``AXISJUDGE_HOME``, else the checkout around the working folder or package.

    Raises
    ------
    InputError
        When none of these leads to a folder with rubrics, notebooks and data.
    """
    if _chosen is not None:
        return _chosen
    if named := os.environ.get("AXISJUDGE_HOME"):
        return _checked(Path(named), "AXISJUDGE_HOME")
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            if _is_workbench(folder):
                return folder
    raise InputError(
        "workbench", "none found", cure="stand in a checkout, or name one with --workbench or AXISJUDGE_HOME"
    )


def _is_workbench(folder: Path) -> bool:
    return all((folder / mark).is_dir() for mark in _MARKS)


def _checked(folder: Path, where: str) -> Path:
    if not _is_workbench(folder):
        raise InputError(where, "must be a folder that holds " + ", ".join(_MARKS), str(folder))
    return folder.resolve()
