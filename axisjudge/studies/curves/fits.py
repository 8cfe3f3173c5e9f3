"""Curves of every dimension: fitted to a table of raw scores and people's scores, and put to use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from axisjudge.checks import InputError, one_of
from axisjudge.results import Result
from axisjudge.scores.curves.curve import AXIS_CURVE, MendedCurve
from axisjudge.scores.curves.fit import fit_criterion_curve, fit_norm_curve, fit_ordinal_curve
from axisjudge.scores.curves.fitted import CurveFit
from axisjudge.scores.curves.forms import ASSUMED, FormLoss, compare_forms
from axisjudge.scores.curves.noise import NoiseEffect, noise_effect
from axisjudge.studies._shared.frames import rows_of, with_own_ends
from axisjudge.studies.curves import sentences as say
from axisjudge.studies.curves.sentences import ALL

#: Raw scores at which a curve is drawn.
_GRID = np.unique(np.concatenate([np.linspace(0.005, 1, 200), [0.9999]]))


@dataclass(frozen=True)
class ScoreColumns:
    """Which columns of a table hold what; `run`, `dimension` and `human` may be absent."""

    raw: str = "raw"
    human: str | None = "human"
    task: str | None = "task"
    dimension: str | None = None
    run: str | None = None


@dataclass(frozen=True)
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
            **rows_of([self.fit], with_own_ends("median") | with_own_ends("sigma"))[0],
        }

    def drawn(self) -> pl.DataFrame:
        """The curve over raw scores with its band, and the assumed and the mended curve beside."""
        band = self.fit.band(_GRID)
        mended = MendedCurve(self.fit.curve).score(_GRID) if self.fit.curve else np.full(_GRID.size, np.nan)
        assumed = AXIS_CURVE.score(_GRID)
        return pl.DataFrame({"raw": _GRID, **band._asdict(), "mended": mended, "assumed": assumed})

    @property
    def assumed_is_worse(self) -> bool:
        """Whether the assumed curve is shown to predict people worse than the fitted one."""
        return any(each.form == ASSUMED and each.excess.ci_low > 0 for each in self.forms)

    @property
    def sentences(self) -> list[str]:
        """The fit in words, its warnings or why it is refused, and the judge's noise."""
        noise = [f"{self.dimension}: {self.noise.sentence[:1].lower()}{self.noise.sentence[1:]}"] if self.noise else []
        return [*say.of_fit(self.dimension, self.fit), *noise]


@dataclass(frozen=True)
class CurveReport:
    """The curves of all dimensions of a table."""

    dimensions: tuple[DimensionCurve, ...]

    @property
    def fits(self) -> dict[str, CurveFit]:
        """The fits by dimension, refused ones too."""
        return {each.dimension: each.fit for each in self.dimensions}

    def to_frame(self) -> pl.DataFrame:
        """One row a dimension."""
        return pl.DataFrame([each.row for each in self.dimensions])

    def control_points(self) -> pl.DataFrame:
        """One row a curve: the raw scores that get 50 and 90 points, of the assumed curve and of each fitted one."""
        curves = {"assumed": AXIS_CURVE} | {name: fit.curve for name, fit in self.fits.items() if fit.curve}
        rows = [
            {"curve": name, "raw at 50": curve.median, "raw at 90": float(curve.invert(0.9)), "sigma": curve.sigma}
            for name, curve in curves.items()
        ]
        return pl.DataFrame(rows)

    def forms_frame(self) -> pl.DataFrame:
        """Cross-validated errors of every form in all dimensions."""
        rows = [{"dimension": each.dimension, **loss.to_dict()} for each in self.dimensions for loss in each.forms]
        return pl.DataFrame(rows)

    @property
    def sentences(self) -> list[str]:
        """What is found, dimension by dimension."""
        return [sentence for each in self.dimensions for sentence in each.sentences]

    @property
    def form_sentences(self) -> list[str]:
        """How far each fitted dimension's forms are off on unseen tasks, and whether the assumed curve is worse."""
        return [say.of_forms(each.dimension, each.forms) for each in self.dimensions if each.forms]

    @property
    def both_meanings(self) -> list[str]:
        """What the median run of each population scores by the norm and by the assumed curve."""
        return [
            say.BOTH_MEANINGS.format(dimension=name, median=fit.curve.median, score=AXIS_CURVE.score(fit.curve.median))
            for name, fit in self.fits.items()
            if fit.curve and fit.reference == "norm"
        ]

    def to_dict(self) -> dict[str, Any]:
        """All dimensions by name."""
        return {each.dimension: each.to_dict() for each in self.dimensions}


def curve_report(
    scores: pl.DataFrame,
    columns: ScoreColumns | None = None,
    *,
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
    scores : polars.DataFrame
        One row a run (or a judging of a run): its raw score in [0, 1], what people give it, its task.
    columns : ScoreColumns, optional
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
    named = columns or ScoreColumns()
    human = named.human if reference == "criterion" else None
    wanted = [named.raw, *filter(None, (human, named.task, named.dimension, named.run))]
    if missing := [name for name in wanted if name not in scores.columns]:
        raise InputError(
            "table", f"needs a column {missing[0]!r}", ", ".join(scores.columns), "name the column to take"
        )
    parts = {ALL: scores}
    if named.dimension:
        parts = {str(name): part for (name,), part in scores.group_by(named.dimension, maintain_order=True)}
    dimensions = []
    for name, part in parts.items():
        raw = _numbers(part, named.raw)
        tasks = None if named.task is None else _names(part, named.task)
        losses: tuple[FormLoss, ...] = ()
        given = np.full(raw.size, np.nan)
        if human is None:
            fit = fit_norm_curve(raw, tasks, floor=floor, ci_level=ci_level)
        elif labels:
            words = part[human].cast(pl.String).to_list()
            fit = fit_ordinal_curve(raw, words, labels, cut, tasks, floor=floor, ci_level=ci_level)
        else:
            given = _numbers(part, human)
            fit = fit_criterion_curve(raw, given, tasks, floor=floor, ci_level=ci_level)
            losses = compare_forms(raw, given, tasks, ci_level=ci_level) if fit.curve and forms else ()
        runs = None if named.run is None else _names(part, named.run)
        noise = noise_effect(fit.curve.median, fit.curve.sigma, raw, runs) if fit.curve and human else None
        points = pl.DataFrame({"raw": raw, "human": given, "task": tasks if tasks is not None else np.arange(raw.size)})
        dimensions.append(DimensionCurve(name, fit, losses, noise, points))
    return CurveReport(tuple(dimensions))


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
    if named.raw not in scores.columns:
        raise InputError("table", f"needs a column {named.raw!r}", ", ".join(scores.columns), "name the column to take")
    dimension = _names(scores, named.dimension) if named.dimension else np.full(scores.height, next(iter(fits)))
    if unknown := sorted(set(dimension.tolist()) - set(fits)):
        raise InputError("table", f"curves are of {', '.join(fits)}", unknown[0], "fit that dimension first")
    raw, band = _numbers(scores, named.raw), np.full((3, scores.height), np.nan)
    for name, fit in fits.items():
        mine = dimension == name
        band[:, mine] = np.array(fit.band(raw[mine], mended=mended))
    score, low, high = (pl.Series(values).fill_nan(None) for values in band)
    name = names.pop()
    return scores.with_columns(**{name: score, f"{name}_low": low, f"{name}_high": high})


def _numbers(table: pl.DataFrame, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        return table[column].cast(pl.Float64).fill_null(math.nan).to_numpy()
    except pl.exceptions.PolarsError:
        found = table[column].head(3).to_list()
        raise InputError(column, "must hold numbers", found, "name the right column") from None


def _names(table: pl.DataFrame, column: str) -> np.ndarray[Any, Any]:
    if table[column].null_count():
        cure = "fill it in, or leave the rows out"
        raise InputError(column, "every row needs one", f"{table[column].null_count()} empty", cure)
    return table[column].cast(pl.String).to_numpy()
