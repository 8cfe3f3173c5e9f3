"""Our own JSON Lines: one trajectory a line, as `Trajectory.model_dump_json` writes it.

``axisjudge schema trajectory`` prints the JSON Schema of a line. What is written is read back equal.
"""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, cast

from pydantic_core import PydanticSerializationError

from axisjudge.checks import InputError
from axisjudge.readers.messages import ReadRun, at, made
from axisjudge.trajectory import Trajectory
from axisjudge.workbench import whole_or_not_at_all

FORMAT = "own"


def recognise(value: Any) -> bool:
    """Whether the JSON value is a trajectory of ours; one without messages may leave out its steps."""
    if not isinstance(value, dict) or not {"id", "source"} <= value.keys():
        return False
    return "steps" in value or value.keys() <= Trajectory.model_fields.keys()


def read(value: Any, where: str, folder: Path) -> Iterator[ReadRun]:
    """The trajectory as it was written; `source` keeps naming the format it was first read from."""
    trajectory = made(Trajectory, where, **value)
    for position, step in enumerate(trajectory.steps):
        if step.index != position:
            raise InputError(at(where, "steps", position, "index"), f"must be {position}", step.index)
    yield ReadRun(where, trajectory)


def write_trajectories(path: str | Path, trajectories: Iterable[Trajectory]) -> int:
    """Write trajectories as JSON Lines, gzipped where the name ends in ``.gz``, and return how many.

    The file appears whole or not at all; the same trajectories give the same bytes, and `read_trajectories` gives them
    back equal.

    Raises
    ------
    InputError
        As `line_of` does.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from axisjudge.trajectory import Step
    >>> run = Trajectory(id="run-1", source="mine", steps=(Step(index=0, role="user", content="Hello."),))
    >>> with TemporaryDirectory() as folder:
    ...     write_trajectories(f"{folder}/own.jsonl", [run])
    1
    """
    return write_lines(path, map(line_of, trajectories))


def line_of(trajectory: Trajectory) -> bytes:
    """A trajectory as one line of our own JSON Lines.

    Raises
    ------
    InputError
        When a value of it has no place in JSON, such as half of a character pair.
    """
    try:
        return trajectory.model_dump_json().encode() + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError) as error:
        raise InputError(f"trajectory {trajectory.id}", "must be writable as JSON", str(error)) from error


def write_lines(path: str | Path, lines_of_runs: Iterable[bytes]) -> int:
    """Write what `line_of` gives, as `write_trajectories` does."""
    target = Path(path)
    written = 0
    with whole_or_not_at_all(target) as unfinished, ExitStack() as stack:
        lines: BinaryIO = stack.enter_context(unfinished.open("xb"))
        if target.suffix == ".gz":
            lines = cast(BinaryIO, stack.enter_context(gzip.GzipFile("", "wb", fileobj=lines, mtime=0)))
        for line in lines_of_runs:
            written += 1
            lines.write(line)
    return written
