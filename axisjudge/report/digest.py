"""What a report was made from: hashes of files, code and notebook, versions, and the one digest that sums them up."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from glob import has_magic
from importlib import metadata
from pathlib import Path
from typing import Any

from axisjudge.report.meaning import package_sha256


def file_sha256(path: Path) -> str:
    """Hash of a file, or of all files of a folder with their names."""
    if path.is_dir():
        return sum_up((file.relative_to(path).as_posix(), file_sha256(file)) for file in files_below(path))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def notebook_sha256(notebook: Any) -> str:
    """Hash of a notebook's cells: kind, source and tags, whatever its outputs and identifiers."""
    return sum_up((f"{cell.cell_type} {cell.metadata.get('tags', [])}", cell.source) for cell in notebook.cells)


def input_digest(workbench: Path, notebook: Any, parameters: Mapping[str, Any]) -> str:
    """One hash of what is known of a report before it is made.

    The notebook, the parameters, what this package means to it (`axisjudge.report.meaning`), the versions of the
    packages it stands on, and every file or folder that a parameter names. What a run reads beside is known afterwards;
    see `axisjudge.report.made`.
    """
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return sum_up(
        (
            ("notebook", notebook_sha256(notebook)),
            ("parameters", repr(sorted(parameters.items()))),
            ("package", package_sha256(code)),
            ("versions", repr(versions())),
            *named_inputs(parameters, workbench).items(),
        )
    )


@cache
def versions() -> dict[str, str]:
    """Versions of Python, this package and the packages it requires."""
    names = [re.split(r"[^\w.-]", line)[0] for line in metadata.requires("axisjudge") or [] if "extra ==" not in line]
    found = {name: metadata.version(name) for name in ["axisjudge", *sorted(names)]}
    return {"python": ".".join(map(str, sys.version_info[:3])), **found}


def git_commit(folder: Path) -> str:
    """The commit of the workbench, and whether it has changes that are not in it."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return "not a git checkout"
    return commit + (" with uncommitted changes" if _git(folder, "status", "--porcelain") else "")


def paths_in(text: str, start: Path) -> list[tuple[str, Path]]:
    """The parts of a parameter's text that name files or folders, and where these are.

    The whole text (``mine/ratings.jsonl``), what stands behind a colon (``replay:mine/ratings.jsonl``) or an equals
    sign (``simulated:heron,truth=mine/truth.jsonl``), and patterns (``runs/*.json``), as seen from `start`.
    """
    if len(text) > 1000:
        return []
    if found := _existing(text, start):
        return [(text, found)]
    parts = [re.sub(r"^[a-z][a-z-]+:", "", part.rpartition("=")[2]) for part in text.split(",")]
    return [(part, found) for part in parts if (found := _existing(part, start))]


def _existing(text: str, start: Path) -> Path | None:
    """The file, folder or pattern of files that `text` names: it has a slash or a suffix, and something is there."""
    if not re.search(r"[/\\]|\.\w+$", text) or "\0" in text:
        return None
    path = start / text
    try:
        if path.exists():
            return path.resolve()
        return path.parent.resolve() / path.name if has_magic(text) and _matches(path) else None
    except OSError:
        return None


def with_paths(value: Any, start: Path, put: Callable[[Path], str]) -> Any:
    """A parameter's value, its lists and dicts through and through, with `put` of every path that it names."""
    if isinstance(value, str):
        for part, path in paths_in(value, start):
            value = value.replace(part, put(path))
        return value
    if isinstance(value, list | tuple):
        return [with_paths(item, start, put) for item in value]
    if isinstance(value, dict):
        return {key: with_paths(item, start, put) for key, item in value.items()}
    return value


def named_inputs(parameters: Mapping[str, Any], workbench: Path) -> dict[str, str]:
    """Hashes of the files and folders that parameters name, inside lists and judge specs too."""
    inputs: dict[str, str] = {}
    for key, value in parameters.items():
        paths: list[Path] = []
        with_paths(value, workbench, lambda path, kept=paths: kept.append(path) or "")  # type: ignore[misc]
        for path in paths:
            named = f"parameter {key}" if len(paths) == 1 else f"parameter {key}: {portable(path, workbench)}"
            inputs[named] = (
                file_sha256(path)
                if path.exists()
                else sum_up((each.name, file_sha256(each)) for each in _matches(path))
            )
    return inputs


def _matches(pattern: Path) -> list[Path]:
    return sorted(path for path in pattern.parent.glob(pattern.name) if not path.name.startswith("."))


def published_value(value: Any, workbench: Path) -> Any:
    """A parameter's value as it may be published: paths without the folders of this machine."""
    return with_paths(value, workbench, lambda path: portable(path, workbench))


def portable(path: Path, workbench: Path) -> str:
    """A path as it may be published: relative to the workbench, else the bare name."""
    resolved = path.resolve()
    return resolved.relative_to(workbench).as_posix() if resolved.is_relative_to(workbench) else resolved.name


def files_below(folder: Path) -> Iterator[Path]:
    """All files of a folder in order, without caches, locks and hidden ones."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in ("__pycache__", "cache") or path.suffix == ".lock":
            continue
        if path.is_dir():
            yield from files_below(path)
        else:
            yield path


def sum_up(parts: Iterable[tuple[str, str]]) -> str:
    """One hash of named texts."""
    digest = hashlib.sha256()
    for name, content in parts:
        digest.update(f"{len(name)} {name} {len(content)} {content}\n".encode())
    return digest.hexdigest()


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
