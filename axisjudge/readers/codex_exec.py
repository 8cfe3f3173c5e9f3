"""``codex exec --json``: one event a line, without timestamps (``thread.started``, ``item.completed``, ...)."""

from collections.abc import Iterable, Iterator
from typing import Any

from axisjudge.readers.events import NO_STEP, Line, LoggedRun, Tally, as_text, dict_of, events_of, text_at, type_of
from axisjudge.readers.messages import Found, call_of, field, word
from axisjudge.trajectory import ToolCall

FORMAT = "codex_exec"
_EVENTS = {
    *("thread.started", "turn.started", "turn.completed", "turn.failed", "item.started"),
    *("item.updated", "item.completed"),
}
_TOOLS = {"command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "todo_list", "web_search"}
_ANSWERS = ("agent_message", "reasoning", "error")
_KEPT_APART = ("id", "type", "status", "aggregated_output", "exit_code", "result", "error")


def recognise(value: Any) -> bool:
    """Whether the JSON value is an event of ``codex exec``."""
    return isinstance(value, dict) and type_of(value) in _EVENTS


def read_log(lines: Iterable[Line], tally: Tally) -> Iterator[Found]:
    """The threads of a log; one that is started again later in the file goes on."""
    runs: dict[str, _Run] = {}
    run: _Run | None = None
    for position, event in events_of(lines, tally):
        with tally.forgiving(position, event):
            if type_of(event) == "thread.started" or run is None:
                thread = text_at(event, "thread_id") or ""
                run = runs.setdefault(thread, _Run(FORMAT, position, tally))
            run.add(event, position)
    for thread, whole in runs.items():
        yield whole.found(thread)


class _Run(LoggedRun):
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
                text, failed = _outcome(item, kind)
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


def _outcome(item: dict[str, Any], kind: str) -> tuple[str, bool | None]:
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
