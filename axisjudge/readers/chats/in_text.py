"""Calls that open models write into their text, and results that come back in text: read as calls and results.

Where a server has no parser for a model's calls, or a data set was made for training, a run's calls stand inside plain
messages, in the forms of `call_forms`. They are read in a run that has no calls of its own kind beside them: a program
that takes calls apart runs those, and what an agent writes as text beside them was never run. Drafts inside ``<think>``
are no calls either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from axisjudge.readers.chats.call_forms import AROUND, OPENS, calls_at, value_of
from axisjudge.readers.events import shown
from axisjudge.readers.messages import Unread, call_of, names_call
from axisjudge.trajectory import Step, ToolCall

#: What came back, in the user's message, the tool's, or the agent's own text; the group is what stands inside.
_RESULTS = re.compile(
    r"""<tool_response>(.*?)(?:</tool_response>|\Z)
    |\[TOOL_RESULTS\](.*?)(?:\[/TOOL_RESULTS\]|\Z)
    |<｜tool▁output▁begin｜>(.*?)(?:<｜tool▁output▁end｜>|\Z)
    |<information>(.*?)(?:</information>|\Z)
    |```tool_output[ \t]*\n(.*?)(?:```|\Z)
    |^[ \t]*(?:Observation[ \d]*|API\ output|EXECUTION\ RESULT\ of\ \[\w+\]|FUNCTION\ RESPONSE)[ \t]*:[ \t]*
      (.*?)(?=^[ \t>*]*(?:Thought|Action|Final\ Answer|Observation)[ \d]*:|<\|endoftext\|>|\Z)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_TAGS = re.compile(r"<[|｜](?P<special>[\w▁:-]+)[|｜]>|(?<!`)<(?P<plain>[\w:-]+)>")
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


def names_call_in_text(text: str) -> bool:
    """Whether a text has what may be a call, outside of its thoughts."""
    return OPENS.search(_THOUGHTS.sub("", text)) is not None


def _unread(text: str) -> str | None:
    """A tag that is named like a call, in a form that nobody here knows."""
    tags = (tag for tag in _TAGS.finditer(text) if tag["special"] or f"</{tag['plain']}>" in text)
    named = ((tag["special"] or tag["plain"]).replace("▁", "_") for tag in tags)
    return next((name for name in named if names_call(name) or name == "tool_code"), None)


def read_calls(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with the calls in their text as calls and the results in their text as results.

    Steps without such calls, and those of a run that has calls of its own kind, come back as they are.

    Raises
    ------
    Unread
        When a call in a text names no tool.
    """
    if any(step.agent_calls for step in steps):
        return steps
    written = [step.role == "assistant" and step.kind is None and names_call_in_text(step.content) for step in steps]
    if not any(written):
        spoken = (step for step in steps if step.role == "assistant" and step.kind is None)
        if unknown := next(((step, tag) for step in spoken if (tag := _unread(_THOUGHTS.sub("", step.content)))), None):
            raise Unread(f"step {unknown[0].index}", unknown[1], cure="a run is read with all its calls: convert it")
        return steps
    whole: list[Step] = []
    waiting: list[ToolCall] = []
    for step, has_calls in zip(steps, written, strict=True):
        for part in _parts(step, has_calls, waiting):
            whole.append(part.model_copy(update={"index": len(whole)}))
    return tuple(whole) if any(step.tool_calls for step in whole) else steps


def _parts(step: Step, has_calls: bool, waiting: list[ToolCall]) -> Iterator[Step]:
    """The steps that one message holds; `waiting` are the calls without a result so far."""
    if step.role == "tool" and not _RESULTS.match(step.content.lstrip()):
        yield _result(step, _unwrapped(step.content), waiting)
    elif has_calls:
        yield from _of_agent(step, waiting)
    elif step.role == "tool" or (step.role != "system" and waiting and _RESULTS.search(step.content)):
        yield from _with_results(step, waiting)
    else:
        yield step


def _of_agent(step: Step, waiting: list[ToolCall]) -> Iterator[Step]:
    """An agent's message: text and the calls after it, what came back where it stands in the same text, and so on."""
    where, content = f"step {step.index}", step.content
    thoughts = [thought.span() for thought in _THOUGHTS.finditer(content)]
    text, calls, position, start = "", list[ToolCall](), 0, 0
    while opened := _next(OPENS, content, start, thoughts):
        came = _next(_RESULTS, content, position, thoughts) if waiting else None
        if came and came.start() < opened.start():
            yield from _said(step, text + content[position : came.start()], calls)
            yield _result(step, _unwrapped(came[0]), waiting)
            text, calls, position, start = "", [], came.end(), came.end()
            continue
        quoted = content[: opened.start()].endswith("`")
        written = [] if quoted else calls_at(content, opened, where)
        start = max([opened.end(), *(call.end for call in written)])
        if not written:
            start = max(start, opened.start() + 1)
            continue
        text, position = text + content[position : opened.start()], start
        for call in written:
            if call.name == "respond" and isinstance(call.given, dict) and call.given.keys() == {"content"}:
                text += shown(call.given["content"])  # tau-bench's word for speaking to the user
            else:
                calls.append(call_of(where, call.name, call.given, id=call.id))
                waiting.append(calls[-1])
    if waiting and (came := _next(_RESULTS, content, position, thoughts)):
        yield from _said(step, text + content[position : came.start()], calls)
        yield from _with_results(step.model_copy(update={"content": content[came.start() :]}), waiting)
    else:
        yield from _said(step, text + content[position:], calls)


def _said(step: Step, text: str, calls: list[ToolCall]) -> Iterator[Step]:
    outside, thoughts = _THOUGHTS.split(text), [*_THOUGHTS.findall(text), ""]
    text = "".join(AROUND.sub("", plain) + thought for plain, thought in zip(outside, thoughts, strict=True)).strip()
    if (text := "" if set(text) == {"`"} else text) or calls:
        yield step.model_copy(update={"content": text, "tool_calls": tuple(calls)})


def _with_results(step: Step, waiting: list[ToolCall]) -> Iterator[Step]:
    """A message that holds results, with what it says before, between and after them."""
    place = len(step.content) - len(step.content.lstrip())
    for came in _RESULTS.finditer(step.content):
        yield from _said(step, step.content[place : came.start()], [])
        yield _result(step, _unwrapped(came[0]), waiting)
        place = came.end()
    yield from _said(step, step.content[place:], [])


def _next(pattern: re.Pattern[str], text: str, start: int, thoughts: list[tuple[int, int]]) -> re.Match[str] | None:
    """The first match from here on that is no part of a thought."""
    found = (match for match in pattern.finditer(text, start))
    return next((m for m in found if not any(begin <= m.start() < end for begin, end in thoughts)), None)


def _unwrapped(text: str) -> str:
    """What stands inside the tags of a result."""
    if found := _RESULTS.search(text):
        text = next(group for group in found.groups() if group is not None)
    return AROUND.sub("", text).strip()


def _result(step: Step, text: str, waiting: list[ToolCall]) -> Step:
    """A result as a step of its own; it answers the first call of its name that waits, else the first that waits."""
    told = value_of(text)
    name, identity = step.tool_name, step.tool_call_id
    if isinstance(told, dict) and "content" in told and told.keys() <= {"name", "content", "tool_call_id", "call_id"}:
        text, name = shown(told["content"]), told.get("name") or name
        identity = identity or told.get("tool_call_id") or told.get("call_id")
    alike = (call for call in waiting if (identity and call.id == identity) or (not identity and call.name == name))
    call = next(alike, waiting[0] if waiting else None)
    if call is not None:
        waiting.remove(call)
        name, identity = name or call.name, identity or call.id
    fields = {"role": "tool", "content": text, "tool_name": name, "tool_call_id": identity}
    return step.model_copy(update={**fields, "tool_calls": ()})
