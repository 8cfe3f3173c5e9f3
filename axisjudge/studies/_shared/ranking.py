"""Rank sets of names, where 'cannot be told apart' is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from axisjudge.figures.marks import at_the_right, named_rows
from axisjudge.figures.theme import ACCENT, QUIET, SMALL, describe, dress, grid, in_words, new_axes
from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.studies._shared import sentences as words
from axisjudge.studies._shared.frames import Kind, Table, table_of
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import listed, many, sentence_case

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Ranking(Part, caption="Ranks that each may hold"):
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
    def briefly(self) -> str:
        """What may hold rank 1, in a few words."""
        if self.sets.refusal:
            return f"not ranked: {self.sets.refusal}"
        if self.sets.tied:
            return "some differ, which is not shown" if self.sets.differ else "cannot be told apart"
        return listed(self.first, "or")

    @property
    def table(self) -> Table:
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
    def answer(self) -> str:
        """What the rank sets allow to be said, with the observed range: no name that they do not support."""
        return words.ranking(self.subject, self.quantity, self.names, self.sets, self.observed, self.unit)

    def plot(self, ax: Axes | None = None) -> Axes:
        """For each name the ranks it may hold, its place by the point estimate, and the estimate itself in words.

        Empty where nothing can be ranked: an order by point estimates would say what the ranking refuses to say.
        """
        sets = self.sets
        count = len(self.names)
        ax = new_axes(7.0, 1.1 + 0.4 * count) if ax is None else ax
        for index, j in enumerate(() if sets.refusal else sets.order):
            ax.plot([sets.rank_low[j], sets.rank_high[j]], [index, index], color=ACCENT, linewidth=7, alpha=0.25)
            ax.plot(index + 1, index, "o", color=ACCENT, markersize=8)
            at_the_right(ax, index, "–" if np.isnan(sets.means[j]) else f"{sets.means[j]:.0%}")
        named_rows(ax, [in_words(self.names[j]) for j in sets.order])
        ax.set_xticks(range(1, count + 1, 1 + count // 16))
        ax.set_xlim(0.6, count + 0.4)
        grid(ax)
        ax.set_xlabel(
            f"rank by {self.quantity} (1 = highest); at the right the rate itself", fontsize=SMALL, color=QUIET
        )
        note = sets.refusal or f"bars: {sets.ci_level:.0%} rank sets, all together; {many(sets.n_clusters, 'task')}"
        subject = sentence_case(self.subject)
        dress(ax, f"{subject}: possible ranks", note)
        of = many(sets.n_clusters, "task")
        meaning = f"of {of}; dots: ranks by the observed rate, bars: all ranks that cannot be excluded"
        describe(
            ax,
            note if sets.refusal else f"{sets.ci_level:.0%} intervals of ranks, all together, by sign flips {meaning}",
        )
        return ax

    def _worded(self, mean: float) -> str:
        return f"{mean:.0%}" if self.share else f"{mean:.1f}"
