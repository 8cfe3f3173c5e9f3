"""Do judges of one family agree more with each other than with judges of other families, and with people?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from axisjudge.checks import one_of
from axisjudge.ratings.counts import PatternCounts
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, alpha_of, coefficient_of_two
from axisjudge.stats.agreement.overturned import overturned_agreement
from axisjudge.stats.agreement.pairs import coefficient_of, paired_coefficient
from axisjudge.stats.comparisons.reversal import Reversal
from axisjudge.stats.estimate import Estimate, IntervalTerms
from axisjudge.studies._shared.arrays import Floats
from axisjudge.studies._shared.frames import Kind, Table, native, rows_of, table_of
from axisjudge.studies._shared.pooled import Pooled, PooledSample, pooled_counts
from axisjudge.studies._shared.words import in_cell
from axisjudge.studies.agreement import sentences as words
from axisjudge.studies.agreement.sentences import NO_FAMILY_OF_TWO, NO_LABELS, ONE_FAMILY, ONE_LABELLER


@dataclass(frozen=True, eq=False)
class CrossFamily(Result):
    """Agreement of every two raters of a panel, by family.

    `raters` stand by family and name, judges first, labels (people, planted truth) last. `matrix` is raters x raters,
    NaN on the diagonal and where a pair is undefined; `pairs` has a row for each two raters: raters, families, value,
    n_items, and whether they are of one family (within). `within`, `across` and `difference` are means over the judges'
    pairs of one family and of two; `among_people` over pairs of people; `with_labels` has for each judge its mean over
    labellers. `alpha_judges` and `alpha_people` are Krippendorff's alpha of all judges and of all people, ordinal
    where the scale is ordered.
    """

    _keys = (
        *("questions", "coefficient", "pairs", "within", "across", "difference", "among_people"),
        *("alpha_judges", "alpha_people", "with_labels"),
    )

    panel: Pooled
    coefficient: str
    matrix: Floats
    pairs: pl.DataFrame
    within: Estimate
    across: Estimate
    difference: Estimate
    among_people: Estimate
    with_labels: dict[str, Estimate]
    alpha_judges: Estimate
    alpha_people: Estimate

    questions = property(lambda self: self.panel.questions)
    raters = property(lambda self: self.panel.raters)
    judges = property(lambda self: self.panel.judges)
    labellers = property(lambda self: self.panel.labellers)
    families = property(lambda self: self.panel.families)
    where = property(lambda self: self.panel.where)
    label = property(lambda self: COEFFICIENTS[self.coefficient].label)
    alpha_label = property(lambda self: COEFFICIENTS[alpha_of(self.panel.level)].label)

    def to_frame(self) -> Table:
        """One row a pair of raters."""
        both = {
            f"{name}_{number + 1}": pl.col(of).list.get(number)
            for name, of in (("rater", "raters"), ("family", "families"))
            for number in (0, 1)
        }
        return native(self.pairs.select(**both, **{self.coefficient: "value"}, n_items="n_items"), self.panel.kind)

    def summary(self) -> Table:
        """One row for each mean: within families, across families, the difference, among people, judge with people."""
        means = {"within a family": self.within, "across families": self.across, "difference": self.difference}
        if self.labellers:
            means |= {"among labellers": self.among_people}
            means |= {f"{judge} with labellers": mean for judge, mean in self.with_labels.items()}
        named = columns(f"{self.coefficient}=estimate low=ci_low high=ci_high n_items n_clusters reason")
        rows = rows_of(means.values(), named)
        return table_of([{"pairs": name, **row} for name, row in zip(means, rows, strict=True)], self.panel.kind)

    @property
    def behind(self) -> list[dict[str, str]]:
        """The items of each row of `summary` as the explorer's filters; none where pairs of people stand behind it."""
        means = [{"only": "within"}, {"only": "across"}, {"only": "across"}]
        of_judges = [{"judge": judge, "only": "decided", "label": "correct\nincorrect"} for judge in self.with_labels]
        return [*means, {}, *of_judges] if self.labellers else means

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
    Intervals are those of `axisjudge.stats.agreement.pairs`. They carry over to other items of such clusters, not to
    other judges: with two or three judges a family, a difference between families and one between single judges cannot
    be told apart.
    """
    coefficient = one_of("coefficient", coefficient or coefficient_of_two(panel.level), COEFFICIENTS)
    sample: PooledSample = {"clusters": panel.clusters, "cluster_unit": cluster_unit, "ci_level": ci_level}
    items: dict[str, Any] = {"times": panel.times, "rows": panel.rows, **sample}
    alpha = _alpha(panel)
    every = paired_coefficient(panel.codes, coefficient, n_categories=len(panel.categories), **items)
    raters, families, n_judges = panel.raters, panel.families, panel.n_judges
    rows = [
        ([raters[i], raters[j]], [families[i], families[j]], value, n, families[i] == families[j])
        for (i, j), value, n in zip(every.pairs, every.values.tolist(), every.n_items.tolist(), strict=True)
    ]
    judged = [number for number, (_, second) in enumerate(every.pairs) if second < n_judges]
    same = [number for number in judged if rows[number][-1]]
    two = [number for number in judged if not rows[number][-1]]
    people = [number for number, (first, _) in enumerate(every.pairs) if first >= n_judges]
    within, across = every.mean(same, NO_FAMILY_OF_TWO), every.mean(two, ONE_FAMILY)
    return CrossFamily(
        panel=panel,
        coefficient=coefficient,
        matrix=every.matrix,
        pairs=pl.DataFrame(rows, schema=_PAIR, orient="row"),
        within=within,
        across=across,
        difference=every.difference(same, two, (within, across)),
        among_people=every.mean(people, ONE_LABELLER),
        with_labels={
            name: every.mean([at for at, (i, j) in enumerate(every.pairs) if i == judge and j >= n_judges], NO_LABELS)
            for judge, name in enumerate(panel.judges)
        },
        alpha_judges=coefficient_of(panel.judged, *alpha, **items),
        alpha_people=coefficient_of(panel.codes[:, n_judges:], *alpha, **items),
    )


def families_of_counts(
    counts: Sequence[PatternCounts], coefficient: str, intervals: IntervalTerms, kind: Kind = "polars"
) -> tuple[CrossFamily, float]:
    """`cross_family` of verdicts that take a side on all these questions together, and their share of all verdicts."""
    whole = pooled_counts(counts, kind=kind)
    families = cross_family(whole.decided(), coefficient=coefficient, **intervals)
    return replace(families, panel=families.panel.without_items()), whole.share_decided


_PAIR: dict[str, Any] = {
    "raters": pl.List(pl.String),
    "families": pl.List(pl.String),
    "value": pl.Float64,
    "n_items": pl.Int64,
    "within": pl.Boolean,
}


def family_rows(results: Sequence[CrossFamily]) -> list[dict[str, Any]]:
    """One row for each result: agreement within and across families, the difference, alpha of judges and of people."""
    means = ("within", "across", "difference", "alpha_judges", "alpha_people")
    return [
        {
            "question": result.questions[0] if len(result.questions) == 1 else "all together",
            "n_items": result.across.n_items or result.within.n_items,
            **{name.replace("_", " of "): in_cell(getattr(result, name), ".3f") for name in means},
        }
        for result in {result.questions: result for result in results}.values()  # each set of questions once
    ]


@dataclass(frozen=True)
class AgreementReversal(Result):
    """What would overturn that judges agree beyond chance on one question, or on all of them."""

    where: str
    reversal: Reversal


def agreement_reversals(
    every: Sequence[tuple[CrossFamily, Pooled]], intervals: IntervalTerms
) -> tuple[AgreementReversal, ...]:
    """The fewest verdicts that would bring the lower end of alpha to 0, wherever it lies above; by its single items."""
    return tuple(
        AgreementReversal(
            one.where, overturned_agreement(items.judged, *_alpha(items), clusters=items.clusters, **intervals)
        )
        for one, items in every
        if one.alpha_judges.ci_low > 0
    )


def _alpha(panel: Pooled) -> tuple[str, int]:
    return alpha_of(panel.level), len(panel.categories)
