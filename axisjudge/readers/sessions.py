"""Sessions of coding agents: pi, Qwen Code, Goose, opencode and Copilot's chat replay; logs, as `logs` reads them.

A shell command that the user ran (pi) is the user's text. Entries of a tree (pi) are a run for each of its leaves.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from axisjudge.readers.chats import gemini_contents
from axisjudge.readers.chats.parts import MessagePart, grow, list_of_objects, part_of, result_text
from axisjudge.readers.events import (
    NO_STEP,
    Line,
    LogFormat,
    LoggedRun,
    Tally,
    as_text,
    dict_of,
    events_of,
    iso,
    json_of,
    listed,
    nanoseconds,
    seconds,
    text_at,
    type_of,
)
from axisjudge.readers.messages import Note, ReadRun, Unread, call_of, field, members, objects, refuse_unread, word
from axisjudge.trajectory import Role

_NO_STEPS_OF_OPENCODE = {
    *("step-start", "step-finish", "step_start", "step_finish", "snapshot", "patch", "agent", "retry", "compaction"),
}
_QWEN_ROLES: dict[str, Role] = {"assistant": "assistant", "system": "system"}
_NO_STEPS_OF_PI = {"thinking_level_change", "model_change", "compaction", "branch_summary", "label", "session_info"}


def _time(value: Any) -> str | None:
    """A time as ISO 8601, from text as it is or from an epoch number."""
    if isinstance(value, str):
        return value or None
    return iso(nanoseconds(value)) if isinstance(value, int | float) and not isinstance(value, bool) and value else None


# pi: https://github.com/badlogic/pi-mono, packages/coding-agent/docs/session.md


def _is_pi(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    message = dict_of(value, "message")
    header = value.get("type") == "session" and isinstance(value.get("cwd"), str) and "id" in value
    roles = ("user", "assistant", "toolResult", "bashExecution")
    return header or (value.get("type") == "message" and message.get("role") in roles and "uuid" not in value)


def _read_pi(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    sessions: list[list[tuple[str, dict[str, Any]]]] = [[]]
    for each in events_of(lines, tally):
        if each[1].get("type") == "session" and sessions[-1]:
            sessions.append([])
        sessions[-1].append(each)
    for events in sessions:
        header = events[0][1] if events and events[0][1].get("type") == "session" else {}
        name = word(header.get("id"))
        for leaf, path in _branches(events[1:] if header else events):
            run = LoggedRun("pi", path[0][0] if path else "", tally)
            for position, event in path:
                with tally.forgiving(position, event):
                    _add_pi(run, event, position)
            run.meta |= {key: header[key] for key in ("cwd",) if header.get(key)}
            yield run.finish(f"{name}/{leaf}" if name and leaf else name, task_id=name if leaf else None)


def _branches(events: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """The entries as they were written, or for each leaf of their tree its name and the entries that lead there."""
    by_id = {str(event["id"]): (position, event) for position, event in events if event.get("id")}
    inner = {str(event.get("parentId")) for _, event in events}
    leaves = [name for name in by_id if name not in inner]
    if len(leaves) < 2 or len(by_id) < len(events):
        yield "", events
        return
    for leaf in leaves:
        path, at_name = [], leaf
        while at_name in by_id and by_id[at_name] not in path:
            path.append(by_id[at_name])
            at_name = str(path[-1][1].get("parentId"))
        yield leaf, path[::-1]


def _add_pi(run: LoggedRun, event: dict[str, Any], position: str) -> None:
    kind, time = type_of(event), _time(event.get("timestamp"))
    if kind != "message":
        run.tally.add(NO_STEP, kind, position) if kind in _NO_STEPS_OF_PI else run.tally.unknown(kind, event, position)
        return
    message = field(event, "message", dict, "")
    role: Any = message.get("role")
    notes: list[Note] = []
    if role == "toolResult":
        text = result_text(message.get("content"), "content", notes)
        run.steps.result(
            word(message.get("toolCallId")),
            text,
            time,
            error=message["isError"] if isinstance(message.get("isError"), bool) else None,
            name=text_at(message, "toolName"),
        )
    elif role == "bashExecution":
        run.steps.text("user", f"$ {as_text(message.get('command'))}\n{as_text(message.get('output'))}", time)
    elif role in ("user", "assistant"):
        content = message.get("content")
        parts = [content] if isinstance(content, str) else listed(content)
        grow(run.steps, role, [each for part in parts if (each := _pi_part(part, notes))], position, time)
        if problem := text_at(message, "errorMessage", "error"):
            run.steps.error(problem, time)
        if role == "assistant":
            run.models[text_at(message, "model") or ""] += 1
            run.usage[position] = dict_of(message, "usage")
            run.termination = text_at(message, "stopReason")
    else:
        run.tally.unknown(role, message, position)
    run.tally.take(notes, position)


def _pi_part(part: Any, notes: list[Note]) -> MessagePart | None:
    if isinstance(part, dict) and part.get("type") == "toolCall":
        return part_of({**part, "type": "tool_call"}, "content", notes)
    return part_of(part, "content", notes)


# Qwen Code: https://github.com/QwenLM/qwen-code, packages/core/src/services/chatRecordingService.ts


def _is_qwen(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in ("user", "assistant", "tool_result", "system")
        and {"uuid", "sessionId"} <= value.keys()
        and (isinstance(dict_of(value, "message").get("parts"), list) or "systemPayload" in value)
    )


def _read_qwen(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    runs: dict[str, LoggedRun] = {}
    for position, event in events_of(lines, tally):
        run = runs.setdefault(str(event.get("sessionId")), LoggedRun("qwen_code", position, tally))
        with tally.forgiving(position, event):
            if not isinstance(parts := dict_of(event, "message").get("parts"), list):
                tally.unknown(type_of(event), event, position)
                continue
            notes: list[Note] = []
            stated = dict_of(event, "toolCallResult")
            failed = stated.get("status") == "error" or bool(stated.get("error")) if stated else None
            placed = (gemini_contents.part_of(part, "message.parts", notes) for part in objects(parts, "message.parts"))
            kept = [part._replace(error=failed) if part.kind == "result" else part for part in placed if part]
            role = _QWEN_ROLES.get(type_of(event), "user")
            grow(run.steps, role, kept, position, _time(event.get("timestamp")))
            tally.take(notes, position)
            run.models.update(filter(None, [text_at(event, "model")]))
    for name, run in runs.items():
        yield run.finish(name)


# Goose: https://github.com/block/goose, crates/goose/src/conversation/message.rs


def _is_goose(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("type") == "message" and isinstance(
        value.get("message"), dict
    ):  # goose run --output-format stream-json
        return "role" in value["message"] and _is_goose(value["message"])
    if "working_dir" in value and {"conversation", "description", "name", "message_count"} & value.keys():
        return True
    kinds = {type_of(part) for part in list_of_objects(value.get("content"))}
    return "role" in value and (bool(kinds & {"toolRequest", "toolResponse"}) or {"created", "content"} <= value.keys())


def _read_goose(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    run, name = LoggedRun("goose", "", tally), None
    for position, event in _unstreamed(events_of(lines, tally)):
        if "working_dir" in event:
            own = text_at(event, "id", "session_id")
            if run.position and (own is None or own != name):
                yield run.finish(name)
                run, name = LoggedRun("goose", "", tally), None
            name = own or name
            run.models.update(filter(None, [text_at(dict_of(event, "model_config"), "model_name")]))
        run.position = run.position or position
        if type_of(event) in ("notification", "model_change", "complete") and "role" not in event:
            tally.add(NO_STEP, type_of(event), position)
        elif type_of(event) == "error" and "role" not in event:
            run.steps.error(as_text(event.get("error")), None)
        alone = [event] if "role" in event else []
        for message in alone or members(event, "conversation", "") or members(event, "messages", ""):
            with tally.forgiving(position, message):
                _add_goose(run, message, position)
    yield run.finish(name)


def _unstreamed(events: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Events whose message stands inside them as that message; pieces of one message's text are put together."""
    last: tuple[str, dict[str, Any]] | None = None
    for position, event in events:
        inner = dict_of(event, "message") if type_of(event) == "message" else {}
        message = inner or event
        kinds = [
            [type_of(part) for part in list_of_objects(each.get("content"))] for each in (message, *(last or ())[1:])
        ]
        if last and inner and inner.get("id") and inner["id"] == last[1].get("id") and kinds == [["text"], ["text"]]:
            text = last[1]["content"][0]["text"] + inner["content"][0]["text"]
            last = (last[0], {**inner, "content": [{"type": "text", "text": text}]})
            continue
        if last:
            yield last
        last = (position, message)
    if last:
        yield last


def _add_goose(run: LoggedRun, message: dict[str, Any], position: str) -> None:
    role: Any = message.get("role")
    notes: list[Note] = []
    if role not in ("user", "assistant"):
        raise Unread("role", role)
    parts = [_goose_part(part, notes) for part in objects(message.get("content"), "content")]
    grow(
        run.steps, role, [part for part in parts if part], f"{position} {len(run.steps)}", _time(message.get("created"))
    )
    run.tally.take(notes, position)


def _goose_part(part: dict[str, Any], notes: list[Note]) -> MessagePart | None:
    kind, identity = type_of(part), word(part.get("id"))
    stated = dict_of(part, "toolCall") or dict_of(part, "toolResult")
    held = stated.get("value", stated)
    if kind in ("toolRequest", "frontendToolRequest"):
        if not isinstance(held, dict) or "name" not in held:  # a call that could not be read, with why
            return MessagePart(
                "call", call=call_of("content", "unreadable call", as_text(part.get("toolCall")), id=identity)
            )
        return MessagePart("call", call=call_of("content", str(held["name"]), held.get("arguments"), id=identity))
    if kind == "toolResponse":
        result = part["toolResult"] if isinstance(part.get("toolResult"), list) else held
        inner = result if isinstance(result, dict) else {}
        failed = stated.get("status") == "error" or inner.get("isError", inner.get("is_error")) is True
        content = stated.get("error") or inner.get("content", result)
        return MessagePart("result", result_text(content, "content", notes), id=identity, error=failed)
    if kind == "toolConfirmationRequest":
        notes.append(Note("content", NO_STEP, kind))
        return None
    return part_of({**part, "type": "redacted_thinking"} if kind == "redactedThinking" else part, "content", notes)


# opencode: https://opencode.ai, `opencode export` and `opencode run --format json`


def _is_opencode(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("part"), dict) and "sessionID" in value:
        return True
    messages = list_of_objects(value.get("messages"))
    return isinstance(value.get("info"), dict) and bool(messages) and "parts" in messages[0] and "info" in messages[0]


def _read_opencode(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    runs: dict[str, LoggedRun] = {}
    for position, event in events_of(lines, tally):
        name = word(event.get("sessionID") or dict_of(event, "info").get("id")) or ""
        run = runs.setdefault(name, LoggedRun("opencode", position, tally))
        with tally.forgiving(position, event):
            if part := dict_of(event, "part"):
                _add_opencode(run, part, "assistant", _time(event.get("timestamp")), position)
            elif "messages" not in event:
                run.steps.error(as_text(event["error"]), None) if "error" in event else tally.unknown(
                    type_of(event), event, position
                )
        for message in members(event, "messages", ""):
            about = field(message, "info", dict, "messages")
            role = "assistant" if about.get("role") == "assistant" else "user"
            model = text_at(about, "modelID")
            run.models.update(filter(None, [f"{text_at(about, 'providerID')}/{model}" if model else None]))
            time = _time(dict_of(about, "time").get("completed") or dict_of(about, "time").get("created"))
            for part in members(message, "parts", "messages"):
                with tally.forgiving(position, part):
                    _add_opencode(run, part, role, time, position)
            if error := about.get("error"):
                run.steps.error(as_text(error), time)
    for name, run in runs.items():
        yield run.finish(name or None)


def _add_opencode(run: LoggedRun, part: dict[str, Any], role: Any, time: str | None, position: str) -> None:
    kind, message = type_of(part), f"{role} {part.get('messageID') or position}"
    state = dict_of(part, "state")
    if kind in ("tool", "tool-invocation"):
        begun, ended = (dict_of(state, "time").get(key) for key in ("start", "end"))
        name, identity = field(part, "tool", str, "part"), word(part.get("callID"))
        run.steps.call(call_of("part", name, state.get("input"), id=identity), _time(begun) or time, message=message)
        error = state.get("error")
        if state.get("status") in ("completed", "error") or "output" in state or error:
            failed = state.get("status", "error" if error else "") == "error"
            content = error if failed and error else state.get("output")
            lasted = seconds(ended - begun, 1000) if isinstance(begun, int) and isinstance(ended, int) else None
            run.steps.result(identity, as_text(content), _time(ended), error=failed, name=name, duration_s=lasted)
    elif kind in ("text", "reasoning"):
        text, when = field(part, "text", str, "part"), _time(dict_of(part, "time").get("end")) or time
        run.steps.thinking(text, when) if kind == "reasoning" else run.steps.text(role, text, when, message=message)
    elif kind in _NO_STEPS_OF_OPENCODE:
        run.tally.add(NO_STEP, kind, position)
    else:
        run.steps.text(role, run.tally.text([part], "part", position), time, message=message)


# Copilot's chat replay: VS Code, "Chat: Export all prompts as JSON"


def _is_replay(value: Any) -> bool:
    prompts = list_of_objects(value.get("prompts")) if isinstance(value, dict) else []
    prompts = prompts or [value]
    first = prompts[0]
    if not isinstance(first, dict) or "logs" not in first:
        return False
    logged = [each.get("kind") for each in list_of_objects(first["logs"])]
    return "promptId" in first or (
        "prompt" in first and {*logged} <= {"request", "toolCall", "element"} and bool(logged)
    )


def _read_replay(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    run, name, last, answered = LoggedRun("copilot_chat_replay", "", tally), None, "", None
    for position, event in events_of(lines, tally):
        if "prompts" in event and len(run.steps):  # another export
            yield run.finish(name)
            run, name, last, answered = LoggedRun("copilot_chat_replay", "", tally), None, "", None
        run.position = run.position or position
        for prompt in members(event, "prompts", "") or [event]:
            name = name or text_at(prompt, "promptId")
            text = as_text(prompt.get("prompt"))
            if text != last or prompt.get("hasSeen") is not True:  # else the same prompt goes on
                run.steps.text("user", text, None)
            last = text
            for log in members(prompt, "logs", "prompts"):
                with tally.forgiving(position, log):
                    _add_replay(run, log, position, answered)
                answered = text_at(dict_of(log, "metadata"), "endTime") or answered
    yield run.finish(name)


def _add_replay(run: LoggedRun, log: dict[str, Any], position: str, answered: str | None) -> None:
    """Add what a log says; a call's own time is when it was done, and `answered` when a model's answer ended."""
    kind, identity = type_of(log, "kind"), word(log.get("id"))
    about = dict_of(log, "metadata")
    if kind == "toolCall":
        time, name = _time(log.get("time")), field(log, "tool", str, "logs")
        if thought := text_at(dict_of(log, "thinking"), "text"):
            run.steps.thinking(thought, answered or time)
        run.steps.call(call_of("logs", name, json_of(log.get("args")), id=identity), answered or time)
        if "response" in log:
            notes: list[Note] = []
            run.steps.result(identity, result_text(log["response"], "response", notes), time, error=None, name=name)
            run.tally.take(notes, position)
    elif kind == "request":
        refuse_unread(log, "logs", ("requestMessages", "response", "metadata", "tools"))
        run.models.update(filter(None, [text_at(about, "model")]))
        answer = dict_of(log, "response")
        text = "\n".join(map(as_text, listed(answer.get("message"))))
        if answer.get("type") not in (None, "success", "ChatMLSuccess") and not text:
            run.steps.error(as_text(answer.get("reason") or answer.get("type")), _time(about.get("endTime")))
        elif text and text_at(log, "name") != "title":
            run.steps.text("assistant", text, _time(about.get("endTime")))
    elif kind == "element":
        run.tally.add(NO_STEP, kind, position)
    else:
        run.tally.unknown(kind, log, position)


SESSIONS = (
    LogFormat("goose", _is_goose, _read_goose),  # before pi, which has the same envelope
    LogFormat("pi", _is_pi, _read_pi),
    LogFormat("qwen_code", _is_qwen, _read_qwen),
    LogFormat("opencode", _is_opencode, _read_opencode),
    LogFormat("copilot_chat_replay", _is_replay, _read_replay),
)
