"""An S-curve from the run score to the share of runs that people would call good."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from axisjudge.scores.curve import LogNormalCurve
from axisjudge.scores.scorecard.baseline import Floats

#: A score of 0 has no logarithm; it enters as this.
LOWEST = 1.0
_ROUNDS, _DONE = 100, 1e-10


def as_raw(score: ArrayLike) -> Floats:
    """Scores 0-100 as the curve takes them: in (0, 1], 0 as .01."""
    return np.maximum(np.asarray(score, dtype=np.float64), LOWEST) / 100


def fit_s_curve(score: ArrayLike, good: ArrayLike) -> tuple[LogNormalCurve | None, str]:
    """The log-normal curve P(good) = Phi((ln(score / 100) - ln median) / sigma), by maximum likelihood.

    It is the probit regression of `good` on ln(score / 100), fitted by Fisher scoring. A fit to labels of people: a
    criterion-referenced curve, not one of a population of scores.

    Parameters
    ----------
    score : array, shape (n_runs,)
        0 to 100.
    good : array of 0 or 1, shape (n_runs,)

    Returns
    -------
    curve, refusal
        None and the reason where there is no such curve: one kind of label only, the two kinds apart without overlap, a
        slope that is not positive, or a median outside the scores.

    References
    ----------
    Bliss (1935), Annals of Applied Biology 22:134-167, doi:10.1111/j.1744-7348.1935.tb07713.x.
    """
    from scipy.special import log_ndtr, ndtr

    x, y = np.log(as_raw(score)), np.asarray(good, dtype=np.float64)
    if len(np.unique(y)) < 2:
        return None, "all labels are alike"
    if x[y == 1].min() > x[y == 0].max():
        return None, "scores tell good runs from the others without any overlap: sigma would be 0"
    design = np.column_stack([np.ones_like(x), x])
    beta = np.zeros(2)
    for _ in range(_ROUNDS):
        z = design @ beta
        density = np.exp(-(z**2) / 2 - 0.5 * math.log(2 * math.pi))
        ratio = np.exp(-(z**2) / 2 - 0.5 * math.log(2 * math.pi) - log_ndtr(z) - log_ndtr(-z))
        information = design.T @ (design * (density * ratio)[:, None])
        step = np.linalg.lstsq(information, design.T @ ((y - ndtr(z)) * ratio), rcond=None)[0]
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < _DONE:
            break
    intercept, slope = (float(value) for value in beta)
    if slope <= 0:
        return None, "higher scores do not go with more good runs: the slope is not positive"
    median = math.exp(-intercept / slope)
    if not math.exp(x.min()) <= median <= math.exp(x.max()):
        return None, "the median of the curve lies outside the scores that were seen"
    return LogNormalCurve(median=median, sigma=1 / slope), ""
