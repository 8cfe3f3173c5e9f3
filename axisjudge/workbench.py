"""Where the workbench is: the folder that holds notebooks, rubrics, data and reports."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from uuid import uuid4

from axisjudge.checks import InputError

#: The environment variable that names a local copy of public data sets.
MIRROR = "AXISJUDGE_DATA"

_MARKS = ("rubrics", "notebooks", "data")

_PACKAGE = Path(__file__).resolve().parent
#: The folder of the package into which a wheel puts rubrics, notebooks and data.
_IN_WHEEL = _PACKAGE / "shipped"
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
    """The workbench to read from.

    ``--workbench``, else ``AXISJUDGE_HOME``, else the checkout or workbench around the working folder or the package,
    else the rubrics, notebooks and data that an installed package carries. Whatever writes asks for `own`.

    Raises
    ------
    InputError
        When none of these leads to a folder with rubrics, notebooks and data.
    """
    if _chosen is not None:
        return _chosen
    if named := os.environ.get("AXISJUDGE_HOME"):
        return _checked(Path(named), "AXISJUDGE_HOME")
    return _around(Path.cwd()) or shipped()


def own() -> Path:
    """The workbench to write into: as `home`, but never the files of an installed package.

    Raises
    ------
    InputError
        When there is none; the message says how to make one.
    """
    folder = home()
    if folder.resolve().is_relative_to(_IN_WHEEL):
        cure = "make one with `axisjudge init FOLDER` and stand in it, or name one with --workbench or AXISJUDGE_HOME"
        raise InputError("workbench", "none found to write into", cure=cure)
    return folder


def shipped() -> Path:
    """The rubrics, notebooks and data that came with the package: in the wheel, or the checkout around it.

    Raises
    ------
    InputError
        When there are none.
    """
    folder = _IN_WHEEL if _is_workbench(_IN_WHEEL) else _around(_PACKAGE)
    if folder is None:
        cure = "stand in a checkout, or name one with --workbench or AXISJUDGE_HOME"
        raise InputError("workbench", "none found", cure=cure)
    return folder


def find(path: str) -> Path:
    """A file or folder of the workbench, or where it has none the one that came with the package.

    Parameters
    ----------
    path : str
        Relative to the workbench, such as ``data/registry.toml``. A path that neither has is given as the workbench's.
    """
    mine = home() / path
    return mine if mine.exists() or not (theirs := shipped() / path).exists() else theirs


@dataclass(frozen=True)
class Made:
    """A workbench as `make` left it: what was made, and which files were there already and stayed as they were.

    Paths are relative to `folder`, with forward slashes.
    """

    folder: Path
    made: tuple[str, ...]
    kept: tuple[str, ...]


def make(folder: str | Path, *, demo: bool = False) -> Made:
    """Make a workbench of one's own; nothing that is there already is changed.

    Rubrics, notebooks and the small published tables that notebooks read are copied, folders for data are made. The
    demo's trajectories and the published votes are read from the package.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    demo : bool
        Copy the demo's trajectories too, to look into or to change.

    Raises
    ------
    InputError
        A file stands where a folder must, or `folder` lies inside an installed package. Nothing is made then.
    """
    target = Path(folder).absolute()
    if target.resolve().is_relative_to(_IN_WHEEL):
        raise InputError(str(folder), "must lie outside the installed package")
    contents = dict(_contents(shipped(), demo))
    _refuse_blocked([(target / name).parent for name in contents] + [target / name for name in _FOLDERS])
    made, kept = [], []
    for name, content in contents.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            with (target / name).open("xb") as file:
                file.write(content)
            made.append(name)
        except FileExistsError:
            kept.append(name)
    for name in _FOLDERS:
        if not (target / name).is_dir():
            (target / name).mkdir(parents=True)
            made.append(f"{name}/")
    return Made(target, tuple(made), tuple(kept))


#: What is copied, as patterns below the package's files, but for what makes up the record of a study, the generators of
#: data and what editors leave behind; and the folders that are made empty.
_COPIED, _DEMO = ("rubrics/**/*", "notebooks/*.ipynb", "data/published/*"), ("data/demo/**/*",)
_LEFT = ("split.json", "lock.json", "ledger.jsonl", "*.lock", "*.py", "*.pyc")
_FOLDERS = ("data/trajectories", "data/ratings", "data/labels", "reports")

_IGNORED = """\
# what is made again by a command, and locks of files in use
data/cache/
data/labels/*.lock
models.toml.lock
rubrics/*.lock
rubrics/*/drafts/*.lock
reports/*/*.html
reports/*/*.ipynb
reports/gallery/*/*.html
reports/gallery/*/*.ipynb
reports/gallery/.*/
reports/bundles/
reports/*.html
reports/.*/
reports/.index.html*
.ipynb_checkpoints/
# ratings can be large and hold what judges said of private runs; take this line out to keep them in git
data/ratings/*
"""


def _refuse_blocked(folders: list[Path]) -> None:
    """Nothing is written where something else stands in the way of one of the folders."""
    for folder in folders:
        for part in (folder, *folder.parents):
            if (part.exists() or part.is_symlink()) and not part.is_dir():
                raise InputError(str(part), "must be a folder, or not be there yet")


def _contents(source: Path, demo: bool) -> Iterator[tuple[str, bytes]]:
    """Paths relative to the workbench and what goes into them."""
    for pattern in (*_COPIED, *(_DEMO if demo else ())):
        for path in sorted(source.glob(pattern)):
            hidden = any(part.startswith(".") for part in path.relative_to(source).parts)
            if path.is_file() and not hidden and not any(path.match(name) for name in _LEFT):
                yield PurePosixPath(path.relative_to(source)).as_posix(), path.read_bytes()
    yield ".gitignore", _IGNORED.encode()


def _around(start: Path) -> Path | None:
    """The nearest folder from `start` upwards that is a workbench."""
    return next((folder for folder in (start, *start.parents) if _is_workbench(folder)), None)


def _is_workbench(folder: Path) -> bool:
    return all((folder / mark).is_dir() for mark in _MARKS)


def _checked(folder: Path, where: str) -> Path:
    if not _is_workbench(folder):
        raise InputError(where, "must be a folder that holds " + ", ".join(_MARKS), str(folder))
    return folder.resolve()


@contextmanager
def whole_or_not_at_all(target: Path) -> Iterator[Path]:
    """A path to write to; it becomes `target` only when the block ends well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{uuid4().hex}")  # not tempfile's, which only its owner may read
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file of which nobody ever finds a part, whenever this is ended and whoever else writes it."""
    with whole_or_not_at_all(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def write_markup(path: str | Path, markup: str) -> Path:
    """Write a page (HTML, XML) as a file, over an earlier one but over nothing else; where it stands.

    Raises
    ------
    InputError
        Another file stands there, such as the ratings, or it cannot be written.
    """
    target = Path(path)
    try:
        if target.is_file():
            with target.open("rb") as file:
                if (head := file.read(64).lstrip()) and not head.startswith(b"<"):
                    raise InputError(str(path), "is there already and no page", cure="choose another name")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(markup, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(str(path), f"cannot be written ({error.strerror or error})") from error
    return target
