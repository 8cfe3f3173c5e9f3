"""Why a curve, and how sure is it? (notebook 04, `axisjudge curve`)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from axisjudge.checks import TooLittle
from axisjudge.figures import theme
from axisjudge.scores.axis.result import DEFAULT_WEIGHTS, GOAL
from axisjudge.scores.axis.scenario import axis_results
from axisjudge.scores.curves.curve import AXIS_CURVE, CurveFit, Floats, LogNormalCurve, axis_score
from axisjudge.stats.link_lines import normal_density
from axisjudge.studies._shared.frames import Given, Kind, columns_of, kind_of, native, to_polars
from axisjudge.studies._shared.result import Part, Study, open_door
from axisjudge.studies._shared.words import listed, many
from axisjudge.studies.curves import sentences as say
from axisjudge.studies.curves.fits import _ORANGE, _numbers
from axisjudge.studies.curves.fits import ControlPoints as ControlPoints
from axisjudge.studies.curves.fits import CurveReport as CurveReport
from axisjudge.studies.curves.fits import FormErrors as FormErrors
from axisjudge.studies.curves.fits import control_points as control_points
from axisjudge.studies.curves.fits import curve_report as curve_report
from axisjudge.studies.curves.fits import form_errors as form_errors
from axisjudge.studies.curves.sources import ScoreColumns as ScoreColumns
from axisjudge.studies.curves.sources import ScoreSource as ScoreSource
from axisjudge.studies.curves.sources import axis_raw_scores, source_of
from axisjudge.studies.curves.sources import load_scores as load_scores
from axisjudge.trajectory import Trajectory

#: The control points of Lighthouse's published curve: raw milliseconds and share.
LIGHTHOUSE_MEDIAN, LIGHTHOUSE_P10 = (7300.0, 0.5), (3785.0, 0.9)
#: Raw scores at the top of the curve, and along it.
_CLIFF = (0.9, 0.95, 0.97, 0.99, 0.999, 0.9999, 1.0)
_ALONG = (0.3, 0.45, 0.7, 0.9, 0.99)


class PublishedCurve(
    Part,
    name="lighthouse",
    caption="Published points of a falling curve, and ours",
    formats={"score": ".5f", "ours": ".5f", "difference": ".6f"},
    of_ratings=False,
):
    """Published points of a curve beside ours through its two control points, and ours over the range.

    One row a published point.
    """

    _rows = "points", {}
    _keys: ClassVar = {"points": "points", "largest": "largest", "sentence": "answer"}

    points: pl.DataFrame
    line: pl.DataFrame
    largest: float

    @property
    def answer(self) -> str:
        """How far apart they are."""
        return say.PUBLISHED.format(n=self.points.height, largest=self.largest)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Published points on the curve through their two control points; lower raw values are better."""
        ax = theme.new_axes(6.4, 3.1) if ax is None else ax
        ax.plot(self.line["raw_ms"], self.line["score"], color=theme.ACCENT, linewidth=1.8)
        ax.plot(self.points["raw_ms"], self.points["score"], "o", color=theme.INK, markersize=5, fillstyle="none")
        ax.set_xscale("log")
        ax.set_xticks([1000, 2500, 5000, 10_000, 30_000], ["1,000", "2,500", "5,000", "10,000", "30,000"])
        ax.minorticks_off()
        title, note = "Published points on a falling log-normal curve", "score; circles: published; line: ours"
        how = f"{note}; computed from a formula, so no interval"
        return theme.dress(ax, title, note, how=how, x="milliseconds", lines="y")


def lighthouse(published: Given) -> PublishedCurve:
    """Lighthouse's published points (columns raw_ms and score) beside the curve through its control points."""
    points = to_polars(published, ("raw_ms", "score"), where="published")
    curve = LogNormalCurve.through(LIGHTHOUSE_MEDIAN, LIGHTHOUSE_P10)
    ours = curve.apply(points["raw_ms"].to_numpy())
    table = points.with_columns(ours=pl.Series(ours), difference=pl.Series(ours - points["score"].to_numpy()))
    raw = np.geomspace(700, 40_000, 200)
    line = pl.DataFrame({"raw_ms": raw, "score": curve.apply(raw)})
    return PublishedCurve(table, line, float(table["difference"].abs().max() or 0.0), kind=kind_of(published))  # type: ignore[arg-type]


class Cliff(
    Part,
    caption="The top of the assumed curve: the program's scores, the curve, and the mended one",
    formats={"raw": ".4f", "curve": ".1f", "mended": ".1f", "noise_amplification": ".0f"},
    of_ratings=False,
):
    """The top of the assumed AXIS curve: the program's scores, the curve without its jump, and the mended one.

    One row a raw score at the top.
    """

    _rows = "points", {}
    _keys = ("points", "unreachable", "sentence", "noise")

    points: pl.DataFrame
    line: pl.DataFrame
    unreachable: tuple[int, ...]

    @property
    def answer(self) -> str:
        """The cliff, and what noise in a raw score becomes."""
        return f"{self.sentence} {self.noise}"

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """The top end of the assumed curve: the program's rounded scores with their jump, and the mended curve."""
        ax = theme.new_axes(6.4, 3.3) if ax is None else ax
        raw, assumed, highest = self.line["raw"], self.line["curve"], max(self.unreachable)
        ax.axhspan(min(self.unreachable) - 0.5, highest + 0.5, color="#f2e3d8", linewidth=0)
        ax.plot(raw, assumed, color=_ORANGE, linewidth=1.8, label="assumed curve")
        dashed: dict[str, Any] = {"color": theme.ACCENT, "linewidth": 1.8, "linestyle": (0, (5, 2))}
        ax.plot(raw, self.line["mended"], **dashed, label="mended: F(x) / F(1)")
        ax.plot([1.0], [100], "o", color=_ORANGE, markersize=7)
        ax.plot([1.0], [assumed[-1]], "o", color=_ORANGE, markersize=7, fillstyle="none")
        ax.text(0.852, highest - 0.9, "cannot occur", fontsize=theme.SMALL, color=theme.INK, va="center")
        ax.set_xlim(0.85, 1.004)
        theme.legend_below(ax, inches=0.5)
        note = "score from 0 to 100; the filled point is raw 1"
        how = f"{note}; shaded: scores that cannot occur; computed from a formula, so no interval"
        title = "The last step of the assumed curve is a cliff"
        return theme.dress(ax, title, note, how=how, x="raw score", lines="y")

    @property
    def sentence(self) -> str:
        """The cliff in words."""
        below, top = self.points["program"].to_list()[-2:]
        names, rise = ", ".join(map(str, self.unreachable)), 100 / float(AXIS_CURVE.score(1.0)) - 1
        return say.CLIFF.format(raw=self.points["raw"][-2], below=below, top=top, names=names, rise=rise)

    @property
    def noise(self) -> str:
        """What a hundredth of the raw score is worth along the curve, in words."""
        per_point = AXIS_CURVE.noise_amplification(_ALONG) / 100
        points = (say.POINTS.format(points=each, raw=raw) for raw, each in zip(_ALONG, per_point, strict=True))
        return say.NOISE.format(points=listed(list(points)))


def cliff(*, kind: Kind = "pandas") -> Cliff:
    """The top end of the assumed curve (median .5, sigma .4), from raw .85 to 1."""
    fine = np.linspace(0, 1, 100_001)
    reached = {axis_score(float(raw)) for raw in fine}
    points = pl.DataFrame(
        {
            "raw": _CLIFF,
            "program": [axis_score(raw) for raw in _CLIFF],
            "curve": AXIS_CURVE.score(_CLIFF),
            "mended": 100 * AXIS_CURVE.mended(_CLIFF),
            "noise_amplification": AXIS_CURVE.noise_amplification(_CLIFF),
        }
    )
    raw = np.linspace(0.85, 1, 151)
    line = pl.DataFrame({"raw": raw, "curve": AXIS_CURVE.score(raw), "mended": 100 * AXIS_CURVE.mended(raw)})
    return Cliff(points, line, tuple(score for score in range(101) if score not in reached), kind=kind)


class Mark(NamedTuple):
    """A mean composite with the band of its curves."""

    estimate: float
    ci_low: float
    ci_high: float


class CompositeComparison(
    Part,
    name="composites",
    caption="Mean composite under assumed and fitted curves",
    formats=dict.fromkeys(("assumed", "fitted", "low", "high"), ".1f"),
):
    """Composites of the same runs under two sets of curves; one row an agent.

    Parameters
    ----------
    runs : polars.DataFrame
        run, agent, task, assumed, fitted, low, high: the composite under the assumed curves, under the fitted ones,
        and the band that the fitted curves' uncertainty gives it.
    agents : polars.DataFrame
        The means of each agent's runs, likewise.
    kept : tuple of str
        Dimensions whose fit was refused: there the assumed curve stays.
    reversed_pairs : float
        Share of pairs of runs that stand in the other order.
    reversed_within : dict of str to int
        The same within each fitted dimension, counted: a monotone curve reverses none.
    without_goal : int
        Runs that have no goal score and so no composite; they are left out.
    """

    _rows = "agents", {}
    _keys = ("agents", "kept", "reversed_pairs", "reversed_within", "sentences")

    runs: pl.DataFrame
    agents: pl.DataFrame
    kept: tuple[str, ...]
    reversed_pairs: float
    reversed_within: Mapping[str, int]
    without_goal: int = 0

    @property
    def answer(self) -> str:
        """What changes, in words."""
        return " ".join(self.sentences)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Each agent's mean composite under assumed and under fitted curves; bars: the fitted curves' uncertainty."""
        ax = theme.new_axes(6.4, 0.55 * self.agents.height + 1.3) if ax is None else ax
        rows = self.agents.sort("fitted", descending=True).to_dicts()
        for height, row in enumerate(rows):
            ax.plot([row["assumed"], row["fitted"]], [height, height], color=theme.FAINT, linewidth=2, zorder=1)
            ax.plot(row["assumed"], height, "D", color=_ORANGE, markersize=7, fillstyle="none", zorder=2)
            theme.interval_mark(ax, Mark(row["fitted"], row["low"], row["high"]), height, size=6, zorder=3)
        theme.named_rows(ax, [row["agent"] for row in rows])
        note = "diamond: assumed curves; dot: fitted curves with the band of their uncertainty"
        how = f"{note} alone, no interval over runs"
        title = "What fitting the curves does to composites"
        return theme.dress(ax, title, note, how=how, x="mean composite", lines="x")

    @property
    def sentences(self) -> list[str]:
        """What changes, in words."""
        moved = self.runs["fitted"].to_numpy() - self.runs["assumed"].to_numpy()
        order = [self.agents.sort(name, descending=True)["agent"].to_list() for name in ("assumed", "fitted")]
        within, kept = list(self.reversed_within), self.kept
        pairs = sum(self.reversed_within.values())
        return [
            say.MOVED.format(mean=np.abs(moved).mean(), least=moved.min(), most=moved.max(), share=self.reversed_pairs),
            *([say.WITHIN.format(pairs=pairs, names=listed(within))] if within else []),
            say.order(*order),
            *([say.KEPT.format(names=listed(kept))] if kept else []),
            *([say.NO_GOAL.format(runs=many(self.without_goal, "run"))] if self.without_goal else []),
        ]


def compare_composites(given: Given | ScoreSource, report: CurveReport) -> CompositeComparison | None:
    """Composites under the assumed and under the fitted curves, unrounded, with the joint band of the fits.

    The band takes together what leaving out each task changes in all curves, so curves fitted to the same tasks are
    not taken for independent.

    Parameters
    ----------
    given : table or ScoreSource
        run, agent, task, dimension, raw, goal; the first row of a run and dimension counts. Runs without a goal are
        left out; None comes back where there is no goal, or not every AXIS dimension.
    report : CurveReport
        The fitted curves.
    """
    scores = given.scores if isinstance(given, ScoreSource) else to_polars(given, columns_of(given), where="scores")
    fits = report.fits
    names = [name for name in DEFAULT_WEIGHTS if name != GOAL]
    if not {"agent", "goal"} <= set(scores.columns) or not set(names) <= set(scores["dimension"]):
        return None
    known = scores.with_columns(goal=pl.Series(_numbers(scores, "goal"))).filter(pl.col("goal").is_finite())
    about = known.select("run", "agent", "task", "goal").unique("run", keep="first", maintain_order=True)
    if about.is_empty():
        return None
    first = scores.unique(["run", "dimension"], keep="first", maintain_order=True)
    raw = {name: _of_dimension(first, about, name) for name in names}
    fitted_to = [name for name in names if name in fits and fits[name].curve is not None]
    goal = DEFAULT_WEIGHTS[GOAL] * about["goal"].to_numpy()
    assumed = {name: AXIS_CURVE.score(raw[name]) for name in names}
    fitted = assumed | {name: fits[name].band(raw[name]).score for name in fitted_to}
    before, after = (goal + sum(DEFAULT_WEIGHTS[name] * of[name] for name in names) for of in (assumed, fitted))
    changes = _joint_changes([(DEFAULT_WEIGHTS[name], fits[name], raw[name]) for name in fitted_to], about.height)
    width = max((fits[name].line.width(fits[name].median.ci_level) for name in fitted_to), default=math.nan)
    half = width * np.sqrt((changes**2).sum(axis=0))
    runs = about.select("run", "agent", "task").with_columns(
        assumed=pl.Series(before), fitted=pl.Series(after), low=pl.Series(after - half), high=pl.Series(after + half)
    )
    n_pairs = about.height * (about.height - 1) // 2
    return CompositeComparison(
        runs=runs,
        agents=_agent_means(runs, changes, width),
        kept=tuple(name for name in names if name not in fitted_to),
        reversed_pairs=_reversed(before, after) / n_pairs if n_pairs else math.nan,
        reversed_within={name: _reversed(assumed[name], fitted[name]) for name in fitted_to},
        without_goal=scores["run"].n_unique() - about.height,
        kind=report.kind,
        made_up=report.made_up,
    )


def _of_dimension(first: pl.DataFrame, about: pl.DataFrame, name: str) -> Floats:
    mine = first.filter(pl.col("dimension") == name).select("run", "raw")
    raw = about.join(mine, on="run", how="left", maintain_order="left")["raw"]
    if raw.null_count():
        raise TooLittle("scores", "every run needs a raw score in each dimension", name)
    return raw.to_numpy().astype(np.float64)


def _joint_changes(parts: list[tuple[float, CurveFit, Floats]], n_runs: int) -> Floats:
    """What leaving out each task changes in every run's composite, shape (n_tasks, n_runs)."""
    tasks = sorted({str(label) for _, fit, _ in parts for label in fit.line.cluster_labels})
    total = np.zeros((max(len(tasks), 1), n_runs))
    for weight, fit, raw in parts:
        z = np.log(np.where(raw > 0, raw, 1.0))
        rise = 100 * weight * normal_density(fit.line.intercept + fit.line.slope * z) * (raw > 0)
        rows = [tasks.index(str(label)) for label in fit.line.cluster_labels]
        total[rows] += fit.line.changes @ np.vstack([rise, rise * z])
    return total


def _agent_means(runs: pl.DataFrame, changes: Floats, width: float) -> pl.DataFrame:
    rows = []
    for agent in runs["agent"].unique().sort():
        mine = (runs["agent"] == agent).to_numpy()
        part = runs.filter(pl.Series(mine))
        fitted = float(np.mean(part["fitted"].to_numpy()))
        half = width * math.sqrt(float((changes[:, mine].mean(axis=1) ** 2).sum()))
        assumed = float(np.mean(part["assumed"].to_numpy()))
        row = {"agent": agent, "runs": int(mine.sum()), "assumed": assumed, "fitted": fitted}
        rows.append({**row, "low": fitted - half, "high": fitted + half})
    return pl.DataFrame(rows)


def _reversed(before: Floats, after: Floats) -> int:
    """Pairs that stand in the other order; ties are in no order, and neither are differences of rounding."""
    signs = [np.sign(np.round(np.subtract.outer(each, each), 9)) for each in (before, after)]
    return int(((signs[0] * signs[1]) < 0).sum() // 2)


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
        """What a high raw score is worth to people, and for which dimensions that cannot be told."""
        return answer_of(self.criterion)


def answer_of(criterion: CurveReport) -> str:
    """What a high raw score is worth to people, and for which dimensions that cannot be told."""
    return say.answer(criterion.fits, made_up=bool(criterion.made_up))


def next_step(criterion: CurveReport, forms: FormErrors) -> str:
    """Which curves to score by, and of what people should score more runs."""
    return say.next_step(criterion.fits, forms.worse)


def norm_curves(
    runs: Sequence[Trajectory], *, cluster: str = "task", ci_level: float = 0.95, kind: Kind = "pandas"
) -> CurveReport:
    """Curves of a population of runs, their signals judged by rules: the median run gets 50."""
    population = axis_raw_scores(axis_results(runs))
    if population.is_empty():
        return CurveReport((), kind=kind)
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
