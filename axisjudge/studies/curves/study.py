"""`axisjudge.studies.curves`: S-curves fitted to what people say, and what they change, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from axisjudge.scores.axis.scoring import axis_results
from axisjudge.scores.curves.curve import LogNormalCurve
from axisjudge.studies._shared.frames import Given, Kind, Table, columns_of, kind_of, native, to_polars
from axisjudge.studies._shared.result import Plot, RatedResult
from axisjudge.studies._shared.scope import made_up_raters
from axisjudge.studies.curves import figures
from axisjudge.studies.curves import sentences as say
from axisjudge.studies.curves.composites import CompositeComparison
from axisjudge.studies.curves.examples import Cliff, PublishedCurve, cliff, lighthouse
from axisjudge.studies.curves.fits import CurveReport, ScoreColumns, curve_report
from axisjudge.studies.curves.sources import ScoreSource, axis_raw_scores, load_scores, source_of
from axisjudge.trajectory import Trajectory

_POPULATION = ScoreColumns(human=None, dimension="dimension", run="run")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Curves(RatedResult):
    """Fitted curves, the forms beside them, and what they change.

    `criterion` has the curves fitted to what people say, `norm` those of a population of runs; `composites` compares
    composites under assumed and fitted curves; `planted` are the curves behind planted scores. What there are no data
    for is None.
    """

    kind: Kind
    about: str
    planted: Mapping[str, LogNormalCurve]
    cliff: Cliff
    published: PublishedCurve | None
    criterion: CurveReport
    composites: CompositeComparison | None
    norm: CurveReport | None

    @property
    def table(self) -> Table:
        """The fitted curves, one row a dimension."""
        return native(self.criterion.to_frame(), self.kind)

    @property
    def answer(self) -> str:
        """Which raw score people give 50 of 100, where that cannot be told, and where the assumed curve is worse."""
        worse = [each.dimension for each in self.criterion.dimensions if each.assumed_is_worse]
        return say.answer(self.criterion.fits, worse)

    @property
    def recovered(self) -> list[str]:
        """Whether the intervals hold the planted median and sigma of every fitted dimension."""
        fits = self.criterion.fits
        return [
            say.RECOVERED.format(
                dimension=name,
                median=say.held("median", curve.median, fits[name].median),
                sigma=say.held("sigma", curve.sigma, fits[name].sigma),
            )
            for name, curve in self.planted.items()
            if fits[name].curve
        ]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The cliff, every fit with its noise and its forms, what it changes, and the norm."""
        published = [self.published.sentence] if self.published else []
        composites = self.composites.sentences if self.composites else []
        norm = [*self.norm.sentences, *self.norm.both_meanings] if self.norm else []
        fits = [*self.criterion.sentences, *self.recovered, *self.criterion.form_sentences]
        return (self.about, self.cliff.sentence, self.cliff.noise, *published, *fits, *composites, *norm)

    def plots(self) -> Mapping[str, Plot]:
        """The cliff, published points, fitted curves, errors of forms, composites."""
        plots: dict[str, Plot] = {
            "cliff": partial(figures.plot_cliff, self.cliff),
            "fitted_curves": partial(figures.plot_curves, self.criterion),
            "forms": partial(figures.plot_form_errors, self.criterion),
        }
        if self.published:
            plots["lighthouse"] = partial(figures.plot_published, self.published)
        if self.composites:
            plots["composites"] = partial(figures.plot_composites, self.composites)
        return plots


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
        where known. Or the name of a source, as `axisjudge.studies.curves.sources.load_scores` takes it.
    runs : sequence of Trajectory, optional
        The population of a norm-referenced curve, its signals judged by rules.
    published : table, optional
        Published points of Lighthouse's curve: raw_ms and score.
    labels, cut, floor, forms
        As in `axisjudge.studies.curves.fits.curve_report`.
    ci_level : float
        Level of intervals and bands.
    seed : int
        Of planted scores.

    Returns
    -------
    Curves
        `.table`, `.answer`, `.sentences`, `.figures()`, `.save(path)`; intervals take tasks as clusters.

    Raises
    ------
    InputError
        A column is missing or of the wrong kind.

    Examples
    --------
    >>> import axisjudge
    >>> found = axisjudge.studies.curves("planted", forms=False)
    >>> found.table["curve"].tolist()
    ['fitted', 'fitted', 'refused']
    """
    kind: Kind = "pandas"
    if isinstance(scores, str):
        source = load_scores(scores, seed=seed)
    elif isinstance(scores, ScoreSource):
        source = scores
    else:
        kind, source = kind_of(scores), source_of(to_polars(scores, columns_of(scores), where="scores"))
    criterion = curve_report(
        source.scores, source.columns, labels=labels, cut=cut, floor=floor, forms=forms, ci_level=ci_level
    )
    norm = None
    population = axis_raw_scores(axis_results(runs))
    if not population.is_empty():
        norm = curve_report(population, _POPULATION, reference="norm", ci_level=ci_level)
    points = None if published is None else to_polars(published, ("raw_ms", "score"), where="published")
    return Curves(
        kind=kind,
        made_up=made_up_raters(source.ratings),
        about=source.about,
        planted=source.planted,
        cliff=cliff(),
        published=None if points is None else lighthouse(points),
        criterion=criterion,
        composites=source.composites(criterion),
        norm=norm,
    )
