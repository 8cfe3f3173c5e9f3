"""Draws from the posterior of the latent model, by Gibbs steps that are all normal, Bernoulli or Beta.

    z_i ~ Bernoulli(Phi(eta_i)),   eta_i = mu + sum_f s_f u_f[level of i]                         does item i fail?
    P(v_ij incorrect | z_i = 1) = Phi(theta_1j + k x_i)                                                  sensitivity
    P(v_ij correct   | z_i = 0) = Phi(theta_0j + k x_i),   theta_zj = m_z + t_z r_zj                     specificity
    x_i ~ N(0, 1)                                        items that are easy or hard for all judges: errors they share
    a repeat gives v_ij but for a flip of probability e_j                    only where judges were asked several times

u and r are standard normal; s, t and k are normal of mean 0 and taken by their size, so that deviations have half
normal priors and every step is conjugate (Albert and Chib's normals behind each yes or no). Between the steps the mean
of a factor's effects is moved to what it is nested in, which leaves every eta as it is (Liu and Sabatti).

Priors: mu ~ N(-0.6, 0.9), a rate of failing from .01 to .88; s, k ~ half normal of scale 0.6; m_1 ~ N(0.9, 0.6), m_0 ~
N(1.2, 0.6), judges likely better than chance, t half normal of scale 0.4; e_j ~ Beta(1, 12). Without labels nothing but
m_1 and m_0 tells failing from not failing.

`axisjudge.stats.latent_nuts` draws from the same posterior by other means.

References
----------
Dawid and Skene (1979), doi:10.2307/2346806. Qu, Tan and Kutner (1996), doi:10.2307/2533043 (shared difficulty).
Albert and Chib (1993), doi:10.1080/01621459.1993.10476321. Gelman (2006), doi:10.1214/06-BA117A (half normal deviations
by expansion). Liu and Sabatti (2000), doi:10.1093/biomet/87.2.353.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from axisjudge.checks import InputError, one_each

# What the latent model takes: items with the verdicts of judges, labels where there are any, and what groups items.

Floats = NDArray[np.float64]
Levels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RatedItems:
    """Items x judges.

    `incorrect` and `given` (items, judges) count the repeats in which a judge calls the item incorrect, and all that
    say either word; `labels` (items,) are 1 failing, 0 not, NaN unknown. `groups` maps the name of what groups items
    (``task``, ``agent``, ``axis``, ``run``) to the level of every item, numbers from 0.
    """

    incorrect: Floats
    given: Floats
    labels: Floats
    groups: Mapping[str, Levels]

    def __post_init__(self) -> None:
        shape = self.incorrect.shape
        if len(shape) != 2 or not all(shape):
            raise InputError("incorrect", "must be items x judges, at least one of each", shape)
        if self.given.shape != shape:
            raise InputError("given", f"needs the shape of the verdicts {shape}", self.given.shape)
        if ((self.incorrect < 0) | (self.incorrect > self.given)).any():
            raise InputError("incorrect", "must count some of the repeats that were given")
        if self.labels.shape != shape[:1] or not np.isin(self.labels[~np.isnan(self.labels)], (0.0, 1.0)).all():
            raise InputError("labels", f"must be 1, 0 or NaN for each of {shape[0]} items", self.labels.shape)
        for name, levels in self.groups.items():
            one_each(name, levels, shape[0])

    @property
    def n_items(self) -> int:
        """How many items."""
        return int(self.incorrect.shape[0])

    @property
    def n_judges(self) -> int:
        """How many judges."""
        return int(self.incorrect.shape[1])

    @property
    def repeated(self) -> bool:
        """Whether a judge gave an item more than one verdict."""
        return bool((self.given > 1).any())

    @cached_property
    def factors(self) -> Mapping[str, Levels]:
        """What the items' log odds vary by, each with the level of every item.

        Left out is what has one level, what groups items as another does, and what holds one item a level: a single
        yes or no shows no variance of its own.
        """
        kept: dict[str, Levels] = {}
        for names in (("axis",), ("agent",), ("task",), ("agent", "axis"), ("task", "axis"), ("run",)):
            if all(name in self.groups for name in names):
                levels = crossed([self.groups[name] for name in names])
                if 1 < levels.max() + 1 < self.n_items and not any(_same(levels, other) for other in kept.values()):
                    kept[" x ".join(names)] = levels
        return kept


def crossed(levels: Sequence[Levels]) -> Levels:
    """Levels of several groupings taken together, numbers from 0."""
    return np.unique(np.stack(levels, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp)


def _same(one: Levels, other: Levels) -> bool:
    """Whether two groupings put the same items together."""
    pairs = len(set(zip(one.tolist(), other.tolist(), strict=True)))
    return bool(pairs == one.max() + 1 == other.max() + 1)


def of_levels(names: Sequence[str]) -> tuple[tuple[str, ...], Levels]:
    """Names in order of appearance, and the number of each entry's."""
    order = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return tuple(order), np.fromiter((order[name] for name in names), dtype=np.intp, count=len(names))


def pairs(k: int) -> tuple[list[int], list[int]]:
    """All pairs of `k` judges as two lists of positions."""
    both = list(itertools.combinations(range(k), 2))
    return [first for first, _ in both], [second for _, second in both]


#: Mean and SD of the normal priors of mu, m_1 and m_0.
FAILING, SENSITIVITY, SPECIFICITY = (-0.6, 0.9), (0.9, 0.6), (1.2, 0.6)
#: Scales of the half normal priors of factors and shared difficulty, and of judges.
FACTOR_SCALE, JUDGE_SCALE = 0.6, 0.4
#: Beta prior of the probability of a flip.
FLIP = (1.0, 12.0)
_TINY = 1e-12
#: Difficulty takes these values with these weights: Gauss and Hermite's for a standard normal.
NODES = 7
POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(NODES)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True, eq=False)
class Observed:
    """What a run of the sampler conditions on: several series (chains, or studies of one design) at once.

    `incorrect`, `given` (series, items, judges) count repeats, `labels` (series, items) are 1, 0 or NaN, `factors` the
    levels of the items, the same in every series. One series stands for all where the first length is 1.
    """

    incorrect: Floats
    given: Floats
    labels: Floats
    factors: Mapping[str, Levels]

    @cached_property
    def correct(self) -> Floats:
        """The repeats in which a judge does not call the item incorrect, in the shape of `incorrect`."""
        return self.given - self.incorrect

    @property
    def repeated(self) -> bool:
        """Whether a judge gave an item more than one verdict."""
        return bool((self.given > 1).any())


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws after the burn-in, the series first: (series, draws, ...).

    `intercept`, `deviations` (factors), `effects` by factor (levels), `right` (2, judges) the z scores of being
    right where the item fails and where not, `shared` (k), `flips` (judges); `failing` (series, items) is the
    share of draws in which an item fails. `n_divergent` counts draws at which a sampler by gradients lost its way.
    """

    intercept: Floats
    deviations: Floats
    effects: Mapping[str, Floats]
    right: Floats
    shared: Floats
    flips: Floats
    failing: Floats
    n_divergent: int = 0


def sample(
    seen: Observed, *, series: int, draws: int, burn_in: int, keep: tuple[str, ...], rng: np.random.Generator
) -> Draws:
    """Run the sampler.

    Parameters
    ----------
    seen : Observed
    series, draws, burn_in : int
        How many series, kept draws of each, and draws before them.
    keep : tuple of str
        Factors whose effects are kept.
    """
    state = _State(seen, series, rng)
    kept: dict[str, list[Floats]] = {name: [] for name in ("mu", "sd", "right", "shared", "flips", *keep)}
    failing = np.zeros((series, seen.labels.shape[1]))
    for step in range(burn_in + draws):
        state.step()
        if step < burn_in:
            continue
        kept["mu"].append(state.beta[:, 0].copy())
        kept["sd"].append(np.abs(state.beta[:, 1:]))
        kept["right"].append(state.theta.copy())
        kept["shared"].append(state.shared)
        kept["flips"].append(state.flips.copy())
        for name in keep:
            kept[name].append(state.effect(name))
        failing += state.failing
    stacked = {name: np.stack(each, axis=1) for name, each in kept.items()}
    effects = {name: stacked[name] for name in keep}
    return Draws(
        stacked["mu"], stacked["sd"], effects, stacked["right"], stacked["shared"], stacked["flips"], failing / draws
    )


class _State:
    """Where the series are; every method is one Gibbs step."""

    def __init__(self, seen: Observed, series: int, rng: np.random.Generator) -> None:
        self.seen, self.rng = seen, rng
        n, k = seen.incorrect.shape[1:]
        self.names = list(seen.factors)
        self.levels = list(seen.factors.values())
        self.sizes = [int(levels.max()) + 1 for levels in self.levels]
        self.counts = [np.bincount(levels) for levels in self.levels]
        self.nested = self._nested()
        self.asked = np.broadcast_to(seen.given > 0, (series, n, k))
        majority = seen.incorrect.sum(axis=-1) * 2 > seen.given.sum(axis=-1)
        start = np.where(np.isnan(seen.labels), majority, seen.labels == 1)
        self.failing = np.broadcast_to(start, (series, n)).copy()
        self.settled = np.broadcast_to(seen.incorrect * 2 > seen.given, (series, n, k)).copy()
        factors = len(self.names)
        self.beta = np.hstack([rng.normal(*FAILING, (series, 1)), rng.normal(0, FACTOR_SCALE / 2, (series, factors))])
        self.unit = [rng.normal(0, 1, (series, size)) for size in self.sizes]
        self.mean = np.stack([rng.normal(*prior, series) for prior in (SENSITIVITY, SPECIFICITY)], axis=1)
        self.spread = rng.normal(0, JUDGE_SCALE / 2, (series, 2))
        self.judge = rng.normal(0, 1, (series, 2, k))
        self.shared = np.abs(rng.normal(0, FACTOR_SCALE / 2, series))
        self.hard = rng.normal(0, 1, (series, n))
        self.flips = np.full((series, k), FLIP[0] / sum(FLIP) if seen.repeated else 0.0)

    @property
    def theta(self) -> Floats:
        """z scores of being right, (series, 2, judges): first where the item fails."""
        return self.mean[:, :, None] + self.spread[:, :, None] * self.judge

    def effect(self, name: str) -> Floats:
        """Effects of a factor's levels, (series, levels)."""
        at = self.names.index(name)
        return self.beta[:, at + 1, None] * self.unit[at]

    def step(self) -> None:
        eta = np.repeat(self.beta[:, :1], self.failing.shape[1], axis=1)
        for name, levels in zip(self.names, self.levels, strict=True):
            eta += self.effect(name)[:, levels]
        self._truth(eta)
        self._factors(_behind(eta, self.failing, self.rng), eta)
        self._judges()
        if self.seen.repeated:
            self._flips()

    def _log_seen(self, theta: Floats, shared: Floats) -> Floats:
        """Log probability of each item's verdicts and its difficulty, (series, failing or not, nodes, items)."""
        right = np.clip(ndtr(theta[:, :, None] + (shared[:, None] * POINTS)[:, None, :, None]), _TINY, 1 - _TINY)
        incorrect = np.stack([right[:, 0], 1 - right[:, 1]], axis=1)  # (series, 2, nodes, judges)
        if self.seen.repeated:
            yes, no = (each[:, None, None] for each in self._settled())
            of_judges = np.log(incorrect[:, :, :, None] * yes + (1 - incorrect[:, :, :, None]) * no).sum(axis=-1)
        else:
            yes, no = (each.swapaxes(1, 2)[:, None] for each in (self.seen.incorrect, self.seen.correct))
            of_judges = np.log(incorrect) @ yes + np.log(1 - incorrect) @ no
        seen: Floats = of_judges + np.log(WEIGHTS)[:, None]
        return seen

    def _settled(self) -> tuple[Floats, Floats]:
        """Probability of the repeats that were seen, where a judge's settled word is incorrect and where it is not."""
        flip = self.flips[:, None, :]
        yes = (1 - flip) ** self.seen.incorrect * flip**self.seen.correct
        return yes, (1 - flip) ** self.seen.correct * flip**self.seen.incorrect

    def _truth(self, eta: Floats) -> None:
        """What difficulty and all judges have in common; then whether items fail, and how hard they are.

        Two Metropolis steps with z and x summed out: k and all theta stretched together so that Phi(theta / sqrt(1 +
        k^2)) stays, and all theta of a kind shifted.
        """
        labels = self.seen.labels
        odds = np.stack([log_ndtr(eta), log_ndtr(-eta)], axis=1)
        odds = np.where(np.stack([labels == 0, labels == 1], axis=1), -np.inf, odds)[:, :, None]
        now = self._log_seen(self.theta, self.shared) + odds
        for stretched in (True, False):
            size = np.where(self.rng.random(len(eta)) < 0.5, 0.2, 1.0)
            shared, stretch, mean = self.shared, np.ones((len(eta), 1)), self.mean
            if stretched:
                shared = self.shared * np.exp(size * self.rng.normal(size=len(eta)))
                stretch = np.sqrt((1 + shared**2) / (1 + self.shared**2))[:, None]
                mean = stretch * mean
            else:
                mean = mean + size[:, None] / 2 * self.rng.normal(size=mean.shape)
            spread = stretch * self.spread
            then = self._log_seen(mean[:, :, None] + spread[:, :, None] * self.judge, shared) + odds
            gain = _total(then) - _total(now) + 4 * np.log(stretch[:, 0]) + np.log(shared / self.shared)
            gain += _log_prior(mean, spread, shared) - _log_prior(self.mean, self.spread, self.shared)
            accepted = np.log(self.rng.random(len(eta))) < gain
            self.mean, self.spread = np.where(accepted[:, None], (mean, spread), (self.mean, self.spread))
            self.shared = np.where(accepted, shared, self.shared)
            now = np.where(accepted[:, None, None, None], then, now)
        both = now.reshape(len(eta), 2 * NODES, -1)
        chosen = np.argmax(both + self.rng.gumbel(size=both.shape), axis=1)
        self.failing, self.hard = chosen < NODES, POINTS[chosen % NODES]
        if self.seen.repeated:
            yes, no = self._settled()
            truth = self.failing[:, :, None]
            right = ndtr(self._own() + (self.shared[:, None] * self.hard)[:, :, None])
            share = np.where(truth, right, 1 - right) * yes
            self.settled = self.rng.random(right.shape) * (share + np.where(truth, 1 - right, right) * no) < share

    def _own(self) -> Floats:
        """Each judge's z score of being right on each item, by whether the item fails, (series, items, judges)."""
        theta = self.theta[:, None]
        return np.where(self.failing[:, :, None], theta[:, :, 0], theta[:, :, 1])

    def _factors(self, behind: Floats, eta: Floats) -> None:
        """Effects of every factor in turn, then the intercept and all deviations together, then shifts of means."""
        for at, levels in enumerate(self.levels):
            deviation = self.beta[:, at + 1, None]
            old = (deviation * self.unit[at])[:, levels]
            total = _summed(behind - eta + old, levels, self.sizes[at])
            precision = 1 + deviation**2 * self.counts[at]
            self.unit[at] = deviation * total / precision + self.rng.normal(size=total.shape) / np.sqrt(precision)
            eta = eta - old + (deviation * self.unit[at])[:, levels]
        columns = np.stack(
            [np.ones_like(eta), *(u[:, levels] for u, levels in zip(self.unit, self.levels, strict=True))], axis=1
        )
        prior_mean = np.array([FAILING[0], *[0.0] * len(self.names)])
        prior_precision = np.array([FAILING[1] ** -2, *[FACTOR_SCALE**-2] * len(self.names)])
        self.beta = _regressed(
            columns @ columns.swapaxes(1, 2),
            (columns @ behind[:, :, None])[..., 0],
            prior_mean,
            prior_precision,
            self.rng,
        )
        for at in range(len(self.names)):
            self._shift_to_intercept(at)
        for parent, child, of in self.nested:
            self._shift(parent, child, of)
        for at in range(len(self.names)):
            self.beta[:, at + 1], self.unit[at] = self._rescaled(self.beta[:, at + 1], self.unit[at], FACTOR_SCALE)

    def _rescaled(self, deviation: Floats, unit: Floats, scale: float) -> tuple[Floats, Floats]:
        """A deviation given its effects, deviation x unit, which stay as they are (series, levels)."""
        if unit.shape[1] < 2:
            return deviation, unit
        effects = deviation[:, None] * unit
        drawn = (effects**2).sum(axis=1) / 2 / self.rng.gamma((unit.shape[1] - 1) / 2, size=deviation.shape)
        accepted = self.rng.exponential(size=drawn.shape) > (drawn - deviation**2) / (2 * scale**2)
        new = np.where(accepted, np.sqrt(drawn), deviation)
        return new, effects / _nonzero(new)[:, None]

    def _nested(self) -> list[tuple[int, int, Levels]]:
        """Pairs of factors of which the second is nested in the first, with the parent of each of its levels."""
        pairs = []
        for child, fine in enumerate(self.levels):
            for parent, coarse in enumerate(self.levels):
                of = np.zeros(self.sizes[child], dtype=np.intp)
                of[fine] = coarse
                if parent != child and (of[fine] == coarse).all():
                    pairs.append((parent, child, of))
        return pairs

    def _shift_to_intercept(self, at: int) -> None:
        """Move what the effects of a factor have in common to mu."""
        deviation = self.beta[:, at + 1]
        precision = FAILING[1] ** -2 * deviation**2 + self.sizes[at]
        away = self.beta[:, 0] - FAILING[0]
        centre = (deviation * self.unit[at].sum(axis=1) - deviation**2 * FAILING[1] ** -2 * away) / precision
        moved = centre + np.abs(deviation) / np.sqrt(precision) * self.rng.normal(size=deviation.shape)
        self.beta[:, 0] += moved
        self.unit[at] -= (moved / _nonzero(deviation))[:, None]

    def _shift(self, parent: int, child: int, of: Levels) -> None:
        """Move what the effects of a nested factor have in common within a level to that level."""
        above, below = self.beta[:, parent + 1, None], self.beta[:, child + 1, None]
        n = np.bincount(of)
        precision = below**2 + n * above**2
        total = _summed(below * self.unit[child], of, self.sizes[parent])
        centre = (above**2 * total - below**2 * above * self.unit[parent]) / _nonzero(precision)
        width = np.abs(above * below) / np.sqrt(_nonzero(precision))
        moved = centre + width * self.rng.normal(size=centre.shape)
        self.unit[parent] += moved / _nonzero(above)
        self.unit[child] -= (moved / _nonzero(below))[:, of]

    def _judges(self) -> None:
        """Judges' z scores of being right, their mean and spread, and the difficulty they share."""
        truth = self.failing[:, :, None]
        hard, shared = self.hard[:, :, None], self.shared[:, None, None]
        behind = _behind(self._own() + shared * hard, self.settled == truth, self.rng)
        of_truth = np.stack([self.asked & truth, self.asked & ~truth], axis=1)
        n = of_truth.sum(axis=2)  # (series, 2, judges)
        total = np.where(of_truth, (behind - shared * hard)[:, None], 0.0).sum(axis=2)
        spread = self.spread[:, :, None]
        precision = 1 + spread**2 * n
        self.judge = spread * (total - n * self.mean[:, :, None]) / precision + self.rng.normal(size=n.shape) / np.sqrt(
            precision
        )
        cross = np.stack([np.stack([n, n * self.judge], -1), np.stack([n * self.judge, n * self.judge**2], -1)], -2)
        towards = np.stack([total, total * self.judge], axis=-1).sum(axis=2)
        prior_mean = np.array([[SENSITIVITY[0], 0.0], [SPECIFICITY[0], 0.0]])
        prior_precision = np.array([[each[1] ** -2, JUDGE_SCALE**-2] for each in (SENSITIVITY, SPECIFICITY)])
        drawn = _regressed(cross.sum(axis=2), towards, prior_mean, prior_precision, self.rng)
        self.mean, self.spread = drawn[..., 0], drawn[..., 1]
        self.spread, self.judge = (
            np.stack(each, axis=1)
            for each in zip(
                *(self._rescaled(self.spread[:, z], self.judge[:, z], JUDGE_SCALE) for z in (0, 1)), strict=True
            )
        )
        left = np.where(self.asked, behind - self._own(), 0.0).sum(axis=2)
        precision = FACTOR_SCALE**-2 + (self.asked.sum(axis=2) * self.hard**2).sum(axis=1)
        centre = (left * self.hard).sum(axis=1) / precision
        self.shared = np.abs(centre + self.rng.normal(size=centre.shape) / np.sqrt(precision))

    def _flips(self) -> None:
        flipped = np.where(self.settled, self.seen.correct, self.seen.incorrect).sum(axis=1)
        self.flips = self.rng.beta(FLIP[0] + flipped, FLIP[1] + self.seen.given.sum(axis=1) - flipped)


def _total(log_seen: Floats) -> Floats:
    """Log likelihood of each series, with whether items fail and how hard they are summed out."""
    top = log_seen.max(axis=(1, 2), keepdims=True)
    total: Floats = (np.log(np.exp(log_seen - top).sum(axis=(1, 2))) + top[:, 0, 0]).sum(axis=-1)
    return total


def _log_prior(mean: Floats, spread: Floats, shared: Floats) -> Floats:
    away = (mean - [SENSITIVITY[0], SPECIFICITY[0]]) / [SENSITIVITY[1], SPECIFICITY[1]]
    squared: Floats = (away**2 + (spread / JUDGE_SCALE) ** 2).sum(axis=1) + (shared / FACTOR_SCALE) ** 2
    return -squared / 2


def _behind(mean: Floats, positive: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Normals of these means and variance 1 with the sign that was seen, by inversion."""
    sign = np.where(positive, 1.0, -1.0)
    return mean - sign * ndtri(np.maximum(rng.random(mean.shape) * ndtr(sign * mean), 1e-300))


def _summed(values: Floats, levels: Levels, size: int) -> Floats:
    """Sums over the items of each level, (series, levels)."""
    series = len(values)
    flat = (levels + size * np.arange(series)[:, None]).ravel()
    total: Floats = np.bincount(flat, weights=values.ravel(), minlength=size * series).astype(np.float64)
    return total.reshape(series, size)


def _regressed(
    cross: Floats, towards: Floats, prior_mean: Floats, prior_precision: Floats, rng: np.random.Generator
) -> Floats:
    """A draw of the coefficients of a normal regression with unit variance, (..., p), by its sums of products."""
    p = cross.shape[-1]
    lower = np.linalg.cholesky(cross + prior_precision[..., None] * np.eye(p))
    half = np.linalg.solve(lower, (towards + prior_precision * prior_mean)[..., None])
    upper = lower.swapaxes(-1, -2)
    return np.linalg.solve(upper, half + rng.normal(size=half.shape))[..., 0]


def _nonzero(values: Floats) -> Floats:
    return np.where(np.abs(values) < _TINY, _TINY, values)
