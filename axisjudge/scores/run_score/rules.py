"""The rules of the run scorecard: weights, the latency curve, the baseline, tiers; all constants stand here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType
from typing import Any

from axisjudge.checks import InputError
from axisjudge.results import Result

#: Stored with every score; a changed formula has another version.
FORMULA_VERSION = "2"

#: The four components of a score, in the order of the text, with their default weights.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"completion": 0.4, "error_rate": 0.3, "latency": 0.2, "resource_efficiency": 0.1}
)
COMPONENTS = tuple(WEIGHTS)

#: Points of the completion component.
OUTCOMES: Mapping[str, int] = MappingProxyType({"COMPLETED": 100, "BLOCKED": 30, "FAILED": 0})

#: What a component is worth that cannot be computed.
NEUTRAL = 50

#: Lowest score of each tier.
TIERS: Mapping[str, int] = MappingProxyType({"Bronze": 0, "Silver": 40, "Gold": 70, "Elite": 90})
#: A run that was kept and not scored.
UNRANKED = "Unranked"

#: Runs of equal score are put in order by these, first to last.
TIE_BREAKS = (
    "higher completion",
    "higher error_rate",
    "shorter wall time (unknown last)",
    "earlier end (unknown last)",
    "run_id",
)

#: Shares of memory and CPU in resource efficiency.
MEMORY_SHARE, CPU_SHARE = 0.7, 0.3

#: Weights are taken to this many decimals, so that weighted sums are exact and a half is a half.
DECIMALS = 9
_SUM_TOLERANCE = 1e-4


@dataclass(frozen=True)
class ScorecardRules(Result):
    """What may be configured of the formula; as plain values, what is kept beside a score.

    Parameters
    ----------
    weights : mapping of component to float
        All greater than 0, their sum 1 within 1e-4.
    full_at, zero_at : float
        Latency is 100 up to `full_at` times the baseline, 0 from `zero_at` times it on, linear between. A `full_at`
        of 1.0 gives the curve of the original program, where half the typical time is worth no more than the typical.
    window : int
        Completed runs that the rolling baseline is the median of.
    min_samples : int
        With fewer of them there is no baseline.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    full_at: float = 0.5
    zero_at: float = 3.0
    window: int = 20
    min_samples: int = 5

    def __post_init__(self) -> None:
        if sorted(self.weights) != sorted(COMPONENTS):
            raise InputError("weights", f"need one weight for each of {', '.join(COMPONENTS)}", list(self.weights))
        for name, weight in self.weights.items():
            if not (math.isfinite(weight) and weight > 0):
                raise InputError(f"weights.{name}", "must be greater than 0", weight)
        total = math.fsum(self.weights.values())
        if abs(total - 1) > _SUM_TOLERANCE + 1e-12:
            raise InputError("weights", "must sum to 1 (within 0.0001)", total, "divide each by their sum")
        if not 0 <= self.full_at < self.zero_at < math.inf:
            raise InputError("full_at, zero_at", "need 0 <= full_at < zero_at", (self.full_at, self.zero_at))
        if not 1 <= self.min_samples <= self.window:
            raise InputError("min_samples, window", "need 1 <= min_samples <= window", (self.min_samples, self.window))

    @cached_property
    def whole_weights(self) -> tuple[int, ...]:
        """The weights in units of 10^-9, in the order of the components."""
        return tuple(int(round(Decimal(str(self.weights[name])), DECIMALS).scaleb(DECIMALS)) for name in COMPONENTS)

    @cached_property
    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is kept beside a score: the weights, and the rest."""
        rest = self.to_dict()
        return rest.pop("weights"), rest


def tier_of(score: int | None) -> str:
    """The tier of a score; None is Unranked.

    Examples
    --------
    >>> [tier_of(score) for score in (None, 39, 40, 69, 70, 89, 90)]
    ['Unranked', 'Bronze', 'Silver', 'Silver', 'Gold', 'Gold', 'Elite']
    """
    if score is None:
        return UNRANKED
    if not 0 <= score <= 100:
        raise InputError("score", "must lie between 0 and 100", score)
    return [tier for tier, lowest in TIERS.items() if score >= lowest][-1]
