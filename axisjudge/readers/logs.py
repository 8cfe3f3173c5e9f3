"""Files that are logs of events: which format they are of, and their events, whatever stands between them."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO

from axisjudge.checks import InputError
from axisjudge.readers import axis_report, claude_code, gemini
from axisjudge.readers.codex import CODEX
from axisjudge.readers.events import Line, Tally, log_lines, mended
from axisjudge.readers.messages import ReadRun, at
from axisjudge.readers.sessions import SESSIONS
from axisjudge.readers.source import BrokenJson, json_values
from axisjudge.readers.traces import opentelemetry
from axisjudge.readers.traces.services import SERVICES as TRACES

#: Traces of services and sessions, whose records resemble requests and responses of an API: asked before those.
SERVICES = (*TRACES, *SESSIONS)
#: Asked in this order; the first event that one of them recognises decides for the file.
LOGS = (axis_report, *SESSIONS, claude_code, *CODEX, gemini, opentelemetry, *TRACES)


def log_in(stream: BinaryIO) -> Iterator[tuple[str, ReadRun]] | None:
    """What the log in a file holds, each with the name of its format; None where no event is of a known one."""
    before: list[Line] = []
    lines = _lines(stream)
    for line in lines:
        before.append(line)
        for reader in LOGS:
            if reader.recognise(line.value):
                return _read(reader, chain(before, lines))
    return None


def _lines(stream: BinaryIO) -> Iterator[Line]:
    """The events of a file: its one JSON value, the members of that where it is a list, else its lines."""
    stream.seek(0)
    half = False
    try:
        values = list(islice(json_values(stream), 2))
    except BrokenJson:
        stream.seek(0)
        whole = mended(stream.read())
        half, values = whole is not None, [("", whole)]
    except InputError:
        values = []
    if len(values) != 1 or values[0][1] is None:
        stream.seek(0)
        yield from log_lines(stream)
    elif isinstance(values[0][1], list):
        members = enumerate(values[0][1])
        yield from (Line(at("", number), member, mended=half and not number) for number, member in members)
    else:
        yield Line(*values[0], mended=half)


def _read(reader: Any, lines: Iterable[Line]) -> Iterator[tuple[str, ReadRun]]:
    tally, form = Tally(), reader.FORMAT
    for run in reader.read_log(lines, tally):
        form = run.trajectory.source if run.trajectory else form
        yield form, run
    yield form, ReadRun("", None, tally.notes())
