"""How far can confidences be taken at their word? (notebook 02, `axisjudge confidence`)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from textwrap import fill
from typing import TYPE_CHECKING, Any

import polars as pl

from axisjudge.checks import InputError, TooLittle
from axisjudge.figures import theme
from axisjudge.labels.sampling import LOOKED_AT, drawn_of
from axisjudge.ratings.edge import BY_JUDGE, BY_LABELLER, as_ratings, once
from axisjudge.results import Result, columns
from axisjudge.stats.calibration import (
    ConfidenceMap,
    ReliabilityCurve,
    RiskCoverage,
    auroc,
    fit_isotonic,
    fit_platt,
    reliability_curve,
    risk_coverage,
)
from axisjudge.stats.estimate import UNDECIDED, ClusteredShare, Estimate, IntervalTerms
from axisjudge.stats.proportions import clustered_proportion
from axisjudge.studies._shared.frames import Given, commonest, kind_of, made_up_raters, rows_of
from axisjudge.studies._shared.result import Part, open_door
from axisjudge.studies._shared.words import apart, listed, many, other_repeats

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CALIBRATION = "calibration"
#: A word that takes no side is neither right nor wrong, and no label.
_SIDED = ~pl.col("verdict").is_in(UNDECIDED)

_ITEM = ("item_id", "question")

#: Columns of the table, and where their figures stand.
_FIGURES = columns(
    "judge source n=curve.n_items accuracy~=right confidence=mean_confidence brier=curve.brier",
    "miscalibration=curve.miscalibration discrimination=curve.discrimination uncertainty=curve.uncertainty",
    "ece=curve.ece ece_if_calibrated=curve.ece_if_calibrated auroc~=auc",
)


@dataclass(frozen=True)
class Recalibration(Result):
    """Brier score on items outside the calibration split, with confidences as given and after each map fitted on it."""

    n_fitted: int
    n_tested: int
    as_given: float
    platt: float
    isotonic: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class JudgeCalibration(Result):
    """One judge's confidences of one source against labels.

    `right` is the share of its verdicts that are the label's and `mean_confidence` what it says of them. Verdicts
    that take no side are counted in `n_no_side`, lost ones in `n_lost`, those without a label that takes one in
    `n_unlabelled`, labelled ones that take a side without a confidence of this source in `n_unsure`.
    """

    _keys = columns(
        *(_FIGURES, "auroc=auc curve=line risk_coverage=risk recalibration"),
        "n_questions n_no_side n_lost n_unlabelled n_unsure",
    )

    judge: str
    family: str
    source: str
    right: ClusteredShare
    mean_confidence: float
    curve: ReliabilityCurve
    auc: Estimate
    risk: RiskCoverage
    recalibration: Recalibration
    n_no_side: int
    n_lost: int
    n_unlabelled: int
    n_unsure: int
    n_questions: int

    @property
    def accuracy(self) -> float:
        """The share of its verdicts that are the label's."""
        return self.right.estimate

    @property
    def line(self) -> dict[str, Any]:
        """The reliability curve with its band."""
        names = ("confidence", "calibrated", "count", "band_low", "band_high")
        return {name: getattr(self.curve, name) for name in names}

    def row(self) -> dict[str, Any]:
        """One row of the table."""
        return rows_of([self], _FIGURES)[0]

    @property
    def sentence(self) -> str:
        """Over- or underconfident, more than chance or not, and whether confidence ranks right before wrong."""
        left_out = {"without a side": self.n_no_side, "lost": self.n_lost, "without a label": self.n_unlabelled}
        left_out["without such a confidence"] = self.n_unsure
        counts, curve = ", ".join(f"{count} {what}" for what, count in left_out.items() if count), self.curve
        together = f" on {self.n_questions} questions" if self.n_questions > 1 else ""
        of = f"{many(self.right.n_items, 'verdict')}{together}, {self.right.interval('.0%')},"
        return (
            f"{self.judge} ({self.source}) {gap(self.accuracy, self.mean_confidence, of)}; {curve.ece_bins} bins give "
            f"an ECE of {curve.ece:.3f}, where a perfectly calibrated judge of so few items would show "
            f"{curve.ece_if_calibrated:.3f}. AUROC {self.auc.worded()}.{f' Left out: {counts}.' if counts else ''}"
        )


def calibration(
    ratings: Given, labels: Given, *, repeat: int = 0, cluster_unit: str = "task", ci_level: float = 0.95, seed: int = 0
) -> Confidence:
    """Confidences of every judge against labels, one source of confidence at a time.

    An item's label is the commonest word of people or of the planted truth that takes a side, and an item on which they
    tie has none.
    Arguments as `axisjudge.studies.confidence`; `ratings` and `labels` may be one table.

    Raises
    ------
    InputError
        There are no labels, or no judge has confidences on labelled items.
    """
    by_judges = as_ratings(ratings).filter(BY_JUDGE)
    given = by_judges.filter(pl.col("repeat") == repeat)
    if given.is_empty():
        raise TooLittle("ratings", "must be of judges, and none is; people's labels and planted truth go into labels")
    truth = _labels(_not_looked_at(labels))
    judged = given.join(truth, on=_ITEM, how="left", maintain_order="left")
    judged = judged.with_columns(pl.col("confidence_source").fill_null("not stated"))
    if judged["label"].null_count() == judged.height:
        cure = "item_id and question must be those of the ratings"
        raise TooLittle("labels", "must label items that were rated, by words that take a side", cure=cure)
    having, key = judged.drop_nulls(["confidence", "label"]), ("family", "rater", "confidence_source")
    if having.is_empty():
        raise TooLittle("ratings", "must hold confidences on labelled items")
    decided = having.filter(_SIDED)
    judges = tuple(
        _judge(judge, family, source, judged.filter(pl.col("rater") == judge), cluster_unit, ci_level, seed)
        for family, judge, source in decided.select(key).unique().sort(key).iter_rows()
    )
    without = tuple(sorted(set(judged["rater"]) - set(decided["rater"])))
    others = by_judges.height - given.height
    return Confidence(judges, without, Missing.NONE if judges else Missing.NO_SIDE, others, kind=kind_of(ratings))


def _not_looked_at(labels: Given) -> pl.DataFrame:
    """The labels without decisions on items that judges are at odds on: no confidence is checked against these."""
    table = as_ratings(labels, where="labels")
    drawn = [drawn_of(flags or ())["drawn"] for flags in table["flags"].to_list()]
    return table.filter(~pl.Series(drawn, dtype=pl.String).is_in(LOOKED_AT))


def _labels(table: pl.DataFrame) -> pl.DataFrame:
    """One label an item: the commonest word that takes a side of those who label, each once; none on a tie."""
    labelled = table.filter(BY_LABELLER)
    given = labelled.filter(pl.col("verdict").is_not_null()).sort("repeat", maintain_order=True)
    given = given.unique([*_ITEM, "rater"], keep="first", maintain_order=True)
    if given.is_empty() and labelled["value"].count():
        raise TooLittle("labels", "are numbers, which are near or far from a judge's and never right or wrong")
    if given.is_empty():
        cure = "labels are ratings whose rater_kind is human or planted"
        raise TooLittle("labels", "must be of people, or planted truth, and none is", cure=cure)
    return commonest(given.filter(_SIDED))


def _judge(
    judge: str, family: str, source: str, own: pl.DataFrame, cluster_unit: str, ci_level: float, seed: int
) -> JudgeCalibration:
    once(own, *_ITEM, rule="one rating for each item and question", where=f"ratings of {judge}")
    sure = own.filter(pl.col("confidence").is_not_null() & (pl.col("confidence_source") == source))
    labelled = sure.filter(pl.col("label").is_not_null())
    sided = labelled.filter(_SIDED).with_columns(correct=(pl.col("verdict") == pl.col("label")).cast(pl.Float64))
    confidence, correct, clusters = (sided[name].to_numpy() for name in ("confidence", "correct", "cluster_id"))
    terms: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    n_sided = own.filter(_SIDED & pl.col("label").is_not_null()).height
    several = clusters if sided["cluster_id"].n_unique() > 1 else None  # one shows not how far clusters differ
    return JudgeCalibration(
        judge=judge,
        family=family,
        source=source,
        right=clustered_proportion(correct, clusters, **terms),
        mean_confidence=float(confidence.mean()),
        curve=reliability_curve(confidence, correct, clusters=several, rng=seed),
        auc=auroc(confidence, correct, clusters=clusters, **terms),
        risk=risk_coverage(confidence, correct),
        recalibration=_recalibrated(sided, f"{judge}/{source}"),
        n_no_side=labelled.filter(~_SIDED).height,
        n_lost=own.filter(pl.col("status") != "ok").height,
        n_unlabelled=sure.height - labelled.height,
        n_unsure=n_sided - sided.height,
        n_questions=sided["question"].n_unique(),
    )


def _recalibrated(sided: pl.DataFrame, source: str) -> Recalibration:
    """Maps fitted on the calibration split and tried on the rest; none without a split, for that would be circular."""
    of_split = pl.col("split") == CALIBRATION
    fitting, testing = (sided.filter(side).select("confidence", "correct").to_numpy() for side in (of_split, ~of_split))
    n_fitted, n_tested = len(fitting), len(testing)
    if not n_fitted or not n_tested:
        return Recalibration(n_fitted, n_tested, math.nan, math.nan, math.nan, NO_SPLIT)
    (known, right), (confidence, correct) = fitting.T, testing.T

    def brier(fitted: ConfidenceMap | None) -> float:
        shown = confidence if fitted is None else fitted(confidence, source=source)
        return float(((shown - correct) ** 2).mean())

    try:
        maps = fit_platt(known, right, source=source), fit_isotonic(known, right, source=source)
    except InputError as error:
        return Recalibration(n_fitted, n_tested, brier(None), math.nan, math.nan, str(error))
    return Recalibration(n_fitted, n_tested, brier(None), brier(maps[0]), brier(maps[1]))


#: Characters of a name above a diagram.
_LINE = 22


def plot_reliability(judges: Sequence[JudgeCalibration]) -> Figure:
    """One reliability diagram a judge and source of confidence, three in a row.

    The line is the share of correct verdicts by isotonic regression, the grey band where that line would lie for a
    judge whose confidence is exactly right, the ticks below how often each confidence was given.
    """
    figure, axes, left = theme.panels(len(judges), width=3.3, height=3.5)
    for ax, judge in zip(axes, judges, strict=True):
        _diagram(ax, judge)
    for ax in left:
        ax.set_ylabel("share of correct verdicts", fontsize=theme.SMALL, color=theme.QUIET)
    figure.supxlabel("confidence; below each diagram how often it was given", fontsize=theme.SMALL, color=theme.QUIET)
    grey = "where that line would lie, as a whole in 90% of draws, for a judge whose confidences are exactly right"
    line = "line: share of correct verdicts"
    theme.describe(figure, f"{line}; grey: {grey} (its band widens with items that belong together)")
    return figure


def _diagram(ax: theme.Axes, judge: JudgeCalibration) -> None:
    curve = judge.curve
    ax.plot([0, 1], [0, 1], color=theme.FAINT, linewidth=1, zorder=1)
    if curve.confidence.size > 1:
        ax.fill_between(curve.confidence, curve.band_low, curve.band_high, color="#d9d9d9", linewidth=0, zorder=0)
        ax.plot(curve.confidence, curve.calibrated, color=theme.ACCENT, linewidth=1.8)
    else:
        low, high = curve.band_low[0], curve.band_high[0]
        ax.errorbar(curve.confidence, [(low + high) / 2], yerr=[(high - low) / 2], color="#bdbdbd", linewidth=5)
        ax.plot(curve.confidence, curve.calibrated, "o", color=theme.ACCENT)
    heights = 0.12 * curve.count / curve.count.max()
    ax.vlines(curve.confidence, 0, heights, color=theme.INK, linewidth=0.8)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(0, 1.03)
    ax.set_aspect("equal")
    name = fill(theme.cut_middle(judge.judge.removeprefix("simulated:")), _LINE)
    theme.dress(ax, name, f"{judge.source}, {curve.n_items:,} verdicts")
    ax.tick_params(labelsize=theme.SMALL)
    note = f"ECE {curve.ece:.3f}, of a calibrated judge {curve.ece_if_calibrated:.3f}"
    note += "" if math.isnan(judge.auc.estimate) else f"; AUROC {judge.auc.estimate:.2f}"
    ax.set_xlabel(note, fontsize=theme.SMALL, color=theme.INK, loc="left")


class Confidence(
    Part, name="calibration", caption="Confidence against labels", formats={"ece": ".3f", "ece_if_calibrated": ".3f"}
):
    """Confidences of every judge against labels, each source of confidence apart; `missing` says why there are none.

    One row a judge and source: accuracy, confidence, calibration, discrimination.
    """

    _rows = "judges", _FIGURES
    _keys = ("banner", "calibration", "missing")

    judges: tuple[JudgeCalibration, ...]
    without: tuple[str, ...]
    missing: Missing
    n_other_repeats: int = 0

    @property
    def calibration(self) -> dict[str, Any]:
        """Every judge and source of confidence, and the judges without any."""
        left_out = {"repeats_left_out": self.n_other_repeats}
        return {"judges": self.judges, "without_confidences": self.without, **left_out}

    @property
    def answer(self) -> str:
        """Which judges are over- or underconfident beyond what a calibrated judge of as few items would show."""
        if not self.judges:
            return UNTOLD.format(reason=self.missing)
        groups = {word: [each.judge for each in self.judges if _word(each) is word] for word in Word}
        widest = max(self.judges, key=lambda each: abs(each.mean_confidence - each.accuracy))
        return answer(groups, f"{widest.judge} {gap(widest.accuracy, widest.mean_confidence)}")

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every judge in words, and which gave no confidences."""
        each = (judge.sentence for judge in self.judges)
        return (*each, *without_confidences(self.without), *other_repeats(self.n_other_repeats))

    def plot(self, ax: theme.Axes | None = None) -> Any:
        """Reliability diagrams, a panel a judge, where there are confidences."""
        return plot_reliability(self.judges) if self.judges else super().plot(ax)

    def figures(self) -> dict[str, Figure]:
        """The figure as a published document takes it."""
        return {"reliability": self.plot()} if self.judges else {}


def _word(judge: JudgeCalibration) -> Word:
    """The sign of the gap counts only where the error exceeds what a calibrated judge would show."""
    if judge.curve.ece <= judge.curve.ece_if_calibrated:
        return Word.AS_CALIBRATED
    return Word.OVERCONFIDENT if judge.mean_confidence > judge.accuracy else Word.UNDERCONFIDENT


def confidence(
    ratings: Given,
    labels: Given | None = None,
    *,
    repeat: int = 0,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    seed: int = 0,
) -> Confidence:
    """How far can confidences be taken at their word?

    Parameters
    ----------
    ratings : table
        A ratings table (polars, pandas, arrow, or a dict of columns) of judges that gave confidences.
    labels : table, optional
        Ratings of people, or planted truth; by default those that stand in `ratings`. Where nothing stands there, the
        result says so.
    repeat : int
        Which repeat of the judging.
    cluster_unit : str
        What `cluster_id` is.
    ci_level : float
        Level of the intervals.
    seed : int
        Of the resamples behind the consistency band.

    Returns
    -------
    Confidence
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`.

    Raises
    ------
    InputError
        `labels` are given and label nothing that was rated, or the judges gave no confidences.

    Examples
    --------
    >>> import axisjudge
    >>> runs = axisjudge.read_trajectories(*axisjudge.demo_paths()).trajectories
    >>> ratings = axisjudge.judge(runs, ["simulated:heron"], progress=False)
    >>> from axisjudge.datasets import demo_truth
    >>> truth = axisjudge.read_ratings(demo_truth())
    >>> axisjudge.studies.confidence(ratings, truth).table["judge"].to_list()
    ['simulated:heron']
    """
    missing = Missing.NONE if labels is not None else _missing(ratings)
    if missing is Missing.NONE:
        truth = ratings if labels is None else labels
        calibrated = calibration(ratings, truth, repeat=repeat, seed=seed, cluster_unit=cluster_unit, ci_level=ci_level)
    else:
        calibrated = Confidence((), (), missing, kind=kind_of(ratings))
    given = (ratings,) if labels is None else (ratings, labels)
    return replace(calibrated, made_up=made_up_raters(*map(as_ratings, given)))


def _missing(ratings: Given) -> Missing:
    table = as_ratings(ratings)
    if table.filter(BY_LABELLER).is_empty():
        return Missing.NO_LABELS
    return Missing.NO_CONFIDENCES if table.filter(BY_JUDGE)["confidence"].is_null().all() else Missing.NONE


UNTOLD = "How far confidences can be taken at their word cannot be told: {reason}."
NO_SPLIT = "the ratings name no calibration split with items outside it"


class Missing(StrEnum):
    """Why confidences cannot be set against labels."""

    NONE = ""
    NO_LABELS = "there are no labels of people and no planted truth"
    NO_CONFIDENCES = "no judge gave confidences"
    NO_SIDE = "no judge takes a side on an item with a label and says how sure it is"


class Word(StrEnum):
    """How far a judge's confidence can be taken at its word."""

    OVERCONFIDENT = "overconfident"
    UNDERCONFIDENT = "underconfident"
    AS_CALIBRATED = "no worse than a calibrated judge would look"


def gap(accuracy: float, confidence: float, of: str = "its verdicts") -> str:
    """Accuracy beside mean confidence, and how far apart they are."""
    points = round(apart(confidence, accuracy, ".0%"))
    off = f"{many(abs(points), 'point')} {'more' if points > 0 else 'less'}" if points else "the same"
    return f"is right on {accuracy:.0%} of {of} and {confidence:.0%} sure on average, {off}"


def without_confidences(judges: Sequence[str]) -> list[str]:
    """Judges that said of no verdict with a side how sure they are; nothing where all did."""
    return [f"Without confidences on labelled items that they decide: {', '.join(judges)}."] if judges else []


def answer(judges_by: Mapping[Word, Sequence[str]], widest: str) -> str:
    """Which judges may be taken at their word, and the widest gap in figures."""
    groups = "; ".join(f"{word}: {listed(judges, most=6)}" for word, judges in judges_by.items() if judges)
    return f"Against labels these judges are {groups}. The widest gap: {widest}. Who is best calibrated is not tested."


open_door(confidence)
