"""What speaks against a fit, with what to collect instead, and what to know of a fit that stands."""

from __future__ import annotations

import math

import numpy as np

from axisjudge.scores.curves.curve import Floats
from axisjudge.scores.curves.fitted import CurveFit, Reference, Refusal
from axisjudge.scores.curves.sample import ScoredRuns
from axisjudge.stats.estimate import many, plural
from axisjudge.stats.link_lines import LinkLine
from axisjudge.stats.rates.proportions import FEWEST_CLUSTERS

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
        falls = f"people's scores do not rise with the raw score (slope {line.slope:.2f} on the probit scale)"
        return (Refusal(falls, f"{spread}; or another raw score, if this one does not measure what people look at"),)
    median = math.exp(min(-line.intercept / line.slope, 700.0))
    if inner[0] <= median <= inner[1]:
        return ()
    below = median < inner[0]
    outside = (
        f"the median would be at raw {median:.3g}, {'below' if below else 'above'} the range that holds nine in ten of "
        f"the raw scores ({inner[0]:.3g} to {inner[1]:.3g}), an extrapolation"
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
    if math.isinf(fit.sigma.ci_high):
        warnings.append(
            "the slope's interval reaches 0: these data set no upper end to sigma and none to the median; collect more "
            f"{fit.sigma.cluster_unit}s, and runs further apart in raw score"
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
