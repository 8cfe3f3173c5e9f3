"""Where judges are unfair, in words: what differs, and what no difference can be larger than."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from axisjudge.stats.raters.fairness import Fair, StratumFairness
from axisjudge.studies._shared.words import by_text, in_points, listed, many, p_words
from axisjudge.studies.people.fairness import QuestionFairness

_RIGHT = {"sensitivity": "finds failures", "specificity": "spares what people pass"}
#: So many differences are told one by one.
_MOST = 4


def fairness_sentences(fairness: Sequence[QuestionFairness]) -> list[str]:
    """One or two sentences for each question and way of sorting its runs; refusals that are alike together."""
    refused: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for each in fairness:
        if each.refusal:
            refused[each.by, each.refusal].append(each.question)
    lines = [f"By {by} nothing is compared on {listed(questions)}: {why}." for (by, why), questions in refused.items()]
    tried = ((f"{each.question} by {each.by}", _sentence(each)) for each in fairness if not each.refusal)
    return [*by_text(tried), *lines]


def _sentence(each: QuestionFairness) -> str:
    n_tried = sum(one.answer is not Fair.NOT_TRIED for one in each.differences)
    untried = len(each.differences) - n_tried
    rest = f" {many(untried, 'difference')} could not be tried." if untried else ""
    if not n_tried:
        return "no difference could be tried: the strata hold too little."
    if not each.unfair:
        within = f"all that is shown is that no difference is larger than {100 * each.within:.0f} points"
        left = within if each.within < 0.995 else "how large differences are is left open"
        return f"no difference is shown among {many(n_tried, 'comparison')}. That is not fairness: {left}.{rest}"
    largest = sorted(each.unfair, key=lambda one: -abs(one.of.difference.estimate))
    named = "; ".join(_difference(one) for one in largest[:_MOST])
    more = f"; and {len(largest) - _MOST} more" if len(largest) > _MOST else ""
    hold = "holds" if len(largest) == 1 else "hold"
    tried = f"of {many(n_tried, 'difference')} {len(largest)} {hold} after Holm's correction"
    return f"{tried}: {named}{more}.{rest}"


def _difference(one: StratumFairness) -> str:
    gap = in_points(one.of.difference)
    way = "more" if gap.estimate > 0 else "less"
    return (
        f"{one.judge} {_RIGHT[one.measure]} {abs(gap.estimate):.0f} points {way} often in the stratum "
        f"{one.of.stratum} than elsewhere ({p_words(one.p_adjusted)})"
    )


def strata_rates_sentence(fairness: Sequence[QuestionFairness]) -> str:
    """How far failure rates move where each stratum is corrected by its own labels; empty without any."""
    rates = [(each, one) for each in fairness for one in each.rates]
    partly = [(each, one) for each, one in rates if one.together.n_missing]  # where all is labelled nothing can move
    both = [(each, one) for each, one in partly if not math.isnan(one.own_strata.estimate - one.together.estimate)]
    if not both:
        return ""
    each, one = max(both, key=lambda pair: abs(pair[1].own_strata.estimate - pair[1].together.estimate))
    moved = 100 * (one.own_strata.estimate - one.together.estimate)
    return (
        f"Corrected by strata of their own, failure rates move by {abs(moved):.1f} points at most ({one.judge}, "
        f"{each.question}, by {each.by}: {one.together.estimate:.0%} to {one.own_strata.estimate:.0%})."
    )
