"""Annotations of the alternative annotator test: ``{annotator: {item: label}}``.

An item that ends in ``__axis`` (or a name of the axis map) is that question about the item before it; other items are
answers to the one question that is told. Two files as the test's own sets have them say all of this themselves, and
`axisjudge.imports` reads them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axisjudge.checks import InputError
from axisjudge.labels.alttest import is_annotations
from axisjudge.labels.formats.terms import Read, Terms, by_person, finished, item_of
from axisjudge.labels.reading import read_json
from axisjudge.verdict import AXES, Rating


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
