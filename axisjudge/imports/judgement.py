"""One judgement as a file of another tool holds it, and what the person who imports tells of the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from axisjudge.checks import InputError, one_of, shaped
from axisjudge.labels.own import Naming
from axisjudge.ratings.edge import SCHEMA
from axisjudge.ratings.scales import checked_scale, number_of, word_of
from axisjudge.verdict import RaterKind, Status

#: Kinds of raters that may be told; simulated and planted ratings come from here alone.
KINDS = ("llm", "decision_model", "rules", "human")
#: What people's labels alone must say too: how their items were drawn.
DRAW = ("--sampling", "unknown")


class Judgement(NamedTuple):
    """What one rater said of one question about one thing.

    Parameters
    ----------
    where : str
        File and position, for errors.
    thing : str
        What was rated: the id of a run, or ``run#step``.
    question, rater : str or None
        None where the file does not say.
    word : object
        The word or number as the file has it; None where nothing came.
    kind : str, optional
        What the rater is, where the file says it.
    lost : str, optional
        Why no word came, where the file says it.
    fields : mapping
        Further fields of a `Rating` under our names.
    """

    where: str
    thing: str
    question: str | None
    rater: str | None
    word: object
    kind: RaterKind | None = None
    lost: Status | None = None
    fields: Mapping[str, Any] = MappingProxyType({})


#: The columns of judgements in a table, beside further fields of a rating; `row` is null where `where` says it all.
JUDGED = {"where": pl.String, "row": pl.UInt32} | dict.fromkeys(
    ("thing", "question", "rater", "word", "kind", "lost"), pl.String
)
_NOTHING = (None, "")


def judged(judgements: Iterable[Judgement]) -> pl.DataFrame:
    """Judgements as a table (`JUDGED`); `word` is null where nothing came."""
    every = list(judgements)
    own = {name: [getattr(one, name) for one in every] for name in JUDGED if name not in ("row", "word")}
    names = {name: None for one in every for name in one.fields}
    fields = {name: [one.fields.get(name) for one in every] for name in names}
    if "confidence" in fields:
        fields["confidence"] = [share_of(one.where, one.fields.get("confidence")) for one in every]
    words = [word_or_none(one.word) for one in every]
    types = {**JUDGED, **{name: SCHEMA[name] for name in fields}}
    columns = {**own, "row": [None] * len(every), "word": words, **fields}
    for name in (name for name in columns if types[name] == pl.String):
        columns[name] = [cell if cell is None or isinstance(cell, str) else word_of(cell) for cell in columns[name]]
    with shaped(every[0].where if every else ""):
        return pl.DataFrame(columns, schema_overrides=types)


def word_or_none(answer: object) -> str | None:
    """An answer as a word, None where there is none."""
    return None if answer in _NOTHING or answer != answer else word_of(answer) or None


def share_of(where: str, confidence: object) -> float | None:
    """A confidence as a share of 1."""
    if confidence in _NOTHING:
        return None
    number = number_of(confidence)
    if number is None or not 0 <= number <= 1:
        raise InputError(where, "confidence lies in [0, 1]", confidence, "divide by 100, or write 87%")
    return number


def position_of(row: Mapping[str, Any]) -> str:
    """File and position of a row of judgements."""
    return str(row["where"]) if row["row"] is None else f"{row['where']}:{row['row']}"


@dataclass(frozen=True, eq=False)
class ImportedFile:
    """What a file holds: judgements, or ratings that say all themselves; and what must be said aloud of it.

    A table's judgements are a table as well (`judged`), because it may have millions of rows; `columns` says what its
    columns are taken for, and why.
    """

    format: str
    judgements: Sequence[Judgement] | pl.DataFrame = ()
    ratings: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
    columns: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class ImportOptions(Naming):
    """What is told from outside, beside what names stand for (`Naming`).

    Parameters
    ----------
    kind : str, optional
        What the raters are (`KINDS`) of whom neither `kinds` nor the file says it.
    kinds, families : mapping
        The same by rater, and the family of a rater; they win over what a file says.
    rater_column : str, optional
        The column that names the rater.
    columns : mapping
        The file's name of a column -> our field, or ``ignore``.
    question : tuple of str
        What was asked, where the file does not say; where it does, the questions to take.
    missing : tuple of str
        Words that mean that no rating came.
    item : tuple of str
        The columns that together name what was rated.
    where : tuple of str
        ``COLUMN=WORD``: of a table only these rows.
    pass_if : tuple of str
        ``COLUMN >= NUMBER``: from where on a column of numbers passes.
    repeats : bool
        Whether several rows of one item and rater are repeats of one rating.
    sampling, sampling_key : str, optional
        How the items that people labelled were drawn, and by what (`axisjudge.labels.sampling`).
    """

    kind: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    rater_column: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    question: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    item: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    pass_if: tuple[str, ...] = ()
    repeats: bool = False
    sampling: str | None = None
    sampling_key: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "item", tuple(dict.fromkeys(self.item)))  # told twice, as where commands are added up
        for kind in (*([self.kind] if self.kind else []), *self.kinds.values()):
            one_of("--kind", kind, KINDS)
        for question, scale in self.scales.items():
            checked_scale(f"--scale {question}", scale)
        if self.rater and self.rater_column:
            raise InputError("--rater", "stands for a column that is not there", self.rater, "leave out one of the two")

    def with_options(self, options: Sequence[str]) -> ImportOptions:
        """The same with further options of the command ``import``.

        Raises
        ------
        InputError
            They say something else of what raters are.
        """
        more: dict[str, Any] = {}
        names = {
            "--item": "item",
            "--question": "question",
            "--missing": "missing",
            "--where": "where",
            "--pass-if": "pass_if",
        }
        pairs = {"--kind": "kinds", "--column": "columns", "--word-map": "words", "--scale": "scales"}
        words = iter(options)
        for option in words:
            if option == "--repeats":
                more["repeats"] = True
                continue
            text = next(words)
            theirs, equals, ours = text.rpartition("=")
            if option == "--kind" and (self.kinds.get(theirs) if equals else self.kind) not in (None, ours):
                raise InputError(option, "is given already", text)
            if option in names:
                name = names[option]
                more[name] = (*more.get(name, getattr(self, name)), text)
            elif option in pairs and equals:
                name = pairs[option]
                more[name] = {**more.get(name, getattr(self, name)), theirs: ours}
            else:
                more[option.lstrip("-").replace("-", "_")] = text
        return replace(self, **more)
