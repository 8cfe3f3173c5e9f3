"""One judgement as a file of another tool holds it, before its word stands on a scale of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from axisjudge.verdict import RaterKind, Status


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


@dataclass(frozen=True)
class ImportedFile:
    """What a file holds: judgements, or ratings that say all themselves; and what must be said aloud of it."""

    format: str
    judgements: tuple[Judgement, ...] = ()
    ratings: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
