"""Do judges of one family agree more with each other than with judges of other families, and with people?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from axisjudge.checks import one_of
from axisjudge.figures import theme
from axisjudge.ratings.counts import PatternCounts
from axisjudge.results import Result, columns
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, alpha_of, coefficient_of_two
from axisjudge.stats.agreement.pairs import PairedCoefficient, coefficient_of, overturned_agreement, paired_coefficient
from axisjudge.stats.comparisons.ranking import Reversal
from axisjudge.stats.estimate import Estimate, IntervalTerms, many
from axisjudge.studies._shared.frames import Floats, Kind, Table, native, rows_of, table_of
from axisjudge.studies._shared.pooled import Pooled, pooled_counts
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import in_cell, sentence_case
from axisjudge.studies.agreement import sentences as words
from axisjudge.studies.agreement.sentences import NO_FAMILY_OF_TWO, NO_LABELS, ONE_FAMILY, ONE_LABELLER, of_labels

#: With more raters a panel is drawn alone, in smaller type.
_FEW = 10
#: So many judges can be named below their marks.
_NAMED = 8
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")


def plot_agreement_matrix(cross: Any, ax: theme.Axes | None = None) -> theme.Axes:
    """Agreement of every two raters, ordered by family; a frame round each family, labels set apart at the end.

    The scale of colour is fixed at 0 to 1, so that matrices can be laid side by side; every cell says its value.
    """
    n = len(cross.raters)
    few = n <= _FEW
    ax = theme.new_axes(*_size(n)) if ax is None else ax
    names = [_name(rater) for rater in cross.raters]
    theme.plot_heatmap(cross.matrix, ax=ax, rows=names, columns=names, palette="YlGnBu", gap=1.0)
    for row, column in itertools.permutations(range(n), 2):
        theme.cell_text(ax, row, column, _short(cross.matrix[row, column]), fontsize=theme.LABEL - 0.5 if few else 6.5)
    ax.set_xticks(ax.get_xticks(), names, rotation=60, ha="left", rotation_mode="anchor")
    theme.dress(ax, "")
    ax.tick_params(labelsize=theme.LABEL if few else theme.SMALL)
    _frame_families(ax, cross)
    size = f"{many(cross.across.n_items, 'item')} in {cross.across.clusters}"
    note = f"{cross.label}; {size}; – undefined"
    ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.QUIET, loc="left", labelpad=8)
    how = "point estimates without intervals, – where undefined; a frame holds judges of one family"
    theme.describe(ax, f"{size}; {how}")
    return ax


def plot_families(cross: Any, ax: theme.Axes | None = None) -> theme.Axes:
    """Families x families: the mean over pairs of their judges, with labels as the last row.

    Families stand by their agreement with the labels, the highest first; by name where there are none.
    """
    means = {frozenset((one.family_1, one.family_2)): one.mean.estimate for one in cross.by_family}
    labels = of_labels(cross.panel.planted) if cross.labellers else ""
    names = sorted(dict.fromkeys(cross.families[: len(cross.judges)]))
    names.sort(key=lambda name: -np.nan_to_num(means.get(frozenset((name, labels)), 0.0)))
    rows = [*names, *([labels] if labels else [])]
    values = np.array([[means.get(frozenset((row, column)), np.nan) for column in names] for row in rows])
    ax = theme.new_axes(2.6 + 0.78 * len(names), 1.5 + 0.42 * len(rows)) if ax is None else ax
    counts = [list(cross.families[: len(cross.judges)]).count(name) for name in names]
    columns = [f"{_name(name)}\n{many(count, 'judge')}" for name, count in zip(names, counts, strict=True)]
    named = [_name(row) for row in rows]
    theme.plot_heatmap(np.clip(values, 0, 1), ax=ax, rows=named, columns=columns, palette="YlGnBu")
    for (row, column), value in np.ndenumerate(values):
        weight = "bold" if row == column else "normal"
        theme.cell_text(ax, row, column, _short(value), fontsize=theme.LABEL + 1, fontweight=weight)
    if labels:
        ax.axhline(len(names), color="white", linewidth=7)
    theme.dress(ax, "")
    ax.set_title("Agreement of judges by family", loc="left", fontsize=theme.TITLE, fontweight="bold", color=theme.INK)
    ax.tick_params(labelsize=theme.LABEL)
    size = f"{many(cross.across.n_items or cross.within.n_items, 'item')} in {cross.across.clusters}"
    absent = "; – no pair" if np.isnan(values).any() else ""
    note = f"{cross.label}, mean over pairs; {size}; bold: within a family{absent}"
    ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.QUIET, loc="left", labelpad=8)
    theme.describe(ax, f"{note}; point estimates; {cross.across.ci_level:.0%} intervals, for the figures in the table")
    return ax


def plot_with_labels(cross: Any, *, ax: theme.Axes | None = None) -> theme.Axes:
    """Each judge's agreement with the labels, with its interval; grey: people among themselves, the ceiling."""
    n = len(cross.judges)
    ax = theme.new_axes(7.4, 1.4 + 0.27 * n) if ax is None else ax
    ceiling = cross.among_people
    if not math.isnan(ceiling.ci_low):
        ax.axvspan(ceiling.ci_low, ceiling.ci_high, color=theme.FAINT, linewidth=0)
        beside = {"xytext": (-3, 0), "textcoords": "offset points", "rotation": 90, "ha": "right", "va": "center"}
        at_ceiling = {"xy": (ceiling.ci_low, 0.5), "xycoords": ("data", "axes fraction")}
        ax.annotate("people among themselves", **at_ceiling, **beside, **_QUIET)  # type: ignore[arg-type]
    at, heights, above = 0.0, [], ""
    for family, mean in zip(cross.families, cross.with_labels.values(), strict=False):
        if family != above:
            at += 0.6 * bool(above)
            ax.annotate(family, (1.02, at), xycoords=("axes fraction", "data"), va="center", **_QUIET)
        theme.interval_mark(ax, mean, at)
        heights.append(at)
        at, above = at + 1, family
    ax.set_yticks(heights, [_name(judge) for judge in cross.judges])
    ax.set_ylim(at - 0.5, -0.5)
    ax.axvline(0, color=theme.FAINT, linewidth=0.8)
    theme.grid(ax)
    mean = max(cross.with_labels.values(), key=lambda each: each.n_items)
    who = f"mean over {len(cross.labellers)} labellers; " if len(cross.labellers) > 1 else ""
    note = f"{cross.label}, {_questions(cross)}; {who}{theme.intervals(mean)}"
    grey = "" if math.isnan(ceiling.ci_low) else "; grey: the interval of people among themselves"
    return theme.dress(ax, f"Judges against {_labels(cross)}", note, how=note + grey)


def plot_panel_worth(panel: Any, ax: theme.Axes | None = None) -> theme.Axes:
    """Accuracy of each judge and of the majority, with the effective number of judges over the band of label error."""
    import matplotlib as mpl

    ax = theme.new_axes(7.4, 3.2) if ax is None else ax
    if panel.measured is None:
        return _nothing(ax, f"{panel.where}: what the panel is worth", panel.reason)
    measured = panel.measured
    order = np.argsort(-measured.accuracy, kind="stable")
    families = list(dict.fromkeys(panel.families))
    for position, judge in enumerate(order):
        marker = _MARKERS[families.index(panel.families[judge]) % len(_MARKERS)]
        ax.plot(position, measured.accuracy[judge], marker, color=theme.ACCENT, markersize=7, markeredgecolor="white")
    corner: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "xytext": (0, 4), "textcoords": "offset points"}
    look: dict[str, Any] = {"fontsize": theme.SMALL, "color": "#A34700", "ha": "right"}
    if measured.n_majority:
        ax.axhline(measured.majority, color="#D55E00", linewidth=1.6)
        ax.annotate(f"majority {measured.majority:.1%}", (1, measured.majority), **corner, **look)
    for at, family in enumerate(families):
        ax.plot([], [], _MARKERS[at % len(_MARKERS)], color=theme.ACCENT, label=family, linewidth=0)
    names = [panel.judges[judge].removeprefix("simulated:") for judge in order] if len(order) <= _NAMED else []
    ax.set_xticks(range(len(names)), names)
    theme.legend_below(ax, inches=0.4 if names else 0.15, ncols=6)
    ax.yaxis.set_major_locator(mpl.ticker.MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(theme.percent_tick)
    theme.grid(ax, "y")
    number = measured.n_effective
    is_known = number.ci_low > 0 and number.estimate <= len(panel.judges)
    ending = f"are worth {in_cell(number, '.1f')} independent ones" if is_known else "against labels"
    where = sentence_case(panel.where)
    note = f"{where}: accuracy against labels, best judge first; {many(number.n_items, 'item')} in {number.clusters}"
    theme.dress(ax, f"{len(panel.judges)} judges {ending}", note)
    theme.describe(ax, f"{note}; accuracies without intervals, for the number {theme.intervals(number)}")
    return ax


_QUIET: dict[str, Any] = {"fontsize": theme.SMALL, "color": theme.QUIET}


def _size(raters: int) -> tuple[float, float]:
    """Width and height of a matrix in inches."""
    cell = 0.55 if raters <= _FEW else 0.33
    return 3.6 + cell * raters, 2.2 + 0.93 * cell * raters


def _frame_families(ax: theme.Axes, of: Any) -> None:
    from matplotlib.patches import Rectangle

    start = 0
    families = [*of.families[: len(of.judges)], *(_labels(of) for _ in of.labellers)]
    for family, members in itertools.groupby(families):
        size = len(list(members))
        frame = Rectangle((start, start), size, size, fill=False, edgecolor=theme.INK, linewidth=1.3, zorder=3)
        frame.set_clip_on(False)
        ax.add_patch(frame)
        middle = (1.015, start + size / 2)
        ax.annotate(family, middle, xycoords=("axes fraction", "data"), va="center", **_QUIET)
        start += size
    if of.labellers:
        ax.axhline(len(of.judges), color="white", linewidth=4)
        ax.axvline(len(of.judges), color="white", linewidth=4)


def _short(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−")


def _name(rater: str) -> str:
    return rater.replace("_", " ").replace("simulated:", "")


def _questions(of: Any) -> str:
    return theme.in_words(of.where)


def _labels(of: Any) -> str:
    return of_labels(of.panel.planted)


def _nothing(ax: theme.Axes, title: str, reason: str) -> theme.Axes:
    from textwrap import fill

    look = {"ha": "center", "va": "center", "fontsize": theme.LABEL, "color": theme.QUIET}
    ax.text(0.5, 0.5, fill(f"Not shown: {reason}.", 60), **look)  # type: ignore[arg-type]
    ax.set_xticks([])
    ax.set_yticks([])
    return theme.dress(ax, title)


#: Deals of families to judges, with their seed: families are a fact of the judges, and no question of a page's seed.
DEALS, DEAL_SEED = 9_999, 20261125
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


class CrossFamily(Part, name="families", caption="Agreement of judges by family, and with people"):
    """Agreement of every two raters of a panel, by family; of several questions within them.

    `raters` stand by family and name, judges first, labels (people, planted truth) last. `matrix` is raters x raters,
    NaN on the diagonal and where a pair is undefined; `pairs` has a row for each two raters: raters, families, value,
    n_items, and whether they are of one family (within). `within`, `across` and `difference` are means over the judges'
    pairs of one family and of two; `among_people` over pairs of people; `with_labels` has for each judge its mean over
    labellers, and `by_family` every two families. `alpha_judges` and `alpha_people` are Krippendorff's alpha of all
    judges and of all people, ordinal where the scale is ordered; `same` and `same_as_labels` the shares of equal words
    of two judges, and of a judge and a labeller. `p_families` is of the null that families are dealt to judges.
    """

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
        shown = columns(f"family_1 family_2 n_pairs {self.coefficient}~~=mean n_items=mean.n_items")
        return table_of(rows_of(self.by_family, shown), self.kind)

    answer = property(words.families)

    plot = plot_families

    @property
    def every_two(self) -> Table:
        """One row for every two raters."""
        both = {
            f"{name}_{number + 1}": pl.col(of).list.get(number)
            for name, of in (("rater", "raters"), ("family", "families"))
            for number in (0, 1)
        }
        return native(self.pairs.select(**both, **{self.coefficient: "value"}, n_items="n_items"), self.kind)

    plot_every_two = plot_agreement_matrix

    alpha_sentence = property(words.alpha)


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
        kind=panel.kind,
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
    """How often families dealt to judges at random agree as much more within than across; NaN with nothing to deal.

    Deals that leave no known pair within a family, or none across, have no difference and are not counted.
    """
    first, second = np.triu_indices(len(families), 1)
    values = matrix[first, second]
    known = ~np.isnan(values)
    code = np.unique(families, return_inverse=True)[1]
    deals = np.random.default_rng(DEAL_SEED).permuted(np.tile(code, (DEALS, 1)), axis=1)
    alike = (np.vstack([code, deals])[:, first] == np.vstack([code, deals])[:, second])[:, known]
    n_alike = alike.sum(axis=1)
    if not known.any() or not 0 < n_alike[0] < known.sum():
        return math.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        of_alike = alike @ values[known]
        gaps = of_alike / n_alike - (values[known].sum() - of_alike) / (known.sum() - n_alike)
    return float((gaps[np.isfinite(gaps)] >= gaps[0] - 1e-12).mean())


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


class WithLabels(Part, name="with_labels", caption="Each judge's agreement with the labels"):
    """Each judge's agreement with those who label: people, or the planted truth."""

    _flat = ("families.with_labels",)

    families: CrossFamily

    @property
    def table(self) -> Table:
        """One row a judge, the mean over labellers."""
        of = self.families
        families = dict(zip(of.judges, of.families, strict=False))
        named = columns(f"{of.coefficient}=estimate low=ci_low high=ci_high n_items")
        rows = rows_of(of.with_labels.values(), named) if of.labellers else []
        both = zip(of.with_labels, rows, strict=False)
        return table_of([{"judge": name, "family": families[name], **row} for name, row in both], self.kind)

    @property
    def behind(self) -> list[dict[str, str]]:
        """The items of each row that both decided, as the explorer's filters."""
        return [{"only": "decided", "label": "correct\nincorrect"}] * len(self.table)

    answer = property(words.with_labels)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Each judge with its interval; grey: people among themselves."""
        return plot_with_labels(self.families, ax=ax) if self.families.labellers else super().plot(ax)


def reversal_of(panel: Pooled, terms: IntervalTerms) -> Reversal:
    """The fewest verdicts that would bring the lower end of alpha to 0, by the single items of a question."""
    alpha = alpha_of(panel.level)
    return overturned_agreement(panel.judged, alpha, len(panel.categories), clusters=panel.clusters, **terms)
