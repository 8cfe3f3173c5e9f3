"""Spans of large files of JSON Lines, a run a line, which can be read apart, and the account of a file read so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pydantic_core import from_json

from axisjudge.readers.chats import is_message
from axisjudge.readers.logs import LOGS, SERVICES
from axisjudge.readers.reading import FORMATS
from axisjudge.readers.source import LineSpan, with_messages
from axisjudge.readers.summary import FileEntry, Made, ReadWarning

#: Bytes of a span: some hundred runs, a second or two of work.
SPAN_BYTES = 8_000_000


def spans_of(path: Path, size: int = SPAN_BYTES) -> list[LineSpan | None]:
    """Where to cut a file: whole lines, `size` bytes or more; None for a file that is one part.

    Only files of JSON Lines are cut, at lines that are read by themselves. A span has two lines at least: a file of one
    line is one value and no line.
    """
    try:
        if path.stat().st_size < 2 * size:
            return [None]
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
