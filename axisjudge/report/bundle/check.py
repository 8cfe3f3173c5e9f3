"""Whether a bundle is what it says: its numbers are computed anew from its ratings, its files are hashed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.report.bundle.inputs import checked_settings, read_inputs
from axisjudge.report.bundle.parts import parts_of, results_of
from axisjudge.report.difference import ResultDifference, differences, read_results
from axisjudge.report.digest import file_sha256
from axisjudge.report.scope import ratings_sha256
from axisjudge.report.tables.files import as_csv
from axisjudge.results import dumps

INPUTS, SETTINGS_FILE, MANIFEST = "inputs", "bundle.json", "MANIFEST.sha256"


@dataclass(frozen=True)
class BundleCheck:
    """What a check found.

    Attributes
    ----------
    differences : tuple of Difference
        Numbers that come out otherwise, the first first; ``before`` is what the bundle says.
    files : tuple of str
        Files that differ from the manifest, are missing, or that it does not name.
    n_numbers : int
        Numbers that were compared.
    made_with, checked_with : str
        Versions of the package.
    """

    differences: tuple[ResultDifference, ...]
    files: tuple[str, ...]
    n_numbers: int
    made_with: str
    checked_with: str

    @property
    def holds(self) -> bool:
        """Whether everything is as the bundle says."""
        return not self.differences and not self.files


def compute(folder: Path, settings: dict[str, Any]) -> tuple[dict[str, Any], Any, Any]:
    """The results of the ratings in a bundle's folder, and the inputs and parts behind them."""
    from axisjudge import __version__

    inputs = read_inputs(folder / INPUTS, settings)
    parts = parts_of(inputs)
    if not parts:
        cure = "name ratings of two judges at least, or labels beside one"
        raise InputError("--from", "the ratings answer no question of a writeup", cure=cure)
    results = {
        "axisjudge": __version__,
        "inputs": {"ratings": ratings_sha256(inputs.source.ratings)},
        "settings": settings,
        "parts": results_of(parts),
    }
    return results, inputs, parts


def check_bundle(folder: str | Path) -> BundleCheck:
    """Compute a bundle's results anew, from its ratings alone and without the network, and compare.

    Raises
    ------
    InputError
        The folder is no bundle, or what it was made from is no longer whole.
    """
    bundle = Path(folder)
    try:
        settings = checked_settings(json.loads((bundle / SETTINGS_FILE).read_text(encoding="utf-8"))["settings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(str(folder), f"is no bundle: {SETTINGS_FILE} cannot be read ({error})") from None
    said = read_results(bundle)
    try:
        results, _, parts = compute(bundle, settings)
    except InputError as error:
        if changed := changed_files(bundle):
            raise InputError(str(folder), f"cannot be computed anew, as {changed[0]}", str(error)) from None
        raise
    again = json.loads(dumps(results))
    made_with = str(said.pop("axisjudge", "unknown")) if isinstance(said, dict) else "unknown"
    found = list(differences(said, {key: value for key, value in again.items() if key != "axisjudge"}))
    found.sort(key=lambda each: each.where.startswith("inputs."))  # numbers first, then the hash that goes with them
    return BundleCheck(
        tuple(found),
        (*_changed_tables(bundle, parts), *changed_files(bundle)),
        _count(said),
        made_with,
        again["axisjudge"],
    )


def write_manifest(folder: Path) -> None:
    """Hashes of all files, one a line, as ``sha256sum --check`` reads them."""
    lines = [f"{file_sha256(folder / name)}  {name}\n" for name in files_of(folder)]
    (folder / MANIFEST).write_text("".join(lines), encoding="utf-8")


def files_of(folder: Path) -> list[str]:
    """The files of a bundle but for its manifest."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if name != MANIFEST)


def changed_files(folder: Path) -> list[str]:
    """What differs from the manifest, a line each."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except OSError:
        return [f"{MANIFEST} is missing"]
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    there = set(files_of(folder))
    changed = [name for name in sorted(listed) if name in there and file_sha256(folder / name) != listed[name]]
    return [
        *(f"{name} is not the file in {MANIFEST}" for name in changed),
        *(f"{name} is missing" for name in sorted(set(listed) - there)),
        *(f"{name} is not in {MANIFEST}" for name in sorted(there - set(listed))),
    ]


def _changed_tables(folder: Path, parts: Any) -> list[str]:
    """Tables in files that say something else than is computed, whatever the manifest says of them."""
    tables = {f"tables/{part.name}_{name}.csv": frame for part in parts for name, (_, frame) in part.tables.items()}
    return [
        f"{name} does not hold what is computed"
        for name, frame in tables.items()
        if (folder / name).exists() and (folder / name).read_text(encoding="utf-8") != as_csv(frame)
    ]


def _count(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_count, value.values() if isinstance(value, dict) else value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))
