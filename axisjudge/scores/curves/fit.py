"""Log-normal curves fitted to data, in two meanings that never share a name; and what speaks against a fit.

- `norm_score`: norm-referenced. 50 is the median run of a reference population.
- `criterion_score`: criterion-referenced. 50 is where people give 50 of 100 (or where half of them give a label).

A fit that the data cannot bear is refused, with the reason and with what to collect instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, once_each, one_each, shaped
from axisjudge.results import plain
from axisjudge.scores.curves.curve import CurveFit, Floats, FloorEffect, LogNormalCurve, Reference, Refusal
from axisjudge.stats.estimate import Estimate, many, plural
from axisjudge.stats.link_lines import LinkLine, cumulative_line, fractional_line, population_line
from axisjudge.stats.proportions import FEWEST_CLUSTERS
from axisjudge.workbench import write_whole

# The runs that a curve is fitted to.


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoredRuns:
    """Runs with a raw score and, for a criterion, what people said."""

    raw: Floats
    human: Floats
    tasks: NDArray[Any]
    n_missing: int
    floor: float | None
    cluster_unit: str
    ci_level: float
    points: bool = False  # whether `human` holds scores from 0 to 100

    def logs(self, floor: float | None, *, drop: bool = True) -> tuple[Floats, NDArray[np.bool_]]:
        """ln raw, and which runs it is of: without a floor runs at 0 are dropped, or -inf."""
        x = self.raw if floor is None else np.maximum(self.raw, floor)
        kept = (x > 0) | (not drop)
        with np.errstate(divide="ignore"):
            return np.log(x[kept]), kept


def sample_of(
    raw: ArrayLike,
    human: ArrayLike,
    tasks: ArrayLike | None,
    floor: float | None,
    cluster_unit: str,
    ci_level: float,
) -> ScoredRuns:
    """Runs with both scores; NaN in either is left out and counted."""
    x, y = np.asarray(raw, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError("raw", "needs one score for each run", (x.shape, y.shape))
    groups = np.arange(x.size) if tasks is None else np.asarray(tasks)
    one_each("tasks", groups, x.size, of="runs")
    kept = ~(np.isnan(x) | np.isnan(y))
    checked_raw(x[kept])
    if floor is not None:
        in_open_unit_interval("floor", floor)
    return ScoredRuns(
        raw=x[kept],
        human=y[kept],
        tasks=groups[kept],
        n_missing=int((~kept).sum()),
        floor=floor,
        cluster_unit="run" if tasks is None else cluster_unit,
        ci_level=in_open_unit_interval("ci_level", ci_level),
    )


def checked_raw(raw: Floats) -> Floats:
    """Raw scores if all lie in [0, 1] (or are NaN), else InputError: a curve says nothing of others."""
    if (outside := (raw < 0) | (raw > 1)).any():
        raise InputError("raw", "raw scores lie in [0, 1]", raw[outside][0], "divide by the largest possible score")
    return raw


# What speaks against a fit, with what to collect instead, and what to know of a fit that stands.

#: With a larger share of the population at raw 1 no log-normal curve describes it.
MOST_AT_TOP = 0.05
#: A population curve that misses the population's own shares by more points than this is warned of.
MISFIT = 10.0


def refusals_of(
    reference: Reference, sample: ScoredRuns, line: LinkLine | None, inner: tuple[float, float]
) -> tuple[Refusal, ...]:
    """Every reason against the fit; the first is the one to mend first."""
    n_tasks, unit = np.unique(sample.tasks).size, sample.cluster_unit
    if n_tasks < FEWEST_CLUSTERS or line is None:
        few = f"with {many(n_tasks, unit)} it cannot be seen how far {plural(unit)} differ (it takes {FEWEST_CLUSTERS})"
        return (Refusal(few, f"runs of {FEWEST_CLUSTERS - n_tasks} or more further {plural(unit)}"),)
    if reference == "norm":
        return _population_refusals(sample, line)
    spread = "people's scores of runs that do badly and of runs that do well, so that raw scores spread"
    if line.reason:
        return (Refusal(line.reason, spread),)
    if line.slope <= 0:
        falls = f"people's scores do not rise with the raw score (slope {line.slope:z.2f} on the probit scale)"
        return (Refusal(falls, f"{spread}; or another raw score, if this one does not measure what people look at"),)
    median = math.exp(min(-line.intercept / line.slope, 700.0))
    if inner[0] <= median <= inner[1]:
        return ()
    below = median < inner[0]
    outside = (
        f"nine in ten raw scores lie at {inner[0]:.3g} to {inner[1]:.3g}, all {'above' if below else 'below'} the "
        f"one that would be worth 50 (about {median:.3g})"
    )
    where = f"people's scores of {'worse' if below else 'better'} runs, some of them {'below' if below else 'above'} 50"
    return (Refusal(outside, f"{where}, until there are raw scores on both sides of the median"),)


def _population_refusals(sample: ScoredRuns, line: LinkLine) -> tuple[Refusal, ...]:
    at_top = float((sample.raw == 1).mean())
    harder = "runs of harder tasks, or a raw score that still tells the best runs apart; or fit people's scores instead"
    if at_top > MOST_AT_TOP:
        mass = f"{at_top:.0%} of the population have a raw score of 1, and no log-normal curve has so many at one value"
        return (Refusal(mass, harder),)
    if float((sample.raw == 0).mean()) >= 0.5:
        return (Refusal("half of the population or more are at raw 0: their median has no logarithm", "better runs"),)
    return (Refusal(line.reason, harder),) if line.reason else ()


def warnings_of(fit: CurveFit, sample: ScoredRuns) -> tuple[str, ...]:
    """What to know before using the curve."""
    warnings = []
    if sample.n_missing:
        lack = "raw score" if fit.reference == "norm" else "raw score or what people said"
        warnings.append(
            f"{sample.n_missing:,} of {sample.n_missing + sample.raw.size:,} rows lack a {lack} and are left out"
        )
    if math.isinf(fit.sigma.ci_high):
        warnings.append(
            "the slope's interval reaches 0: these data set no upper end to sigma and none to the median; collect more "
            f"{plural(fit.sigma.cluster_unit)}, and runs further apart in raw score"
        )
    if fit.n_zero:
        does = f"count as {fit.floor:g}" if fit.floor else "say nothing of median and sigma and are left out"
        of_people = f" (people give them {sample.human[sample.raw == 0].mean():.0f} on average)"
        warnings.append(
            f"{fit.n_zero:,} of {sample.raw.size:,} raw scores are 0: the curve gives them 0"
            f"{of_people if sample.points else ''}; in the fit they "
            f"{'count in the median only' if fit.reference == 'norm' and not fit.floor else does}"
        )
    if fit.n_top and fit.reference == "criterion":
        warnings.append(
            f"{fit.n_top:,} of {sample.raw.size:,} raw scores are 1: this raw score cannot tell those runs apart, "
            "whatever people think of them"
        )
    if fit.reference == "norm" and (gap := _misfit(fit, sample.raw)) > MISFIT:
        warnings.append(
            f"the curve misses the population's own shares by up to {gap:.0f} points: ln raw is not normal there, and "
            "scores far from 50 are not percentiles"
        )
    return tuple(warnings)


def _misfit(fit: CurveFit, raw: Floats) -> float:
    """The largest distance, in points, of the curve from the population's own distribution."""
    if fit.curve is None:
        return math.nan
    ordered, n = np.sort(raw), raw.size
    score = fit.curve.score(ordered)
    above = np.searchsorted(ordered, ordered, side="right") * 100 / n - score
    below = score - np.searchsorted(ordered, ordered, side="left") * 100 / n
    return float(max(above.max(), below.max()))


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
    if len(order) < max(2, len(scale)):
        raise InputError("labels", "must be two or more, each named once", ", ".join(map(str, scale)))
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
        floor_effects=_floor_effects(line_at) if refused.n_zero else (),
    )
    return replace(fit, warnings=warnings_of(fit, sample))


def _exp(z: float) -> float:
    return math.inf if z > 700 else math.exp(z)


def _floor_effects(line_at: Callable[[float | None], LinkLine]) -> tuple[FloorEffect, ...]:
    effects = []
    for floor in (None, *FLOORS):
        line = line_at(floor)
        sigma = 1 / line.slope if line.slope > 0 else math.nan
        effects.append(FloorEffect(floor, _exp(-line.intercept * sigma) if sigma == sigma else math.nan, sigma))
    return tuple(effects)


_CURE = "write one with `axisjudge curve fit TABLE --out curve.json`"


def write_curves(path: str | Path, fits: Mapping[str, CurveFit]) -> None:
    """Write fits by the name of their dimension; refused ones with their reasons."""
    write_whole(Path(path), json.dumps(plain(fits), indent=1, allow_nan=False) + "\n")


def read_curves(path: str | Path) -> dict[str, CurveFit]:
    """Read a curve file.

    Raises
    ------
    InputError
        There is no such file, or it is not a curve file.
    """
    where = str(path)
    try:
        stated = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=once_each)
    except FileNotFoundError:
        raise InputError(where, "no such curve file", cure=_CURE) from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise InputError(where, "is not a curve file", cure=_CURE) from None
    if not isinstance(stated, dict) or not stated or not all(isinstance(each, dict) for each in stated.values()):
        raise InputError(where, "is not a curve file", cure=_CURE)
    with shaped(where):
        return {name: CurveFit.from_dict(each) for name, each in stated.items()}
