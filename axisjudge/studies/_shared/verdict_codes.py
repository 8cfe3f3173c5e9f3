"""Verdicts of one question as numbers, ready for a coefficient of agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.ratings import RatingMatrix
from axisjudge.ratings.counts import PatternCounts, cluster_unit_of
from axisjudge.stats.agreement.undecided import set_aside

#: Verdicts that take no side.
UNDECIDED = ("uncertain", "not_applicable")


class Groups(TypedDict):
    """Which items belong together; None where each stands alone."""

    clusters: NDArray[np.integer] | None
    cluster_unit: str


class Codes(Groups):
    """Which numbers a coefficient may meet, and which items belong together."""

    categories: list[float]


@dataclass(frozen=True, eq=False)
class CodedVerdicts:
    """Verdicts of one question as numbers, ready for a coefficient.

    `codes` are items x raters (of counts patterns x raters), `decided` the same with NaN for `undecided` words;
    `clusters` are those of items (of rows of counts), and count from 1.
    """

    codes: NDArray[np.float64]
    decided: NDArray[np.float64]
    sided: list[float]
    undecided: list[float]
    categories: list[float]
    clusters: NDArray[np.integer]
    cluster_unit: str

    @property
    def n_clusters(self) -> int:
        """How many clusters the items come from."""
        return int(self.clusters.max())

    @property
    def groups(self) -> Groups:
        """Arguments of any estimate: clusters, none where each item is its own."""
        return {"clusters": None if self.cluster_unit == "item" else self.clusters, "cluster_unit": self.cluster_unit}

    @property
    def how(self) -> Codes:
        """Arguments of a coefficient: categories and clusters."""
        return {"categories": self.categories, **self.groups}


def code_counts(counts: PatternCounts, uncertain: str) -> CodedVerdicts:
    """Verdicts of one question as numbers; `uncertain` and `not_applicable` as categories of their own, or left out."""
    return _coded(counts.codes, counts.categories, counts.clusters, counts.cluster_unit, uncertain)


def code_verdicts(table: pl.DataFrame, matrix: RatingMatrix, uncertain: str) -> CodedVerdicts:
    """The same item by item, in the matrix's order, for what needs more of an item than its verdicts."""
    clusters = pl.Series(matrix.clusters).rank("dense").to_numpy().astype(np.intp) - 1
    unit = cluster_unit_of(table) if clusters.max() + 1 < len(matrix.items) else "item"
    return _coded(matrix.codes, matrix.categories, clusters, unit, uncertain)


def _coded(
    codes: NDArray[np.float64],
    categories: Sequence[str],
    clusters: NDArray[np.integer],
    cluster_unit: str,
    uncertain: str,
) -> CodedVerdicts:
    undecided = [float(code) for code, word in enumerate(categories) if word in UNDECIDED]
    sided = [float(code) for code in range(len(categories)) if float(code) not in undecided]
    decided = set_aside(codes, undecided)
    excluded = uncertain == "exclude"
    return CodedVerdicts(
        codes=decided if excluded else codes,
        decided=decided,
        sided=sided,
        undecided=undecided,
        categories=sided if excluded else [*sided, *undecided],
        clusters=clusters + 1,
        cluster_unit=cluster_unit,
    )
