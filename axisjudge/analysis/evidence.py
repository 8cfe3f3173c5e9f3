"""What judges say of one run, and how far they point to the same steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from axisjudge.analysis.words import many


@dataclass(frozen=True)
class Said:
    """One judge's word on one axis; `verdict` is None where it was lost, and `status` says how."""

    axis: str
    judge: str
    family: str
    status: str
    verdict: str | None
    confidence: float | None
    cited: tuple[int, ...]
    invalid: tuple[int, ...]
    rationale: str

    @property
    def word(self) -> str:
        """The verdict, or why there is none."""
        return self.verdict or f"lost ({self.status})"


@dataclass(frozen=True)
class Overlap:
    """Two judges on one axis: the steps that both cite, and the share of these among all that either cites."""

    axis: str
    judges: tuple[str, str]
    same_verdict: bool
    shared: tuple[int, ...]
    n_either: int
    jaccard: float


def overlaps(said: Sequence[Said]) -> tuple[Overlap, ...]:
    """The overlap of each two judges on each axis; a lost verdict has no evidence to overlap."""
    pairs = [
        (one, other)
        for one, other in combinations(said, 2)
        if one.axis == other.axis and one.verdict is not None and other.verdict is not None
    ]
    return tuple(
        Overlap(
            axis=one.axis,
            judges=(one.judge, other.judge),
            same_verdict=one.verdict == other.verdict,
            shared=tuple(sorted(set(one.cited) & set(other.cited))),
            n_either=len(set(one.cited) | set(other.cited)),
            jaccard=_jaccard(set(one.cited), set(other.cited)),
        )
        for one, other in pairs
    )


def _jaccard(one: set[int], other: set[int]) -> float:
    """Shared over all; NaN where neither cites anything."""
    return len(one & other) / len(one | other) if one | other else math.nan


def overlap_sentence(pairs: Sequence[Overlap]) -> str:
    """How often judges of one verdict cite a common step, and how often they agree on the verdict alone."""
    if not pairs:
        return "No axis has verdicts of two judges, so there is no evidence to share."
    agree = [pair for pair in pairs if pair.same_verdict]
    if not agree:
        return "No two judges give the same verdict on an axis, so there is no shared evidence to look for."
    grounded = [pair for pair in agree if pair.shared]
    alone = sorted(
        {pair.axis for pair in agree if not pair.shared and pair.n_either}, key=[p.axis for p in pairs].index
    )
    said = f"Of {many(len(agree), 'pair')} of equal verdicts {len(grounded)} cite a common step."
    return f"{said} Agreement without a common step: {', '.join(alone)}." if alone else said
