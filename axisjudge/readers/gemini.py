"""Gemini CLI: session files (JSON, or one message a line) and ``--output-format stream-json``."""

from collections.abc import Iterable, Iterator
from typing import Any

from axisjudge.readers.events import NO_STEP, Line, LoggedRun, Tally, as_text, dict_of, events_of, text_at, type_of
from axisjudge.readers.messages import ReadRun, call_of, field, members, role_of, word
from axisjudge.trajectory import ToolCall

FORMAT = "gemini"
_NOTICES = ("info", "warning")
_FAILED = ("error", "cancelled")


def recognise(value: Any) -> bool:
    """Whether the JSON value is a session, a message of one, or an event of a stream."""
    if not isinstance(value, dict):
        return False
    if {"sessionId", "projectHash"} <= value.keys():
        return True
    kind = type_of(value)
    if kind == "init":
        return {"session_id", "model"} <= value.keys()
    if kind in ("tool_use", "tool_result"):
        return "tool_id" in value
    return kind == "gemini" and "content" in value


def read_log(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    """The sessions of a log: a session file holds one, a stream begins one with each ``init``."""
    run: _Run | None = None
    for position, event in events_of(lines, tally):
        if run is not None and len(run.steps) and ("projectHash" in event or type_of(event) == "init"):
            yield run.finish(run.session)
            run = None
        run = run or _Run(FORMAT, position, tally)
        with tally.forgiving(position, event):
            run.add(event, position)
    if run is not None:
        yield run.finish(run.session)


class _Run(LoggedRun):
    """A session as it grows."""

    session: str | None = None

    def add(self, event: dict[str, Any], position: str) -> None:
        kind, timestamp = type_of(event), text_at(event, "timestamp")
        if "projectHash" in event:
            self.session = text_at(event, "sessionId")
            for number, message in enumerate(members(event, "messages", "")):
                with self.tally.forgiving(f"messages[{number}]", message):
                    self.add(message, f"messages[{number}]")
        elif kind == "init":
            self.session = text_at(event, "session_id")
            self.models[text_at(event, "model") or ""] += 1
            self.tally.add(NO_STEP, kind, position)
        elif kind in ("gemini", "user"):
            self._message(event, timestamp, position)
        elif kind == "message":
            stated = "delta" if event.get("delta") is True else None
            text = self.tally.text(_parts(event.get("content")), "content", position)
            self.steps.text(role_of(event, ""), text, timestamp, message=stated, joint="")
        elif kind == "tool_use":
            self.steps.call(_call(event, "tool_name", "tool_id", "parameters"), timestamp)
        elif kind == "tool_result":
            content = as_text(event.get("output")) or _message_of(event.get("error"))
            self.steps.result(text_at(event, "tool_id"), content, timestamp, error=_failed(event))
        elif kind == "error":
            text = text_at(event, "message") or self.tally.text(event.get("content"), "content", position)
            self.steps.error(text, timestamp)
        elif kind == "result":
            self._result(event, timestamp, position)
        elif kind in _NOTICES:
            self.tally.add(NO_STEP, kind, position)
        else:
            self.tally.unknown(kind, event, position)

    def _message(self, message: dict[str, Any], timestamp: str | None, position: str) -> None:
        """A message of a session file: thoughts, text, then the calls together with their results."""
        text = self.tally.text(_parts(message.get("content")), "content", position)
        if message["type"] == "user":
            self.steps.text("user", text, timestamp)
            return
        self.models.update(filter(None, [text_at(message, "model")]))
        if tokens := dict_of(message, "tokens"):
            self.usage[position] = tokens
        for thought in members(message, "thoughts", ""):
            stated = ": ".join(filter(None, (text_at(thought, "subject"), text_at(thought, "description"))))
            self.steps.thinking(stated, text_at(thought, "timestamp"))
        calls = members(message, "toolCalls", "")
        if text or not calls:
            self.steps.text("assistant", text, timestamp, message=position)
        for call in calls:
            self.steps.call(_call(call, "name", "id", "args"), timestamp, message=position)
        for call in calls:
            if call.get("result") is not None or call.get("status") in (*_FAILED, "success"):
                self.steps.result(text_at(call, "id"), _output(call), text_at(call, "timestamp"), error=_failed(call))

    def _result(self, event: dict[str, Any], timestamp: str | None, position: str) -> None:
        self.termination = text_at(event, "status")
        self.meta |= {"stats": event["stats"]} if event.get("stats") else {}
        if event.get("error"):
            self.steps.error(_message_of(event["error"]), timestamp)
            self.meta["axis_run"] = {"error": _message_of(event["error"])}
        self.tally.add(NO_STEP, "result", position)


def _parts(content: Any) -> Any:
    """Content as text or typed parts: Gemini's own parts carry no type."""
    if isinstance(content, list):
        return [{"type": "text", **part} if isinstance(part, dict) and "text" in part else part for part in content]
    return content


def _call(record: dict[str, Any], name: str, identity: str, given: str) -> ToolCall:
    return call_of("", field(record, name, str, ""), record.get(given), id=word(record.get(identity)))


def _failed(record: dict[str, Any]) -> bool | None:
    status = record.get("status")
    return None if status is None else status in _FAILED


def _output(call: dict[str, Any]) -> str:
    """What the model was given back: the responses of a call, their output or error where that is all they hold."""
    result = call.get("result")
    texts = []
    for part in result if isinstance(result, list) else [result]:
        response = dict_of(dict_of(part, "functionResponse"), "response") if isinstance(part, dict) else {}
        texts.append(text_at(response, "output", "error") or as_text(response or part))
    return "\n".join(texts)


def _message_of(error: Any) -> str:
    return (text_at(error, "message") if isinstance(error, dict) else None) or as_text(error)
