"""What putting judges together gains on tasks that no weight, size or penalty was chosen on.

Every labelled task is left out once, in one of a few parts. Each way is fitted anew on the other parts, its penalties
chosen by a cross-validation inside them, and gives its words for the part left out. Which judge is the best single one
is chosen anew in the same way, so that the gain over it is that over the judge one would have picked.

References
----------
Varma and Simon (2006), Bias in error estimation when using cross-validation for model selection,
doi:10.1186/1471-2105-7-91.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from axisjudge.results import Result
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.estimate import ClusteredShare, Estimate
from axisjudge.stats.panels.dawid_skene import dawid_skene
from axisjudge.stats.panels.linear import Floats, LinearPanel, likeliest
from axisjudge.stats.panels.votes import FOLDS, Votes, held_out
from axisjudge.stats.panels.ways import WAYS, calibrated, fit_panel, refit_panel
from axisjudge.stats.rates.clustered import paired_share_difference
from axisjudge.stats.rates.proportions import clustered_proportion

#: What every way is compared with.
REFERENCE = "best_single"


@dataclass(frozen=True, eq=False)
class NestedWay(Result):
    """One way on tasks left out: accuracy, kappa with the labels, log loss, and the gain over the best single judge.

    `words` and `probabilities` are those of the labelled items, in order. `calibration_error` is the mean confidence
    less the accuracy.
    """

    _keys = ("way", "accuracy", "kappa", "gain", "log_loss", "calibration_error")

    way: str
    accuracy: ClusteredShare
    kappa: Estimate
    gain: Estimate
    log_loss: float
    calibration_error: float
    words: Floats
    probabilities: Floats


@dataclass(frozen=True)
class JudgeWorth(Result):
    """What a judge adds to a panel: accuracy and log loss with it less without it, on tasks left out."""

    judge: int
    weight: float
    accuracy: float
    gain: Estimate
    loss: float


def nested(
    votes: Votes,
    *,
    ways: Sequence[str] = tuple(WAYS),
    ordered: bool = False,
    seed: int = 0,
    n_folds: int = FOLDS,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
) -> dict[str, NestedWay]:
    """Every way side by side on tasks left out; an item without an answer counts as wrong.

    Parameters
    ----------
    votes : Votes
        With labels on the items that are to be left out in turn.
    ways : sequence of str
        Of `WAYS`; `REFERENCE` is always among them.
    ordered : bool
        The words have an order: kappa has quadratic weights.
    seed : int
        Of the parts; every way has the same.

    Returns
    -------
    dict
        By way, in the order of `ways`.
    """
    rows = votes.labelled
    held = {way: _left_out(votes, way, seed, n_folds)[rows] for way in dict.fromkeys([*ways, REFERENCE])}
    terms = {"weights": votes.weights[rows], "cluster_unit": cluster_unit, "ci_level": ci_level}
    truth, groups = votes.labels[rows], votes.groups[rows]
    right = {way: (likeliest(p) == truth).astype(float) for way, p in held.items()}
    name = "cohen_kappa_quadratic" if ordered else "cohen_kappa"
    results = {}
    for way in ways:
        words, p = likeliest(held[way]), held[way]
        pair = np.column_stack([words, truth])
        kappa = agreement_coefficients(
            pair, [name], categories=range(votes.n_categories), clusters=groups, cluster_unit=cluster_unit
        )[name]
        sure = np.where(np.isnan(p).any(axis=1), np.nan, p.max(axis=1))
        results[way] = NestedWay(
            way=way,
            accuracy=clustered_proportion(right[way], groups, **terms),  # type: ignore[arg-type]
            kappa=kappa,
            gain=paired_share_difference(right[way], right[REFERENCE], groups, **terms),  # type: ignore[arg-type]
            log_loss=_log_loss(p, truth, votes.weights[rows]),
            calibration_error=_mean(sure - right[way], votes.weights[rows]),
            words=words,
            probabilities=p,
        )
    return results


def judges_worth(votes: Votes, way: str, panel: LinearPanel, *, seed: int = 0, **terms: object) -> list[JudgeWorth]:
    """What each judge that a panel asks adds to it, on tasks left out, with penalty and temperature held."""
    rows = votes.labelled
    truth, groups, weight = votes.labels[rows], votes.groups[rows], votes.weights[rows]
    whole = _refitted(votes, way, panel, seed)[rows]
    right = (likeliest(whole) == truth).astype(float)
    alone = votes.words[rows] == truth[:, None]
    worth = []
    for judge in np.flatnonzero(panel.asked):
        without = _refitted(votes.without(int(judge)), way, panel, seed)[rows]
        less = (likeliest(without) == truth).astype(float)
        gain = paired_share_difference(right, less, groups, weights=weight, **terms)  # type: ignore[arg-type]
        losses = [_log_loss(p, truth, weight) for p in (without, whole)]
        accuracy = float(np.average(alone[:, judge], weights=weight))
        worth.append(JudgeWorth(int(judge), float(panel.weights[judge]), accuracy, gain, losses[0] - losses[1]))
    return worth


def _left_out(votes: Votes, way: str, seed: int, n_folds: int) -> Floats:
    """Probabilities of each labelled item from a fit that did not see its task; NaN elsewhere."""
    p = np.full((votes.labels.size, votes.n_categories), np.nan)
    blind = dawid_skene(votes.words, votes.n_categories) if way == "dawid_skene" else None  # it sees no label anyhow
    for training, inside in held_out(votes, np.random.default_rng(seed), n_folds):
        inner = np.random.default_rng([seed, 1])
        panel = calibrated(blind, training) if blind is not None else fit_panel(training, way, rng=inner)
        p[inside] = panel.probabilities(votes.words[inside])
    return p


def _refitted(votes: Votes, way: str, panel: LinearPanel, seed: int) -> Floats:
    p = np.full((votes.labels.size, votes.n_categories), np.nan)
    for training, inside in held_out(votes, np.random.default_rng(seed)):
        again = refit_panel(training, way, panel, rng=np.random.default_rng([seed, 1]))
        p[inside] = again.probabilities(votes.words[inside])
    return p


def _log_loss(p: Floats, truth: Floats, weight: Floats) -> float:
    own = p[np.arange(truth.size), truth.astype(int)]
    return _mean(-np.log(np.maximum(own, 1e-12)), weight)


def _mean(values: Floats, weight: Floats) -> float:
    given = ~np.isnan(values)
    return float(np.average(values[given], weights=weight[given])) if given.any() else math.nan
