"""Calls as elements named after tools: ``<read_file><path>a.py</path></read_file>`` (Cline, Roo Code, and their like).

Any tag may be a tool's, so that a name must be known: from a schema, from the section of the system prompt that
describes the tools, or from what came back (``[read_file for 'a.py'] Result:``).
Sources: the prompts and messages of cline/cline and RooCodeInc/Roo-Code, as tasks on public repositories show them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from axisjudge.trajectory import Step

#: What such a call gave back, in the user's message, up to the editor's own word on itself.
RESULTS = r"""^\[\w+(?:[ ]for[ ][^\n]*)?\][ ]Result:[ \t]*\n?
    (.*?)(?=^\[\w+(?:[ ]for[ ][^\n]*)?\][ ]Result:|\s*<environment_details>|\Z)"""
_ANSWERED = re.compile(r"^\[(\w+)(?: for [^\n]*)?\] Result:", re.MULTILINE)
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}|[-*]|\d+\.)[ \t]*[*_`\"]*([A-Za-z_]\w*)[*_`\"]*[ \t]*(?:$|[:(\-—])", re.MULTILINE
)
_OPENING = re.compile(r"<([A-Za-z_]\w*)>")
#: A block of its own, as these agents write calls, under a name that says what to do; markup in a sentence is none.
_BLOCK = re.compile(
    r"""^[ \t]*<((?:access|add|append|apply|ask|attempt|browser|check|click|close|create|delete|download|edit|execute
    |fetch|find|generate|get|insert|list|load|modify|move|navigate|new|open|patch|query|read|remove|rename|replace|run
    |save|search|send|set|start|stop|switch|update|upload|use|view|web|write)_(?!results?>|outputs?>|summary>)\w+)>
    (.*?)</\1>[ \t]*$""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


def elements_in(body: str) -> list[tuple[str, str]] | None:
    """The elements that a text is made of, with what stands inside; None where it is anything else.

    Examples
    --------
    >>> elements_in("<path>a.py</path> <line>3</line>"), elements_in("see <b>here</b>")
    ([('path', 'a.py'), ('line', '3')], None)
    """
    elements, rest = [], body.strip()
    while rest:
        opened = _OPENING.match(rest)
        closing = opened and next(_closings(rest, opened), None)
        if opened is None or closing is None:
            return None
        elements.append((opened[1], rest[opened.end() : closing.start()].strip("\n")))
        rest = rest[closing.end() :].lstrip()
    return elements


def _closings(text: str, opened: re.Match[str]) -> Iterator[re.Match[str]]:
    """Where an element may close: what it holds may have its closing tag too, so that another or nothing follows."""
    for closing in re.finditer(rf"</{opened[1]}>", text):
        after = text[closing.end() :].lstrip()
        if not after or _OPENING.match(after):
            yield closing


def tools_named(steps: Sequence[Step], tools: Collection[str], policy: str | None) -> frozenset[str]:
    """The tools that are known by name: offered, described with an example in the instructions, or answered."""
    names, answered = set(tools), set[str]()
    instructions = [policy or ""]
    for step in steps:
        if step.role == "system" and step.kind is None:
            instructions.append(step.content)
        elif step.role in ("user", "tool") and "] Result:" in step.content:
            answered.update(_ANSWERED.findall(step.content))
    if answered:
        names |= answered | {name for step in steps if step.role == "assistant" for name in _blocks(step.content)}
    names = names.union(*map(_described, instructions))
    return frozenset(name for name in names if _OPENING.fullmatch(f"<{name}>") and name.lower() != "think")


@lru_cache(maxsize=256)
def _described(instructions: str) -> frozenset[str]:
    """The headings and items that have an example of a call; many runs have the same instructions."""
    names = _HEADING.findall(instructions) if "</" in instructions else ()
    return frozenset(name for name in names if f"<{name}>" in instructions and f"</{name}>" in instructions)


def shaped_like_call(text: str) -> str | None:
    """The name of a block of elements that says what to do, as ``read_file`` does: a tool that nobody here knows."""
    return next(_blocks(text), None)


def _blocks(text: str) -> Iterator[str]:
    blocks = _BLOCK.finditer(text) if "</" in text else ()
    return (block[1] for block in blocks if elements_in(block[2]))
