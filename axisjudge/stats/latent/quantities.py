"""What is read off every draw of the latent model: rates, skills of judges, shares of variance, effective judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from axisjudge.stats.latent.rated import RatedItems, pairs
from axisjudge.stats.latent.sampler import POINTS, WEIGHTS, Draws

Floats = NDArray[np.float64]

#: Effects that a rate is conditional on; all other factors are averaged over, as those of new tasks and runs.
FIXED = ("axis", "agent", "agent x axis")


@dataclass(frozen=True, eq=False)
class Quantities:
    """Draws of what is reported: (series, draws, ...).

    `failing`, `called` are (.., agents, axes); `sensitivity`, `specificity` and `leniency` (.., judges); `components`
    by source; `effective` (..).
    """

    failing: Floats
    called: Floats
    sensitivity: Floats
    specificity: Floats
    flips: Floats
    components: Mapping[str, Floats]
    effective: Floats

    @classmethod
    def of(cls, drawn: Draws, items: RatedItems) -> Quantities:
        """Of every draw."""
        variances = drawn.deviations**2
        score = _cell_scores(drawn, items)
        random = sum(
            (variances[..., at] for at, name in enumerate(items.factors) if name not in FIXED),
            start=np.zeros(variances.shape[:2]),
        )
        failing = ndtr(score / np.sqrt(1 + random)[..., None, None])
        level = np.sqrt(1 + drawn.shared**2)[..., None]
        sensitivity, specificity = ndtr(drawn.right[:, :, 0] / level), ndtr(drawn.right[:, :, 1] / level)
        hit, false = sensitivity.mean(axis=-1), 1 - specificity.mean(axis=-1)
        called = failing * hit[..., None, None] + (1 - failing) * false[..., None, None]
        return cls(
            failing=failing,
            called=called,
            sensitivity=sensitivity,
            specificity=specificity,
            flips=drawn.flips,
            components=_components(drawn, items, sensitivity, specificity),
            effective=_effective(drawn, failing.mean(axis=(2, 3)), sensitivity, specificity),
        )


def _cell_scores(drawn: Draws, items: RatedItems) -> Floats:
    """z score of failing of every agent and axis at tasks' and runs' mean, (series, draws, agents, axes)."""
    agents, axes = (int(items.groups[name].max()) + 1 for name in ("agent", "axis"))
    score = np.broadcast_to(drawn.intercept[..., None, None], (*drawn.intercept.shape, agents, axes)).copy()
    for name, effects in drawn.effects.items():
        if name == "agent":
            score += effects[..., :, None]
        elif name == "axis":
            score += effects[..., None, :]
        else:
            cells, first = np.unique(items.factors[name], return_index=True)
            at = items.groups["agent"][first], items.groups["axis"][first]
            score[:, :, at[0], at[1]] += effects[..., cells]
    return score


def _components(drawn: Draws, items: RatedItems, sensitivity: Floats, specificity: Floats) -> dict[str, Floats]:
    """Shares of the variance of one verdict of a judge of this panel, by source."""
    variances = drawn.deviations**2
    total = 1 + variances.sum(axis=-1)
    failing = ndtr(drawn.intercept / np.sqrt(total))
    called = failing[..., None] * sensitivity + (1 - failing[..., None]) * (1 - specificity)
    settled = called.mean(axis=-1)
    flips = drawn.flips.mean(axis=-1)
    mean = settled + flips - 2 * flips * settled
    scale = ((1 - 2 * flips) * (sensitivity.mean(axis=-1) + specificity.mean(axis=-1) - 1)) ** 2
    of: dict[str, Floats] = {}
    for at, name in enumerate(items.factors):
        own = np.sqrt(variances[..., at])[..., None] * POINTS
        at_level = ndtr((drawn.intercept[..., None] + own) / np.sqrt(total - variances[..., at])[..., None])
        of[name] = scale * ((at_level**2) @ WEIGHTS - (at_level @ WEIGHTS) ** 2)
    of["run on its axis"] = np.maximum(scale * failing * (1 - failing) - sum(of.values()), 0.0)
    if items.n_judges > 1:
        of["judge"] = (1 - 2 * flips) ** 2 * called.var(axis=-1)
    if items.repeated:
        of["repeat"] = flips * (1 - flips)
    whole = mean * (1 - mean)
    rest = "judge x item" if items.repeated else "judge x item, and repeat"
    of[rest] = np.maximum(whole - sum(of.values()), 0.0)
    return {name: each / whole for name, each in of.items()}


def _effective(drawn: Draws, failing: Floats, sensitivity: Floats, specificity: Floats) -> Floats:
    """k / (1 + (k - 1) mean rho), rho the correlation of two judges' being right."""
    k = sensitivity.shape[-1]
    if k < 2:
        return np.full(failing.shape, np.nan)
    first, second = pairs(k)
    share = np.stack([failing, 1 - failing], axis=-1)
    right = np.stack([sensitivity, specificity], axis=-1)  # (series, draws, judges, truths)
    accuracy = (right * share[:, :, None]).sum(axis=-1)
    both = np.zeros((*failing.shape, len(first)))
    for point, weight in zip(POINTS, WEIGHTS, strict=True):
        at_node = ndtr(drawn.right + drawn.shared[..., None, None] * point)
        both += weight * np.einsum("sdzp,sdz->sdp", at_node[..., first] * at_node[..., second], share)
    one, other = accuracy[..., first], accuracy[..., second]
    rho = (both - one * other) / np.sqrt(one * (1 - one) * other * (1 - other))
    return np.asarray(k / (1 + (k - 1) * rho.mean(axis=-1)))
