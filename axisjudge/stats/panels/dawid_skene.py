"""Dawid and Skene's model: each judge has its own confusion of words, and the truth is a class that nobody saw.

    P(v_1 .. v_k | c) = prod_j P_j(v_j | c)       the errors of judges are independent given the class

It needs no labels, and it cannot know errors that judges share: these look to it like the truth.

References
----------
Dawid and Skene (1979), Appl. Stat. 28:20-28, doi:10.2307/2346806.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from axisjudge.stats.panels.linear import Floats, LinearPanel, codes, softmax

#: Words that a judge is taken to have said once more in each class than it was seen to.
SMOOTHING = 0.5
_MOST_ROUNDS, _SMALL = 200, 1e-5


def dawid_skene(words: ArrayLike, n_categories: int, *, smoothing: float = SMOOTHING) -> LinearPanel:
    """Prior and confusion of each judge by expectation and maximisation, from the shares of votes on.

    Parameters
    ----------
    words : array, shape (n_items, n_judges)
        Positions of words, NaN where a judge gave none.
    n_categories : int
    smoothing : float
        Added to every count, so that no word is impossible.

    Returns
    -------
    LinearPanel
        ``intercept`` is the log prior, ``table[j, v, c]`` the log probability that judge j says v of class c;
        `weights` are the mean log odds by which a judge's word speaks for its own class.
    """
    coded = codes(words, n_categories)
    given = coded < n_categories
    said = np.eye(n_categories + 1)[coded][..., :n_categories]  # items, judges, words
    votes = said.sum(axis=1) + smoothing / n_categories
    posterior = votes / votes.sum(axis=1, keepdims=True)
    posterior[~given.any(axis=1)] = 0.0  # nobody's word tells nothing
    for _ in range(_MOST_ROUNDS):
        panel = _maximised(said, posterior, smoothing)
        scores = panel.intercept + np.einsum("ijv,jvc->ic", said, panel.table)
        expected = np.where(given.any(axis=1, keepdims=True), softmax(scores), 0.0)
        moved = float(np.abs(expected - posterior).max(initial=0.0))
        posterior = expected
        if moved < _SMALL:
            break
    return _maximised(said, posterior, smoothing)


def _maximised(said: Floats, posterior: Floats, smoothing: float) -> LinearPanel:
    prior = posterior.sum(axis=0) + smoothing
    counts = np.einsum("ijv,ic->jvc", said, posterior) + smoothing
    table = np.log(counts / counts.sum(axis=1, keepdims=True))
    return LinearPanel(np.log(prior / prior.sum()), table, pulls(table))


def pulls(table: Floats) -> Floats:
    """By how much a judge's word speaks for its own class against the others, mean over words, shape (n_judges,)."""
    n = table.shape[1]
    own = np.einsum("jvv->jv", table)
    return np.asarray(((own * n - table.sum(axis=2)) / max(n - 1, 1)).mean(axis=1))
