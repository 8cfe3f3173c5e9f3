"""JSON text set out over lines, every token as it was: a number is never rounded and no key is dropped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

#: Whatever fits on one line of this length stays there.
WIDTH = 88
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
_CLOSING = {"{": "}", "[": "]"}


class Node(NamedTuple):
    """A value on one line, and the members of an object or array, each a key (or nothing) and a value."""

    flat: str
    members: tuple[tuple[str, Node], ...] = ()


@lru_cache(maxsize=512)
def indented(text: str) -> str:
    """`text` over several lines if it is a JSON object or array too long for one, else as it is."""
    if not text.lstrip().startswith(("{", "[")) or len(text) <= WIDTH or "\n" in text.strip():
        return text
    try:
        json.loads(text)
        tokens = iter(_TOKEN.findall(text))
        return "".join(_lines(_value(next(tokens), tokens), ""))
    except (ValueError, RecursionError):
        return text


def _value(first: str, tokens: Iterator[str]) -> Node:
    """The value that begins with the token `first`."""
    if first not in _CLOSING:
        return Node(first)
    members: list[tuple[str, Node]] = []
    token = next(tokens)
    while token != _CLOSING[first]:
        key = ""
        if token == ",":
            token = next(tokens)
        value = _value(token, tokens)
        token = next(tokens)
        if token == ":":
            key, value = f"{value.flat}: ", _value(next(tokens), tokens)
            token = next(tokens)
        members.append((key, value))
    flat = f"{first}{', '.join(key + value.flat for key, value in members)}{_CLOSING[first]}"
    return Node(flat, tuple(members))


def _lines(node: Node, margin: str) -> Iterator[str]:
    if not node.members or len(margin) + len(node.flat) <= WIDTH:
        yield node.flat
        return
    inner = f"{margin}  "
    yield f"{node.flat[0]}\n"
    for number, (key, value) in enumerate(node.members):
        yield f"{',' if number else ''}{chr(10) if number else ''}{inner}{key}"
        yield from _lines(value, inner)
    yield f"\n{margin}{node.flat[-1]}"
