"""What every statistic returns: an estimate that carries its interval, its sample and the reason where it has none."""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, TypedDict, TypeVar

from axisjudge.results import Result
from axisjudge.stats.clusters import NO_LEAN, Lean


class Ends(NamedTuple):
    """The ends of an interval with their method, or NaN with the reason, as the fields of an `Estimate`."""

    ci_low: float = math.nan
    ci_high: float = math.nan
    method: str = ""
    reason: str = ""


class IntervalTerms(TypedDict):
    """What an interval takes as independent, and its level."""

    cluster_unit: str
    ci_level: float


class CountTerms(IntervalTerms):
    """The same with what an estimate counts."""

    n_items: int
    n_missing: int
    n_clusters: int


def no_interval(reason: str = "") -> str:
    """What stands where an interval would: ``no interval: 3 clusters``, or ``no interval`` without a reason."""
    return f"no interval: {reason}" if reason else "no interval"


def without_interval(why: str) -> Ends:
    """No interval, as a sample of such a kind cannot have one: ``agreement is perfect in the sample: no interval``."""
    return Ends(reason=f"{why}: {no_interval()}")


@dataclass(frozen=True, kw_only=True)
class Estimate(Result):
    """An estimate with its interval.

    `n_items` counts the items that enter the estimate and `n_missing` the ratings (or values) that are not there.
    `cluster_unit` names what the interval takes as independent ("item" where nothing was grouped) and `n_clusters`
    counts it. `method` names the interval's method. Where the estimate or its interval is NaN, `reason` says why.
    """

    estimate: float
    ci_low: float = math.nan
    ci_high: float = math.nan
    ci_level: float = 0.95
    n_items: int
    n_raters: int = 1
    n_missing: int = 0
    n_clusters: int
    cluster_unit: str = "item"
    method: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __str__(self) -> str:
        if math.isnan(self.estimate):
            return f"undefined: {self.reason}"
        interval = no_interval(self.reason) if math.isnan(self.ci_low) else self.interval(".3f")
        return f"{self.estimate:.3f} [{interval}], {many(self.n_items, 'item')} in {self.clusters}"

    @property
    def clusters(self) -> str:
        """The number of clusters with their unit, in words."""
        return many(self.n_clusters, self.cluster_unit)

    @property
    def in_short(self) -> tuple[float, float, float]:
        """Estimate and ends of the interval, for results that hold many."""
        return self.estimate, self.ci_low, self.ci_high

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"

    def interval(self, spec: str = ".2f") -> str:
        """The interval in words, ``0.51 to 0.87`` with the ends as `spec` says, or ``no interval``."""
        return no_interval() if math.isnan(self.ci_low) else f"{self.ci_low:{spec}} to {self.ci_high:{spec}}"

    def worded(self, spec: str = ".2f") -> str:
        """Value and interval, ``0.71 (0.51 to 0.87)``; where there is none, the reason."""
        if math.isnan(self.estimate):
            return f"undefined ({self.reason})"
        interval = no_interval(self.reason) if math.isnan(self.ci_low) else self.interval(spec)
        return f"{self.estimate:{spec}} ({interval})"


def difference_ends(first: Estimate, second: Estimate, correlation: float = 0.0) -> tuple[float, float]:
    """Ends of `first` minus `second` by MOVER; NaN where either has no interval.

    With l and u the ends of each and r the correlation of the two, U = d + sqrt(a^2 + b^2 - 2 r a b) with a = u1 - e1
    and b = e2 - l2, and L = d - the same of a = e1 - l1 and b = u2 - e2.

    References
    ----------
    Zou and Donner (2008), Stat. Med. 27:1693-1702, doi:10.1002/sim.3095.
    """
    gap = first.estimate - second.estimate
    below = first.estimate - first.ci_low, second.ci_high - second.estimate
    above = first.ci_high - first.estimate, second.estimate - second.ci_low
    short, long = (math.sqrt(max(0.0, a * a + b * b - 2 * correlation * a * b)) for a, b in (below, above))
    return gap - short, gap + long


E = TypeVar("E", bound=Estimate)


def nothing_of(estimate: E, reason: str) -> E:
    """The estimate without its value and interval, and why."""
    return replace(estimate, estimate=math.nan, ci_low=math.nan, ci_high=math.nan, reason=reason)


@dataclass(frozen=True, kw_only=True, repr=False)
class NamedEstimate(Estimate):
    """An estimate whose `label` names the coefficient in full: its level, weights or form."""

    label: str


@dataclass(frozen=True, kw_only=True, repr=False)
class ClusteredShare(Estimate):
    """A share with what its interval rests on; as plain values it is an estimate like any other.

    `effective_clusters` is Kish's K, `design_effect` what one item is divided by, `degrees` those of the interval's t
    (NaN where items are independent), `lean` to which side it reaches further.
    """

    _keys = tuple(field.name for field in fields(Estimate))

    effective_clusters: float = math.nan
    design_effect: float = 1.0
    degrees: float = math.nan
    lean: Lean = NO_LEAN


def too_few_clusters(n_clusters: int, fewest: int) -> Ends:
    """No interval, because there are fewer than `fewest` clusters."""
    return Ends(reason=f"{many(n_clusters, 'cluster')}: too few for an interval ({fewest} or more)")


#: Endings of nouns and of their plurals; the first that fits.
_PLURALS = (("person$", "people"), ("is$", "es"), ("([^aeiou])y$", r"\1ies"), ("(s|x|z|ch|sh)$", r"\1es"), ("$", "s"))


def plural(noun: str) -> str:
    """The plural of a noun, or of the last word of several: ``raw scores``, ``people``, ``trajectories``."""
    return next(re.sub(one, several, noun, count=1) for one, several in _PLURALS if re.search(one, noun))


def named(label: str) -> str:
    """A coefficient's label inside a sentence: what follows its comma stands in brackets."""
    name, _, form = label.partition(", ")
    return f"{name} ({form})" if form else name


def many(count: int, noun: str) -> str:
    """A count with its noun: ``1 judge``, ``2,000 runs``, ``3 queries``."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"
