"""Do judges of one family agree more with each other than with judges of other families, and with people?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import one_of
from axisjudge.ratings.counts import PatternCounts
from axisjudge.results import Result
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.coefficient_intervals import cluster_sums, rare
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, alpha_of, coefficient_of_two
from axisjudge.stats.agreement.patterns import rating_patterns
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import FEWEST_CLUSTERS, jackknife_interval, t_quantile
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Kind, Table, table_of
from axisjudge.studies._shared.pooled import Pooled, pooled_counts
from axisjudge.studies._shared.scope import Intervals
from axisjudge.studies._shared.words import in_cell
from axisjudge.studies.agreement import sentences as words
from axisjudge.studies.agreement.sentences import NoMean

#: Below it, and where a word is rare, the interval of the difference covers too little (.83 at 12 tasks).
FEWEST_FOR_DIFFERENCE = 25


class _Sample(Intervals):
    """What every estimate of one table says of its clusters."""

    n_clusters: int


@dataclass(frozen=True)
class Pair(Result):
    """Two raters and their agreement; NaN where it is undefined."""

    _keys = ("raters", "families", "value", "n_items", "within")

    raters: tuple[str, str]
    families: tuple[str, str]
    value: float
    n_items: int

    @property
    def within(self) -> bool:
        """Whether both are of one family."""
        return self.families[0] == self.families[1]


@dataclass(frozen=True, eq=False)
class CrossFamily(Result):
    """Agreement of every two raters on one question (or several pooled), by family.

    `raters` stand by family and name, judges first, labels (people, planted truth) last. `matrix` is raters x raters,
    NaN on the diagonal and where a pair is undefined. `within`, `across` and `difference` are means over the judges'
    pairs of one family and of two; `among_people` over pairs of people; `with_labels` has for each judge its mean over
    labellers. `alpha_judges` and `alpha_people` are Krippendorff's alpha of all judges and of all people, ordinal
    where the scale is ordered. `planted` says that all labels are planted truth.
    """

    _keys = (
        *("questions", "coefficient", "pairs", "within", "across", "difference", "among_people"),
        *("alpha_judges", "alpha_people", "with_labels"),
    )

    questions: tuple[str, ...]
    coefficient: str
    label: str
    judges: tuple[str, ...]
    labellers: tuple[str, ...]
    families: tuple[str, ...]
    matrix: Floats
    pairs: tuple[Pair, ...]
    within: Estimate
    across: Estimate
    difference: Estimate
    among_people: Estimate
    with_labels: dict[str, Estimate]
    alpha_label: str
    alpha_judges: Estimate
    alpha_people: Estimate
    planted: bool
    kind: Kind

    @property
    def raters(self) -> tuple[str, ...]:
        """Judges by family and name, then labellers."""
        return (*self.judges, *self.labellers)

    @property
    def where(self) -> str:
        """The questions in words."""
        return self.questions[0] if len(self.questions) == 1 else f"{len(self.questions)} questions together"

    def to_frame(self) -> Table:
        """One row a pair of raters."""
        columns = ("rater_1", "rater_2", "family_1", "family_2", self.coefficient, "n_items")
        rows = [(*pair.raters, *pair.families, pair.value, pair.n_items) for pair in self.pairs]
        return table_of([dict(zip(columns, row, strict=True)) for row in rows], self.kind, columns=columns)

    def summary(self) -> Table:
        """One row for each mean: within families, across families, the difference, among people, judge with people."""
        means = {"within a family": self.within, "across families": self.across, "difference": self.difference}
        if self.labellers:
            means |= {"among labellers": self.among_people}
            means |= {f"{judge} with labellers": mean for judge, mean in self.with_labels.items()}
        columns = ("pairs", self.coefficient, "low", "high", "n_items", "n_clusters", "reason")
        rows = [
            (name, mean.estimate, mean.ci_low, mean.ci_high, mean.n_items, mean.n_clusters, mean.reason)
            for name, mean in means.items()
        ]
        return table_of([dict(zip(columns, row, strict=True)) for row in rows], self.kind)

    @property
    def sentence(self) -> str:
        """Within against across, with intervals, or why it cannot be said."""
        return words.families(self.where, self.label, self.within, self.across, self.difference)

    @property
    def alpha_sentence(self) -> str:
        """Krippendorff's alpha of all judges together, and of people where there are two or more."""
        return words.alpha(self.where, self.alpha_label, self.alpha_judges, self.alpha_people)


def cross_family(
    panel: Pooled, *, coefficient: str = "", cluster_unit: str = "task", ci_level: float = 0.95
) -> CrossFamily:
    """Agreement of every two raters, and its means within families, across families and with labels.

    `coefficient` is as in `axisjudge.studies.agreement`.

    Notes
    -----
    Intervals of the means: delete-one-cluster jackknife with t on Fisher's z; simulated with 12 to 140 tasks and
    prevalences of .05 to .3 they cover .92 to .97. The difference combines the two (MOVER, Zou 2007,
    doi:10.1037/1082-989X.12.4.399) with t on half the degrees of freedom and covers .937 to .97 from 25 tasks; with
    fewer, or with rare words, there is none.
    They carry over to other items of such clusters, not to other judges: with two or three judges a family, a
    difference between families and one between single judges cannot be told apart.
    """
    coefficient = one_of("coefficient", coefficient or coefficient_of_two(panel.level), COEFFICIENTS)
    families, n_judges = panel.families, panel.n_judges
    at = list(itertools.combinations(range(len(panel.raters)), 2))
    values, without, counts, few = _pairwise(panel, coefficient, at)
    groups: dict[str, list[int]] = {"within": [], "across": [], "people": []}
    for number, (first, second) in enumerate(at):
        if second < n_judges:
            groups["within" if families[first] == families[second] else "across"].append(number)
        elif first >= n_judges:
            groups["people"].append(number)
    sample: _Sample = {"cluster_unit": cluster_unit, "ci_level": ci_level, "n_clusters": panel.n_clusters}

    def mean(group: list[int], reason: NoMean) -> Estimate:
        if len(group) == 1:  # a single pair has the interval that its coefficient has: a posterior where a word is rare
            return _coefficient(panel, panel.codes[:, list(at[group[0]])], coefficient, sample)
        return _mean(values[group], without[group], counts[group], reason, sample)

    matrix = np.full((len(panel.raters), len(panel.raters)), np.nan)
    for (first, second), value in zip(at, values, strict=True):
        matrix[first, second] = matrix[second, first] = value
    within = mean(groups["within"], NoMean.NO_FAMILY_OF_TWO)
    across = mean(groups["across"], NoMean.ONE_FAMILY)
    return CrossFamily(
        questions=panel.questions,
        coefficient=coefficient,
        label=COEFFICIENTS[coefficient].label,
        judges=panel.judges,
        labellers=panel.labellers,
        families=families,
        matrix=matrix,
        pairs=tuple(
            Pair((panel.raters[i], panel.raters[j]), (families[i], families[j]), float(value), int(n))
            for (i, j), value, n in zip(at, values, counts, strict=True)
        ),
        within=within,
        across=across,
        difference=_difference(
            within,
            across,
            [without[groups[name]] for name in ("within", "across")],
            bool(few[groups["within"] + groups["across"]].any()),
            sample,
        ),
        among_people=mean(groups["people"], NoMean.ONE_LABELLER),
        with_labels={
            name: mean([n for n, (i, j) in enumerate(at) if i == judge and j >= n_judges], NoMean.NO_LABELS)
            for judge, name in enumerate(panel.judges)
        },
        alpha_label=COEFFICIENTS[alpha_of(panel.level)].label,
        alpha_judges=_alpha(panel, slice(0, n_judges), sample),
        alpha_people=_alpha(panel, slice(n_judges, None), sample),
        planted=panel.planted,
        kind=panel.kind,
    )


def families_of_counts(
    counts: Sequence[PatternCounts], coefficient: str, intervals: Intervals, kind: Kind = "polars"
) -> tuple[tuple[CrossFamily, ...], CrossFamily]:
    """`cross_family` of each question, and of all of them together."""
    found = [
        cross_family(pooled_counts(each, kind=kind), coefficient=coefficient, **intervals)
        for each in ([[each] for each in counts] + ([list(counts)] if len(counts) > 1 else []))
    ]
    return tuple(found[: len(counts)]), found[-1]


def judges_alpha(panel: Pooled, *, cluster_unit: str, ci_level: float) -> Estimate:
    """Krippendorff's alpha of all judges, with its interval."""
    sample: _Sample = {"cluster_unit": cluster_unit, "ci_level": ci_level, "n_clusters": panel.n_clusters}
    return _alpha(panel, slice(0, panel.n_judges), sample)


def _alpha(panel: Pooled, raters: slice, sample: _Sample) -> Estimate:
    codes = panel.codes[:, raters]
    if codes.shape[1] < 2:
        return Estimate(
            estimate=math.nan, n_items=panel.n_items, n_raters=codes.shape[1], reason=NoMean.ONE_RATER.value, **sample
        )
    return _coefficient(panel, codes, alpha_of(panel.level), sample)


def _coefficient(panel: Pooled, codes: Floats, name: str, sample: _Sample) -> Estimate:
    return agreement_coefficients(
        codes,
        [name],
        categories=range(len(panel.categories)),
        clusters=panel.clusters,
        times=panel.times,
        cluster_unit=sample["cluster_unit"],
        ci_level=sample["ci_level"],
    )[name]


def _pairwise(
    panel: Pooled, coefficient: str, at: list[tuple[int, int]]
) -> tuple[Floats, Floats, NDArray[np.intp], NDArray[np.bool_]]:
    """For every pair: the coefficient, the same without each cluster, its items, whether a word is too rare."""
    chosen = COEFFICIENTS[coefficient]
    categories = range(len(panel.categories))
    values, without, counts, few = [], [], [], []
    for first, second in at:
        patterns = rating_patterns(
            panel.codes[:, [first, second]], categories=categories, clusters=panel.clusters, times=panel.times
        )
        by_cluster = cluster_sums(patterns, chosen.sums(patterns.codes, patterns.categories))
        total = by_cluster.sum(axis=0)
        values.append(float(chosen.estimate(total, patterns.categories)))
        without.append(chosen.estimate(total - by_cluster, patterns.categories))
        counts.append(int(patterns.items[patterns.paired].sum()))
        few.append(bool(patterns.paired.any()) and rare(patterns))
    left_out = np.reshape(without, (len(at), panel.n_clusters))
    return np.array(values), left_out, np.array(counts, dtype=np.intp), np.array(few, dtype=bool)


def _mean(values: Floats, without: Floats, counts: NDArray[np.intp], empty: NoMean, sample: _Sample) -> Estimate:
    """The mean over pairs that are defined, with its jackknife interval on Fisher's z."""
    defined = ~np.isnan(values)
    n_items = int(counts.max()) if counts.size else 0
    if not defined.any():
        reason = NoMean.UNDEFINED if values.size else empty
        return Estimate(estimate=math.nan, n_items=n_items, n_raters=2, reason=reason.value, **sample)
    notes = () if defined.all() else (words.PAIRS_LEFT_OUT.format(undefined=(~defined).sum(), pairs=values.size),)
    estimate = float(values[defined].mean())
    low, high, why = _jackknife(estimate, without[defined].mean(axis=0), sample)
    method = "" if why else "jackknife-t over clusters on Fisher's z, mean over pairs"
    return Estimate(
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        n_items=n_items,
        n_raters=2,
        reason=why,
        notes=notes,
        method=method,
        **sample,
    )


def _difference(within: Estimate, across: Estimate, without: list[Floats], any_rare: bool, sample: _Sample) -> Estimate:
    """Within minus across: the two intervals combined with the correlation that their jackknife values have."""
    estimate = within.estimate - across.estimate
    common: dict[str, Any] = {"n_items": max(within.n_items, across.n_items), "n_raters": 2, **sample}
    reason = within.reason or across.reason
    if not reason and (any_rare or sample["n_clusters"] < FEWEST_FOR_DIFFERENCE):
        reason = words.DIFFERENCE_OF_FEW.format(fewest=FEWEST_FOR_DIFFERENCE)
    if reason:
        return Estimate(estimate=estimate, reason=reason, **common)
    correlation = float(np.corrcoef([part[~np.isnan(part).any(axis=1)].mean(axis=0) for part in without])[0, 1])
    w, a = within, across
    below = _apart(w.estimate - w.ci_low, a.ci_high - a.estimate, correlation)
    above = _apart(w.ci_high - w.estimate, a.estimate - a.ci_low, correlation)
    degrees, level = sample["n_clusters"] - 1, sample["ci_level"]
    wider = t_quantile(degrees / 2, level) / t_quantile(degrees, level)  # few tasks carry most of a difference
    return Estimate(
        estimate=estimate,
        ci_low=estimate - wider * below,
        ci_high=estimate + wider * above,
        method="MOVER on jackknife-t, half the degrees of freedom",
        **common,
    )


def _apart(first: float, second: float, correlation: float) -> float:
    return math.sqrt(max(first**2 - 2 * correlation * first * second + second**2, 0.0))


def _jackknife(estimate: float, without: Floats, sample: _Sample) -> tuple[float, float, str]:
    if without.size < FEWEST_CLUSTERS:
        return math.nan, math.nan, words.MEAN_OF_FEW.format(clusters=without.size, fewest=FEWEST_CLUSTERS)
    low, high = jackknife_interval(estimate, without, scale="fisher", ci_level=sample["ci_level"])
    return low, high, NoMean.WITHOUT_A_CLUSTER.value if math.isnan(low) else ""


def family_rows(results: Sequence[CrossFamily]) -> list[dict[str, Any]]:
    """One row for each result: agreement within and across families, the difference, alpha of judges and of people."""
    columns = {name: name for name in ("within", "across", "difference")}
    columns |= {"alpha_judges": "alpha of judges", "alpha_people": "alpha of people"}
    return [
        {
            "question": result.questions[0] if len(result.questions) == 1 else "all together",
            "n_items": result.across.n_items or result.within.n_items,
            **{head: in_cell(getattr(result, name), ".3f") for name, head in columns.items()},
        }
        for result in {result.questions: result for result in results}.values()  # each set of questions once
    ]
