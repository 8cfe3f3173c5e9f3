"""Do judges of one family agree more with each other than with judges of other families, and with people?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from axisjudge.checks import one_of
from axisjudge.ratings.counts import PatternCounts
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, alpha_of, coefficient_of_two
from axisjudge.stats.agreement.overturned import overturned_agreement
from axisjudge.stats.agreement.pairs import PairedCoefficient, coefficient_of, paired_coefficient
from axisjudge.stats.comparisons.reversal import Reversal
from axisjudge.stats.estimate import Estimate, IntervalTerms
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Kind, Table, native, rows_of, table_of, with_ends
from axisjudge.studies._shared.pooled import Pooled, pooled_counts
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import in_cell
from axisjudge.studies.agreement import figures
from axisjudge.studies.agreement import sentences as words
from axisjudge.studies.agreement.sentences import NO_FAMILY_OF_TWO, NO_LABELS, ONE_FAMILY, ONE_LABELLER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Deals of families to judges, with their seed: families are a fact of the judges, and no question of a page's seed.
_DEALS, _SEED = 9_999, 20261125
_PAIR: dict[str, Any] = {
    "raters": pl.List(pl.String),
    "families": pl.List(pl.String),
    "value": pl.Float64,
    "n_items": pl.Int64,
    "within": pl.Boolean,
}


@dataclass(frozen=True)
class TwoFamilies(Result):
    """The mean over pairs of raters of two families (or one), of which labellers are the last."""

    family_1: str
    family_2: str
    n_pairs: int
    mean: Estimate


@dataclass(frozen=True, eq=False, repr=False)
class CrossFamily(Part):
    """Agreement of every two raters of a panel, by family; of several questions within them.

    `raters` stand by family and name, judges first, labels (people, planted truth) last. `matrix` is raters x raters,
    NaN on the diagonal and where a pair is undefined; `pairs` has a row for each two raters: raters, families, value,
    n_items, and whether they are of one family (within). `within`, `across` and `difference` are means over the judges'
    pairs of one family and of two; `among_people` over pairs of people; `with_labels` has for each judge its mean over
    labellers, and `by_family` every two families. `alpha_judges` and `alpha_people` are Krippendorff's alpha of all
    judges and of all people, ordinal where the scale is ordered; `same` and `same_as_labels` the shares of equal words
    of two judges, and of a judge and a labeller. `p_families` is of the null that families are dealt to judges.
    """

    name: ClassVar = "families"
    caption: ClassVar = "Agreement of judges by family, and with people"
    _keys = (
        *("questions", "coefficient", "pairs", "within", "across", "difference", "p_families", "among_people"),
        *("alpha_judges", "alpha_people", "with_labels", "by_family", "same", "same_as_labels"),
    )

    panel: Pooled
    coefficient: str
    matrix: Floats
    pairs: pl.DataFrame
    within: Estimate
    across: Estimate
    difference: Estimate
    p_families: float
    among_people: Estimate
    with_labels: dict[str, Estimate]
    by_family: tuple[TwoFamilies, ...]
    alpha_judges: Estimate
    alpha_people: Estimate
    same: Estimate
    same_as_labels: Estimate

    questions = property(lambda self: self.panel.questions)
    raters = property(lambda self: self.panel.raters)
    judges = property(lambda self: self.panel.judges)
    labellers = property(lambda self: self.panel.labellers)
    families = property(lambda self: self.panel.families)
    where = property(lambda self: self.panel.where)
    label = property(lambda self: COEFFICIENTS[self.coefficient].label)
    alpha_label = property(lambda self: COEFFICIENTS[alpha_of(self.panel.level)].label)

    @property
    def table(self) -> Table:
        """One row for every two families: the mean over their pairs, with its interval."""
        shown = columns("family_1 family_2 n_pairs", with_ends(self.coefficient, "mean"), "n_items=mean.n_items")
        return table_of(rows_of(self.by_family, shown), self.panel.kind)

    @property
    def answer(self) -> str:
        """Within against across, and whether families in general would do so."""
        return words.families(self.where, self.label, self.within, self.across, self.difference, self.p_families)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Families x families, labels last."""
        return figures.plot_families(self, ax=ax)

    @property
    def every_two(self) -> Table:
        """One row for every two raters."""
        both = {
            f"{name}_{number + 1}": pl.col(of).list.get(number)
            for name, of in (("rater", "raters"), ("family", "families"))
            for number in (0, 1)
        }
        return native(self.pairs.select(**both, **{self.coefficient: "value"}, n_items="n_items"), self.panel.kind)

    def plot_every_two(self, ax: Axes | None = None) -> Axes:
        """The matrix of all pairs, ordered by family."""
        return figures.plot_agreement_matrix(self, ax=ax)

    @property
    def alpha_sentence(self) -> str:
        """Krippendorff's alpha of all judges together, and of people where there are two or more."""
        return words.alpha(self.where, self.alpha_label, self.alpha_judges, self.alpha_people)


def families_of(panel: Pooled, coefficient: str, intervals: IntervalTerms) -> CrossFamily:
    """Agreement of every two raters, and its means within families, across families and with labels.

    Notes
    -----
    Intervals are those of `axisjudge.stats.agreement.pairs`. They carry over to other items of such clusters, not to
    other judges: for these `p_families` deals the families to the judges anew, and counts how often judges of a family
    agree as much more than others.
    """
    coefficient = one_of("coefficient", coefficient or coefficient_of_two(panel.level), COEFFICIENTS)
    n_words, n_judges = len(panel.categories), panel.n_judges
    sample: Any = {"clusters": panel.clusters, "times": panel.times, "rows": panel.rows, **intervals}
    alpha, items = (alpha_of(panel.level), n_words), sample | {"strata": panel.strata}
    every = paired_coefficient(panel.codes, coefficient, n_categories=n_words, **items)
    same = paired_coefficient(panel.codes, "percent_agreement", n_categories=n_words, **sample)
    raters, families = panel.raters, panel.families
    rows = [
        ([raters[i], raters[j]], [families[i], families[j]], value, n, families[i] == families[j])
        for (i, j), value, n in zip(every.pairs, every.values.tolist(), every.n_items.tolist(), strict=True)
    ]
    at = {name: [] for name in ("within", "across", "labels", "people")}  # type: dict[str, list[int]]
    for number, (i, j) in enumerate(every.pairs):
        kind = "people" if i >= n_judges else "labels" if j >= n_judges else ""
        at[kind or ("within" if families[i] == families[j] else "across")].append(number)
    within, across = every.mean(at["within"], NO_FAMILY_OF_TWO), every.mean(at["across"], ONE_FAMILY)
    return CrossFamily(
        panel=panel,
        coefficient=coefficient,
        matrix=every.matrix,
        pairs=pl.DataFrame(rows, schema=_PAIR, orient="row"),
        within=within,
        across=across,
        difference=every.difference(at["within"], at["across"], (within, across)),
        p_families=_p_of_deals(every.matrix[:n_judges, :n_judges], families[:n_judges]),
        among_people=every.mean(at["people"], ONE_LABELLER),
        with_labels={
            name: every.mean([number for number in at["labels"] if every.pairs[number][0] == judge], NO_LABELS)
            for judge, name in enumerate(panel.judges)
        },
        by_family=tuple(_by_family(every, panel)),
        alpha_judges=coefficient_of(panel.judged, *alpha, **items),
        alpha_people=coefficient_of(panel.codes[:, n_judges:], *alpha, **items),
        same=same.mean([*at["within"], *at["across"]], NO_FAMILY_OF_TWO),
        same_as_labels=same.mean(at["labels"], NO_LABELS),
    )


def _by_family(every: PairedCoefficient, panel: Pooled) -> list[TwoFamilies]:
    """Every two families, labellers as one that stands last."""
    names = [*panel.families[: panel.n_judges], *(words.of_labels(panel.planted) for _ in panel.labellers)]
    at: dict[tuple[str, str], list[int]] = {}
    for number, (i, j) in enumerate(every.pairs):
        at.setdefault((names[i], names[j]), []).append(number)
    return [TwoFamilies(*two, len(numbers), every.mean(numbers, "")) for two, numbers in at.items()]


def _p_of_deals(matrix: Floats, families: Sequence[str]) -> float:
    """How often families dealt to judges at random agree as much more within than across; NaN with nothing to deal."""
    first, second = np.triu_indices(len(families), 1)
    values = matrix[first, second]
    known = ~np.isnan(values)
    code = np.unique(families, return_inverse=True)[1]
    deals = np.random.default_rng(_SEED).permuted(np.tile(code, (_DEALS, 1)), axis=1)
    alike = (np.vstack([code, deals])[:, first] == np.vstack([code, deals])[:, second])[:, known]
    n_alike = alike.sum(axis=1)
    if not known.any() or not 0 < n_alike[0] < known.sum():
        return math.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        of_alike = alike @ values[known]
        gaps = of_alike / n_alike - (values[known].sum() - of_alike) / (known.sum() - n_alike)
    return float((gaps >= gaps[0] - 1e-12).mean())


def families_of_counts(
    counts: Sequence[PatternCounts], coefficient: str, intervals: IntervalTerms, kind: Kind = "polars"
) -> tuple[CrossFamily, float]:
    """`families_of` verdicts that take a side on all these questions, and their share of all verdicts."""
    whole = pooled_counts(counts, kind=kind)
    families = families_of(whole.decided(), coefficient, intervals)
    return replace(families, panel=families.panel.without_items()), whole.share_decided


def family_rows(results: Sequence[CrossFamily]) -> list[dict[str, Any]]:
    """One row for each result: agreement within and across families, the difference, alpha of judges and of people."""
    means = ("within", "across", "difference", "alpha_judges", "alpha_people")
    return [
        {
            "question": result.questions[0] if len(result.questions) == 1 else "within questions",
            "n_items": result.across.n_items or result.within.n_items,
            **{name.replace("_", " of "): in_cell(getattr(result, name), ".3f") for name in means},
        }
        for result in {result.questions: result for result in results}.values()  # each set of questions once
    ]


@dataclass(frozen=True, eq=False, repr=False)
class WithLabels(Part):
    """Each judge's agreement with those who label: people, or the planted truth."""

    name: ClassVar = "with_labels"
    caption: ClassVar = "Each judge's agreement with the labels"
    families: CrossFamily

    @property
    def table(self) -> Table:
        """One row a judge, the mean over labellers."""
        of = self.families
        families = dict(zip(of.judges, of.families, strict=False))
        named = columns(f"{of.coefficient}=estimate low=ci_low high=ci_high n_items")
        rows = rows_of(of.with_labels.values(), named) if of.labellers else []
        both = zip(of.with_labels, rows, strict=False)
        return table_of([{"judge": name, "family": families[name], **row} for name, row in both], of.panel.kind)

    @property
    def behind(self) -> list[dict[str, str]]:
        """The items of each row that both decided, as the explorer's filters."""
        return [{"only": "decided", "label": "correct\nincorrect"}] * len(self.table)

    @property
    def answer(self) -> str:
        """The lowest and the highest, and people among themselves."""
        of = self.families
        return words.with_labels(of.label, of.with_labels, of.among_people, words.of_labels(of.panel.planted))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Each judge with its interval; grey: people among themselves."""
        return figures.plot_with_labels(self.families, ax=ax) if self.families.labellers else super().plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """Each judge's mean over labellers."""
        return {name: mean.to_dict() for name, mean in self.families.with_labels.items()}


def reversal_of(panel: Pooled, terms: IntervalTerms) -> Reversal:
    """The fewest verdicts that would bring the lower end of alpha to 0, by the single items of a question."""
    alpha = alpha_of(panel.level)
    return overturned_agreement(panel.judged, alpha, len(panel.categories), clusters=panel.clusters, **terms)
