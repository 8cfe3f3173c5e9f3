"""What a failure profile allows to be said, in sentences that are computed."""

from __future__ import annotations

from axisjudge.stats.agreement.independent_panel import any_judge_rate
from axisjudge.stats.comparisons.reversal import Reversal
from axisjudge.studies._shared.words import counted, listed, many, overturned
from axisjudge.studies.failures.profiles import FailureProfile

#: The specificity at which false failures of a panel are stated, as an orientation.
SPECIFICITY = 0.95


def extremes(profile: FailureProfile, measure: str = "any") -> str:
    """The highest and the lowest cell, and how far undecided verdicts could move the highest."""
    cells = [cell for cell in profile.cells if cell.failures(measure).rate.n_items]
    if not cells:
        few = "consensus takes two judges" if measure == "consensus" else "nothing was decided"
        return f"No rate can be given: {few}."
    high, low = (pick(cells, key=lambda cell: cell.failures(measure).rate.estimate) for pick in (max, min))
    top, bottom = high.failures(measure), low.failures(measure)
    equal = [cell for cell in cells if cell.failures(measure).rate.estimate == bottom.rate.estimate]
    least = f"that of {low.agent} on {low.axis}, {counted(bottom.count, bottom.rate)}"
    if len(equal) > 1:
        least = f"{bottom.rate.estimate:.0%}, in {len(equal)} cells"
    sentence = (
        f"The highest rate is that of {high.agent} on {high.axis}, {counted(top.count, top.rate)}; the lowest {least}."
    )
    if top.worst - top.best < 1e-9:
        return sentence
    return f"{sentence} Undecided verdicts leave the highest between {top.best:.0%} and {top.worst:.0%}."


def false_failures(profile: FailureProfile) -> str:
    """How many flawless runs a panel of this size would fail if its judges erred independently."""
    n_judges = len(profile.panel.judges)
    rate, six = (any_judge_rate([1 - SPECIFICITY] * n) for n in (n_judges, 6))
    return (
        f"For orientation: {many(n_judges, 'independent judge')} with a specificity of {SPECIFICITY:.2f} would call "
        f"{rate:.1%} of flawless runs failed on an axis; with 6 judges it would be {six:.0%}."
    )


def rank_reversals(axes: Reversal | None, agents: Reversal | None) -> str:
    """How many verdicts would change what may hold rank 1; empty where nothing is told apart."""
    told = [
        f"which {of} may fail most hangs on {overturned(reversal)}, given otherwise"
        for of, reversal in (("axes", axes), ("agents", agents))
        if reversal is not None
    ]
    return f"By any judge, {listed(told)}." if told else ""
