"""How many independent judges a panel is worth, measured against labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, one_each
from axisjudge.stats.clusters import effective_degrees, halved_degrees
from axisjudge.stats.comparisons.paired import DRAWS, monte_carlo_p
from axisjudge.stats.estimate import Ends, Estimate, majority_right, many, too_few_clusters, without_interval
from axisjudge.stats.proportions import FEWEST_CLUSTERS, cluster_codes, clustered_proportion, jackknife_interval

Floats = NDArray[np.float64]

#: An interval of the correlation of errors needs so many clusters, and so many errors of every judge: with fewer it
#: covers .85 to .92.
FEWEST_CLUSTERS_SHOWN, FEWEST_ERRORS = 25, 10

#: Share of wrong labels that the band runs over.
LABEL_ERRORS = (0.0, 0.02, 0.05, 0.1)


@dataclass(frozen=True, eq=False)
class EffectiveJudges:
    """Effective number of judges: k / (1 + (k - 1) mean rho), with rho the correlation of two judges' errors.

    `n_effective` is for labels without error; `by_label_error` holds (share of wrong labels, n_eff, mean rho) over
    the band, NaN where a judge would be better than perfect: label error makes judges look alike. `rho` is the k x k
    matrix at no label error. `accuracy` is each judge's on the `n_answered` labelled items that it answered;
    `majority` that of the commonest verdict on the `n_majority` labelled items that any judge answered, of which on
    `n_tied` two verdicts or more are equally common and share the item.
    """

    n_effective: Estimate
    by_label_error: tuple[tuple[float, float, float], ...]
    rho: Floats
    accuracy: Floats
    n_answered: tuple[int, ...]
    majority: float
    n_majority: int
    n_tied: int

    @property
    def best_single(self) -> float:
        """Accuracy of the best judge: a panel below it costs more and knows less."""
        return math.nan if np.isnan(self.accuracy).all() else float(np.nanmax(self.accuracy))


def effective_judges(
    ratings: ArrayLike,
    labels: ArrayLike | None,
    *,
    label_errors: Sequence[float] = LABEL_ERRORS,
    categories: Sequence[float] | None = None,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> EffectiveJudges:
    """Effective number of judges of a panel.

    rho_ij is the correlation of being right: with B_ij the share of items on which both are right, (B_ij - acc_i acc_j)
    / sqrt(acc_i (1 - acc_i) acc_j (1 - acc_j)). Label error d is taken back through its misclassification matrix,
    M(label | truth) = 1 - d on the diagonal and b = d / (q - 1) elsewhere, with q categories of labels. What is counted
    by label is counted by truth after its inverse: with a = 1 - q b, acc = (acc_obs - b V) / a, V the share of words
    that a label could be, and B = (B_obs - b W) / a, W the share on which both judges give one such word. For two
    categories acc = (acc_obs - d) / (1 - 2 d), and how often judges agree is left as it is.

    Parameters
    ----------
    ratings : array, shape (n_items, n_judges)
        Verdict codes; NaN where a judge gave none. With more than two categories, two judges that are wrong in
        different ways count as sharing the error.
    labels : array, shape (n_items,)
        The true code; items with NaN are left out.
    label_errors : sequence of float
        Shares of wrong labels, each below 1/2; a wrong label is any of the other categories alike, whatever the judges
        say.
    categories : sequence of float, optional
        All codes that a label could have; by default those that occur among the labels.
    clusters : array, shape (n_items,), optional
        Which items belong together.

    Raises
    ------
    InputError
        There are no labels. Residuals from the panel's own mean correlate at -1 / (k - 1) by construction, so nothing
        can be said without them.

    Notes
    -----
    The interval is the delete-one-cluster jackknife-t of mean rho on Fisher's z, for labels without error. Errors carry
    it, not items: t has half as many degrees of freedom as the most accurate judge has errors (or as there are
    clusters, if fewer). It covers .947 to .971 with 25 to 200 clusters and error rates of .04 to .16.
    """
    if labels is None:
        cure = "without them errors correlate at -1/(k-1) by construction; give human or planted labels"
        raise InputError("labels", "the effective number of judges is defined against labels only", cure=cure)
    verdict, truth = np.asarray(ratings, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    _check(verdict, truth, label_errors)
    groups = cluster_codes(clusters, len(verdict))
    kept = ~np.isnan(truth)
    right = _right(verdict, truth)[kept]
    groups = np.unique(groups[kept], return_inverse=True)[1]
    n_clusters = int(groups.max(initial=-1)) + 1
    sums = _pair_sums(right, groups)
    k, known = verdict.shape[1], _label_categories(truth, categories)
    words = _pair_words(verdict[kept], right, known)
    total = sums.sum(axis=0)
    rho = _rho(total)
    mean_rho = _mean(rho)
    if math.isnan(mean_rho):
        ends = Ends(reason="no two judges have both right and wrong verdicts on common items")
    elif math.isnan(_n_effective(k, mean_rho)):
        excluding = f"errors exclude each other (they correlate at {mean_rho:z.2f})"
        ends = Ends(reason=f"{excluding}, as those of independent judges do not")
    elif n_clusters < FEWEST_CLUSTERS_SHOWN:
        ends = too_few_clusters(n_clusters, FEWEST_CLUSTERS_SHOWN)
    elif (n_errors := int((right == 0).sum(axis=0).min())) < FEWEST_ERRORS:
        ends = Ends(reason=f"a judge with {n_errors} errors has too few for an interval ({FEWEST_ERRORS} or more)")
    else:
        degrees = halved_degrees(min(n_errors, effective_degrees(np.bincount(groups))))
        ends = _interval(sums, mean_rho, k, degrees, ci_level)
    band = [(error, _mean(_rho(_without_label_error(total, words, error, known.size)))) for error in label_errors]
    shared, tied = majority_right(verdict, truth)
    majority = shared[~np.isnan(shared)]
    return EffectiveJudges(
        n_effective=Estimate(
            estimate=_n_effective(k, mean_rho),
            **ends._asdict(),
            ci_level=ci_level,
            n_items=int(kept.sum()),
            n_raters=k,
            n_missing=int(np.isnan(right).sum()),
            n_clusters=n_clusters,
            cluster_unit="item" if clusters is None else cluster_unit,
        ),
        by_label_error=tuple((error, _n_effective(k, mean), mean) for error, mean in band),
        rho=_matrix(rho, k),
        accuracy=np.array([_share_right(column) for column in right.T]),
        n_answered=tuple(int((~np.isnan(column)).sum()) for column in right.T),
        majority=float(majority.mean()) if majority.size else math.nan,
        n_majority=majority.size,
        n_tied=int(tied.sum()),
    )


@dataclass(frozen=True)
class WithoutOne:
    """The panel without one judge or one family."""

    left_out: str
    n_judges: int
    n_effective: float
    majority: float


def leave_out(ratings: ArrayLike, labels: ArrayLike, names: Sequence[str]) -> list[WithoutOne]:
    """Effective judges and majority accuracy without each of `names`: judges' own names, or their families'.

    Parameters
    ----------
    ratings, labels
        As in `effective_judges`.
    names : sequence of str, shape (n_judges,)
        Columns with one name are left out together.
    """
    verdict, truth = np.asarray(ratings, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    _check(verdict, truth, ())
    one_each("names", names, verdict.shape[1], of="judges")
    right = _right(verdict, truth)
    left = []
    for name in dict.fromkeys(names):
        rest = [column for column, other in enumerate(names) if other != name]
        n_effective = _n_effective(
            len(rest), _mean(_rho(_pair_sums(right[:, rest], np.zeros(len(right), dtype=np.intp)).sum(axis=0)))
        )
        if len(rest) == 1:
            n_effective = 1.0
        majority = majority_accuracy(verdict[:, rest], truth) if rest else math.nan
        left.append(WithoutOne(name, len(rest), n_effective, majority))
    return left


def majority_accuracy(ratings: ArrayLike, labels: ArrayLike) -> float:
    """Share of labelled items on which the commonest verdict of the judges that answered is right; ties share it."""
    right, _ = majority_right(ratings, labels)
    return float(np.nanmean(right)) if (~np.isnan(right)).any() else math.nan


def _check(verdict: Floats, truth: Floats, label_errors: Sequence[float]) -> None:
    if verdict.ndim != 2 or verdict.shape[1] < 2:
        raise InputError("ratings", "must be items x judges with two judges or more", verdict.shape)
    one_each("labels", truth, len(verdict))
    if not all(0 <= error < 0.5 for error in label_errors):
        raise InputError("label_errors", "must lie in [0, 0.5)", list(label_errors))


def _right(verdict: Floats, truth: Floats) -> Floats:
    """1 where a judge says what the label says, 0 where not, NaN where either is missing."""
    return np.where(np.isnan(verdict) | np.isnan(truth)[:, None], np.nan, verdict == truth[:, None])


def _label_categories(truth: Floats, categories: Sequence[float] | None) -> Floats:
    occurring = np.unique(truth[~np.isnan(truth)])
    if categories is None:
        return occurring
    declared = np.unique(np.asarray(categories, dtype=np.float64))
    if not np.isin(occurring, declared).all():
        raise InputError("categories", "must hold every label that occurs", declared.tolist())
    return declared


def _pairs(k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first and the second judge of each pair."""
    return np.triu_indices(k, 1)


def _pair_sums(right: Floats, groups: NDArray[np.intp]) -> Floats:
    """Each cluster's and pair's items: both answered, both right, the first right, the second; (clusters, pairs, 4)."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    answered, hit = (~np.isnan(right[order])).astype(np.float64), np.nan_to_num(right[order])
    first, second = _pairs(right.shape[1])
    products = ((answered, answered), (hit, hit), (hit, answered), (answered, hit))
    return np.stack([np.add.reduceat(one[:, first] * other[:, second], starts) for one, other in products], axis=-1)


def _pair_words(verdict: Floats, right: Floats, known: Floats) -> Floats:
    """For each pair: on how many items both give one word of `known`, and each of the two any; shape (pairs, 3)."""
    answered = (~np.isnan(right)).astype(np.float64)
    given = [((verdict == word) & ~np.isnan(right)).astype(np.float64) for word in known]
    alike = sum((each.T @ each for each in given), np.zeros((right.shape[1],) * 2))
    anything = sum(given, np.zeros_like(answered))
    first, second = _pairs(right.shape[1])
    each = anything.T @ answered
    return np.stack([alike[first, second], each[first, second], each[second, first]], axis=-1)


def _without_label_error(sums: Floats, words: Floats, label_error: float, n_categories: int) -> Floats:
    """The sums of pairs by truth: those by label after the inverse of the labels' misclassification matrix."""
    other = label_error / max(n_categories - 1, 1)
    by_truth = (sums[..., 1:] - other * words) / (1 - max(n_categories, 2) * other)
    return np.concatenate([sums[..., :1], by_truth], axis=-1)


def _rho(sums: Floats) -> Floats:
    """Correlation of being right of each pair; NaN where a judge is always right, never, or better than that."""
    n = np.maximum(sums[..., 0], 1.0)
    both, first, second = (sums[..., at] / n for at in (1, 2, 3))
    room = np.sqrt(np.maximum(first * (1 - first), 0.0) * np.maximum(second * (1 - second), 0.0))
    return np.where(room > 1e-12, (both - first * second) / np.where(room > 1e-12, room, 1.0), np.nan)


def _mean(rho: Floats) -> float:
    return float(np.nanmean(rho)) if rho.size and not np.isnan(rho).all() else math.nan


def _n_effective(k: int, mean_rho: float) -> float:
    inflation = 1 + (k - 1) * mean_rho
    return k / inflation if inflation > 0 else math.nan


def _interval(sums: Floats, mean_rho: float, k: int, degrees: float, ci_level: float) -> Ends:
    left_out = sums.sum(axis=0) - sums
    rho = _rho(left_out)
    defined = np.count_nonzero(~np.isnan(rho), axis=1)
    without = np.where(defined > 0, np.nansum(rho, axis=1) / np.maximum(defined, 1), np.nan)
    least, most = jackknife_interval(mean_rho, without, scale="fisher", degrees=degrees, ci_level=ci_level)
    if math.isnan(least):
        return without_interval("errors are identical or too few")
    low, high = _n_effective(k, most), _n_effective(k, least)
    method = "jackknife-t over clusters on Fisher’s z of mean rho"
    return Ends(low, math.inf if math.isnan(high) else high, method)


def _matrix(rho: Floats, k: int) -> Floats:
    full = np.eye(k)
    first, second = _pairs(k)
    full[first, second] = full[second, first] = rho
    return full


def _share_right(column: Floats) -> float:
    answered = column[~np.isnan(column)]
    return float((answered > 0).mean()) if answered.size else math.nan


# What a panel of judges would say if their errors were independent: any-judge and consensus failure rates.

_METHOD = "product of the judges' own rates; interval from their joint Bonferroni intervals"


def any_judge_rate(rates: ArrayLike) -> float:
    """Chance that at least one of several independent judges says incorrect: 1 - prod(1 - rate).

    Parameters
    ----------
    rates : array_like, shape (n_judges,)
        How often each judge says incorrect. With 1 - specificity for each judge, the result is the share of flawless
        runs that the panel calls failed.

    Examples
    --------
    >>> round(any_judge_rate([0.05] * 2), 3), round(any_judge_rate([0.05] * 6), 2)
    (0.098, 0.26)
    """
    return float(1 - np.prod(1 - _rates(rates)))


def consensus_rate(rates: ArrayLike) -> float:
    """Chance that several independent judges all say incorrect: prod(rate).

    Examples
    --------
    >>> round(consensus_rate([0.05] * 2), 4)
    0.0025
    """
    return float(np.prod(_rates(rates)))


@dataclass(frozen=True)
class IndependentPanel:
    """Any-judge and consensus failure rates that the judges' own rates give when their verdicts share nothing."""

    any_judge: Estimate
    consensus: Estimate


def independent_panel(
    incorrect: ArrayLike, clusters: ArrayLike, *, cluster_unit: str = "task", ci_level: float = 0.95
) -> IndependentPanel:
    """Any-judge and consensus rates if each judge said incorrect at its own rate, independently of the others.

    The rate of a judge is its share of incorrect verdicts. An item counts with the judges that gave a verdict on it:
    at least one for the any-judge rate, at least two for the consensus. What a panel shows beyond these rates is
    shared: real failures, or a bias that judges have in common.

    Parameters
    ----------
    incorrect : array_like, shape (n_items, n_judges)
        1 incorrect, 0 another verdict, NaN none.
    clusters : array_like, shape (n_items,)
        Which items belong to one task.

    Returns
    -------
    IndependentPanel
        The interval is conservative: both rates rise with each judge's rate, so the corners of the judges' intervals,
        each at level 1 - (1 - `ci_level`) / n_judges, bound them.

    Examples
    --------
    >>> panel = independent_panel([[1, 1], [1, 0], [0, 0], [0, 0]], ["a", "b", "c", "d"])
    >>> panel.any_judge.estimate, panel.consensus.estimate
    (0.625, 0.125)
    """
    verdicts = np.asarray(incorrect, dtype=float)
    if verdicts.ndim != 2 or verdicts.shape[1] == 0:
        raise InputError("incorrect", "must be items x judges", verdicts.shape)
    in_open_unit_interval("ci_level", ci_level)
    labels = np.asarray(clusters)
    given = ~np.isnan(verdicts)
    judges = [column for column in range(verdicts.shape[1]) if given[:, column].any()]
    level = 1 - (1 - ci_level) / max(len(judges), 1)
    own = [
        clustered_proportion(verdicts[:, judge], labels, cluster_unit=cluster_unit, ci_level=level) for judge in judges
    ]
    patterns, counts = np.unique(given[:, judges], axis=0, return_counts=True)
    corners = [np.array([getattr(rate, bound) for rate in own]) for bound in ("estimate", "ci_low", "ci_high")]

    def expected(rate_of: Callable[[NDArray[np.float64]], float], fewest: int) -> Estimate:
        enough = patterns.sum(axis=1) >= fewest
        kept, times = patterns[enough], counts[enough]
        values = [_mean_rate(kept, times, corner, rate_of) for corner in corners]
        counted = given.sum(axis=1) >= fewest
        reason = "" if counted.any() else f"no item has verdicts of {fewest} or more judges"
        return Estimate(
            estimate=values[0],
            ci_low=values[1],
            ci_high=values[2],
            ci_level=ci_level,
            n_items=int(counted.sum()),
            n_raters=len(judges),
            n_missing=int((~kept).sum(axis=1) @ times),
            n_clusters=len(set(labels[counted].tolist())),
            cluster_unit=cluster_unit,
            method=_METHOD,
            reason=reason or next((rate.reason for rate in own if math.isnan(rate.ci_low)), ""),
        )

    return IndependentPanel(expected(any_judge_rate, 1), expected(consensus_rate, 2))


@dataclass(frozen=True)
class Coincidence:
    """How often two judges say incorrect of one item, and how often they would if their verdicts shared nothing.

    `observed` and `expected` count pairs of judges over all items; `p_value` is one-sided. `refusal` says why there was
    no test, and is empty otherwise.
    """

    observed: int
    expected: float
    p_value: float
    monte_carlo_error: float
    n_clusters: int
    refusal: str = ""


def coincidence_test(incorrect: ArrayLike, *, rng: np.random.Generator) -> Coincidence:
    """Test that the judges' incorrect verdicts coincide no more often than chance would have it.

    The reference distribution deals each judge's verdicts out to the tasks anew, all verdicts of a task together, so
    that a judge's own rate and its habit of failing several runs of one task stay as they are.

    Parameters
    ----------
    incorrect : array_like, shape (n_tasks, n_runs, n_judges)
        1 incorrect, 0 another verdict, NaN none; the second axis is the place of the run (an agent, a trial).
    rng : numpy.random.Generator
        Source of the permutations.

    Returns
    -------
    Coincidence
        Refused with fewer than 10 tasks, fewer than 2 judges, or a judge without any incorrect verdict beside another.

    References
    ----------
    Phipson and Smyth (2010), doi:10.2202/1544-6115.1585 (Monte Carlo p values).
    """
    verdicts = np.nan_to_num(np.asarray(incorrect, dtype=float))
    if verdicts.ndim != 3:
        raise InputError("incorrect", "must be tasks x runs x judges", verdicts.shape)
    tasks = len(verdicts)
    judges = [judge for judge in range(verdicts.shape[2]) if verdicts[:, :, judge].any()]
    if tasks < FEWEST_CLUSTERS or len(judges) < 2:
        few = f"{many(tasks, 'task')}; the test needs at least {FEWEST_CLUSTERS}"
        refusal = few if tasks < FEWEST_CLUSTERS else "fewer than two judges say incorrect at all"
        return Coincidence(0, math.nan, math.nan, math.nan, tasks, refusal)
    dealt = rng.permuted(np.tile(np.arange(tasks), (len(judges), DRAWS, 1)), axis=2)
    reference, observed = np.zeros(DRAWS), 0.0
    for one, other in combinations(range(len(judges)), 2):
        # task of one judge x task of the other
        together = verdicts[:, :, judges[one]] @ verdicts[:, :, judges[other]].T
        reference += together[dealt[one], dealt[other]].sum(axis=1)
        observed += float(np.trace(together))
    p_value, error = monte_carlo_p(reference, observed, exact=False)
    return Coincidence(round(observed), float(reference.mean()), p_value, error, tasks)


def _mean_rate(
    patterns: NDArray[np.bool_],
    times: NDArray[np.intp],
    rates: NDArray[np.float64],
    rate_of: Callable[[NDArray[np.float64]], float],
) -> float:
    """Mean over items of the panel's rate among the judges that gave a verdict on the item; NaN without items.

    Each of `patterns` says which judges did, on as many items as `times` has.
    """
    if not len(patterns):
        return math.nan
    return float(np.average([rate_of(rates[pattern]) for pattern in patterns], weights=times))


def _rates(rates: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(rates, dtype=float)
    if values.ndim != 1 or values.size == 0 or not ((values >= 0) & (values <= 1) | np.isnan(values)).all():
        raise InputError("rates", "must be one rate in [0, 1] for each judge", rates)
    return values
