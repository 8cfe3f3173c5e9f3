"""Curves of every dimension: fitted to raw scores and people's scores, rival forms beside them, and put to use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import fill
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.figures import theme
from axisjudge.ratings.edge import NO_VERDICT
from axisjudge.results import Result, columns
from axisjudge.scores.curves.curve import AXIS_CURVE, CurveFit, LogNormalCurve
from axisjudge.scores.curves.fit import checked_raw, fit_criterion_curve, fit_norm_curve, fit_ordinal_curve
from axisjudge.scores.curves.forms import ASSUMED, FormLoss, NoiseEffect, compare_forms, noise_effect
from axisjudge.studies._shared import frames
from axisjudge.studies._shared.result import Part
from axisjudge.studies.curves import sentences as say
from axisjudge.studies.curves.sentences import ALL
from axisjudge.studies.curves.sources import ScoreColumns, ScoreSource

_ORANGE = "#D55E00"
#: Raw scores at which a curve is drawn.
_GRID = np.unique(np.concatenate([np.linspace(0.005, 1, 200), [0.9999]]))


@dataclass(frozen=True, eq=False)
class DimensionCurve(Result):
    """One dimension's fit, the rival forms on unseen tasks, and the effect of the judge's noise."""

    _keys = ("forms", "noise", "sentences")
    _flat = ("fit",)

    dimension: str
    fit: CurveFit
    forms: tuple[FormLoss, ...]
    noise: NoiseEffect | None
    points: pl.DataFrame

    @property
    def row(self) -> dict[str, Any]:
        """One row of the table of fits."""
        median = self.fit.median
        return {
            "dimension": self.dimension,
            "score": self.fit.score_name,
            "curve": "fitted" if self.fit.curve else "refused",
            "raw_scores": median.n_items,
            f"{median.cluster_unit}s": median.n_clusters,
            "raw_5": self.fit.raw_range[0],
            "raw_95": self.fit.raw_range[1],
            **frames.rows_of([self.fit], columns("median~ sigma~"))[0],
        }

    def drawn(self) -> pl.DataFrame:
        """The curve over raw scores with its band, and the assumed and the mended curve beside."""
        band = self.fit.band(_GRID)
        mended = 100 * self.fit.curve.mended(_GRID) if self.fit.curve else np.full(_GRID.size, np.nan)
        assumed = AXIS_CURVE.score(_GRID)
        return pl.DataFrame({"raw": _GRID, **band._asdict(), "mended": mended, "assumed": assumed})

    @property
    def sentences(self) -> list[str]:
        """The fit in words or why it is refused, its warnings, and the judge's noise."""
        return [*say.of_fit(self.dimension, self.fit), *self.remarks]

    @property
    def remarks(self) -> list[str]:
        """The warnings of the fit and the judge's noise."""
        noise = [self.noise.sentence.rstrip(".")] if self.noise else []
        words = [*(self.fit.warnings if self.fit.curve else ()), *noise]
        return [f"{self.dimension}: {each[:1].lower()}{each[1:]}." for each in words]


class CurveReport(
    Part,
    name="criterion",
    caption="Fitted curves, or why there is none",
    formats=dict.fromkeys(("median", "median_low", "median_high", "sigma", "sigma_low", "sigma_high"), ".3f"),
):
    """The curves of all dimensions of a table; `planted` are those behind planted scores."""

    dimensions: tuple[DimensionCurve, ...]
    planted: Mapping[str, LogNormalCurve] = field(default_factory=dict)

    @property
    def fits(self) -> dict[str, CurveFit]:
        """The fits by dimension, refused ones too."""
        return {each.dimension: each.fit for each in self.dimensions}

    @property
    def table(self) -> frames.Table:
        """One row a dimension."""
        return frames.native(pl.DataFrame([each.row for each in self.dimensions]), self.kind)

    @property
    def answer(self) -> str:
        """Which raw score gets 50, and where that cannot be told; of a population its median run by both meanings."""
        return say.where_50(self.fits, made_up=bool(self.made_up))

    @property
    def remarks(self) -> list[str]:
        """Warnings of the fits, the judge's noise, and whether intervals hold what was planted."""
        planted = [say.recovered(name, curve, self.fits[name]) for name, curve in self.planted.items()]
        return [*(sentence for each in self.dimensions for sentence in each.remarks), *filter(None, planted)]

    def plot(self, ax: theme.Axes | None = None, *, dimension: str = "") -> theme.Axes:
        """One panel a dimension, or that of `dimension` alone: runs as people see them, fitted and assumed curve.

        A bar at 50 is the interval of the median. Where the fit is refused the panel says why, and shows the data.
        """
        drawn = [each for each in self.dimensions if dimension in ("", each.dimension)]
        if ax is not None or not drawn:
            ax = theme.new_axes(4.5, 3.6) if ax is None else ax
            return _panel(ax, drawn[0]) if drawn else ax
        figure, axes, left = theme.panels(len(drawn), width=3.5, height=3.4)
        figure.suptitle("Raw scores, people's scores and curves", x=0.01, ha="left", fontsize=theme.LABEL + 3)
        for panel, each in zip(axes, drawn, strict=True):
            _panel(panel, each)
        small: Any = {"fontsize": theme.SMALL, "color": theme.QUIET}
        for panel in left:
            panel.set_ylabel("score, and people's scores", **small)
        figure.supxlabel("raw score; blue: fitted with its band; dashed: assumed; dots: scores", **small)
        level = next((f"{each.fit.median.ci_level:.0%} " for each in drawn if each.fit.curve), "")
        how = f"grey: people's scores; blue: fitted, dashed: assumed; bar: worth 50; black: what {say.HIGH:g} is worth"
        theme.describe(figure, f"{how}; {level}intervals and bands over tasks")
        return axes[0]

    def to_dict(self) -> dict[str, Any]:
        """All dimensions by name."""
        return {each.dimension: each.to_dict() for each in self.dimensions}


def _panel(ax: theme.Axes, each: DimensionCurve) -> theme.Axes:
    ax.scatter(each.points["raw"], each.points["human"], s=9, color=theme.QUIET, alpha=0.35, linewidths=0, zorder=1)
    drawn, fit = each.drawn(), each.fit
    ax.plot(drawn["raw"], drawn["assumed"], color=_ORANGE, linewidth=1.3, linestyle=(0, (5, 3)), zorder=2)
    ax.set_xlim(0, 1.02)
    ax.set_ylim(-2, 103)
    theme.grid(ax, "y")
    if fit.curve is None:
        note = fill(f"refused: {fit.refusals[0].reason}", 34)
        ax.text(0.03, 0.97, note, transform=ax.transAxes, fontsize=theme.SMALL, color=theme.INK, va="top")
        return theme.dress(ax, theme.in_words(each.dimension), "no curve can be fitted")
    ax.fill_between(drawn["raw"], drawn["low"], drawn["high"], color=theme.ACCENT, alpha=0.2, linewidth=0, zorder=2)
    ax.plot(drawn["raw"], drawn["score"], color=theme.ACCENT, linewidth=1.8, zorder=3)
    low, high = max(fit.median.ci_low, 0.0), min(fit.median.ci_high, 1.02)
    ax.plot([low, high], [50, 50], color=theme.INK, linewidth=3, solid_capstyle="butt", zorder=4)
    at_high = float(fit.curve.score(say.HIGH))
    ax.plot(say.HIGH, at_high, "o", color=theme.INK, markersize=5, zorder=5)
    beside: Any = {"xytext": (0, -14), "textcoords": "offset points", "ha": "center", "fontsize": theme.LABEL}
    ax.annotate(f"{at_high:.0f}", (say.HIGH, at_high), color=theme.INK, **beside)
    note = f"{theme.in_words(fit.score_name)} 50 at a raw score of {fit.median.estimate:.2f}"
    return theme.dress(ax, theme.in_words(each.dimension), note)


def curve_report(
    scores: frames.Given | ScoreSource,
    columns: ScoreColumns | None = None,
    *,
    dimensions: Sequence[str] = (),
    cluster: str = "",
    reference: Literal["criterion", "norm"] = "criterion",
    labels: Sequence[str] = (),
    cut: str = "",
    floor: float | None = None,
    forms: bool = True,
    ci_level: float = 0.95,
) -> CurveReport:
    """Fit a curve to every dimension of a table.

    Parameters
    ----------
    scores : table or ScoreSource
        One row a run (or a judging of a run): its raw score in [0, 1], what people give it, its task.
    columns : ScoreColumns, optional
        Where it stands; a source knows.
    dimensions : sequence of str
        Which ones are fitted; by default all.
    cluster : str
        The column of what is independent, in place of the task.
    reference : {"criterion", "norm"}
        Fitted to people's scores, or to the population of raw scores alone.
    labels : sequence of str
        People's labels, worst first, where they gave labels in place of scores from 0 to 100.
    cut : str
        The least label that counts as good.
    floor : float, optional
        Raw scores below count as this; by default raw 0 is left out of the fit.
    forms : bool
        Whether rival forms are compared on unseen tasks.
    """
    one_of("reference", reference, ("criterion", "norm"))
    if isinstance(scores, ScoreSource):
        source, made_up = scores, frames.made_up_raters(scores.ratings)
    else:
        table = frames.to_polars(scores, frames.columns_of(scores), where="table")
        source, made_up = ScoreSource(table, "", kind=frames.kind_of(scores), columns=ScoreColumns()), ()
    table, named = source.scores, columns or source.columns
    if cluster:
        named = replace(named, task=cluster)
    human = named.human if reference == "criterion" else None
    _has_columns(table, (named.raw, human, named.task, named.dimension, named.run))
    idle = {"labels": labels and reference == "norm", "cut": cut and not labels}
    if passed_over := [name for name, given in idle.items() if given]:
        raise InputError(
            passed_over[0], "says how people's labels are read, and none are", cure="leave it out, or give labels"
        )
    parts = {ALL: table}
    if named.dimension:
        parts = {str(name): part for (name,), part in table.group_by(named.dimension, maintain_order=True)}
    if unknown := [name for name in dimensions if name not in parts]:
        raise InputError("dimensions", f"are {', '.join(parts)}", unknown[0])
    fitted = []
    for name, part in parts.items():
        if dimensions and name not in dimensions:
            continue
        raw = _numbers(part, named.raw)
        tasks = None if named.task is None else _names(part, named.task)
        losses: tuple[FormLoss, ...] = ()
        given = np.full(raw.size, np.nan)
        if human is None:
            fit = fit_norm_curve(raw, tasks, floor=floor, ci_level=ci_level)
        elif labels:
            fit = fit_ordinal_curve(
                raw, _words(part, human, labels).to_list(), labels, cut, tasks, floor=floor, ci_level=ci_level
            )
        else:
            given = _numbers(part, human)
            fit = fit_criterion_curve(raw, given, tasks, floor=floor, ci_level=ci_level)
            losses = compare_forms(raw, given, tasks, ci_level=ci_level) if fit.curve and forms else ()
        runs = None if named.run is None else _names(part, named.run)
        noise = noise_effect(fit.curve.median, fit.curve.sigma, raw, runs) if fit.curve and human else None
        points = pl.DataFrame({"raw": raw, "human": given, "task": tasks if tasks is not None else np.arange(raw.size)})
        fitted.append(DimensionCurve(name, fit, losses, noise, points))
    held = {name: curve for name, curve in source.planted.items() if not dimensions or name in dimensions}
    return CurveReport(tuple(fitted), held, kind=source.kind, made_up=made_up)


class FormErrors(
    Part,
    name="forms",
    caption="Error on unseen tasks, and squared error beyond the log-normal fit's",
    formats={"error": ".1f", **dict.fromkeys(("excess", "excess_low", "excess_high"), ".0f")},
):
    """Error of every form on unseen tasks, by dimension, and squared error beyond the log-normal fit's."""

    _keys = ("forms",)

    losses: Mapping[str, tuple[FormLoss, ...]]

    @property
    def worse(self) -> list[str]:
        """The dimensions in which the assumed curve is shown to predict people worse than the fitted one."""
        shown = {
            name: any(each.form == ASSUMED and each.excess.ci_low > 0 for each in forms)
            for name, forms in self.losses.items()
        }
        return [name for name, worse in shown.items() if worse]

    @property
    def table(self) -> frames.Table:
        """One row a dimension and form."""
        columns = ("dimension", "form", "error", "excess", "excess_low", "excess_high")
        return frames.table_of(self.forms, self.kind, columns=columns)

    @property
    def forms(self) -> list[dict[str, Any]]:
        """Every form of every dimension."""
        return [{"dimension": name, **loss.to_dict()} for name, losses in self.losses.items() for loss in losses]

    @property
    def answer(self) -> str:
        """How far each fitted dimension's forms are off on unseen tasks, and whether the assumed curve is worse."""
        return " ".join(say.of_forms(name, losses) for name, losses in self.losses.items())

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """Cross-validated error of every form, one mark a dimension."""
        import seaborn as sns

        ax = theme.new_axes(6.4, 3.2) if ax is None else ax
        if self.losses:
            errors = [loss["error"] for loss in self.forms]
            forms = [loss["form"].replace("_", "-") for loss in self.forms]
            names = [theme.in_words(loss["dimension"]) for loss in self.forms]
            look = {"palette": "colorblind", "s": 55, "linewidth": 0}
            sns.scatterplot(x=errors, y=forms, hue=names, style=names, ax=ax, **look)
            ax.margins(y=0.15)
            theme.legend_below(ax, inches=0.5, ncols=3)
        ax.set_xlim(left=0)
        title, note = "Which form predicts people's scores of unseen tasks", "root mean squared difference"
        how = f"{note}, in points of the score; intervals of the differences over tasks are in the table"
        return theme.dress(ax, title, note, how=how, x="error on unseen tasks, in points", y="", lines="x")


def form_errors(report: CurveReport) -> FormErrors:
    """Rival forms of the fitted curves on tasks that they have not seen: isotonic, assumed, constant and others."""
    losses = {each.dimension: each.forms for each in report.dimensions if each.forms}
    return FormErrors(losses, kind=report.kind, made_up=report.made_up)


class ControlPoints(
    Part,
    caption="Control points: the raw scores that get 50 and 90",
    formats=dict.fromkeys(("raw_at_50", "raw_at_90", "sigma"), ".3f"),
):
    """The raw scores that get 50 and 90 points, of the assumed curve and of each fitted one."""

    _keys: ClassVar = {"curves": "rows"}

    curves: Mapping[str, LogNormalCurve]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every curve's points."""
        return [
            {"curve": name, "raw_at_50": curve.median, "raw_at_90": float(curve.invert(0.9)), "sigma": curve.sigma}
            for name, curve in self.curves.items()
        ]

    @property
    def table(self) -> frames.Table:
        """One row a curve."""
        return frames.table_of(self.rows, self.kind)

    answer = property(say.control_points)

    def plot(self, ax: theme.Axes | None = None) -> theme.Axes:
        """One line a curve, from the raw score that gets 50 to the one that gets 90."""
        ax = theme.new_axes(6.4, 0.4 * len(self.curves) + 1.3) if ax is None else ax
        for height, row in enumerate(self.rows):
            colour = _ORANGE if row["curve"] == ASSUMED else theme.ACCENT
            ax.plot([row["raw_at_50"], row["raw_at_90"]], [height, height], "o-", color=colour, linewidth=2)
        theme.named_rows(ax, [theme.in_words(name) for name in self.curves])
        return theme.dress(ax, self.caption, x="raw score, from 50 to 90 points", lines="x")


def control_points(report: CurveReport) -> ControlPoints:
    """Where each curve gives 50 and 90, the two numbers by which a log-normal curve is stated."""
    curves = {ASSUMED: AXIS_CURVE} | {name: fit.curve for name, fit in report.fits.items() if fit.curve}
    return ControlPoints(curves, kind=report.kind, made_up=report.made_up)


def apply_curves(
    scores: pl.DataFrame,
    fits: dict[str, CurveFit],
    columns: ScoreColumns | None = None,
    *,
    mended: bool = False,
) -> pl.DataFrame:
    """The table with a score of every row and its band, in columns that say which meaning the score has.

    Parameters
    ----------
    scores : polars.DataFrame
    fits : dict of str to CurveFit
        By dimension; all of one meaning.
    columns : ScoreColumns, optional
    mended : bool
        Divide by the curve's value at raw 1, so that raw 1 scores 100.

    Raises
    ------
    InputError
        A dimension without a curve, or curves of different meanings.
    """
    named = columns or ScoreColumns()
    names = {fit.score_name for fit in fits.values()}
    if len(names) != 1:
        raise InputError("curve", "one table holds scores of one meaning", sorted(names), "apply them one by one")
    _has_columns(scores, (named.raw, named.dimension))
    if not named.dimension and len(fits) > 1:
        cure = "name the column that says which with --dimension"
        raise InputError("curve", f"has curves of {len(fits)} dimensions", ", ".join(fits), cure)
    dimension = _names(scores, named.dimension) if named.dimension else np.full(scores.height, next(iter(fits)))
    if unknown := sorted(set(dimension.tolist()) - set(fits)):
        raise InputError("table", f"curves are of {', '.join(fits)}", unknown[0], "fit that dimension first")
    raw, band = checked_raw(_numbers(scores, named.raw)), np.full((3, scores.height), np.nan)
    for name, fit in fits.items():
        mine = dimension == name
        band[:, mine] = np.array(fit.band(raw[mine], mended=mended))
    score, low, high = (pl.Series(values).fill_nan(None) for values in band)
    name = names.pop()
    if name in scores.columns:
        raise InputError("table", "has such a column already", name, "rename it, or leave it out")
    return scores.with_columns(**{name: score, f"{name}_low": low, f"{name}_high": high})


def _has_columns(table: pl.DataFrame, names: Iterable[str | None]) -> None:
    if missing := [name for name in names if name and name not in table.columns]:
        raise InputError("table", f"needs a column {missing[0]!r}", ", ".join(table.columns), "name the column to take")


def _numbers(table: pl.DataFrame, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column of numbers, or of texts and categories that are numbers; NaN where a cell holds nothing."""
    cells = table[column]
    if not (cells.dtype.is_numeric() or cells.dtype == pl.Null):
        cells = _words(table, column)
        if (others := cells.filter(cells.is_not_null() & cells.cast(pl.Float64, strict=False).is_null())).len():
            raise InputError(column, "must hold numbers", others[0], "name the right column")
    return cells.cast(pl.Float64).fill_null(math.nan).to_numpy()


def _words(table: pl.DataFrame, column: str, known: Sequence[str] = ()) -> pl.Series:
    """A column as texts, null where a cell says that nothing is there and is none of the `known` words."""
    cells = table[column]
    if cells.dtype.is_float() and (cells.drop_nulls() % 1 == 0).all():  # how pandas writes whole numbers beside gaps
        cells = cells.fill_nan(None).cast(pl.Int64)
    word = pl.col(column).cast(pl.String).str.strip_chars()
    is_one = word.is_in([*known]) | ~word.str.to_lowercase().is_in([*NO_VERDICT])
    return cells.to_frame().select(pl.when(is_one).then(word)).to_series()


def _names(table: pl.DataFrame, column: str) -> np.ndarray[Any, Any]:
    if table[column].null_count():
        cure = "fill it in, or leave the rows out"
        raise InputError(column, "every row needs one", f"{table[column].null_count()} empty", cure)
    return table[column].cast(pl.String).to_numpy()
