"""Rank sets of names, where 'cannot be told apart' is an answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from axisjudge.results import Result
from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.studies._shared import sentences as words
from axisjudge.studies._shared.frames import Kind, Table, table_of
from axisjudge.studies._shared.words import listed


@dataclass(frozen=True, eq=False)
class Ranking(Result):
    """Names with their rank sets. `subject` says what is ranked and `quantity` by what; rank 1 has the most of it.

    `unit` names what the rank sets take as independent; `share` says that the means are shares.
    """

    _keys = ("subject", "quantity", "names")
    _flat = ("sets",)

    subject: str
    quantity: str
    names: tuple[str, ...]
    sets: RankSets
    kind: Kind = "polars"
    unit: str = "task"
    share: bool = True

    @property
    def first(self) -> tuple[str, ...]:
        """The names that may hold rank 1."""
        return tuple(self.names[j] for j in self.sets.first)

    @property
    def leader(self) -> str:
        """The name with the highest mean and that mean; it need not be told apart from others."""
        top = int(self.sets.order[0])
        return "–" if np.isnan(self.sets.means[top]) else f"{self.names[top]} ({self._worded(self.sets.means[top])})"

    @property
    def answer(self) -> str:
        """What may hold rank 1, in a few words."""
        if self.sets.refusal:
            return f"not ranked: {self.sets.refusal}"
        return "cannot be told apart" if self.sets.tied else listed(self.first, "or")

    def to_frame(self) -> Table:
        """One row a name, highest first."""
        rows = [
            {
                "name": self.names[j],
                self.quantity.replace(" ", "_"): float(self.sets.means[j]),
                "rank_from": int(self.sets.rank_low[j]),
                "rank_to": int(self.sets.rank_high[j]),
                "tasks": self.sets.n_clusters,
            }
            for j in self.sets.order
        ]
        return table_of(rows, self.kind)

    @property
    def observed(self) -> str:
        """The range of the observed means, without whose they are; empty where none is known."""
        known = self.sets.means[~np.isnan(self.sets.means)]
        if not known.size:
            return ""
        low, high = (self._worded(value) for value in (known.min(), known.max()))
        return low if low == high else f"{low} to {high}"

    @property
    def sentence(self) -> str:
        """What the rank sets allow to be said, with the observed range: no name that they do not support."""
        return words.ranking(self.subject, self.quantity, self.names, self.sets, self.observed, self.unit)

    def _worded(self, mean: float) -> str:
        return f"{mean:.0%}" if self.share else f"{mean:.1f}"
