"""The design-based figures that stand beside those of the model, and how the model does with labels hidden."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from axisjudge.checks import in_unit_interval
from axisjudge.results import Result
from axisjudge.stats.agreement.effective import effective_judges
from axisjudge.stats.clusters import OUTCOME_ICC, STEP_ICC
from axisjudge.stats.estimate import Estimate
from axisjudge.stats.latent.panel import CellRate, JudgeRates, LatentPanel, NoModel, Sampler, latent_panel, with_all
from axisjudge.stats.rates.proportions import bounded_share
from axisjudge.studies.few_runs.panel import RatedPanel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Beside(Result):
    """One agent on one axis: by the model, and by design.

    `called` is the share that judges call incorrect, mean over those that say, `labelled` the share of labelled items
    that fail; both with tasks as clusters, and of these items alone.
    """

    model: CellRate
    called: Estimate
    labelled: Estimate


@dataclass(frozen=True)
class JudgeBeside(Result):
    """One judge: by the model, and on the labelled items."""

    model: JudgeRates
    sensitivity: Estimate
    specificity: Estimate


@dataclass(frozen=True)
class LabelsHidden(Result):
    """The model with some labels hidden, against these, beside the judges' votes counted.

    `accuracy` is the share of hidden labels on which a probability above one half is right, `brier` the mean squared
    distance of the probability from the label; `votes` of the share of judges that call an item incorrect. `failing`
    is the model's rate, `labelled` that of all labels, `alone` that of the labels it saw.
    """

    failing: Estimate
    labelled: Estimate
    alone: Estimate
    accuracy: float
    votes_accuracy: float
    brier: float
    votes_brier: float
    n_hidden: int
    refusal: NoModel


def beside(panel: RatedPanel, model: LatentPanel, *, ci_level: float) -> tuple[Beside, ...]:
    """Every agent and axis, with ``all`` where there are several."""
    counted = _said(panel)
    groups = panel.items.groups
    rows = []
    for agent in with_all(panel.agents):
        for axis in with_all(panel.axes):
            here = np.ones(panel.items.n_items, dtype=bool)
            here &= (groups["agent"] == panel.agents.index(agent)) if agent != "all" else True
            here &= (groups["axis"] == panel.axes.index(axis)) if axis != "all" else True
            called, labelled = (
                _share(panel, np.where(here, values, np.nan), ci_level) for values in (counted, panel.items.labels)
            )
            of_model = next((one for one in model.cells if (one.agent, one.axis) == (agent, axis)), None)
            if of_model is None:
                nothing = replace(model.effective, n_items=int(here.sum()))
                of_model = CellRate(agent, axis, nothing, nothing)
            rows.append(Beside(of_model, called, labelled))
    return tuple(rows)


def judges_beside(panel: RatedPanel, model: LatentPanel, *, ci_level: float) -> tuple[JudgeBeside, ...]:
    """Every judge of the model, with its rates of being right on labelled items."""
    items = panel.items
    word = np.where(items.given > 0, items.incorrect / np.maximum(items.given, 1), np.nan)
    return tuple(
        JudgeBeside(
            one,
            _share(panel, np.where(items.labels == 1, word[:, at], np.nan), ci_level),
            _share(panel, np.where(items.labels == 0, 1 - word[:, at], np.nan), ci_level),
        )
        for at, one in enumerate(model.judges)
    )


def effective_by_design(panel: RatedPanel, *, ci_level: float) -> Estimate | None:
    """Effective judges against the labels, by correlation of errors; None without labels or with one judge."""
    items = panel.items
    if items.n_judges < 2 or np.isnan(items.labels).all():
        return None
    word = np.where(items.given > 0, items.incorrect * 2 > items.given, np.nan)
    tasks = items.groups["task"]
    return effective_judges(word, items.labels, clusters=tasks, cluster_unit="task", ci_level=ci_level).n_effective


def labels_hidden(
    panel: RatedPanel, share: float, *, ci_level: float, seed: int, sampler: Sampler
) -> LabelsHidden | None:
    """The model with this share of the labels hidden, drawn at random, against them; None where none is hidden.

    Raises
    ------
    InputError
        The share is not in [0, 1].
    """
    items = panel.items
    known = np.flatnonzero(~np.isnan(items.labels))
    n_hidden = round(in_unit_interval("hidden", share) * len(known))
    if not n_hidden:
        return None
    hidden = np.random.default_rng(seed).permutation(known)[:n_hidden]
    labels = items.labels.copy()
    labels[hidden] = np.nan
    names = {"agent": panel.agents, "axis": panel.axes}
    seen = replace(items, labels=labels)
    model = latent_panel(seen, names, panel.judges, ci_level=ci_level, seed=seed, sampler=sampler)
    truth, votes, probability = items.labels[hidden], _said(panel)[hidden], model.probabilities[hidden]
    return LabelsHidden(
        failing=model.cells[-1].failing if model.cells else model.effective,
        labelled=_share(panel, items.labels, ci_level),
        alone=_share(panel, labels, ci_level),
        accuracy=_accuracy(probability, truth),
        votes_accuracy=_accuracy(votes, truth),
        brier=float(((probability - truth) ** 2).mean()),
        votes_brier=float(((votes - truth) ** 2).mean()),
        n_hidden=n_hidden,
        refusal=model.refusal,
    )


def _said(panel: RatedPanel) -> Floats:
    """The share of the judges that say anything who call each item incorrect, repeats counted in part; NaN of none."""
    given = panel.items.given
    word = np.where(given > 0, panel.items.incorrect / np.maximum(given, 1), 0.0)
    n_judges = (given > 0).sum(axis=1)
    return np.where(n_judges > 0, word.sum(axis=1) / np.maximum(n_judges, 1), np.nan)


def _accuracy(probability: Floats, truth: Floats) -> float:
    """Share right; a half is right half the time, and NaN throughout gives NaN."""
    if np.isnan(probability).any():
        return math.nan
    return float(np.where(probability == 0.5, 0.5, (probability > 0.5) == (truth == 1)).mean())


def _share(panel: RatedPanel, values: Floats, ci_level: float) -> Estimate:
    icc = STEP_ICC if panel.steps else OUTCOME_ICC
    tasks = panel.items.groups["task"]
    return bounded_share(values, tasks, cluster_unit="task", expected_icc=icc, ci_level=ci_level)
