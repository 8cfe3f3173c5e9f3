"""Triage without labels: what agreement and confidence together say of an item, and which items to read first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.results import Result, columns
from axisjudge.stats.confidence.calibration import auroc
from axisjudge.stats.confidence.recalibration import fit_mid_rank
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.rates.proportions import clustered_proportion

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Triage(Result):
    """Agreement by confidence.

    A judge is sure of an item when its confidence reaches its own `quantile`; an item is sure when all judges that
    decide on it are.
    `agree_sure` is the strongest signal; `disagree_unsure` flags the item. `agreement_sure` and `agreement_unsure`
    are the shares of agreeing items, `auc` the probability that an item with agreement has the higher lowest rank of
    confidence of one with and one without. `mean_when_agreeing` and `mean_when_disagreeing` hold each judge's mean
    confidence. `read_first` orders the items' positions: disagreements of unsure judges, other disagreements, unsure
    agreements; each by the lowest rank of confidence. Items on which fewer than two judges decide, with a confidence,
    are left out and counted.
    """

    _keys = columns(
        "agree_sure agree_unsure disagree_sure disagree_unsure n_missing quantile agreement_sure agreement_unsure auc"
    )

    agree_sure: int
    agree_unsure: int
    disagree_sure: int
    disagree_unsure: int
    agreement_sure: Estimate
    agreement_unsure: Estimate
    auc: Estimate
    mean_when_agreeing: Floats
    mean_when_disagreeing: Floats
    read_first: tuple[int, ...]
    n_missing: int
    quantile: float


def triage(
    ratings: ArrayLike,
    confidences: ArrayLike,
    *,
    quantile: float = 0.5,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "cluster",
    ci_level: float = 0.95,
) -> Triage:
    """The 2 x 2 of agreement by per-judge confidence quantile, and what follows from it.

    Parameters
    ----------
    ratings, confidences : array, shape (n_items, n_raters)
        Verdict codes and confidences; confidences are compared within a judge only. A judge without either on an item
        decides nothing there, as one that says `uncertain`, and the others are compared.
    quantile : float
        From which of its own quantiles a judge counts as sure.
    clusters : array, shape (n_items,), optional
        Which items belong together.
    """
    in_open_unit_interval("quantile", quantile)
    matrix, confidence = np.asarray(ratings, dtype=np.float64), np.asarray(confidences, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape != confidence.shape or matrix.shape[1] < 2:
        raise InputError(
            "confidences", f"needs the shape of the ratings {matrix.shape}, two raters or more", confidence.shape
        )
    decides = ~np.isnan(matrix) & ~np.isnan(confidence)
    kept = np.flatnonzero(decides.sum(axis=1) >= 2)
    if not kept.size:
        raise InputError("ratings", "no item has a verdict and a confidence of two judges")
    decides = decides[kept]
    matrix, confidence = (np.where(decides, each[kept], np.nan) for each in (matrix, confidence))
    agree = np.nanmin(matrix, axis=1) == np.nanmax(matrix, axis=1)
    used = decides.any(axis=0)
    limits = np.full(used.size, np.nan)
    limits[used] = np.nanquantile(confidence[:, used], quantile, axis=0)
    sure = ~(confidence < limits).any(axis=1)
    ranks = [fit_mid_rank(column[~np.isnan(column)], source="")(column, source="") for column in confidence[:, used].T]
    lowest_rank = np.nanmin(ranks, axis=0)
    groups = None if clusters is None else np.asarray(clusters)[kept]

    def share(of: NDArray[np.bool_]) -> Estimate:
        values = np.where(of, agree, np.nan)
        return clustered_proportion(values, groups, cluster_unit=cluster_unit, ci_level=ci_level)

    shares = share(np.asarray(sure)), share(np.asarray(~sure))
    auc = auroc(lowest_rank, agree, clusters=groups, cluster_unit=cluster_unit, ci_level=ci_level)
    stage = np.select([~agree & ~sure, ~agree, ~sure], [0, 1, 2], 3)
    order = np.lexsort((lowest_rank, stage))
    return Triage(
        agree_sure=int((agree & sure).sum()),
        agree_unsure=int((agree & ~sure).sum()),
        disagree_sure=int((~agree & sure).sum()),
        disagree_unsure=int((~agree & ~sure).sum()),
        agreement_sure=shares[0],
        agreement_unsure=shares[1],
        auc=auc,
        mean_when_agreeing=_means(confidence, agree),
        mean_when_disagreeing=_means(confidence, ~agree),
        read_first=tuple(kept[order[stage[order] < 3]].tolist()),
        n_missing=int(len(np.asarray(ratings)) - kept.size),
        quantile=quantile,
    )


def _means(confidence: Floats, rows: NDArray[np.bool_]) -> Floats:
    given = np.ma.masked_invalid(confidence[rows])
    return np.asarray(given.mean(axis=0).filled(np.nan)) if rows.any() else np.full(confidence.shape[1], np.nan)
