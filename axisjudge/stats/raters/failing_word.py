"""Precision, recall and F1 of the word that means failure, each with an interval that respects clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate, IntervalTerms
from axisjudge.stats.rates.proportions import clustered_proportion


@dataclass(frozen=True)
class FailingWord(Result):
    """How a rater's word for failure goes with that of a reference.

    `precision` is the share of the items it flags that the reference fails, `recall` the share of the failed items that
    it flags, `f1` their harmonic mean, 2 TP / (2 TP + FP + FN).
    """

    precision: Estimate
    recall: Estimate
    f1: Estimate


def failing_word(
    flagged: ArrayLike,
    failed: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> FailingWord:
    r"""Precision, recall and F1 of failures.

    :math:`F_1 = 2 TP / (2 TP + FP + FN)` is a weighted share: each item that both fail counts twice and holds, each
    that one of them fails counts once and does not. Its interval is that of a share with these weights.

    Parameters
    ----------
    flagged, failed : array of 1, 0 or NaN, shape (n_items,)
        What the rater says and what the reference says; items that lack either (NaN) do not count.
    clusters : array, shape (n_items,), optional
        Which items belong together; without it items are taken as independent.

    Raises
    ------
    InputError
        The arrays differ in length.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval, chapter 7 (precision, recall and their harmonic mean).

    Examples
    --------
    >>> found = failing_word([1, 1, 1, 0, 0], [1, 1, 0, 1, 0])
    >>> [round(each.estimate, 3) for each in (found.precision, found.recall, found.f1)]
    [0.667, 0.667, 0.667]
    """
    said, truth = np.asarray(flagged, dtype=np.float64), np.asarray(failed, dtype=np.float64)
    if said.shape != truth.shape:
        raise InputError("failed", f"needs one entry for each of the {said.size} items", truth.shape)
    both = ~np.isnan(said) & ~np.isnan(truth)
    hit: NDArray[np.float64] = np.where(both, said * truth, np.nan)
    terms: IntervalTerms = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    either = both & (np.nan_to_num(said) + np.nan_to_num(truth) > 0)
    return FailingWord(
        precision=clustered_proportion(np.where(both & (said == 1), hit, np.nan), clusters, **terms),
        recall=clustered_proportion(np.where(both & (truth == 1), hit, np.nan), clusters, **terms),
        f1=clustered_proportion(np.where(either, hit, np.nan), clusters, weights=np.where(hit == 1, 2.0, 1.0), **terms),
    )
