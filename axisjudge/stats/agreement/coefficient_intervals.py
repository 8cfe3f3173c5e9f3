"""Intervals of agreement coefficients, chosen by what the items and clusters can carry.

- Fewer than 10 effective clusters, an expected rarer cell below 5, or fewer than 5 disagreements: draws from a
  Dirichlet posterior on the possible rating patterns, with prior mass 1 on the unanimous ones and 1 on the others: 1/2
  for each cell of a 2 x 2 table. Of words in order all are possible that were declared: without those that no item of
  ten tau2 queries was given AC2 was covered in .885. Counts are scaled by 1 / design effect and (z / t)^2, both as in
  `axisjudge.stats.clusters`. The same for fewer than 100 independent items; of three words or more, whose influences
  have heavy tails, t has the part of its degrees that they show, 12 at least.
- Otherwise, clustered items: the leave-one-out influences of items on Fisher's z (logit for percent agreement), added
  up over clusters, with the variance and the t of `axisjudge.stats.clusters`. Nothing narrower holds: leaving clusters
  out with t on Kish's number less one, a third narrower, covers AC2 of redrawn votes in .84 at the least and .90 in the
  mean, AC1 in .84 and .91 (ours .93 and .97; data/reference/coverage.csv), and where judges part on one kind of large
  tasks, a tenth of twenty, in .73; no number of clusters up to forty mends it.
- Otherwise, independent items: the standard error of a multinomial bootstrap over the distinct rating patterns, on the
  same scales; with more than 1,000 patterns (five raters, say) the delete-one-item jackknife, one pass over them.
"""

from __future__ import annotations

import itertools
import math
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from axisjudge.stats import proportions
from axisjudge.stats.agreement.coefficients import Coefficient, Floats, Ints, RatingPatterns, category_counts
from axisjudge.stats.clusters import (
    OUTCOME_ICC,
    Alike,
    ClusteredVariance,
    clustered_variance,
    effective_clusters,
    normal_part_of,
)
from axisjudge.stats.estimate import Ends, too_few_clusters, without_interval

REPLICATES = 1000
#: With fewer independent items a bootstrap is too short (.92 at n = 20 where the posterior has .95).
FEWEST_FOR_BOOTSTRAP = 100
#: With more distinct patterns the bootstrap costs seconds and says no more than a jackknife over the patterns.
MOST_FOR_BOOTSTRAP = 1000
POSTERIOR_DRAWS = 2000
#: Degrees that heavy tails leave to a posterior of three words or more: with all of them quadratic AC2 of 200
#: independent items, 5% and 5% in the rarer words, is covered .928.
LEAST_DEGREES = 12.0
#: 28 raters with 4 categories; beyond it the posterior holds the patterns near those that occur.
MOST_CELLS = 4096


@dataclass(frozen=True, eq=False)
class PatternBootstrap:
    """Multinomial resamples of the items over their rating patterns, drawn once for all coefficients.

    `sums` holds for each coefficient what its patterns add up to, shape (patterns, terms). Everything is drawn from
    `rng` as it was given, so that the interval of a coefficient does not hang on which others are asked for with it.
    """

    patterns: RatingPatterns
    sums: list[Floats]
    rng: np.random.Generator

    @cached_property
    def resampled(self) -> list[Floats]:
        """The sums of every coefficient in every resample, each of shape (replicates, terms)."""
        counts = self.patterns.counts
        n = round(counts.sum())
        drawn = deepcopy(self.rng).multinomial(n, counts / n, size=REPLICATES).astype(np.float64)
        ends = np.cumsum([sums.shape[1] for sums in self.sums])[:-1]
        return np.split(drawn @ np.column_stack(self.sums), ends, axis=1)


def coefficient_interval(
    coefficient: Coefficient, patterns: RatingPatterns, bootstrap: PatternBootstrap, number: int, ci_level: float
) -> Ends:
    """The interval of the `number`-th coefficient of `bootstrap`, on `patterns` as its raters saw them.

    A rater who gave nothing has no part in it, as patterns that nobody saw would have prior mass.
    """
    rated = np.flatnonzero((patterns.codes >= 0).any(axis=0))
    patterns = patterns if rated.size < 2 else patterns.of(rated.tolist())
    if coefficient.name == "percent_agreement" and patterns.n_raters == 2:
        return _agreement_as_proportion(patterns, ci_level)
    if patterns.n_clusters() < 2:
        return Ends(reason="fewer than two clusters do not show how far they differ")
    if patterns.weights is not None:
        return _clusters_alike(coefficient, patterns, ci_level)
    sums = bootstrap.sums[number]
    sizes = patterns.cluster_sizes() if patterns.grouped else np.ones(1)
    clustered = bool((sizes > 1).any())
    few = (
        effective_clusters(sizes) < proportions.FEWEST_CLUSTERS
        if clustered
        else patterns.n_clusters() < FEWEST_FOR_BOOTSTRAP
    )
    ends = Ends()
    if not (few or rare(patterns)):
        if clustered or len(bootstrap.patterns.codes) > MOST_FOR_BOOTSTRAP:
            ends = _linearised(coefficient, patterns, sums, ci_level)
        else:
            ends = _bootstrap(coefficient, patterns, sums, bootstrap, number, ci_level)
    if math.isnan(ends.ci_low):
        ends = _posterior(coefficient, patterns, sums, deepcopy(bootstrap.rng), ci_level)
    return ends


def rare(patterns: RatingPatterns) -> bool:
    """Whether too few items fall outside the commonest category, or disagree, for a standard error or a bootstrap.

    The expected rarer cell is n (1 - p)^2 with p the share of the commonest category: what two independent raters
    would both put elsewhere.
    """
    used, n, differ = _used_and_differing(patterns)
    minority = 1 - used.max() / used.sum()
    return bool(min(n * minority**2, differ, n - differ) < proportions.FEWEST_RARE)


def shows_few(patterns: RatingPatterns) -> bool:
    """Whether fewer than 5 items differ, or raters leave the commonest category fewer than 5 times each.

    For figures with a standard error and nothing else. No further item can turn a False into True.
    """
    used, _, differ = _used_and_differing(patterns)
    return bool(min((used.sum() - used.max(initial=0.0)) / patterns.n_raters, differ) < proportions.FEWEST_RARE)


def _used_and_differing(patterns: RatingPatterns) -> tuple[Floats, float, float]:
    """Ratings of each category, items, and items on which raters differ, among those with two ratings or more."""
    codes, items = patterns.codes[patterns.paired], patterns.items[patterns.paired]
    differ = ((codes >= 0) & (codes != codes.max(axis=1, keepdims=True))).any(axis=1)
    return items @ category_counts(codes, patterns.categories.size), float(items.sum()), float(items[differ].sum())


def _agreement_as_proportion(patterns: RatingPatterns, ci_level: float) -> Ends:
    both = (patterns.codes >= 0).all(axis=1)
    same = np.where(both, patterns.codes[:, 0] == patterns.codes[:, 1], np.nan)
    clusters = patterns.cluster if patterns.grouped else None
    alike: Alike = "items" if patterns.weights is None else "clusters"
    how: dict[str, Any] = {"times": patterns.times, "alike": alike, "ci_level": ci_level}
    share = proportions.clustered_proportion(same[patterns.pattern], clusters, **how)
    return Ends(share.ci_low, share.ci_high, share.method, share.reason)


def _clusters_alike(coefficient: Coefficient, patterns: RatingPatterns, ci_level: float) -> Ends:
    """Jackknife over clusters that count alike; none of fewer than ten, of two ways, or where too few items differ."""
    if patterns.cluster.ndim == 2:
        return without_interval("a coefficient of clusters that count alike takes one way of grouping")
    if patterns.n_clusters() < proportions.FEWEST_CLUSTERS:
        return too_few_clusters(patterns.n_clusters(), proportions.FEWEST_CLUSTERS)
    if rare(patterns):
        return without_interval("too few items differ or leave the commonest word")
    estimate, left_out = leave_one_cluster_out(coefficient, patterns)
    low, high = proportions.jackknife_interval(
        estimate, left_out[np.unique(patterns.cluster[patterns.compared])], scale=scale_of(coefficient)[0],
        degrees=patterns.n_clusters() - 1, ci_level=ci_level,
    )  # fmt: skip
    return without_interval(PERFECT) if math.isnan(low) else Ends(low, high, "jackknife-t, clusters alike")


def scale_of(coefficient: Coefficient) -> tuple[proportions.Scale, str]:
    """The scale on which a coefficient's interval is taken, and its name."""
    return ("logit", "the logit") if coefficient.name == "percent_agreement" else ("fisher", "Fisher’s z")


def _bootstrap(
    coefficient: Coefficient,
    patterns: RatingPatterns,
    sums: Floats,
    bootstrap: PatternBootstrap,
    number: int,
    ci_level: float,
) -> Ends:
    scale, named = scale_of(coefficient)
    draws = coefficient.estimate(bootstrap.resampled[number], patterns.categories)
    estimate = float(coefficient.estimate(patterns.counts @ sums, patterns.categories))
    low, high = proportions.bootstrap_interval(estimate, draws, n=patterns.n_clusters(), scale=scale, ci_level=ci_level)
    return Ends(low, high, f"bootstrap of rating patterns on {named}, {REPLICATES} replicates")


#: Where the scale that the interval is taken on ends.
PERFECT = "agreement is perfect in the sample or without one cluster"


# by influence


def leave_one_cluster_out(coefficient: Coefficient, patterns: RatingPatterns) -> tuple[float, Floats]:
    """A coefficient of all items, and without each cluster."""
    weight = patterns.times if patterns.weights is None else patterns.times * patterns.weights
    terms = coefficient.sums(patterns.codes, patterns.categories).T
    by_cluster = np.column_stack(
        [np.bincount(patterns.cluster, column[patterns.pattern] * weight) for column in np.ascontiguousarray(terms)]
    )
    total = by_cluster.sum(axis=0)
    whole = float(coefficient.estimate(total, patterns.categories))
    return whole, coefficient.estimate(total - by_cluster, patterns.categories)


def influences(coefficient: Coefficient, patterns: RatingPatterns, sums: Floats, scale: proportions.Scale) -> Floats:
    """What an item of each row with two ratings or more moves the coefficient by, on a scale; NaN where infinite."""
    left_out = coefficient.estimate(patterns.counts @ sums - sums[patterns.paired], patterns.categories)
    moved = moved_by(left_out, patterns.items[patterns.paired], scale)
    of_pattern = np.full(len(sums), np.nan)
    of_pattern[patterns.paired] = moved
    return np.asarray(of_pattern[patterns.pattern[patterns.compared]])


def moved_by(left_out: Floats, times: Floats, scale: proportions.Scale) -> Floats:
    """What an item moves an estimate by, from its values without one item of each kind, `times` there is of it."""
    value, n = proportions.on_scale(scale, left_out), times.sum()
    with np.errstate(invalid="ignore"):
        return np.asarray((times @ value / n - value) * (n - 1) / n)


def _variance(moved: Floats, groups: Ints | None, times: Floats | None) -> ClusteredVariance:
    """The variance behind influences."""
    return clustered_variance(moved, groups, times=times, prior=OUTCOME_ICC, rare=True)


def _linearised(coefficient: Coefficient, patterns: RatingPatterns, sums: Floats, ci_level: float) -> Ends:
    scale, named = scale_of(coefficient)
    moved = influences(coefficient, patterns, sums, scale)
    if not np.isfinite(moved).all():
        return without_interval("agreement is perfect in the sample or without one item")
    estimate = float(coefficient.estimate(patterns.counts @ sums, patterns.categories))
    times = patterns.times[patterns.compared]
    return linearised(estimate, moved, patterns.groups, times, scale=scale, named=named, ci_level=ci_level)


def linearised(
    estimate: float,
    moved: Floats,
    groups: Ints | None,
    times: Floats | None = None,
    *,
    scale: proportions.Scale = "fisher",
    named: str = "Fisher’s z",
    ci_level: float,
) -> Ends:
    """The interval of a coefficient by what items, `times` there are of each, move it by on a scale."""
    variance = _variance(moved, groups, times)
    low, high = proportions.interval_on(scale, estimate, variance.error, variance.degrees, ci_level, variance.lean)
    ends = without_interval("agreement is perfect in the sample") if math.isnan(low) else Ends(low, high)
    return ends._replace(method=f"linearised on {named}, t on {variance.degrees:.1f} degrees")


# the posterior


def _posterior(
    coefficient: Coefficient, patterns: RatingPatterns, sums: Floats, rng: np.random.Generator, ci_level: float
) -> Ends:
    """Draws from a Dirichlet posterior on the rating patterns."""
    if patterns.categories.size < 2:
        return Ends(reason="only one category is known; name all that could be given in `categories`")
    if np.unique(patterns.codes).size ** 2 > MOST_CELLS:
        return Ends(reason="few clusters and more than 60 different values: numbers rather than categories")
    cells, counts, prior = _cells(coefficient, patterns)
    moved = influences(coefficient, patterns, sums, "identity")
    variance = _variance(np.nan_to_num(moved), patterns.groups, patterns.times[patterns.compared])
    degrees = variance.degrees
    alone = not patterns.grouped or bool((patterns.cluster_sizes() <= 1).all())
    if alone and np.unique(cells[cells >= 0]).size > 2:
        seen = degrees * normal_part_of(np.nan_to_num(moved), patterns.times[patterns.compared])
        degrees = max(seen, min(degrees, LEAST_DEGREES))
    t = proportions.t_quantile(degrees, ci_level)
    scale = (proportions.normal_quantile(ci_level) / t) ** 2 / variance.design_effect
    draws = rng.standard_gamma(counts * scale + prior, size=(POSTERIOR_DRAWS, len(cells)))
    weights = draws / draws.sum(axis=1, keepdims=True) * counts.sum()
    values = coefficient.estimate(weights @ coefficient.sums(cells, patterns.categories), patterns.categories)
    estimate = float(coefficient.estimate(patterns.counts @ sums, patterns.categories))
    low, high = np.nanquantile(values, [(1 - ci_level) / 2, (1 + ci_level) / 2]).tolist()
    below, above = (q / t for q in variance.lean.quantiles(t))
    low, high = max(-1.0, estimate - below * (estimate - low)), min(1.0, estimate + above * (high - estimate))
    method = "Dirichlet(1/2) posterior"
    if patterns.grouped:
        method += f", design effect {variance.design_effect:.2f}, t on {variance.degrees:.1f} degrees"
    return Ends(min(low, estimate), max(high, estimate), method)


def _cells(coefficient: Coefficient, patterns: RatingPatterns) -> tuple[Ints, Floats, Floats]:
    """Patterns over the categories that occur (two at least; of ordered ones all) with their counts and prior mass.

    A coefficient that treats raters alike sees only how many gave each category: patterns are sorted, and a Dirichlet's
    masses add up. Prior mass 1 is spread over the unanimous patterns and 1 over the others, none over the observed ones
    with missing ratings. Beyond `MOST_CELLS` the others are those that occur and those with one dissenter.
    """
    alike = not coefficient.two_raters
    used = np.unique(patterns.codes[patterns.codes >= 0]).tolist()
    unused = [k for k in range(patterns.categories.size) if k not in used]
    every = coefficient.ordered and patterns.categories.size**2 <= MOST_CELLS  # far words weigh most, seen or not
    used += unused if every else unused[: max(0, 2 - len(used))]
    observed = np.sort(patterns.codes, axis=1) if alike else patterns.codes
    n = patterns.n_raters
    if alike and math.comb(n + len(used) - 1, n) > MOST_CELLS:
        one_out = [[k] * (n - 1) + [other] for k in used for other in used]
        complete = np.unique(np.sort(np.vstack([one_out, observed[(observed >= 0).all(axis=1)]]), axis=1), axis=0)
    else:
        kinds = itertools.combinations_with_replacement(sorted(used), n) if alike else itertools.product(used, repeat=n)
        complete = np.array(list(kinds), dtype=np.intp)
    partial = observed[(observed < 0).any(axis=1) & (patterns.n_ratings > 0)]
    cells = np.unique(np.vstack([complete, partial]), axis=0)
    position = {tuple(cell): index for index, cell in enumerate(cells.tolist())}
    counts = np.zeros(len(cells))
    for code, count in zip(observed.tolist(), patterns.counts, strict=True):
        if tuple(code) in position:
            counts[position[tuple(code)]] += count
    return cells, counts, _prior(cells, alike)


def _prior(cells: Ints, alike: bool) -> Floats:
    whole = (cells >= 0).all(axis=1)
    unanimous = whole & (cells == cells[:, :1]).all(axis=1)
    ways = np.ones(len(cells))  # orders of the raters that a sorted pattern stands for
    if alike:
        r = category_counts(cells, int(cells.max()) + 1)
        logarithm = math.lgamma(cells.shape[1] + 1) - np.vectorize(math.lgamma)(r + 1).sum(axis=1)
        ways = np.exp(logarithm)
    mixed = np.where(whole & ~unanimous, ways, 0.0)
    return np.asarray(unanimous / unanimous.sum() + mixed / mixed.sum(), dtype=np.float64)
