"""Calls that open models write into their text, and results that come back in text: read as calls and results.

Where a server has no parser for a model's calls, where a program reads them out of the text itself (Cline, Roo Code),
or where a data set was made for training, a run's calls stand inside plain messages, in the forms of `call_forms`. They
are read in a run that has no calls of its own kind beside them, and in any other where an answer to them stands in the
text that follows. What else an agent writes beside calls of its own kind was never run: it stays text, and `beside`
names it. Drafts inside ``<think>`` are no calls either, nor is what is quoted, in a fence as long as nobody answers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from axisjudge.readers.chats.call_forms import AROUND, calls_at, opens_with, shaped_like_call, tools_named, value_of
from axisjudge.readers.chats.call_forms import RESULTS as OF_ELEMENTS
from axisjudge.readers.events import as_text
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
      (.*?)(?=^[ \t>*]*(?:Thought|Action|Final\ Answer|Observation)[ \d]*:|<\|endoftext\|>|\Z)
    |"""
    + OF_ELEMENTS,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_TAGS = re.compile(r"<[|｜](?P<special>[\w▁:-]+)[|｜]>|(?<!`)<(?P<plain>[\w:-]+)>")
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


#: Without one of these a text has no call, unless it is one as a whole.
_MARKS = ("<", "Action", "[TOOL_CALLS]", "to=functions.", "```tool_code")
_FENCES = re.compile(r"^[ \t]*```(?P<language>\w*).*?^[ \t]*```", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(_FENCES.pattern + r"|`[^`\n]+`", _FENCES.flags)

Spans = list[tuple[int, int]]


def read_calls(steps: tuple[Step, ...], tools: Collection[str] = (), policy: str | None = None) -> tuple[Step, ...]:
    """The steps with the calls in their text as calls and the results in their text as results.

    Steps without such calls come back as they are, and so do calls beside those of another kind that nobody answered.

    Parameters
    ----------
    steps : tuple of Step
    tools : mapping or collection of str
        The tools that the agent was offered: ``<NAME><parameter>...`` calls them. As a mapping to the schemas of their
        parameters it says which values are text.
    policy : str, optional
        Instructions beside those in the steps; both may describe tools.

    Raises
    ------
    Unread
        When a call in a text names no tool, or is of an unknown form.
    """
    opens, known = opens_with(tools_named(steps, tools, policy)), tools if isinstance(tools, Mapping) else {}
    own = any(step.agent_calls for step in steps)
    written = [_written(steps, number, opens) for number in range(len(steps))]
    if own:
        written = [here if here is not None and _is_answered(steps, n) else None for n, here in enumerate(written)]
    if all(here is None for here in written):
        if not own:
            _refuse_unread(steps)
        return steps
    given = {call.id for step in steps for call in step.tool_calls if call.id}
    whole: list[Step] = []
    waiting: list[ToolCall] = []
    for step, quoted in zip(steps, written, strict=True):
        of_own = step.role == "tool" and step.tool_call_id in given
        for part in [step] if of_own else _parts(step, opens, quoted, waiting, known):
            whole.append(part.model_copy(update={"index": len(whole)}))
    if not own:
        _refuse_unread(whole)
    return tuple(whole) if any(step.tool_calls for step in whole) else steps


def beside(steps: Sequence[Step], tools: Collection[str] = (), policy: str | None = None) -> Iterator[tuple[int, str]]:
    """The calls that an agent wrote into its text and nobody ran: each by the number of its step and its beginning.

    Beside calls of its own kind what is quoted is an example; in a run without any call a fence may be more than that.
    Of a step the first is named. Parameters are those of `read_calls`.
    """
    fences = not any(step.agent_calls for step in steps)
    opens = opens_with(tools_named(steps, tools, policy))
    for number, step in enumerate(steps):
        for opened in _openings(opens, step.content, 0, _written(steps, number, opens, fences=fences)):
            if _is_call(step.content, opened):
                yield step.index, step.content[opened.start() :].strip()[:60]
                break


def _is_call(text: str, opened: re.Match[str]) -> bool:
    if opened.lastgroup == "bare" or text[: opened.start()].endswith("`"):
        return False
    try:
        return bool(calls_at(text, opened, ""))
    except Unread:
        return True


def _written(steps: Sequence[Step], number: int, opens: re.Pattern[str], *, fences: bool = False) -> Spans | None:
    """The stretches of an agent's text that hold no calls, where others may; None where nothing may."""
    step = steps[number]
    text = step.content
    if step.role != "assistant" or step.kind is not None:
        return None
    if not any(mark in text for mark in _MARKS):
        return [] if text.lstrip()[:1] in ("{", "[") and opens.match(text) else None
    quoted = [thought.span() for thought in _THOUGHTS.finditer(text)]
    if "```" in text and not fences and not _is_answered(steps, number):
        quoted += [fence.span() for fence in _FENCES.finditer(text) if fence["language"] != "tool_code"]
    return None if _next(opens, text, 0, quoted) is None else quoted


def _is_answered(steps: Sequence[Step], number: int) -> bool:
    """Whether what the `number`-th step wrote came back: in the user's text, or from a tool that answers no call."""
    given = {call.id for step in steps for call in step.tool_calls}
    after = takewhile(lambda step: step.role != "assistant", steps[number + 1 :])
    return any(
        (step.role == "tool" and step.tool_call_id not in given)
        or (step.role != "system" and _RESULTS.match(step.content.lstrip()) is not None)
        for step in after
    )


def _refuse_unread(steps: Sequence[Step]) -> None:
    """Refuse a run with a tag that is named or shaped like a call, in a form that nobody here knows."""
    for step in steps:
        if step.role == "assistant" and step.kind is None and "<" in step.content:
            text, where = _QUOTED.sub("", _THOUGHTS.sub("", step.content)), f"step {step.index}"
            if tag := _unread(text):
                raise Unread(where, tag, cure="a run is read with all its calls: convert it")
            if tag := shaped_like_call(text):
                raise Unread(where, f"<{tag}>", cure="give the tools that it calls with --tools, or convert it")


def _unread(text: str) -> str | None:
    tags = (tag for tag in _TAGS.finditer(text) if tag["special"] or f"</{tag['plain']}>" in text)
    named = ((tag["special"] or tag["plain"]).replace("▁", "_") for tag in tags)
    return next((name for name in named if names_call(name) or name == "tool_code"), None)


def _parts(
    step: Step, opens: re.Pattern[str], quoted: Spans | None, waiting: list[ToolCall], tools: Mapping[str, Any]
) -> Iterator[Step]:
    """The steps that one message holds; `waiting` are the calls without a result so far."""
    if step.role == "tool" and not _RESULTS.match(step.content.lstrip()):
        yield _result(step, _unwrapped(step.content), waiting)
    elif quoted is not None:
        yield from _of_agent(step, opens, quoted, waiting, tools)
    elif step.role == "tool" or (step.role != "system" and waiting and _RESULTS.search(step.content)):
        yield from _with_results(step, waiting)
    else:
        yield step


def _of_agent(
    step: Step, opens: re.Pattern[str], quoted: Spans, waiting: list[ToolCall], tools: Mapping[str, Any]
) -> Iterator[Step]:
    """An agent's message: text and the calls after it, what came back where it stands in the same text, and so on."""
    where, content = f"step {step.index}", step.content
    text, calls, position, start = "", [*step.tool_calls], 0, 0
    while opened := _next(opens, content, start, quoted):
        came = _next(_RESULTS, content, position, quoted) if waiting else None
        if came and came.start() < opened.start():
            yield from _spoken(step, text + content[position : came.start()], calls)
            yield _result(step, _unwrapped(came[0]), waiting)
            text, calls, position, start = "", [], came.end(), came.end()
            continue
        written = [] if content[: opened.start()].endswith("`") else calls_at(content, opened, where, tools)
        start = max([opened.end(), *(call.end for call in written)])
        if not written:
            start = max(start, opened.start() + 1)
            continue
        text, position = text + content[position : opened.start()], start
        for call in written:
            if call.name == "respond" and isinstance(call.given, dict) and call.given.keys() == {"content"}:
                text += as_text(call.given["content"])  # tau-bench's word for speaking to the user
            else:
                calls.append(call_of(where, call.name, call.given, id=call.id))
                waiting.append(calls[-1])
    if waiting and (came := _next(_RESULTS, content, position, quoted)):
        yield from _spoken(step, text + content[position : came.start()], calls)
        yield from _with_results(step.model_copy(update={"content": content[came.start() :]}), waiting)
    else:
        yield from _spoken(step, text + content[position:], calls)


def _spoken(step: Step, text: str, calls: list[ToolCall]) -> Iterator[Step]:
    outside, thoughts = _THOUGHTS.split(text), [*_THOUGHTS.findall(text), ""]
    text = "".join(AROUND.sub("", plain) + thought for plain, thought in zip(outside, thoughts, strict=True)).strip()
    if (text := "" if set(text) == {"`"} else text) or calls:
        yield step.model_copy(update={"content": text, "tool_calls": tuple(calls)})


def _with_results(step: Step, waiting: list[ToolCall]) -> Iterator[Step]:
    """A message that holds results, with what it says before, between and after them."""
    start = len(step.content) - len(step.content.lstrip())
    for came in _RESULTS.finditer(step.content):
        yield from _spoken(step, step.content[start : came.start()], [])
        yield _result(step, _unwrapped(came[0]), waiting)
        start = came.end()
    yield from _spoken(step, step.content[start:], [])


def _openings(pattern: re.Pattern[str], text: str, start: int, quoted: Spans | None) -> Iterator[re.Match[str]]:
    """The matches from here on that are neither thought nor quoted; none where `quoted` is None."""
    if quoted is None:
        return
    for match in pattern.finditer(text, start):
        if not any(begin <= match.start() < end for begin, end in quoted):
            yield match


def _next(pattern: re.Pattern[str], text: str, start: int, quoted: Spans) -> re.Match[str] | None:
    return next(_openings(pattern, text, start, quoted), None)


def _unwrapped(text: str) -> str:
    """What stands inside the tags of a result."""
    if match := _RESULTS.search(text):
        text = next(group for group in match.groups() if group is not None)
    return AROUND.sub("", text).strip()


def _result(step: Step, text: str, waiting: list[ToolCall]) -> Step:
    """A result as a step of its own; it answers the first call of its name that waits, else the first that waits."""
    stated = value_of(text)
    name, identity = step.tool_name, step.tool_call_id
    if (
        isinstance(stated, dict)
        and "content" in stated
        and stated.keys() <= {"name", "content", "tool_call_id", "call_id"}
    ):
        text, name = as_text(stated["content"]), stated.get("name") or name
        identity = identity or stated.get("tool_call_id") or stated.get("call_id")
    alike = (call for call in waiting if (identity and call.id == identity) or (not identity and call.name == name))
    call = next(alike, waiting[0] if waiting else None)
    if call is not None:
        waiting.remove(call)
        name, identity = name or call.name, identity or call.id
    fields = {"role": "tool", "content": text, "tool_name": name, "tool_call_id": identity}
    return step.model_copy(update={**fields, "tool_calls": ()})
