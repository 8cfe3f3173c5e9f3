"""Our own JSON Lines: one trajectory a line, as `Trajectory.model_dump_json` writes it."""

import gzip
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from axisjudge.checks import InputError
from axisjudge.readers.messages import Found, at, made
from axisjudge.trajectory import Trajectory

FORMAT = "own"


def recognise(value: Any) -> bool:
    """Whether the JSON value is a trajectory of ours."""
    return isinstance(value, dict) and {"id", "source", "steps"} <= value.keys()


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The trajectory as it was written; `source` keeps naming the format it was first read from."""
    trajectory = made(Trajectory, where, **value)
    for position, step in enumerate(trajectory.steps):
        if step.index != position:
            raise InputError(at(at(at(where, "steps"), position), "index"), f"must be {position}", step.index)
    yield Found(where, trajectory)


def write_trajectories(path: str | Path, trajectories: Iterable[Trajectory]) -> int:
    """Write trajectories as JSON Lines, gzipped where the name ends in ``.gz``, and return how many.

    The file appears whole or not at all; the same trajectories give the same bytes.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with NamedTemporaryFile("wb", dir=target.parent, prefix=f".{target.name}.", delete=False) as unfinished:
        packed = gzip.GzipFile("", "wb", fileobj=unfinished, mtime=0) if target.suffix == ".gz" else None
        try:
            for trajectory in trajectories:
                written += 1
                (packed or unfinished).write(trajectory.model_dump_json().encode() + b"\n")
            if packed:
                packed.close()
        except BaseException:
            Path(unfinished.name).unlink()
            raise
    os.replace(unfinished.name, target)  # noqa: PTH105 (one call for both systems)
    return written
