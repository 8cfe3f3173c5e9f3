"""What a failure profile allows to be said, in sentences that are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from axisjudge.analysis.profiles import FailureProfile, Failures
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.panel import any_judge_rate

#: The specificity at which false failures of a panel are stated, as an orientation.
SPECIFICITY = 0.95


def extremes(profile: FailureProfile, measure: str = "any") -> str:
    """The highest and the lowest cell, and how far undecided verdicts could move the highest."""
    cells = [cell for cell in profile.cells if cell.failures(measure).rate.n_items]
    if not cells:
        return "Nothing was decided, so no rate can be given."
    high, low = (pick(cells, key=lambda cell: cell.failures(measure).rate.estimate) for pick in (max, min))
    top, bottom = high.failures(measure), low.failures(measure)
    equal = [cell for cell in cells if cell.failures(measure).rate.estimate == bottom.rate.estimate]
    least = f"{low.agent} on {low.axis}" if len(equal) == 1 else f"{len(equal)} cells"
    sentence = (
        f"The highest rate is that of {high.agent} on {high.axis}, {counted(top)}; the lowest that of {least}, "
        f"{counted(bottom)}."
    )
    if top.worst - top.best < 1e-9:
        return sentence
    return f"{sentence} Undecided verdicts leave the highest between {top.best:.0%} and {top.worst:.0%}."


def false_failures(profile: FailureProfile) -> str:
    """How many flawless runs a panel of this size would fail if its judges erred independently."""
    n_judges = len(profile.panel.judges)
    rate, six = (any_judge_rate([1 - SPECIFICITY] * n) for n in (n_judges, 6))
    return (
        f"For orientation: {n_judges} independent judges with a specificity of {SPECIFICITY:.2f} each would call "
        f"{rate:.1%} of flawless runs failed on an axis; with 6 judges it would be {six:.0%}."
    )


def counted(failures: Failures) -> str:
    """Count, share and interval: ``17 of 24 runs (71%, 49% to 87%)``."""
    return f"{failures.count} of {failures.rate.n_items} runs ({share(failures.rate)})"


def share(rate: Estimate) -> str:
    """Share and interval: ``71%, 49% to 87%``."""
    interval = "no interval" if math.isnan(rate.ci_low) else f"{rate.ci_low:.0%} to {rate.ci_high:.0%}"
    return f"{rate.estimate:.0%}, {interval}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names as in a sentence: ``a, b and c``."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def p_words(p: float) -> str:
    """A p value as in a sentence; permutations cannot tell smaller ones than .001 apart with certainty."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
