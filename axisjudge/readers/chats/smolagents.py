"""The memory of smolagents: a list of steps, of which those of the agent hold calls and what was observed.

Who writes it: ``agent.memory.get_full_steps()`` and ``get_succinct_steps()``, and ``RunResult.dict()`` (``steps``).
What several calls of one step gave back is one text there; it is kept as the result of the first of them, and noted.
Source: huggingface/smolagents, src/smolagents/memory.py.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axisjudge.readers.chats.parts import (
    Conversation,
    MessagePart,
    grow,
    holds_list,
    list_of_objects,
    parts_of,
    threads_in,
)
from axisjudge.readers.events import Steps, as_text, dict_of, iso, text_at
from axisjudge.readers.messages import Found, Note, at, chat_calls, left_out, refuse_unread
from axisjudge.trajectory import ToolCall

FORMAT = "smolagents"
_READ = ("tool_calls", "observations", "model_output", "model_output_message", "code_action", "model_input_messages")
_JOINT = "several calls have one observation, kept as the result of the first"


def recognise(value: Any) -> bool:
    """Whether the JSON value is the memory of an agent, or a record or list of records with ``steps`` of it."""
    return holds_list(value, _is_memory, "steps")


def read(value: Any, where: str, folder: Path) -> Iterator[Found]:
    """The runs of a file."""
    return (_run(*thread) for thread in threads_in(value, where, _is_memory, "steps"))


def _is_memory(value: Any) -> bool:
    steps = list_of_objects(value)
    return any("step_number" in step and bool(step.keys() & set(_READ)) for step in steps)


def _run(record: dict[str, Any], memory: list[dict[str, Any]], where: str, where_steps: str) -> Found:
    steps = Conversation(FORMAT, where, record)
    for number, step in enumerate(memory):
        steps.where = position = at(where_steps, number)
        if text := text_at(step, "system_prompt"):
            steps.text("system", text, None)
        elif "task" in step:
            steps.text("user", as_text(step["task"]), None)
        elif "step_number" in step:
            _act(steps, step, position)
        elif text := text_at(step, "plan"):
            steps.text("assistant", text, _moment(step))
        else:
            refuse_unread(step, position, ("model_input_messages", "model_output_message"))
    state = text_at(record, "state")
    return steps.found(termination=state)


def _act(steps: Steps, step: dict[str, Any], where: str) -> None:
    """One step of the agent: what it wrote, what it called, what it saw or what went wrong."""
    refuse_unread(step, where, _READ)
    moment = _moment(step)
    calls = tuple(map(_named_argument, chat_calls(step, "assistant", where)))
    written = step.get("model_output") or dict_of(step, "model_output_message").get("content")
    stated = parts_of(written, at(where, "model_output"), steps.notes)
    parts = [part for part in stated if part.kind in ("text", "thinking")]
    grow(steps, "assistant", [*parts, *(MessagePart("call", call=call) for call in calls)], where, moment)
    problem = text_at(dict_of(step, "error"), "message")
    seen = "\n".join(filter(None, (text_at(step, "observations"), problem)))
    if step.get("observations_images"):
        seen = f"{seen}\n{left_out('image', where, steps.notes)}".strip()
    if calls and (seen or step.get("observations") is not None):
        steps.notes += [Note(where, _JOINT, ", ".join(call.name for call in calls))] if len(calls) > 1 else []
        steps.result(calls[0].id, seen, moment, error=problem is not None, name=calls[0].name)
    elif problem:
        steps.error(problem, moment)
    elif seen:
        steps.result(None, seen, moment, error=False)


def _named_argument(call: ToolCall) -> ToolCall:
    """A call whose one argument is text, as the interpreter's code is."""
    if call.arguments_error is None:
        return call
    name = "code" if call.name == "python_interpreter" else "input"
    return call.model_copy(update={"arguments": {name: call.arguments}, "arguments_error": None})


def _moment(step: dict[str, Any]) -> str | None:
    ended = dict_of(step, "timing").get("end_time")
    return iso(int(ended * 10**9)) if isinstance(ended, int | float) and abs(ended) < 1e11 else None
