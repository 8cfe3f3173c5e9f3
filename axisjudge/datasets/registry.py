"""Public data sets: where each file comes from, what its bytes must be, how it is fetched; and the demo."""

import os
import shutil
import tomllib
from hashlib import sha1, sha256
from pathlib import Path, PurePosixPath
from typing import Annotated
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from axisjudge.checks import InputError, one_of
from axisjudge.workbench import MIRROR, find, own, whole_or_not_at_all


def _stays_below(path: str) -> str:
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError("must be a relative path without '..'")
    return path


_Below = Annotated[str, AfterValidator(_stays_below)]


class DataFile(BaseModel):
    """One file of a data set.

    `path` is where it stands below the data set's folder, `source` below its url (empty: the same). At most one of
    `sha256` and `git_blob` pins its content; with neither the file is unpinned.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: _Below
    source: _Below = ""
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    git_blob: str | None = Field(None, pattern="^[0-9a-f]{40}$")
    bytes: int | None = None

    @property
    def pinned(self) -> bool:
        """Whether a checksum is known."""
        return bool(self.sha256 or self.git_blob)

    def matches(self, content: Path) -> bool:
        """Whether a local file has the bytes that this one must have; never True for an unpinned file."""
        raw = content.read_bytes()
        if self.sha256:
            return sha256(raw).hexdigest() == self.sha256
        return git_blob_id(raw) == self.git_blob


class Dataset(BaseModel):
    """A public data set: title, licence, `url` (one commit or tag of its source), `folder` and files."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    url: str = Field(pattern="^https?://.*/$")
    licence: str
    folder: _Below
    note: str = ""
    files: tuple[DataFile, ...] = Field(min_length=1)

    @property
    def pinned(self) -> bool:
        """Whether every file's checksum is known."""
        return all(file.pinned for file in self.files)

    @property
    def bytes(self) -> int | None:
        """Size of all files, None where one is not known."""
        sizes = [file.bytes for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def row(self) -> dict[str, str | int | float | None]:
        """The data set as a row of a table, its size in MB (None: not known)."""
        return {
            "name": self.name,
            "title": self.title,
            "files": len(self.files),
            "MB": None if self.bytes is None else round(self.bytes / 1e6, 1),
            "pinned": "yes" if self.pinned else "no",
            "licence": self.licence,
        }

    def url_of(self, file: DataFile) -> str:
        """Where a file is downloaded from."""
        return self.url + quote(file.source or file.path)


def git_blob_id(content: bytes) -> str:
    r"""Git's id of a file's content: ``sha1("blob <length>\0" + bytes)``.

    References
    ----------
    Chacon and Straub, Pro Git, 2nd ed., section 10.2 (Git Objects).
    """
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def list_datasets() -> tuple[Dataset, ...]:
    """The data sets of the workbench's ``data/registry.toml``, in its order.

    Raises
    ------
    InputError
        When the registry is missing or of the wrong shape.
    """
    path = find("data/registry.toml")
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
        return tuple(Dataset(name=name, **entry) for name, entry in entries.items())
    except OSError as error:
        raise InputError(str(path), f"cannot be read ({error.strerror})") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(path), f"is not valid TOML ({error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}, {key}", first["msg"], first["input"]) from error


# Fetching a public data set: from a local mirror or its source, checked, and whole or not at all.


def fetch(name: str, *, to: str | Path | None = None) -> Path:
    """Make a data set available locally and return its folder.

    A file that is already there with the right checksum stays. Otherwise it comes from the mirror that
    ``AXISJUDGE_DATA`` names, where it has it, else from its source. Each file is checked before it gets its name, so
    an interrupted download leaves nothing half-written.

    Parameters
    ----------
    name : str
        A name from `list_datasets`.
    to : path, optional
        Where to put it; ``data/cache`` of the workbench when absent.

    Raises
    ------
    InputError
        When the name is unknown, a file is unpinned or cannot be had, or a checksum is wrong.
    """
    known = {dataset.name: dataset for dataset in list_datasets()}
    dataset = known[one_of("data set", name, known)]
    if not dataset.pinned:
        without = [file.path for file in dataset.files if not file.pinned]
        cure = f"{dataset.note or 'add a checksum'}; see data/registry.toml"
        raise InputError(f"data set {name}", "is not pinned to a checksum yet and is not fetched", without, cure)
    folder = (Path(to) if to else own() / "data" / "cache") / dataset.folder
    for file in dataset.files:
        target = folder / file.path
        if not (target.is_file() and file.matches(target)):
            _obtain(dataset, file, target)
    return folder


def _obtain(dataset: Dataset, file: DataFile, target: Path) -> None:
    mirrored = _in_mirror(dataset, file)
    address = str(mirrored or dataset.url_of(file))
    with whole_or_not_at_all(target) as unfinished:
        try:
            if mirrored:
                shutil.copyfile(mirrored, unfinished)
            else:
                _download(address, unfinished)
        except OSError as error:  # requests' errors are OSErrors too
            cure = f"try again, or name a folder that has it with {MIRROR}"
            raise InputError(address, f"could not be had ({error})", cure=cure) from error
        if not file.matches(unfinished):
            kind = "sha256" if file.sha256 else "git blob id"
            raise InputError(address, f"its {kind} must be {file.sha256 or file.git_blob}, and it is not", cure=_CURE)


_CURE = "nothing was kept; the source was changed or the copy is damaged"


def _in_mirror(dataset: Dataset, file: DataFile) -> Path | None:
    named = os.environ.get(MIRROR)
    if not named:
        return None
    if not Path(named).is_dir():
        raise InputError(MIRROR, "must name a folder", named)
    mirrored = Path(named) / dataset.folder / file.path
    return mirrored if mirrored.is_file() else None


def _download(url: str, target: Path) -> None:
    import pooch

    # not streamed: pooch leaves the connection of a streamed download open when it breaks off
    pooch.HTTPDownloader(stream=False, timeout=30)(url, str(target), None)


# The demo that ships with the workbench.


def demo_paths() -> list[Path]:
    """The demo's results files, one an agent.

    Raises
    ------
    InputError
        When the workbench has none.
    """
    return _paths("results", "*.json", "python data/demo/generator --out data/demo")


def demo_truth() -> Path:
    """The planted truth beside the demo: ratings whose rater_kind is ``planted``."""
    return find("data/demo") / "planted.jsonl"


def demo_transcripts() -> list[Path]:
    """The demo's agent transcripts: AXIS reports of two agents, four scenarios, three repeats.

    Raises
    ------
    InputError
        When the workbench has none.
    """
    return _paths("transcripts", "*/*.json", "python data/demo/transcripts/make.py --out FOLDER")


def demo_goal_grades() -> Path:
    """Grades of the demo transcripts' goal checks: ratings whose rater_kind is ``planted``."""
    return find("data/demo") / "transcripts" / "goal_grades.jsonl"


def demo_runs() -> Path:
    """The demo's run set for the run scorecard: planted from beginning to end."""
    return find("data/demo") / "runs" / "runs.jsonl"


def demo_run_labels() -> Path:
    """The planted labels of the demo's run set, as ratings."""
    return find("data/demo") / "runs" / "labels.jsonl"


def _paths(name: str, pattern: str, cure: str) -> list[Path]:
    folder = find("data/demo") / name
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise InputError(str(folder), f"holds no {name}", cure=cure)
    return paths
