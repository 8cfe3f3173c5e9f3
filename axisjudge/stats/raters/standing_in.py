"""A judge in the alternative annotator test, and beside it the constant judge that does best on the same items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from axisjudge.results import Result, columns
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.raters.alternative_annotator import (
    AlternativeAnnotator,
    Scale,
    alternative_annotator,
    best_constant,
    beyond_constant,
    stand_in,
)


@dataclass(frozen=True, eq=False)
class StandIn(Result):
    """The alternative annotator test of a judge, and of the constant judge that does best on the same items.

    `balanced` and `balanced_constant` weight items so that rare words count as much as common ones. `beyond_constant`
    is how much better the judge matches people than the constant does, item by item.
    """

    _keys = columns(
        "judge constant=constant.in_short balanced=balanced.in_short balanced_constant=balanced_constant.in_short",
        "constant_word beyond_constant=beyond_constant.in_short",
    )

    judge: AlternativeAnnotator
    constant: AlternativeAnnotator
    constant_word: str
    balanced: AlternativeAnnotator
    balanced_constant: AlternativeAnnotator
    beyond_constant: Estimate

    @property
    def refusal(self) -> str:
        """Why 'this judge may stand in for people' may not be claimed; empty where it may."""
        return stand_in(self.judge, self.constant, self.beyond_constant)


def standing_in(
    judge: ArrayLike,
    people: ArrayLike,
    words: Sequence[str],
    *,
    scale: Scale,
    epsilon: float,
    names: Sequence[str],
    clusters: ArrayLike | None,
    cluster_unit: str,
    ci_level: float,
) -> StandIn:
    """Test a judge and the best constant judge, words as they come and with all counting alike.

    `judge` and `people` hold positions in `words`; the rest is as in `alternative_annotator`.
    """
    how: dict[str, Any] = {"scale": scale, "clusters": clusters, "cluster_unit": cluster_unit, "ci_level": ci_level}
    test = partial(alternative_annotator, judge, people, epsilon=epsilon, names=names, **how)
    best = partial(best_constant, judge, people, epsilon=epsilon, names=names, **how)
    word, constant = best()
    return StandIn(
        judge=test(),
        constant=constant,
        constant_word="" if math.isnan(word) else words[int(word)],
        balanced=test(balanced=True),
        balanced_constant=best(balanced=True)[1],
        beyond_constant=beyond_constant(judge, people, word, **how),
    )
