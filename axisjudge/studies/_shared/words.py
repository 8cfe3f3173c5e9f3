"""Numbers and names as they stand in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from axisjudge.stats.comparisons.reversal import Reversal
from axisjudge.stats.estimate import Estimate


def many(count: int, noun: str) -> str:
    """A count with its noun: ``1 judge``, ``2,000 runs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def share(rate: Estimate) -> str:
    """Share and interval: ``71%, 49% to 87%``."""
    return f"{rate.estimate:.0%}, {rate.interval('.0%')}"


def in_points(difference: Estimate) -> Estimate:
    """A difference of shares in percentage points."""
    low, high = 100 * difference.ci_low, 100 * difference.ci_high
    return replace(difference, estimate=100 * difference.estimate, ci_low=low, ci_high=high)


def in_cell(estimate: Estimate, spec: str = ".2f") -> str:
    """Value and interval as a cell of a table holds them; a dash where there is no value, and no reasons."""
    if math.isnan(estimate.estimate):
        return "–"
    return f"{estimate.estimate:{spec}}" if math.isnan(estimate.ci_low) else estimate.worded(spec)


def counted(count: int, rate: Estimate) -> str:
    """Count, share and interval: ``17 of 24 runs (71%, 49% to 87%)``."""
    return f"{count} of {many(rate.n_items, 'run')} ({share(rate)})"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a row: ``a, b and c``."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def p_words(p: float) -> str:
    """A p value; permutations do not resolve much below .001."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def overturned(reversal: Reversal) -> str:
    """How many verdicts, given otherwise, overturn it: ``3 verdicts``, ``3 verdicts or fewer``, or none tried."""
    if reversal.changes is None:
        return "none of those tried"
    return f"{many(reversal.changes, 'verdict')}{'' if reversal.exact else ' or fewer'}"
