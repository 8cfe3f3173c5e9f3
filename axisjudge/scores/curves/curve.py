"""S-curves: from a raw score to a score from 0 to 100.

A curve F gives a share in [0, 1]; the score is 100 F. Most raw scores lie in [0, 1] and more is better; a curve that is
stated by two control points may as well fall, as for a loading time in milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, all_in_unit_interval, in_open_unit_interval, one_of, positive
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.link_lines import LinkLine, normal_density

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LogNormalCurve(Result):
    """The log-normal curve F(x) = Phi((ln x - ln median) / sigma), higher raw scores better; F(0) = 0.

    Its methods take arrays of any shape, and NaN stays NaN. As plain values, for a file, it is its form and its
    numbers.

    Parameters
    ----------
    median : float
        The raw score at which the curve is at one half, greater than 0.
    sigma : float
        Its spread on the scale of ln x, greater than 0.
    higher_is_better : bool
        Otherwise the curve falls: F(x) = Phi((ln median - ln x) / sigma).

    Notes
    -----
    Raw scores of 0 and below lie at the end of the scale: share 0 (1 where lower is better).

    Examples
    --------
    >>> curve = LogNormalCurve(median=0.5, sigma=0.4)
    >>> [round(100 * float(share)) for share in curve.apply([0.2, 0.5, 0.8])]
    [1, 50, 88]
    """

    _also = ("form",)
    form = "log_normal"

    median: float
    sigma: float
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        positive("median", self.median)
        positive("sigma", self.sigma)

    @classmethod
    def through(cls, first: tuple[float, float], second: tuple[float, float]) -> LogNormalCurve:
        """The log-normal curve through two control points, each a raw score with its share.

        Lighthouse states a curve by the raw scores of 50 and of 90 (lower is better), AXIS by those of a median run
        and of an excellent one (higher is better); which way the curve goes follows from the points:
        sigma = |ln(x90 / median)| / 1.28155.

        Raises
        ------
        InputError
            Points that no rising or falling curve joins.

        References
        ----------
        Lighthouse scoring calculator, https://googlechrome.github.io/lighthouse/scorecalc.

        Examples
        --------
        >>> loading = LogNormalCurve.through((7300, 0.5), (3785, 0.9))
        >>> round(float(loading.apply(2500)), 5)
        0.98173
        """
        from scipy.special import ndtri

        (x1, share1), (x2, share2) = first, second
        rise = math.log(positive("raw score of a control point", x2) / positive("raw score of a control point", x1))
        z1, z2 = (float(ndtri(in_open_unit_interval("share of a control point", each))) for each in (share1, share2))
        if rise == 0 or z1 == z2:
            rule = "must differ in raw score and in share"
            raise InputError("control points", rule, (first, second), "state two points, such as those of 50 and 90")
        sigma = rise / (z2 - z1)
        return cls(x1 * math.exp(-sigma * z1), abs(sigma), higher_is_better=sigma > 0)

    def apply(self, raw: ArrayLike) -> Floats:
        """The curve at raw scores; values in [0, 1]."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self._standardised(raw)), dtype=np.float64)

    def mended(self, raw: ArrayLike) -> Floats:
        """The curve over its value at the top of the raw scale, F(x) / F(1): raw 1 gives 1 without a jump.

        The program's form gives 100 at raw 1 by a rule of its own and 96 just below it (median .5, sigma .4).

        Raises
        ------
        InputError
            The curve falls.
        """
        if not self.higher_is_better:
            raise InputError("curve", "a falling curve has no top end to mend", self)
        return np.asarray(np.minimum(self.apply(raw) / float(self.apply(1.0)), 1.0))

    def invert(self, share: ArrayLike) -> Floats:
        """The raw score at which the curve takes a share: median exp(sigma Phi^-1(share))."""
        from scipy.special import ndtri

        given = np.asarray(share, dtype=np.float64)
        all_in_unit_interval("share", given)
        return np.asarray(self.median * np.exp(self._sign * self.sigma * ndtri(given)), dtype=np.float64)

    def slope(self, raw: ArrayLike) -> Floats:
        """The derivative of the curve, per unit of the raw score; 0 at and below 0."""
        x = np.asarray(raw, dtype=np.float64)
        density = normal_density(self._standardised(x))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x <= 0, 0.0, self._sign * density / (x * self.sigma))

    def score(self, raw: ArrayLike) -> Floats:
        """The score from 0 to 100, unrounded."""
        return 100 * self.apply(raw)

    def noise_amplification(self, raw: ArrayLike) -> Floats:
        """Standard deviation of the score, in points, per unit of the raw score's: 100 times the slope's size.

        First order: it holds for noise that is small beside the bend of the curve.
        """
        return 100 * np.abs(self.slope(raw))

    @property
    def _sign(self) -> float:
        return 1.0 if self.higher_is_better else -1.0

    def _standardised(self, raw: ArrayLike) -> Floats:
        z = np.asarray(np.maximum(np.asarray(raw, dtype=np.float64), 0.0))
        with np.errstate(divide="ignore"):
            np.log(z, out=z)
        z -= np.log(self.median)  # not the standard library's, which may be a digit off: the median has exactly .5
        z /= self._sign * self.sigma
        return z


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


# A fitted curve: what it means, its intervals and band, and what must be known before it is used.


Reference = Literal["criterion", "norm"]

#: What a curve file holds of the line, in its order.
_OF_LINE = ("intercept", "slope", "covariance", "degrees", "n_clusters", "n_items")


class Refusal(NamedTuple):
    """Why there is no curve, and what to collect instead."""

    reason: str
    collect: str

    def __str__(self) -> str:
        return f"{self.reason}. To collect: {self.collect}."


class ScoreBand(NamedTuple):
    """Scores from 0 to 100 with the ends of their band."""

    score: Floats
    low: Floats
    high: Floats


class FloorEffect(NamedTuple):
    """Median and sigma when raw scores below a floor count as the floor; without a floor raw 0 is left out."""

    floor: float | None
    median: float
    sigma: float


@dataclass(frozen=True, kw_only=True)
class CurveFit(Result):
    """A fitted curve, or the reasons why there is none.

    Parameters
    ----------
    reference : {"criterion", "norm"}
    meaning : str
        What a score of 50 says.
    curve : LogNormalCurve or None
        None where the fit is refused; `refusals` then says why.
    median, sigma : Estimate
        With Fieller's interval and the slope's. An end is infinite where the data do not bound it.
    line : LinkLine
        The fit on the probit scale: (ln x - ln median) / sigma.
    raw_range : (float, float)
        The 5% and 95% quantiles of the raw scores.
    n_zero, n_top : int
        Raw scores of 0 (left out unless there is a floor) and of 1.
    """

    axisjudge_curve: ClassVar = 1
    _also: ClassVar = {"axisjudge_curve": "axisjudge_curve", "score_name": "score_name", "line": "_line"}

    reference: Reference
    meaning: str
    curve: LogNormalCurve | None
    median: Estimate
    sigma: Estimate
    line: LinkLine = field(repr=False)
    raw_range: tuple[float, float]
    n_zero: int
    n_top: int
    floor: float | None = None
    floor_effects: tuple[FloorEffect, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def score_name(self) -> str:
        """What a score of this curve is called: ``criterion_score`` or ``norm_score``."""
        return f"{self.reference}_score"

    def band(self, raw: ArrayLike, *, simultaneous: bool = False, mended: bool = False) -> ScoreBand:
        """Scores of raw scores with the curve's band at the fit's level; NaN where the fit is refused.

        The band is the curve's uncertainty alone: what a run's score would be with more data behind the curve. It
        holds for each raw score by itself, or for all at once (`simultaneous`). A `mended` curve is F(x) / F(1), whose
        band closes at raw 1.
        """
        from scipy.special import ndtr

        x = np.asarray(raw, dtype=np.float64)
        if self.curve is None:
            return ScoreBand(*(np.full(x.shape, np.nan) for _ in range(3)))
        positive = x > 0
        z = np.log(np.where(positive, x, 1.0))
        width = self.line.width(self.median.ci_level, simultaneous=simultaneous)
        if mended:
            share = self.curve.mended(x)
            half = width * self._mended_error(np.minimum(z, 0.0))
            low, high = np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)
        else:
            share = self.curve.apply(x)
            eta, half = self.line.intercept + self.line.slope * z, width * self.line.standard_error(z)
            low, high = ndtr(eta - half), ndtr(eta + half)
        nothing = np.where(np.isnan(x), np.nan, 0.0)
        return ScoreBand(100 * share, *(100 * np.where(positive, end, nothing) for end in (low, high)))

    def _mended_error(self, z: Floats) -> Floats:
        """The standard error of F(x) / F(1) at z = ln x, by the delta method."""
        from scipy.special import ndtr

        eta, top = self.line.intercept + self.line.slope * z, self.line.intercept
        rise, rise_top = normal_density(eta), normal_density(np.float64(top))
        by_intercept = (rise - ndtr(eta) * rise_top / ndtr(top)) / ndtr(top)
        by_slope = rise * z / ndtr(top)
        v = self.line.covariance
        variance = by_intercept**2 * v[0, 0] + 2 * by_intercept * by_slope * v[0, 1] + by_slope**2 * v[1, 1]
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def __repr__(self) -> str:
        if self.curve is None:
            return f"CurveFit({self.reference}, refused: {self.refusals[0].reason})"
        return f"CurveFit({self.reference}: median {self.median}, sigma {self.sigma.estimate:.3f})"

    @property
    def _line(self) -> dict[str, Any]:
        return {name: getattr(self.line, name) for name in _OF_LINE}

    @classmethod
    def from_dict(cls, stated: dict[str, Any]) -> CurveFit:
        """A fit from what `to_dict` gave; its changes per cluster are not in there.

        Raises
        ------
        InputError
            It is no fitted curve, or one of a later form.
        """
        if stated.get("axisjudge_curve") != 1:
            raise InputError("curve", "must be a file that `axisjudge curve fit` wrote", sorted(stated)[:5])
        given = stated["curve"]
        if given is not None and given.get("form") != LogNormalCurve.form:
            raise InputError("curve", "a fitted curve is log-normal", given.get("form"))
        if given is None and not stated["refusals"]:
            raise InputError("curve", "must be there, or the reasons why there is none")
        one_of("reference", stated["reference"], get_args(Reference))
        numbers = {name: _numbers(stated["line"][name]) for name in _OF_LINE}
        kept = ("reference", "meaning", "n_zero", "n_top", "floor")
        return cls(
            **{name: stated[name] for name in kept},
            curve=given and LogNormalCurve(given["median"], given["sigma"], given.get("higher_is_better", True)),
            median=_estimate(stated["median"]),
            sigma=_estimate(stated["sigma"]),
            line=LinkLine(**numbers | {"covariance": np.array(numbers["covariance"])}),
            raw_range=tuple(_numbers(stated["raw_range"])),
            floor_effects=tuple(FloorEffect(**each) for each in stated["floor_effects"]),
            refusals=tuple(Refusal(**each) for each in stated["refusals"]),
            warnings=tuple(stated["warnings"]),
        )


def _numbers(stated: Any) -> Any:
    """Numbers of a file; what JSON has no word for was written as null."""
    if isinstance(stated, list):
        return [_numbers(each) for each in stated]
    if stated is not None and not isinstance(stated, int | float):
        raise TypeError(f"{stated!r} is no number")
    return math.nan if stated is None else stated


def _estimate(stated: dict[str, Any]) -> Estimate:
    """An estimate of a file; an end that the data do not bound was written as null."""
    fields = {
        **stated,
        "notes": tuple(stated["notes"]),
        "ci_level": in_open_unit_interval("ci_level", stated["ci_level"]),
    }
    known = stated["estimate"] is not None
    for name, unbounded in (("estimate", math.nan), ("ci_low", 0.0), ("ci_high", math.inf)):
        if stated[name] is None:
            fields[name] = unbounded if known else math.nan
    return Estimate(**fields)
