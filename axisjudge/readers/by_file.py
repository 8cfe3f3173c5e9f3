"""Work on trajectories where their files are read: here, or on workers, a file (or a span of a large one) a part.

The account of what was read (files, warnings, copies, refusals) is kept in one process in the order of the files, so
that it is the same on any number of workers, and the same as that of `read_trajectories`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Generic, Unpack

from axisjudge.checks import InputError
from axisjudge.cluster import Workers
from axisjudge.readers import reading
from axisjudge.readers.context import Context, Supplied, load_context
from axisjudge.readers.source import ArraySpan, Candidate, LineSpan, candidates
from axisjudge.readers.summary import FileEntry, Made
from axisjudge.trajectory import Trajectory

#: What is made of the trajectories of one file, one each and in their order.
Work = Callable[[Sequence[Trajectory]], Sequence[Made]]


def made_of_files(
    paths: Sequence[str | Path],
    work: Work[Made],
    workers: Workers,
    *,
    strict: bool = True,
    **supplied: Unpack[Supplied],
) -> reading.TrajectoryStream[Made]:
    """What `work` makes of each distinct trajectory; the files are read, and `work` is done, where `workers` are.

    Of a part nothing comes back but what was made. Workers read the files themselves, under the same absolute paths.
    Other parameters, the account and the errors are those of `axisjudge.readers.iter_trajectories`.
    """
    context = load_context(**supplied)
    return reading.TrajectoryStream(
        tuple(paths), context, strict=strict, files=_files(tuple(paths), context, work, workers)
    )


@dataclass(frozen=True)
class _Part(Generic[Made]):
    """What came of the `number`-th file, or of a span of it: its entries up to where it is broken."""

    number: int
    entries: tuple[FileEntry[Made], ...]
    broken: InputError | None

    def __iter__(self) -> Iterator[FileEntry[Made]]:
        yield from self.entries
        if self.broken is not None:
            raise self.broken


def _files(
    paths: tuple[str | Path, ...], context: Context, work: Work[Made], workers: Workers
) -> Iterator[tuple[Candidate, Iterable[FileEntry[Made]]]]:
    files = list(candidates(paths))
    first = {file.real: number for number, file in reversed(list(enumerate(files)))}
    lots = [
        (number, file._replace(path=file.path.absolute(), span=span))
        for number, file in enumerate(files)
        if first[file.real] == number and (file.named or not reading.report_beside(file.real))
        for span in spans_of(file.path)
    ]
    sent, cut = {number for number, _ in lots}, {number for number, file in lots if file.span is not None}
    of_files = groupby(workers.map(partial(_part, context=context, work=work), lots, _name), lambda part: part.number)
    part_of, parts = next(of_files, (-1, iter(())))
    for number, file in enumerate(files):
        if part_of == number:
            entries = chain.from_iterable(parts)
            yield file, reading.as_of_one(entries) if number in cut else entries
            part_of, parts = next(of_files, (-1, iter(())))
        elif number not in sent:  # read before or passed over
            yield file, ()  # what failed on every worker is said when all others are done


def _part(lot: tuple[int, Candidate], *, context: Context, work: Work[Made]) -> _Part[Made]:
    number, file = lot
    entries: list[FileEntry[Trajectory]] = []
    broken = None
    try:
        entries.extend(reading.entries_of(file, context))
    except InputError as error:
        broken = error
    runs = {entry.id: entry.made for entry in reversed(entries) if entry.made is not None}  # of copies the first
    ids = [] if broken else list(reversed(runs))
    made = dict(zip(ids, work([runs[id] for id in ids]), strict=True)) if ids else {}
    light: list[Any] = [replace(entry, made=None) for entry in entries]
    return _Part(number, tuple(replace(entry, made=made.get(entry.id)) for entry in light), broken)


def _name(lot: tuple[int, Candidate]) -> str:
    _, file = lot
    if file.span is None:
        return file.name
    before = file.span.before
    return f"{file.name}, from {f'[{before}]' if isinstance(file.span, ArraySpan) else f'line {before + 1}'}"


def spans_of(path: Path, size: int = reading.SPAN_BYTES) -> Sequence[LineSpan | ArraySpan | None]:
    """Where to cut a file: `size` bytes or more of whole lines, or members of an array; None for one part.

    Only files of runs that are read by themselves are cut. A span of lines has two at least: a file of one line is one
    value and no line.
    """
    try:
        if path.stat().st_size < 2 * size:
            return [None]
        if members := reading.array_spans(path, size):
            return members
        starts = list(_starts(path, size))
    except OSError:  # which whoever reads it will say
        return [None]
    ends = [*(start for start, _ in starts[1:]), path.stat().st_size][: len(starts)]
    spans = [LineSpan(start, end, before) for (start, before), end in zip(starts, ends, strict=True)]
    return [*spans] if len(spans) > 1 else [None]


def _starts(path: Path, size: int) -> Iterator[tuple[int, int]]:
    """First byte of each span, and the lines before it; nothing where the first line is no run."""
    start: tuple[int, int] | None = None
    offset = n_lines = 0
    first = True
    with path.open("rb") as lines:
        for before, line in enumerate(lines):
            if line.strip():
                if start is None and (len(line) > reading.SPAN_BYTES or not reading.is_run(line)):
                    return
                if start is None:
                    start = offset, before
                elif n_lines >= 2 and offset - start[0] >= size and reading.is_run(line):
                    yield start
                    start, n_lines, first = (offset, before), 0, False
                n_lines += 1
            offset += len(line)
    if start is not None and (first or n_lines >= 2):  # else the last line belongs to the span before
        yield start
