"""A kernel that runs several notebooks, each as if it were the first, and which files each of them reads.

This module stays when all others of the package are dropped between two notebooks: an audit hook cannot be taken away.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

#: Files of the system, of Python and of its packages: their versions are known otherwise.
_NOT_INPUTS = ("/dev", "/etc", "/lib", "/proc", "/sys", "/usr", sys.prefix, sys.base_prefix)

_IMPORTERS = ("<frozen importlib._bootstrap_external>", "metadata", "pkgutil.py", "completerlib.py")

#: What is imported is not looked at again whenever a page is saved: most of what a notebook opens.
_OF_PYTHON = tuple(
    part.rstrip(os.sep) + os.sep for part in (sys.prefix, sys.base_prefix, str(Path(__file__).parent.parent))
)

_opened: dict[str, None] = {}
_listed: dict[tuple[str, str], None] = {}  # folder and pattern
_made: set[str] = set()
_copies: dict[str, str] = {}
_before: dict[str, Any] = {}
_so_far: dict[str, Any] = {}


def enter(home: str, staging: str, folder: str) -> None:
    """Make this process as it was before its first notebook, and note from now on what is read.

    Parameters
    ----------
    home, staging, folder : str
        The workbench, the staging folder of the report, and the folder in which the notebook stands.
    """
    if not _before:
        import polars

        _before.update(environ=dict(os.environ), path=list(sys.path), filters=list(warnings.filters), home=home)
        sys.addaudithook(_heard)
        for name in dir(polars):
            if name.startswith(("read_", "scan_")) and callable(reader := getattr(polars, name)):
                setattr(polars, name, _noted(reader))  # polars opens files where no audit hook hears it
    _forget(home)
    os.environ.clear()
    os.environ.update(_before["environ"], AXISJUDGE_REPORT_DIR=staging)
    sys.path[:] = _before["path"]
    warnings.filters[:] = _before["filters"]  # type: ignore[index]
    warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # drawn as a box; it would name a path
    os.chdir(folder)
    for kept in (_opened, _listed, _made, _copies, _so_far):
        kept.clear()


def read_so_far() -> dict[str, list[Any]]:
    """Files that were opened to be read, and folders that were listed, each with its pattern (empty: all of it)."""
    if not _before:
        return {"files": [], "listed": []}
    state = len(_opened), len(_listed), len(_made), len(_copies)
    if _so_far.get("state") == state:  # a page is saved hundreds of times
        return {**_so_far["read"]}
    files = {
        _origin(_source(path)) for path in list(_opened) if not _was_made(path)
    }  # other threads may open files now
    listed = {(_origin(folder), pattern) for folder, pattern in list(_listed) if not _was_made(folder)}
    read: dict[str, list[Any]] = {
        "files": sorted(path for path in files if _is_input(path)),
        "listed": sorted([folder, pattern] for folder, pattern in listed if _is_input(folder)),
    }
    _so_far.update(state=state, read=read)
    return {**read}


def _was_made(path: str) -> bool:
    """Whether this run wrote a file, or made the temporary folder in which it stands.

    A copy counts as its origin, and what stands in such a folder as a link as that to which it leads.
    """
    real = Path(os.path.realpath(path))
    if _origin(path) != str(real):
        return path in _made and path not in _copies
    parts = (path, *map(str, Path(path).parents))
    return any(part in _made and real.is_relative_to(os.path.realpath(part)) for part in parts)


def _forget(home: str) -> None:
    """Drop the package, and modules beside notebooks, so that nothing that they keep outlives a notebook."""
    if "matplotlib.pyplot" in sys.modules:
        import matplotlib as mpl

        sys.modules["matplotlib.pyplot"].close("all")
        mpl.rc_file_defaults()
    for name, module in list(sys.modules.items()):
        file = str(getattr(module, "__file__", None) or "")
        if name == __name__:
            continue
        if name.partition(".")[0] == "axisjudge" or (file.startswith(home + os.sep) and sys.prefix not in file):
            del sys.modules[name]
        else:
            getattr(module, "__warningregistry__", {}).clear()


def _heard(event: str, args: tuple[Any, ...]) -> None:
    """Note a file that is opened, a folder that is listed, and what is copied from where."""
    try:
        if event == "open":
            path, mode, flags = args
            _open(path, mode, flags)
        elif event in ("os.listdir", "os.scandir") and isinstance(args[0], str | os.PathLike):
            # who copies or imports does not look at the folder, and patterns are heard of by themselves
            if not _called_from("shutil.py", "rehearsal.py", "glob.py", "pathlib", *_IMPORTERS):
                _listed[_full(args[0]), ""] = None
        elif event in ("pathlib.Path.glob", "pathlib.Path.rglob"):
            _listed[_full(args[0]), ("**/" if event.endswith("rglob") else "") + str(args[1])] = None
        elif event == "glob.glob/2":
            _listed[_full(args[2] or os.curdir), str(args[0])] = None
        elif event in ("shutil.copyfile", "shutil.copytree"):
            _copies[_full(args[1])] = _full(args[0])
        elif event in ("os.rename", "tempfile.mkdtemp"):
            _made.add(_full(args[-1 if event == "tempfile.mkdtemp" else 1]))
        elif event == "sqlite3.connect":
            _opened[_full(args[0])] = None
    except (OSError, TypeError, ValueError):  # whatever is not a path is no file
        pass


def _open(path: Any, mode: Any, flags: Any) -> None:
    if not isinstance(path, str | bytes | os.PathLike):
        return
    written = any(letter in mode for letter in "wax+") if mode else bool(flags & (os.O_WRONLY | os.O_RDWR))
    if written:
        _made.add(_full(path))
    elif not (full := _full(path)).startswith(_OF_PYTHON) and not _called_from("shutil.py"):
        _opened[full] = None


def _called_from(*names: str) -> bool:
    """Whether what is heard of was done by one of these files or packages; `Path.iterdir` stands for who calls it."""
    frame: Any = sys._getframe(2)
    while frame is not None and (frame.f_code.co_filename == __file__ or frame.f_code.co_name == "iterdir"):
        frame = frame.f_back
    path = Path(frame.f_code.co_filename) if frame is not None else Path()
    return path.name in names or path.stem in names or path.parent.name in names


def _noted(reader: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(reader)
    def read(*args: Any, **options: Any) -> Any:
        given = args[0] if args else options.get("source")
        for path in given if isinstance(given, list | tuple) else [given]:
            if isinstance(path, str | os.PathLike):
                _opened[_full(path)] = None
        return reader(*args, **options)

    return read


def _full(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))  # noqa: PTH100


def _source(path: str) -> str:
    """The module behind a file of compiled code."""
    return source_from_cache(path) if path.endswith(".pyc") and "__pycache__" in path else path


def _origin(path: str) -> str:
    """The path from which a copy was made, else the path itself; links are followed."""
    for part in (path, *map(str, Path(path).parents)):
        if part in _copies:
            return os.path.realpath(_copies[part] + path[len(part) :])
    return os.path.realpath(path)


def _is_input(path: str) -> bool:
    """Whether a path can be an input: not of the system, of Python or of this package, not hidden, no report."""
    home, package = _before["home"], str(Path(__file__).parent.parent)
    if any(path == part or path.startswith(part + os.sep) for part in (*_NOT_INPUTS, package, f"{home}/reports")):
        return False
    return "/." not in path.removeprefix(home)
