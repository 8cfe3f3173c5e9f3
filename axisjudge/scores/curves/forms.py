"""Which form predicts people's scores of unseen tasks best: cross-validated loss, task by task."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, one_each
from axisjudge.results import Result
from axisjudge.scores.curves.curve import AXIS_CURVE, Floats, LogNormalCurve
from axisjudge.scores.curves.fit import sample_of
from axisjudge.stats.calibration import isotonic_fit
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.link_lines import LinkLine, fractional_line
from axisjudge.stats.proportions import clustered_mean

#: Tasks are dealt into this many folds.
FOLDS = 10
ASSUMED = "assumed"
CONSTANT = "constant"
#: Forms that are compared, the yardstick first: the log-normal fit, its rivals, the assumed curve, and no curve at all.
LOG_NORMAL, LOG_LOGISTIC, ISOTONIC = LogNormalCurve.form, "log_logistic", "isotonic"
FORMS = (LOG_NORMAL, LOG_LOGISTIC, ISOTONIC, ASSUMED, CONSTANT)


@dataclass(frozen=True)
class FormLoss(Result):
    """A form's error on tasks that it was not fitted to.

    Parameters
    ----------
    form : str
    error : float
        Root mean squared difference from people's scores, in points; NaN where a fold could not be fitted.
    excess : Estimate
        Mean squared difference less that of the log-normal fit, in points squared, clustered by task: above 0 the
        log-normal fit predicts better.
    """

    _also: ClassVar = {
        "excess": "excess.estimate",
        "excess_low": "excess.ci_low",
        "excess_high": "excess.ci_high",
    }

    form: str
    error: float
    excess: Estimate


def compare_forms(
    raw: ArrayLike,
    human: ArrayLike,
    tasks: ArrayLike | None = None,
    *,
    ci_level: float = 0.95,
) -> tuple[FormLoss, ...]:
    """Cross-validated loss of every form, folds of whole tasks.

    The fits are quasi-likelihoods, so AIC does not compare them; squared error on unseen tasks does. Runs at raw 0 are
    left out, as in the fits.

    Parameters
    ----------
    raw : array in [0, 1], shape (n_runs,)
    human : array in [0, 100], shape (n_runs,)
    tasks : array, shape (n_runs,), optional
    """
    sample = sample_of(raw, human, tasks, None, "task", ci_level)
    z, kept = sample.logs(None)
    x, y, groups = np.exp(z), sample.human[kept], sample.tasks[kept]
    fold = np.unique(groups, return_inverse=True)[1] % FOLDS
    if np.unique(fold).size < 2:
        raise InputError("tasks", "cross-validation needs two or more", np.unique(groups).size)
    loss = {form: _losses(form, x, y, fold) for form in FORMS}
    excess = partial(clustered_mean, clusters=groups, cluster_unit="task", ci_level=ci_level)
    return tuple(FormLoss(form, math.sqrt(loss[form].mean()), excess(loss[form] - loss[FORMS[0]])) for form in FORMS)


def isotonic_shares(raw: Floats, share: Floats, unseen: Floats) -> Floats:
    """The rising curve nearest to shares in squared error, straight between the raw scores seen and level beyond."""
    knots, at, count = np.unique(raw, return_inverse=True, return_counts=True)
    fitted = isotonic_fit(np.bincount(at, weights=share) / count, count)
    return np.asarray(np.interp(unseen, knots, np.clip(fitted, 0, 1)))


def _losses(form: str, x: Floats, y: Floats, fold: NDArray[np.intp]) -> Floats:
    loss = np.full(x.size, np.nan)
    for each in np.unique(fold):
        unseen = fold == each
        loss[unseen] = (y[unseen] - _predicted(form, x[~unseen], y[~unseen], x[unseen])) ** 2
    return loss


def _predicted(form: str, x: Floats, y: Floats, unseen: Floats) -> Floats:
    from scipy.special import expit, ndtr

    if form == CONSTANT:
        return np.full(unseen.size, y.mean())
    if form == ASSUMED:
        return AXIS_CURVE.score(unseen)
    if np.unique(x).size < 3:
        return np.full(unseen.size, np.nan)
    if form == ISOTONIC:
        return 100 * isotonic_shares(x, y / 100, unseen)
    line: LinkLine = fractional_line(np.log(x), y / 100, link="probit" if form == LOG_NORMAL else "logit")
    eta = line.intercept + line.slope * np.log(unseen)
    return np.asarray(100 * (ndtr(eta) if form == LOG_NORMAL else expit(eta)))


# What a judge's own noise does to a fitted curve, and how the curve would look without it.


@dataclass(frozen=True, kw_only=True)
class NoiseEffect(Result):
    """The effect of noise in ln raw on median and sigma.

    Parameters
    ----------
    noise_sd : float
        Standard deviation of ln raw between judgings of one run.
    reliability : float
        Share of the variance of ln raw that is not noise.
    median, sigma : float
        Of the curve that raw scores without noise would show; NaN where the noise could explain the whole spread.
    fitted_median, fitted_sigma : float
        Of the curve as fitted.
    n_repeated : int
        Runs with two or more judgings.
    """

    _also = ("sentence",)

    noise_sd: float = math.nan
    reliability: float = math.nan
    median: float = math.nan
    sigma: float = math.nan
    fitted_median: float
    fitted_sigma: float
    n_repeated: int

    @property
    def sentence(self) -> str:
        """The effect in words."""
        if self.n_repeated == 0:
            return (
                "No run was judged twice, so the judge's noise is unknown: it flattens the fitted curve (sigma is too "
                "large for raw scores without noise) by an amount that these data cannot show. To collect: two or more "
                "judgings of the same runs."
            )
        known = f"Between judgings of one run the logarithm of its raw score varies by {self.noise_sd:.3f} "
        known += f"(standard deviation; reliability {self.reliability:.2f}, {self.n_repeated:,} runs). "
        if math.isnan(self.sigma):
            return known + "That is enough to explain the whole of sigma: without noise the curve may be a step."
        return known + (
            f"Without this noise the curve would have median {self.median:.3f} and sigma {self.sigma:.3f} in place of "
            f"{self.fitted_median:.3f} and {self.fitted_sigma:.3f}. The fitted curve is the right one for raw scores "
            "as noisy as these."
        )


def noise_effect(median: float, sigma: float, raw: ArrayLike, runs: ArrayLike | None = None) -> NoiseEffect:
    """The curve behind the noise, from runs that were judged more than once.

    With ln raw = true + noise of variance tau^2, both normal, and reliability r = 1 - tau^2 / var(ln raw), regression
    dilution turns sigma into sqrt(sigma^2 + r tau^2) / r and moves ln median away from the mean m of ln raw. Undone:
    sigma^2 = r^2 sigma_fitted^2 - r tau^2 and ln median = r ln median_fitted + (1 - r) m.

    Parameters
    ----------
    median, sigma : float
        Of the fitted curve.
    raw : array in (0, 1], shape (n_judgings,)
        Every judging's raw score, those that the curve was fitted to; 0 and NaN are left out.
    runs : array, shape (n_judgings,), optional
        Which judgings are of one run. Without it, or without repeats, the noise is unknown.

    References
    ----------
    Carroll, Ruppert, Stefanski and Crainiceanu (2006), Measurement Error in Nonlinear Models, section 4.8,
    doi:10.1201/9781420010138.
    """
    x = np.asarray(raw, dtype=np.float64)
    of = np.arange(x.size) if runs is None else np.asarray(runs)
    one_each("runs", of, x.size, of="raw scores")
    kept = x > 0
    z, codes = np.log(x[kept]), np.unique(of[kept], return_inverse=True)[1]
    count = np.bincount(codes)
    n_repeated = int((count > 1).sum())
    unknown = NoiseEffect(fitted_median=median, fitted_sigma=sigma, n_repeated=n_repeated)
    if n_repeated == 0:
        return unknown
    within = z - (np.bincount(codes, weights=z) / count)[codes]
    noise = float((within**2).sum()) / int((count - 1).sum())
    reliability = max(1 - noise / float(z.var(ddof=1)), 0.0)
    left = reliability**2 * sigma**2 - reliability * noise
    known = left > 0
    centre = reliability * math.log(median) + (1 - reliability) * float(z.mean())
    return replace(
        unknown,
        noise_sd=math.sqrt(noise),
        reliability=reliability,
        median=math.exp(centre) if known else math.nan,
        sigma=math.sqrt(left) if known else math.nan,
    )
