"""ATIF, Harbor's Agent Trajectory Interchange Format, versions 1.0 to 1.7: read, and written (``read --to atif``).

A step of theirs is one turn: reasoning, message, calls and what they gave back; here these are a step each. What of
ours ATIF has no word for stands in ``extra.axisjudge``, so that what is written is read back equal. A subagent inside
(1.7) and a continuation in a file of its own are runs of their own, whose task is the session. In a Harbor trial the
``result.json`` beside names task and reward. Specification: https://harborframework.com/docs/trajectory-format
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from axisjudge.readers import messages as chat
from axisjudge.readers.chats.parts import is_record_or_list
from axisjudge.readers.events import Steps, as_text, dict_of, text_at
from axisjudge.trajectory import Step, ToolCall, Trajectory

FORMAT = "atif"
VERSION = "ATIF-v1.5"
_OURS = "axisjudge"
_READ_OF_STEP = ("step_id", "timestamp", "source", "message", "tool_calls", "observation", "reasoning_content", "extra")
_USAGE = {
    "total_prompt_tokens": "input_tokens",
    "total_cached_tokens": "cached_input_tokens",
    "total_completion_tokens": "output_tokens",
}


def recognise(value: Any) -> bool:
    """Whether the JSON value is a trajectory of this format, or a list of such."""
    return is_record_or_list(
        value, lambda one: str(one.get("schema_version")).startswith("ATIF-") and isinstance(one.get("steps"), list)
    )


def read(value: Any, where: str, folder: Path) -> Iterator[chat.ReadRun]:
    """The trajectories of a file, each before its subagents."""
    if isinstance(value, dict):
        yield from _trajectories(value, where, None, _trial(folder))
    else:
        for number, record in enumerate(chat.objects(value, where)):
            yield from _trajectories(record, chat.at(where, number), None, {})


def _trajectories(
    record: dict[str, Any], where: str, session: str | None, trial: dict[str, Any]
) -> Iterator[chat.ReadRun]:
    notes: list[chat.Note] = []
    steps, models = Steps(), Counter[str]()
    for number, step in enumerate(chat.members(record, "steps", where)):
        _add(steps, step, chat.at(where, "steps", number), notes)
        models.update(filter(None, [text_at(step, "model_name")]))
    whole = steps.all()
    if copied := [n for n, step in enumerate(record["steps"]) if step.get("is_copied_context") is True]:
        path = chat.at(where, "steps", copied[0])
        notes.append(chat.Note(path, "a step copied from an earlier trajectory", "", len(copied)))
    agent, metrics = dict_of(record, "agent"), dict_of(record, "final_metrics")
    part = dict_of(agent, "extra").get("continuation_index")
    own = text_at(record, "trajectory_id", "session_id")
    named = "/".join(str(each) for each in (session, own, part) if each) or None
    path = chat.at(where, "agent", "tool_definitions")
    tools = [
        chat.tool_schema(tool, chat.at(path, n))
        for n, tool in enumerate(chat.members(agent, "tool_definitions", chat.at(where, "agent")))
    ]
    rewards = dict_of(dict_of(trial, "verifier_result"), "rewards")
    reward = rewards.get("reward", next(iter(rewards.values())) if len(rewards) == 1 else None)
    meta = {key: agent[key] for key in ("name", "version") if agent.get(key)}
    usage = {ours: metrics[theirs] for theirs, ours in _USAGE.items() if metrics.get(theirs) is not None}
    fields: dict[str, Any] = {
        "id": named or chat.content_id(whole),
        "source": FORMAT,
        "agent": text_at(agent, "model_name")
        or next((m for m, _ in models.most_common(1)), None)
        or chat.name_of(agent),
        "task_id": session or (own if part else None) or text_at(trial, "task_name"),
        "reward": chat.reward_of(reward, "result.json, rewards"),
        "termination": text_at(dict_of(trial, "exception_info"), "exception_type"),
        "steps": whole,
        "tools": tuple(tools) or None,
        "meta": ({"atif_agent": meta} if meta else {})
        | ({"rewards": rewards} if len(rewards) > 1 else {})
        | ({"usage": [usage]} if usage else {})
        | ({"total_cost_usd": metrics["total_cost_usd"]} if metrics.get("total_cost_usd") is not None else {}),
    }
    yield chat.ReadRun(where, chat.made(Trajectory, where, **{**fields, **_ours(record)}), tuple(notes))
    for number, inner in enumerate(chat.members(record, "subagent_trajectories", where)):
        yield from _trajectories(inner, chat.at(where, "subagent_trajectories", number), named, {})


def _add(steps: Steps, step: dict[str, Any], where: str, notes: list[chat.Note]) -> None:
    """The steps of one turn, with what is kept of ours laid over them."""
    begin, steps.where = len(steps), where
    source, time = step.get("source"), text_at(step, "timestamp")
    chat.refuse_unread(step, where, _READ_OF_STEP)
    message, calls = (
        chat.text_of(step.get("message"), chat.at(where, "message"), notes),
        chat.members(step, "tool_calls", where),
    )
    results = chat.members(dict_of(step, "observation"), "results", chat.at(where, "observation"))
    if reasoning := text_at(step, "reasoning_content"):
        steps.thinking(reasoning, time)
    if source == "agent":
        if message or not (calls or results or reasoning):
            steps.text("assistant", message, time, message=where)
        for number, call in enumerate(calls):
            path = chat.at(where, "tool_calls", number)
            steps.call(
                chat.call_of(
                    path,
                    chat.field(call, "function_name", str, path),
                    call.get("arguments"),
                    id=chat.word(call.get("tool_call_id")),
                ),
                time,
                message=where,
            )
    elif message or not results:
        steps.text("user" if source == "user" else "system", message, time)
    about = dict_of(step, "extra")
    for number, result in enumerate(results):
        steps.result(
            chat.word(result.get("source_call_id")),
            _content(result, chat.at(where, "observation", "results", number), notes),
            None,
            error=_failed(result, about if len(results) == 1 else {}),
        )
    steps.overlay(begin, dict_of(about, _OURS).get("steps"))


def _content(result: dict[str, Any], where: str, notes: list[chat.Note]) -> str:
    """What a result says; one that only refers to subagents names them."""
    refs = [
        as_text(text_at(ref, "trajectory_id", "session_id", "trajectory_path"))
        for ref in chat.members(result, "subagent_trajectory_ref", where)
    ]
    text = chat.text_of(result.get("content"), chat.at(where, "content"), notes)
    return text or "\n".join(f"[subagent {ref}]" for ref in refs)


def _failed(result: dict[str, Any], about: dict[str, Any]) -> bool | None:
    """Whether a call failed, where the result or the adapter's ``extra`` of its step says so."""
    stated = (result.get("is_error"), dict_of(result, "extra").get("is_error"), about.get("tool_result_is_error"))
    code = dict_of(about, "tool_metadata").get("exit_code")
    return next((flag for flag in stated if isinstance(flag, bool)), code != 0 if type(code) is int else None)


def _trial(folder: Path) -> dict[str, Any]:
    """The result of the Harbor trial whose folder this is, or one of whose folders; empty where it is none."""
    for each in (folder, folder.parent):
        try:
            stated = from_json((each / "result.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(stated, dict) and {"task_name", "trial_name"} <= stated.keys():
            return stated
    return {}


def _ours(record: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in dict_of(dict_of(record, "extra"), _OURS).items() if key in Trajectory.model_fields
    }


def atif_of(run: Trajectory) -> dict[str, Any]:
    """A trajectory as ATIF 1.5, as JSON values; `read` gives it back equal.

    Examples
    --------
    >>> run = Trajectory(id="run-1", source="mine", steps=(Step(index=0, role="user", content="Hello."),))
    >>> atif_of(run)["steps"]
    [{'step_id': 1, 'source': 'user', 'message': 'Hello.'}]
    """
    dumped = from_json(run.model_dump_json(exclude={"steps"}))
    tools = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in run.tools or ()
    ]
    agent = {"name": run.agent or "unknown", "version": "unknown", **({"model_name": run.agent} if run.agent else {})}
    return {
        "schema_version": VERSION,
        "session_id": run.id,
        "agent": agent | ({"tool_definitions": tools} if tools else {}),
        "steps": [_turn(number, turn) for number, turn in enumerate(_turns(run.steps), 1)],
        "extra": {_OURS: dumped},
    }


def _turns(steps: tuple[Step, ...]) -> Iterator[list[Step]]:
    """Our steps, turn by turn: thinking, a message with its calls, and the results that follow it."""
    turn: list[Step] = []
    for step in steps:
        thought = len(turn) == 1 and turn[0].kind == "thinking" and step.role == "assistant" and step.kind is None
        if turn and not (step.role == "tool" or (thought and (step.content or step.tool_calls))):
            yield turn
            turn = []
        turn.append(step)
    if turn:
        yield turn


def _turn(number: int, turn: list[Step]) -> dict[str, Any]:
    thinking = next((step for step in turn if step.kind == "thinking"), None)
    spoken = next((step for step in turn if step.role != "tool" and step is not thinking), None)
    first = spoken or thinking
    role = first.role if first else "system"
    time = first.timestamp if first else None
    record: dict[str, Any] = {"step_id": number, "source": "agent" if role == "assistant" else role}
    record |= {"timestamp": time} if _is_iso(time) else {}
    record["message"] = spoken.content if spoken else ""
    record |= {"reasoning_content": thinking.content} if thinking and thinking.content else {}
    if role == "assistant" and spoken and spoken.tool_calls:
        record["tool_calls"] = [_call(call, f"call_{number}_{n}") for n, call in enumerate(spoken.tool_calls, 1)]
    if results := [step for step in turn if step.role == "tool"]:
        record["observation"] = {"results": [_result(step, record) for step in results]}
    kept = _kept(record, turn)
    return record | ({"extra": {_OURS: {"steps": kept}}} if any(kept) else {})


def _call(call: ToolCall, name: str) -> dict[str, Any]:
    given = call.arguments if isinstance(call.arguments, dict) else {"arguments": call.arguments}
    return {"tool_call_id": call.id or name, "function_name": call.name, "arguments": given}


def _result(step: Step, turn: dict[str, Any]) -> dict[str, Any]:
    """A result; it names its call only where that is one of its turn, as the format wants it."""
    here = any(call["tool_call_id"] == step.tool_call_id for call in turn.get("tool_calls", ()))
    return ({"source_call_id": step.tool_call_id} if here else {}) | {"content": step.content}


def _kept(record: dict[str, Any], turn: list[Step]) -> list[dict[str, Any]]:
    """For each step of a turn the fields that reading the turn alone would give another value."""
    again = Steps()
    _add(again, record, "", [])
    plain = [from_json(step.model_dump_json(exclude={"index"})) for step in again.all()]
    own = [from_json(step.model_dump_json(exclude={"index"})) for step in turn]
    if len(plain) != len(own):
        return own
    return [
        {key: mine.get(key) for key in (mine | read) if mine.get(key) != read.get(key)}
        for mine, read in zip(own, plain, strict=True)
    ]


def _is_iso(time: str | None) -> bool:
    try:
        return bool(time) and bool(datetime.fromisoformat(str(time)))
    except ValueError:
        return False


def atif_line(run: Trajectory) -> bytes:
    """A trajectory as one line of ATIF."""
    return to_json(atif_of(run)) + b"\n"
