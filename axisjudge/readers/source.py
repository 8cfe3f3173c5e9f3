"""Files and what stands in them: folders and globs, gzip, JSON and JSON Lines, and where a broken file breaks."""

import glob
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from pydantic_core import from_json

from axisjudge.checks import InputError

_GZIP, _ZIP, _UTF8_MARK, _UTF16_MARKS = b"\x1f\x8b", b"PK\x03\x04", b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_LOOKS_LIKE_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\[\s*)*(\{\s*["}]|\[\s*\])')
_SPOT = re.compile(r" at line (\d+) column (\d+)$")


class NotTrajectories(InputError):
    """The file is sound, as far as one can tell, but of no format that is known here."""


class OwnRatings(NotTrajectories):
    """The file holds ratings, as `axisjudge judge` writes them beside the runs that it read."""


class ForeignText(NotTrajectories):
    """The file is empty or no JSON: nothing in it says that it was to hold runs."""


class BrokenJson(InputError):
    """The file is JSON and breaks: it is cut off, or something stands in it that JSON does not have."""


class LineSpan(NamedTuple):
    """Whole lines of a file, from byte `start` to before `end`, after `before` others."""

    start: int
    end: int
    before: int


class ArraySpan(NamedTuple):
    """Whole members of the one array that a file is, from byte `start` to before `end`, after `before` others."""

    start: int
    end: int
    before: int


class Candidate(NamedTuple):
    """A file to try, or a span of it; `named` is False when a folder or a glob brought it in."""

    name: str
    path: Path
    named: bool
    span: LineSpan | ArraySpan | None = None

    @property
    def real(self) -> Path:
        """The file that it is in the end, where links lead to one; a link in a circle is itself."""
        return Path(os.path.realpath(self.path))


def candidates(paths: tuple[str | Path, ...]) -> Iterator[Candidate]:
    """The files that files, folders and globs stand for, outer folders first, hidden files left out."""
    if not paths:
        raise InputError("PATH", "at least one file, folder or glob is needed")
    for given in paths:
        path = Path(given)
        if os.path.isfile(path):  # noqa: PTH113 (False, where pathlib raises, for what cannot be looked at)
            yield Candidate(str(given), path, named=True)
            continue
        is_folder = os.path.isdir(path)  # noqa: PTH112
        names = [given] if is_folder else glob.glob(str(given), recursive=True)  # noqa: PTH207 (absolute patterns)
        matches = [Path(match) for match in names]
        if not matches:
            raise InputError(str(given), "no such file or folder, and as a glob it matches nothing")
        inside = {file for match in matches for file in _files_in(match)}
        for file in sorted(inside, key=lambda file: (len(file.parts), file)):
            yield Candidate(str(file), file, named=False)


def _files_in(path: Path) -> list[Path]:
    """All in a folder and in the folders in it that is no folder, linked ones too, each folder once.

    What nobody can read counts: a link to nothing, a pipe, a folder that is closed to us.
    """
    if not os.path.isdir(path):  # noqa: PTH112
        return [path]
    inside: list[Path] = []
    seen: set[str] = set()
    closed: list[OSError] = []
    for name, folders, files in os.walk(path, followlinks=True, onerror=closed.append):
        if (real := os.path.realpath(name)) in seen:  # a link that leads back up
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [below for below in folders if not below.startswith(".")]
        inside += [Path(name, file) for file in files if not file.startswith(".")]
    return inside + [Path(str(error.filename)) for error in closed]


@contextmanager
def opened(path: Path, span: LineSpan | ArraySpan | None = None) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where they are gzip; a broken gzip stream raises InputError.

    Of a span the lines before are empty, so that lines keep their numbers; members are an array of their own.
    """
    try:
        if not path.is_file() and path.exists():
            if path.is_dir():
                list(path.iterdir())  # says why it cannot be read
            raise InputError("", "is no file that can be read again", cure="write what it gives into a file")
        with path.open("rb") as raw:
            if span is not None:
                raw.seek(span.start)
                inner = raw.read(span.end - span.start)
                is_array = isinstance(span, ArraySpan)
                yield io.BytesIO(b"[" + inner + b"]" if is_array else b"\n" * span.before + inner)
                return
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
            yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError("", f"is a broken gzip file ({error})", cure="copy or export it again") from error
    except OSError as error:
        raise InputError("", f"cannot be read ({error.strerror or error})") from error


def archive(stream: BinaryIO) -> BinaryIO | None:
    """A seekable stream of a zip archive, None when the stream holds something else."""
    is_zip = stream.read(4) == _ZIP
    stream.seek(0)
    if not is_zip:
        return None
    return io.BytesIO(stream.read()) if isinstance(stream, gzip.GzipFile) else stream


def json_values(stream: BinaryIO, mend: Callable[[str, bytes], Any] | None = None) -> Iterator[tuple[str, Any]]:
    """The JSON values of a file with their positions: one whole-file value (position ""), or one a line.

    Parameters
    ----------
    stream : binary stream
    mend : callable, optional
        Asked for the value of a line after the first that is no JSON, by position and content; where it gives None,
        the line is left out. Without it such a line is an error.

    Raises
    ------
    ForeignText
        When the file does not look like JSON at all.
    InputError
        When it does, but breaks: cut off, invalid, not UTF-8, or larger than memory.
    """
    lines = enumerate(stream, 1)
    number, first = next(((number, line) for number, line in lines if line.strip()), (1, b""))
    first = first.removeprefix(_UTF8_MARK)
    if not first:
        raise ForeignText("", "is empty", cure="save it again, or leave it out")
    try:
        value = from_json(first)
    except ValueError:
        yield "", _whole(first, stream, lines_before=number - 1)
        return
    following = ((number, line) for number, line in lines if line.strip())
    second = next(following, None)
    if second is None:
        yield "", value
        return
    yield f"line {number}", value
    del value, first
    yield from _lines(chain([second], following), mend)


def sound_lines(stream: BinaryIO, mend: Callable[[str, bytes], Any]) -> Iterator[tuple[str, Any]]:
    """The JSON values of a file of lines whose first line is broken; nothing for a file that is one broken value.

    Such a value, written over several lines, has lines that end in a comma or are brackets alone.
    """
    stream.seek(0)
    numbered = [(number, line.strip()) for number, line in enumerate(stream, 1) if line.strip()]
    if any(line.endswith(b",") or not line.strip(b"[]{}") for _, line in numbered):
        return
    yield from _lines(numbered, mend)


def _whole(first: bytes, stream: BinaryIO, lines_before: int) -> Any:
    try:
        content = first + stream.read()
        return from_json(content)
    except MemoryError as error:
        raise InputError("", "is too large for this machine's memory", cure="split it, or use JSON Lines") from error
    except ValueError as error:
        if not content.startswith(_UTF16_MARKS) and not _LOOKS_LIKE_JSON.match(content):
            raise ForeignText("", "is not JSON", content[:20], "runs are read from JSON or JSON Lines") from error
        raise _broken(content, error, lines_before) from error


def _lines(
    numbered: Iterable[tuple[int, bytes]], mend: Callable[[str, bytes], Any] | None
) -> Iterator[tuple[str, Any]]:
    for number, line in numbered:
        position = f"line {number}"
        try:
            yield position, from_json(line)
        except ValueError as error:
            if mend is None:
                raise _broken(line, error, number - 1) from error
            if (value := mend(position, line)) is not None:
                yield position, value


def _broken(content: bytes, error: ValueError, lines_before: int) -> InputError:
    """What is wrong with JSON that cannot be parsed, and where; `BrokenJson` where it is text at all."""
    if content.startswith(_UTF16_MARKS):
        return InputError("byte 0", "must be UTF-8, and this is UTF-16", cure="save the file as UTF-8")
    try:
        content.decode()
    except UnicodeDecodeError as wrong:
        line = lines_before + content.count(b"\n", 0, wrong.start) + 1
        column = wrong.start - content.rfind(b"\n", 0, wrong.start)
        excerpt = content[max(0, wrong.start - 10) : wrong.start + 10]
        return InputError(f"line {line}, byte {column}", "must be UTF-8", excerpt, "save the file as UTF-8")
    message = str(error)
    spot = _SPOT.search(message)
    where = f"line {int(spot[1]) + lines_before}, column {spot[2]}" if spot else f"line {lines_before + 1}"
    if _fault(content + b" ") != message:  # the parser was at the end: it would have read on
        return BrokenJson(where, "the file is cut off in the middle of its JSON", cure="copy or export it again")
    rule = f"is not valid JSON ({_SPOT.sub('', message)})"
    return BrokenJson(where, rule, cure="mend it there or export the file again")


def _fault(content: bytes) -> str:
    """What the parser says of JSON, and where; nothing where it is sound."""
    try:
        from_json(content)
    except ValueError as error:
        return str(error)
    return ""


def cure_for(value: Any) -> str:
    """What to do with a JSON value that no reader recognises, where its first record's shape tells; else nothing."""
    record = value[0] if isinstance(value, list) and value else value
    if not isinstance(record, dict):
        return ""
    kind, keys, pieces = str(record.get("type")), record.keys(), "these are pieces of a stream: keep"
    if record.get("object") == "chat.completion.chunk":
        return f"{pieces} the whole completion, which the SDK's stream helpers put together"
    if kind.startswith(("message_start", "content_block_", "message_delta", "message_stop", "ping")):
        return f"{pieces} what the SDK's get_final_message() gives, with the messages sent"
    if kind.startswith("response."):
        return f"{pieces} the response inside the event response.completed, with its input"
    if str(record.get("event")).startswith("on_") and "run_id" in keys:
        return "these are events of a stream: keep the messages of the final state, or LangSmith's runs"
    if "tasks_output" in keys:
        return "CrewAI: keep the messages of each task (tasks_output[].messages), or trace it and export that"
    if {"trajectory", "info"} <= keys:
        return "SWE-agent: its history, the list of messages with roles, is not there"
    if "source" in keys and ("observation" in keys or "action" in keys):
        return "OpenHands: export the completions (LLM_LOG_COMPLETIONS) with their messages and tool_calls"
    if {"info", "data"} <= keys or {"trace_id", "trace_metadata"} <= keys:
        return (
            "MLflow: a trace without spans; export it with them (mlflow traces get, search_traces with include_spans)"
        )
    if isinstance(record.get("chat"), str):
        return "the chat is one text: make it a list of messages with roles, {role, content}"
    if {"instruction", "output"} <= keys or {"prompt", "completion"} <= keys:
        return "these are questions with answers, not runs: what an agent called and what came back is needed"
    return ""


#: Under these names data sets keep what others call ``messages``.
_MESSAGES = ("conversation", "trajectory", "dialogue", "dialog", "chat")


def with_messages(value: Any) -> Any:
    """A record, or a list of them, with its chat messages under ``messages`` where they have another name."""
    if isinstance(value, list):
        return [with_messages(member) for member in value] if any(isinstance(one, dict) for one in value) else value
    if not isinstance(value, dict) or "messages" in value:
        return value
    named = [key for key in _MESSAGES if _are_messages(value.get(key))]
    if len(named) != 1:
        return value
    return {"messages" if key == named[0] else key: inner for key, inner in value.items()}


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and "role" in one for one in value)
