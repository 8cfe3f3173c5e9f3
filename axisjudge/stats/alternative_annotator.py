"""Alternative annotator test: is a judge as good a stand-in for the other people as one more person would be?

For each person j and each item i that a judge, j and somebody else labelled, s(a, i) says how well the word of a (the
judge, or j) matches the words of the others: the mean match, or minus the root mean squared distance. With
W_f = [s(judge) >= s(j)] and W_h = [s(j) >= s(judge)] (a tie counts for both),

    advantage probability of the judge over j    rho_j = mean W_f
    mean difference                              d_j   = mean (W_h - W_f)

and a one-sided t test asks whether d_j < epsilon, where epsilon is what a judge is allowed to be worse for being
cheaper. The winning rate is the share of people whose test is rejected after Benjamini and Yekutieli's correction; the
judge passes from one half on.

The test is blind to prevalence: where failures are rare, a judge that always says 'correct' passes. So the best
constant judge is tested beside every judge (`best_constant`). Where that passes too, `stand_in` refuses the claim but
for a judge that is shown, item by item, to match people better than the constant does (`beyond_constant`): with more
labels every constant passes at a large epsilon, and a good judge would lose its claim by being looked at more closely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, one_each, one_of
from axisjudge.results import Result, columns
from axisjudge.stats.clusters import clustered_variance
from axisjudge.stats.estimate import Estimate, IntervalTerms, many
from axisjudge.stats.proportions import (
    FEWEST_CLUSTERS,
    cluster_codes,
    clustered_mean,
    clustered_proportion,
    interval_on,
)

Scale = Literal["nominal", "ordinal", "continuous"]
Floats = NDArray[np.float64]

#: Fewer people cannot carry the claim that a judge may stand in for one of them.
FEWEST_PEOPLE = 3
#: A person with fewer items is not tested.
LEAST_INSTANCES = 30
#: From this winning rate on the judge passes.
PASSES = 0.5

_TIE = 1e-12  # two scores formed from the same words in another order differ by rounding alone


@dataclass(frozen=True)
class AgainstPerson:
    """The judge beside one person, both against the other people.

    `difference` is the mean of W_h - W_f; `p_value` of "the judge is worse by epsilon or more", NaN with a `reason`
    where the person was not tested or all differences equal epsilon.
    """

    person: str
    n_items: int
    advantage: float
    difference: float
    p_value: float
    rejected: bool
    tested: bool
    reason: str = ""


@dataclass(frozen=True)
class AlternativeAnnotator(Result):
    """The test of one judge at one epsilon.

    `advantage` is the mean advantage probability over the people tested, with its interval over clusters. `n_items`
    counts the items that the judge and two people or more labelled. `refusal` says why there is no test, and is empty
    otherwise.
    """

    _keys = ("epsilon", "winning_rate", "passed", "advantage", "people", "n_items", "balanced", "refusal")

    epsilon: float
    winning_rate: float
    advantage: Estimate
    people: tuple[AgainstPerson, ...]
    n_items: int
    balanced: bool
    refusal: str = ""

    @property
    def passed(self) -> bool:
        """Whether the winning rate is one half or more."""
        return self.winning_rate >= PASSES  # NaN does not pass

    @property
    def in_short(self) -> dict[str, Any]:
        """Whether it passes, and by how much."""
        return {"winning_rate": self.winning_rate, "passed": self.passed, "advantage": self.advantage.in_short}

    @property
    def tested(self) -> tuple[AgainstPerson, ...]:
        """The people with enough items."""
        return tuple(person for person in self.people if person.tested)


def alternative_annotator(
    judge: ArrayLike,
    people: ArrayLike,
    *,
    scale: Scale = "nominal",
    epsilon: float = 0.2,
    names: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    balanced: bool = False,
    least_instances: int = LEAST_INSTANCES,
    q: float = 0.05,
    ci_level: float = 0.95,
) -> AlternativeAnnotator:
    """Test whether a judge may stand in for one of several people.

    Parameters
    ----------
    judge : array, shape (n_items,)
        The judge's labels as numbers; NaN where it gave none.
    people : array, shape (n_items, n_people)
        People's labels on the same scale; NaN where a person gave none.
    scale : {"nominal", "ordinal", "continuous"}
        Nominal labels match or do not; the others are scored by minus the root mean squared distance.
    epsilon : float
        How much worse than a person the judge may be, in [0, 1): .2 beside experts, .15 beside skilled and .1 beside
        crowd annotators, as the authors advise.
    names : sequence of str, optional
        Names of the people; by default their positions.
    clusters : array, shape (n_items,), optional
        Which items belong together. Without it items are taken as independent, as the authors do; with it, standard
        errors are between clusters.
    balanced : bool
        Weight items so that every label of the other people counts alike, however rare it is; not for continuous
        labels.
    least_instances : int
        A person with fewer items is not tested.
    q : float
        False discovery rate.

    Returns
    -------
    AlternativeAnnotator
        With a `refusal` where fewer than two people share items, or nobody has enough of them.

    Notes
    -----
    Weighted tests have the degrees of freedom of Kish's effective number of items (or clusters). A person whose
    differences are all alike has t = +-infinity, and p = NaN where they equal epsilon; NaN is never rejected and still
    counts in the family.

    References
    ----------
    Calderon, Reichart and Dror (2025), The Alternative Annotator Test, arXiv:2501.10970. Benjamini and Yekutieli
    (2001), Ann. Stat. 29:1165-1188, doi:10.1214/aos/1013699998.

    Examples
    --------
    >>> people = np.tile([[1, 1, 1], [0, 0, 0], [1, 1, 0]], (20, 1))
    >>> agrees = alternative_annotator(people[:, 0], people, epsilon=0.2)
    >>> agrees.winning_rate, agrees.passed
    (1.0, True)
    """
    of_judge, others = _checked(judge, people)
    one_of("scale", scale, ("nominal", "ordinal", "continuous"))
    in_open_unit_interval("q", q)
    if not 0 <= epsilon < 1:
        raise InputError("epsilon", "must lie in [0, 1)", epsilon)
    if balanced and scale == "continuous":
        raise InputError("balanced", "needs labels that recur", scale, "leave it out for continuous labels")
    names = [str(person) for person in range(others.shape[1])] if names is None else list(names)
    one_each("names", names, others.shape[1], of="people")
    kept = ~np.isnan(of_judge) & ((~np.isnan(others)).sum(axis=1) >= 2)
    groups = cluster_codes(clusters, of_judge.size)[kept]
    unit = "item" if clusters is None else cluster_unit
    of_judge, others = of_judge[kept], others[kept]
    wins = [_wins(of_judge, others, person, scale, balanced) for person in range(others.shape[1])]
    compared = [_against(name, won, groups, epsilon, least_instances) for name, won in zip(names, wins, strict=True)]
    tested = [position for position, person in enumerate(compared) if person.tested]
    rejected = benjamini_yekutieli([compared[position].p_value for position in tested], q=q)
    verdicts = dict(zip(tested, rejected, strict=True))
    compared = [replace(person, rejected=verdicts.get(position, False)) for position, person in enumerate(compared)]
    refusal = _refusal(others, bool(tested), least_instances)
    return AlternativeAnnotator(
        epsilon=epsilon,
        winning_rate=sum(verdicts.values()) / len(tested) if tested else math.nan,
        advantage=_mean_advantage([wins[position] for position in tested], groups, unit, ci_level, refusal),
        people=tuple(compared),
        n_items=int(kept.sum()),
        balanced=balanced,
        refusal=refusal,
    )


def best_constant(
    judge: ArrayLike, people: ArrayLike, *, scale: Scale = "nominal", **options: Any
) -> tuple[float, AlternativeAnnotator]:
    """The constant judge that does best on the items of `judge`, and its test.

    Every label of the people is tried (for continuous labels their median); the highest winning rate wins, then the
    highest advantage probability. `options` are those of `alternative_annotator`.
    """
    of_judge, others = _checked(judge, people)
    given = others[~np.isnan(others)]
    if not given.size:
        return math.nan, alternative_annotator(of_judge, others, scale=scale, **options)
    words = np.array([np.median(given)]) if scale == "continuous" else np.unique(given)
    tests = [
        (float(word), alternative_annotator(np.where(np.isnan(of_judge), np.nan, word), others, scale=scale, **options))
        for word in words
    ]
    return max(tests, key=lambda one: (np.nan_to_num(one[1].winning_rate), np.nan_to_num(one[1].advantage.estimate)))


def beyond_constant(
    judge: ArrayLike,
    people: ArrayLike,
    word: float,
    *,
    scale: Scale = "nominal",
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> Estimate:
    """Mean of the judge's score s against all people less that of a judge that always gives `word`, item by item."""
    of_judge, others = _checked(judge, people)
    both = ~np.isnan(of_judge) & (~np.isnan(others)).any(axis=1) & (not math.isnan(word))
    ahead = np.full(of_judge.size, math.nan)
    ahead[both] = _score(of_judge[both], others[both], scale) - _score(np.full(both.sum(), word), others[both], scale)
    return clustered_mean(ahead, clusters, cluster_unit=cluster_unit, ci_level=ci_level)


def stand_in(judge: AlternativeAnnotator, constant: AlternativeAnnotator, beyond: Estimate | None = None) -> str:
    """Why 'this judge may stand in for people' may not be claimed; empty where it may.

    Three people or more must have been tested, the judge must pass, and the best constant judge must not, unless the
    judge is shown to match people better (`beyond`, of `beyond_constant`, lies above 0).
    """
    if judge.refusal:
        return judge.refusal
    if len(judge.tested) < FEWEST_PEOPLE:
        enough = f"the claim needs {FEWEST_PEOPLE} people with enough items"
        return f"{enough}, and {len(judge.tested)} were tested"
    if not judge.passed:
        return f"the winning rate at epsilon {judge.epsilon:g} is {judge.winning_rate:.2f}, below {PASSES:g}"
    if constant.passed and not (beyond and beyond.ci_low > 0):
        return "a judge that always says the same passes as well, so that the test shows nothing here"
    return ""


def benjamini_yekutieli(p_values: Sequence[float], *, q: float = 0.05) -> list[bool]:
    """Which hypotheses are rejected at false discovery rate `q` under any dependence; NaN never is, but counts.

    The largest k with p_(k) <= (k / m) q / (1 + 1/2 + ... + 1/m); the k smallest are rejected.

    Examples
    --------
    >>> benjamini_yekutieli([0.001, 0.04, 0.02])
    [True, False, False]
    """
    m = len(p_values)
    order = sorted(range(m), key=lambda position: (math.isnan(p_values[position]), p_values[position]))
    harmonic = sum(1 / rank for rank in range(1, m + 1))
    largest = max(
        (rank for rank, position in enumerate(order, start=1) if p_values[position] <= rank / m * q / harmonic),
        default=0,
    )
    first = set(order[:largest])
    return [position in first for position in range(m)]


@dataclass(frozen=True, eq=False)
class _Wins:
    """W_f and W_h of the items of one person (`items` are their positions), with the items' weights."""

    items: NDArray[np.intp]
    judge: Floats
    person: Floats
    weight: Floats


def _wins(judge: Floats, people: Floats, person: int, scale: Scale, balanced: bool) -> _Wins:
    others = np.delete(people, person, axis=1)
    rated = ~np.isnan(people[:, person]) & (~np.isnan(others)).any(axis=1)
    others = others[rated]
    ahead = _score(judge[rated], others, scale) - _score(people[rated, person], others, scale)
    weight = _balancing(others) if balanced and len(others) else np.ones(len(others))
    return _Wins(np.flatnonzero(rated), (ahead >= -_TIE).astype(float), (ahead <= _TIE).astype(float), weight)


def _score(label: Floats, others: Floats, scale: Scale) -> Floats:
    given = ~np.isnan(others)
    if scale == "nominal":  # a label that is missing is like none
        return np.asarray((others == label[:, None]).sum(axis=1) / given.sum(axis=1))
    distances = np.where(given, (others - label[:, None]) ** 2, 0.0)
    return np.asarray(-np.sqrt(distances.sum(axis=1) / given.sum(axis=1)))


def _balancing(others: Floats) -> Floats:
    """Weights with mean 1 that make every label of the others count alike: 1 / (q P_label), averaged over them."""
    n = (~np.isnan(others)).sum(axis=1)
    labels = np.unique(others[~np.isnan(others)])
    share = (others[:, :, None] == labels).sum(axis=1) / n[:, None]
    return np.asarray(share @ (1 / (labels.size * share.mean(axis=0))))


def _against(name: str, won: _Wins, groups: NDArray[np.intp], epsilon: float, least_instances: int) -> AgainstPerson:
    n = won.items.size
    if n < max(least_instances, 2):
        reason = f"{n} items with the judge and another person; {max(least_instances, 2)} are needed"
        return AgainstPerson(name, n, math.nan, math.nan, math.nan, False, False, reason)
    gap = won.person - won.judge
    difference = _mean(gap, won.weight)
    own = groups[won.items]
    if np.unique(own[won.weight > 0]).size < 2:
        p_value, reason = math.nan, "all items are of one cluster"
    else:
        influence = (gap - difference) * won.weight / won.weight.sum()
        variance = clustered_variance(influence, own, weights=won.weight)
        p_value, reason = _lower_tail(difference - epsilon, variance.error, variance.degrees)
    advantage = _mean(won.judge, won.weight)
    return AgainstPerson(name, n, advantage, difference, p_value, False, True, reason)


def _mean(values: Floats, weight: Floats) -> float:
    return float((values * weight).sum() / weight.sum())


def _lower_tail(above: float, error: float, degrees: float) -> tuple[float, str]:
    from scipy.special import stdtr

    if error == 0:
        if abs(above) < _TIE:
            return math.nan, "all differences equal epsilon"
        return (0.0 if above < 0 else 1.0), ""
    return float(stdtr(degrees, above / error)), ""


def _mean_advantage(wins: list[_Wins], groups: NDArray[np.intp], unit: str, ci_level: float, refusal: str) -> Estimate:
    """Mean over people of their advantage probabilities, with the linearised error between clusters on the logit."""
    items = np.unique(np.concatenate([won.items for won in wins])) if wins else np.array([], dtype=np.intp)
    n_clusters = np.unique(groups[items]).size
    result = partial(Estimate, ci_level=ci_level, n_clusters=n_clusters, cluster_unit=unit)
    result = partial(result, n_items=items.size, n_raters=len(wins))
    if not wins:
        return result(estimate=math.nan, reason=refusal)
    shares = [_mean(won.judge, won.weight) for won in wins]
    mean = float(np.mean(shares))
    influence = np.zeros(groups.size)
    for won, share in zip(wins, shares, strict=True):
        influence[won.items] += won.weight * (won.judge - share) / won.weight.sum() / len(wins)
    if n_clusters < FEWEST_CLUSTERS or not influence.any() or not 0 < mean < 1:
        few = f"{many(n_clusters, 'independent unit')}; an interval needs {FEWEST_CLUSTERS}"
        reason = few if n_clusters < FEWEST_CLUSTERS else "the judge never, or always, does as well as each person"
        return result(estimate=mean, reason=reason)
    variance = clustered_variance(influence[items], groups[items])
    low, high = interval_on("logit", mean, variance.error / (mean * (1 - mean)), variance.degrees, ci_level)
    method = f"linearised on the logit, t on {variance.degrees:.1f} degrees"
    return result(estimate=mean, ci_low=low, ci_high=high, method=method)


def _refusal(people: Floats, any_tested: bool, least_instances: int) -> str:
    if not len(people):
        return "no item that the judge rated is labelled by two people, so that no person can be compared with another"
    if not any_tested:
        return f"nobody shares {max(least_instances, 2)} items with the judge and another person"
    return ""


def _checked(judge: ArrayLike, people: ArrayLike) -> tuple[Floats, Floats]:
    try:
        own, others = np.asarray(judge, dtype=np.float64), np.asarray(people, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("labels", "must be numbers", cure="code words as numbers and missing labels as NaN") from None
    if others.ndim != 2 or others.shape[1] < 1:
        raise InputError("people", "must be items x people", others.shape)
    one_each("judge", own, len(others))
    if np.isinf(own).any() or np.isinf(others).any():
        raise InputError("labels", "must be finite or NaN")
    return own, others


# A judge in the alternative annotator test, and beside it the constant judge that does best on the same items.


@dataclass(frozen=True)
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


# Precision, recall and F1 of the word that means failure, each with an interval that respects clusters.


@dataclass(frozen=True)
class FailingWord(Result):
    """How a rater's word for failure goes with that of a reference.

    `precision` is the share of the items it flags that the reference fails, `recall` the share of the failed items that
    it flags, `f1` their harmonic mean, 2 TP / (2 TP + FP + FN).
    """

    precision: Estimate
    recall: Estimate
    f1: Estimate


def failing_word(
    flagged: ArrayLike,
    failed: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> FailingWord:
    r"""Precision, recall and F1 of failures.

    :math:`F_1 = 2 TP / (2 TP + FP + FN)` is a weighted share: each item that both fail counts twice and holds, each
    that one of them fails counts once and does not. Its interval is that of a share with these weights.

    Parameters
    ----------
    flagged, failed : array of 1, 0 or NaN, shape (n_items,)
        What the rater says and what the reference says; items that lack either (NaN) do not count.
    clusters : array, shape (n_items,), optional
        Which items belong together; without it items are taken as independent.

    Raises
    ------
    InputError
        The arrays differ in length.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval, chapter 7 (precision, recall and their harmonic mean).

    Examples
    --------
    >>> found = failing_word([1, 1, 1, 0, 0], [1, 1, 0, 1, 0])
    >>> [round(each.estimate, 3) for each in (found.precision, found.recall, found.f1)]
    [0.667, 0.667, 0.667]
    """
    flags, truth = np.asarray(flagged, dtype=np.float64), np.asarray(failed, dtype=np.float64)
    one_each("failed", truth, flags.size)
    both = ~np.isnan(flags) & ~np.isnan(truth)
    hit: NDArray[np.float64] = np.where(both, flags * truth, np.nan)
    terms: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    either = both & (np.nan_to_num(flags) + np.nan_to_num(truth) > 0)
    return FailingWord(
        precision=clustered_proportion(np.where(both & (flags == 1), hit, np.nan), clusters, **terms),
        recall=clustered_proportion(np.where(both & (truth == 1), hit, np.nan), clusters, **terms),
        f1=clustered_proportion(np.where(either, hit, np.nan), clusters, weights=np.where(hit == 1, 2.0, 1.0), **terms),
    )
