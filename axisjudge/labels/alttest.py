"""Label sets of the alternative annotator test: ``{annotator: {item: label}}``, people and judges on the same items.

What a label means is read off the set itself: names of items are parts joined by ``__``, and labels show their scale.
Calderon, Reichart and Dror (2025), The Alternative Annotator Test, arXiv:2501.10970.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.labels.own import Read, Terms, by_person, finished, item_of
from axisjudge.labels.reading import read_json
from axisjudge.verdict import AXES, Rating

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


# Annotations of the alternative annotator test: ``{annotator: {item: label}}``.
# An item that ends in ``__axis`` (or a name of the axis map) is that question about the item before it; other items are
# answers to the one question that is told. Two files as the test's own sets have them say all of this themselves, and
# `axisjudge.imports` reads them.


def read_alttest_json(path: Path, terms: Terms) -> Read:
    """Annotators' labels as ratings of people.

    Raises
    ------
    InputError
        The file is of another form, the question or the scale of numbers is not told, or a word is none of ours.
    """
    content = read_json(path)
    if not is_annotations(content):
        raise InputError(str(path), "must map each annotator to items and their labels")
    ratings = []
    for rater, labels in content.items():
        for item, label in labels.items():
            where = f"{path}, {rater}, {item}"
            rated, question = _asked(where, item, terms)
            run, step = item_of(rated)
            given = terms.word_fields(where, question, label)
            ratings.append(
                Rating(**terms.run_fields(run), **by_person(rater), step_index=step, question=question, **given)
            )
    return finished(ratings), []


def _asked(where: str, item: str, terms: Terms) -> tuple[str, str]:
    run, mark, tail = item.rpartition("__")
    if mark and (terms.question_of(tail) in AXES or tail in (*terms.axes, *terms.scales)):
        return run, terms.question_of(tail)
    if terms.question is None:
        raise InputError(where, "says not what was asked", cure="name it with --question")
    return item, terms.question_of(terms.question)


def write_alttest_json(ratings: Sequence[Rating], _: Terms) -> str:
    """Annotators, items named ``trajectory__question``, labels as numbers where the scale has them.

    Raises
    ------
    InputError
        A label has no verdict, or a person labelled an item twice.
    """
    annotators: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for label in ratings:
        item = f"{label.item_id}__{label.question}"
        if item in annotators[label.rater]:
            raise InputError("labels", "AltTest holds one label of a person on an item", item)
        annotators[label.rater][item] = label.verdict if label.value is None else _whole(label.value)
    return json.dumps(annotators, ensure_ascii=False, indent=1) + "\n"


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value
