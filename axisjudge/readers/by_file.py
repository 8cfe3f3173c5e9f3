"""Work on trajectories where their files are read: here, or on workers, a file (or a span of a large one) a part.

The account of what was read (files, warnings, copies, refusals) is kept in one process in the order of the files, so
that it is the same on any number of workers, and the same as that of `read_trajectories`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, BinaryIO, Generic, Unpack

from pydantic_core import from_json

from axisjudge.checks import InputError
from axisjudge.cluster import Workers
from axisjudge.readers.chats import is_message
from axisjudge.readers.context import Context, Supplied, load_context
from axisjudge.readers.logs import LOGS, SERVICES
from axisjudge.readers.reading import FORMATS, TrajectoryStream, entries_of, report_beside
from axisjudge.readers.source import ArraySpan, Candidate, LineSpan, candidates, with_messages
from axisjudge.readers.summary import FileEntry, Made, ReadWarning
from axisjudge.trajectory import Trajectory

#: Bytes of a span: some hundred runs, a second or two of work.
SPAN_BYTES = 8_000_000
_PIECE_BYTES = 1_000_000
_OPENING = re.compile("(\u00ef\u00bb\u00bf)?\\s*\\[")
_BETWEEN = re.compile(r"[\s,]*")
#: What is made of the trajectories of one file, one each and in their order.
Work = Callable[[Sequence[Trajectory]], Sequence[Made]]


def made_of_files(
    paths: Sequence[str | Path],
    work: Work[Made],
    workers: Workers,
    *,
    strict: bool = True,
    **supplied: Unpack[Supplied],
) -> TrajectoryStream[Made]:
    """What `work` makes of each distinct trajectory; the files are read, and `work` is done, where `workers` are.

    Of a part nothing comes back but what was made. Workers read the files themselves, under the same absolute paths.
    Other parameters, the account and the errors are those of `axisjudge.readers.iter_trajectories`.
    """
    context = load_context(**supplied)
    return TrajectoryStream(tuple(paths), context, strict=strict, files=_files(tuple(paths), context, work, workers))


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
    first = {file.path.resolve(): number for number, file in reversed(list(enumerate(files)))}
    lots = [
        (number, file._replace(path=file.path.absolute(), span=span))
        for number, file in enumerate(files)
        if first[file.path.resolve()] == number and (file.named or not report_beside(file.path.resolve()))
        for span in spans_of(file.path)
    ]
    sent, cut = {number for number, _ in lots}, {number for number, file in lots if file.span is not None}
    of_files = groupby(workers.map(partial(_part, context=context, work=work), lots, _name), lambda part: part.number)
    part_of, parts = next(of_files, (-1, iter(())))
    for number, file in enumerate(files):
        if part_of == number:
            entries = chain.from_iterable(parts)
            yield file, as_of_one(entries) if number in cut else entries
            part_of, parts = next(of_files, (-1, iter(())))
        elif number not in sent:  # read before or passed over
            yield file, ()  # what failed on every worker is said when all others are done


def _part(lot: tuple[int, Candidate], *, context: Context, work: Work[Made]) -> _Part[Made]:
    number, file = lot
    entries: list[FileEntry[Trajectory]] = []
    broken = None
    try:
        entries.extend(entries_of(file, context))
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


def spans_of(path: Path, size: int = SPAN_BYTES) -> Sequence[LineSpan | ArraySpan | None]:
    """Where to cut a file: `size` bytes or more of whole lines, or members of an array; None for one part.

    Only files of runs that are read by themselves are cut. A span of lines has two at least: a file of one line is one
    value and no line.
    """
    try:
        if path.stat().st_size < 2 * size:
            return [None]
        if members := array_spans(path, size):
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
                if start is None and (len(line) > SPAN_BYTES or not _is_run(line)):
                    return
                if start is None:
                    start = offset, before
                elif n_lines >= 2 and offset - start[0] >= size and _is_run(line):
                    yield start
                    start, n_lines, first = (offset, before), 0, False
                n_lines += 1
            offset += len(line)
    if start is not None and (first or n_lines >= 2):  # else the last line belongs to the span before
        yield start


def array_spans(path: Path, size: int = SPAN_BYTES) -> list[ArraySpan]:
    """Where to cut a file that is one JSON array of runs; nowhere where it is not, or breaks, which its reader says.

    Each byte is taken for a letter, so that places in the text are places in the file; no more than a piece of it and
    one member are held.
    """
    spans: list[ArraySpan] = []
    start: int | None = None
    before = number = 0
    try:
        with path.open("rb") as file:
            for number, (begin, end, member) in enumerate(_members(file), 1):
                if number == 1 and not _is_run(member):
                    return []
                start = begin if start is None else start
                if end - start >= size:
                    spans.append(ArraySpan(start, end, before))
                    start, before = None, number
                last = end
    except ValueError:
        return []
    return spans if start is None else [*spans, ArraySpan(start, last, before)]


def _members(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """The objects of an array, each from its first byte to after its last; a ValueError where it is none, or breaks."""
    decode, piece = json.JSONDecoder(strict=False).raw_decode, _PIECE_BYTES
    text, base, at = file.read(piece).decode("latin-1"), 0, 0
    opening = _OPENING.match(text)
    if opening is None:
        raise ValueError
    at = opening.end()
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        if text[at : at + 1] == "{":
            try:
                _, end = decode(text, at)
            except ValueError:
                end = 0
            if end:
                yield base + at, base + end, text[at:end].encode("latin-1")
                at = end
                continue
        elif at < len(text):
            if text[at] != "]" or text[at + 1 :].strip() or file.read().strip():
                raise ValueError
            return
        more = file.read(piece).decode("latin-1")
        if not more:
            raise ValueError
        text, base, at, piece = text[at:] + more, base + at, 0, max(piece, len(text) - at)


def _is_run(line: bytes) -> bool:
    """Whether a line is read by itself: as a run, or several, and neither as a message nor as part of a log."""
    try:
        value = from_json(line.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return False
    if is_message(value, (*LOGS, *FORMATS)):
        return False
    run = with_messages(value)
    logged = any(form.recognise(run) for form in (*SERVICES, *LOGS))
    return isinstance(run, dict) and not logged and any(form.recognise(run) for form in FORMATS)


def as_of_one(entries: Iterable[FileEntry[Made]]) -> Iterator[FileEntry[Made]]:
    """The entries of all spans of a file; what was counted at the end of each is counted once, at the end of the file.

    At the end stands an entry without position.
    """
    last: FileEntry[Made] | None = None
    notes: dict[tuple[str, str], ReadWarning] = {}
    for entry in entries:
        if entry.position:
            yield entry
            continue
        last = entry
        for note in entry.notes:
            first = notes.setdefault((note.rule, note.detail), replace(note, count=0))
            notes[note.rule, note.detail] = replace(first, count=first.count + note.count)
    if last is not None:
        yield replace(last, notes=tuple(notes.values()))
