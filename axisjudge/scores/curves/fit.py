"""Log-normal curves fitted to data, in two meanings that never share a name.

- `norm_score`: norm-referenced. 50 is the median run of a reference population.
- `criterion_score`: criterion-referenced. 50 is where people give 50 of 100 (or where half of them give a label).

A fit that the data cannot bear is refused, with the reason and with what to collect instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from axisjudge.checks import InputError
from axisjudge.results import plain
from axisjudge.scores.curves.curve import LogNormalCurve
from axisjudge.scores.curves.fitted import CurveFit, FloorEffect, Reference
from axisjudge.scores.curves.refusals import refusals_of, warnings_of
from axisjudge.scores.curves.sample import ScoredRuns, sample_of
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.link_lines import LinkLine, cumulative_line, fractional_line, population_line

#: A median is only read off between these quantiles of the raw scores: beyond them it is an extrapolation.
INNER = (0.05, 0.95)
#: Floors at which the effect of raw scores of 0 is shown.
FLOORS = (1e-2, 1e-3, 1e-6)
#: The line of no data at all.
NO_LINE = LinkLine(math.nan, math.nan, np.full((2, 2), np.nan), math.nan, 0, 0, reason="no runs")


def fit_criterion_curve(
    raw: ArrayLike,
    human: ArrayLike,
    tasks: ArrayLike | None = None,
    *,
    floor: float | None = None,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> CurveFit:
    """The criterion-referenced curve: fractional probit of people's scores on ln raw.

    Parameters
    ----------
    raw : array in [0, 1], shape (n_runs,)
        NaN is left out and counted.
    human : array in [0, 100], shape (n_runs,)
        People's scores of the same runs; anchors of a scale are scores too. NaN is left out and counted.
    tasks : array, shape (n_runs,), optional
        Runs of one task are not independent; every row its own where none are given.
    floor : float, optional
        Raw scores below count as this. By default raw scores of 0 are left out: every log-normal curve gives them 0,
        so they say nothing of its median and sigma, and what a floor makes of them depends on the floor.

    References
    ----------
    Papke and Wooldridge (1996), J. Appl. Econometrics 11:619-632.
    """
    sample = replace(sample_of(raw, human, tasks, floor, cluster_unit, ci_level), points=True)
    y = sample.human
    if ((y < 0) | (y > 100)).any():
        raise InputError("human", "scores lie in [0, 100]", y[(y < 0) | (y > 100)][0], "rescale them, or give labels")

    def line(floor: float | None) -> LinkLine:
        z, kept = sample.logs(floor)
        return fractional_line(z, y[kept] / 100, sample.tasks[kept])

    meaning = "a score of 50 is where people give 50 of 100 on average"
    return _fitted("criterion", meaning, sample, line, "fractional probit, cluster jackknife-t")


def fit_ordinal_curve(
    raw: ArrayLike,
    labels: Sequence[Any],
    scale: Sequence[Any],
    cut: Any,
    tasks: ArrayLike | None = None,
    *,
    floor: float | None = None,
    ci_level: float = 0.95,
) -> CurveFit:
    """The criterion-referenced curve of ordinal labels: 100 times the chance of a label of `cut` or better.

    Parameters
    ----------
    raw : array in [0, 1], shape (n_runs,)
    labels : sequence, shape (n_runs,)
        People's labels; None is left out and counted.
    scale : sequence
        All labels, worst first.
    cut : label
        The anchor: at 50 half of the labels are this or better.
    """
    order = {label: position for position, label in enumerate(scale)}
    if cut not in order or order[cut] == 0:
        raise InputError("cut", f"must be one of {', '.join(map(str, scale[1:]))}", cut)
    if unknown := sorted({str(each) for each in labels if each is not None and each not in order}):
        raise InputError("labels", f"the scale is {', '.join(map(str, scale))}", unknown[0])
    given = [math.nan if label is None else order[label] for label in labels]
    sample = sample_of(raw, given, tasks, floor, "task", ci_level)

    def line(floor: float | None) -> LinkLine:
        z, kept = sample.logs(floor)
        return cumulative_line(z, sample.human[kept], order[cut], sample.tasks[kept])

    meaning = f"50 is the raw score at which half of the labels are {cut!r} or better"
    return _fitted("criterion", meaning, sample, line, "cumulative probit, cluster jackknife-t")


def fit_norm_curve(
    raw: ArrayLike, tasks: ArrayLike | None = None, *, floor: float | None = None, ci_level: float = 0.95
) -> CurveFit:
    """The norm-referenced curve: the median of a reference population, and the standard deviation of its ln raw.

    Raw scores of 0 count in the median; the standard deviation is that of the others (or of all, with a floor).
    """
    sample = sample_of(raw, np.zeros(np.size(raw)), tasks, floor, "task", ci_level)

    def line(floor: float | None) -> LinkLine:
        z, _ = sample.logs(floor, drop=False)
        return population_line(z, sample.tasks)

    meaning = "50 is the median run of the reference population"
    return _fitted("norm", meaning, sample, line, "median and sd of ln raw, linearised t between clusters")


def _fitted(
    reference: Reference,
    meaning: str,
    sample: ScoredRuns,
    line_at: Callable[[float | None], LinkLine],
    method: str,
) -> CurveFit:
    x = sample.raw
    line = line_at(sample.floor) if x.size else None
    inner = (float(np.quantile(x, INNER[0])), float(np.quantile(x, INNER[1]))) if x.size else (math.nan, math.nan)
    refusals = refusals_of(reference, sample, line, inner)
    estimate = partial(
        Estimate,
        ci_level=sample.ci_level,
        n_items=x.size,
        n_missing=sample.n_missing,
        n_clusters=np.unique(sample.tasks).size,
        cluster_unit=sample.cluster_unit,
    )
    nothing = estimate(estimate=math.nan, reason=refusals[0].reason if refusals else "")
    refused = CurveFit(
        reference=reference,
        meaning=meaning,
        curve=None,
        median=nothing,
        sigma=nothing,
        line=line or NO_LINE,
        raw_range=inner,
        n_zero=int((x == 0).sum()),
        n_top=int((x == 1).sum()),
        floor=sample.floor,
        refusals=refusals,
    )
    if refusals or line is None:
        return refused
    centre, low, high = line.crossing(ci_level=sample.ci_level)
    sigma, least, most = line.spread(ci_level=sample.ci_level)
    curve, fieller = LogNormalCurve(math.exp(centre), sigma), f"{method}; Fieller's interval"
    fit = replace(
        refused,
        curve=curve,
        median=estimate(estimate=curve.median, ci_low=math.exp(low), ci_high=_exp(high), method=fieller),
        sigma=estimate(estimate=sigma, ci_low=least, ci_high=most, method=method),
        floor_effects=_floor_effects(sample, line_at) if refused.n_zero else (),
    )
    return replace(fit, warnings=warnings_of(fit, sample))


def _exp(z: float) -> float:
    return math.inf if z > 700 else math.exp(z)


def _floor_effects(sample: ScoredRuns, line_at: Callable[[float | None], LinkLine]) -> tuple[FloorEffect, ...]:
    effects = []
    for floor in (None, *FLOORS):
        line = line_at(floor)
        sigma = 1 / line.slope if line.slope > 0 else math.nan
        effects.append(FloorEffect(floor, _exp(-line.intercept * sigma) if sigma == sigma else math.nan, sigma))
    return tuple(effects)


_CURE = "write one with `axisjudge curve fit TABLE --out curve.json`"


def write_curves(path: str | Path, fits: Mapping[str, CurveFit]) -> None:
    """Write fits by the name of their dimension; refused ones with their reasons."""
    text = json.dumps(plain(fits), indent=1, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def read_curves(path: str | Path) -> dict[str, CurveFit]:
    """Read a curve file.

    Raises
    ------
    InputError
        There is no such file, or it is not a curve file.
    """
    where = str(path)
    try:
        stated = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(where, "no such curve file", cure=_CURE) from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise InputError(where, "is not a curve file", cure=_CURE) from None
    if not isinstance(stated, dict) or not stated or not all(isinstance(each, dict) for each in stated.values()):
        raise InputError(where, "is not a curve file", cure=_CURE)
    try:
        return {name: CurveFit.from_dict(each) for name, each in stated.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(where, f"a curve in it is broken ({error})", cure=_CURE) from None
