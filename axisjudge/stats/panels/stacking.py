"""Stacks: judges weighted by what labels say of them, shrunk towards one vote for each family.

    readable (`logistic`)  score_c = a_c + sum_j (s f_j + d_j) 1[v_j = c]        one weight a judge, d_j with a ridge
    in order (`ordered`)   readable + c sum_j (t f_j + e_j) (v_j - m_j)          words in order, m_j a mean
    full (`ridge`)         score_c = a_c + s sum_j f_j 1[v_j = c] + sum_j D_j[v_j, c]    least squares on 1[label = c]

f_j gives each family one vote. Only the departures d and D are penalised, so that too strong a penalty ends at a
calibrated vote of families and not at a constant. The penalty is the one with the least log loss on tasks left out
within the labels, and the temperature is fitted on the same held-out scores: scores of the labels that a stack was
fitted on would be too sure.

Where words have an order, neither the likeliest word nor the one nearest to the expected position serves a kappa with
quadratic weights: both say the rare ends too seldom. The ordered stack takes the highest of u_c p_c, with u such
that on tasks left out each word is said as often as people say it.

References
----------
Agresti (2010), Analysis of ordinal categorical data, 4.1, doi:10.1002/9780470594001 (adjacent categories).
Lin (1989), A concordance correlation coefficient, doi:10.2307/2532051 (spread that is too narrow costs agreement).
Wolpert (1992), Stacked generalization, doi:10.1016/S0893-6080(05)80023-1. Breiman (1996), doi:10.1007/BF00117832.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from axisjudge.stats.panels.conditional_logit import conditional_logit, temperature
from axisjudge.stats.panels.dawid_skene import pulls
from axisjudge.stats.panels.linear import TINY, Codes, Floats, LinearPanel, codes, family_weights, softmax
from axisjudge.stats.panels.votes import Votes, held_out

#: Penalties tried, strongest first, in labels' worth of information.
LOGISTIC_PENALTIES = (1000.0, 100.0, 30.0, 10.0, 3.0, 1.0)
RIDGE_PENALTIES = (3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0)
#: Matching of words with labels: how soft the highest is, in log odds; steps; the log odds of a word nobody gave.
_SOFT, _MATCHING, _NEVER = 0.1, 100, -1e6


def logistic(votes: Votes, rng: np.random.Generator) -> LinearPanel:
    """One weight a judge, by penalised conditional logit."""
    return _tuned(votes, rng, logistic_path)[0]


def ordered(votes: Votes, rng: np.random.Generator) -> LinearPanel:
    """Two weights a judge, for its word and for how high it lies: for words that have an order."""
    return matched(*_tuned(votes, rng, ordered_path), votes)


def ridge(votes: Votes, rng: np.random.Generator) -> LinearPanel:
    """A weight for each judge, word and class, by penalised least squares."""
    return _tuned(votes, rng, ridge_path)[0]


def _tuned(
    votes: Votes, rng: np.random.Generator, path: Callable[[Votes], list[LinearPanel]]
) -> tuple[LinearPanel, Floats]:
    """The panel of the penalty with the least log loss on tasks left out, and its scores of labelled items there."""
    every = path(votes)
    rows = votes.labelled
    truth, weight = votes.labels[rows].astype(np.intp), votes.weights[rows]
    scores = np.full((len(every), rows.size, votes.n_categories), np.nan)
    for training, inside in held_out(votes, rng):
        if training.labelled.any():
            scores[:, inside] = [panel.scores(votes.words[inside]) for panel in path(training)]
    trials = [_loss(of_penalty[rows], truth, weight) for of_penalty in scores]
    best = int(np.nanargmin([loss for loss, _ in trials])) if np.isfinite([loss for loss, _ in trials]).any() else 0
    return replace(every[best], temperature=trials[best][1]), scores[best][rows]


def stacked(votes: Votes, penalty: float) -> LinearPanel:
    """The stack of these words, in order where they have one, with a penalty that is not chosen by labels."""
    (panel,) = (ordered_path if votes.ordered else logistic_path)(votes, (penalty,))
    return matched(panel, panel.scores(votes.words[votes.labelled]), votes) if votes.ordered else panel


def matched(panel: LinearPanel, scores: Floats, votes: Votes) -> LinearPanel:
    """The panel with the shift by which each word is said as often as the labels do.

    `scores` (labelled items, classes) are the panel's of those items, or of a fit without their tasks. The highest is
    softened, so that shares move smoothly, and they are matched by Sinkhorn's steps (doi:10.2140/pjm.1967.21.343).
    """
    given, rows = ~np.isnan(scores).any(axis=1), votes.labelled
    if not given.any():
        return panel
    p = softmax(panel.temperature * scores[given])
    log_p = np.log(np.maximum(p, TINY)) / _SOFT
    weight = votes.weights[rows][given] / votes.weights[rows][given].sum()
    share = weight @ np.eye(votes.n_categories)[votes.labels[rows][given].astype(np.intp)]
    shift = np.where(share > 0, 0.0, _NEVER)  # a word that nobody gave is not said
    for _ in range(_MATCHING):
        words = weight @ softmax(log_p + shift / _SOFT)
        shift = np.where(share > 0, shift + _SOFT * np.log(np.maximum(share, TINY) / np.maximum(words, TINY)), _NEVER)
    return replace(panel, shift=shift - shift.max())


def _loss(scores: Floats, truth: Codes, weight: Floats) -> tuple[float, float]:
    """Mean log loss at the best temperature, and that temperature."""
    given = ~np.isnan(scores).any(axis=1)
    if not given.any():
        return np.inf, 1.0
    s = temperature(scores, truth, weight)
    own = softmax(s * scores[given])[np.arange(int(given.sum())), truth[given]]
    return float(np.average(-np.log(np.maximum(own, 1e-12)), weights=weight[given])), s


def _design(votes: Votes) -> tuple[Floats, Codes, Floats]:
    """Each distinct row of words with its label: words as indicators (rows, judges, classes), labels, and weights.

    Weights have a mean of 1 over items, so that a row's is the number of items that it stands for.
    """
    rows, q = votes.labelled, votes.n_categories
    weight = votes.weights[rows]
    pattern = np.column_stack([codes(votes.words[rows], q), votes.labels[rows].astype(np.intp)]).astype(np.int16)
    _, first, row = np.unique(pattern.view(f"V{pattern[:1].nbytes}"), return_index=True, return_inverse=True)
    distinct = pattern[first]
    counts = np.bincount(row.ravel(), weight / weight.mean()).astype(np.float64)
    return np.eye(q + 1)[distinct[:, :-1]][..., :q], distinct[:, -1].astype(np.intp), counts


def logistic_path(votes: Votes, penalties: Sequence[float] = LOGISTIC_PENALTIES) -> list[LinearPanel]:
    """One panel a penalty, from the strongest on, uncalibrated."""
    said, truth, weight = _design(votes)
    return _logit_path(said, truth, weight, votes.families, [_same(said)], penalties)


def _same(said: Floats) -> Floats:
    """1[v = c] for each judge, shape (judges, words, classes)."""
    return np.broadcast_to(np.eye(said.shape[2]), (said.shape[1], *said.shape[2:] * 2))


def ordered_path(votes: Votes, penalties: Sequence[float] = LOGISTIC_PENALTIES) -> list[LinearPanel]:
    """One panel a penalty, from the strongest on, uncalibrated, whose word is the likeliest."""
    said, truth, weight = _design(votes)
    step = np.arange(votes.n_categories)
    position = step / max(step[-1], 1)  # 0 for the lowest word, 1 for the highest
    times = np.einsum("i,ijv->jv", weight, said)
    mean = times @ position / np.maximum(times.sum(axis=1), 1e-12)
    above = (position - mean[:, None])[..., None] * step  # judges, words, classes
    return _logit_path(said, truth, weight, votes.families, [above, _same(said)], penalties)


def _logit_path(
    said: Floats, truth: Codes, weight: Floats, families: Sequence[str], bases: list[Floats], penalties: Sequence[float]
) -> list[LinearPanel]:
    """Panels of ``table[j] = sum_b weight_bj bases[b][j]``, each basis of shape (judges, words, classes)."""
    n, k, q = said.shape
    family = family_weights(families)
    classes = np.broadcast_to(np.eye(q)[:, 1:], (n, q, q - 1))
    own = [np.einsum("ijv,jvc->icj", said, basis) for basis in bases]
    each_basis = [np.concatenate([of_judges @ family[:, None], of_judges], axis=2) for of_judges in own]
    features = np.ascontiguousarray(np.concatenate([classes, *each_basis], axis=2))
    beta, panels = None, []
    for strength in penalties:
        penalty = np.concatenate([np.full(q - 1, 0.1), *[np.r_[0.01, np.full(k, strength)]] * len(bases)])
        beta = conditional_logit(features, truth, penalty, weights=weight, start=beta)
        slopes = beta[q - 1 :].reshape(len(bases), k + 1)
        each = slopes[:, :1] * family + slopes[:, 1:]  # bases, judges
        table = np.einsum("bj,bjvc->jvc", each, np.stack(bases))
        weights = each[0] if len(bases) == 1 else pulls(table)
        panels.append(LinearPanel(np.concatenate([[0.0], beta[: q - 1]]), table, weights, penalty=strength))
    return panels


def ridge_path(votes: Votes, penalties: Sequence[float] = RIDGE_PENALTIES) -> list[LinearPanel]:
    """One panel a penalty, uncalibrated."""
    said, truth, w = _design(votes)
    n, k, q = said.shape
    target = np.eye(q)[truth]
    family = family_weights(votes.families)
    share = np.einsum("j,ijc->ic", family, said)
    at_mean, target_mean = np.average(share, axis=0, weights=w), np.average(target, axis=0, weights=w)
    centred = share - at_mean
    slope = float((w[:, None] * centred * (target - target_mean)).sum() / max((w[:, None] * centred**2).sum(), 1e-12))
    rest = target - target_mean - slope * centred
    indicators = said.reshape(n, k * q)
    mean = np.average(indicators, axis=0, weights=w)
    x = indicators - mean
    gram, moment = (x * w[:, None]).T @ x, (x * w[:, None]).T @ rest
    panels = []
    for strength in penalties:
        departure = np.linalg.solve(gram + strength * np.eye(k * q), moment)
        table = departure.reshape(k, q, q) + slope * family[:, None, None] * np.eye(q)
        intercept = target_mean - slope * at_mean - mean @ departure
        panels.append(LinearPanel(intercept, table, pulls(table), penalty=strength))
    return panels
