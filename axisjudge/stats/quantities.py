"""The register of quantities: one name, one formula, one denominator, one set of words for each.

Pages, commands and tests take a quantity's words from `QUANTITIES` and its value from the function that it names, so
that two pages cannot mean two things by one word. A word that takes no side (`uncertain`), one that says that the
question does not arise (`not_applicable`) and a lost verdict are in no denominator of verdicts; they stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: How a decided word counts in a failure rate; on the scale ``step`` -1 is failure. All other words take no side.
FAILED = {"incorrect": 1.0, "correct": 0.0, "-1": 1.0, "0": 0.0, "+1": 0.0}


@dataclass(frozen=True)
class Quantity:
    """One quantity: what pages call it, its formula, what it is a share of, and the function that computes it."""

    name: str
    words: str
    formula: str
    denominator: str
    function: str


_HERE = "axisjudge.stats.quantities"

#: Every quantity whose definition two pages could take differently, by name.
QUANTITIES = {
    each.name: each
    for each in (
        Quantity(
            "failure_rate",
            "failure rate",
            "incorrect / (correct + incorrect)",
            "verdicts of one judge that say correct or incorrect",
            f"{_HERE}.FAILED",
        ),
        Quantity(
            "any",
            "any-judge failure rate",
            "runs on which a judge says incorrect / runs on which a judge decides",
            "runs on which one judge or more decides",
            f"{_HERE}.any_fails",
        ),
        Quantity(
            "consensus",
            "consensus failure rate",
            "runs on which all that decide say incorrect / runs on which two or more decide",
            "runs on which two judges or more decide",
            f"{_HERE}.all_fail",
        ),
        Quantity(
            "majority_accuracy",
            "accuracy of the majority",
            "mean over items of [label among the commonest words] / number of commonest words",
            "labelled items on which a judge decides",
            f"{_HERE}.majority_right",
        ),
        Quantity(
            "split",
            "items on which judges are split",
            "items with two decided words or more that differ",
            "items on which two judges or more decide",
            f"{_HERE}.split",
        ),
        Quantity(
            "agreement_sure",
            "agreement where all that decide are sure",
            "items with one word / items, of those on which every confidence reaches its judge's quantile",
            "items on which two judges or more decide with a confidence",
            "axisjudge.stats.confidence.triage.triage",
        ),
        Quantity(
            "soft_agreement",
            "soft agreement",
            "1 - sum |b1 - b2| / (1/n) sum sum |b1 - b2|; belief b is 1/2 of uncertain, missing of not_applicable",
            "items on which both give a verdict and a confidence",
            "axisjudge.stats.agreement.soft.soft_agreement",
        ),
        Quantity(
            "case_weighted",
            "case-weighted agreement",
            "a coefficient with items weighted by the product of normalised confidences",
            "items on which both decide with a confidence",
            "axisjudge.stats.agreement.case_weighted.case_weighted",
        ),
        Quantity(
            "balanced_accuracy",
            "balanced accuracy",
            "mean over declared words w of P(judge says w | people say w)",
            "labelled items on which the judge decides; undefined where a declared word has no item",
            "axisjudge.stats.raters.balanced.balanced_accuracy",
        ),
        Quantity(
            "gain",
            "gain",
            "share of items right with one less share right with the other, item by item",
            "labelled items; one without an answer is wrong",
            "axisjudge.stats.rates.clustered.paired_share_difference",
        ),
        Quantity(
            "effective_judges",
            "effective number of judges",
            "k / (1 + (k - 1) mean correlation of errors)",
            "labelled items on which the judges decide",
            "axisjudge.stats.agreement.effective.effective_judges",
        ),
    )
}


def any_fails(incorrect: ArrayLike) -> Floats:
    """1 where a judge says incorrect, 0 where one decides otherwise and none says so; NaN where none decides.

    Parameters
    ----------
    incorrect : array, shape (..., n_judges)
        1 where a judge says incorrect, 0 where it says correct, NaN where it takes no side.
    """
    return np.asarray(np.fmax.reduce(np.asarray(incorrect, dtype=np.float64), axis=-1))


def all_fail(incorrect: ArrayLike) -> Floats:
    """1 where all judges that decide say incorrect, 0 where one decides otherwise; NaN where fewer than two decide.

    Examples
    --------
    >>> all_fail([[1, 1, np.nan], [1, 0, 0], [0, np.nan, np.nan]])
    array([ 1.,  0., nan])
    """
    votes = np.asarray(incorrect, dtype=np.float64)
    return np.where((~np.isnan(votes)).sum(axis=-1) >= 2, np.fmin.reduce(votes, axis=-1), np.nan)


def majority_right(words: ArrayLike, labels: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """How far the commonest decided word of each item is its label, and where several are as common.

    Parameters
    ----------
    words : array, shape (n_items, n_judges)
        NaN where a judge takes no side.
    labels : array, shape (n_items,)

    Returns
    -------
    right, tied : array, shape (n_items,)
        A word that is one of two commonest is right by a half. NaN where nobody decides or nobody labelled.

    Examples
    --------
    >>> majority_right([[1, 1, 0], [0, 1, np.nan]], [1, 1])
    (array([1. , 0.5]), array([False,  True]))
    """
    verdict, truth = np.asarray(words, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    known = np.unique(np.concatenate([verdict[~np.isnan(verdict)], truth[~np.isnan(truth)]]))
    votes = (verdict[:, :, None] == known).sum(axis=1)
    return shared_hits(np.where(votes.any(axis=1)[:, None], votes, np.nan), np.searchsorted(known, truth), truth)


def shared_hits(scores: ArrayLike, position: NDArray[np.intp], labels: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """How far the word with the highest score is the label, a tie shared, and where there is a tie.

    Parameters
    ----------
    scores : array, shape (n_items, n_words)
        NaN rows have no word.
    position : array of int, shape (n_items,)
        The column of each item's label; any where `labels` is NaN.
    labels : array, shape (n_items,)
    """
    score = np.asarray(scores, dtype=np.float64)
    given = ~np.isnan(score).any(axis=1) & ~np.isnan(np.asarray(labels, dtype=np.float64))
    top = score == score.max(axis=1, keepdims=True, initial=-np.inf)
    at = np.clip(position, 0, score.shape[1] - 1)
    right = top[np.arange(len(score)), at] / np.maximum(top.sum(axis=1), 1)
    return np.where(given, right, np.nan), given & (top.sum(axis=1) > 1)


def split(words: ArrayLike) -> NDArray[np.bool_]:
    """Where two judges that decide give different words."""
    verdict = np.asarray(words, dtype=np.float64)
    return np.asarray(np.fmin.reduce(verdict, axis=1) < np.fmax.reduce(verdict, axis=1))
