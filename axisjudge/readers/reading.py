"""Reading trajectories file by file, counting and listing whatever was odd."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Generic, Unpack

from pydantic_core import from_json

from axisjudge.checks import InputError, shaped
from axisjudge.families import family_of
from axisjudge.readers import atif, inspect_logs, openai_chat, own, source, tau2
from axisjudge.readers.benchmarks import BENCHMARKS
from axisjudge.readers.chats import CHATS, is_message
from axisjudge.readers.chats.in_text import beside, read_calls
from axisjudge.readers.context import Context, Supplied, load_context, names_of_tools
from axisjudge.readers.events import BROKEN, MENDED, Tally, mended
from axisjudge.readers.frameworks import FRAMEWORKS
from axisjudge.readers.logs import LOGS, SERVICES, log_in
from axisjudge.readers.messages import ReadRun, at
from axisjudge.readers.summary import (
    NOT_STATED,
    FileEntry,
    FileRead,
    Made,
    ReadWarning,
    RefusedFile,
    Summary,
    counted,
    summarise,
)
from axisjudge.trajectory import Trajectory

#: Asked in this order; the first that recognises a file's content reads it. Logs of events come after them.
FORMATS = (own, atif, *FRAMEWORKS, inspect_logs, tau2, *BENCHMARKS, *CHATS, openai_chat)
#: What ends so is to hold runs, whatever stands in it.
JSON_ENDINGS = frozenset({".json", ".jsonl", ".ndjson", ".eval", ".gz"})
#: Bytes of a span: some hundred runs, a second or two of work.
SPAN_BYTES = 8_000_000
_PIECE_BYTES = 1_000_000
_OPENING = re.compile("(\u00ef\u00bb\u00bf)?[ \\t\\r\\n]*\\[")
_BLANK = " \t\r\n"
_SPACE = re.compile(f"[{_BLANK}]*")
#: An array of more bytes is read part by part.
LARGE = 16_000_000
WRITTEN = "a call written as text, which nobody ran, is text"
_KNOWN = (
    "tau-bench, tau2-bench, AgentRx, ATIF, OpenHands, ADK eval sets, OpenAI Agents' run state, Letta, BFCL, "
    "ToolBench, pi, Qwen Code, Goose, opencode, Copilot's chat replay, OpenAI chat messages and Responses, "
    "Anthropic Messages, Bedrock Converse, Gemini contents, LangChain messages, AutoGen and AG2 chats, Pydantic AI "
    "messages, smolagents' memory, ShareGPT, SWE-agent, Inspect logs, Claude Code, Codex, Gemini CLI, OpenTelemetry "
    "traces (Phoenix, OpenInference too), LangSmith runs, Langfuse and MLflow traces, AXIS reports, or axisjudge's "
    "own JSON Lines"
)


@dataclass(frozen=True)
class Reading:
    """All trajectories of some files, the files themselves, what was odd about them, and the files refused."""

    trajectories: tuple[Trajectory, ...]
    files: tuple[FileRead, ...]
    warnings: tuple[ReadWarning, ...]
    refused: tuple[RefusedFile, ...] = ()

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self.trajectories)

    def __len__(self) -> int:
        return len(self.trajectories)

    def summary(self) -> Summary:
        """Counts over all trajectories."""
        return summarise(map(counted, self.trajectories), files=len(self.files), warnings=self.warnings)

    def __repr__(self) -> str:
        counts = f"{len(self.trajectories)} trajectories of {len(self.files)} files, {len(self.warnings)} warnings"
        return f"Reading({counts}{f', {len(self.refused)} files refused' if self.refused else ''})"


def read_trajectories(
    *paths: str | Path,
    agent: str | None = None,
    domain: str | None = None,
    tools: str | Path | None = None,
    policy: str | Path | None = None,
    tool_kinds: Mapping[str, str] | Iterable[str] | None = None,
    strict: bool = True,
) -> Reading:
    """Read trajectories from files, folders and globs, whatever their format.

    Parameters
    ----------
    *paths : str or Path
        Every JSON file there is to hold runs. Text of another kind (a README) is passed over with a warning, in a
        folder or glob, unless it ends as files with runs do, or as JSON does.
    agent : str, optional
        The agent's name where the source has none.
    domain : str, optional
        The domain where the source has none. Tasks count within their domain: two sources without one, read together,
        would share the tasks that have the same id.
    tools : path, optional
        A JSON file of tool schemas for trajectories without any: see `axisjudge.readers.context.load_tools`.
    policy : path, optional
        A text file with the agent's instructions, for trajectories without any.
    tool_kinds : mapping, optional
        Tool name -> ``read``, ``write`` or ``generic``; goes before what a source says of the tool.
    strict : bool
        With False a file that is broken, empty, of no known format or without a run is refused whole, listed in
        `refused` with its reason, and the others are read; where no file can be read, the first one's error is raised
        all the same. A file with a broken line, which held a run or a message, is read and listed there, strict or not.

    Returns
    -------
    Reading
        Each distinct trajectory once; identical ones after the first are counted in the warnings.

    Raises
    ------
    InputError
        When (`strict`) a file would be refused, when two different trajectories share an id, or when
        nothing could be read. The message names file, position, rule and cure.

    Examples
    --------
    >>> reading = read_trajectories("results/", tools="tools.json")  # doctest: +SKIP
    >>> reading.summary().agents  # doctest: +SKIP
    {'gpt-4.1': 114}
    """
    supplied = Supplied(agent=agent, domain=domain, tools=tools, policy=policy, tool_kinds=tool_kinds)
    stream = iter_trajectories(*paths, strict=strict, **supplied)
    trajectories = tuple(stream)
    return Reading(trajectories, tuple(stream.files), tuple(stream.warnings), tuple(stream.refused))


def iter_trajectories(
    *paths: str | Path, strict: bool = True, **supplied: Unpack[Supplied]
) -> TrajectoryStream[Trajectory]:
    """Read trajectories one by one, holding no more than one file; parameters as in `read_trajectories`.

    The stream can be run through once; its `files` and `warnings` fill on the way and are complete at the end.
    """

    def entries(file: source.Candidate) -> Iterator[FileEntry[Trajectory]]:
        is_file = os.path.isfile(file.path)  # noqa: PTH113 (False for what cannot be looked at)
        spans = array_spans(file.path) if is_file and file.path.stat().st_size > LARGE else []
        parts = (entries_of(file._replace(span=span), context) for span in spans)
        return as_of_one(chain.from_iterable(parts)) if spans else entries_of(file, context)

    context = load_context(**supplied)
    files = ((file, entries(file)) for file in source.candidates(paths))
    return TrajectoryStream(paths, context, strict=strict, files=files)


def entries_of(file: source.Candidate, context: Context) -> Iterator[FileEntry[Trajectory]]:
    """What stands in one file (or span of it), whatever stands in others; `context` is what the user supplies.

    Raises
    ------
    InputError
        The file is broken or of no known format; the error names the position and not the file.
    """
    with source.opened(file.path, file.span) as stream, shaped(""):
        members = isinstance(file.span, source.ArraySpan)
        runs = _of_array(stream, file) if members else _runs_in(stream, file.path.parent)
        for form, read in runs:
            inner = str(read.file.relative_to(file.path.parent)) if read.file else ""
            positions = ((_joined(inner, note.position), note) for note in read.notes)
            notes = tuple(ReadWarning(file.name, at, note.rule, note.detail, note.times) for at, note in positions)
            entry = FileEntry[Trajectory](form, _joined(inner, read.position), notes, read.file and read.file.resolve())
            run = read.trajectory and _with_calls(read, form, context)
            yield entry if run is None else _of_trajectory(entry, file.name, run, context)


def _of_trajectory(
    entry: FileEntry[Trajectory], file: str, trajectory: Trajectory, context: Context
) -> FileEntry[Trajectory]:
    full = _filled(trajectory, entry.form, context)
    lacking = None
    if context.tools and full.tools is None:
        domain = full.domain or f"{NOT_STATED} (name it with --domain)"
        rule = "the tools file has nothing for the domain"
        lacking = ReadWarning(file, entry.position, rule, f"{domain}, here and further down")
    kinds = frozenset(context.tool_kinds and context.tool_kinds.keys() & names_of_tools(full))
    content = (full.content_sha256, full.agent, full.task_id, full.domain, full.reward)
    odd = tuple(_odd_steps(file, entry.position, full))
    return replace(entry, made=full, id=full.id, content=content, odd=odd, kinds=kinds, lacking=lacking)


def _filled(trajectory: Trajectory, form: str, context: Context) -> Trajectory:
    """The trajectory with what the user supplies and its agent's family; one of ours that states none has none."""
    full = context.fill(trajectory)
    stated = form == own.FORMAT and "agent_family" in trajectory.model_fields_set and full.agent == trajectory.agent
    if full.agent_family is None and not stated and (family := family_of(full.agent)):
        full = full.model_copy(update={"agent_family": family})
    return full


def _odd_steps(file: str, position: str, trajectory: Trajectory) -> Iterator[ReadWarning]:
    names = [tool.name for tool in trajectory.tools or ()]
    for index, text in beside(trajectory.steps, names, trajectory.policy):
        yield ReadWarning(file, _joined(position, f"step {index}"), WRITTEN, text)
    known: set[str | None] = set()
    for step in trajectory.steps:
        known |= {call.id for call in step.tool_calls}
        at = _joined(position, f"step {step.index}")
        if step.role == "tool" and (not known if step.tool_call_id is None else step.tool_call_id not in known):
            yield ReadWarning(file, at, "a tool result without its call", step.tool_call_id or "no id")
        for call in step.tool_calls:
            if call.arguments_error:
                detail = f"{call.name}: {call.arguments_error}"
                yield ReadWarning(file, at, "arguments are not a JSON object", detail)


class TrajectoryStream(Generic[Made]):
    """An iterator of trajectories that keeps account of the files read and refused and of what it had to warn of.

    `files` has every file of `paths` with what stands in it (`entries_of`), or with what workers made of that.
    """

    def __init__(
        self,
        paths: tuple[str | Path, ...],
        context: Context,
        *,
        strict: bool = True,
        files: Iterable[tuple[source.Candidate, Iterable[FileEntry[Made]]]],
    ) -> None:
        self.files: list[FileRead] = []
        self.warnings: list[ReadWarning] = []
        self.refused: list[RefusedFile] = []
        self._strict = strict
        self._first_error: InputError | None = None
        self._ids: dict[str, tuple[object, str]] = {}
        self._done: dict[Path, None] = {}
        self._kinds_without_tool = set(context.tool_kinds)
        self._without_tools: set[tuple[str, str]] = set()
        self._given = ", ".join(map(str, paths))
        self._trajectories = self._read_all(files)

    def __iter__(self) -> Iterator[Made]:
        return self._trajectories

    def __next__(self) -> Made:
        return next(self._trajectories)

    def _read_all(self, files: Iterable[tuple[source.Candidate, Iterable[FileEntry[Made]]]]) -> Iterator[Made]:
        foreign: list[tuple[source.Candidate, InputError]] = []
        for file, entries in files:
            path = file.real
            if path in self._done:
                if file.named:
                    self._warn(file.name, "", "the file is read once, though it was given twice")
                continue
            self._done[path] = None
            if not file.named and (report := report_beside(path)):
                self._warn(file.name, "", "passed over", f"the raw output of the run in {report.name}")
                continue
            try:
                yield from self._read_file(file, entries) if self._strict else self._whole_or_nothing(file, entries)
            except InputError as error:
                if isinstance(error, source.OwnRatings) and not file.named:
                    self._warn(file.name, "", "passed over", error.rule)
                elif isinstance(error, source.ForeignText) and not file.named:
                    foreign.append((file, error))
                else:
                    self._refuse(file, error)
        endings = JSON_ENDINGS | {Path(file.path).suffix.lower() for file in self.files}
        for file, unread in foreign:
            if file.path.suffix.lower() in endings:
                self._refuse(file, unread)
            else:
                what = unread.rule if unread.found is None else f"{unread.rule}: {unread.found}"
                self._warn(file.name, "", "passed over", what)
        for name in sorted(self._kinds_without_tool):
            self._warn("--tool-kind", "", "no run has a tool of this name", name)
        if not self.files:
            if self._first_error is not None:
                raise self._first_error
            rule = (
                f"none of the {len(self.warnings)} files there holds trajectories" if self.warnings else "holds no file"
            )
            raise InputError(self._given, rule, cure=f"known are {_KNOWN}")

    def _refuse(self, file: source.Candidate, error: InputError) -> None:
        cure = error.cure
        if isinstance(error, source.NotTrajectories) and not cure:
            cure = f"known are {_KNOWN}; anything else: write ours, axisjudge schema trajectory"
            cure = cure if file.named else "if it is to hold no runs, name the others, or a glob of them"
        error = InputError(_joined(file.name, error.where), error.rule, error.found, cure)
        if self._strict:
            raise error
        self._first_error = self._first_error or error
        self.refused.append(RefusedFile(file.name, str(error)))

    def _whole_or_nothing(self, file: source.Candidate, entries: Iterable[FileEntry[Made]]) -> list[Made]:
        """The trajectories of a file; where it breaks, it leaves no trace but its error."""
        warned, ids, done = len(self.warnings), len(self._ids), len(self._done)
        kinds, without = set(self._kinds_without_tool), set(self._without_tools)
        try:
            return list(self._read_file(file, entries))
        except InputError:
            del self.warnings[warned:]
            self._kinds_without_tool, self._without_tools = kinds, without
            while len(self._ids) > ids:
                self._ids.popitem()
            while len(self._done) > done:
                self._done.popitem()
            raise

    def _read_file(self, file: source.Candidate, entries: Iterable[FileEntry[Made]]) -> Iterator[Made]:
        count, form, notes, runs = 0, "", list[ReadWarning](), False
        for entry in entries:
            form = entry.form
            if entry.brought_in:
                self._done[entry.brought_in] = None
            notes += entry.notes
            self.warnings += entry.notes
            if entry.made is not None:
                runs = True
                if self._is_new(file.name, entry):
                    count += 1
                    yield entry.made
        if not runs:
            listed = ", ".join(f"{note.rule} {note.detail}".strip() for note in notes)
            raise InputError("", "holds no run", listed or None, "delete it, or export the run again")
        self.files.append(FileRead(file.name, form, count))
        if form in {reader.FORMAT for reader in FORMATS}:  # in a log a line is an event, here a run or a message
            lost = [note for note in notes if note.rule == BROKEN]
            self.refused += [
                RefusedFile(file.name, f"{file.name}, {n.position}: {n.rule}; {n.count} in all") for n in lost
            ]

    def _is_new(self, file: str, entry: FileEntry[Made]) -> bool:
        """Whether the trajectory was not seen before; what is odd about a new one is kept."""
        self._kinds_without_tool -= entry.kinds
        if entry.id not in self._ids:
            self._ids[entry.id] = entry.content, _joined(file, entry.position)
            self.warnings += entry.odd
            if entry.lacking and (file, entry.lacking.detail) not in self._without_tools:
                self._without_tools.add((file, entry.lacking.detail))
                self.warnings.append(entry.lacking)
            return True
        before, first = self._ids[entry.id]
        if before != entry.content:
            rule = f"its id is that of another trajectory ({first})"
            raise InputError(entry.position, rule, entry.id, "give each its own id")
        self._warn(file, entry.position, "identical content, counted once", f"{entry.id} is also {first}")
        return False

    def _warn(self, file: str, position: str, rule: str, detail: str = "") -> None:
        self.warnings.append(ReadWarning(file, position, rule, detail))


def _with_calls(read: ReadRun, form: str, context: Context) -> Trajectory:
    """The trajectory with the calls in its text as calls; one of ours states its calls."""
    run = read.trajectory
    assert run is not None
    if form == own.FORMAT:
        return run
    tools = context.tools_of(run.domain or context.domain) if run.tools is None else run.tools
    try:
        named = {tool.name: tool.usable.get("properties", {}) for tool in tools or ()}
        steps = read_calls(run.steps, named, run.policy or context.policy)
    except InputError as error:
        raise error.inside(read.position) from error
    return run if steps is run.steps else run.model_copy(update={"steps": steps})


def _runs_in(stream: BinaryIO, folder: Path) -> Iterator[tuple[str, ReadRun]]:
    """What a file holds, each with the name of its format."""
    if packed := source.archive(stream):
        for run in inspect_logs.read_archive(packed):
            yield inspect_logs.FORMAT, run
        return
    tally = Tally()
    values = source.json_values(stream, lambda position, line: _mended(position, line, tally))
    try:
        first = next(values)
        if isinstance(first[1], list) and first[1] and all(isinstance(one, list) for one in first[1]):
            first, *others = ((at(first[0], number), one) for number, one in enumerate(first[1]))
            values = chain(others, values)
        if is_message(first[1], (*LOGS, *FORMATS)):  # one message a line
            first, values = ("", [value for _, value in chain([first], values)]), iter(())
        first = (first[0], source.with_messages(first[1]))
        values = ((path, source.with_messages(value)) for path, value in values)
        members = first[1] if isinstance(first[1], list) else [first[1]]
        chat = any(form.recognise(first[1]) for form in CHATS)
        if any(service.recognise(member) for service in SERVICES for member in members) or (
            not chat
            and (any(log.recognise(first[1]) for log in LOGS) or not any(form.recognise(first[1]) for form in FORMATS))
        ):
            raise _of_no_runs(*first)
    except InputError as error:
        if log := log_in(stream):
            yield from log
            return
        values = source.sound_lines(stream, lambda position, line: _mended(position, line, tally))
        first = next(values, ("", None))
        if isinstance(error, source.NotTrajectories) or not any(form.recognise(first[1]) for form in FORMATS):
            raise
    yield from _of_values(chain([first], values), folder, tally)


def _of_array(stream: BinaryIO, file: source.Candidate) -> Iterator[tuple[str, ReadRun]]:
    """What the members of an array hold that are read apart."""
    assert file.span is not None
    values = enumerate(from_json(stream.read()), file.span.before)
    yield from _of_values(((at("", n), source.with_messages(value)) for n, value in values), file.path.parent, Tally())


def _of_values(values: Iterable[tuple[str, Any]], folder: Path, tally: Tally) -> Iterator[tuple[str, ReadRun]]:
    form = ""
    for position, value in values:
        reader = next((reader for reader in FORMATS if reader.recognise(value)), None)
        if reader is None:
            raise _of_no_runs(position, value)
        form = reader.FORMAT
        with shaped(position):
            for run in reader.read(value, position, folder):
                yield form, run
    yield form, ReadRun("", None, tally.notes())


def _mended(position: str, line: bytes, tally: Tally) -> Any:
    """The value of a line that is no JSON, where it can be mended, else None; counted either way."""
    value = mended(line)
    tally.add(BROKEN if value is None else MENDED, "", position)
    return value


def report_beside(path: Path) -> Path | None:
    """The report of AXIS whose agent's output this file holds once more: AGENT.json beside AGENT.raw.ndjson."""
    report = path.with_name(f"{path.name.removesuffix('.raw.ndjson')}.json")
    return report if path.name.endswith(".raw.ndjson") and report.is_file() else None


def _of_no_runs(position: str, value: Any) -> source.NotTrajectories:
    """What a value is that no reader takes."""
    if isinstance(value, dict) and {"trajectory_id", "rater", "rater_kind", "verdict"} <= value.keys():
        return source.OwnRatings(position, "holds ratings and no runs", cure="axisjudge agreement reads them")
    return source.NotTrajectories(position, "is of no known format", _outline(value), source.cure_for(value))


def _outline(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with {', '.join(list(value)[:6]) or 'nothing'}"
    if isinstance(value, list):
        return f"a list of {len(value)}" + (f", the first {_outline(value[0])}" if value else "")
    return repr(value)


def _joined(position: str, within: str) -> str:
    return ", ".join(part for part in (position, within) if part)


def array_spans(path: Path, size: int = SPAN_BYTES) -> list[source.ArraySpan]:
    """Where to cut a file that is one JSON array of runs; nowhere where it is not, or breaks, which its reader says.

    Each byte is taken for a letter, so that places in the text are places in the file; no more than a piece of it and
    one member are held.
    """
    spans: list[source.ArraySpan] = []
    start: int | None = None
    before = number = 0
    try:
        with path.open("rb") as file:
            for number, (begin, end, member) in enumerate(_members(file), 1):
                if number == 1 and not is_run(member):
                    return []
                start = begin if start is None else start
                if end - start >= size:
                    spans.append(source.ArraySpan(start, end, before))
                    start, before = None, number
                last = end
    except (ValueError, RecursionError):
        return []
    return spans if start is None else [*spans, source.ArraySpan(start, last, before)]


def _members(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """The objects of an array, each from its first byte to after its last; a ValueError where it is none, or breaks."""
    decode, piece = json.JSONDecoder().raw_decode, _PIECE_BYTES
    text, base, before = file.read(piece).decode("latin-1"), 0, "["
    opening = _OPENING.match(text)
    if opening is None:
        raise ValueError
    at = opening.end()
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        sign = text[at : at + 1]
        if sign == "{" and before != "}":
            try:
                _, end = decode(text, at)
            except ValueError:
                end = 0
            if end:
                from_json(member := text[at:end].encode("latin-1"))
                yield base + at, base + end, member
                at, before = end, "}"
                continue
        elif sign == "," and before == "}":
            at, before = at + 1, sign
            continue
        elif sign:
            if sign != "]" or before == "," or text[at + 1 :].strip(_BLANK) or file.read().strip(_BLANK.encode()):
                raise ValueError
            return
        more = file.read(piece).decode("latin-1")
        if not more:
            raise ValueError
        text, base, at, piece = text[at:] + more, base + at, 0, max(piece, len(text) - at)


def is_run(line: bytes) -> bool:
    """Whether a line is read by itself: as a run, or several, and neither as a message nor as part of a log."""
    try:
        value = from_json(line.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return False
    if is_message(value, (*LOGS, *FORMATS)):
        return False
    run = source.with_messages(value)
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
