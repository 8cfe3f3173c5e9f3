"""Which form predicts people's scores of unseen tasks best: cross-validated loss, task by task."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.scores.curves.curve import AXIS_CURVE, Floats, IsotonicCurve, LogLogisticCurve, LogNormalCurve
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
FORMS = (LogNormalCurve.form, LogLogisticCurve.form, IsotonicCurve.form, ASSUMED, CONSTANT)


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


def isotonic_curve(raw: ArrayLike, share: ArrayLike) -> IsotonicCurve:
    """The rising curve nearest to shares in squared error, with straight lines between the raw scores seen."""
    x, given = np.asarray(raw, dtype=np.float64), np.asarray(share, dtype=np.float64)
    knots, at, count = np.unique(x, return_inverse=True, return_counts=True)
    fitted = isotonic_fit(np.bincount(at, weights=given) / count, count)
    return IsotonicCurve(tuple(knots.tolist()), tuple(np.clip(fitted, 0, 1).tolist()))


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
    if form == IsotonicCurve.form:
        return isotonic_curve(x, y / 100).score(unseen)
    line: LinkLine = fractional_line(np.log(x), y / 100, link="probit" if form == LogNormalCurve.form else "logit")
    eta = line.intercept + line.slope * np.log(unseen)
    return np.asarray(100 * (ndtr(eta) if form == LogNormalCurve.form else expit(eta)))
