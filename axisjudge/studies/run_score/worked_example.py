"""The worked example of the published text, computed by our rules, and the tiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from axisjudge.results import Result
from axisjudge.scores.run_score import COMPONENTS, TIERS, ScorecardRules, tier_of
from axisjudge.scores.run_score.components import weighted_score
from axisjudge.scores.run_score.score import DEFAULT
from axisjudge.studies.run_score import sentences as say

#: Four components as published, with the score and the tier that the text gives them.
COMPONENTS_PUBLISHED: Mapping[str, int] = dict(zip(COMPONENTS, (100, 85, 72, 93), strict=True))
SCORE_PUBLISHED, TIER_PUBLISHED = 89, "Gold"


@dataclass(frozen=True)
class WorkedExample(Result):
    """One run from its components to its score and tier; `exact` is the sum before it is rounded."""

    of_ratings: ClassVar[bool] = False  # figures of the text; a page's banner does not concern them
    _keys: ClassVar = ("components", "weights", "exact", "score", "tier", "sentence")

    components: Mapping[str, int]
    weights: Mapping[str, float]
    score: int
    tier: str

    @property
    def exact(self) -> float:
        """The weighted sum before it is rounded."""
        return round(sum(self.weights[name] * points for name, points in self.components.items()), 9)

    def to_frame(self) -> pl.DataFrame:
        """One row a component: points, weight, and what it adds."""
        rows: list[dict[str, Any]] = [
            {"component": name, "points": points, "weight": self.weights[name], "adds": self.weights[name] * points}
            for name, points in self.components.items()
        ]
        return pl.DataFrame(rows)

    @property
    def sentence(self) -> str:
        """The sum, the score and the tier."""
        published = self.components == COMPONENTS_PUBLISHED
        as_printed = (self.score, self.tier) == (SCORE_PUBLISHED, TIER_PUBLISHED) if published else None
        return say.worked(self.exact, self.score, self.tier, as_printed)


def worked_example(
    components: Mapping[str, int] = COMPONENTS_PUBLISHED, *, rules: ScorecardRules = DEFAULT
) -> WorkedExample:
    """One run by the rules: its four components (0 to 100), by default those of the published text."""
    score = int(weighted_score([components[name] for name in COMPONENTS], rules.whole_weights))
    return WorkedExample(dict(components), dict(rules.weights), score, tier_of(score))


def tier_table() -> pl.DataFrame:
    """One row a tier: the scores that stand in it, best first."""
    lowest = sorted(TIERS.items(), key=lambda tier: -tier[1])
    highest = [100, *(low - 1 for _, low in lowest)]
    rows = [{"tier": name, "from": low, "to": high} for (name, low), high in zip(lowest, highest, strict=False)]
    return pl.DataFrame(rows)
