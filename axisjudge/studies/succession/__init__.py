"""May a new judge take the old one's place? (notebook 10)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.figures.theme import (
    ACCENT,
    FAINT,
    INK,
    QUIET,
    SMALL,
    describe,
    dress,
    in_words,
    interval_mark,
    intervals,
    named_rows,
    new_axes,
    percent_tick,
    side_by_side,
)
from axisjudge.ratings import to_matrix
from axisjudge.ratings.edge import BY_LABELLER, as_ratings
from axisjudge.ratings.scales import level_of
from axisjudge.results import Result, columns, plain
from axisjudge.stats.agreement.chance_corrected import Agreement, agreement_coefficients
from axisjudge.stats.comparisons.equivalence import MARGIN
from axisjudge.stats.correction import Sampling
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.stats.reference import majority
from axisjudge.studies._shared.frames import (
    Given,
    Kind,
    Table,
    frame_of,
    kind_of,
    made_up_raters,
    table_of,
    with_ends,
    with_own_ends,
)
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import many
from axisjudge.studies.succession import sentences as say
from axisjudge.studies.succession.bridge import (
    Bridge,
    BridgeTerms,
    Drift,
    bridge_judges,
    drift_rows,
    verdicts_of,
    watch_drift,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "AgainstLabels",
    "DriftOfJudge",
    "JudgeBridge",
    "RestatedRates",
    "Succession",
    "against_labels",
    "drift_of_judge",
    "judge_bridge",
    "restated_rates",
    "succession",
]

_NO = "#A34700"


def plot_bridge(bridge: Bridge, *, ax: Axes | None = None) -> Axes:
    """Both conditions per question: the shift within its margin, and agreement against what the old judge reaches.

    On axes that are given the left half is the shift, the right half the agreement.
    """
    rows = bridge.bridges
    ax = new_axes(8.2, 0.42 * len(rows) + 1.7) if ax is None else ax
    left, right = side_by_side(ax, 2)
    margin, level = rows[0].equivalence.margin, f"{1 - 2 * rows[0].equivalence.level:.0%} intervals"
    left.axvspan(-margin, margin, color="#e8eef3", linewidth=0)
    left.axvline(0, color=FAINT, linewidth=1)
    for at, row in enumerate(rows):
        interval_mark(left, row.equivalence.shift, at, colour=ACCENT if row.shift_within else _NO)
        interval_mark(right, row.equivalence.agreement, at, colour=ACCENT if row.agreement_enough else _NO)
        right.plot([row.least_agreement] * 2, [at - 0.28, at + 0.28], color=INK, linewidth=1.6)
    named_rows(left, [in_words(row.question) for row in rows])
    left.xaxis.set_major_formatter(_signed)
    right.xaxis.set_major_formatter(lambda share, _: "" if share > 1 else percent_tick(share))
    dress(left, "Shift of the failure rate", f"{level}; band: the margin")
    dress(right, "Agreement of the two judges", f"{level}; mark: the old judge with itself, minus the margin")
    unit = rows[0].equivalence.shift.clusters
    marks = "Right: the mark is the old judge's agreement with itself, minus the margin"
    describe(left, f"left: the band is the margin. {marks}. Bars are {level} over {unit}")
    return left


def plot_drift(drift: Drift, *, ax: Axes | None = None) -> Axes:
    """The change of the failure rate from the first occasion, with its interval; a cross says stop."""
    ax = new_axes(6.4, 3.0) if ax is None else ax
    ax.axhline(0, color=FAINT, linewidth=1)
    ax.plot(1, 0, "o", color=QUIET, markersize=6)
    for each in drift.occasions:
        colour, marker = (_NO, "X") if each.stop or each.number in drift.model_changed else (ACCENT, "o")
        interval_mark(ax, each.change.change, each.number, colour=colour, marker=marker, upright=True)
    ax.set_xticks([seen.number for seen in drift.seen])
    ax.set_xlabel("occasion", fontsize=SMALL, color=QUIET)
    ax.yaxis.set_major_formatter(_signed)
    ax.set_xlim(0.5, len(drift.seen) + 0.5)
    title = "Change of the failure rate since the first occasion"
    note = f"{drift.n_items:,} anchor items; a cross says stop"
    changes = [each.change.change for each in drift.occasions]
    dress(ax, title, note)
    describe(ax, f"{note}; {intervals(changes[0])}" if changes else note)
    return ax


def _signed(share: float, _: object) -> str:
    return f"{100 * share:+.3g}%" if share else "0"


@dataclass(frozen=True)
class BesideLabels(Result):
    """One judge on one question: accuracy and the scale's kappa with the commonest label, on `n_items` labelled items.

    Items whose labels tie have no commonest one and are left out.
    """

    question: str
    judge: str
    accuracy: Estimate
    kappa: Agreement


class AgainstLabels(Part, name="labels", caption="Each judge against the labels"):
    """Both judges on every question that people labelled."""

    _keys = ("judges",)

    judges: tuple[BesideLabels, ...]
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a question and judge: accuracy, and the scale's kappa."""
        named = columns("question judge n=accuracy.n_items", with_own_ends("accuracy"), "coefficient=kappa.label")
        kappa = with_ends("value", "kappa", low="value_low", high="value_high")
        return frame_of(self.judges, named | kappa, self.kind)

    @property
    def behind(self) -> dict[str, str]:
        """Labelled items."""
        return {"only": "labelled"}

    @property
    def answer(self) -> str:
        """How often each judge is right, question by question."""
        return " ".join(
            f"{each.judge} on {each.question}: right on {each.accuracy.worded('.0%')} of "
            f"{many(each.accuracy.n_items, 'labelled item')}."
            for each in self.judges
        )


def against_labels(
    ratings: Given,
    labels: Given,
    old: str,
    new: str,
    *,
    steps: bool = False,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> AgainstLabels:
    """Accuracy and kappa of the old and the new judge's first ratings against people's labels.

    Parameters
    ----------
    ratings, labels : table
        Ratings tables; of `labels` the raters of kind ``human`` or ``planted`` count.
    old, new : str
        The judges' names.
    steps : bool
        Ratings of steps instead of whole trajectories.

    Raises
    ------
    InputError
        No label is of an item that one of the judges rated.
    """
    judged = _verdicts(ratings, steps)
    judged = judged.filter(pl.col("rater").is_in([old, new]))
    first = judged.filter(pl.col("repeat") == pl.col("repeat").min().over("rater")).with_columns(repeat=pl.lit(0))
    stated = _verdicts(labels, steps).filter(BY_LABELLER)
    people = stated["rater"].unique().sort().to_list()
    labelled = first.join(stated.select("item_id", "question").unique(), on=["item_id", "question"], how="semi")
    questions = labelled["question"].unique(maintain_order=True).to_list()
    if not questions:
        raise TooLittle("labels", f"must be of items that {old} or {new} rated")
    table = pl.concat([labelled, stated.with_columns(repeat=pl.lit(0))], how="diagonal_relaxed")
    terms = BridgeTerms(cluster_unit=cluster_unit, ci_level=ci_level)
    rows = [row for question in questions for row in _rows(table, question, (old, new), people, steps, terms)]
    return AgainstLabels(tuple(rows), kind_of(ratings))


def _verdicts(ratings: Given, steps: bool) -> pl.DataFrame:
    """The verdicts that count in a failure rate, with kinds and families of raters."""
    kept = verdicts_of(ratings, steps=steps).select("item_id", "question", "scale").unique()
    return as_ratings(ratings).join(kept, on=["item_id", "question", "scale"], how="semi")


def _rows(
    table: pl.DataFrame, question: str, judges: Sequence[str], people: Sequence[str], steps: bool, terms: BridgeTerms
) -> list[BesideLabels]:
    matrix = to_matrix(table, question, raters=[*judges, *people], step_level=steps)
    label = majority(matrix.codes[:, len(judges) :], len(matrix.categories))
    ordered = level_of(table.filter(pl.col("question") == question)["scale"][0]) == "ordinal"
    name = "cohen_kappa_quadratic" if ordered else "cohen_kappa"
    clusters = np.unique(matrix.clusters, return_inverse=True)[1]
    how: dict[str, Any] = {"clusters": clusters, "cluster_unit": terms.cluster_unit, "ci_level": terms.ci_level}
    rows = []
    for column, judge in enumerate(judges):
        pair = np.column_stack([matrix.codes[:, column], label])
        same = np.where(np.isnan(pair).any(axis=1), np.nan, pair[:, 0] == pair[:, 1])
        if not np.isnan(same).all():
            categories = range(len(matrix.categories))
            kappa = agreement_coefficients(pair, [name], categories=categories, **how)[name]
            rows.append(BesideLabels(question, judge, clustered_proportion(same, **how), kappa))
    return rows


class JudgeBridge(Part, name="bridge", caption="Old judge against new judge on the anchor set"):
    """Whether the new judge is equivalent to the old one, question by question: shift, and agreement."""

    bridge: Bridge
    kind: Kind

    @property
    def table(self) -> Table:
        """One row a question: shift and agreement with their bounds, and what is shown."""
        rows = []
        for each in self.bridge.bridges:
            both, own = each.equivalence, each.equivalence.self_agreement
            rows.append(
                {
                    "question": each.question,
                    "anchors": each.n_anchors,
                    "tasks": both.agreement.n_clusters,
                    "decided": both.shift.n_items,
                    "shift": both.shift.estimate,
                    "shift_low": both.shift.ci_low,
                    "shift_high": both.shift.ci_high,
                    "agreement": both.agreement.estimate,
                    "at_least": both.agreement.ci_low,
                    "old_with_itself": math.nan if own is None else own.estimate,
                    "kappa": each.kappa.estimate,
                    "to_incorrect": each.to_incorrect,
                    "to_correct": each.to_correct,
                    "shown": "equivalent" if both.equivalent else "not shown",
                }
            )
        return table_of(rows, self.kind)

    @property
    def behind(self) -> Mapping[str, str]:
        """What both judges say."""
        return {"judge": self.bridge.old, "beside": self.bridge.new}

    @property
    def answer(self) -> str:
        """On which questions the new judge may take the old one's place, and why not on others."""
        return " ".join([say.verdict(self.bridge), *say.doubts(self.bridge), *say.widened(self.bridge)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Both conditions per question."""
        return plot_bridge(self.bridge, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """The bridge of every question, and rates re-stated."""
        return self.bridge.to_dict()


def judge_bridge(
    ratings: Given,
    old: str,
    new: str,
    *,
    questions: Sequence[str] | None = None,
    steps: bool = False,
    drawn: Sampling = "random",
    margin: float = MARGIN,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> JudgeBridge:
    """Bridge an old judge to a new one on the runs that both rated.

    Works from stored ratings; neither judge is called. The anchor set are the runs that the new judge rated; the old
    results all runs that the old judge rated, in its first repeat. Its further repeats give its agreement with itself.

    Parameters
    ----------
    ratings : table
        A ratings table with both judges, one rating for each item, question, judge and repeat.
    old, new : str
        The raters' names.
    questions : sequence of str, optional
        By default all that both rated.
    steps : bool
        Ratings of steps instead of whole trajectories.
    drawn : str
        How the anchors were drawn from the old judge's runs: ``random``, ``by_judge_verdict`` or ``unknown``. Only a
        random draw shows equivalence, for only there is the anchors' shift that of all runs; after an unknown one old
        rates are not re-stated.
    margin, level : float
        Of the two conditions (`axisjudge.stats.comparisons.equivalence`).
    cluster_unit : str
        What a cluster is.
    ci_level : float
        Of kappa and of rates.

    Raises
    ------
    InputError
        One of the judges is not in the table, they share no item or question asked for, an item has two ratings of one
        judge and repeat, or a question was judged under several rubric versions.
    """
    terms, table = BridgeTerms(margin, level, cluster_unit, ci_level), as_ratings(ratings)
    bridge = bridge_judges(table, old, new, questions=questions, steps=steps, drawn=drawn, terms=terms)
    made_up = made_up_raters(table.filter(pl.col("rater").is_in([old, new])))
    return JudgeBridge(bridge, kind_of(ratings), made_up=made_up)


class RestatedRates(
    Part, name="restated", caption="Failure rates by the old judge, and as the new one would give them"
):
    """Failure rates by the old judge, and as the new one would give them."""

    bridge: Bridge
    kind: Kind

    @property
    def table(self) -> Table:
        """One row an agent and question: the old rate, the re-stated one, and how much wider it became."""
        rates = columns(
            "agent question runs=before.n_items anchors=n_anchors",
            with_ends("old_judge", "before", low="old_low", high="old_high"),
            with_ends("restated", "rate.rate", low="restated_low", high="restated_high"),
            "wider=extra_doubt",
        )
        return frame_of(self.bridge.restated, rates, self.kind)

    @property
    def behind(self) -> Mapping[str, str]:
        """The old judge's verdicts that take a side."""
        return {"judge": self.bridge.old, "word": "correct\nincorrect", "repeat": "0"}

    @property
    def answer(self) -> str:
        """Which rates are not re-stated, and why."""
        return " ".join([*say.widened(self.bridge), *say.not_restated(self.bridge)])

    def to_dict(self) -> dict[str, Any]:
        """The rates."""
        return {"restated": plain(self.bridge.restated)}


def restated_rates(bridge: JudgeBridge) -> RestatedRates:
    """What becomes of old failure rates, agent by agent, with the doubt of both judges in their intervals."""
    return RestatedRates(bridge.bridge, bridge.kind, made_up=bridge.made_up)


class DriftOfJudge(
    Part, name="drift", caption="Occasion by occasion against the first", formats={"p": ".4f", "stops_at_p": ".4f"}
):
    """A judge that stays, occasion by occasion on its own anchor set; None where no occasions were given."""

    drift: Drift | None
    kind: Kind

    @property
    def table(self) -> Table:
        """One row an occasion: when, by which model, and the change from the first."""
        rows = drift_rows(self.drift) if self.drift else []
        named = [{head.replace(" ", "_"): cell for head, cell in row.items()} for row in rows]
        return table_of(named, self.kind, columns=["occasion"])

    @property
    def behind(self) -> Sequence[Mapping[str, str]]:
        """The items of each occasion."""
        return self.drift.behind if self.drift else ()

    @property
    def answer(self) -> str:
        """Whether the judge has drifted; empty where it was not watched."""
        return say.drift_sentence(self.drift) if self.drift else ""

    def plot(self, ax: Axes | None = None) -> Axes:
        """The change of the failure rate from the first occasion."""
        return plot_drift(self.drift, ax=ax) if self.drift else super().plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """All occasions."""
        return self.drift.to_dict() if self.drift else {}


def drift_of_judge(
    anchors: Given | None,
    judge: str,
    *,
    steps: bool = False,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> DriftOfJudge:
    """Watch a judge for drift on its own anchor set, a repeat an occasion; arguments as `drift.watch_drift`."""
    if anchors is None:
        return DriftOfJudge(None, "polars")
    drift = watch_drift(anchors, judge, steps=steps, level=level, cluster_unit=cluster_unit, ci_level=ci_level)
    table = as_ratings(anchors).filter(pl.col("rater") == judge)
    return DriftOfJudge(drift, kind_of(anchors), made_up=made_up_raters(table))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Succession(Study):
    """The bridge from an old judge to a new one, old rates re-stated, and the old one's drift."""

    bridge: JudgeBridge
    restated: RestatedRates
    drift: DriftOfJudge

    @property
    def answer(self) -> str:
        """On which questions the new judge may take the old one's place, and what shifts most."""
        return answer_of(self.bridge, self.drift)


def answer_of(bridge: JudgeBridge, drift: DriftOfJudge) -> str:
    """On which questions the new judge may take the old one's place, what shifts most, and whether to stop."""
    return say.answer(bridge.bridge, drift.drift)


def next_step(bridge: JudgeBridge) -> str:
    """Where the new judge may be used, and how many more anchors may show the rest."""
    return say.next_step(bridge.bridge)


def succession(
    ratings: Given,
    old: str,
    new: str,
    *,
    anchors: Given | None = None,
    questions: Sequence[str] | None = None,
    steps: bool = False,
    drawn: Sampling = "random",
    margin: float = MARGIN,
    level: float = 0.05,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> Succession:
    """May a new judge take the old one's place, and what becomes of the old results?

    Parameters
    ----------
    ratings, old, new, questions, steps, drawn, margin, level, cluster_unit, ci_level
        As `judge_bridge` takes them; `level` is also that of the stop rule.
    anchors : table, optional
        The old judge's ratings of its own anchor set, a repeat an occasion: it is watched for drift.

    Raises
    ------
    InputError
        As `judge_bridge`, and where `anchors` hold one occasion only.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> judges = ["simulated:heron", "simulated:plover"]
    >>> ratings = axisjudge.judge(runs, judges, ["sequencing"], progress=False)
    >>> axisjudge.studies.succession(ratings, *judges).bridge.table["shown"].to_list()
    ['not shown']
    """
    terms: dict[str, Any] = {"steps": steps, "level": level, "cluster_unit": cluster_unit, "ci_level": ci_level}
    bridge = judge_bridge(ratings, old, new, questions=questions, drawn=drawn, margin=margin, **terms)
    return Succession(bridge=bridge, restated=restated_rates(bridge), drift=drift_of_judge(anchors, old, **terms))


open_door(succession)
