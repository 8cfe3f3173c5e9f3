"""A coefficient of every two raters, its mean over groups of pairs, and the difference of two such means; on which
scale, and what would overturn it.

Intervals of the means, and of several questions, are those of one pair (`coefficient_intervals`): what each item moves
the value by, on Fisher's z, added up over clusters. Where a word is rare for some pair, a mean reaches as far as its
pairs do on average, as if all erred alike (Cauchy-Schwarz). Of 14 to 60 tasks of 2 to 24 items, prevalences .05 to .5
(designs kept back), means of three pairs are covered in .94 to 1.0 and one pair of two questions in .95 to .98; .90 to
.94 where judges err by whole tasks. The difference combines two means (MOVER, Zou 2007,
doi:10.1037/1082-989X.12.4.399) with t on half the degrees of freedom and covers .92 to 1.0 from 25 tasks; with fewer
there is none. Where words are rare it takes the two means as unrelated (.91 with the correlation of a jackknife).

Several questions are pooled within themselves: 1 - (sum over questions of the observed disagreement of their items) /
(sum of the expected one), chance taken within each question. So the value lies between those of the questions, where
one table of all items would count that questions differ in their means as agreement.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.stats.agreement import coefficients
from axisjudge.stats.agreement.chance_corrected import Seed, agreement_coefficients
from axisjudge.stats.agreement.coefficient_intervals import linearised, moved_by, rare, scale_of, shows_few
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, Coefficient, RatingPatterns
from axisjudge.stats.agreement.coefficients import coefficient as coefficient_value
from axisjudge.stats.agreement.measured import Form, interval_alpha, intraclass_correlation
from axisjudge.stats.clusters import effective_degrees
from axisjudge.stats.comparisons.ranking import Reversal, fewest_changes
from axisjudge.stats.estimate import Ends, Estimate, NamedEstimate, difference_ends, many
from axisjudge.stats.proportions import FEWEST_CLUSTERS, Scale, t_quantile

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

    `pairs` are positions of raters, `values` their coefficients (NaN where undefined), `left_out` the same without one
    item of each stratum and row of `codes` (pairs x strata x rows), `n_items` the items that both rated; `rare` says
    that a word is too rare for a correlation of two means, `few` that too few items differ at all. `codes` are as in
    `paired_coefficient`.
    """

    coefficient: str
    codes: Floats
    n_categories: int
    sample: Sampled
    pairs: tuple[tuple[int, int], ...]
    values: Floats
    left_out: Floats
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
        if len(group) == 1:
            return self._own(group[0])
        values = self.values[group]
        defined, n_items = ~np.isnan(values), int(self.n_items[group].max(initial=0))
        common: dict[str, Any] = {"n_items": n_items, "n_raters": 2, **self._about}
        if not defined.any():
            reason = "no pair of judges has a defined value" if values.size else empty
            return Estimate(estimate=math.nan, reason=reason, **common)
        undefined = f"{(~defined).sum()} of {values.size} pairs are undefined and left out"
        notes = () if defined.all() else (undefined,)
        estimate = float(values[defined].mean())
        known = np.asarray(group)[defined]
        if self.rare[known].any() and self._n_clusters >= FEWEST_CLUSTERS:
            own = [self._own(number) for number in known.tolist()]
            low, high = (float(np.mean([each.in_short[end] for each in own])) for end in (1, 2))
            why = next((each.reason for each in own if each.reason), "")
            ends = Ends(low, high, "" if why else "mean of the intervals of its pairs, as a word is rare", why)
        else:
            ends = _linearised(self.coefficient, estimate, *self._of(known), self.sample, "mean over pairs")
        return Estimate(estimate=estimate, notes=notes, **ends._asdict(), **common)

    def difference(self, first: Sequence[int], second: Sequence[int], means: tuple[Estimate, Estimate]) -> Estimate:
        """First mean minus second: their intervals combined with the correlation of what clusters move them by."""
        one, other = means
        estimate = one.estimate - other.estimate
        common: dict[str, Any] = {"n_items": max(one.n_items, other.n_items), "n_raters": 2, **self._about}
        reason = one.reason or other.reason
        if not reason and (self.few[[*first, *second]].any() or self._n_clusters < FEWEST_FOR_DIFFERENCE):
            reason = f"an interval of the difference needs {FEWEST_FOR_DIFFERENCE} clusters and 5 of the rarer words"
        if reason:
            return Estimate(estimate=estimate, reason=reason, **common)
        defined = (np.asarray(group)[~np.isnan(self.values[group])] for group in (first, second))
        parts = [_moved(*self._of(group), self.sample, "identity") for group in defined]
        one_by, other_by = (
            np.bincount(at, weights=moved * times, minlength=self._n_clusters) for moved, at, times in parts
        )
        correlation = float(np.corrcoef(one_by, other_by)[0, 1])
        if self.rare[[*first, *second]].any():  # what clusters show of it is not to be relied on
            correlation = min(correlation, 0.0)
        low, high = difference_ends(one, other, correlation)
        degrees = _degrees(self.sample)  # few tasks carry most of a difference, hence half of them
        wider = t_quantile(degrees / 2, self.sample["ci_level"]) / t_quantile(degrees, self.sample["ci_level"])
        return Estimate(
            estimate=estimate,
            ci_low=estimate - wider * (estimate - low),
            ci_high=estimate + wider * (high - estimate),
            method="MOVER, t on half the degrees of freedom",
            **common,
        )

    def _own(self, number: int) -> Estimate:
        """The coefficient of one pair with its own interval: a posterior if words are rare."""
        both = list(self.pairs[number])
        return coefficient_of(self.codes[:, both], self.coefficient, self.n_categories, **self.sample)

    def _of(self, known: NDArray[np.intp]) -> tuple[Floats, NDArray[np.bool_]]:
        """The mean over pairs without one item of each kind, and which rows some of them compare."""
        given = ~np.isnan(self.codes)
        compared = np.any([given[:, list(self.pairs[number])].all(axis=1) for number in known], axis=0)
        return np.asarray(self.left_out[known].mean(axis=0)), compared

    @property
    def _n_clusters(self) -> int:
        return _number(self.sample["clusters"])

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
    pairs = tuple(itertools.combinations(range(codes.shape[1]), 2))
    items: Any = {name: sample.get(name) for name in ("times", "rows")}
    values, left_out, counts, seldom, few = [], [], [], [], []
    for pair in pairs:
        patterns = coefficients.rating_patterns(codes[:, list(pair)], categories=range(n_categories), **items)
        value, without = _with_and_without(COEFFICIENTS[coefficient], patterns, len(codes), sample)
        values.append(value)
        left_out.append(without)
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
        left_out=np.array(left_out),
        n_items=np.array(counts, dtype=np.intp),
        rare=np.array(seldom, dtype=bool),
        few=np.array(few, dtype=bool),
    )


def _with_and_without(
    chosen: Coefficient, patterns: RatingPatterns, n_rows: int, sample: Sampled
) -> tuple[float, Floats]:
    """The coefficient within strata, and without one item of each stratum and row of the codes."""
    of_item, values = patterns.pattern, patterns.categories
    stratum, rows, times = _items(sample, of_item.size)
    terms = np.column_stack([patterns.paired, chosen.sums(patterns.codes, values)])
    n_strata, n_patterns = int(stratum.max(initial=0)) + 1, len(terms)
    counts = np.bincount(stratum * n_patterns + of_item, weights=times, minlength=n_strata * n_patterns)
    total = np.asarray(counts.reshape(n_strata, n_patterns) @ terms, dtype=np.float64)

    def within(totals: Floats) -> Floats:
        n_items, sums = totals[..., 0], totals[..., 1:]
        differ, by_chance = (np.nan_to_num(part) * n_items for part in chosen.disagreements(sums, values))
        return coefficient_value(differ.sum(axis=-1), by_chance.sum(axis=-1))

    without = np.empty((n_strata, n_patterns))
    for number in range(n_strata):
        less = np.zeros((n_patterns, *total.shape))
        less[:, number] = np.where(patterns.paired[:, None], terms, 0.0)
        without[number] = within(total - less)
    of_row = np.zeros(n_rows, dtype=np.intp)
    of_row[rows] = of_item
    return float(within(total)), without[:, of_row]


def _items(sample: Sampled, n_items: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """The stratum of each item, from 0, its row of the codes, and how many such items there are."""
    strata, rows, times = sample.get("strata"), sample.get("rows"), sample.get("times")
    stratum = np.zeros(n_items, dtype=np.intp) if strata is None else np.unique(strata, return_inverse=True)[1]
    row = np.arange(n_items) if rows is None else np.asarray(rows)
    return stratum.reshape(-1), row, np.ones(n_items) if times is None else np.asarray(times, dtype=np.float64)


def _moved(
    left_out: Floats, compared: NDArray[np.bool_], sample: Sampled, scale: Scale
) -> tuple[Floats, NDArray[np.intp], Floats]:
    """What each compared item moves a value by, with its cluster and how many such items there are."""
    stratum, row, times = _items(sample, sample["clusters"].size)
    used = compared[row]
    moved = moved_by(left_out[stratum, row][used], times[used], scale)
    return moved, sample["clusters"][used].astype(np.intp, copy=False), times[used]


def _linearised(
    name: str, estimate: float, left_out: Floats, compared: NDArray[np.bool_], sample: Sampled, of: str
) -> Ends:
    """The interval of a value by what items move it by, as of one pair, or why there is none."""
    _, row, _ = _items(sample, sample["clusters"].size)
    if (n_clusters := np.unique(sample["clusters"][compared[row]]).size) < FEWEST_CLUSTERS:
        return Ends(reason=f"{many(n_clusters, 'cluster')}; an interval of a mean over pairs needs {FEWEST_CLUSTERS}")
    scale, named = scale_of(COEFFICIENTS[name])
    moved, clusters, times = _moved(left_out, compared, sample, scale)
    if not np.isfinite(moved).all():
        return Ends(reason="without some item a pair is undefined, or agrees fully")
    ends = linearised(estimate, moved, clusters, times, scale=scale, named=named, ci_level=sample["ci_level"])
    return ends._replace(method=f"{ends.method}, {of}")


def coefficient_of(codes: Floats, name: str, n_categories: int, **sample: Unpack[Sampled]) -> Estimate:
    """One coefficient of some raters with its interval, of several strata within them; undefined for a single rater."""
    items: Any = {key: sample.get(key) for key in ("clusters", "times", "rows")}
    terms: Any = {key: sample[key] for key in ("cluster_unit", "ci_level") if key in sample}
    if codes.shape[1] < 2:
        n_items = len(codes) if items["times"] is None else int(items["times"].sum())
        about = {"n_raters": codes.shape[1], "n_clusters": _number(items["clusters"]), "reason": "one rater"}
        return Estimate(estimate=math.nan, n_items=n_items, **about, **terms)
    strata = sample.get("strata")
    if strata is None or np.unique(strata).size < 2:
        return agreement_coefficients(codes, [name], categories=range(n_categories), **items, **terms)[name]
    patterns = coefficients.rating_patterns(codes, categories=range(n_categories), **items)
    value, left_out = _with_and_without(COEFFICIENTS[name], patterns, len(codes), sample)
    compared = (~np.isnan(codes)).sum(axis=1) >= 2
    ends = _linearised(name, value, left_out, compared, sample, "within questions")
    return Estimate(
        estimate=value,
        **ends._asdict(),
        n_items=int(patterns.items[patterns.paired].sum()),
        n_raters=codes.shape[1],
        n_clusters=_number(items["clusters"]),
        **terms,
    )


def _degrees(sample: Sampled) -> float:
    return effective_degrees(np.bincount(sample["clusters"], weights=sample.get("times")))


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
