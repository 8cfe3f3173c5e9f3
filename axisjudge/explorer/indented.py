"""JSON text set out over lines, every token as it was: a number is never rounded and no key is dropped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

#: Whatever fits on one line of this length stays there.
WIDTH = 88
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')

Node = str | list["Node"]


#: Runs of one agent bear the same tools, and twins most of each other's texts.
@lru_cache(maxsize=2_048)
def indented(text: str) -> str:
    """`text` over several lines if it is a JSON object or array too long for one, else as it is."""
    if not text.lstrip().startswith(("{", "[")) or len(text) <= WIDTH or "\n" in text.strip():
        return text
    try:
        json.loads(text)
        return _set(_parse(iter(_TOKEN.findall(text))), "")
    except (ValueError, RecursionError):
        return text


def _parse(tokens: Iterator[str]) -> Node:
    """One value: a token, or a list of the opening bracket, the members and the closing bracket."""
    first = next(tokens)
    if first not in "{[":
        return first
    members: list[Node] = [first]
    member: list[Node] = []
    while True:
        node = _parse(tokens)
        if node in ("}", "]", ","):
            if member:
                members.append(member)
            member = []
            if node != ",":
                return [*members, node]
        elif node == ":":
            member.append(": ")
        else:
            member.append(node)


def _flat(node: Node) -> str:
    if isinstance(node, str):
        return node
    if node[0] in ("{", "["):
        return f"{node[0]}{', '.join(map(_flat, node[1:-1]))}{node[-1]}"
    return "".join(map(_flat, node))


def _set(node: Node, margin: str) -> str:
    flat = _flat(node)
    if isinstance(node, str) or len(margin) + len(flat) <= WIDTH:
        return flat
    if node[0] not in ("{", "["):
        return "".join(_set(part, margin) for part in node)
    inner = margin + "  "
    members = ",\n".join(inner + _set(member, inner) for member in node[1:-1])
    return f"{node[0]}\n{members}\n{margin}{node[-1]}"
