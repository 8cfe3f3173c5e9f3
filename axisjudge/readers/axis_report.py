"""AXIS's own transcripts: a report, a file of it for one scenario and agent, or entries ``{type, timestamp, content}``.

`meta` keeps the entries as they are (``axis_entries``), the run (``axis_run``) and the scenario (``axis_scenario``):
all that the original's scoring looks at.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from axisjudge.families import family_of
from axisjudge.readers import claude_code
from axisjudge.readers.events import NO_STEP, Line, Steps, Tally, as_text, dict_of, events_of, text_at, type_of
from axisjudge.readers.messages import ReadRun, Unread, at, call_of, carries_call, content_id, made, names_call, word
from axisjudge.trajectory import ToolCall, Trajectory

FORMAT = "axis"
_TYPES = {"assistant", "user", "tool_use", "tool_result", "system", "error"}
_RUN = ("result", "exitCode", "error", "startTime", "endTime", "durationMs", "tokenUsage", "totalCostUsd", "sessionId")
_OUTPUTS = ("aggregated_output", "output", "content", "text", "result", "error")
_INPUTS = ("command", "query", "arguments", "changes", "items")


def recognise(value: Any) -> bool:
    """Whether the JSON value is a report, an object with a transcript, or one entry of a transcript."""
    if not isinstance(value, dict):
        return False
    if _is_entry(value):
        return True
    entries = _entries(_runs(value, "")[0][1])
    return entries is not None and all(_is_entry(entry) for entry in entries[:1])


def read_log(lines: Iterable[Line], tally: Tally) -> Iterator[ReadRun]:
    """The transcript of each report among the events; entries that stand alone are one transcript."""
    alone: list[Any] = []
    start = ""
    for position, value in events_of(lines, tally):
        if _is_entry(value):
            start = start or position
            alone.append(value)
            continue
        for path, run in _runs(value, position):
            if _entries(run) is not None:
                yield _run_of(run, path, tally)
            else:
                tally.unknown(type_of(run), run, path)
    if alone:
        yield _run_of({"transcript": alone}, start, tally)


def _is_entry(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() <= {"type", "timestamp", "content"}
        and type_of(value) in _TYPES
        and isinstance(value.get("content"), dict)
    )


def _runs(value: dict[str, Any], position: str) -> list[tuple[str, dict[str, Any]]]:
    """The runs of a report, each with its place; of any other object itself."""
    runs = value.get("results")
    if not runs or not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        return [(position, value)]
    return [(at(position, "results", number), run) for number, run in enumerate(runs)]


def _entries(value: dict[str, Any]) -> list[Any] | None:
    entries = dict_of(value, "output").get("transcript", value.get("transcript"))
    return entries if isinstance(entries, list) else None


def _run_of(value: dict[str, Any], position: str, tally: Tally) -> ReadRun:
    entries = _entries(value) or []
    steps = _steps(entries, position, tally)
    output, settings = dict_of(value, "output"), dict_of(value, "agentConfig")
    stated = {**dict_of(output, "metadata"), **dict_of(value, "run")}
    stated |= {"result": output["result"]} if "result" in output else {}
    run = {key: stated[key] for key in _RUN if key in stated}
    scenario = {key: value[key] for key in ("scenarioName", "prompt", "rubric", "judge") if key in value}
    agent, task = text_at(value, "agentName", "agent"), text_at(value, "scenarioKey")
    trajectory = made(
        Trajectory,
        "",
        id=text_at(stated, "sessionId") or content_id(steps, task, agent, stated.get("startTime"), value.get("id")),
        source=FORMAT,
        agent=agent,
        agent_family=family_of(text_at(settings, "model") or _model(entries)),
        task_id=task,
        termination=_ended(run),
        steps=steps,
        meta={"axis_entries": entries, "axis_run": run} | ({"axis_scenario": scenario} if scenario else {}),
    )
    return ReadRun(position, trajectory)


def _ended(run: dict[str, Any]) -> str | None:
    if run.get("error"):
        return "error"
    return f"exit code {run['exitCode']}" if run.get("exitCode") is not None else None


def _model(entries: list[Any]) -> str | None:
    """The model that the agent's first message names."""
    contents = [dict_of(entry, "content") for entry in entries if isinstance(entry, dict)]
    named = (text_at(content, "model") or text_at(dict_of(content, "message"), "model") for content in contents)
    return next((model for model in named if model), None)


def _steps(entries: list[Any], position: str, tally: Tally) -> Any:
    """Claude Code's entries are events of its own and read as such; the others state tool, input and output plainly."""
    session = claude_code.ClaudeSession(FORMAT, position, tally)
    calls: set[str] = set()
    for number, entry in enumerate(entries):
        path = f"entry {number}"
        if not _is_entry(entry):
            tally.unknown("an entry without type or content", entry, path)
            continue
        content, timestamp = entry["content"], word(entry.get("timestamp"))
        with tally.forgiving(path, entry):
            if claude_code.recognise(content):
                session.add({**content, "timestamp": timestamp}, content["type"], path)
            elif entry["type"] in ("assistant", "user") and isinstance(
                dict_of(content, "message").get("content"), list
            ):
                session.add({**content, "timestamp": timestamp}, entry["type"], path)
            else:
                _add(session.steps, entry["type"], content, timestamp, calls, tally, path)
    return session.steps.all()


def _add(
    steps: Steps, kind: str, content: dict[str, Any], timestamp: str | None, calls: set[str], tally: Tally, path: str
) -> None:
    name = text_at(content, "tool_name", "name") or (text_at(content, "type") if kind.startswith("tool") else None)
    identity = text_at(content, "tool_id", "id")
    if kind == "tool_use":
        steps.call(_call(content, name or "unknown", identity), timestamp)
        calls |= {identity} if identity else set()
    elif kind == "tool_result":
        steps.result(identity, _output(content), timestamp, error=_failed(content), name=None if identity else name)
    elif kind == "error" and identity in calls:
        steps.result(identity, _text(content) or "", timestamp, error=True)
    elif kind == "error":
        steps.error(_text(content) or as_text(content), timestamp)
    elif kind == "assistant" and names_call(content.get("type")):  # an agent's item, kept as it was
        steps.call(_call(content, content["type"], identity), timestamp)
        if any(content.get(key) is not None for key in _OUTPUTS):
            steps.result(identity, _output(content), timestamp, error=_failed(content), name=content["type"])
    elif kind in ("assistant", "user") and carries_call(content):
        raise Unread("content", content)
    elif (text := _text(content)) is None:
        tally.add(NO_STEP, f"{kind} {text_at(content, 'subtype', 'type') or ''}".strip(), path)
    elif content.get("type") == "reasoning":
        steps.thinking(text, timestamp)
    else:
        steps.text("assistant" if kind == "assistant" else "user" if kind == "user" else "system", text, timestamp)


def _call(content: dict[str, Any], name: str, identity: str | None) -> ToolCall:
    given = content.get("parameters")
    if given is None:
        given = {key: content[key] for key in _INPUTS if content.get(key) is not None}
        if given.keys() == {"arguments"}:
            given = given["arguments"]
    return call_of("", name, given, id=identity)


def _output(content: dict[str, Any]) -> str:
    return next((as_text(content[key]) for key in _OUTPUTS if content.get(key) is not None), "")


def _failed(content: dict[str, Any]) -> bool | None:
    code, status = content.get("exit_code"), content.get("status")
    if type(code) is int:
        return code != 0
    if isinstance(content.get("is_error"), bool):
        return bool(content["is_error"])
    return status in ("failed", "error", "cancelled") if isinstance(status, str) else None


def _text(content: dict[str, Any]) -> str | None:
    nested = (dict_of(content, "error"), dict_of(content, "message"))
    return text_at(content, "error", "text", "message", "content") or next(
        (text for inner in nested if (text := text_at(inner, "message", "content"))), None
    )
