"""S-curves: from a raw score between 0 and 1 to a score from 0 to 100."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import positive


@dataclass(frozen=True)
class LogNormalCurve:
    """The log-normal curve F(x) = Phi((ln x - ln median) / sigma), higher raw scores better; F(0) = 0.

    Parameters
    ----------
    median : float
        The raw score at which the curve is at one half, greater than 0.
    sigma : float
        Its spread on the scale of ln x, greater than 0.

    Examples
    --------
    >>> curve = LogNormalCurve(median=0.5, sigma=0.4)
    >>> [round(100 * float(share)) for share in curve.apply([0.2, 0.5, 0.8])]
    [1, 50, 88]
    """

    median: float
    sigma: float

    def __post_init__(self) -> None:
        positive("median", self.median)
        positive("sigma", self.sigma)

    def apply(self, raw: ArrayLike) -> NDArray[np.float64]:
        """The curve at raw scores of any shape; values in [0, 1]."""
        from scipy.special import ndtr

        x = np.asarray(raw, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((np.log(x) - math.log(self.median)) / self.sigma), dtype=np.float64)


#: The curve of the original AXIS program for every dimension: assumed, not fitted to any data.
AXIS_CURVE = LogNormalCurve(median=0.5, sigma=0.4)


def axis_score(raw: float, curve: LogNormalCurve = AXIS_CURVE) -> int:
    """The AXIS score of a raw category score: 0 at or below 0, 100 at or above 1, else the curve, halves rounded up.

    With the assumed curve 97, 98 and 99 cannot occur: just below raw 1 it is at 95.84.

    Examples
    --------
    >>> [axis_score(raw) for raw in (0.3, 0.5, 0.9, 0.9999, 1.0)]
    [10, 50, 93, 96, 100]
    """
    if raw <= 0:
        return 0
    if raw >= 1:
        return 100
    z = (math.log(raw) - math.log(curve.median)) / curve.sigma
    return math.floor(100 * normal_cdf_approximation(z) + 0.5)


def normal_cdf_approximation(x: float) -> float:
    """The standard normal distribution function as AXIS approximates it, to 1.5e-7.

    References
    ----------
    Abramowitz and Stegun (1964), Handbook of Mathematical Functions, formula 7.1.26.
    """
    a = abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * a)
    tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    erf = 1 - tail * math.exp(-a * a)
    return 0.5 * (1 + math.copysign(erf, x))
