"""What every statistic returns: an estimate with its interval and sample; the register of quantities, and
requirements on bounds.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, fields, replace
from typing import Literal, NamedTuple, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.results import Result, written
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


def counts_of(
    clusters: ArrayLike | None, cluster_unit: str, ci_level: float, *, n_items: int, n_missing: int, n_clusters: int
) -> CountTerms:
    """What an estimate counts; without `clusters` every item is its own."""
    unit = "item" if clusters is None else cluster_unit
    return CountTerms(ci_level=ci_level, n_items=n_items, n_missing=n_missing, n_clusters=n_clusters, cluster_unit=unit)


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
    counts it. `method` names the interval's method. Where the estimate or its interval is NaN, `reason` says why: of
    what a sample shows in part there are ends without an estimate.
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
            return f"{self._without_value('.3f')}: {self.reason}"
        interval = no_interval(self.reason) if math.isnan(self.ci_low) else self.interval(".3f")
        return f"{self.estimate:z.3f} [{interval}], {many(self.n_items, 'item')} in {self.clusters}"

    @property
    def clusters(self) -> str:
        """The number of clusters with their unit, in words."""
        return many_clusters(self.n_clusters, self.cluster_unit)

    @property
    def in_short(self) -> tuple[float, float, float]:
        """Estimate and ends of the interval, for results that hold many."""
        return self.estimate, self.ci_low, self.ci_high

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"

    def interval(self, spec: str = ".2f") -> str:
        """The interval in words, ``0.51 to 0.87`` with the ends as `spec` says, or ``no interval``."""
        return (
            no_interval() if math.isnan(self.ci_low) else " to ".join(written(end, spec) for end in self.in_short[1:])
        )

    def _without_value(self, spec: str) -> str:
        return "undefined" if math.isnan(self.ci_low) else f"within {self.interval(spec)}"

    def worded(self, spec: str = ".2f") -> str:
        """Value and interval, ``0.71 (0.51 to 0.87)``; where there is none, the reason."""
        if math.isnan(self.estimate):
            return f"{self._without_value(spec)} ({self.reason})"
        interval = no_interval(self.reason) if math.isnan(self.ci_low) else self.interval(spec)
        return f"{written(self.estimate, spec)} ({interval})"


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
    squares = (a * a + b * b - 2 * correlation * a * b for a, b in (below, above))
    short, long = (math.sqrt(max(square, 0.0)) for square in squares)  # max(nan, 0.0) is NaN, max(0.0, nan) is 0
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


def many_clusters(count: int, unit: str) -> str:
    """A count of clusters with their unit: ``20 tasks``, ``6 clusters by task and day``."""
    return f"{many(count, 'cluster')} by {unit}" if " and " in unit else many(count, unit)


# The register of quantities: one name, one formula, one denominator, one set of words for each.
# Pages and commands take a quantity's words from `QUANTITIES` and its value from the function that it names, and the
# reference prints it, so that two pages cannot mean two things by one word. A word that takes no side (`uncertain`),
# one that says that the question does not arise (`not_applicable`) and a lost verdict are in no denominator of
# verdicts; they stand beside it. A rate of items has all items in it: one to which the question does not apply fails
# nothing.

Floats = NDArray[np.float64]

#: Words of the axes' scale that take no side.
UNDECIDED = ("uncertain", "not_applicable")
#: How a decided word counts in a failure rate; on the scale ``step`` -1 is failure. All other words take no side.
FAILED = {"incorrect": 1.0, "correct": 0.0, "-1": 1.0, "0": 0.0, "+1": 0.0}


class Quantity(NamedTuple):
    """One quantity: what pages call it, its formula, what it is a share of, and the function that computes it."""

    words: str
    formula: str
    denominator: str
    function: str


_HERE = "axisjudge.stats.estimate"

#: Every quantity whose definition two pages could take differently, by name.
QUANTITIES = {
    "failure_rate": Quantity(
        "failure rate",
        "incorrect / (correct + incorrect)",
        "verdicts of one judge that say correct or incorrect",
        f"{_HERE}.FAILED",
    ),
    "corrected_rate": Quantity(
        "corrected failure rate",
        "sum over verdicts v of share of v x P(people say incorrect | v); none and no side are verdicts here",
        "items that the judge was asked; one that people call not_applicable fails nothing",
        "axisjudge.stats.correction.corrected_rate",
    ),
    "any": Quantity(
        "any-judge failure rate",
        "runs on which a judge says incorrect / runs on which a judge decides",
        "runs on which one judge or more decides",
        f"{_HERE}.any_fails",
    ),
    "consensus": Quantity(
        "consensus failure rate",
        "runs on which all that decide say incorrect / runs on which two or more decide",
        "runs on which two judges or more decide",
        f"{_HERE}.all_fail",
    ),
    "majority_accuracy": Quantity(
        "accuracy of the majority",
        "mean over items of [label among the commonest words] / number of commonest words",
        "labelled items on which a judge decides",
        f"{_HERE}.majority_right",
    ),
    "split": Quantity(
        "items on which judges are split",
        "items with two decided words or more that differ",
        "items on which two judges or more decide",
        f"{_HERE}.split",
    ),
    "agreement_sure": Quantity(
        "agreement where all that decide are sure",
        "items with one word / items, of those on which every confidence reaches its judge's quantile",
        "items on which two judges or more decide with a confidence",
        "axisjudge.stats.escalation.triage",
    ),
    "soft_agreement": Quantity(
        "soft agreement",
        "1 - sum |b1 - b2| / (1/n) sum sum |b1 - b2|; belief b is 1/2 of uncertain, missing of not_applicable",
        "items on which both give a verdict and a confidence",
        "axisjudge.stats.agreement.soft.soft_agreement",
    ),
    "case_weighted": Quantity(
        "case-weighted agreement",
        "a coefficient with items weighted by the product of normalised confidences",
        "items on which both decide with a confidence",
        "axisjudge.stats.agreement.soft.case_weighted",
    ),
    "balanced_accuracy": Quantity(
        "balanced accuracy",
        "mean over declared words w of P(judge says w | people say w)",
        "labelled items on which the judge decides; undefined where a declared word has no item",
        "axisjudge.stats.reference.balanced_accuracy",
    ),
    "gain": Quantity(
        "gain",
        "share of items right with one less share right with the other, item by item",
        "labelled items; one without an answer is wrong",
        "axisjudge.stats.clustered.paired_share_difference",
    ),
    "effective_judges": Quantity(
        "effective number of judges",
        "k / (1 + (k - 1) mean correlation of errors)",
        "labelled items on which the judges decide",
        "axisjudge.stats.agreement.effective.effective_judges",
    ),
}


def any_fails(incorrect: ArrayLike) -> Floats:
    """1 where a judge says incorrect, 0 where one decides otherwise and none says so; NaN where none decides.

    Parameters
    ----------
    incorrect : array, shape (..., n_judges)
        1 where a judge says incorrect, 0 where it says correct, NaN where it takes no side.
    """
    return np.asarray(np.fmax.reduce(np.asarray(incorrect, dtype=np.float64), axis=-1))


def all_fail(incorrect: ArrayLike) -> Floats:
    """1 where all judges that decide say incorrect, 0 where one decides otherwise; NaN where fewer than two decide.

    Examples
    --------
    >>> all_fail([[1, 1, np.nan], [1, 0, 0], [0, np.nan, np.nan]])
    array([ 1.,  0., nan])
    """
    votes = np.asarray(incorrect, dtype=np.float64)
    return np.where((~np.isnan(votes)).sum(axis=-1) >= 2, np.fmin.reduce(votes, axis=-1), np.nan)


def majority_right(words: ArrayLike, labels: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """How far the commonest decided word of each item is its label, and where several are as common.

    Parameters
    ----------
    words : array, shape (n_items, n_judges)
        NaN where a judge takes no side.
    labels : array, shape (n_items,)

    Returns
    -------
    right, tied : array, shape (n_items,)
        A word that is one of two commonest is right by a half. NaN where nobody decides or nobody labelled.

    Examples
    --------
    >>> majority_right([[1, 1, 0], [0, 1, np.nan]], [1, 1])
    (array([1. , 0.5]), array([False,  True]))
    """
    verdict, truth = np.asarray(words, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    known = np.unique(np.concatenate([verdict[~np.isnan(verdict)], truth[~np.isnan(truth)]]))
    votes = (verdict[:, :, None] == known).sum(axis=1)
    return shared_hits(np.where(votes.any(axis=1)[:, None], votes, np.nan), np.searchsorted(known, truth), truth)


def shared_hits(scores: ArrayLike, position: NDArray[np.intp], labels: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """How far the word with the highest score is the label, a tie shared, and where there is a tie.

    Parameters
    ----------
    scores : array, shape (n_items, n_words)
        NaN rows have no word.
    position : array of int, shape (n_items,)
        The column of each item's label; any where `labels` is NaN.
    labels : array, shape (n_items,)
    """
    score = np.asarray(scores, dtype=np.float64)
    given = ~np.isnan(score).any(axis=1) & ~np.isnan(np.asarray(labels, dtype=np.float64))
    top = score == score.max(axis=1, keepdims=True, initial=-np.inf)
    at = np.clip(position, 0, score.shape[1] - 1)
    right = top[np.arange(len(score)), at] / np.maximum(top.sum(axis=1), 1)
    return np.where(given, right, np.nan), given & (top.sum(axis=1) > 1)


def split(words: ArrayLike) -> NDArray[np.bool_]:
    """Where two judges that decide give different words."""
    verdict = np.asarray(words, dtype=np.float64)
    return np.asarray(np.fmin.reduce(verdict, axis=1) < np.fmax.reduce(verdict, axis=1))


# Requirements decided on the bound that counts: met, short of it, or too few labels to tell.

Outcome = Literal["met", "short", "cannot_tell"]
#: By which names a requirement may be of a judge, what a decision calls it, and its estimates (None: not measured).
Measured = tuple[tuple[str, ...], str, Callable[[str], Estimate | None]]
#: Exit codes of commands, the worst of all decisions.
EXIT = {"met": 0, "short": 1, "cannot_tell": 4}


@dataclass(frozen=True)
class Decision:
    """One requirement of one judge, and the interval that decided: of several decisions one that holds for all."""

    requirement: str
    judge: str
    outcome: Outcome
    estimate: float
    ci_low: float
    ci_high: float
    reason: str = ""
    ci_level: float = 0.95

    def sentence(self) -> str:
        """What was required, what is known; the level of the interval where it is another than usual."""
        if math.isnan(self.ci_low):
            known = no_interval(self.reason)
        else:
            sure = "" if math.isclose(self.ci_level, 0.95) else f" at {100 * self.ci_level:.3g}%"
            known = f"{self.estimate:z.3f}, {self.ci_low:z.3f} to {self.ci_high:z.3f}{sure}"
        outcome = {"met": "met", "short": "fell short", "cannot_tell": "too few labels to tell"}[self.outcome]
        return f"{self.judge}: {self.requirement}: {outcome} ({known})"


class Requirement(NamedTuple):
    """``MEASURE>=NUMBER`` or ``NAME.MEASURE>=NUMBER``, read; `of` is the name or None."""

    text: str
    of: str | None
    measure: str
    sign: str
    number: float

    def decided(self, judge: str, known: Estimate) -> Decision:
        """Met when the lower bound reaches the number, short of it when the upper one does not; `<=` the reverse."""
        low, high = known.ci_low, known.ci_high
        reached, missed = (low >= self.number, high < self.number)
        if self.sign == "<=":
            reached, missed = (high <= self.number, low > self.number)
        outcome: Outcome = "met" if reached else "short" if missed else "cannot_tell"  # NaN decides nothing
        return Decision(self.text, judge, outcome, known.estimate, low, high, known.reason, known.ci_level)


def requirement_of(text: str, measures: Collection[str]) -> Requirement:
    """Read a requirement.

    Raises
    ------
    InputError
        Not of this form, an unknown measure, or a number that no share or coefficient can reach.
    """
    match = re.fullmatch(
        r"\s*(?:(?P<of>.+)\.)?(?P<name>[A-Za-z]\w*)\s*(?P<sign>>=|<=)\s*(?P<number>\d+(\.\d*)?|\.\d+)\s*", text
    )
    if not match or match["name"].casefold() not in measures:
        raise InputError("--require", "must be MEASURE>=NUMBER", text, f"measures: {', '.join(measures)}")
    if (number := float(match["number"])) > 1:
        cure = f"{number:g}% is {number / 100:g}" if number <= 100 else ""
        raise InputError("--require", "compares a share or a coefficient, at most 1", text, cure)
    return Requirement(text.strip(), match["of"], match["name"].casefold(), match["sign"], number)


def decided(
    requirements: Iterable[str],
    measures: Collection[str],
    judges: Callable[[float], Collection[Measured]],
    *,
    ci_level: float = 0.95,
) -> tuple[Decision, ...]:
    """Decide ``MEASURE>=NUMBER`` for every judge, ``NAME.MEASURE>=NUMBER`` for those of that name.

    A requirement is met when the lower bound reaches the number, fallen short of when the upper bound does not, and
    otherwise cannot be told from these labels; with ``<=`` the ends change places. All hold together: with k decisions
    each rests on an interval at 1 - (1 - level) / k (Bonferroni), so that the chance that any is called met wrongly
    stays below that of one.

    Parameters
    ----------
    judges : callable
        The judges with their measures at a level.

    Raises
    ------
    InputError
        Not of this form, an unknown measure or name, or a measure that none of these judges has.
    """
    asked = list(requirements)
    alone = _each_alone(asked, measures, judges(ci_level))
    if len(alone) < 2:
        return alone
    return _each_alone(asked, measures, judges(1 - (1 - ci_level) / len(alone)))


def _each_alone(asked: list[str], measures: Collection[str], judges: Collection[Measured]) -> tuple[Decision, ...]:
    decisions: list[Decision] = []
    for text in asked:
        required = requirement_of(text, measures)
        named = [(judge, estimates) for names, judge, estimates in judges if required.of in (None, *names)]
        if not named:
            raise InputError("--require", "names no judge or question of these ratings", required.of)
        known = [(judge, estimates(required.measure)) for judge, estimates in named]
        if all(estimate is None for _, estimate in known):
            raise InputError("--require", f"{required.measure} is no measure of {required.of or 'these'}", text)
        decisions += [required.decided(judge, estimate) for judge, estimate in known if estimate is not None]
    return tuple(decisions)


def exit_code(decisions: Collection[Decision]) -> int:
    """1 where one is shown to fall short, else 4 where one cannot be told, else 0."""
    outcomes = {each.outcome for each in decisions}
    return next((EXIT[name] for name in ("short", "cannot_tell") if name in outcomes), 0)
