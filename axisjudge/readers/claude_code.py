"""Claude Code: session files (JSON Lines) and ``--output-format stream-json``, also inside a log of other lines.

One message of the API takes several lines, one for each block of its content. A session is one trajectory, each
subagent in it another.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from axisjudge.readers import events
from axisjudge.readers.messages import ReadRun, call_of, field, objects, word

FORMAT = "claude_code"
_BOOKKEEPING = {
    *("agent-name", "ai-title", "attachment", "auth_status", "control_request", "control_response"),
    *("custom-title", "file-history-snapshot", "keep_alive", "last-prompt", "permission-mode", "pr-link"),
    *("progress", "prompt_suggestion", "queue-operation", "rate_limit_event", "stream_event", "summary", "tag"),
    *("tool_progress", "tool_use_summary"),
}
_KEPT_OF_RESULT = ("duration_ms", "duration_api_ms", "num_turns", "total_cost_usd", "usage", "permission_denials")


def recognise(value: Any) -> bool:
    """Whether the JSON value is an event of Claude Code."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if value["type"] in ("user", "assistant"):
        return isinstance(value.get("message"), dict) and "role" in value["message"]
    if value["type"] in ("system", "result"):
        return "subtype" in value and ("session_id" in value or "sessionId" in value)
    return value["type"] in ("file-history-snapshot", "queue-operation") or {"summary", "leafUuid"} <= value.keys()


def read_log(lines: Iterable[events.Line], tally: events.Tally) -> Iterator[ReadRun]:
    """The sessions of a log and their subagents, in the order in which they begin."""
    runs: dict[tuple[str | None, str | None], ClaudeSession] = {}
    chains: dict[str, str] = {}
    seen: set[str] = set()
    session: str | None = None
    for position, event in events.events_of(lines, tally):
        with tally.forgiving(position, event):
            kind = events.type_of(event)
            uuid = events.text_at(event, "uuid")
            if uuid in seen:
                tally.add(events.REPEATED, kind, position)
            elif kind in ("user", "assistant", "system", "result") or _queued(event):
                session = events.text_at(event, "session_id", "sessionId") or session
                run = runs.setdefault((session, _subagent(event, chains)), ClaudeSession(FORMAT, position, tally))
                run.add(event, kind, position)
            elif kind in _BOOKKEEPING:
                tally.add(events.NO_STEP, kind, position)
            else:
                tally.unknown(kind, event, position)
            seen |= {uuid} if uuid else set()
    for (name, subagent), run in runs.items():
        yield run.finish("/".join(part for part in (name, subagent) if part), task_id=name if subagent else None)


def _subagent(event: dict[str, Any], chains: dict[str, str]) -> str | None:
    """The subagent that an event belongs to: its id, the call that started it, else the first event of its chain."""
    if parent := events.text_at(event, "parent_tool_use_id"):
        return parent
    if event.get("isSidechain") is not True:
        return None
    own = events.text_at(event, "uuid") or ""
    chains[own] = chains.get(events.text_at(event, "parentUuid") or "", own)
    return events.text_at(event, "agentId") or chains[own]


def _queued(event: dict[str, Any]) -> str | None:
    """What the user typed while the agent worked."""
    attachment = events.dict_of(event, "attachment")
    return events.text_at(attachment, "prompt") if attachment.get("type") == "queued_command" else None


class ClaudeSession(events.LoggedRun):
    """One session, or one subagent of it, as it grows."""

    def add(self, event: dict[str, Any], kind: str, position: str) -> None:
        timestamp = events.text_at(event, "timestamp")
        if kind == "assistant":
            self._assistant(field(event, "message", dict, ""), event, timestamp, position)
        elif kind == "user":
            self._user(field(event, "message", dict, ""), event, timestamp, position)
        elif kind == "result":
            self._result(event, timestamp)
        elif kind == "system":
            self._system(event, timestamp, position)
        else:
            self.steps.text("user", _queued(event) or "", timestamp)

    def _assistant(self, message: dict[str, Any], event: dict[str, Any], timestamp: str | None, position: str) -> None:
        content, name = message.get("content"), events.text_at(message, "id")
        if event.get("isApiErrorMessage") is True:
            self.steps.error(self.tally.text(content, "message.content", position), timestamp)
            return
        if (model := events.text_at(message, "model")) and model != "<synthetic>":
            self.models[model] += 1
        if usage := events.dict_of(message, "usage"):
            self.usage[name or position] = usage
        for block in _blocks(content):
            kind = events.type_of(block)
            if kind == "text":
                self.steps.text("assistant", field(block, "text", str, "message.content"), timestamp, message=name)
            elif kind in ("thinking", "redacted_thinking"):
                self._thinking(block, timestamp, position)
            elif kind.endswith("tool_use"):
                tool = field(block, "name", str, "message.content")
                self.steps.call(
                    call_of("", tool, block.get("input"), id=word(block.get("id"))), timestamp, message=name
                )
            elif "tool_use_id" in block:  # of a tool that the provider runs
                self._tool_result(block, {}, timestamp, position)
            else:
                self.steps.text("assistant", self._left_out(block, position), timestamp, message=name)

    def _thinking(self, block: dict[str, Any], timestamp: str | None, position: str) -> None:
        if text := events.text_at(block, "thinking"):
            self.steps.thinking(text, timestamp)
        else:
            self.tally.add(events.ENCRYPTED, events.type_of(block), position)

    def _user(self, message: dict[str, Any], event: dict[str, Any], timestamp: str | None, position: str) -> None:
        blocks = _blocks(message.get("content"))
        results = [block for block in blocks if block.get("type") == "tool_result"]
        stated = events.dict_of(event, "toolUseResult") or events.dict_of(event, "tool_use_result")
        for block in blocks:
            if block in results:
                self._tool_result(block, stated if len(results) == 1 else {}, timestamp, position)
            elif block.get("type") == "text":
                text = field(block, "text", str, "message.content")
                self.steps.text("user", text, timestamp, message=f"user {position}")
            else:
                self.steps.text("user", self._left_out(block, position), timestamp, message=f"user {position}")

    def _tool_result(self, block: dict[str, Any], stated: dict[str, Any], timestamp: str | None, position: str) -> None:
        content = block.get("content")
        parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
        text = self.tally.text(content, "content", position) if parts else events.as_text(content)
        exit_code = stated.get("exit_code", stated.get("exitCode"))
        self.steps.result(
            events.text_at(block, "tool_use_id"),
            text,
            timestamp,
            error=block.get("is_error") is True or exit_code not in (None, 0),
            duration_s=_duration(stated),
        )

    def _left_out(self, block: dict[str, Any], position: str) -> str:
        return self.tally.text([block], "message.content", position)

    def _system(self, event: dict[str, Any], timestamp: str | None, position: str) -> None:
        subtype = events.type_of(event, "subtype")
        if subtype == "init":
            self.meta |= {key: event[key] for key in ("tools", "cwd", "claude_code_version") if event.get(key)}
            self.models[events.text_at(event, "model") or ""] += 0
        elif subtype == "api_error":
            self.steps.error(events.as_text(event.get("error")), timestamp)
        self.tally.add(events.NO_STEP, f"system {subtype}", position)

    def _result(self, event: dict[str, Any], timestamp: str | None) -> None:
        errors = (
            [events.as_text(error) for error in event.get("errors") or []]
            if isinstance(event.get("errors"), list)
            else []
        )
        for error in errors:
            self.steps.error(error, timestamp)
        if not len(self.steps) and (text := events.text_at(event, "result")):  # --output-format json holds nothing else
            self.steps.text("assistant", text, timestamp)
        failed = event.get("is_error") is True
        subtype = events.text_at(event, "subtype")
        self.termination = "error" if failed and subtype == "success" else subtype
        self.meta |= {key: event[key] for key in _KEPT_OF_RESULT if event.get(key) is not None}
        self.meta["axis_run"] = {"result": events.text_at(event, "result")}
        if failed:
            self.meta["axis_run"]["error"] = "; ".join(errors) or events.text_at(event, "result") or subtype or "error"


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [] if content is None else objects(content, "message.content")


def _duration(stated: dict[str, Any]) -> float | None:
    milliseconds = stated.get("durationMs", stated.get("totalDurationMs"))
    return (
        events.seconds(milliseconds, 1000)
        if milliseconds is not None
        else events.seconds(stated.get("durationSeconds"))
    )
