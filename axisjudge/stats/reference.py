"""A judge against a reference: one person, the majority of people, or the people left when one is taken out.

No figure here says how good a judge is until the same figure of a person stands beside it: against one person who is
right on 90% of the items, at 15% failures, a perfect judge reaches a kappa of .67.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, one_each
from axisjudge.results import Result
from axisjudge.stats import proportions
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients, set_aside
from axisjudge.stats.agreement.coefficients import coefficient_names
from axisjudge.stats.clustered import cluster_correlation
from axisjudge.stats.clusters import Alike, by_number, clustered_variance
from axisjudge.stats.estimate import ClusteredShare, Estimate, IntervalTerms, counts_of

Floats = NDArray[np.float64]

ONE_PERSON = "one person labelled, and there are no others to compare with"
NO_OTHERS = "no item has both a verdict of the judge that takes a side and labels of two people"
NO_VERDICT = "no labelled item has a verdict of the judge that takes a side"

#: The agreement coefficients given, by the name under which they stand: of words, and of words in order.
COEFFICIENTS = {column: name for column, name in coefficient_names(2).items() if name != "percent_agreement"}
OF_ORDERED = {"kappa": "cohen_kappa_quadratic", "ac2": "gwet_ac2_quadratic", "alpha": "krippendorff_alpha_ordinal"}


@dataclass(frozen=True)
class Bounded(Result):
    """A share of the verdicts given, and what it would be had every missing one been wrong, or right.

    `low` is the lower end of the interval in the worst case and `high` the upper one in the best: they hold whatever
    the missing verdicts hide.
    """

    _keys = ("worst", "best", "low", "high")
    _flat = ("given",)

    given: Estimate
    worst: float
    best: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class AgainstReference(Result):
    """One rater against one reference, on the items that have a reference and on which the rater was asked.

    `accuracy` is the share of equal words; `sensitivity` and `specificity` are of the failing word against all others,
    NaN on scales that have none. Verdicts that take no side and lost ones count in `coverage` (the share of items with
    a verdict) and in the bounds. `constant_accuracy` is what always saying the commonest word would reach. `confusion`
    is reference x (words, no verdict).
    """

    _keys = ("accuracy", "sensitivity", "specificity", "coverage", "constant_accuracy", "confusion", "n_items")
    _flat = ("coefficients",)

    accuracy: Bounded
    sensitivity: Bounded
    specificity: Bounded
    coverage: Estimate
    coefficients: dict[str, Agreement]
    constant_accuracy: float
    confusion: NDArray[np.int64]
    n_items: int

    @property
    def in_short(self) -> dict[str, Any]:
        """Estimates with their intervals alone."""
        shares = {name: getattr(self, name).given for name in ("accuracy", "sensitivity", "specificity")}
        return {name: each.in_short for name, each in (shares | self.coefficients).items()} | {"n": self.n_items}


def against_reference(
    verdicts: ArrayLike,
    reference: ArrayLike,
    *,
    n_categories: int,
    failing: int | None = None,
    undecided: Sequence[int] = (),
    ordered: bool = False,
    asked: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "task",
    alike: Alike = "items",
    ci_level: float = 0.95,
) -> AgainstReference:
    """Accuracy, sensitivity, specificity, kappa, AC1 and alpha of a rater against a reference.

    Parameters
    ----------
    verdicts, reference : array, shape (n_items,)
        Positions of words, 0 to `n_categories` - 1; NaN where there is none.
    failing : int, optional
        The word that sensitivity is about (``incorrect``).
    undecided : sequence of int
        Words that take no side: no reference, and no verdict.
    ordered : bool
        Whether near misses count in part: kappa and AC2 with quadratic weights, ordinal alpha.
    asked : array of bool, shape (n_items,), optional
        On which items the rater was asked; by default all. A rater without a word where it was asked lost it.
    clusters : array, shape (n_items,), optional
        Which items belong together; without it items are taken as independent.
    alike : str
        Whether each of the ``items`` or of the ``clusters`` counts alike.

    Raises
    ------
    InputError
        The arrays differ in length, or hold something that is no position of a word.
    """
    sides = _sides(verdicts, reference, n_categories, undecided, asked, clusters)
    given, truth, groups = sides
    decided = ~np.isnan(given)
    sided = [word for word in range(n_categories) if word not in undecided]
    terms: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    failed = np.zeros(truth.size, bool) if failing is None else truth == failing
    others = np.zeros(truth.size, bool) if failing is None else ~failed
    names = OF_ORDERED if ordered else COEFFICIENTS
    coefficients = agreement_coefficients(
        np.column_stack([given, truth])[decided],
        list(names.values()),
        categories=sided,
        clusters=None if groups is None else groups[decided],
        alike=alike,
        **terms,
    )
    return AgainstReference(
        accuracy=_share(given == truth, sides, np.ones(truth.size, bool), alike, **terms),
        sensitivity=_share(given == failing, sides, failed, alike, **terms),
        specificity=_share(given != failing, sides, others, alike, **terms),
        coverage=proportions.clustered_proportion(decided.astype(float), groups, alike=alike, **terms),
        coefficients=dict(zip(names, coefficients.values(), strict=True)),
        constant_accuracy=float(np.bincount(truth.astype(int)).max() / truth.size) if truth.size else math.nan,
        confusion=_confusion(given, truth, n_categories),
        n_items=truth.size,
    )


def sensitivity_against(
    verdicts: ArrayLike,
    reference: ArrayLike,
    *,
    n_categories: int,
    failing: int,
    undecided: Sequence[int],
    asked: ArrayLike,
    clusters: ArrayLike | None,
    ordered: bool = False,
    **terms: Unpack[IntervalTerms],
) -> Bounded:
    """The sensitivity of `against_reference` alone, for those who ask for it a thousand times."""
    sides = _sides(verdicts, reference, n_categories, undecided, asked, clusters)
    return _share(sides.given == failing, sides, sides.truth == failing, **terms)


def majority(people: ArrayLike, n_categories: int) -> Floats:
    """The commonest word of each item; NaN on a tie, or where nobody gave one.

    Examples
    --------
    >>> majority([[1, 1, 0], [0, 1, np.nan]], 2)
    array([ 1., nan])
    """
    given = np.asarray(people, dtype=np.float64)
    labelled = np.flatnonzero(~np.isnan(given).all(axis=1))  # of many items often few
    counts = (given[labelled, :, None] == np.arange(n_categories)).sum(axis=1)
    top = counts.max(axis=1, initial=0)
    clear = (top > 0) & ((counts == top[:, None]).sum(axis=1) == 1)
    commonest = np.full(given.shape[0], np.nan)
    commonest[labelled[clear]] = counts[clear].argmax(axis=1)
    return commonest


@dataclass(frozen=True)
class LeftOut(Result):
    """A judge and one person, both against the majority of the other people, on the items that person labelled."""

    _keys: ClassVar = {"person": "person", "judge": "judge.in_short", "themselves": "themselves.in_short"}

    person: str
    judge: AgainstReference
    themselves: AgainstReference


def leave_one_out(judge: ArrayLike, people: ArrayLike, names: Sequence[str], **how: Any) -> tuple[LeftOut, ...]:
    """For each person: the judge and that person against the others; what a judge must reach to be one more of them.

    Parameters
    ----------
    judge : array, shape (n_items,)
    people : array, shape (n_items, n_people)
        Two people or more; with one there are no others, and nothing is returned.
    names : sequence of str
        The people's names.
    **how
        As in `against_reference`; `asked` is about the judge.
    """
    verdicts, labels = np.asarray(judge, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if labels.shape[1] < 2:
        return ()
    asked = np.asarray(how.pop("asked", np.ones(verdicts.size, bool)), dtype=bool)
    left_out = []
    for position, name in enumerate(names):
        others = majority(np.delete(labels, position, axis=1), how["n_categories"])
        both = asked & ~np.isnan(labels[:, position])
        left_out.append(
            LeftOut(
                name,
                against_reference(verdicts, others, asked=both, **how),
                against_reference(labels[:, position], others, asked=both, **how),
            )
        )
    return tuple(left_out)


def over_constant(
    verdicts: ArrayLike, reference: ArrayLike, *, clusters: ArrayLike | None, **interval: Any
) -> Estimate:
    """Mean of (rater right - commonest word right), paired, since both vary with the tasks that were drawn.

    `verdicts` and `reference` hold positions of words that take a side, NaN elsewhere; `interval` is as in
    `clustered_mean`.
    """
    given, truth = np.asarray(verdicts, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    both = ~np.isnan(truth) & ~np.isnan(given)
    commonest = np.bincount(truth[both].astype(int), minlength=1).argmax()
    gap = (given[both] == truth[both]).astype(float) - (truth[both] == commonest)
    mean = proportions.clustered_mean(gap, None if clusters is None else np.asarray(clusters)[both], **interval)
    return mean if gap.size else replace(mean, reason=NO_VERDICT)


def behind_people(
    judge: ArrayLike, people: ArrayLike, *, n_categories: int, clusters: ArrayLike, **interval: Any
) -> Estimate:
    """Mean of (person right - judge right) against the majority of the others, over people and items.

    Of verdicts and labels that take a side, as `over_constant` takes them.
    """
    verdicts, labels, owner = np.asarray(judge), np.asarray(people, dtype=np.float64), np.asarray(clusters)
    if labels.shape[1] < 2:
        return Estimate(estimate=math.nan, n_items=0, n_clusters=0, reason=ONE_PERSON)
    gaps, owners = [], []
    for person, own in enumerate(labels.T):
        others = majority(np.delete(labels, person, axis=1), n_categories)
        both = ~np.isnan(others) & ~np.isnan(own) & ~np.isnan(verdicts)
        gaps.append((own[both] == others[both]).astype(float) - (verdicts[both] == others[both]))
        owners.append(owner[both])
    mean = proportions.clustered_mean(np.concatenate(gaps), np.concatenate(owners), **interval)
    return mean if mean.n_items else replace(mean, reason=NO_OTHERS)


@dataclass(frozen=True)
class CitedSteps(Result):
    """A judge's cited steps against a person's, on failures that the person grounds in steps.

    `precision` is the share of the judge's steps that are a person's, `recall` the share of the person's steps that the
    judge cites, both on the `n_both` items that both call incorrect and ground in steps; `found` is the share of the
    person's steps on all their `n_items` failures, a failure that the judge does not see finding none.
    """

    within: int
    precision: Estimate
    recall: Estimate
    found: Estimate
    n_items: int
    n_both: int


def cited_steps(
    judge: Sequence[Collection[int] | None],
    person: Sequence[Collection[int]],
    *,
    within: int = 0,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> CitedSteps:
    """Precision and recall of cited steps.

    Parameters
    ----------
    judge : sequence of collections of int, or None, shape (n_items,)
        The steps a judge cites for calling the item incorrect; None where it does not call it so.
    person : sequence of collections of int, shape (n_items,)
        The steps a person cites for calling it incorrect; items without any are left out.
    within : int
        How many steps beside each other still count as the same.
    clusters : array, shape (n_items,), optional
        Which items belong together; by default the steps of one item are one cluster.
    """
    one_each("person", person, len(judge))
    labels = np.arange(len(judge)) if clusters is None else np.asarray(clusters)
    items = [
        (None if one is None else set(one), set(other), label)
        for one, other, label in zip(judge, person, labels.tolist(), strict=True)
        if len(other)
    ]
    both = [(one, other, label) for one, other, label in items if one]

    def near(step: int, steps: Collection[int]) -> bool:
        return any(abs(step - other) <= within for other in steps)

    def share(hits: list[tuple[bool, Any]]) -> Estimate:
        right, owner = [float(hit) for hit, _ in hits], [label for _, label in hits]
        return proportions.clustered_proportion(right, owner, cluster_unit=cluster_unit, ci_level=ci_level)

    return CitedSteps(
        within=within,
        precision=share([(near(step, other), label) for one, other, label in both for step in sorted(one)]),
        recall=share([(near(step, one), label) for one, other, label in both for step in sorted(other)]),
        found=share([(near(step, one or ()), label) for one, other, label in items for step in sorted(other)]),
        n_items=len(items),
        n_both=len(both),
    )


def _words(where: str, values: ArrayLike, n_categories: int) -> Floats:
    row = np.asarray(values, dtype=np.float64)
    if row.ndim != 1 or not ((row % 1 == 0) & (row >= 0) & (row < n_categories) | np.isnan(row)).all():
        raise InputError(where, f"must be one row of whole numbers below {n_categories}, or NaN", values)
    return row


class _Sides(NamedTuple):
    """A rater's words and the reference where there is one and the rater was asked; NaN where a word takes no side."""

    given: Floats
    truth: Floats
    groups: NDArray[Any] | None


def _sides(
    verdicts: ArrayLike,
    reference: ArrayLike,
    n_categories: int,
    undecided: Sequence[int],
    asked: ArrayLike | None,
    clusters: ArrayLike | None,
) -> _Sides:
    given, truth = _words("verdicts", verdicts, n_categories), _words("reference", reference, n_categories)
    one_each("reference", truth, given.size)
    given, truth = set_aside(given, undecided), set_aside(truth, undecided)
    kept = ~np.isnan(truth) & (np.ones(truth.size, bool) if asked is None else np.asarray(asked, dtype=bool))
    return _Sides(given[kept], truth[kept], None if clusters is None else np.asarray(clusters)[kept])


def _share(
    right: NDArray[np.bool_],
    sides: _Sides,
    among: NDArray[np.bool_],
    alike: Alike = "items",
    **terms: Unpack[IntervalTerms],
) -> Bounded:
    """The share of right words among some items, with what missing words leave open."""
    outcome = np.where(np.isnan(sides.given), np.nan, right)[among]
    own = None if sides.groups is None else sides.groups[among]
    of = partial(proportions.clustered_proportion, clusters=own, alike=alike, **terms)
    given = of(outcome)
    worst, best = ((of(np.nan_to_num(outcome, nan=filled)) if given.n_missing else given) for filled in (0.0, 1.0))
    return Bounded(given, worst.estimate, best.estimate, worst.ci_low, best.ci_high)


def _confusion(given: Floats, truth: Floats, n_categories: int) -> NDArray[np.int64]:
    table = np.zeros((n_categories, n_categories + 1), dtype=np.int64)
    np.add.at(table, (truth.astype(int), np.nan_to_num(given, nan=n_categories).astype(int)), 1)
    return table


# Balanced accuracy: every word of the reference counts the same, however common it is.


def balanced_accuracy(
    right: ArrayLike,
    reference: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    words: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    alike: Alike = "items",
    ci_level: float = 0.95,
) -> Estimate:
    r"""The mean over the words of a reference of the share of items with that word on which a rater is right.

    :math:`\frac{1}{K} \sum_k \frac{h_k}{n_k}`, with h right of n items of each of the K words. Always saying one word
    gives 1 / K, whichever word is common.

    Parameters
    ----------
    right : array of 0, 1 or NaN, shape (n_items,)
        Whether the rater has the word of the reference. NaN values are left out and counted as missing.
    reference : array, shape (n_items,)
        The word of the reference, by any label; NaN where there is none, and the item is left out.
    clusters : array, shape (n_items,) or (n_items, 2), optional
        Which items belong together; without it items are taken as independent.
    words : array, shape (K,), optional
        The words that people use in the population meant, whether or not this sample has them. Without it those of
        `reference`. A word on which no item can be counted leaves the mean undefined: the mean of the rest is
        another quantity.

    Returns
    -------
    Estimate
        The variance between clusters on the logit, with t on the degrees of the word that stands in the fewest, where
        every word has 5 items right and 5 wrong in 10 effective clusters. With less, MOVER of the words' shares and
        the correlations that the clusters' totals show, where these are positive; no interval where a share has none.

        Where clusters count `alike`, MOVER always.

    Raises
    ------
    InputError
        The arrays differ in length, `right` holds something else, or `reference` a word that is none of `words`.

    Notes
    -----
    Simulated (1,000 replicates a cell) over 50 or 25 clusters of 12, 100 of 6 and 25 of 40..4, two words of which the
    rarer stands on 10 to 50% of the items, correlations 0 to .3: a 95% interval covers .938 to .985, .97 in the mean;
    12 clusters, equal or 60..2, and one of 100 beside 50 of 2, which MOVER takes: .96 to 1.

    References
    ----------
    Brodersen, Ong, Stephan and Buhmann (2010), ICPR, 3121-3124, doi:10.1109/ICPR.2010.764. Liang and Zeger (1986),
    Biometrika 73:13-22, doi:10.1093/biomet/73.1.13 (the variance between clusters). Zou and Donner (2008), Stat. Med.
    27:1693-1702, doi:10.1002/sim.3095 (MOVER).

    Examples
    --------
    A rater that never says the rare word is right on 90% of the items and no better than chance:

    >>> round(balanced_accuracy([1] * 90 + [0] * 10, ["fine"] * 90 + ["wrong"] * 10).estimate, 3)
    0.5
    """
    outcome, given, names = _checked(right, reference, words)
    kept = ~np.isnan(outcome) & (given >= 0)
    of_words = [np.where(given == word, outcome, np.nan) for word in range(len(names))]
    how: dict[str, Any] = {"cluster_unit": cluster_unit, "alike": alike, "ci_level": ci_level}
    shares = [proportions.clustered_proportion(each, clusters, **how) for each in of_words]
    groups = proportions.cluster_codes(clusters, outcome.size, ways=2)
    n_missing, n_clusters = int((np.isnan(outcome) & (given >= 0)).sum()), np.unique(by_number(groups[kept])[-1]).size
    counts = {"n_items": int(kept.sum()), "n_missing": n_missing, "n_clusters": n_clusters}
    result = partial(Estimate, **counts_of(clusters, cluster_unit, ci_level, **counts))
    if len(shares) < 2:
        reason = "the reference needs two words: a mean over one word is plain accuracy"
        return result(estimate=math.nan, reason=reason)
    if lacking := [str(names[word]) for word in range(len(names)) if not (kept & (given == word)).any()]:
        reason = f"no item here has the word {' or '.join(lacking)}: a mean of the other words is another quantity"
        return result(estimate=math.nan, reason=reason)
    mean = float(np.mean([share.estimate for share in shares]))
    if without := [share.reason for share in shares if math.isnan(share.ci_low)]:
        return result(estimate=mean, reason=without[0])
    if (
        alike == "items"
        and min(
            min(share.effective_clusters / proportions.FEWEST_CLUSTERS, _rarer(share) / proportions.FEWEST_RARE)
            for share in shares
        )
        >= 1
    ):
        influence = sum(
            np.nan_to_num(of_word - share.estimate) / share.n_items / len(shares)
            for of_word, share in zip(of_words, shares, strict=True)
        )
        error = clustered_variance(np.asarray(influence)[kept], groups[kept]).error / (mean * (1 - mean))
        degrees = min(share.effective_clusters for share in shares) - 1
        low, high = proportions.interval_on("logit", mean, error, degrees, ci_level)
        return result(estimate=mean, ci_low=low, ci_high=high, method="linearised, t on the logit")
    below, above = (
        np.array([abs(getattr(share, end) - share.estimate) for share in shares]) for end in ("ci_low", "ci_high")
    )
    together = np.eye(len(shares))
    for i, j in combinations(range(len(shares)), 2):
        ways = (cluster_correlation(of_words[i], of_words[j], way) for way in by_number(groups))
        together[i, j] = together[j, i] = max(0.0, *ways)
    low, high = (
        mean - math.sqrt(below @ together @ below) / len(shares),
        mean + math.sqrt(above @ together @ above) / len(shares),
    )
    method = f"MOVER of the shares of {len(shares)} words"
    return result(estimate=mean, ci_low=max(0.0, low), ci_high=min(1.0, high), method=method)


def _rarer(share: ClusteredShare) -> float:
    return min(share.estimate, 1 - share.estimate) * share.n_items


def balanced_pseudo_values(right: ArrayLike, reference: ArrayLike, clusters: ArrayLike) -> Floats:
    r"""Jackknife pseudo-values of several raters' balanced accuracy; their mean over clusters is that accuracy.

    :math:`B + (G - 1) (\bar B_{-} - B_{-g})`, with B the rater's balanced accuracy, :math:`B_{-g}` that without cluster
    g and G the number of clusters. That some clusters hold more of a word than others is then no difference of raters.

    For comparisons paired by cluster (`rank_sets`): all raters must have been asked the same
    items.

    Parameters
    ----------
    right : array of 0 or 1, shape (n_items, n_raters)
    reference, clusters : array, shape (n_items,)

    Returns
    -------
    array, shape (n_clusters, n_raters)

    Raises
    ------
    InputError
        A value is neither 0 nor 1, or the arrays differ in length.

    Notes
    -----
    Simulated with 50 clusters of 12 items, an intraclass correlation of .3 and four judges of one balanced accuracy
    that err on different sides, `rank_sets` on these values tells two of them apart in .04 of the samples where the
    rarer word stands on 30% of the items, in .07 at 20% and in .09 at 10%.
    """
    outcome = np.asarray(right, dtype=np.float64)
    if outcome.ndim != 2 or not np.isin(outcome, (0.0, 1.0)).all():
        raise InputError("right", "must be items x raters of 0 and 1", outcome.shape)
    labels = np.asarray(reference)
    one_each("reference", labels, len(outcome))
    words, given = np.unique(labels, return_inverse=True)
    groups = proportions.cluster_codes(clusters, len(outcome))
    columns = [_pseudo_values(*_by_cluster(column, given, groups, words.size)) for column in outcome.T]
    return np.stack(columns, axis=1)


def _pseudo_values(hits: Floats, counts: Floats) -> Floats:
    """Of each cluster; NaN where without it no item of a word is left."""
    with np.errstate(invalid="ignore"):
        without = ((hits.sum(axis=0) - hits) / (counts.sum(axis=0) - counts)).mean(axis=1)
    estimate = (hits.sum(axis=0) / counts.sum(axis=0)).mean()
    return np.asarray(estimate + (len(hits) - 1) * (without.mean() - without), dtype=np.float64)


def _checked(
    right: ArrayLike, reference: ArrayLike, words: ArrayLike | None
) -> tuple[Floats, NDArray[np.intp], list[object]]:
    """Outcomes, positions of words (-1 where there is none), and the words."""
    outcome, labels = np.asarray(right, dtype=np.float64), np.asarray(reference)
    if outcome.ndim != 1 or not np.isin(outcome[~np.isnan(outcome)], (0.0, 1.0)).all():
        raise InputError("right", "must be one row of 0, 1 or NaN", right)
    one_each("reference", labels, outcome.size)
    missing = np.array([label is None or label != label for label in labels.tolist()], dtype=bool)
    used = np.unique(labels[~missing])
    names = used if words is None else np.unique(np.asarray(words))
    if strange := sorted(set(used.tolist()) - set(names.tolist()), key=str):
        raise InputError("reference", f"its words must be among {names.tolist()}", strange[0])
    position = {name: code for code, name in enumerate(names.tolist())}
    codes = [-1 if lost else position[label] for label, lost in zip(labels.tolist(), missing, strict=True)]
    return outcome, np.array(codes, dtype=np.intp), names.tolist()


def _by_cluster(
    outcome: Floats, words: NDArray[np.intp], groups: NDArray[np.intp], n_words: int
) -> tuple[Floats, Floats]:
    """Right and given, clusters x words."""
    n_clusters = int(groups.max(initial=-1)) + 1
    shape = (n_clusters, n_words)
    hits, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(hits, (groups, words), outcome)
    np.add.at(counts, (groups, words), 1.0)
    return hits, counts
