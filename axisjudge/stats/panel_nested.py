"""What putting judges together, or one after the other, gains on tasks that no weight, size or penalty was chosen
on.

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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError
from axisjudge.results import Result
from axisjudge.stats.agreement.chance_corrected import agreement_coefficients
from axisjudge.stats.agreement.coefficient_intervals import leave_one_cluster_out
from axisjudge.stats.agreement.coefficients import COEFFICIENTS, rating_patterns
from axisjudge.stats.clustered import paired_share_difference
from axisjudge.stats.clusters import effective_clusters
from axisjudge.stats.escalation import Alone, sequence, thresholds
from axisjudge.stats.estimate import ClusteredShare, Estimate, shared_hits
from axisjudge.stats.panel_models import Floats, LinearPanel, PanelVotes, dawid_skene, held_out, probability_of
from axisjudge.stats.panel_ways import calibrated, fit_panel, refit_panel, ways_for
from axisjudge.stats.proportions import bounded_share, jackknife_interval

#: What every way is compared with.
REFERENCE = "best_single"

#: Passes steps on, as a bar of progress does while they are done.
Watch = Callable[[list[Any]], Iterable[Any]]


@dataclass(frozen=True, eq=False)
class NestedWay(Result):
    """One way on tasks left out: accuracy, kappa with the labels, log loss, and the gain over the best single judge.

    `words` and `probabilities` are those of the labelled items, in order. `calibration_error` is the mean confidence
    less the accuracy. Of the `n_tied` items with several likeliest words each of these is right in part, as in every
    accuracy of a majority; `kappa` takes the first.
    """

    _keys = ("way", "accuracy", "kappa", "gain", "log_loss", "calibration_error", "n_tied")

    way: str
    accuracy: ClusteredShare
    kappa: Estimate
    gain: Estimate
    log_loss: float
    calibration_error: float
    n_tied: int
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
    votes: PanelVotes,
    *,
    ways: Sequence[str] = (),
    seed: int = 0,
    cluster_unit: str = "task",
    ci_level: float = 0.95,
    watch: Watch = iter,
) -> dict[str, NestedWay]:
    """Every way side by side on tasks left out; an item without an answer counts as wrong.

    Parameters
    ----------
    votes : Votes
        With labels on the items that are to be left out in turn.
    ways : sequence of str
        Of `WAYS`; by default all that the words allow. Where these have an order, kappa has quadratic weights.
    seed : int
        Of the parts; every way has the same.
    watch : callable
        Passes the ways on one by one, as a bar of progress does.

    Returns
    -------
    dict
        By way, in the order of `ways`.
    """
    rows = votes.labelled
    ways = ways or ways_for(votes)
    held = {way: _left_out(votes, way, seed) for way in watch(list(dict.fromkeys([*ways, REFERENCE])))}
    terms = {"weights": votes.weights[rows], "cluster_unit": cluster_unit, "ci_level": ci_level}
    truth, groups = votes.labels[rows], votes.groups[rows]
    hits = {way: shared_hits(_scores(*each), truth.astype(np.intp), truth) for way, each in held.items()}
    right = {way: np.nan_to_num(share) for way, (share, _) in hits.items()}
    results = {}
    for way in ways:
        words, p = held[way]
        results[way] = NestedWay(
            way=way,
            accuracy=bounded_share(right[way], groups, **terms),  # type: ignore[arg-type]
            kappa=kappa_with(words, votes.only(rows), cluster_unit=cluster_unit, ci_level=ci_level),
            gain=paired_share_difference(right[way], right[REFERENCE], groups, **terms),  # type: ignore[arg-type]
            log_loss=_log_loss(p, truth, votes.weights[rows]),
            calibration_error=_mean(probability_of(words, p) - right[way], votes.weights[rows]),
            n_tied=int(hits[way][1].sum()),
            words=words,
            probabilities=p,
        )
    return results


def kappa_with(words: Floats, votes: PanelVotes, *, cluster_unit: str = "task", ci_level: float = 0.95) -> Estimate:
    """Cohen's kappa of words with the labels, all items labelled; quadratic weights where words have an order.

    Items count as they were drawn. With unequal weights the interval is the jackknife over tasks, on Fisher's z.
    """
    name = "cohen_kappa_quadratic" if votes.ordered else "cohen_kappa"
    pair, words_of = np.column_stack([words, votes.labels]), range(votes.n_categories)
    unit = {"cluster_unit": cluster_unit, "ci_level": ci_level}
    plain = agreement_coefficients(pair, [name], categories=words_of, clusters=votes.groups, **unit)[name]  # type: ignore[arg-type]
    if math.isnan(plain.estimate) or np.ptp(votes.weights) < 1e-12:
        return plain
    patterns = rating_patterns(pair, categories=words_of, clusters=votes.groups, weights=votes.weights)
    whole, left_out = leave_one_cluster_out(COEFFICIENTS[name], patterns)
    of_tasks = np.bincount(patterns.cluster, votes.weights)
    low, high = jackknife_interval(
        whole, left_out, scale="fisher", degrees=max(effective_clusters(of_tasks) - 1, 1.0), ci_level=ci_level
    )
    if math.isnan(plain.ci_low):  # too few tasks or disagreements, whatever their weights
        low = high = math.nan
    method = plain.method and "jackknife-t over clusters on Fisher's z"
    return replace(plain, estimate=whole, ci_low=low, ci_high=high, method=method)


def judges_worth(
    votes: PanelVotes, way: str, panel: LinearPanel, *, seed: int = 0, watch: Watch = iter, **terms: object
) -> list[JudgeWorth]:
    """What each judge that a panel asks adds to it, on tasks left out, with penalty and temperature held.

    NaN for one that is asked alone: without it there is no panel.
    """
    rows = votes.labelled
    truth, groups, weight = votes.labels[rows], votes.groups[rows], votes.weights[rows]
    words, whole = _refitted(votes, way, panel, seed)
    right = (words == truth).astype(float)
    alone = votes.words[rows] == truth[:, None]
    gains = []
    for judge in watch(np.flatnonzero(panel.asked).tolist()):
        words, without = _refitted(votes.without(judge), way, panel, seed)
        less = (words == truth).astype(float)
        gain = paired_share_difference(right, less, groups, weights=weight, **terms)  # type: ignore[arg-type]
        losses = [_log_loss(p, truth, weight) for p in (without, whole)]
        accuracy = float(np.average(alone[:, judge], weights=weight))
        if panel.asked.sum() < 2:
            gain, losses = replace(gain, estimate=math.nan, ci_low=math.nan, ci_high=math.nan), [math.nan] * 2
        gains.append(JudgeWorth(judge, float(panel.weights[judge]), accuracy, gain, losses[0] - losses[1]))
    return gains


def _left_out(votes: PanelVotes, way: str, seed: int) -> tuple[Floats, Floats]:
    """Words and probabilities of the labelled items, each from a fit that did not see its task; NaN where none."""
    blind = dawid_skene(votes.words, votes.n_categories) if way == "dawid_skene" else None  # it sees no label anyhow

    def fit(training: PanelVotes) -> LinearPanel:
        inner = np.random.default_rng([seed, 1])
        return calibrated(blind, training) if blind is not None else fit_panel(training, way, rng=inner)

    return _crossed(votes, fit, seed)


def _refitted(votes: PanelVotes, way: str, panel: LinearPanel, seed: int) -> tuple[Floats, Floats]:
    return _crossed(votes, lambda part: refit_panel(part, way, panel, rng=np.random.default_rng([seed, 1])), seed)


def _crossed(votes: PanelVotes, fit: Callable[[PanelVotes], LinearPanel], seed: int) -> tuple[Floats, Floats]:
    p = np.full((votes.labels.size, votes.n_categories), np.nan)
    words = np.full(votes.labels.size, np.nan)
    for training, inside in held_out(votes, np.random.default_rng(seed)):
        panel = fit(training)
        p[inside] = panel.probabilities(votes.words[inside])
        words[inside] = panel.words(p[inside])
    return words[votes.labelled], p[votes.labelled]


def _scores(words: Floats, p: Floats) -> Floats:
    """Probabilities, so that ties show; 1 for the word alone where a panel prefers one that is not the likeliest."""
    own = np.where(np.isnan(words)[:, None], np.nan, (words[:, None] == np.arange(p.shape[1])) * 1.0)
    likeliest = np.nanmax(np.where(own == 1, p, -np.inf), axis=1) >= p.max(axis=1)
    return np.where(likeliest[:, None], p, own)


def _log_loss(p: Floats, truth: Floats, weight: Floats) -> float:
    own = p[np.arange(truth.size), truth.astype(int)]
    return _mean(-np.log(np.maximum(own, 1e-12)), weight)


def _mean(values: Floats, weight: Floats) -> float:
    given = ~np.isnan(values)
    return float(np.average(values[given], weights=weight[given])) if given.any() else math.nan


# A cascade: judges asked one after the other, each item left with the first stage that is sure enough of it.
#
# With the confidence s_im of stage m in its word on item i, and one threshold t for all stages,
#
#     stage(i) = the first m with s_im >= t          decided(t) = {i : some stage is}
#     price(t) = sum_m price_m P(stage m is reached)
#
# Stages are calibrated on one scale, so that one t fits all; lowering it decides more items, earlier and worse. The
# thresholds of all stages are so tested jointly, as one sequence, and the error is that of the whole cascade.
#
# References
# ----------
# Jung, Brahman and Choi (2025), Trust or Escalate, arXiv:2407.18370, section 2.3 (cascades).


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
