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

from axisjudge.stats.panels.linear import Codes

Floats = NDArray[np.float64]

_MOST_STEPS, _SMALL = 50, 1e-8
#: Scores that labels speak against count for next to nothing; at 0 all words would be level and the first one given.
_FLATTEST = 1e-3


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
        How many items each row stands for: equal rows may be given once.
    """
    n_rows, n_classes, n_features = features.shape
    weight = np.ones(n_rows) if weights is None else weights
    n = float(weight.sum())
    against = np.ascontiguousarray((features[:, 1:] - features[:, :1]).transpose(1, 0, 2))  # the first class scores 0
    rows = against.reshape(-1, n_features)
    truth = (labels == np.arange(1, n_classes)[:, None]).astype(np.float64)

    def fitted(beta: Floats) -> tuple[float, Floats]:
        """The objective, and the probability of each class but the first, shape (n_classes - 1, n_rows)."""
        scores = (rows @ beta).reshape(n_classes - 1, n_rows)
        high = np.maximum(scores.max(axis=0, initial=0.0), 0.0)
        power = np.exp(scores - high)
        total = power.sum(axis=0) + np.exp(-high)
        value = float(weight @ ((truth * scores).sum(axis=0) - high - np.log(total)) - penalty @ beta**2 / 2)
        return value, power / total

    beta = np.zeros(n_features) if start is None else start
    value, p = fitted(beta)
    for _ in range(_MOST_STEPS):
        gradient = (weight * (truth - p)).ravel() @ rows - penalty * beta
        about_mean = against - np.einsum("ci,cif->if", p, against)
        curvature = (about_mean * (weight * p)[..., None]).reshape(-1, n_features).T @ rows
        step = np.linalg.solve(curvature + np.diag(penalty + 1e-9 * n), gradient)
        while (moved := fitted(beta + step))[0] < value - 1e-12:
            step = step / 2
            if np.abs(step).max() < _SMALL:
                return beta
        beta, gain, (value, p) = beta + step, moved[0] - value, moved
        if gain < _SMALL * n:
            break
    return beta


def temperature(scores: Floats, labels: Codes, weights: Floats | None = None) -> float:
    """The s > 0 with which softmax(s score) is best calibrated on labels, shape of scores (n_items, n_classes).

    A weak ridge (a standard deviation of 10 for s) keeps it finite where the scores are never wrong.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, ICML, arXiv:1706.04599.
    """
    given = ~np.isnan(scores).any(axis=1)
    if not given.any():
        return 1.0
    kept = None if weights is None else weights[given] / weights[given].mean()
    (found,) = conditional_logit(scores[given][..., None], labels[given], np.array([0.01]), weights=kept)
    return max(float(found), _FLATTEST)
