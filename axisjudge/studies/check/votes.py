"""Judges and people on the same items, as arrays; what was left out on the way is counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.stats.raters.reference import majority
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies.check.columns import Roles
from axisjudge.studies.check.reading import CellTable
from axisjudge.studies.check.words import Question, question, word

Spoken = dict[str, list[str | None]]

_NOUNS = {"run": "run", "trajectory": "run", "trace": "run", "step": "step", "sample": "sample"}


@dataclass(frozen=True, eq=False)
class Votes:
    """What judges and people said of the same items.

    `ratings` (items x judges) and `labels` (items x people) hold codes of `question`, NaN where none; `reference` is
    what people said together (the majority of several; NaN where they are tied). `clusters` says which items belong
    together, None where every row is on its own; `unit` is what a cluster is and `noun` what an item is.
    """

    judges: tuple[str, ...]
    people: tuple[str, ...]
    question: Question
    ratings: Floats
    labels: Floats
    reference: Floats
    confidence: Floats
    clusters: NDArray[Any] | None
    unit: str
    noun: str
    n_copies: int
    n_tied: int

    @property
    def n_items(self) -> int:
        """How many items there are, labelled or not."""
        return int(self.reference.size)

    @property
    def n_labelled(self) -> int:
        """How many items have people's word."""
        return int(self.labelled.sum())

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which items people labelled."""
        return ~np.isnan(self.reference)

    @property
    def in_full(self) -> bool:
        """Whether people looked at every item, though their words may be tied."""
        return not self.n_unseen

    @property
    def n_unseen(self) -> int:
        """How many items nobody labelled."""
        return int(np.isnan(self.labels).all(axis=1).sum())

    @property
    def cluster_sizes(self) -> NDArray[np.intp]:
        """How many items each cluster has."""
        if self.clusters is None:
            return np.ones(self.n_items, dtype=np.intp)
        return np.asarray(np.unique(self.clusters, return_counts=True)[1], dtype=np.intp)

    @property
    def n_clusters(self) -> int:
        """How many clusters the items come from."""
        return int(self.cluster_sizes.size)


def votes_of(table: CellTable, roles: Roles, *, words: Sequence[str], positive: str, missing: frozenset[str]) -> Votes:
    """Arrays of a table whose columns are known.

    Raises
    ------
    InputError
        Words that cannot be read, items that stand twice with different ratings, a confidence outside [0, 1].
    """
    rows = _long_rows(table, roles, missing) if roles.long else _wide_rows(table, roles, missing)
    spoken, clusters, confidence, n_copies = rows
    asked = question(spoken, people=roles.people, words=words, positive=positive)
    labels = _coded(spoken, roles.people, asked)
    reference = majority(labels, len(asked.words))
    unit = re.sub(r"[\W_]*(id|index|name)$", "", roles.cluster, flags=re.IGNORECASE) or roles.cluster
    return Votes(
        judges=roles.judges,
        people=roles.people,
        question=asked,
        ratings=_coded(spoken, roles.judges, asked),
        labels=labels,
        reference=reference,
        confidence=confidence,
        clusters=None if clusters is None else np.array(clusters),
        unit=unit.replace("_", " ").casefold() if roles.cluster else "item",
        noun=next((noun for part, noun in _NOUNS.items() if part in roles.item.casefold().split("_")), "item"),
        n_copies=n_copies,
        n_tied=int((np.isnan(reference) & ~np.isnan(labels).all(axis=1)).sum()),
    )


Rows = tuple[Spoken, list[str] | None, Floats, int]


def _wide_rows(table: CellTable, roles: Roles, missing: frozenset[str]) -> Rows:
    raters = (*roles.judges, *roles.people)
    kept = list(range(table.n_rows))
    read = (*raters, *roles.confidence.values(), *([roles.cluster] if roles.cluster else []))
    if roles.item:
        first: dict[str, int] = {}
        for row, item in enumerate(table.columns[roles.item]):
            if item is None or not item.strip():
                continue
            before = first.setdefault(item.strip(), row)
            if before == row:
                continue
            if any((table.columns[name][before] or "") != (table.columns[name][row] or "") for name in read):
                rule = f"names two different rows, {before + 1} and {row + 1}"
                cure = f"keep one; or, if its rows belong together, say --cluster {roles.item}"
                raise InputError(f"column {roles.item!r}", rule, item, cure)
        copies = set(range(table.n_rows)) - set(first.values())
        kept = [row for row in kept if row not in copies or not (table.columns[roles.item][row] or "").strip()]
    spoken = {name: [word(table.columns[name][row], missing) for row in kept] for name in raters}
    clusters = None
    if roles.cluster:
        clusters = [_cluster(table.columns[roles.cluster][row], roles.cluster, row) for row in kept]
    confidence = np.full((len(kept), len(roles.judges)), np.nan)
    for judge, name in roles.confidence.items():
        cells = table.columns[name]
        confidence[:, roles.judges.index(judge)] = [_confidence(cells[row], name, row) for row in kept]
    return spoken, clusters, confidence, table.n_rows - len(kept)


def _long_rows(table: CellTable, roles: Roles, missing: frozenset[str]) -> Rows:
    raters = (*roles.judges, *roles.people)
    items, who, values = (table.columns[name] for name in (roles.item, roles.rater, roles.value))
    order: dict[str, int] = {}
    said: dict[tuple[int, str], tuple[str | None, int]] = {}
    n_copies = 0
    for row, (item, rater, cell) in enumerate(zip(items, who, values, strict=True)):
        name = (rater or "").strip()
        if name not in raters:
            continue
        if item is None or not item.strip():
            raise InputError(f"column {roles.item!r}, row {row + 1}", "every rating needs the item that it is about")
        key = order.setdefault(item.strip(), len(order)), name
        text = word(cell, missing)
        if key in said:
            before, earlier = said[key]
            if before != text:
                rule = f"{name} rated {item!r} twice, {before!r} and {text!r} (rows {earlier + 1} and {row + 1})"
                cure = "keep one question and one repeat, as with --where COLUMN=WORD"
                raise InputError(f"column {roles.rater!r}", rule, cure=cure)
            n_copies += 1
        said[key] = text, row
    spoken: Spoken = {name: [said.get((item, name), (None, 0))[0] for item in range(len(order))] for name in raters}
    clusters = _long_clusters(table, roles, order)
    confidence = np.full((len(order), len(roles.judges)), np.nan)
    for (place, name), (_, row) in said.items():
        if name in roles.confidence:
            column = roles.confidence[name]
            confidence[place, roles.judges.index(name)] = _confidence(table.columns[column][row], column, row)
    return spoken, clusters, confidence, n_copies


def _long_clusters(table: CellTable, roles: Roles, order: dict[str, int]) -> list[str] | None:
    if not roles.cluster:
        return None
    found: dict[int, str] = {}
    for row, (item, cell) in enumerate(zip(table.columns[roles.item], table.columns[roles.cluster], strict=True)):
        place = order.get((item or "").strip())
        if place is not None:
            name = _cluster(cell, roles.cluster, row)
            if found.setdefault(place, name) != name:
                rule = f"puts {item!r} in two clusters, {found[place]!r} and {name!r}"
                raise InputError(f"column {roles.cluster!r}", rule, cure="an item belongs to one")
    return [found[place] for place in range(len(order))]


def _cluster(cell: str | None, column: str, row: int) -> str:
    if cell is None or not cell.strip():
        cure = "fill it in, or say --cluster none"
        raise InputError(f"column {column!r}, row {row + 1}", "every row needs its cluster", cure=cure)
    return cell.strip()


def _confidence(cell: str | None, column: str, row: int) -> float:
    if word(cell) is None or cell is None:
        return float("nan")
    where = f"column {column!r}, row {row + 1}"
    try:
        value = float(cell.strip().replace(",", "."))
    except ValueError:
        raise InputError(where, "a confidence must be a number", cell) from None
    if not 0 <= value <= 1:
        raise InputError(where, "a confidence must lie in [0, 1]", cell, "divide percentages by 100")
    return value


def _coded(spoken: Spoken, names: Sequence[str], asked: Question) -> Floats:
    code: dict[str | None, float] = {None: float("nan")}
    code.update(asked.code)
    return np.array([[code[text] for text in spoken[name]] for name in names], dtype=np.float64).T
