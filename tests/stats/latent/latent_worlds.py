"""Simulated studies whose truth is known: tasks x agents x axes, rated by a panel, some of them labelled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from axisjudge.stats.latent_sampler import (
    FACTOR_SCALE,
    FAILING,
    JUDGE_SCALE,
    SENSITIVITY,
    SPECIFICITY,
    Observed,
    RatedItems,
    crossed,
)

#: Deviations on the probit scale: an intraclass correlation of about .26 of the runs of a task.
ORDINARY = {"axis": 0.4, "agent": 0.4, "task": 0.6, "agent x axis": 0.3, "task x axis": 0.3, "run": 0.3}
PAIR = ((0.85, 0.75), (0.95, 0.9))


@dataclass(frozen=True, eq=False)
class World:
    """One study: its items, and the truth behind them.

    `failing`, `called` (agents, axes) are rates over tasks and runs like these; `sensitivity`, `specificity` (judges);
    `deviations` by factor; `effective` the panel's effective number of judges.
    """

    items: RatedItems
    truth: np.ndarray
    failing: np.ndarray
    called: np.ndarray
    sensitivity: np.ndarray
    specificity: np.ndarray
    deviations: dict[str, float]
    effective: float


def study(
    rng,
    *,
    tasks=5,
    agents=4,
    axes=5,
    mean=-0.8,
    deviations=ORDINARY,
    judges=PAIR,
    shared=0.4,
    labelled=0.25,
    repeats=1,
    flips=0.0,
    outlier=0.0,
    from_prior=False,
):
    """One study of `tasks` x `agents` runs on `axes`; with `from_prior` all that is not of the design is drawn.

    `judges` holds z-free rates of being right where an item fails and where not; `outlier` is added to one agent.
    """
    if from_prior:
        mean = rng.normal(*FAILING)
        deviations = {name: abs(rng.normal(0, FACTOR_SCALE)) for name in ORDINARY}
        shared = abs(rng.normal(0, FACTOR_SCALE))
        theta = np.stack([rng.normal(*prior) + abs(rng.normal(0, JUDGE_SCALE)) * rng.normal(size=len(judges[0]))
                          for prior in (SENSITIVITY, SPECIFICITY)])  # fmt: skip
    else:
        theta = ndtri(np.array(judges)) * np.sqrt(1 + shared**2)
    task, agent, axis = (x.ravel() for x in np.meshgrid(range(tasks), range(agents), range(axes), indexing="ij"))
    groups = {"task": task, "agent": agent, "axis": axis, "run": crossed([task, agent])}
    levels = {
        **{name: groups[name] for name in ("axis", "agent", "task", "run")},
        **{f"{name} x axis": crossed([groups[name], axis]) for name in ("agent", "task")},
    }
    effects = {name: deviations[name] * rng.normal(size=of.max() + 1) for name, of in levels.items()}
    effects["agent"][0] += outlier
    eta = mean + sum(effects[name][of] for name, of in levels.items())
    truth = rng.random(eta.size) < ndtr(eta)
    hard = shared * rng.normal(size=eta.size)
    right = ndtr(np.where(truth[:, None], theta[0], theta[1]) + hard[:, None])
    word = np.where(rng.random(right.shape) < right, truth[:, None], ~truth[:, None])
    flipped = rng.random((*word.shape, repeats)) < flips
    incorrect = (word[..., None] ^ flipped).sum(axis=-1).astype(float)
    labels = np.where(rng.random(eta.size) < labelled, truth, np.nan).astype(float)
    items = RatedItems(incorrect, np.full(word.shape, float(repeats)), labels, groups)
    cell = mean + effects["agent"][:, None] + effects["axis"] + effects["agent x axis"].reshape(agents, axes)
    failing = ndtr(cell / np.sqrt(1 + sum(deviations[name] ** 2 for name in ("task", "task x axis", "run"))))
    sensitivity, specificity = ndtr(theta / np.sqrt(1 + shared**2))
    called = failing * sensitivity.mean() + (1 - failing) * (1 - specificity.mean())
    effective = _effective(theta, shared, float(failing.mean()))
    return World(items, truth, failing, called, sensitivity, specificity, dict(deviations), effective)


def together(worlds):
    """Several studies of one design as the sampler takes them at once."""
    arrays = (np.stack([getattr(world.items, name) for world in worlds]) for name in ("incorrect", "given", "labels"))
    return Observed(*arrays, worlds[0].items.factors)


def _effective(theta, shared, failing, n=200_001):
    """Effective judges by a fine grid over difficulty: independent of the package's own quadrature."""
    hard = ndtri((np.arange(n) + 0.5) / n)[:, None]
    k = theta.shape[1]
    right = [ndtr(each + shared * hard) for each in theta]
    shares = (failing, 1 - failing)
    accuracy = sum(share * each.mean(axis=0) for share, each in zip(shares, right, strict=True))
    both = sum(share * each.T @ each / n for share, each in zip(shares, right, strict=True))
    rho = (both - np.outer(accuracy, accuracy)) / np.sqrt(np.outer(*[accuracy * (1 - accuracy)] * 2))
    return k / (1 + (rho.sum() - np.trace(rho)) / k)
