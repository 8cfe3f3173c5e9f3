"""How the labelled items of one question were drawn, as far as their labels agree on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.labels.sampling import LOOKED_AT, with_drawn
from axisjudge.stats.rates.correction import SAMPLING, Sampling


class DrawProblem(StrEnum):
    """Why labels correct nothing although they say how they were drawn."""

    SEVERAL_WAYS = "labels were drawn in several ways ({}): compare them apart"
    TWO_PROBABILITIES = "two labels of {} state different probabilities"
    LOOKED_AT = "no rate follows from items chosen because judges disagree on them"
    OTHER_JUDGE = "labels were drawn by {}, and the probabilities were not recorded"


@dataclass(frozen=True, eq=False)
class Draw:
    """How the labelled items were drawn: the way, the probabilities and the key that decided, where recorded.

    `problem` says why the draw cannot be used, and `detail` of what; `in_full` says that every item is labelled.
    """

    sampling: Sampling
    probability: NDArray[np.float64] | None = None
    key: str | None = None
    problem: DrawProblem | None = None
    detail: str = ""
    in_full: bool = False

    @property
    def chosen(self) -> bool:
        """Whether shares among the labelled items are not those of all items."""
        return not self.in_full and self.sampling in ("by_judge_verdict", "by_key", "by_human_label", *LOOKED_AT)

    @property
    def reason(self) -> str:
        """The problem in words; empty where there is none."""
        return "" if self.problem is None else self.problem.format(self.detail)


def draw_of(labels: pl.DataFrame, items: Sequence[str], sampling: str | None, *, in_full: bool) -> Draw:
    """What labels say of the draw of their items, else what `sampling` says; a full count (`in_full`) needs no draw.

    Raises
    ------
    InputError
        `sampling` is unknown, or against what the labels say.
    """
    given = cast(Sampling, one_of("sampling", sampling or "unknown", SAMPLING))
    if in_full:
        return Draw(given if sampling else "random", in_full=True)
    stated = with_drawn(labels).with_columns(pl.col("drawn").replace("unknown", given))
    if sampling and (other := sorted(set(stated["drawn"]) - {given})):
        cure = "leave sampling out, or import the labels again"
        raise InputError("sampling", f"{given} is not what the labels say of their draw", other[0], cure)
    ways = stated.select("drawn", "drawn_by").unique().sort("drawn", "drawn_by").rows()
    if ways and {way for way, _ in ways} <= set(LOOKED_AT):
        return Draw(ways[0][0], problem=DrawProblem.LOOKED_AT)
    if len(ways) != 1:
        names = ", ".join(sorted({way for way, _ in ways})) or "none"
        return Draw("unknown", problem=DrawProblem.SEVERAL_WAYS, detail=names)
    way, key = ways[0]
    if stated["drawn_probability"].null_count():
        return Draw(way, key=key)
    row_of, probability = {item: row for row, item in enumerate(items)}, np.full(len(items), np.nan)
    for item, value in stated.select("item_id", "drawn_probability").iter_rows():
        if not np.isnan(known := probability[row_of[item]]) and known != value:
            return Draw("unknown", problem=DrawProblem.TWO_PROBABILITIES, detail=item)
        probability[row_of[item]] = value
    return Draw(way, probability, key)
