"""Numbers and names as they stand in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from axisjudge.stats.comparisons.reversal import Reversal
from axisjudge.stats.estimate import Estimate, no_interval, plural
from axisjudge.stats.estimate import many as many
from axisjudge.stats.estimate import named as named

#: Letters that names in a row take up at most.
LONGEST_ROW = 300


def agreeing(count: int, noun: str, one: str, several: str) -> str:
    """A count with its noun and a verb that agrees: ``1 run is``, ``2 runs are``."""
    return f"{many(count, noun)} {one if count == 1 else several}"


def sentence_case(text: str) -> str:
    """The text with its first letter large; names further on stay as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def share(rate: Estimate) -> str:
    """Share and interval: ``71%, 49% to 87%``; where there is none, why."""
    return f"not known: {rate.reason}" if math.isnan(rate.estimate) else f"{rate.estimate:.0%}, {rate.interval('.0%')}"


def directed(
    difference: Estimate, more: str = "more", less: str = "less", *, unit: str = "point", spec: str = ".0f"
) -> str:
    """A difference by its direction: ``5 points more (2 to 8)``, ``1 point less (4 less to 2 more)``, or why unknown.

    An interval on one side of zero needs no direction of its own; one that holds zero has one at either end.
    """
    if math.isnan(difference.estimate):
        return f"not known ({difference.reason})"
    size = f"{abs(difference.estimate):{spec}}"
    if float(size.replace(",", "")) == 0:
        head = f"neither {more} nor {less}"
    else:
        head = f"{size}{_unit(unit, size)} {more if difference.estimate > 0 else less}"
    low, high = difference.ci_low, difference.ci_high
    if math.isnan(low):
        return f"{head} ({no_interval(difference.reason)})"
    ends = [_end(bound, spec) for bound in (low, high)]
    if low * high > 0:
        first, second = ends if low > 0 else reversed(ends)
    else:
        ways = zip((low, high), ends, (less, more), strict=True)
        first, second = (f"{end} {way}" if bound else end for bound, end, way in ways)
    return f"{head} ({first} to {second})"


def _end(bound: float, spec: str) -> str:
    """The size of an interval's end; where it would be rounded to zero, which it is not, what it is below."""
    end = f"{abs(bound):{spec}}"
    return f"under {end[:-1]}1" if bound and float(end.replace(",", "")) == 0 else end


def in_points(difference: Estimate) -> Estimate:
    """A difference of shares in percentage points."""
    low, high = 100 * difference.ci_low, 100 * difference.ci_high
    return replace(difference, estimate=100 * difference.estimate, ci_low=low, ci_high=high)


def briefly(estimate: Estimate, spec: str = ".2f") -> str:
    """Value and interval without the reason where either is missing: `reasons` says it once for several."""
    return "undefined" if math.isnan(estimate.estimate) else in_cell(estimate, spec)


def reasons(*estimates: Estimate) -> str:
    """Why values or intervals are missing, each reason once, in brackets; empty where none is missing."""
    missing = dict.fromkeys(one.reason for one in estimates if math.isnan(one.ci_low) and one.reason)
    return f" (no value or no interval: {'; '.join(missing)})" if missing else ""


def by_text(texts: Iterable[tuple[str, str]]) -> list[str]:
    """``a and b: text`` for names of which the same is to be said, names with nothing to be said left out."""
    names: dict[str, list[str]] = {}
    for name, text in texts:
        names.setdefault(text, []).append(name)
    return [f"{listed(of)}: {text}" for text, of in names.items() if text]


def in_cell(estimate: Estimate, spec: str = ".2f") -> str:
    """Value and interval as a cell of a table holds them; a dash where there is no value, and no reasons."""
    if math.isnan(estimate.estimate):
        return "–"
    return f"{estimate.estimate:{spec}}" if math.isnan(estimate.ci_low) else estimate.worded(spec)


def counted(count: int, rate: Estimate) -> str:
    """Count, share and interval: ``17 of 24 runs (71%, 49% to 87%)``."""
    return f"{count} of {many(rate.n_items, 'run')} ({share(rate)})"


def listed(names: Sequence[str], last: str = "and", most: int | None = None) -> str:
    """Names in a row: ``a, b and c``; of more than `most`, or than fit, the first ones, ``a, b and 7 more``."""
    if most is not None and len(names) > (most := fitting(names, most)):
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return f" {last} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def fitting(names: Sequence[str], most: int) -> int:
    """How many of these names stand in a row: `most`, and fewer, two at least, where they would fill a paragraph."""
    return min(most, max(2, sum(end <= LONGEST_ROW for end in accumulate(len(name) + 2 for name in names))))


def p_words(p: float) -> str:
    """A p value; permutations do not resolve much below .001."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _unit(unit: str, size: str) -> str:
    return f" {unit if size == '1' else plural(unit)}" if unit else ""


def overturned(reversal: Reversal) -> str:
    """How many, given otherwise, overturn it: ``3 verdicts``, ``the labels of 2 items or fewer``, or none tried."""
    if reversal.changes is None:
        return "none of those tried"
    of_labels = f"the labels of {many(reversal.changes, 'item')}"
    changes = of_labels if reversal.what == "label" else many(reversal.changes, reversal.what)
    return f"{changes}{'' if reversal.exact else ' or fewer'}"
