"""Codex rollouts: the session file, one event a line (``session_meta``, ``response_item``, ...), or bare items (older).

The conversation is in the response items; most of ``event_msg`` says the same again and only adds durations and errors.
A call lasts as long as Codex says (``duration_seconds``, ``Wall time``; in tenths of a second).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import from_json

from axisjudge.readers.chats.response_items import ITEMS, add_item, item_call
from axisjudge.readers.events import (
    NO_STEP,
    Line,
    LogFormat,
    LoggedRun,
    Tally,
    as_text,
    dict_of,
    events_of,
    seconds,
    text_at,
    type_of,
)
from axisjudge.readers.messages import ReadRun, call_of, field, role_of, word
from axisjudge.trajectory import ToolCall

_ROLLOUT = "codex"
_WRAPPERS = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_ITEMS = {
    *("custom_tool_call", "custom_tool_call_output", "function_call", "function_call_output"),
    *("local_shell_call", "reasoning"),
}
_KEPT_OF_SESSION = ("cwd", "originator", "cli_version", "model_provider")
_EXIT_CODE = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)", re.MULTILINE)
_NEVER_RAN = re.compile(
    r"failed in sandbox|execution error|exec_command failed|apply_patch verification failed|"
    r"failed to parse function arguments|unsupported call"
)
_WALL_TIME = re.compile(r"^Wall time:? (\d+\.?\d*) seconds", re.MULTILINE)
#: Codex's own lines before an output; further down the same words are the command's.
_HEAD = re.compile(
    r"(?:(?:Chunk ID|Exit code|Original token count|Process (?:exited|running)|Total output lines|Wall time)"
    r"\b.*(?:\n|$))*"
)


def _is_rollout(value: Any) -> bool:
    """Whether the JSON value is an event of a rollout."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("payload"), dict):
        return type_of(value) in _WRAPPERS
    if type_of(value) == "message":
        return "role" in value and isinstance(value.get("content"), list)
    return type_of(value) in _ITEMS or {"id", "timestamp", "instructions"} <= value.keys()


def _read_rollout(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    """The sessions of a file of rollouts, mostly one; a fork begins with the heads of those that it goes on from."""
    run = _Run(_ROLLOUT, "", tally)
    for position, event in events_of(lines, tally):
        head = _head(event)
        if head is not None and len(run.steps) and head.get("id") != (run.session or {}).get("id"):
            yield run.whole()
            run = _Run(_ROLLOUT, "", tally)
        with tally.forgiving(position, event):
            run.add(event, position)
    yield run.whole()


def _head(event: dict[str, Any]) -> dict[str, Any] | None:
    """What an event says of the whole session, where it begins one."""
    if type_of(event) == "session_meta":
        return dict_of(event, "payload")
    return event if "type" not in event and "instructions" in event else None


class _Run(LoggedRun):
    """A session as it grows."""

    def __init__(self, source: str, position: str, tally: Tally) -> None:
        super().__init__(source, position, tally)
        self.session: dict[str, Any] | None = None
        self.ended: dict[str, tuple[float | None, int | None]] = {}  # call id -> seconds, exit code

    def add(self, event: dict[str, Any], position: str) -> None:
        self.position = self.position or position
        kind, timestamp = type_of(event), text_at(event, "timestamp")
        payload = dict_of(event, "payload")
        if kind == "response_item":
            self._item(payload, timestamp, position)
        elif kind == "event_msg":
            self._event(payload, timestamp, position)
        elif (head := _head(event)) is not None and self.session is None:
            self.session = head
        elif kind in _WRAPPERS:
            self.models.update(filter(None, [text_at(payload, "model")]))
            self.tally.add(NO_STEP, kind, position)
        elif "record_type" in event:
            self.tally.add(NO_STEP, f"record_type {event['record_type']}", position)
        else:
            self._item(event, timestamp, position)

    def _item(self, item: dict[str, Any], timestamp: str | None, position: str) -> None:
        kind = type_of(item)
        if kind == "message":
            text = self.tally.text(item.get("content"), "content", position)
            self.steps.text(role_of(item, ""), text, timestamp)
        elif kind == "web_search_call":  # what it found is not kept
            self.steps.call(item_call(item, kind, ""), timestamp)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._output(item, timestamp, position)
        elif kind == "ghost_snapshot":
            self.tally.add(NO_STEP, kind, position)
        elif kind in ITEMS:
            self.steps.notes.clear()
            add_item(self.steps, item, "", timestamp)
            self.tally.take(self.steps.notes, position)
        else:
            self.tally.unknown(kind, item, position)

    def _output(self, item: dict[str, Any], timestamp: str | None, position: str) -> None:
        call_id = word(item.get("call_id"))
        output = item.get("output")
        content, duration_s, error = _outcome(output)
        if isinstance(output, list):
            content = self.tally.text(output, "output", position)
        stated_s, exit_code = self.ended.get(call_id or "", (None, None))
        self.steps.result(
            call_id,
            content,
            timestamp,
            error=error if exit_code is None else exit_code != 0,
            duration_s=stated_s if duration_s is None else duration_s,
        )

    def _event(self, event: dict[str, Any], timestamp: str | None, position: str) -> None:
        kind = type_of(event)
        if kind in ("error", "stream_error"):
            self.steps.error(as_text(event.get("message")), timestamp)
        elif kind == "turn_aborted":
            self.termination = f"turn_aborted: {event.get('reason')}"
        elif total := dict_of(dict_of(event, "info"), "total_token_usage"):
            counted = len(self.usage)
            before = self.usage.get(f"count {counted}", {}).get("input_tokens") or 0
            begins = counted == 0 or (total.get("input_tokens") or 0) < before  # after a compaction it counts from 0
            self.usage[f"count {counted + begins}"] = total
        elif kind in ("task_complete", "turn_complete"):
            self.termination = kind
        elif kind.endswith("_end") and (call_id := text_at(event, "call_id")):
            code = event.get("exit_code")
            self.ended[call_id] = (_span(event.get("duration")), code if type(code) is int else None)
        self.tally.add(NO_STEP, f"event_msg {kind}", position)

    def whole(self) -> ReadRun:
        """The session; where another one started it, that one is its task."""
        session = self.session or {}
        spawned = dict_of(dict_of(dict_of(session, "source"), "subagent"), "thread_spawn")
        parent = text_at(spawned, "parent_thread_id")
        self.meta |= {key: session[key] for key in _KEPT_OF_SESSION if session.get(key)}
        policy = text_at(session, "instructions") or text_at(dict_of(session, "base_instructions"), "text")
        named = "/".join(filter(None, (parent, word(session.get("id")))))
        return self.finish(named, task_id=parent, policy=policy)


def _outcome(output: Any) -> tuple[str, float | None, bool | None]:
    """What a tool gave back: its text, how long it took, whether it failed; None where it does not say."""
    record = _record(output)
    if record is None:
        text = as_text(output)
        head = matched[0] if (matched := _HEAD.match(text)) else ""
        code, time = _EXIT_CODE.search(head), _WALL_TIME.search(head)
        failed = code[1] != "0" if code else True if _NEVER_RAN.match(text) else None
        return text, seconds(float(time[1])) if time else None, failed
    details = dict_of(record, "metadata")
    code = details.get("exit_code", record.get("exit_code"))
    success = record.get("success")
    failed = code != 0 if type(code) is int else (not success if isinstance(success, bool) else None)
    text = as_text(record.get("output", record.get("content")))
    return f"exit code {code}\n{text}" if code else text, seconds(details.get("duration_seconds")), failed


def _record(output: Any) -> dict[str, Any] | None:
    """The object that wraps an output, itself or as JSON text; None where the output stands alone."""
    value = output
    if isinstance(output, str) and output.startswith("{"):
        try:
            value = from_json(output)
        except ValueError:
            return None
    wraps = isinstance(value, dict) and ("metadata" in value or "success" in value or "exit_code" in value)
    return value if wraps and ("output" in value or "content" in value) else None


def _span(duration: Any) -> float | None:
    """Seconds from Codex's ``{secs, nanos}``."""
    if not isinstance(duration, dict):
        return None
    whole, rest = seconds(duration.get("secs")), seconds(duration.get("nanos"), 1e9)
    return None if whole is None else whole + (rest or 0)


# ``codex exec --json``: one event a line, without timestamps (``thread.started``, ``item.completed``, ...).


_EXEC = "codex_exec"
_EVENTS = {
    *("thread.started", "turn.started", "turn.completed", "turn.failed", "item.started"),
    *("item.updated", "item.completed"),
}
_TOOLS = {"command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "todo_list", "web_search"}
_ANSWERS = ("agent_message", "reasoning", "error")
_KEPT_APART = ("id", "type", "status", "aggregated_output", "exit_code", "result", "error")


def _is_exec(value: Any) -> bool:
    """Whether the JSON value is an event of ``codex exec``."""
    return isinstance(value, dict) and type_of(value) in _EVENTS


def _read_exec(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    """The threads of a log; one that is started again later in the file goes on."""
    runs: dict[str, _ExecRun] = {}
    run: _ExecRun | None = None
    for position, event in events_of(lines, tally):
        with tally.forgiving(position, event):
            if type_of(event) == "thread.started" or run is None:
                thread = text_at(event, "thread_id") or ""
                run = runs.setdefault(thread, _ExecRun(_EXEC, position, tally))
            run.add(event, position)
    for thread, whole in runs.items():
        yield whole.finish(thread)


class _ExecRun(LoggedRun):
    """A thread as it grows."""

    def __init__(self, source: str, position: str, tally: Tally) -> None:
        super().__init__(source, position, tally)
        self.open: set[str] = set()
        self.calls = 0
        self.ids: dict[str, str] = {}

    def add(self, event: dict[str, Any], position: str) -> None:
        kind = type_of(event)
        if kind in ("item.started", "item.completed"):
            self._item(field(event, "item", dict, ""), kind == "item.completed", position)
            return
        if kind == "error":
            self.steps.error(text_at(event, "message") or as_text(event.get("error")), None)
        elif kind in ("turn.completed", "turn.failed"):
            self.termination = kind
            if event.get("usage"):
                self.meta.setdefault("usage", []).append(event["usage"])
            if kind == "turn.failed":
                self.steps.error(text_at(dict_of(event, "error"), "message") or as_text(event.get("error")), None)
        if kind in _EVENTS:
            self.tally.add(NO_STEP, kind, position)
        elif kind != "error":
            self.tally.unknown(kind, event, position)

    def _item(self, item: dict[str, Any], completed: bool, position: str) -> None:
        kind = type_of(item)
        name = word(item.get("id")) or ""
        if kind in _TOOLS:
            if name not in self.open:
                self.calls += 1
                self.ids[name] = name if name not in self.ids else f"{name}#{self.calls}"
                self.steps.call(_call(item, kind, self.ids[name]), None)
                self.open.add(name)
            if completed:
                self.open.discard(name)
                text, failed = _exec_outcome(item, kind)
                self.steps.result(self.ids[name], text, None, error=failed)
        elif not completed and kind in _ANSWERS:
            self.tally.add(NO_STEP, f"item.started {kind}", position)
        elif kind == "agent_message":
            self.steps.text("assistant", field(item, "text", str, "item"), None)
        elif kind == "reasoning":
            self.steps.thinking(field(item, "text", str, "item"), None)
        elif kind == "error":
            self.steps.error(as_text(item.get("message")), None)
        else:
            self.tally.unknown(f"item {kind}", item, position)


def _call(item: dict[str, Any], kind: str, identity: str) -> ToolCall:
    if kind == "mcp_tool_call":
        return call_of("item", f"mcp__{item.get('server')}__{item.get('tool')}", item.get("arguments"), id=identity)
    return call_of("item", kind, {key: item[key] for key in item if key not in _KEPT_APART}, id=identity)


def _exec_outcome(item: dict[str, Any], kind: str) -> tuple[str, bool | None]:
    """What a finished item gave back, and whether it failed; None where it does not say."""
    code, status, error = item.get("exit_code"), item.get("status"), item.get("error")
    text = as_text(item.get("aggregated_output"))
    if kind == "mcp_tool_call":
        parts = dict_of(item, "result").get("content")
        texts = [text_at(part, "text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        text = "\n".join(filter(None, texts)) or as_text(item.get("result"))
    if error is not None:
        text = text_at(dict_of(item, "error"), "message") or as_text(error)
    if type(code) is int:
        return f"exit code {code}\n{text}" if code else text, code != 0
    failed = None if status is None and error is None else error is not None or status in ("failed", "declined")
    return text or (f"[{status}]" if status else ""), failed


CODEX = (LogFormat(_ROLLOUT, _is_rollout, _read_rollout), LogFormat(_EXEC, _is_exec, _read_exec))
