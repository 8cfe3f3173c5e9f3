"""A rate from labels of a few items, post-stratified by what a judge said of all: sum_v q_v P(failed | v).

Valid where labels were drawn at random or by the judge's verdict itself. Of a draw with uneven probabilities, each
class of about equal ones is a stratum of its own, whose number of items is known where every item's probability is, and
estimated by the weights of its labels (Hajek) where only theirs are. Two intervals hold at few labels and at none of
the rarer kind, where a normal quantile does not: posterior draws (Beta(1/2) for the rate within a stratum, the
Dirichlet of the counts for the shares of strata), and MOVER on the strata's Wilson intervals. Each covers only .91
somewhere (the posterior with a judge that nearly always says the same, MOVER with one that says anything), and so their
hull is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from axisjudge.stats.clusters import clustered_variance
from axisjudge.stats.rates.proportions import (
    LEAST_ICC,
    clopper_pearson_interval,
    normal_quantile,
    t_quantile,
    wilson_interval,
)

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
    of_labels = cluster_worth(sample, residual, asked)
    deviation_of_strata = rate - estimate
    deviation = deviation_of_strata[strata]
    of_verdicts = cluster_worth(sample, deviation / n, np.ones(n, dtype=bool))

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
    of_shares = normal_quantile(sample.ci_level) ** 2 * float(share @ deviation_of_strata**2) / (n * of_verdicts)
    below, above = _mover(rate[held], bounds[:, held], share[held], of_shares)
    unknown = float(share[~held].sum()) / 2
    low, high = min(float(low), estimate - unknown - below), max(float(high), estimate + unknown + above)
    return estimate, max(0.0, low), min(1.0, high)


def unlabelled_share(sample: LabelledSample) -> float:
    """The share of the items that lie in strata which were not drawn."""
    return sample.undrawn * float((np.bincount(sample.strata, weights=sample.labelled) == 0)[sample.strata].mean())


def _over_classes(
    sample: LabelledSample, strata: Ints, classes: Ints, worth: float, rng: np.random.Generator
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
    rates = rng.beta(worth * hits + prior, worth * (n - hits) + prior, size=(POSTERIOR_DRAWS, *shape))
    items = rng.standard_gamma(n * worth, size=rates.shape) * _over(total.ravel(), n.ravel()).reshape(shape)
    in_all = items.sum(axis=2)
    return np.where(in_all > 0, (rates * items).sum(axis=2) / np.where(in_all > 0, in_all, 1.0), rates[:, :, 0])


def _bounds(rate: Floats, n: Floats, *, exact: bool, level: float) -> Floats:
    """The interval of each stratum's rate, shape (2, strata); one without labels may have any rate."""
    interval = clopper_pearson_interval if exact else wilson_interval
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


def cluster_worth(sample: LabelledSample, influence: Floats, counted: NDArray[np.bool_]) -> float:
    """What one of the counted items is worth in clusters, (z / t)^2 / deff; 1 where each is a cluster of its own.

    Parameters
    ----------
    influence : array, shape (n_items,)
        Each item's part in the estimate's deviation.
    counted : array of bool, shape (n_items,)
    """
    groups = sample.groups[counted]
    there = np.bincount(groups) > 0
    groups = (np.cumsum(there) - 1)[groups]  # from 0 without a gap
    sizes = np.bincount(groups)
    if (sizes == 1).all():
        return 1.0
    if sizes.size < 2:  # how far clusters differ cannot be seen: as if all items were alike
        return 1 / groups.size
    variance = clustered_variance(influence[counted], groups, prior=LEAST_ICC)
    t = t_quantile(variance.degrees, sample.ci_level)
    return (normal_quantile(sample.ci_level) / t) ** 2 / variance.design_effect


def _over(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 0 where there is no whole."""
    return np.divide(part, whole, out=np.zeros(whole.size), where=whole > 0)
