"""Labels drawn with uneven probabilities: classes of about equal ones, and bets where labels may not speak for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.stats import proportions
from axisjudge.stats.clusters import ERROR_ICC, OUTCOME_ICC, ClusteredVariance, clustered_variance, effective_clusters
from axisjudge.stats.estimate import Estimate

# A rate from labels of a few items, post-stratified by what a judge said of all: sum_v q_v P(failed | v).
# Valid where labels were drawn at random or by the judge's verdict itself. Of a draw with uneven probabilities, each
# class of about equal ones is a stratum of its own, whose number of items is known where every item's probability is,
# and estimated by the weights of its labels (Hajek) where only theirs are. Two intervals hold at few labels and at none
# of the rarer kind, where a normal quantile does not: posterior draws (Beta(1/2) for the rate within a stratum, the
# Dirichlet of the counts for the shares of strata), and MOVER on the strata's Wilson intervals. Each covers only .91
# somewhere (the posterior with a judge that nearly always says the same, MOVER with one that says anything), and so
# their hull is given.

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

POSTERIOR_DRAWS = 4000
#: With fewer labels a stratum Wilson's interval within strata gives way to the exact one.
FEWEST_FOR_WILSON = 15


class Values(NamedTuple):
    """A corrected rate with its ends, how they were found, and what must be known of it."""

    estimate: float
    low: float
    high: float
    method: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """Items with a stratum each, of which some are labelled.

    `label` is 1, 0 or NaN; `weight` 1 / probability of labelled items up to a factor, 0 of others; `groups` the cluster
    of each item, from 0; `classes` (from 0) tell labels of unlike weight in one stratum apart.
    """

    strata: Ints
    label: Floats
    weight: Floats
    groups: Ints
    ci_level: float = 0.95
    rng: np.random.Generator | int | None = None
    prior: float = 0.5  # both parameters of each stratum's Beta prior
    classes: Ints | None = None  # of inclusion probability, of labelled items; how many items each has is estimated
    undrawn: bool = False  # strata without a label have none because they were not drawn, not by chance

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which items are labelled."""
        return ~np.isnan(self.label)


def post_stratified_interval(sample: LabelledSample) -> tuple[float, float, float]:
    """The post-stratified rate and its interval.

    A stratum without a label counts as one half, known not at all; where it was not drawn, wholly against both ends: it
    may hold no failure, or nothing else.

    In clusters the expected correlation is that of a judge's errors (of the outcome, in one stratum), the ends reach
    further to the side of `Lean`, by its quantiles over t, and no end is nearer than labelled clusters unlike those
    seen may move it (`with_unseen`), as those of the labels alone. Coverage of the 95% interval, 400 replicates a cell,
    16 to 80 whole labelled tasks of 1 to 25 items and twice as many others, rates .05 to .5, correlations 0, .3 and 1,
    judges good, poor and by lot (designs kept back): mean .964, minimum .922, as the labels alone there; .950 and .895
    without these, at widths of .72 to 1.
    """
    kinds, strata = np.unique(sample.strata, return_inverse=True)
    n_kinds, n = kinds.size, strata.size
    asked, weight = sample.labelled, sample.weight
    n_items = np.bincount(strata).astype(np.float64)
    total = np.bincount(strata, weights=weight).astype(np.float64)
    squared = np.bincount(strata, weights=weight**2).astype(np.float64)
    given = total > 0
    hits = np.bincount(strata[asked], weights=weight[asked] * sample.label[asked], minlength=n_kinds)
    rate = np.divide(hits, total, out=np.full(n_kinds, 0.5), where=given)
    kish = _over(total**2, squared)  # what weighted labels are worth
    share = n_items / n
    estimate = float(share @ rate)

    residual = np.where(asked, np.nan_to_num(sample.label) - rate[strata], 0.0) * weight * _over(share, total)[strata]
    of_labels = eff_per_item(sample, residual, asked)
    deviation_of_strata = rate - estimate
    deviation = deviation_of_strata[strata]
    of_verdicts = eff_per_item(sample, deviation / n, np.ones(n, dtype=bool))

    rng = np.random.default_rng(0 if sample.rng is None else sample.rng)
    kish = kish * of_labels
    if sample.classes is None:
        p = rng.beta(kish * rate + sample.prior, kish * (1 - rate) + sample.prior, size=(POSTERIOR_DRAWS, n_kinds))
        bounds = _bounds(rate, kish, exact=int(asked.sum()) < FEWEST_FOR_WILSON * n_kinds, level=sample.ci_level)
    else:
        p = _over_classes(sample, strata, sample.classes, of_labels, rng)
        bounds = np.quantile(p, [(1 - sample.ci_level) / 2, (1 + sample.ci_level) / 2], axis=0)
    q = rng.standard_gamma(n_items * of_verdicts, size=p.shape)
    tails = (1 - sample.ci_level) / 2, (1 + sample.ci_level) / 2
    held = given | (not sample.undrawn)
    low, high = (np.quantile((np.where(held, p, word) * q).sum(1) / q.sum(1), at) for word, at in enumerate(tails))
    of_shares = (
        proportions.normal_quantile(sample.ci_level) ** 2 * float(share @ deviation_of_strata**2) / (n * of_verdicts)
    )
    below, above = _mover(rate[held], bounds[:, held], share[held], of_shares)
    unknown = float(share[~held].sum()) / 2
    low, high = min(float(low), estimate - unknown - below), max(float(high), estimate + unknown + above)
    spread = _over_clusters(sample, residual, asked)
    if spread.degrees < math.inf:
        t = proportions.t_quantile(spread.degrees, sample.ci_level)
        down, up = (q / t for q in spread.lean.quantiles(t))
        low, high = estimate - down * (estimate - low), estimate + up * (high - estimate)
        hits, sizes = (np.bincount(sample.groups[asked], weights=(of * weight)[asked]) for of in (sample.label, 1.0))
        lean = proportions.lean_to_unseen(spread.lean, estimate, hits[sizes > 0], sizes[sizes > 0])
        low, high = proportions.with_unseen(low, high, estimate, lean, sample.ci_level)
    return estimate, max(0.0, low), min(1.0, high)


def unlabelled_share(sample: LabelledSample) -> float:
    """The share of the items that lie in strata which were not drawn."""
    return sample.undrawn * float((np.bincount(sample.strata, weights=sample.labelled) == 0)[sample.strata].mean())


def _over_classes(
    sample: LabelledSample, strata: Ints, classes: Ints, per_item: float, rng: np.random.Generator
) -> Floats:
    """Draws of each stratum's rate where labels stand for unlike numbers of items: sum over classes of share x rate.

    The share of a class is estimated by the weights of its n labels, and as uncertain as a gamma variable of shape n.
    """
    asked, n_classes = sample.labelled, int(classes.max()) + 1
    cell = (strata * n_classes + classes)[asked]
    shape = (int(strata.max()) + 1, n_classes)
    n, failing, total = (
        np.bincount(cell, weights=of, minlength=shape[0] * n_classes).reshape(shape).astype(np.float64)
        for of in (np.ones(cell.size), (sample.weight * sample.label)[asked], sample.weight[asked])
    )
    hits = n * _over(failing.ravel(), total.ravel()).reshape(
        shape
    )  # by weight: within a class, too, it may go with failing
    prior = 0.5 / np.maximum((n > 0).sum(axis=1, keepdims=True), 1)
    rates = rng.beta(per_item * hits + prior, per_item * (n - hits) + prior, size=(POSTERIOR_DRAWS, *shape))
    items = rng.standard_gamma(n * per_item, size=rates.shape) * _over(total.ravel(), n.ravel()).reshape(shape)
    in_all = items.sum(axis=2)
    return np.where(in_all > 0, (rates * items).sum(axis=2) / np.where(in_all > 0, in_all, 1.0), rates[:, :, 0])


def _bounds(rate: Floats, n: Floats, *, exact: bool, level: float) -> Floats:
    """The interval of each stratum's rate, shape (2, strata); one without labels may have any rate."""
    interval = proportions.clopper_pearson_interval if exact else proportions.wilson_interval
    ends = [
        interval(min(p * size, size), size, ci_level=level) if size > 0 else (0.0, 1.0)
        for p, size in zip(rate.tolist(), n.tolist(), strict=True)
    ]
    return np.array(ends).T


def _mover(rate: Floats, bounds: Floats, share: Floats, of_shares: float) -> tuple[float, float]:
    """How far the interval of sum_v q_v p_v reaches down and up: the root of the squares of its parts.

    Zou and Donner (2008), doi:10.1002/sim.3095. `of_shares` is the square of what the shares q_v contribute.
    """
    low, high = bounds
    return (
        math.sqrt(float(((share * np.maximum(rate - low, 0)) ** 2).sum()) + of_shares),
        math.sqrt(float(((share * np.maximum(high - rate, 0)) ** 2).sum()) + of_shares),
    )


def eff_per_item(sample: LabelledSample, influence: Floats, counted: NDArray[np.bool_]) -> float:
    """What one of the counted items is worth in clusters, (z / t)^2 / deff; 1 where each is a cluster of its own.

    Parameters
    ----------
    influence : array, shape (n_items,)
        Each item's part in the estimate's deviation.
    counted : array of bool, shape (n_items,)
    """
    spread = _over_clusters(sample, influence, counted)
    if math.isinf(spread.degrees):
        return 1 / spread.design_effect
    t = proportions.t_quantile(spread.degrees, sample.ci_level)
    return (proportions.normal_quantile(sample.ci_level) / t) ** 2 / spread.design_effect


def _over_clusters(sample: LabelledSample, influence: Floats, counted: NDArray[np.bool_]) -> ClusteredVariance:
    """The variance behind the counted items' influences; on no end of degrees where clusters show nothing of it."""
    groups = sample.groups[counted]
    there = np.bincount(groups) > 0
    groups = (np.cumsum(there) - 1)[groups]  # from 0 without a gap
    sizes = np.bincount(groups)
    if (sizes == 1).all():
        return ClusteredVariance(math.nan, math.inf, 1.0, sizes.size)
    if sizes.size < 2:  # how far clusters differ cannot be seen: as if all items were alike
        return ClusteredVariance(math.nan, math.inf, groups.size, 1.0)
    prior = ERROR_ICC if np.ptp(sample.strata) else OUTCOME_ICC  # what a verdict leaves, or the outcome itself
    return clustered_variance(influence[counted], groups, prior=prior)


def _over(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 0 where there is no whole."""
    return np.divide(part, whole, out=np.zeros(whole.size), where=whole > 0)


#: Labels of a verdict stand, by their weights, for at least this share of its items, or some kind of item has none.
LEAST_COVERED = 0.5
#: Inclusion probabilities up to this ratio are of one class.
CLASS_RATIO = 3.0
#: Labels of uneven weight must be worth so many of even weight (Kish) where the probabilities of labelled items alone
#: are known; with fewer, intervals covered .75 to .92. Where every item's is, classes have known sizes, and few labels
#: of one make a wide interval. Without, a weight alone says how many items a label stands for: one very heavy label
#: shows a kind of items that the others had not, and what they said was blind to it. Then `rate_by_bets` answers.
FEWEST_EFFECTIVE_LABELS = 50
#: Bets of `rate_by_bets`, as shares of what the largest cluster can lose.
BETS = 0.5 ** np.arange(1, 21)
#: Normal p values below this are made again from shuffled labels, so many times, of many items less often.
SHUFFLED_BELOW = 0.05
SHUFFLES, FEWEST_SHUFFLES, MOST_KEYS = 10_000, 500, 20_000_000
#: So many shuffles that are as extreme say enough of a p (Besag and Clifford 1991, doi:10.1093/biomet/78.2.301).
ENOUGH_EXTREME = 40
#: Labels that a class needs under one verdict to be a stratum of its own.
FEWEST_IN_CLASS = 3
#: Kinds of items that nobody labelled are spoken of where they are more than this share.
MOST_UNLABELLED = 0.05


#: Families of features, each tested by itself at the level of `drawn_apart`.
Families = Sequence[Mapping[str, ArrayLike]]


def comparable_features(
    words: NDArray[np.float64],
    names: Sequence[str],
    *,
    agents: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
) -> Families:
    """What labelled and other items can be compared by: what judges say; and whether all agree, agent, length.

    Parameters
    ----------
    words : array of codes, shape (n_items, n_judges)
        NaN where a judge gave none.
    names : sequence of str
        The word of each code; of two, the second stands for both.
    agents, lengths : array, shape (n_items,), optional
        Who acted (None or "" where it is not named), and how long an item is (of which the ranks are compared).
    """
    given = ~np.isnan(words)
    n_given = np.maximum(given.sum(axis=1), 1)
    by_verdict = {f"verdict {name}": (words == code).sum(axis=1) / n_given for code, name in enumerate(names)}
    if len(names) == 2:
        del by_verdict[f"verdict {names[0]}"]
    others: dict[str, ArrayLike] = {}
    if words.shape[1] > 1:
        low, high = (np.where(given, words, end).T for end in (np.inf, -np.inf))
        others["unanimity"] = (low.min(axis=0) == high.max(axis=0)) * 1.0
    if agents is not None:
        who = np.array([str(name or "") for name in np.asarray(agents, dtype=object)])
        others |= {f"agent {name}": (who == name) * 1.0 for name in sorted(set(who.tolist()) - {""})}
    if lengths is not None:
        from scipy.stats import rankdata  # slow to load, and rarely needed

        others["length"] = rankdata(np.asarray(lengths, dtype=np.float64)) / max(len(words), 1)
    return by_verdict, others


def apart_reason(labelled: ArrayLike, families: Families, clusters: ArrayLike, strata: ArrayLike | None = None) -> str:
    """Why labels are no random draw, with what differs most and both its means; empty where nothing shows it."""
    asked = np.asarray(labelled, dtype=bool)
    for features in families:
        if apart := drawn_apart(asked, features, clusters, strata=strata):
            name = min(apart, key=lambda one: apart[one])
            here, there = (float(np.asarray(features[name], dtype=np.float64)[rows].mean()) for rows in (asked, ~asked))
            by = "at random" if strata is None else "by this verdict alone"
            differ = f"labelled items differ from the others in {name} ({here:.0%} of them, {there:.0%} of the others)"
            return f"labels are said to be drawn {by}, but {differ}"
    return ""


def drawn_apart(
    labelled: ArrayLike,
    features: Mapping[str, ArrayLike],
    clusters: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    level: float = 0.99,
) -> dict[str, float]:
    r"""In what labelled items differ from the others: corrected p values, by feature, of those below 1 - `level`.

    Two tests of each feature x, the smaller p doubled, as labels may be drawn by items or by whole clusters:

    - within clusters, :math:`\sum_i l_i (x_i - \bar x_{g(i)})` against the labels of each cluster shuffled over its
      items: exact however few or uneven clusters are, and blind to whole clusters;
    - over clusters, :math:`U = \sum_g u_g` with :math:`u_g = n_g (\bar l_g - \bar l)(\bar x_g - \bar x)`, the robust
      score :math:`U^2 / \sum_g u_g^2` of a logistic model of being labelled, by t on one less than the
      :math:`(\sum u_g^2)^2 / \sum u_g^4` clusters that carry it; where that is small, no less than by the shares
      labelled shuffled over clusters: what is rare is missed by a few labels, and U then looks too sure.

    Where every cluster is one item, the first is that of all items (of a stratum), and the only one.

    Holm's correction over the features, so that all are looked at together.

    Parameters
    ----------
    labelled : array of bool, shape (n_items,)
    features : mapping of str to array, shape (n_items,)
        What is known of labelled and unlabelled items alike: words that judges gave, whether they agree, agent, length.
    clusters : array, shape (n_items,)
    strata : array of int, shape (n_items,), optional
        Within which labels were drawn at random (verdicts, say): being labelled and x are centred within these.
    level : float
        Of the samples whose labels were drawn at random this share, or more, is passed without a word.

    References
    ----------
    Boos (1992), Am. Stat. 46:327-333, doi:10.1080/00031305.1992.10475921 (robust score tests). Liang and Zeger (1986),
    Biometrika 73:13-22, doi:10.1093/biomet/73.1.13. Chung and Romano (2013), Ann. Stat. 41:484-507,
    doi:10.1214/13-AOS1090 (permutation of studentised statistics). Holm (1979), Scand. J. Stat. 6:65-70.
    """
    given = np.asarray(labelled, dtype=np.float64)
    groups = np.unique(np.asarray(clusters), return_inverse=True)[1]
    within = np.zeros(given.size, np.intp) if strata is None else np.unique(np.asarray(strata), return_inverse=True)[1]
    columns = {name: np.asarray(x, dtype=np.float64) for name, x in features.items()}
    p_values = {name: _apart(given, x, groups, within) for name, x in columns.items()}
    known = sorted((p, name) for name, p in p_values.items() if not math.isnan(p))
    corrected, highest = {}, 0.0
    for rank, (p, name) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        corrected[name] = highest
    return {name: p for name, p in corrected.items() if p < 1 - level}


def _apart(given: NDArray[np.float64], feature: NDArray[np.float64], groups: Ints, strata: Ints) -> float:
    """p of one feature by both tests; NaN where neither can be made."""
    if groups.max(initial=-1) + 1 == groups.size:
        return _within(given, feature, strata)
    cells = np.unique(groups * (strata.max(initial=0) + 1) + strata, return_inverse=True)[1]
    drawn, x = (of - (np.bincount(strata, weights=of) / np.bincount(strata))[strata] for of in (given, feature))
    known = [p for p in (_within(given, feature, cells), _over_uneven_draws(drawn, x, groups)) if not math.isnan(p)]
    return min(1.0, len(known) * min(known)) if known else math.nan


def _within(given: NDArray[np.float64], feature: NDArray[np.float64], groups: NDArray[np.intp]) -> float:
    """Two-sided p within clusters, normal where that is far from small, else of shuffled labels; NaN of whole clusters.

    One rare item has a skewed sum: a normal p of .003 may be one of .1, so that small ones are shuffled out.
    """
    size = np.bincount(groups)
    centred = feature - (np.bincount(groups, weights=feature) / size)[groups]
    share = np.bincount(groups, weights=given) / size
    squares = np.bincount(groups, weights=centred**2)
    variance = float((share * (1 - share) * squares * size / np.maximum(size - 1, 1)).sum())
    if variance <= 1e-12:
        return math.nan
    observed = float(given @ centred)
    from scipy.special import ndtr  # slow to load, and not needed by all

    p = 2 * float(ndtr(-abs(observed) / math.sqrt(variance)))
    order = np.lexsort((-given, groups))

    def shuffled(rng: np.random.Generator) -> NDArray[np.float64]:
        """Items change places within their cluster."""
        keys = groups[order] + rng.random((FEWEST_SHUFFLES, groups.size))
        return np.asarray(centred[order][np.argsort(keys, axis=1)] @ given[order])

    return p if p > SHUFFLED_BELOW else _extreme(shuffled, observed, groups.size)


def _over_uneven_draws(given: NDArray[np.float64], feature: NDArray[np.float64], groups: NDArray[np.intp]) -> float:
    """Two-sided p over clusters of residuals; NaN where one does not vary, or in fewer than two clusters."""
    size = np.bincount(groups)
    share, total = np.bincount(groups, weights=given) / size, np.bincount(groups, weights=feature)

    def ratio(shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The studentised score of these shares, or of many rows of them, and the clusters that carry it."""
        parts = (shares - (shares @ size / groups.size)[..., None]) * total
        squares = np.maximum((parts**2).sum(axis=-1), 1e-12)
        return parts.sum(axis=-1) / np.sqrt(squares), squares**2 / np.maximum((parts**4).sum(axis=-1), 1e-24)

    observed, carried = (float(each) for each in ratio(share))
    if np.ptp(share) <= 1e-9 or np.ptp(total) <= 1e-9 or carried <= 1.5:
        return math.nan
    from scipy.special import stdtr

    p = float(2 * stdtr(carried - 1, -abs(observed)))
    if p > SHUFFLED_BELOW:
        return p
    many = (FEWEST_SHUFFLES, size.size)
    return max(p, _extreme(lambda rng: ratio(rng.permuted(np.broadcast_to(share, many), axis=1))[0], observed, many[1]))


def _extreme(shuffled: Callable[[np.random.Generator], NDArray[np.float64]], observed: float, size: int) -> float:
    """The share of shuffles, `FEWEST_SHUFFLES` at once, that are as far from 0."""
    rng, shuffles = np.random.default_rng(0), max(FEWEST_SHUFFLES, min(SHUFFLES, MOST_KEYS // size))
    extreme = done = 0
    while done < shuffles and extreme < ENOUGH_EXTREME:
        extreme += int((np.abs(shuffled(rng)) >= abs(observed) - 1e-9).sum())
        done += FEWEST_SHUFFLES
    return (1 + extreme) / (1 + done)


def label_weights(probability: ArrayLike | None, labelled: NDArray[np.bool_]) -> NDArray[np.float64]:
    """1 / probability of labelled items, 0 of others; 1 where no probability is given."""
    if probability is None:
        return labelled.astype(np.float64)
    given = np.asarray(probability, dtype=np.float64)
    if given.shape != labelled.shape or not ((given[labelled] > 0) & (given[labelled] <= 1)).all():
        raise InputError("probability", "must lie in (0, 1] for every labelled item", probability)
    return np.where(labelled, 1 / np.where(labelled, given, 1.0), 0.0)


def weights_within(strata: Ints, labelled: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights n_items / n_labelled of each stratum."""
    share = np.bincount(strata, weights=labelled) / np.maximum(np.bincount(strata), 1)
    return np.where(labelled, 1 / np.where(labelled, share[strata], 1.0), 0.0)


def known_of_all(probability: ArrayLike | None) -> bool:
    """Whether every item's inclusion probability is known, or none: then the labels' own need not add up."""
    return probability is None or not np.isnan(np.asarray(probability, dtype=np.float64)).any()


def probability_classes(probability: ArrayLike | None, labelled: NDArray[np.bool_]) -> Ints | None:
    """Classes of inclusion probability from the highest, -1 where it is not known; None where all are about equal."""
    given = np.asarray(probability, dtype=np.float64)
    top = float(np.nanmax(given[labelled]))
    known = ~np.isnan(given)
    with np.errstate(divide="ignore"):  # items that could not be drawn are the last class
        steps = np.floor(np.log(top / np.where(known, np.minimum(given, top), top)) / math.log(CLASS_RATIO) + 1e-9)
    classes = np.where(known, np.unique(steps, return_inverse=True)[1].reshape(-1), -1).astype(np.intp)
    return classes if classes.max() > 0 else None


def standing_for(sample: LabelledSample) -> float:
    """The share of the items that the labels stand for by their own probabilities: 1 on average, with an error."""
    return float(sample.weight.sum()) / sample.label.size


def not_standing_for_all(sample: LabelledSample) -> str:
    """Why the labels' own probabilities show that some kind of item has none: they fall an error short of all."""
    of_cluster, share = np.bincount(sample.groups, weights=sample.weight), standing_for(sample)
    if share >= 1 - 1 / math.sqrt(effective_clusters(of_cluster[of_cluster > 0])):
        return ""
    return f"by their probabilities the labels stand for {share:.0%} of the items: some kind has no label"


def allowing_for_unseen(rate: Estimate, share: float) -> Estimate:
    """The rate with an interval that allows that all items but this share fail, or none: they may be a kind unseen.

    Labels less than an error short of all may be so by chance, or for want of a kind of item. Without, labels that
    missed 3 to 10% of the items, which failed at .9 and the others at .2, covered .86 to .92.
    """
    short = max(0.0, 1 - share)
    return replace(rate, ci_low=rate.ci_low * (1 - short), ci_high=rate.ci_high * (1 - short) + short)


def in_classes(sample: LabelledSample, classes: Ints) -> tuple[LabelledSample, str]:
    """The sample with classes of inclusion probability told apart, and why its labels may not speak for all items.

    The reason is empty where every item's class is known: a class without a label then bounds the rate.
    """
    asked = sample.labelled
    if (classes >= 0).all():
        strata = _merged(sample.strata, classes, asked)
        many = np.unique(sample.strata).size / np.unique(strata).size
        return replace(sample, strata=strata, prior=0.5 * many, undrawn=True), ""
    n_eff, enough = effective_clusters(sample.weight[asked]), FEWEST_EFFECTIVE_LABELS
    if n_eff < enough:
        few = f"labels drawn with so uneven probabilities are worth {n_eff:.0f} of even weight; a rate needs {enough}"
        return sample, f"{few}, or the probability of every item"
    n_items, standing = (np.bincount(sample.strata, weights=of) for of in (np.ones(asked.size), sample.weight))
    covered = standing / standing.sum() * asked.size / np.maximum(n_items, 1)
    least = float(covered[n_items > MOST_UNLABELLED * asked.size].min(initial=1.0))
    reason = (
        f"by their probabilities the labels of a verdict stand for {least:.0%} of its items: some kind has no label"
    )
    return replace(sample, classes=np.where(asked, classes, 0)), reason if least < LEAST_COVERED else ""


def rate_by_bets(sample: LabelledSample) -> tuple[float, float, float]:
    r"""The weighted rate with an interval that assumes nothing of kinds of items that no label shows.

    .. math:: K(p) = \frac{1}{B} \sum_b \prod_c \left(1 + b \, \frac{z_c / p - n_c}{\max n}\right) \ge \frac{2}{\alpha}
              \quad \text{excludes the rate } p \text{ and all below},

    z_c the summed weights of the labels in cluster c that say failing and n_c its items: z_c - p n_c is 0 on average,
    and no product falls below 0 however heavy a label is, so that K is a fair bet. The upper end is 1 less the lower
    end of not failing; what no label stands for counts against both. The ends cross where the weights are no inverse
    probabilities of these items.

    References
    ----------
    Waudby-Smith and Ramdas (2024), doi:10.1093/jrsssb/qkad009 (bets of one size, and their mean).
    """
    failing = np.where(sample.labelled, sample.label, 0.0)
    low, passing = (_least_rate(sample, word) for word in (failing, sample.labelled - failing))
    estimate = float(np.average(failing, weights=sample.weight))
    return float(np.clip(estimate, low, max(low, 1 - passing))), low, 1 - passing


def _least_rate(sample: LabelledSample, hit: NDArray[np.float64]) -> float:
    """The smallest rate of hits at which bets on a larger one are not won, by bisection."""
    both = np.stack([np.bincount(sample.groups, weights=of) for of in (sample.weight * hit, np.ones(hit.size))])
    (total, size), count = np.unique(both, axis=1, return_counts=True)
    low, high = 0.0, 1.0
    for _ in range(30):
        rate = (low + high) / 2
        log_won = np.log1p(np.outer(BETS, (total / rate - size) / size.max())) @ count
        won = np.logaddexp.reduce(log_won) - math.log(BETS.size) >= math.log(2 / (1 - sample.ci_level))
        low, high = (rate, high) if won else (low, rate)
    return low


def _merged(strata: Ints, classes: Ints, asked: NDArray[np.bool_]) -> Ints:
    """Strata by class of probability and verdict; a class with few labels under some verdict is one stratum.

    Never across classes: few labels of a class that was rarely drawn would pass for many of another.
    """
    cells = np.zeros(strata.size, dtype=np.intp)
    for one in np.unique(classes):
        mine = classes == one
        words, verdict = np.unique(strata[mine], return_inverse=True)
        labels = np.bincount(verdict.reshape(-1), weights=asked[mine], minlength=words.size)
        split = verdict.reshape(-1) if labels.min() >= FEWEST_IN_CLASS else 0
        cells[mine] = cells.max() + 1 + split
    return np.unique(cells, return_inverse=True)[1].reshape(-1).astype(np.intp)
