"""The multinomial logit with features that differ by class, by Newton's method, with a ridge on chosen coefficients.

    p_ic = softmax_c(x_ic . beta)         maximise sum_i w_i log p_i,y_i - 1/2 sum_k penalty_k beta_k^2

References
----------
McFadden (1974), Conditional logit analysis of qualitative choice behavior, in Frontiers in Econometrics 105-142.
le Cessie and van Houwelingen (1992), doi:10.2307/2347628 (ridge).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from axisjudge.stats.panels.linear import Codes, softmax

Floats = NDArray[np.float64]

_MOST_STEPS, _SMALL = 50, 1e-8


def conditional_logit(
    features: Floats, labels: Codes, penalty: Floats, *, weights: Floats | None = None, start: Floats | None = None
) -> Floats:
    """The coefficients, shape (n_features,).

    Parameters
    ----------
    features : array, shape (n_items, n_classes, n_features)
    labels : array of int, shape (n_items,)
        The class of each item.
    penalty : array, shape (n_features,)
        0 for a coefficient that is free; with separable classes something must hold it.
    weights : array, shape (n_items,), optional
        Of items; scaled to a mean of 1.
    """
    n, n_classes, n_features = features.shape
    weight = np.ones(n) if weights is None else weights / weights.mean()
    truth, rows = np.eye(n_classes)[labels], features.reshape(-1, n_features)
    beta = np.zeros(n_features) if start is None else start
    value = _objective(features, labels, penalty, weight, beta)
    for _ in range(_MOST_STEPS):
        p = softmax(features @ beta)
        gradient = (weight[:, None] * (truth - p)).ravel() @ rows - penalty * beta
        mean = (p[:, None, :] @ features)[:, 0]
        curvature = ((weight[:, None] * p).reshape(-1, 1) * rows).T @ rows - (weight[:, None] * mean).T @ mean
        step = np.linalg.solve(curvature + np.diag(penalty + 1e-9 * n), gradient)
        while (moved := _objective(features, labels, penalty, weight, beta + step)) < value - 1e-12:
            step = step / 2
            if np.abs(step).max() < _SMALL:
                return beta
        beta, gain, value = beta + step, moved - value, moved
        if gain < _SMALL * n:
            break
    return beta


def _objective(features: Floats, labels: Codes, penalty: Floats, weight: Floats, beta: Floats) -> float:
    scores = features @ beta
    high = scores.max(axis=1)
    normal = high + np.log(np.exp(scores - high[:, None]).sum(axis=1))
    own = scores[np.arange(labels.size), labels]
    return float(weight @ (own - normal) - penalty @ beta**2 / 2)


def temperature(scores: Floats, labels: Codes, weights: Floats | None = None) -> float:
    """The s >= 0 with which softmax(s score) is best calibrated on labels, shape of scores (n_items, n_classes).

    A weak ridge (a standard deviation of 10 for s) keeps it finite where the scores are never wrong.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, ICML, arXiv:1706.04599.
    """
    given = ~np.isnan(scores).any(axis=1)
    if not given.any():
        return 1.0
    kept = None if weights is None else weights[given]
    (found,) = conditional_logit(scores[given][..., None], labels[given], np.array([0.01]), weights=kept)
    return max(float(found), 0.0)
