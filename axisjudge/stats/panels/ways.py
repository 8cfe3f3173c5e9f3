"""The named ways of putting judges together, from those that need no label to those that need many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from axisjudge.checks import InputError, one_of
from axisjudge.stats.panels.conditional_logit import temperature
from axisjudge.stats.panels.dawid_skene import dawid_skene
from axisjudge.stats.panels.linear import Floats, LinearPanel, family_weights, likeliest, vote
from axisjudge.stats.panels.stacking import (
    logistic,
    logistic_path,
    matched,
    mixed,
    ordered,
    ordered_path,
    ridge,
    ridge_path,
)
from axisjudge.stats.panels.votes import PanelVotes, accuracies, held_out

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
