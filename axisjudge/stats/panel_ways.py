"""The named ways of putting judges together, from those that need no label to those that need many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import InputError, one_of
from axisjudge.stats.clusters import AGREEMENT_ICC, clustered_variance, effective_clusters
from axisjudge.stats.panel_models import (
    TINY,
    Codes,
    Floats,
    LinearPanel,
    PanelVotes,
    Recipe,
    accuracies,
    codes,
    conditional_logit,
    dawid_skene,
    family_weights,
    held_out,
    likeliest,
    pulls,
    softmax,
    temperature,
    vote,
)
from axisjudge.stats.proportions import t_quantile

# Stacks: judges weighted by what labels say of them, shrunk towards one vote for each family.
#
#     readable (`logistic`)  score_c = a_c + sum_j (s f_j + d_j) 1[v_j = c]        one weight a judge, d_j with a ridge
#     in order (`ordered`)   readable + c sum_j (t f_j + e_j) (v_j - m_j)          words in order, m_j a mean
#     full (`ridge`)         score_c = a_c + s sum_j f_j 1[v_j = c] + sum_j D_j[v_j, c]    least squares on 1[label = c]
#
# f_j gives each family one vote, times a power of the log odds by which the judge is right (0: all alike; 3: nearly the
# best alone). Only the departures d and D are penalised, so that too strong a penalty ends at a calibrated vote and not
# at a constant. Every power and penalty is tried on tasks left out within the labels. No single one is picked: each
# counts in proportion to the likelihood that it gave the labels left out, at its own temperature,
#
#     mixed_c = sum_m w_m s_m score_mc      w_m ~ exp(-n loss_m)        score_c = b 1[v_best = c] + a mixed_c
#
# and b leans on the best judge picked by the labels: it is fitted on the same held-out scores, and is 0 where the
# mixture alone is right more often there than that judge by more than one standard error (clustered by task). Without
# it a stack of many judges loses to one that is better than all others together.
#
# Where words have an order, neither the likeliest word nor the one nearest to the expected position serves a kappa with
# quadratic weights: both say the rare ends too seldom. The ordered stack takes the highest of u_c p_c, with u such
# that on tasks left out each word is said as often as people say it.
#
# References
# ----------
# Agresti (2010), Analysis of ordinal categorical data, 4.1, doi:10.1002/9780470594001 (adjacent categories).
# Lin (1989), A concordance correlation coefficient, doi:10.2307/2532051 (spread that is too narrow costs agreement).
# Yao, Vehtari, Simpson and Gelman (2018), doi:10.1214/17-BA1091 (pseudo-BMA: weights by held-out likelihood).
# Breiman, Friedman, Stone and Olshen (1984), Classification and regression trees, 3.4.3 (one standard error's rule).
# Wolpert (1992), Stacked generalization, doi:10.1016/S0893-6080(05)80023-1. Breiman (1996), doi:10.1007/BF00117832.

Tried = tuple[float, float]
Path = Callable[[PanelVotes, Sequence[Tried]], list[LinearPanel]]

#: Powers and penalties tried, the strongest penalty first, in labels' worth of information.
LOGISTIC_TRIED = tuple(product((0.0, 3.0), (1000.0, 100.0, 10.0, 1.0)))
RIDGE_TRIED = tuple(product((0.0,), (3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0)))
#: A part of less weight is left out. The penalty on b, and the level of an interval of one standard error a side.
LEAST_PART, LEANING, ONE_ERROR = 0.05, 5.0, 0.6827
#: Matching of words with labels: how soft the highest is, in log odds; steps; the log odds of a word nobody gave.
_SOFT, _MATCHING, _NEVER = 0.1, 100, -1e6


def logistic(votes: PanelVotes, rng: np.random.Generator) -> LinearPanel:
    """One weight a judge, by penalised conditional logit."""
    return _tuned(votes, rng, logistic_path, LOGISTIC_TRIED)[0]


def ordered(votes: PanelVotes, rng: np.random.Generator) -> LinearPanel:
    """Two weights a judge, for its word and for how high it lies: for words that have an order."""
    return matched(*_tuned(votes, rng, ordered_path, LOGISTIC_TRIED), votes)


def ridge(votes: PanelVotes, rng: np.random.Generator) -> LinearPanel:
    """A weight for each judge, word and class, by penalised least squares."""
    return _tuned(votes, rng, ridge_path, RIDGE_TRIED)[0]


def _tuned(
    votes: PanelVotes, rng: np.random.Generator, path: Path, tried: Sequence[Tried]
) -> tuple[LinearPanel, Floats]:
    """The mixture of what was tried, and its scores of labelled items, each from fits without the item's task."""
    rows, seen = votes.labelled, votes.only(votes.labelled)
    truth, weight = seen.labels.astype(np.intp), seen.weights / seen.weights.mean()
    scores = np.full((len(tried), rows.size, votes.n_categories), np.nan)
    of_best = np.zeros(scores.shape[1:])
    for training, inside in held_out(votes, rng):
        if training.labelled.any():
            scores[:, inside] = [panel.scores(votes.words[inside]) for panel in path(training, tried)]
            of_best[inside] = _vote_of(votes.words[inside], best_judge(training), votes.n_categories)
    scores, of_best = scores[:, rows], of_best[rows]
    losses, temperatures = np.array([_loss(of_trial, truth, weight) for of_trial in scores]).T
    if not np.isfinite(losses).any():  # nobody answered where labels are
        return mixed(votes, path, Recipe(((*tried[0], 1.0),), 0.0)), scores[0]
    share = np.exp(-(weight.sum() ** 2 / (weight @ weight)) * (losses - losses.min()))
    share = np.where(share / share.sum() < LEAST_PART, 0.0, share)
    counts = temperatures * share / share.sum()
    mixture = np.einsum("m,mic->ic", counts, scores)
    best, rest = _leaning(of_best, mixture, seen, weight)
    parts = tuple((*each, rest * float(count)) for each, count in zip(tried, counts, strict=True) if count * rest > 0)
    return mixed(votes, path, Recipe(parts, best)), best * of_best + rest * mixture


def _leaning(of_best: Floats, mixture: Floats, seen: PanelVotes, weight: Floats) -> tuple[float, float]:
    """What the best judge's vote and the mixture count for, from held-out scores."""
    given = ~np.isnan(mixture).any(axis=1)
    truth = seen.labels.astype(np.intp)
    right = (likeliest(mixture) == truth).astype(float)
    alone = of_best[np.arange(truth.size), truth]
    if _gains(right - alone, seen.groups, weight):
        return 0.0, 1.0
    features = np.stack([of_best, mixture], axis=2)[given]
    best, rest = conditional_logit(features, truth[given], np.array([LEANING, 0.01]), weights=weight[given])
    if rest <= 0:
        return temperature(of_best, truth, weight), 0.0
    return (float(best), float(rest)) if best > 0 else (0.0, 1.0)


def _gains(moved: Floats, tasks: NDArray[np.intp], weight: Floats) -> bool:
    """Whether more is right by over an error, with one item and one more task as large as the largest unseen."""
    groups, gain = np.unique(tasks, return_inverse=True)[1], float(np.average(moved, weights=weight))
    sizes = np.bincount(groups, weights=weight)
    influence = weight * (moved - gain) / moved.size
    spread = clustered_variance(influence, groups, weights=weight, prior=AGREEMENT_ICC)
    unseen = float(np.average(np.abs(moved), weights=weight) * sizes.max() / sizes.sum())
    error = np.hypot(np.sqrt(spread.variance + spread.design_effect / effective_clusters(weight) ** 2), unseen)
    return bool(gain > t_quantile(spread.degrees, ONE_ERROR) * error)


def mixed(votes: PanelVotes, path: Path, recipe: Recipe) -> LinearPanel:
    """The parts of a recipe fitted on these votes and put together, with the vote of their best judge."""
    k, q = votes.words.shape[1], votes.n_categories
    intercept, table = np.zeros(q), np.zeros((k, q, q))
    for (*_, count), part in zip(recipe.parts, path(votes, [each[:2] for each in recipe.parts]), strict=True):
        intercept, table = intercept + count * part.intercept, table + count * part.table
    table[best_judge(votes)] += recipe.best * np.eye(q)
    return LinearPanel(intercept, table, pulls(table), recipe=recipe)


def best_judge(votes: PanelVotes) -> int:
    """The judge that is right most often on the labelled items."""
    return int(accuracies(votes).argmax())


def _vote_of(words: Floats, judge: int, n_categories: int) -> Floats:
    vote: Floats = np.eye(n_categories + 1, dtype=np.float64)[codes(words, n_categories)[:, judge], :n_categories]
    return vote


def _direction(votes: PanelVotes, power: float) -> Floats:
    """One vote a family, times a power of the log odds, beyond chance, by which each judge is right."""
    n, q = votes.n_labelled_groups, votes.n_categories
    accuracy = (n * accuracies(votes) + 1 / q) / (n + 1)
    odds = np.log(accuracy / (1 - accuracy)) + np.log(max(q - 1, 1))
    return np.asarray(family_weights(votes.families) * np.maximum(odds, 0.0) ** power)


def stacked(votes: PanelVotes, penalty: float) -> LinearPanel:
    """The stack of these words, in order where they have one, with a penalty that is not chosen by labels."""
    (panel,) = (ordered_path if votes.ordered else logistic_path)(votes, ((0.0, penalty),))
    return matched(panel, panel.scores(votes.words[votes.labelled]), votes) if votes.ordered else panel


def matched(panel: LinearPanel, scores: Floats, votes: PanelVotes) -> LinearPanel:
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


def _design(votes: PanelVotes) -> tuple[Floats, Codes, Floats]:
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


def logistic_path(votes: PanelVotes, tried: Sequence[Tried] = LOGISTIC_TRIED) -> list[LinearPanel]:
    """One panel for each power and penalty, uncalibrated."""
    design, truth, weight = _design(votes)
    return _logit_path(design, truth, weight, votes, [_same(design)], tried)


def _same(design: Floats) -> Floats:
    """1[v = c] for each judge, shape (judges, words, classes)."""
    return np.broadcast_to(np.eye(design.shape[2]), (design.shape[1], *design.shape[2:] * 2))


def ordered_path(votes: PanelVotes, tried: Sequence[Tried] = LOGISTIC_TRIED) -> list[LinearPanel]:
    """One panel for each power and penalty, uncalibrated, whose word is the likeliest."""
    design, truth, weight = _design(votes)
    step = np.arange(votes.n_categories)
    position = step / max(step[-1], 1)  # 0 for the lowest word, 1 for the highest
    times = np.einsum("i,ijv->jv", weight, design)
    mean = times @ position / np.maximum(times.sum(axis=1), 1e-12)
    above = (position - mean[:, None])[..., None] * step  # judges, words, classes
    return _logit_path(design, truth, weight, votes, [above, _same(design)], tried)


def _logit_path(
    design: Floats, truth: Codes, weight: Floats, votes: PanelVotes, bases: list[Floats], tried: Sequence[Tried]
) -> list[LinearPanel]:
    """Panels of ``table[j] = sum_b weight_bj bases[b][j]``, each basis of shape (judges, words, classes)."""
    n, k, q = design.shape
    classes = np.broadcast_to(np.eye(q)[:, 1:], (n, q, q - 1))
    own = [np.einsum("ijv,jvc->icj", design, basis) for basis in bases]
    panels = []
    for power, of_power in groupby(tried, key=itemgetter(0)):
        direction, beta = _direction(votes, power), None
        each_basis = [np.concatenate([of_judges @ direction[:, None], of_judges], axis=2) for of_judges in own]
        features = np.ascontiguousarray(np.concatenate([classes, *each_basis], axis=2))
        for _, strength in of_power:
            penalty = np.concatenate([np.full(q - 1, 0.1), *[np.r_[0.01, np.full(k, strength)]] * len(bases)])
            beta = conditional_logit(features, truth, penalty, weights=weight, start=beta)
            slopes = beta[q - 1 :].reshape(len(bases), k + 1)
            table = np.einsum("bj,bjvc->jvc", slopes[:, :1] * direction + slopes[:, 1:], np.stack(bases))
            panels.append(LinearPanel(np.concatenate([[0.0], beta[: q - 1]]), table, pulls(table)))
    return panels


def ridge_path(votes: PanelVotes, tried: Sequence[Tried] = RIDGE_TRIED) -> list[LinearPanel]:
    """One panel for each power and penalty, uncalibrated."""
    design, truth, w = _design(votes)
    n, k, q = design.shape
    target = np.eye(q)[truth]
    target_mean = np.average(target, axis=0, weights=w)
    indicators = design.reshape(n, k * q)
    mean = np.average(indicators, axis=0, weights=w)
    x = indicators - mean
    gram = (x * w[:, None]).T @ x
    panels = []
    for power, strength in tried:
        direction = _direction(votes, power)
        share = np.einsum("j,ijc->ic", direction, design)
        at_mean = np.average(share, axis=0, weights=w)
        centred = (share - at_mean) * w[:, None]
        slope = float((centred * (target - target_mean)).sum() / max((centred * (share - at_mean)).sum(), 1e-12))
        rest = target - target_mean - slope * (share - at_mean)
        departure = np.linalg.solve(gram + strength * np.eye(k * q), (x * w[:, None]).T @ rest)
        table = departure.reshape(k, q, q) + slope * direction[:, None, None] * np.eye(q)
        intercept = target_mean - slope * at_mean - mean @ departure
        panels.append(LinearPanel(intercept, table, pulls(table)))
    return panels


#: Sizes tried for a majority of the best.
BEST_OF = (1, 3, 5, 7)
#: A way that weighs judges by labels needs so many tasks with labels: fewer cannot be left out in turn.
FEWEST_TASKS = 5

Fit = Callable[[PanelVotes, np.random.Generator], LinearPanel]


@dataclass(frozen=True)
class Way:
    """A way of putting judges together, whether it weighs them by labels, and whether it takes an order of words."""

    fit: Fit
    by_labels: bool
    in_order: bool = False


def fit_panel(votes: PanelVotes, way: str, *, rng: np.random.Generator) -> LinearPanel:
    """Judges put together in one of the ways of `WAYS`.

    Parameters
    ----------
    votes : PanelVotes
        With labels on some items, or on none where the way needs none; labels then calibrate its probabilities.
    way : str
        ``majority``, ``families_equal``, ``dawid_skene``, ``best_single``, ``best_majority``, ``logistic``, ``ridge``;
        ``ordered`` where words have an order.
    rng : numpy.random.Generator
        Of the parts in which penalties and sizes are chosen.

    Raises
    ------
    InputError
        No such way, labels of too few tasks, or an order taken of words that have none.

    Examples
    --------
    >>> words = np.array([[1.0, 1, 0], [0, 0, 0], [1, 0, 0]])
    >>> rest = np.full(3, np.nan), np.ones(3), np.arange(3), ("a", "b", "b"), 2
    >>> panel = fit_panel(PanelVotes(words, *rest), "families_equal", rng=np.random.default_rng(0))
    >>> panel.weights.tolist(), likeliest(panel.scores(words)).tolist()
    ([1.0, 0.5, 0.5], [1.0, 0.0, 0.0])
    """
    if way in WAYS and WAYS[way].in_order and not votes.ordered:
        raise InputError("way", "takes an order of words, and these have none", way, "take logistic")
    one_of("way", way, WAYS)
    if WAYS[way].by_labels and votes.n_labelled_groups < FEWEST_TASKS:
        rule = f"weighing judges needs labels of {FEWEST_TASKS} tasks at least"
        cure = "label more, or take families_equal, which needs none"
        raise InputError("labels", rule, votes.n_labelled_groups, cure)
    return WAYS[way].fit(votes, rng)


def refit_panel(votes: PanelVotes, way: str, panel: LinearPanel, *, rng: np.random.Generator) -> LinearPanel:
    """The same way on other votes, with the parts of a stack as they were chosen for `panel`."""
    if panel.recipe is None:
        return fit_panel(votes, way, rng=rng)
    again = mixed(votes, _PATHS[way], panel.recipe)
    return again if panel.shift is None else matched(again, again.scores(votes.words[votes.labelled]), votes)


def calibrated(panel: LinearPanel, votes: PanelVotes) -> LinearPanel:
    """The panel with the temperature that fits the labels best; as it is without any."""
    rows = votes.labelled
    if not rows.any():
        return panel
    scores, truth = panel.scores(votes.words[rows]), votes.labels[rows].astype(np.intp)
    return replace(panel, temperature=temperature(scores, truth, votes.weights[rows]))


def _vote(votes: PanelVotes, weights: Floats) -> LinearPanel:
    panel = vote(votes.words, weights, votes.n_categories)
    labelled = votes.labelled.any()
    return calibrated(panel, votes) if labelled else replace(panel, temperature=UNLABELLED_VOTE)


#: Without labels a vote's shares are sharpened by this: three of four become .73. No label says how far to trust it.
UNLABELLED_VOTE = 2.0


def _best(votes: PanelVotes, size: int) -> LinearPanel:
    order = np.argsort(-accuracies(votes), kind="stable")
    chosen = np.zeros(order.size)
    chosen[order[:size]] = 1.0
    return _vote(votes, chosen)


def _best_majority(votes: PanelVotes, rng: np.random.Generator) -> LinearPanel:
    """The size with the highest accuracy on tasks left out within the labels, the smaller where two are level."""
    sizes = [size for size in BEST_OF if size < votes.words.shape[1]] or [votes.words.shape[1]]
    right = np.zeros(len(sizes))
    for training, inside in held_out(votes, rng):
        truth = votes.labels[inside]
        for position, size in enumerate(sizes):
            hits = likeliest(_best(training, size).scores(votes.words[inside])) == truth
            right[position] += float(votes.weights[inside] @ hits)
    return _best(votes, sizes[int(right.argmax())])


#: Every way by name.
WAYS: dict[str, Way] = {
    "majority": Way(lambda votes, rng: _vote(votes, np.ones(votes.words.shape[1])), by_labels=False),
    "families_equal": Way(lambda votes, rng: _vote(votes, family_weights(votes.families)), by_labels=False),
    "dawid_skene": Way(
        lambda votes, rng: calibrated(dawid_skene(votes.words, votes.n_categories), votes), by_labels=False
    ),
    "best_single": Way(lambda votes, rng: _best(votes, 1), by_labels=True),
    "best_majority": Way(_best_majority, by_labels=True),
    "logistic": Way(logistic, by_labels=True),
    "ordered": Way(ordered, by_labels=True, in_order=True),
    "ridge": Way(ridge, by_labels=True),
}
_PATHS = {"logistic": logistic_path, "ordered": ordered_path, "ridge": ridge_path}


def ways_for(votes: PanelVotes) -> tuple[str, ...]:
    """The ways that these words allow: those that take an order only where there is one."""
    return tuple(name for name, way in WAYS.items() if votes.ordered or not way.in_order)
