"""A coefficient of every two raters, its mean over groups of pairs, and the difference of two such means; on which
scale, and what would overturn it.

Intervals of the means: delete-one-cluster jackknife on Fisher's z with t on Kish's effective clusters less one;
simulated with 12 to 140 tasks and prevalences of .05 to .3 they cover .92 to .97. The difference combines the two
(MOVER, Zou 2007, doi:10.1037/1082-989X.12.4.399) with t on half the degrees of freedom and covers .937 to .97 from 25
tasks; with fewer there is none. Where words are rare it takes the two means as unrelated and covers .98 to 1.0 at 25,
50 and 200 tasks of 4 (.91 with the correlation that the jackknife shows).

Several questions are pooled within themselves: 1 - (sum over questions of the observed disagreement of their items) /
(sum of the expected one), chance taken within each question. So the value lies between those of the questions, where
one table of all items would count that questions differ in their means as agreement.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.stats.agreement import coefficients
from axisjudge.stats.agreement.chance_corrected import Seed, agreement_coefficients
from axisjudge.stats.agreement.coefficient_intervals import cluster_sums, rare, shows_few
from axisjudge.stats.agreement.coefficients import coefficient as coefficient_value
from axisjudge.stats.agreement.measured import Form, interval_alpha, intraclass_correlation
from axisjudge.stats.clusters import effective_degrees
from axisjudge.stats.comparisons.ranking import Reversal, fewest_changes
from axisjudge.stats.estimate import Estimate, NamedEstimate, difference_ends, many
from axisjudge.stats.proportions import FEWEST_CLUSTERS, jackknife_interval, t_quantile

Floats = NDArray[np.float64]

#: Below it the interval of the difference covers too little (.83 at 12 tasks).
FEWEST_FOR_DIFFERENCE = 25


class Sampled(TypedDict, total=False):
    """The clusters of items, counted from 0, with `times` and `rows` of `rating_patterns`; and of which interval.

    `strata` says which question each item (each row) is of, where there are several.
    """

    clusters: NDArray[np.integer]
    strata: NDArray[np.integer] | None
    times: NDArray[np.integer] | None
    rows: NDArray[np.integer] | None
    cluster_unit: str
    ci_level: float


@dataclass(frozen=True, eq=False)
class PairedCoefficient:
    """A coefficient of every two raters.

    `pairs` are positions of raters, `values` their coefficients (NaN where undefined), `without` the same without each
    cluster (pairs x clusters), `n_items` the items that both rated; `rare` says that a word is too rare for the
    jackknife's correlation, `few` that too few items differ at all. `codes` are as in
    `paired_coefficient`.
    """

    coefficient: str
    codes: Floats
    n_categories: int
    sample: Sampled
    pairs: tuple[tuple[int, int], ...]
    values: Floats
    without: Floats
    n_items: NDArray[np.intp]
    rare: NDArray[np.bool_]
    few: NDArray[np.bool_]

    @property
    def matrix(self) -> Floats:
        """Raters x raters; NaN on the diagonal and where a pair is undefined."""
        square = np.full((self.codes.shape[1],) * 2, np.nan)
        for (first, second), value in zip(self.pairs, self.values, strict=True):
            square[first, second] = square[second, first] = value
        return square

    def mean(self, group: Sequence[int], empty: str) -> Estimate:
        """The mean over a group of pairs (positions in `pairs`), with its interval; `empty` says why there are none."""
        if len(group) == 1 and self.sample.get("strata") is None:  # its coefficient's own: a posterior if rare
            both = list(self.pairs[group[0]])
            return coefficient_of(self.codes[:, both], self.coefficient, self.n_categories, **self.sample)
        values, without = self.values[group], self.without[group]
        defined, n_items = ~np.isnan(values), int(self.n_items[group].max(initial=0))
        common: dict[str, Any] = {"n_items": n_items, "n_raters": 2, **self._about}
        if not defined.any():
            reason = "no pair of judges has a defined value" if values.size else empty
            return Estimate(estimate=math.nan, reason=reason, **common)
        left_out = f"{(~defined).sum()} of {values.size} pairs are undefined and left out"
        notes = () if defined.all() else (left_out,)
        estimate = float(values[defined].mean())
        low, high, why = _jackknife(estimate, without[defined].mean(axis=0), self.sample)
        method = "" if why else "jackknife-t over clusters on Fisher's z, mean over pairs"
        ends: dict[str, Any] = {"ci_low": low, "ci_high": high, "reason": why, "notes": notes, "method": method}
        return Estimate(estimate=estimate, **ends, **common)

    def difference(self, first: Sequence[int], second: Sequence[int], means: tuple[Estimate, Estimate]) -> Estimate:
        """First mean minus second: their intervals combined with the correlation of their jackknife values."""
        one, other = means
        estimate = one.estimate - other.estimate
        common: dict[str, Any] = {"n_items": max(one.n_items, other.n_items), "n_raters": 2, **self._about}
        reason = one.reason or other.reason
        if not reason and (self.few[[*first, *second]].any() or self._n_clusters < FEWEST_FOR_DIFFERENCE):
            reason = f"an interval of the difference needs {FEWEST_FOR_DIFFERENCE} clusters and 5 of the rarer words"
        if reason:
            return Estimate(estimate=estimate, reason=reason, **common)
        without = [self.without[group] for group in (first, second)]
        correlation = float(np.corrcoef([part[~np.isnan(part).any(axis=1)].mean(axis=0) for part in without])[0, 1])
        if self.rare[[*first, *second]].any():  # the jackknife's correlation is not to be relied on
            correlation = min(correlation, 0.0)
        low, high = difference_ends(one, other, correlation)
        degrees = _degrees(self.sample)  # few tasks carry most of a difference, hence half of them
        wider = t_quantile(degrees / 2, self.sample["ci_level"]) / t_quantile(degrees, self.sample["ci_level"])
        return Estimate(
            estimate=estimate,
            ci_low=estimate - wider * (estimate - low),
            ci_high=estimate + wider * (high - estimate),
            method="MOVER on jackknife-t, half the degrees of freedom",
            **common,
        )

    @property
    def _n_clusters(self) -> int:
        return int(self.without.shape[1])

    @property
    def _about(self) -> dict[str, Any]:
        unit, level = self.sample["cluster_unit"], self.sample["ci_level"]
        return {"cluster_unit": unit, "ci_level": level, "n_clusters": self._n_clusters}


def paired_coefficient(
    codes: Floats,
    coefficient: str,
    *,
    n_categories: int,
    **sample: Unpack[Sampled],
) -> PairedCoefficient:
    """The coefficient (a name of `COEFFICIENTS`) of every two columns of `codes`, shape (n_items, n_raters).

    `codes` are positions of words below `n_categories`, NaN where a rater gave none.
    """
    chosen, categories = coefficients.COEFFICIENTS[coefficient], range(n_categories)
    pairs = tuple(itertools.combinations(range(codes.shape[1]), 2))
    items: Any = {name: sample.get(name) for name in ("clusters", "times", "rows")}
    values, without, counts, seldom, few = [], [], [], [], []
    for pair in pairs:
        patterns = coefficients.rating_patterns(codes[:, list(pair)], categories=categories, **items)
        value, left_out = _with_and_without(chosen, patterns, sample.get("strata"))
        values.append(value)
        without.append(left_out)
        counts.append(int(patterns.items[patterns.paired].sum()))
        seldom.append(bool(patterns.paired.any()) and rare(patterns))
        few.append(bool(patterns.paired.any()) and shows_few(patterns))
    return PairedCoefficient(
        coefficient=coefficient,
        codes=codes,
        n_categories=n_categories,
        sample=sample,
        pairs=pairs,
        values=np.array(values),
        without=np.reshape(without, (len(pairs), _number(sample["clusters"]))),
        n_items=np.array(counts, dtype=np.intp),
        rare=np.array(seldom, dtype=bool),
        few=np.array(few, dtype=bool),
    )


def _with_and_without(
    chosen: coefficients.Coefficient, patterns: coefficients.RatingPatterns, strata: NDArray[np.integer] | None
) -> tuple[float, Floats]:
    """The coefficient of all items, and without each cluster; of several strata within them."""
    values, sums = patterns.categories, chosen.sums(patterns.codes, patterns.categories)
    if strata is None:
        by_cluster = cluster_sums(patterns, sums)
        total = by_cluster.sum(axis=0)
        return float(chosen.estimate(total, values)), chosen.estimate(total - by_cluster, values)
    terms, observed, expected = np.column_stack([patterns.paired, sums]), 0.0, 0.0
    for stratum in np.unique(strata):
        own = replace(patterns, times=np.where(strata == stratum, patterns.times, 0.0))
        by_cluster = cluster_sums(own, terms)
        total = by_cluster.sum(axis=0)
        n_items, *sums_of = np.vstack([total, total - by_cluster]).T
        differ, by_chance = (np.nan_to_num(part) for part in chosen.disagreements(np.column_stack(sums_of), values))
        observed, expected = observed + n_items * differ, expected + n_items * by_chance
    within = coefficient_value(np.asarray(observed), np.asarray(expected))
    return float(within[0]), within[1:]


def coefficient_of(codes: Floats, name: str, n_categories: int, **sample: Unpack[Sampled]) -> Estimate:
    """One coefficient of some raters with its interval, of several strata within them; undefined for a single rater."""
    items: Any = {key: sample.get(key) for key in ("clusters", "times", "rows")}
    terms: Any = {key: sample[key] for key in ("cluster_unit", "ci_level") if key in sample}
    if codes.shape[1] < 2:
        n_items = len(codes) if items["times"] is None else int(items["times"].sum())
        about = {"n_raters": codes.shape[1], "n_clusters": _number(items["clusters"]), "reason": "one rater"}
        return Estimate(estimate=math.nan, n_items=n_items, **about, **terms)
    strata = sample.get("strata")
    if strata is None:
        return agreement_coefficients(codes, [name], categories=range(n_categories), **items, **terms)[name]
    patterns = coefficients.rating_patterns(codes, categories=range(n_categories), **items)
    value, without = _with_and_without(coefficients.COEFFICIENTS[name], patterns, strata)
    low, high, why = _jackknife(value, without, sample)
    return Estimate(
        estimate=value,
        ci_low=low,
        ci_high=high,
        reason=why,
        method="" if why else "jackknife-t over clusters on Fisher's z, within questions",
        n_items=int(patterns.items[patterns.paired].sum()),
        n_raters=codes.shape[1],
        n_clusters=_number(items["clusters"]),
        **terms,
    )


def _degrees(sample: Sampled) -> float:
    return effective_degrees(np.bincount(sample["clusters"], weights=sample.get("times")))


def _jackknife(estimate: float, without: Floats, sample: Sampled) -> tuple[float, float, str]:
    """The ends of an interval from the values without each cluster, or why there is none."""
    if without.size < FEWEST_CLUSTERS:
        why = f"{many(without.size, 'cluster')}; an interval of a mean over pairs needs {FEWEST_CLUSTERS}"
        return math.nan, math.nan, why
    degrees, level = _degrees(sample), sample["ci_level"]
    low, high = jackknife_interval(estimate, without, scale="fisher", degrees=degrees, ci_level=level)
    if high - low < 1e-9:  # what did not vary may vary all the same
        return math.nan, math.nan, "no cluster changes it: too few have verdicts to compare"
    undefined = "without some cluster a pair is undefined, or agrees fully"
    return low, high, undefined if math.isnan(low) else ""


def _number(clusters: NDArray[np.integer]) -> int:
    """How many clusters there are, counted from 0."""
    return int(clusters.max()) + 1 if clusters.size else 0


# How many verdicts would have to be otherwise for agreement beyond chance not to be shown.


def overturned_agreement(codes: NDArray[np.float64], coefficient: str, n_categories: int, **sample: Any) -> Reversal:
    """The fewest verdicts that would bring the lower end of a coefficient of all raters to 0.

    Verdicts other than the commonest become it, on items with the most of them first: alpha lives on such items. In one
    order all of an item's, in the other half of them on every item first, so that judges differ there.

    Parameters
    ----------
    codes : array, shape (n_items, n_raters)
        Positions of words below `n_categories`; NaN where a rater gave none.
    sample
        clusters, cluster_unit and ci_level.
    """
    given = ~np.isnan(codes)
    common = np.bincount(codes[given].astype(np.intp)).argmax()
    rare = given & (codes != common)
    share = rare.sum(axis=1) / np.maximum(given.sum(axis=1), 1)
    item, judge = np.nonzero(rare)
    second_half = np.cumsum(rare, axis=1)[item, judge] > rare.sum(axis=1)[item] / 2
    orders = [np.lexsort((judge, item, -share[item])), np.lexsort((judge, item, -share[item], second_half))]

    def holds(changed: NDArray[np.intp]) -> bool:
        otherwise = codes.copy()
        otherwise[item[changed], judge[changed]] = common
        return bool(coefficient_of(otherwise, coefficient, n_categories, **sample).ci_low > 0)

    return fewest_changes(holds, orders, exact=False)


# Which coefficients a scale has: of words, of words in order, or of numbers.

#: Columns of scales of numbers alone.
OF_NUMBERS = ("interval_alpha", "icc")


def columns_of(level: coefficients.Level) -> tuple[str, ...]:
    """The columns of a table of agreement on scales of `level`."""
    return OF_NUMBERS if level == "interval" else coefficients.coefficient_columns(level)


def coefficients_at(
    level: coefficients.Level,
    codes: NDArray[np.float64],
    *,
    categories: Sequence[float],
    clusters: NDArray[np.integer] | None = None,
    times: NDArray[np.integer] | None = None,
    rows: NDArray[np.integer] | None = None,
    rng: Seed = None,
    **sample: Any,
) -> dict[str, NamedEstimate]:
    """The coefficients of ratings (rows x raters) on a scale of `level`, by column.

    `rows` and `times` are as in `axisjudge.stats.agreement.coefficients.rating_patterns`.

    Of numbers, ICC(A,1) where all raters rated half of the compared items or more, on these items; else ICC(1), which
    takes each item's raters as its own. `sample` holds cluster_unit, ci_level and `alike`.
    """
    if level == "interval":
        if sample.pop("alike", "items") != "items":
            raise InputError("alike", "is of words: coefficients of numbers take each item alike", "clusters")
        if clusters is not None and clusters.ndim == 2:
            raise InputError("crossed", "is of words: coefficients of numbers take one way of grouping")
        number = 1 if times is None else times  # as single items: hardly two are alike
        codes = codes[np.repeat(np.arange(len(codes)) if rows is None else rows, number)]
        sample["clusters"] = None if clusters is None else np.repeat(clusters, number)
        given = (~np.isnan(codes)).sum(axis=1)
        complete, compared = (given == codes.shape[1]).sum(), (given >= 2).sum()
        form: Form = "A,1" if 2 * complete >= compared else "1"
        alpha, icc = interval_alpha(codes, **sample), intraclass_correlation(codes, form=form, **sample)
        return {"interval_alpha": alpha, "icc": icc}
    names = coefficients.coefficient_names(codes.shape[1], level)
    items: dict[str, Any] = {"categories": categories, "clusters": clusters, "times": times, "rows": rows}
    values = agreement_coefficients(codes, list(names.values()), **items, rng=rng, **sample)
    return {column: values[name] for column, name in names.items()}
