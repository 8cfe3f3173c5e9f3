"""`axisjudge.studies.confidence`: how far confidences can be taken at their word, in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from axisjudge.ratings.edge import as_ratings
from axisjudge.ratings.selection import BY_JUDGE, BY_LABELLER
from axisjudge.studies._shared.frames import Given, Table, kind_of
from axisjudge.studies._shared.result import Part
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.confidence import sentences as words
from axisjudge.studies.confidence.calibration import Calibration, JudgeCalibration, calibration
from axisjudge.studies.confidence.figures import plot_reliability
from axisjudge.studies.confidence.sentences import Missing, Word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Confidence(Part):
    """Confidences of every judge against labels, each source of confidence apart; `missing` says why there are none."""

    name: ClassVar = "calibration"
    caption: ClassVar = "Confidence against labels"
    formats: ClassVar = {"ece": ".3f", "ece_if_calibrated": ".3f"}
    _keys = ("banner", "calibration", "missing")

    calibration: Calibration
    missing: Missing

    @property
    def judges(self) -> tuple[JudgeCalibration, ...]:
        """Every judge and source of confidence."""
        return self.calibration.judges

    @property
    def table(self) -> Table:
        """One row a judge and source: accuracy, confidence, calibration, discrimination."""
        return self.calibration.to_frame()

    @property
    def answer(self) -> str:
        """Which judges are over- or underconfident beyond what a calibrated judge of as few items would show."""
        if not self.judges:
            return words.UNTOLD.format(reason=self.missing)
        groups = {word: [each.judge for each in self.judges if _word(each) is word] for word in Word}
        widest = max(self.judges, key=lambda each: abs(each.mean_confidence - each.accuracy))
        return words.answer(groups, f"{widest.judge} {words.gap(widest.accuracy, widest.mean_confidence)}")

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every judge in words, and which gave no confidences."""
        return tuple(self.calibration.sentences())

    def plot(self, ax: Axes | None = None) -> Any:
        """Reliability diagrams, a panel a judge, where there are confidences."""
        return plot_reliability(self.calibration) if self.judges else super().plot(ax)

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
        against = calibration(ratings, truth, repeat=repeat, seed=seed, cluster_unit=cluster_unit, ci_level=ci_level)
    else:
        against = Calibration((), (), kind_of(ratings))
    given = (ratings,) if labels is None else (ratings, labels)
    return Confidence(calibration=against, missing=missing, made_up=made_up_raters(*map(as_ratings, given)))


def _missing(ratings: Given) -> Missing:
    table = as_ratings(ratings)
    if table.filter(BY_LABELLER).is_empty():
        return Missing.NO_LABELS
    return Missing.NO_CONFIDENCES if table.filter(BY_JUDGE)["confidence"].is_null().all() else Missing.NONE
