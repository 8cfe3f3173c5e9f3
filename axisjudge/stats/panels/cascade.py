"""A cascade: judges asked one after the other, each item left with the first stage that is sure enough of it.

With the confidence s_im of stage m in its word on item i, and one threshold t for all stages,

    stage(i) = the first m with s_im >= t          decided(t) = {i : some stage is}
    price(t) = sum_m price_m P(stage m is reached)

Stages are calibrated on one scale, so that one t fits all; lowering it decides more items, earlier and worse. The
thresholds of all stages are so tested jointly, as one sequence, and the error is that of the whole cascade.

References
----------
Jung, Brahman and Choi (2025), Trust or Escalate, arXiv:2407.18370, section 2.3 (cascades).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.stats.confidence.escalation import Alone, sequence, thresholds

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CascadeRates(Result):
    """What a cascade decides at its common threshold.

    `alone` holds share, threshold and error of all that any stage decides, or the refusal; `decided` the share of items
    that each stage decides; `price` the expected price of an item, what people read left out.
    """

    alone: Alone
    decided: tuple[float, ...]
    price: float


def stage_of(confidences: ArrayLike, threshold: float) -> NDArray[np.intp]:
    """The stage that decides each item; the number of stages where none does.

    Examples
    --------
    >>> stage_of([[0.9, 0.95], [0.6, 0.92], [0.5, 0.6]], 0.9).tolist()
    [0, 1, 2]
    """
    sure = np.asarray(confidences, dtype=np.float64) >= threshold  # NaN is not sure
    stages: NDArray[np.intp] = np.where(sure.any(axis=1), sure.argmax(axis=1), sure.shape[1]).astype(np.intp)
    return stages


def price_of(stages: NDArray[np.intp], prices: Sequence[float]) -> float:
    """The expected price of an item: every stage that an item reaches is paid."""
    return float(sum(price * (stages >= stage).mean() for stage, price in enumerate(prices)))


def cascade(
    confidences: ArrayLike,
    wrong: ArrayLike,
    prices: Sequence[float],
    clusters: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    risk: float = 0.1,
    confidence_level: float = 0.95,
    cluster_unit: str = "cluster",
) -> CascadeRates:
    """The lowest common threshold at which a cascade errs in at most `risk` of what it decides.

    Parameters
    ----------
    confidences : array, shape (n_items, n_stages)
        Of each stage in its word, calibrated; NaN where it has none.
    wrong : array of 1, 0 or NaN, shape (n_items, n_stages)
        Whether a stage's word differs from the label; NaN where there is no label.
    prices : sequence of float, shape (n_stages,)
        Of one item at each stage.
    """
    sure, error = np.asarray(confidences, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    if sure.ndim != 2 or sure.shape != error.shape or len(prices) != sure.shape[1]:
        raise InputError("confidences", "must be items x stages, as the errors are, with a price a stage", sure.shape)
    judged = np.asarray(~np.isnan(sure).all(axis=1))
    labelled = np.asarray(judged & ~np.isnan(error).any(axis=1))
    if not labelled.any():
        refusal = "no item has a confidence, a verdict and a label"
        nothing = Alone(0.0, np.nan, None, risk, confidence_level, int(judged.sum()), refusal)
        return CascadeRates(nothing, (0.0,) * len(prices), float(sum(prices)))
    ends = thresholds(np.nanmax(np.where(labelled[:, None], sure, -np.inf), axis=1)[labelled])
    n_stages = sure.shape[1]
    kept, errors, expected = [], [], []
    for end in ends:
        stage = stage_of(sure, end)
        kept.append(judged & (stage < n_stages))
        deciding = np.arange(len(error)), np.minimum(stage, n_stages - 1)
        errors.append(np.where(labelled, error[deciding], np.nan))
        expected.append(1 - sure[deciding])
    alone = sequence(
        ends,
        kept,
        judged,
        errors,
        expected,
        clusters,
        weights=weights,
        risk=risk,
        confidence_level=confidence_level,
        cluster_unit=cluster_unit,
    )
    stages = stage_of(sure[judged], alone.threshold if not alone.refusal else np.inf)
    decided = tuple(float((stages == stage).mean()) for stage in range(n_stages))
    return CascadeRates(alone, decided, price_of(stages, prices))
