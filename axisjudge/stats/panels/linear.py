"""The one form that every way of putting judges together takes: words add up to scores, scores to probabilities.

    score_c = b_c + sum_j T[j, v_j, c]            v_j the word of judge j; a judge that gave none adds nothing
    p_c     = softmax(s score)_c
    word    = argmax_c u_c p_c

A vote has T[j, v, c] = w_j 1[v = c], divided by the weights of those who answered; Dawid and Skene's classes have
b_c = log prior_c and T[j, v, c] = log P(v | c); a stack has T fitted. So any of them is read, kept and applied alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError

#: Probabilities below are taken for this one where their logarithm is needed.
TINY = 1e-300

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Recipe:
    """How a stack is mixed: what each (power of the log odds, penalty) counts for, and the best judge's vote."""

    parts: tuple[tuple[float, float, float], ...]
    best: float


@dataclass(frozen=True, eq=False)
class LinearPanel:
    """Judges put together: `table` (judges, words, classes), `intercept` (classes,), `temperature` s.

    `weights` (judges,) are what may be read; `shared` says that scores are divided by the weights of those who
    answered. A judge of weight 0 is not asked. `recipe` says of which parts a stack is mixed. `shift` (classes,) is log
    u; without it the word is the likeliest.
    """

    intercept: Floats
    table: Floats
    weights: Floats
    temperature: float = 1.0
    shared: bool = False
    recipe: Recipe | None = None
    shift: Floats | None = None

    @property
    def n_categories(self) -> int:
        """Number of words."""
        return self.intercept.size

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Which judges the panel needs, shape (n_judges,); all where none weighs anything."""
        needed: NDArray[np.bool_] = self.weights != 0
        return needed if needed.any() else ~needed

    def scores(self, words: ArrayLike) -> Floats:
        """Scores, shape (n_items, n_categories); NaN where no judge of the panel gave a word.

        Parameters
        ----------
        words : array, shape (n_items, n_judges)
            Positions of words, NaN where a judge gave none.
        """
        coded = codes(words, self.n_categories)
        if coded.shape[1] != len(self.table):
            raise InputError("words", f"must have a column for each of the {len(self.table)} judges", coded.shape)
        given = (coded < self.n_categories) & self.asked
        silent = np.zeros((len(self.table), 1, self.n_categories))
        padded = np.concatenate([self.table, silent], axis=1)
        total: Floats = padded[np.arange(coded.shape[1]), coded].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            total = total / (given @ self.weights)[:, None] if self.shared else total
        total = total + self.intercept
        total[~given.any(axis=1)] = np.nan
        return total

    def probabilities(self, words: ArrayLike) -> Floats:
        """Probability of each word, shape (n_items, n_categories)."""
        return softmax(self.temperature * self.scores(words))

    def words(self, probabilities: Floats) -> Floats:
        """The panel's words, shape (n_items,): positions, NaN where it has no probability."""
        if self.shift is None:
            return likeliest(probabilities)
        return likeliest(np.log(np.maximum(probabilities, TINY)) + self.shift)


def codes(words: ArrayLike, n_categories: int) -> Codes:
    """Words as whole numbers, `n_categories` where there is none.

    Raises
    ------
    InputError
        Not a matrix, or a word that is none of the categories.
    """
    given = np.asarray(words, dtype=np.float64)
    if given.ndim != 2:
        raise InputError("words", "must be a matrix of items and judges", given.shape)
    lost = np.isnan(given)
    if not np.isin(given[~lost], np.arange(n_categories)).all():
        raise InputError("words", f"must be positions below {n_categories}, or NaN", words)
    whole: Codes = np.where(lost, n_categories, given).astype(np.intp)
    return whole


def softmax(scores: Floats) -> Floats:
    """Scores as probabilities along the last axis."""
    power = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(power / power.sum(axis=-1, keepdims=True))


def likeliest(scores: Floats) -> Floats:
    """The position of the highest score of each item; NaN where there is none."""
    lost = np.asarray(np.isnan(scores).any(axis=1))
    best: Floats = np.where(lost, np.nan, np.where(lost[:, None], 0.0, scores).argmax(axis=1))
    return best


def probability_of(words: Floats, probabilities: Floats, within: int = 0) -> Floats:
    """The probability of each item's word or one so many positions from it, shape (n_items,); NaN where it has none."""
    near = np.abs(words[:, None] - np.arange(probabilities.shape[1])) <= within
    return np.where(np.isnan(words), np.nan, np.where(near, probabilities, 0.0).sum(axis=1))


def family_weights(families: Sequence[str]) -> Floats:
    """The weight of each judge such that every family has one vote, shape (n_judges,).

    Examples
    --------
    >>> family_weights(["google", "openai", "openai"]).tolist()
    [1.0, 0.5, 0.5]
    """
    names, position, size = np.unique(np.asarray(families), return_inverse=True, return_counts=True)
    return np.asarray(1.0 / size[position], dtype=np.float64) if names.size else np.zeros(0)


def vote(words: ArrayLike, weights: ArrayLike, n_categories: int) -> LinearPanel:
    """A weighted vote; where words are level, the one that is commoner among all votes wins.

    Parameters
    ----------
    words : array, shape (n_items, n_judges)
        The votes, from which it is known which word is commoner.
    weights : array, shape (n_judges,)
        0 for a judge without a vote.
    """
    weight = np.asarray(weights, dtype=np.float64)
    coded = codes(words, n_categories)
    counts = np.stack([(coded == word).sum(axis=0) for word in range(n_categories)], axis=1)
    common = weight @ counts
    table = np.broadcast_to(np.eye(n_categories), (weight.size, n_categories, n_categories)) * weight[:, None, None]
    tie = 1e-9 * common / max(float(common.sum()), 1.0)
    return LinearPanel(tie, table, weight, shared=True)
