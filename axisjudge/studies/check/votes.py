"""Judges and people on the same items, as arrays; what was left out on the way is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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

    def how(self, ci_level: float) -> dict[str, Any]:
        """What every interval takes: the clusters of the items, what a cluster is, and the level."""
        return {"clusters": self.clusters, "cluster_unit": self.unit, "ci_level": ci_level}

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
    spoken, clusters, confidence, n_copies = _rows(table, roles, missing)
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


def _rows(table: CellTable, roles: Roles, missing: frozenset[str]) -> tuple[Spoken, list[str] | None, Floats, int]:
    """Words of each rater by item, clusters, confidences (items x judges), and how many rows repeat another."""
    order: dict[str, int] = {}
    rated: dict[tuple[int, str], tuple[tuple[str | None, str | None], int]] = {}
    clusters: dict[int, str] = {}
    copies: set[int] = set()
    for row, item, rater, cell in _ratings(table, roles):
        index = order.setdefault(item, len(order))
        sure = table.columns[roles.confidence[rater]][row] if rater in roles.confidence else None
        answer = word(cell, missing), sure
        before, earlier = rated.setdefault((index, rater), (answer, row))
        if before != answer:
            one, other = (" at ".join(filter(None, each)) or "nothing" for each in (before, answer))
            rule = f"{rater} rated {item!r} twice, {one} and {other} (rows {earlier + 1} and {row + 1})"
            cure = "keep one question and one repeat, as with --where COLUMN=WORD"
            cure = cure if roles.long else f"keep one; or, if its rows belong together, say --cluster {roles.item}"
            raise InputError(f"column {roles.rater or roles.item!r}", rule, cure=cure)
        copies |= {row} if row != earlier else set()
        if roles.cluster:
            name = _cluster(table.columns[roles.cluster][row], roles.cluster, row)
            if clusters.setdefault(index, name) != name:
                rule = f"puts {item!r} in two clusters, {clusters[index]!r} and {name!r}"
                raise InputError(f"column {roles.cluster!r}", rule, cure="an item belongs to one")
    spoken: Spoken = {name: [None] * len(order) for name in (*roles.judges, *roles.people)}
    confidence = np.full((len(order), len(roles.judges)), np.nan)
    for (index, rater), ((text, sure), row) in rated.items():
        spoken[rater][index] = text
        if rater in roles.confidence:
            confidence[index, roles.judges.index(rater)] = _confidence(sure, roles.confidence[rater], row)
    return spoken, list(clusters.values()) if roles.cluster else None, confidence, len(copies)


def _ratings(table: CellTable, roles: Roles) -> Iterator[tuple[int, str, str, str | None]]:
    """Row, item, rater and cell of each rating; in a wide table a row without a name is an item of its own."""
    raters = (*roles.judges, *roles.people)
    for row in range(table.n_rows):
        item = ((table.columns[roles.item][row] if roles.item else None) or "").strip()
        if not roles.long:
            yield from ((row, item or f"row {row + 1}", rater, table.columns[rater][row]) for rater in raters)
        elif (rater := (table.columns[roles.rater][row] or "").strip()) in raters:
            if not item:
                raise InputError(
                    f"column {roles.item!r}, row {row + 1}", "every rating needs the item that it is about"
                )
            yield row, item, rater, table.columns[roles.value][row]


def _cluster(cell: str | None, column: str, row: int) -> str:
    if cell is None or not cell.strip():
        cure = "fill it in, or say --cluster none"
        raise InputError(f"column {column!r}, row {row + 1}", "every row needs its cluster", cure=cure)
    return cell.strip()


def _confidence(cell: str | None, column: str, row: int) -> float:
    if word(cell) is None or cell is None:
        return float("nan")
    where = f"column {column!r}, row {row + 1}"
    text, of = (cell.strip().removesuffix("%"), 100) if cell.strip().endswith("%") else (cell.strip(), 1)
    try:
        value = float(text.replace(",", ".")) / of
    except ValueError:
        cure = "name another column; an empty cell says that there is none"
        raise InputError(where, "a confidence must be a number", cell, cure) from None
    if not 0 <= value <= 1:
        raise InputError(where, "a confidence must lie in [0, 1]", cell, "divide by 100, or write 87%")
    return value


def _coded(spoken: Spoken, names: Sequence[str], asked: Question) -> Floats:
    code: dict[str | None, float] = {None: float("nan")}
    code.update(asked.code)
    return np.array([[code[text] for text in spoken[name]] for name in names], dtype=np.float64).T
