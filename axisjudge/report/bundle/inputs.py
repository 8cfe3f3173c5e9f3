"""What a bundle is made from: its settings, and copies of the files of ratings, labels and runs."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.labels.panel import BY_PEOPLE
from axisjudge.sharing import clean_line, has_keys, shared, shared_frame, without_keys
from axisjudge.sources import Source, source_of
from axisjudge.trajectory import Trajectory

#: How the ratings that ship with the workbench are named: ``votes:tau2``.
VOTES = "votes:"
_ORIGIN = "Source: github.com/RUCBM/AgentProcessBench, commit 0a42606; ids are hashed, reasons and texts are not kept."
#: What a bundle's numbers depend on beside its files, with defaults.
SETTINGS: Mapping[str, Any] = {
    "about": "",
    "steps": False,
    "question": "",
    "scale": "",
    "cluster_unit": "task",
    "epsilon": 0.2,
    "ci_level": 0.95,
    "seed": 20261121,
}


@dataclass(frozen=True, eq=False)
class Inputs:
    """The ratings (labels among them) as a source, whether people or planted truth label them, and the runs."""

    source: Source
    labels: pl.DataFrame
    runs: tuple[Trajectory, ...]
    settings: Mapping[str, Any]


def copy_inputs(
    ratings: Sequence[str],
    labels: Sequence[str],
    trajectories: Sequence[str],
    into: Path,
    secrets: Counter[str] | None = None,
) -> None:
    """Copy what a bundle is made from to ``into/ratings``, ``into/labels`` and ``into/trajectories``.

    Shipped votes are written as Parquet. A folder is copied with all that is in it, a pattern with what it matches.
    Given `secrets`, keys and tokens are taken out of the copies, and counted there.

    Raises
    ------
    InputError
        No such file, or two of one name.
    """
    from axisjudge.datasets import published_votes

    for kind, paths in {"ratings": ratings, "labels": labels, "trajectories": trajectories}.items():
        for path in paths:
            (into / kind).mkdir(parents=True, exist_ok=True)
            if kind == "ratings" and path.startswith(VOTES):
                published_votes(path.removeprefix(VOTES), "step").write_parquet(
                    into / kind / f"{path.replace(':', '_')}.parquet"
                )
                continue
            for each in _matches(path):
                target = into / kind / each.name
                if target.exists():
                    raise InputError(f"--{kind}", "must not hold two files of one name", each.name)
                if each.is_dir():
                    shutil.copytree(each, target, ignore=shutil.ignore_patterns(".*", "*.lock", "__pycache__"))
                else:
                    shutil.copyfile(each, target)
    if secrets is not None:
        for copy in _files(into):
            _take_out(copy, secrets)


def _take_out(path: Path, secrets: Counter[str]) -> None:
    """Take secrets out of a copy; one that holds none stays as it is, byte by byte."""
    is_table = path.suffix == ".parquet"
    raw = b"" if is_table else path.read_bytes()
    is_packed = raw[:2] == b"\x1f\x8b"
    try:
        if is_table:
            frame = pl.read_parquet(path)
            notes = [*pl.read_parquet_metadata(path).values()]
            clean_notes = [without_keys(note, secrets) for note in notes]
            if (cleaned := shared_frame(frame, secrets)) is not frame or clean_notes != notes:
                cleaned.write_parquet(path)
            return
        text = (gzip.decompress(raw) if is_packed else raw).decode("utf-8")
    except (UnicodeDecodeError, OSError, EOFError, pl.exceptions.PolarsError) as error:
        cure = "give the runs as JSON Lines (axisjudge read FILE --to runs.jsonl), or --no-redact"
        raise InputError(f"{path.name}", "cannot be searched for keys and tokens", cure=cure) from error
    if not has_keys(text):
        return
    try:
        content = json.loads(text)
        redacted = shared(content, secrets)
        clean_text = text if redacted == content else json.dumps(redacted, ensure_ascii=False, indent=1)
    except ValueError:
        clean_text = "".join(clean_line(line, secrets) for line in text.splitlines(keepends=True))
    if clean_text == text:
        return
    clean = clean_text.encode("utf-8")
    path.write_bytes(gzip.compress(clean, mtime=0) if is_packed else clean)


def read_inputs(folder: Path, settings: Mapping[str, Any]) -> Inputs:
    """Read what `copy_inputs` copied.

    Raises
    ------
    InputError
        An unknown setting, no ratings, or ratings that the settings leave nothing of.
    """
    from axisjudge.ratings import read_ratings
    from axisjudge.readers import read_trajectories

    files = [path for kind in ("ratings", "labels") for path in _files(folder / kind)]
    table = read_ratings(*files, latest=True)
    questions = [settings["question"]] if settings["question"] else []
    source = source_of(
        table,
        ", ".join(path.name for path in _files(folder / "ratings")),
        steps=settings["steps"],
        questions=questions,
        scale=settings["scale"],
        cluster_unit=settings["cluster_unit"],
    )
    source = replace(source, about=settings["about"]) if settings["about"] else source
    runs = folder / "trajectories"
    read = read_trajectories(*sorted(runs.iterdir())).trajectories if runs.is_dir() else ()
    labels = source.ratings.filter(BY_PEOPLE)
    return Inputs(source, labels, tuple(read), settings)


def of_votes(ratings: Sequence[str]) -> dict[str, Any]:
    """Settings that go without saying where all ratings are shipped votes: what they are, and what they share."""
    from axisjudge.sources import load_source

    if not ratings or not all(path.startswith(VOTES) for path in ratings):
        return {}
    first = load_source("votes", subset=ratings[0].removeprefix(VOTES))
    about = (
        first.about if len(ratings) == 1 else "AgentProcessBench: steps of agent runs, labelled by people and judges."
    )
    return {"about": f"{about} {_ORIGIN}", "steps": True, "cluster_unit": first.cluster_unit}


def checked_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings given, in their types, and defaults for the others.

    Raises
    ------
    InputError
        An unknown setting, or a value of another type.
    """
    from axisjudge.report.notebook import Parameter, checked_parameters

    for name in given:
        one_of("-p of a writeup", name, list(SETTINGS))
    known = {name: Parameter(name, value, (type(value).__name__,)) for name, value in SETTINGS.items()}
    return checked_parameters(known, given, "a writeup")


def _matches(path: str) -> list[Path]:
    paths = [Path(path)] if Path(path).exists() else sorted(Path(path).parent.glob(Path(path).name or "*"))
    if not paths:
        raise InputError(path, "no such file", cure="name a file of ratings, or shipped votes such as votes:tau2")
    return paths


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
