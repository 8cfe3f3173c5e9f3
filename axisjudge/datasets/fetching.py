"""Fetching a public data set: from a local mirror or its source, checked, and whole or not at all."""

import os
import shutil
from pathlib import Path

from axisjudge.checks import InputError, one_of
from axisjudge.datasets.registry import DataFile, Dataset, list_datasets
from axisjudge.workbench import MIRROR, own, whole_or_not_at_all


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
