"""Rank sets of names; what a panel's confidences tell: triage, ranks, and the items on which it disagrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from axisjudge.checks import InputError
from axisjudge.figures import theme
from axisjudge.protocol import frozen_maps
from axisjudge.ratings.edge import as_ratings
from axisjudge.results import Result, columns
from axisjudge.stats.calibration import ConfidenceMap, auroc, fit_mid_rank
from axisjudge.stats.comparisons.ranking import RankSets
from axisjudge.stats.escalation import Triage
from axisjudge.stats.escalation import triage as triage_of
from axisjudge.stats.estimate import Estimate, IntervalTerms
from axisjudge.stats.estimate import split as split_of
from axisjudge.stats.reference import majority
from axisjudge.studies._shared import words
from axisjudge.studies._shared.frames import Floats, Given, Table, mean_of, table_of
from axisjudge.studies._shared.pooled import Pooled
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.words import listed, many, plural, sentence_case


class Ranking(Part, caption="Ranks that each may hold"):
    """Names with their rank sets. `subject` says what is ranked and `quantity` by what; rank 1 has the most of it.

    `unit` names what the rank sets take as independent; `share` says that the means are shares.
    """

    _keys = ("subject", "quantity", "names")
    _flat = ("sets",)

    subject: str
    quantity: str
    names: tuple[str, ...]
    sets: RankSets
    unit: str = "task"
    share: bool = True

    @property
    def first(self) -> tuple[str, ...]:
        """The names that may hold rank 1."""
        return tuple(self.names[j] for j in self.sets.first)

    @property
    def leader(self) -> str:
        """The name with the highest mean and that mean; it need not be told apart from others."""
        top = int(self.sets.order[0])
        return "–" if np.isnan(self.sets.means[top]) else f"{self.names[top]} ({self._worded(self.sets.means[top])})"

    @property
    def briefly(self) -> str:
        """What may hold rank 1, in a few words."""
        if self.sets.refusal:
            return f"not ranked: {self.sets.refusal}"
        if self.sets.tied:
            return "some differ, which is not shown" if self.sets.differ else "cannot be told apart"
        return listed(self.first, "or")

    @property
    def table(self) -> Table:
        """One row a name, highest first."""
        rows = [
            {
                "name": self.names[j],
                self.quantity.replace(" ", "_"): float(self.sets.means[j]),
                "rank_from": int(self.sets.rank_low[j]),
                "rank_to": int(self.sets.rank_high[j]),
                plural(self.unit): self.sets.n_clusters,
            }
            for j in self.sets.order
        ]
        return table_of(rows, self.kind)

    def ends(self, which: Sequence[int]) -> str:
        """The range of the observed means of some names; empty where none is known."""
        means = self.sets.means[list(which)]
        known = means[~np.isnan(means)]
        if not known.size:
            return ""
        low, high = (self._worded(value) for value in (known.min(), known.max()))
        return low if low == high else f"{low} to {high}"

    @property
    def answer(self) -> str:
        """What the rank sets allow to be said, with the observed range: no name that they do not support."""
        return words.ranking(self)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """For each name the ranks it may hold, its place by the point estimate, and the estimate itself in words.

        Empty where nothing can be ranked: an order by point estimates would say what the ranking refuses to say.
        """
        sets = self.sets
        count = len(self.names)
        ax = theme.new_axes(7.0, 1.1 + 0.4 * count) if ax is None else ax
        for index, j in enumerate(() if sets.refusal else sets.order):
            ax.plot([sets.rank_low[j], sets.rank_high[j]], [index, index], color=theme.ACCENT, linewidth=7, alpha=0.25)
            ax.plot(index + 1, index, "o", color=theme.ACCENT, markersize=8)
            theme.at_the_right(ax, index, "–" if np.isnan(sets.means[j]) else self._worded(sets.means[j]))
        theme.named_rows(ax, [theme.in_words(self.names[j]) for j in sets.order])
        ax.set_xticks(range(1, count + 1, 1 + count // 16))
        ax.set_xlim(0.6, count + 0.4)
        level, of = f"{sets.ci_level:.0%}", many(sets.n_clusters, self.unit)
        note = sets.refusal or f"bars: {level} rank sets, all together; {of}"
        meaning = f"of {of}; dots: ranks by what was observed, bars: all ranks that cannot be excluded"
        how = sets.refusal or f"{level} intervals of ranks, all together, by sign flips {meaning}"
        x = f"rank by {self.quantity} (1 = highest); at the right the {'rate' if self.share else 'mean'} itself"
        return theme.dress(ax, f"{sentence_case(self.subject)}: possible ranks", note, how=how, x=x, lines="x")

    def _worded(self, mean: float) -> str:
        return f"{mean:.0%}" if self.share else f"{mean:.1f}"


@dataclass(frozen=True)
class JudgeConfidence(Result):
    """What one judge's confidence says of its agreement with the others.

    `auc` is the chance that the judge was surer on an item where it sides with the majority of the other judges than
    on one where it does not. The mean confidences are on the judge's own scale and not to be compared across judges.
    """

    judge: str
    family: str
    auc: Estimate
    mean_when_siding: float
    mean_when_opposed: float
    n_siding: int
    n_opposed: int


_TRIAGE = columns(
    "judge family auc~~ confidence_when_siding=mean_when_siding confidence_when_opposed=mean_when_opposed",
    "siding=n_siding opposed=n_opposed",
)


class PanelTriage(Part, name="triage", caption="Each judge's confidence when siding with the others' majority"):
    """The 2 x 2 of agreement by confidence, and each judge's confidence beside.

    `cells` is None where there is no triage, and `reason` says why.
    """

    _rows = "judges", _TRIAGE
    _keys = ("judges", "reason")
    _flat = ("cells",)

    where: str
    cells: Triage | None
    judges: tuple[JudgeConfidence, ...]
    reason: NoRanks

    @property
    def answer(self) -> str:
        """Agreement where all judges are sure and elsewhere, and what the AUC says."""
        if self.cells is None:
            return words.NO_TRIAGE.format(where=self.where, reason=self.reason)
        return words.triage(self.where, self.cells)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The four cells of agreement by confidence, counts and shares inside."""
        if (of := self.cells) is None:
            return super().plot(ax)
        ax = theme.new_axes(5.6, 3.2) if ax is None else ax
        cells = np.array([[of.agree_sure, of.disagree_sure], [of.agree_unsure, of.disagree_unsure]])
        advice = [["trust most", "question the rubric"], ["agree, but ask why unsure", "read first"]]
        total = cells.sum()
        rows = [f"all sure\n{_agree(of.agreement_sure)}", f"not all\n{_agree(of.agreement_unsure)}"]
        across = ["judges agree", "judges are split"]
        theme.plot_heatmap(cells / total, ax=ax, rows=rows, columns=across, palette="Blues", gap=3)
        for row, column in np.ndindex(2, 2):
            text = f"{cells[row, column]:,} ({cells[row, column] / total:.0%})"
            theme.cell_text(ax, row, column, text, down=-0.1, fontsize=theme.LABEL + 2)
            theme.cell_text(ax, row, column, advice[row][column], down=0.18, fontsize=theme.SMALL)
        note = (
            f"sure: from each judge's own {of.quantile:.0%} quantile on; AUC {of.auc.worded()}; "
            f"{many(total, 'item')} in {of.auc.clusters}"
        )
        ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.QUIET, loc="left", labelpad=6)
        how = f"{note}; {theme.intervals(of.auc)}"
        return theme.dress(ax, f"{sentence_case(self.where)}: agreement by confidence", how=how)


def panel_triage(
    panel: Pooled, *, quantile: float = 0.5, cluster_unit: str = "task", ci_level: float = 0.95
) -> PanelTriage:
    """Agreement of a panel by its confidence; confidences are compared within a judge only.

    A judge is sure of an item from `quantile` of its own confidences on. Words that take no side are no verdicts, as
    in every figure of agreement.
    """
    panel = panel.decided()
    both = ~np.isnan(panel.judged) & ~np.isnan(panel.confidences[:, : panel.n_judges])
    having = np.flatnonzero(both.any(axis=0)).tolist()
    if not (both.sum(axis=1) >= 2).any():
        gave = (~np.isnan(panel.confidences[:, : panel.n_judges])).any(axis=0).sum()
        reason = NoRanks.APART if gave > 1 else NoRanks.NO_CONFIDENCES
        return PanelTriage(panel.where, None, (), reason, kind=panel.kind)
    terms: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    two_by_two = triage_of(
        panel.codes[:, having], panel.confidences[:, having], quantile=quantile, clusters=panel.clusters, **terms
    )
    judges = tuple(_judge(panel, number, terms) for number in having)
    return PanelTriage(panel.where, two_by_two, judges, NoRanks.NONE, kind=panel.kind)


def sides_with_others(codes: Floats, number: int, n_categories: int) -> Floats:
    """1 where a judge says what most others say, 0 where not; NaN on a tie of the others or without a verdict."""
    own, others = codes[:, number], majority(np.delete(codes, number, axis=1), n_categories)
    return np.where(np.isnan(own) | np.isnan(others), np.nan, own == others)


def _judge(panel: Pooled, number: int, terms: IntervalTerms) -> JudgeConfidence:
    confidence = panel.confidences[:, number]
    siding = sides_with_others(panel.judged, number, len(panel.categories))
    auc = auroc(confidence, siding, clusters=panel.clusters, **terms)
    return JudgeConfidence(
        judge=panel.raters[number],
        family=panel.families[number],
        auc=auc,
        mean_when_siding=mean_of(confidence[siding == 1]),
        mean_when_opposed=mean_of(confidence[siding == 0]),
        n_siding=int((siding == 1).sum()),
        n_opposed=int((siding == 0).sum()),
    )


CALIBRATION = "calibration"


class NoRanks(StrEnum):
    """Why confidences of a panel cannot be ranked."""

    NONE = ""
    NO_CONFIDENCES = "fewer than two judges gave confidences"
    APART = "no item has two judges that take a side and say how sure they are"


def confidence_ranks(ratings: Given, panel: Pooled) -> tuple[Floats, str]:
    """Each judge's confidences as mid-ranks among its own, shape (items, judges), and what the ranks rest on.

    On held-out data a judge's map is the one that the lock froze. Where there is none it is fitted on the table's
    calibration split, all questions and rubric versions together; where the table has no such rows, on all of the
    judge's ratings.

    Raises
    ------
    InputError
        A judge has confidences of two sources (verbalized and token probability, say): these are never pooled.
    """
    given = as_ratings(ratings).filter(pl.col("rater").is_in(panel.judges), pl.col("confidence").is_not_null())
    frozen = frozen_maps(given)
    fitted, split = fitted_maps(given)
    ranks = np.full((len(panel.items), panel.n_judges), np.nan)
    refitted = []
    for number, judge in enumerate(panel.judges):
        if judge in frozen:
            ranks[:, number] = frozen[judge](panel.confidences[:, number], source=judge)
        elif judge in fitted:
            ranks[:, number] = fitted[judge](panel.confidences[:, number], source=judge)
            refitted.append(judge)
    lacking = "name no split" if given["split"].is_null().all() else "hold none of the calibration split"
    where = "fitted on the calibration split" if split else f"within these ratings, which {lacking}"
    if not frozen:
        return ranks, f"ranks {where}"
    others = f"; of {listed(refitted)}, which it has no map of, ranks {where}" if refitted else ""
    return ranks, f"ranks by the maps frozen in the lock{others}"


def fitted_maps(given: pl.DataFrame) -> tuple[dict[str, ConfidenceMap], bool]:
    """Each judge's map to mid-ranks, and whether it is fitted on the calibration split (else on all that is given).

    Raises
    ------
    InputError
        A judge has confidences of two sources.
    """
    sources = given.group_by("rater").agg(pl.col("confidence_source").unique()).sort("rater")
    for judge, kinds in sources.iter_rows():
        if len(kinds) > 1:
            cure = "filter the ratings to one confidence_source"
            raise InputError(f"confidences of {judge}", "must be of one source", sorted(map(str, kinds)), cure)
    fitting = given.filter(pl.col("split") == CALIBRATION)
    split = not fitting.is_empty()
    by_judge = (fitting if split else given).partition_by("rater", as_dict=True)
    maps = {judge: fit_mid_rank(mine["confidence"].to_numpy(), source=judge) for (judge,), mine in by_judge.items()}
    return maps, split


def _agree(rate: Estimate) -> str:
    return f"{rate.estimate:.0%} agree ({theme.percent_ends(rate)})"


# Where judges disagree: the two sides of every split with their reasons side by side, in the order to read them.

#: Confidence and rationale by item, question and judge.
_Voices = dict[tuple[str, str, str], tuple[float | None, str | None]]


class Order(StrEnum):
    """Which splits come first."""

    LEAST_SURE = "those first on which the panel is least sure"
    FARTHEST = "those farthest apart first"
    MOST_EVEN = "the most even splits first"


@dataclass(frozen=True)
class Side:
    """One side of a split: its word, how many judges take it, and one of them with its confidence and reason."""

    verdict: str
    n_judges: int
    judge: str
    confidence: float | None
    rationale: str | None


@dataclass(frozen=True)
class Disagreement:
    """One item that judges split on; `label` is people's or the planted word, `sureness` the mean confidence rank."""

    item: str
    question: str
    first: Side
    second: Side
    n_other: int
    sureness: float
    label: str | None


class Disagreements(Part, name="split_items", caption="Items to read first"):
    """The splits of a panel in the order to read them, with both sides' reasons; `n_split` of `n_items`."""

    listed: tuple[Disagreement, ...]
    n_split: int
    n_items: int
    order: Order

    @property
    def table(self) -> Table:
        """One row a split, the two sides next to each other."""
        rows = [
            {"item": one.item, "question": one.question}
            | _columns("one", one.first)
            | _columns("other", one.second)
            | {"elsewhere": one.n_other, "label": one.label}
            for one in self.listed
        ]
        return table_of(rows, self.kind)

    answer = property(words.split_items)


def disagreements(ratings: Given, panel: Pooled, *, most: int = 20) -> Disagreements:
    """The items that judges split on, with one voice of each of the two largest sides.

    With confidences, items on which the panel was least sure come first: there the rubric or the trajectory is unclear.
    Without them, those that split the panel most evenly (on an ordered scale: those with the words farthest apart).
    The voice of a side is the surest judge that gave a reason, from another family than the first side's if it can be.
    A judge whose word takes no side splits no panel.

    `ratings` are those of the `panel`; `most` is how many items are listed.
    """
    panel = panel.decided()
    codes = panel.judged
    ranks, _ = confidence_ranks(ratings, panel)
    split = np.flatnonzero(split_of(codes))
    sureness = np.ma.masked_invalid(ranks).mean(axis=1).filled(np.nan)  # of the ranks that are given
    evenness = _evenness(codes, len(panel.categories), panel.ordered)
    if np.isnan(sureness[split]).all():
        order, key = Order.FARTHEST if panel.ordered else Order.MOST_EVEN, -evenness
    else:
        order, key = Order.LEAST_SURE, np.nan_to_num(sureness, nan=np.inf)
    chosen = split[np.lexsort((split, -evenness[split], key[split]))][:most]
    voices = _voices(ratings, panel, chosen)
    return Disagreements(
        listed=tuple(_listed(panel, ranks, int(at), float(sureness[at]), voices) for at in chosen),
        n_split=split.size,
        n_items=len(panel.items),
        order=order,
        kind=panel.kind,
    )


def _evenness(codes: Floats, n_categories: int, ordered: bool) -> Floats:
    """How far an item splits the panel: distance of the extreme words, or the share outside the commonest word."""
    counts = (codes[:, :, None] == np.arange(n_categories)).sum(axis=1)
    outside = 1 - counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)
    if not ordered:
        return np.asarray(outside)
    apart = np.fmax.reduce(codes, axis=1) - np.fmin.reduce(codes, axis=1)
    return np.asarray(np.nan_to_num(apart) + outside)


def _listed(panel: Pooled, ranks: Floats, at: int, sureness: float, voices: _Voices) -> Disagreement:
    codes = panel.judged[at]
    counts = (codes[:, None] == np.arange(len(panel.categories))).sum(axis=0)
    taken = _two_sides(counts, panel.ordered)
    item, question = panel.items[at], panel.questions[panel.question[at]]
    sides: list[Side] = []
    family = None
    for code in taken:
        takers = np.flatnonzero(codes == code)
        explained = [judge for judge in takers if voices[item, question, panel.raters[judge]][1]]
        judge = _voice(np.array(explained if explained else takers, dtype=np.intp), ranks[at], panel.families, family)
        family = panel.families[judge]
        confidence, rationale = voices[item, question, panel.raters[judge]]
        sides.append(Side(panel.categories[code], int(counts[code]), panel.raters[judge], confidence, rationale))
    label = panel.label[at]
    return Disagreement(
        item=item,
        question=question,
        first=sides[0],
        second=sides[1],
        n_other=int(counts.sum() - counts[list(taken)].sum()),
        sureness=sureness,
        label=None if np.isnan(label) else panel.categories[int(label)],
    )


def _two_sides(counts: NDArray[np.intp], ordered: bool) -> tuple[int, int]:
    """The two words set against each other: the extremes of an ordered scale, else the two commonest."""
    if ordered:
        given = np.flatnonzero(counts)
        return int(given[0]), int(given[-1])
    first, second = np.argsort(-counts, kind="stable")[:2]
    return int(first), int(second)


def _voice(judges: NDArray[np.intp], ranks: Floats, families: Sequence[str], other_than: str | None) -> int:
    """The surest of some judges, if possible of another family than `other_than`."""
    elsewhere = [int(judge) for judge in judges if families[judge] != other_than] or [int(judge) for judge in judges]
    return max(elsewhere, key=lambda judge: -1.0 if np.isnan(ranks[judge]) else ranks[judge])


def _voices(ratings: Given, panel: Pooled, chosen: NDArray[np.intp]) -> _Voices:
    """Confidence and rationale of every judge on the items listed."""
    items = [panel.items[at] for at in chosen]
    table = as_ratings(ratings).filter(
        pl.col("item_id").is_in(items), pl.col("question").is_in(panel.questions), pl.col("repeat") == panel.repeat
    )
    rows = table.select("item_id", "question", "rater", "confidence", "rationale").iter_rows()
    return {(item, question, judge): (confidence, why) for item, question, judge, confidence, why in rows}


def _columns(name: str, side: Side) -> dict[str, Any]:
    verdict = side.verdict if side.n_judges == 1 else f"{side.verdict} ({side.n_judges} judges)"
    confidence = "" if side.confidence is None else f", confidence {side.confidence:.2f}"
    return {f"{name}_says": verdict, f"{name}_judge": f"{side.judge}{confidence}", f"{name}_rationale": side.rationale}
