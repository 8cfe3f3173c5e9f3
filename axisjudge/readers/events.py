"""Transcripts that agents write event by event: their lines, what is counted beside the steps, and how steps grow.

A reader of such a format is a `LogFormat`, or a module of the same three names. An event that cannot be used is counted
and left out, and does not end the reading; one that may carry a call or a result does.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple

from pydantic_core import from_json

from axisjudge.checks import InputError, shaped
from axisjudge.readers.messages import Note, ReadRun, Unread, carries_call, content_id, made, text_of
from axisjudge.trajectory import Role, Step, ToolCall, Trajectory

NOT_JSON = "a line that is not JSON"
BROKEN = "a line of broken JSON is left out"
WRONG_SHAPE = "an event of the wrong shape is left out"
UNKNOWN = "an event of unknown type is left out"
NO_STEP = "an event that is no step"
ENCRYPTED = "reasoning without its text is left out"
MENDED = "half of a character pair is replaced by a question mark"
REPEATED = "an event that was there before is left out"


#: Units of epoch numbers by their size: seconds, milli-, micro- and nanoseconds all lie in this century.
_UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
_OF_CALLS = re.compile(r"(?i)\btool|gen_ai\.|\bllm\b|\bchat_model\b|\bgeneration\b|\bfunction_call")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


class Line(NamedTuple):
    """One event of a log and where it stood.

    `value` is None where the line is no JSON object, and its bytes where it is a broken one; `mended` says that the
    line had text with half of a character pair, which no UTF-8 can hold.
    """

    position: str
    value: Any
    mended: bool = False


class Tally:
    """Counts, by rule and detail, what a log holds beside its steps; the first place of each is kept."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], tuple[str, int]] = {}

    def add(self, rule: str, detail: str, position: str) -> None:
        first, count = self._counts.get((rule, detail), (position, 0))
        self._counts[rule, detail] = (first, count + 1)

    @contextmanager
    def forgiving(self, position: str, event: Any) -> Iterator[None]:
        """Count an InputError in the block instead of raising it, unless the event may carry a call or a result."""
        try:
            with shaped(""):
                yield
        except InputError as error:
            if isinstance(error, Unread) or carries_call(event):
                raise Unread(error.inside(position).where, error.found, rule=error.rule, cure=error.cure) from error
            self.add(WRONG_SHAPE, f"{error.where}: {error.rule}".removeprefix(": "), position)

    def unknown(self, kind: str, event: Any, position: str) -> None:
        """Count an event of unknown kind; one that may carry a call or a result is refused."""
        if carries_call(event):
            raise Unread("", kind)
        self.add(UNKNOWN, kind, position)

    def broken(self, what: str, record: Any, position: str) -> None:
        """Count a record of a trace that lacks what it needs; one of a tool or a model is refused."""
        if _OF_CALLS.search(json.dumps(record, default=str)):
            raise Unread(position, rule=f"holds {what}, which tells of a call")
        self.add(WRONG_SHAPE, what, position)

    def text(self, content: Any, where: str, position: str) -> str:
        """The text of a message's content; parts that are no text are counted."""
        notes: list[Note] = []
        text = text_of(content, where, notes)
        self.take(notes, position)
        return text

    def take(self, notes: Iterable[Note], position: str) -> None:
        """Count what was noted of an event."""
        for note in notes:
            self.add(note.rule, note.detail, position)

    def notes(self) -> tuple[Note, ...]:
        return tuple(Note(first, rule, detail, count) for (rule, detail), (first, count) in self._counts.items())


def log_lines(stream: BinaryIO) -> Iterator[Line]:
    """The lines of a log that are not blank; one that holds no JSON object keeps its text."""
    for number, raw in enumerate(stream, 1):
        line = raw.removeprefix(b"\xef\xbb\xbf").strip()
        if not line:
            continue
        try:
            value, as_it_is = (from_json(line) if line.startswith(b"{") else None), True
        except ValueError:
            value, as_it_is = mended(line), False
        yield Line(f"line {number}", line if value is None and not as_it_is else value, mended=not as_it_is)


def mended(content: bytes) -> Any:
    """The value of JSON whose text has halves of character pairs, a question mark for each; None where that fails too.

    Tools that cut text by UTF-16 units leave such halves.
    """
    if not _HALF.search(content):
        return None
    try:
        whole = json.dumps(json.loads(content), ensure_ascii=False)
        return from_json(whole.encode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def events_of(lines: Iterable[Line], tally: Tally) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events among the lines of a log with their positions; everything else is counted."""
    for line in lines:
        if isinstance(line.value, dict):
            if line.mended:
                tally.add(MENDED, "", line.position)
            yield line.position, line.value
        else:
            tally.add(BROKEN if isinstance(line.value, bytes) else NOT_JSON, "", line.position)


def type_of(event: dict[str, Any], key: str = "type") -> str:
    """The type that an event states, as text whatever it is."""
    kind = event.get(key)
    return kind if isinstance(kind, str) else f"{key} {json.dumps(kind)[:40]}"


def dict_of(event: Mapping[str, Any], key: str) -> dict[str, Any]:
    """`event[key]` where it is an object, else an empty one: for what is nice to know but not needed."""
    value = event.get(key)
    return value if isinstance(value, dict) else {}


def text_at(event: dict[str, Any], *keys: str) -> str | None:
    """The first of these members that is text and not empty."""
    return next((value for key in keys if isinstance(value := event.get(key), str) and value), None)


def as_text(value: Any) -> str:
    """A result as text: text as it is, anything else as JSON, nothing for null."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def json_of(value: Any) -> Any:
    """What JSON text stands for; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return from_json(value)
        except ValueError:
            return value
    return value


def listed(value: Any) -> list[Any]:
    """A list as it is, nothing for null, anything else as a list of one."""
    if isinstance(value, list):
        return value
    decoded = json_of(value)
    return decoded if isinstance(decoded, list) else [] if value is None else [value]


def seconds(value: Any, per_second: float = 1) -> float | None:
    """A duration in seconds, None where it is no number that could be one."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
    return float(value / per_second) if usable else None


def iso(nanoseconds: int) -> str | None:
    """A point in time as ISO 8601 in UTC with microseconds, from nanoseconds since 1970; None where it is no time."""
    try:
        moment = datetime.fromtimestamp(nanoseconds // 10**9, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None
    moment = moment.replace(microsecond=nanoseconds % 10**9 // 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def nanoseconds(moment: Any) -> int:
    """A point in time in nanoseconds since 1970, from ISO 8601 (UTC where no zone is named) or from an epoch number.

    Raises
    ------
    ValueError, TypeError
        When it is neither.
    """
    if isinstance(moment, str) and not moment.strip().isdecimal():
        stated = datetime.fromisoformat(moment.strip())
        stated = stated if stated.tzinfo else stated.replace(tzinfo=UTC)
        since = stated - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
    number = float(moment) if isinstance(moment, float) else int(moment)
    return int(number * next((factor for below, factor in _UNITS if abs(number) < below), 1))


class LogFormat(NamedTuple):
    """A format of logs: its name, whether it knows an event, and what it makes of all of a file."""

    FORMAT: str
    recognise: Callable[[Any], bool]
    read_log: Callable[[Iterable[Line], Tally], Iterator[ReadRun]]


class Steps:
    """Steps as they grow, event by event.

    `where` is the place of what is read, for errors, `agent` who speaks, where a source names its speakers,
    `source_index` the number of the message, where steps shall keep it. `names` are those of the calls by their ids,
    `notes` what was left out on the way.
    """

    def __init__(self) -> None:
        self.where = ""
        self.agent: str | None = None
        self.source_index: int | None = None
        self._steps: list[Step] = []
        self.names: dict[str, str] = {}
        self._message: str | None = None
        self.notes: list[Note] = []

    def __len__(self) -> int:
        return len(self._steps)

    def text(
        self,
        role: Role,
        content: str,
        timestamp: str | None,
        *,
        message: str | None = None,
        joint: str = "\n",
    ) -> None:
        """A message; one that goes on the last step's message joins it."""
        if message is not None and message == self._message and (last := self._last(role)):
            content = joint.join(part for part in (last.content, content) if part)
            self._replace_last(timestamp, content=content)
        else:
            self._add(role=role, content=content, timestamp=timestamp)
        self._message = message

    def thinking(self, content: str, timestamp: str | None) -> None:
        """What the agent wrote to itself."""
        self._add(role="assistant", content=content, timestamp=timestamp, kind="thinking")

    def error(self, content: str, timestamp: str | None) -> None:
        """An error outside of any call."""
        self._add(role="system", content=content, timestamp=timestamp, kind="error")

    def call(
        self, call: ToolCall, timestamp: str | None, *, message: str | None = None, role: Role = "assistant"
    ) -> None:
        """A call; it joins its speaker's step before it where both are of one message (or no message is named)."""
        last = self._last(role)
        if last and message == self._message:
            self._replace_last(timestamp, tool_calls=(*last.tool_calls, call))
        else:
            self._add(role=role, tool_calls=(call,), timestamp=timestamp)
        self._message = message
        if call.id:
            self.names[call.id] = call.name

    def result(
        self,
        call_id: str | None,
        content: str,
        timestamp: str | None,
        *,
        error: bool | None,
        name: str | None = None,
        duration_s: float | None = None,
    ) -> None:
        """What a call gave back."""
        self._add(
            role="tool",
            content=content,
            tool_call_id=call_id,
            tool_name=name or self.names.get(call_id or ""),
            error=error,
            timestamp=timestamp,
            duration_s=duration_s,
        )

    def overlay(self, begin: int, kept: Any) -> None:
        """The steps from `begin` on with the fields that are kept of each, or these fields as steps where all are."""
        if not isinstance(kept, list) or not all(isinstance(fields, dict) for fields in kept):
            return
        plain = [step.model_dump() for step in self._steps[begin:]]
        plain = plain if len(plain) == len(kept) else [{} for _ in kept]
        indices = range(begin, begin + len(kept))
        both = zip(indices, plain, kept, strict=True)
        self._steps[begin:] = [made(Step, self.where, **{**read, **own, "index": index}) for index, read, own in both]
        self._message = None

    def forget_shared_times(self) -> None:
        """Where every result bears its call's time, both were written at once: when a result came is unknown then.

        Older versions of Codex do so, and Gemini CLI in some sessions.
        """
        begun = {
            call.id: call.timestamp or step.timestamp for step in self._steps for call in step.tool_calls if call.id
        }
        results = [step for step in self._steps if step.role == "tool" and step.tool_call_id in begun]
        if all(begun[step.tool_call_id or ""] == step.timestamp for step in results):
            for step in results:
                if step.duration_s is None:
                    self._steps[step.index] = step.model_copy(update={"timestamp": None})

    def all(self) -> tuple[Step, ...]:
        return tuple(self._steps)

    def _last(self, role: Role) -> Step | None:
        last = self._steps[-1] if self._steps else None
        return last if last and last.role == role and last.kind is None else None

    def _add(self, **fields: Any) -> None:
        about = {"index": len(self._steps), "agent": self.agent, "source_index": self.source_index}
        self._steps.append(made(Step, self.where, **about, **fields))
        self._message = None

    def _replace_last(self, timestamp: str | None, **fields: Any) -> None:
        """The last step with these fields and a later time; its content and its calls so far keep the time they had."""
        last = self._steps[-1]
        if timestamp is not None and last.timestamp is not None and timestamp != last.timestamp:
            if last.content and "content" not in fields and not last.content_timestamp:
                fields["content_timestamp"] = last.timestamp
            calls = fields.get("tool_calls", last.tool_calls)
            before = len(last.tool_calls)
            fields["tool_calls"] = tuple(
                call.model_copy(update={"timestamp": last.timestamp}) if index < before and not call.timestamp else call
                for index, call in enumerate(calls)
            )
        self._steps[-1] = last.model_copy(update={"timestamp": timestamp or last.timestamp, **fields})


class LoggedRun:
    """A run as it grows out of a log's events: its steps, the models that answered, how it ended, what is kept of it.

    Parameters
    ----------
    source : str
        The log's format.
    position : str
        Where the run begins in its file.
    """

    def __init__(self, source: str, position: str, tally: Tally) -> None:
        self.source, self.position, self.tally = source, position, tally
        self.steps = Steps()
        self.models: Counter[str] = Counter()
        self.termination: str | None = None
        self.meta: dict[str, Any] = {}
        self.usage: dict[str, dict[str, Any]] = {}  # what each answer took, by its id: logs say it again and again

    def finish(self, identity: str | None, *, task_id: str | None = None, policy: str | None = None) -> ReadRun:
        """The run, by the id that the log gives it, else by a hash of its steps; its agent is the model heard most."""
        self.steps.forget_shared_times()
        steps = self.steps.all()
        models = [model for model, _ in self.models.most_common() if model]
        trajectory = made(
            Trajectory,
            "",
            id=identity or content_id(steps),
            source=self.source,
            agent=models[0] if models else None,
            task_id=task_id,
            termination=self.termination,
            steps=steps,
            policy=policy,
            meta=({"usage": [*self.usage.values()]} if self.usage else {})
            | self.meta
            | ({"models": models} if len(models) > 1 else {}),
        )
        return ReadRun(self.position, trajectory)
