"""Label sets of the alternative annotator test: ``{annotator: {item: label}}``, people and judges on the same items.

What a label means is read off the set itself: names of items are parts joined by ``__``, and labels show their scale.
Calderon, Reichart and Dror (2025), The Alternative Annotator Test, arXiv:2501.10970.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PEOPLE, JUDGES = "human_annotations.json", "llm_annotations.json"
_JOINT = "__"
#: Names of reviews of which several are edits of one original: its number, then six digits that number the edit.
_EDIT = re.compile(r"(\d+)0000\d\d")
_PREFERRED = {"model_a", "model_b"}


@dataclass(frozen=True)
class Item:
    """What an item's name says: thing, question (None: the set has one), cluster, and the agent that made it."""

    trajectory_id: str
    question: str | None
    cluster_id: str
    agent: str | None = None


def named_items(names: Iterable[str]) -> dict[str, Item]:
    """What the names of a set's items say.

    The last part is the question where the same questions are asked of several things: where items tie things and
    last parts together into one whole. Numbers are no questions (``turn 1``, ``turn 2`` are parts of a name). The first
    part is the cluster, and of two parts before a question the second is the agent that made what is rated.
    """
    every = list(dict.fromkeys(names))
    split = [name.rpartition(_JOINT) for name in every]
    stems, tails = {stem for stem, _, _ in split}, {tail for _, _, tail in split}
    asked = all(stem for stem, _, _ in split) and not any(tail.isdecimal() for tail in tails)
    asked = asked and len(stems) + len(tails) <= len(every) + 1
    edits = all(_EDIT.fullmatch(stem or tail) for stem, _, tail in split)
    items = {}
    for name, (stem, _, tail) in zip(every, split, strict=True):
        thing = stem if asked else name
        parts = thing.split(_JOINT)
        cluster = thing[:-6] if asked and edits else parts[0]
        agent = parts[1] if asked and len(parts) == 2 else None
        items[name] = Item(thing, tail if asked else None, cluster, agent)
    return items


def one_question(labels: Iterable[object], name: str) -> str:
    """What a set asks whose items name no question: ``preference`` of two models, else the set's own name."""
    return "preference" if {str(label) for label in labels} >= _PREFERRED else name


def is_annotations(content: object) -> bool:
    """Whether parsed JSON maps annotators to items to labels."""
    return (
        isinstance(content, dict)
        and bool(content)
        and all(
            isinstance(labels, dict) and not any(isinstance(label, dict | list) for label in labels.values())
            for labels in content.values()
        )
    )
