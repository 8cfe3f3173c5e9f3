"""What fitted curves allow to be said; which of it is true is decided where the numbers are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from axisjudge.scores.curves.curve import AXIS_CURVE, CurveFit, LogNormalCurve
from axisjudge.scores.curves.forms import FormLoss
from axisjudge.stats.estimate import Estimate
from axisjudge.studies._shared.words import directed, listed, many

#: The raw score whose worth is told.
HIGH = 0.9
#: The name of the curve where a table has no dimensions.
ALL = "all"

COUNTS = "{runs} of {tasks} in {dimensions}{origin}."
PLANTED = "; raw scores and people's scores are planted"
OF_RATINGS = ": mean of the judges beside the mean of people"
FROM_FILE = ", from {name}"

NO_NORM = "No run has a raw score in any dimension, so that no curve can be drawn from the population of runs."
BOTH_MEANINGS = (
    "{dimension}: the median run (raw {median:.3f}) has a norm_score of 50; the assumed curve would give it "
    "{score:.0f}."
)
MOVED = (
    "With fitted curves a run's composite moves by {mean:z.1f} points on average (single runs by {least:+z.1f} to "
    "{most:+z.1f}), and {share:z.1%} of the pairs of runs change their order."
)
WITHIN = "Within one dimension {pairs:,} pairs of runs change their order ({names}): a monotone curve cannot do that."
KEPT = "For {names} the curve is the assumed one in both, because its fit is refused."
NO_GOAL = "Left out: {runs} without a goal score, as a composite needs one."
CLIFF = (
    "The program gives {below} at raw {raw} and {top} at raw 1; between them {names} cannot occur. Divided by its "
    "value at raw 1 the curve ends at 100 without a jump, and every other score rises by {rise:.1%}."
)
NOISE = "Where raw scores vary by .01 (standard deviation), the score varies by {points}."
POINTS = "{points:.2f} points at raw {raw:g}"
PUBLISHED = "Our curve lies within {largest:.6f} of all {n} published points, which have five decimals."


def of_fit(dimension: str, fit: CurveFit) -> list[str]:
    """A fit, or why it is refused."""
    if fit.curve is None:
        return [f"{dimension}: the fit is refused, because {refusal}" for refusal in fit.refusals]
    first = (
        f"the {fit.score_name} is 50 at a raw score of {_ends(fit.median)}, the median, and its spread (sigma) is "
        f"{_ends(fit.sigma)}, from {_sample(fit)}; {fit.meaning}"
    )
    return [f"{dimension}: {first}."]


def of_forms(dimension: str, forms: Iterable[FormLoss]) -> str:
    """How far each form is off on unseen tasks."""
    by_form = {loss.form: loss for loss in forms}
    errors, excess = {form: f"{loss.error:.1f}" for form, loss in by_form.items()}, by_form["assumed"].excess
    return (
        f"{dimension}: on unseen tasks the fitted curve is {errors['log_normal']} points off, the isotonic one "
        f"{errors['isotonic']}, the assumed one {errors['assumed']} and a constant {errors['constant']}. The mean "
        f"squared error of the assumed curve{_of(dimension)} is "
        f"{directed(excess, 'higher', 'lower', unit='squared point')} than the fitted curve's."
    )


def recovered(dimension: str, planted: LogNormalCurve, fit: CurveFit) -> str:
    """Whether the intervals hold the planted median and sigma; empty where nothing was fitted."""
    held = [_held("median", planted.median, fit.median), _held("sigma", planted.sigma, fit.sigma)]
    return f"{dimension}: {', '.join(held)}." if fit.curve else ""


def _held(name: str, planted: float, estimate: Estimate) -> str:
    side = "in" if estimate.ci_low <= planted <= estimate.ci_high else "out"
    return f"the planted {name} {planted:g} lies {side}side its interval"


def control_points(of: Any) -> str:
    """Where each curve gives 50 and 90."""
    points = [f"{row['curve']} {row['raw_at_50']:.3f} and {row['raw_at_90']:.3f}" for row in of.rows]
    return f"Raw scores that get 50 and 90: {'; '.join(points)}."


def order(assumed: Sequence[str], fitted: Sequence[str]) -> str:
    """The agents by mean composite."""
    after = "the same" if assumed == fitted else ", ".join(fitted)
    start = "From the highest mean composite (the weighted mean of a run's dimensions) down, the agents are"
    return f"{start} {', '.join(assumed)} with assumed curves and {after} with fitted ones."


def where_50(fits: Mapping[str, CurveFit], *, made_up: bool = False) -> str:
    """Which raw score gets 50 and where that is refused; of a population, its median run by both meanings of 50."""
    if not fits:
        return NO_NORM
    curves = {name: fit for name, fit in fits.items() if fit.curve}
    if all(fit.reference == "norm" for fit in fits.values()):
        medians = {name: fit.curve.median for name, fit in curves.items() if fit.curve}
        words = [
            BOTH_MEANINGS.format(dimension=name, median=median, score=AXIS_CURVE.score(median))
            for name, median in medians.items()
        ]
    else:
        stand = [f"{_ends(fit.median)}{_of(name)}" for name, fit in curves.items()]
        who = "Invented people" if made_up else "People"
        words = [f"{who} give 50 of 100 to a raw score of {listed(stand)} ({_samples(curves)})."] if stand else []
    return " ".join([*words, *_refused(fits)])


def _refused(fits: Mapping[str, CurveFit]) -> list[str]:
    """For which dimensions no curve can be fitted, and why."""
    refused: dict[str, list[str]] = {}
    for name, fit in fits.items():
        if not fit.curve:
            refused.setdefault(fit.refusals[0].reason, []).append(name)
    one, several = " for the dimension ", " for the dimensions "
    why = [f"{_of(listed(of), several if of[1:] else one)}, because {reason}" for reason, of in refused.items()]
    return [f"No curve can be fitted{'; none'.join(why)}."] if why else []


def answer(fits: Mapping[str, CurveFit], *, made_up: bool = False) -> str:
    """What a high raw score is worth to people, or to `made_up` ones, and where that is refused."""
    curves = {name: fit for name, fit in fits.items() if fit.curve}
    if not curves:
        return where_50(fits, made_up=made_up)
    bands = {name: fit.band(HIGH) for name, fit in curves.items()}
    scores = [
        f"{band.score:.0f} of 100{_of(name, ' in ')} ({band.low:.0f} to {band.high:.0f})"
        for name, band in bands.items()
    ]
    refused = [name for name, fit in fits.items() if not fit.curve]
    none = f"; in {listed(refused)} no curve can be fitted" if refused else ""
    first = f"To {'invented ' * made_up}people a raw score of {HIGH:g} is worth {listed(scores)}{none}."
    return " ".join([first, f"Fitted to {_samples(curves)}.", *_refused(fits)])


def next_step(fits: Mapping[str, CurveFit], worse: Sequence[str]) -> str:
    """Which curves to score by, and of what people should score more runs."""
    fitted, refused = ([name for name, fit in fits.items() if bool(fit.curve) is has] for has in (True, False))
    where = "" if worse == fitted else _of(listed(worse), " in ") if worse else ""
    why = f": on unseen tasks the assumed one is farther off{where}" if worse else ""
    by = f"Score runs by the fitted curve{_of(listed(fitted), ' in ')}{why}. " if fitted else ""
    more = f"Have people score more runs{_of(listed(refused), ' for the dimension ')}, good ones and poor ones."
    return f"{by}{more}" if refused else f"{by}Have people score a few runs of new tasks to see whether it holds there."


def _sample(fit: CurveFit) -> str:
    return f"{many(fit.median.n_items, 'raw score')} in {fit.median.clusters}"


def _samples(fits: Mapping[str, CurveFit]) -> str:
    """How many raw scores in how many tasks, once where all fits have as many."""
    samples = dict.fromkeys(_sample(fit) for fit in fits.values())
    return f"{listed(list(samples))}{' each' if len(fits) > len(samples) == 1 else ''}"


def _of(dimension: str, then: str = " in the dimension ") -> str:
    return "" if dimension == ALL else f"{then}{dimension}"


def _ends(estimate: Estimate) -> str:
    high = "no upper end" if math.isinf(estimate.ci_high) else f"{estimate.ci_high:.3f}"
    return f"{estimate.estimate:.3f} ({estimate.ci_low:.3f} to {high})"
