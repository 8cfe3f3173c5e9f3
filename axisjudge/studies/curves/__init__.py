"""Why a curve, and how sure is it? (notebook 04, `axisjudge curve`)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axisjudge.scores.axis.scoring import axis_results
from axisjudge.studies._shared.frames import Given, Kind, native
from axisjudge.studies._shared.result import Study, open_door
from axisjudge.studies.curves import sentences as say
from axisjudge.studies.curves.assumed import (
    Cliff,
    CompositeComparison,
    PublishedCurve,
    cliff,
    compare_composites,
    lighthouse,
)
from axisjudge.studies.curves.fits import (
    ControlPoints,
    CurveReport,
    FormErrors,
    control_points,
    curve_report,
    form_errors,
)
from axisjudge.studies.curves.sources import ScoreColumns, ScoreSource, axis_raw_scores, load_scores, source_of
from axisjudge.trajectory import Trajectory

__all__ = [
    "Cliff",
    "CompositeComparison",
    "ControlPoints",
    "CurveReport",
    "Curves",
    "FormErrors",
    "PublishedCurve",
    "ScoreColumns",
    "ScoreSource",
    "answer_of",
    "cliff",
    "compare_composites",
    "control_points",
    "curve_report",
    "curves",
    "form_errors",
    "lighthouse",
    "load_scores",
    "norm_curves",
]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Curves(Study):
    """Curves fitted to what people say and to a population, the forms beside them, and what they change.

    What there are no data for is None.
    """

    about: str
    cliff: Cliff
    published: PublishedCurve | None
    criterion: CurveReport
    control: ControlPoints
    forms: FormErrors
    composites: CompositeComparison | None
    norm: CurveReport | None

    @property
    def answer(self) -> str:
        """Which raw score people give 50 of 100, where that cannot be told, and where the assumed curve is worse."""
        return answer_of(self.criterion, self.forms)


def answer_of(criterion: CurveReport, forms: FormErrors) -> str:
    """Which raw score people give 50 of 100, where that cannot be told, and where the assumed curve is worse."""
    return say.answer(criterion.fits, forms.worse)


def norm_curves(
    runs: Sequence[Trajectory], *, cluster: str = "task", ci_level: float = 0.95, kind: Kind = "pandas"
) -> CurveReport:
    """Curves of a population of runs, their signals judged by rules: the median run gets 50."""
    population = axis_raw_scores(axis_results(runs))
    if population.is_empty():
        return CurveReport((), kind)
    columns = ScoreColumns(human=None, dimension="dimension", run="run", task=cluster)
    return curve_report(native(population, kind), columns, reference="norm", ci_level=ci_level)


def curves(
    scores: Given | ScoreSource | str,
    runs: Sequence[Trajectory] = (),
    *,
    published: Given | None = None,
    labels: Sequence[str] = (),
    cut: str = "",
    floor: float | None = None,
    forms: bool = True,
    ci_level: float = 0.95,
    seed: int = 0,
) -> Curves:
    """How good is a raw score, on a scale that means something?

    Parameters
    ----------
    scores : table, ScoreSource or str
        One row a judging of a run: raw (0 to 1), human (0 to 100, or labels), task; dimension, run, agent and goal
        where known. Or the name of a source, as `axisjudge.studies.curves.load_scores` takes it.
    runs : sequence of Trajectory, optional
        The population of a norm-referenced curve, its signals judged by rules.
    published : table, optional
        Published points of Lighthouse's curve: raw_ms and score.
    labels, cut, floor, forms, ci_level
        As in `axisjudge.studies.curves.curve_report`; intervals take tasks as clusters.
    seed : int
        Of planted scores.

    Raises
    ------
    InputError
        A column is missing or of the wrong kind.

    Examples
    --------
    >>> import axisjudge
    >>> result = axisjudge.studies.curves("planted", forms=False)
    >>> result.criterion.table["curve"].tolist()
    ['fitted', 'fitted', 'refused']
    """
    if isinstance(scores, str):
        source = load_scores(scores, seed=seed, kind="pandas")
    else:
        source = scores if isinstance(scores, ScoreSource) else source_of(scores)
    criterion = curve_report(source, labels=labels, cut=cut, floor=floor, forms=forms, ci_level=ci_level)
    norm = norm_curves(runs, ci_level=ci_level, kind=source.kind)
    return Curves(
        about=source.about,
        cliff=cliff(kind=source.kind),
        published=None if published is None else lighthouse(published),
        criterion=criterion,
        control=control_points(criterion),
        forms=form_errors(criterion),
        composites=compare_composites(source, criterion),
        norm=norm if norm.dimensions else None,
    )


open_door(curves)
