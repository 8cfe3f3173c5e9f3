"""What the latent model says of a panel: failure rates, judges, variance components and effective judges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from axisjudge.checks import InputError, one_each, one_of
from axisjudge.results import Result
from axisjudge.stats.estimate import Estimate, many
from axisjudge.stats.latent_sampler import POINTS, WEIGHTS, Draws, Observed, RatedItems, pairs, sample

# Whether chains of a sampler agree, and how many independent draws they are worth.

Floats = NDArray[np.float64]

#: Chains agree up to this ratio, and are worth this many draws at least, before an interval is read off them.
LARGEST_RATIO, FEWEST_DRAWS = 1.05, 100.0
#: Of so many draws one may diverge.
DRAWS_PER_DIVERGENT = 1000


@dataclass(frozen=True)
class Convergence(Result):
    """The worst over what is reported: ratio of deviations (R hat) and effective draws, of `n_draws` in all.

    `n_divergent` draws lost their way (NUTS alone can tell): with many of them a part of the posterior may be missing.
    """

    ratio: float
    effective_draws: float
    n_draws: int
    n_divergent: int = 0

    @property
    def converged(self) -> bool:
        """Whether the chains agree."""
        return self.ratio <= LARGEST_RATIO and self.effective_draws >= FEWEST_DRAWS

    @property
    def diverged(self) -> bool:
        """Whether more draws lost their way than can be let pass."""
        return self.n_divergent * DRAWS_PER_DIVERGENT > self.n_draws


def convergence(quantities: Iterable[Floats]) -> Convergence:
    r"""Split R hat and effective number of draws, the worst over all quantities.

    .. math:: \hat R = \sqrt{V / W}, \quad V = \frac{n-1}{n} W + B, \quad
              n_{eff} = \frac{m n}{1 + 2 \sum_t \rho_t}, \quad \rho_t = 1 - \frac{W - c_t}{V}

    over m half chains of n draws: W their mean variance, B the variance of their means, c_t their mean autocovariance;
    the sum ends where two following terms are together no longer positive (Geyer).

    Parameters
    ----------
    quantities : iterable of array, shape (series, draws, ...)

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd edition, sections 11.4 and 11.5. Vehtari et al. (2021),
    doi:10.1214/20-BA1221.
    """
    ratio, effective, n_draws = 1.0, np.inf, 0
    for quantity in quantities:
        series, draws = quantity.shape[:2]
        n = draws // 2
        halves = quantity[:, : 2 * n].reshape(2 * series, n, -1)
        centred = halves - halves.mean(axis=1, keepdims=True)
        within = (centred**2).sum(axis=1).mean(axis=0) / (n - 1)
        whole = (n - 1) / n * within + halves.mean(axis=1).var(axis=0, ddof=1)
        if not np.isfinite(whole).all():
            return Convergence(math.inf, 0.0, series * draws)
        moves = whole > 0
        transformed = np.fft.rfft(centred[..., moves], 2 * n, axis=1)
        covariance = np.fft.irfft(np.abs(transformed) ** 2, 2 * n, axis=1)[:, :n].mean(axis=0) / (n - 1)
        rho = 1 - (within[moves] - covariance) / whole[moves]
        steps = rho[: n - n % 2].reshape(n // 2, 2, -1).sum(axis=1)
        steps = np.where(np.logical_and.accumulate(steps > 0), steps, 0.0).sum(axis=0)
        ratio = max(ratio, float(np.sqrt(whole[moves] / within[moves]).max(initial=1.0)))
        effective = min(effective, float((2 * series * n / np.maximum(2 * steps - 1, 0.1)).min(initial=np.inf)))
        n_draws = series * draws
    return Convergence(ratio, float(min(effective, n_draws)), n_draws)


# What is read off every draw of the latent model: rates, skills of judges, shares of variance, effective judges.

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


#: With fewer judges and no label, a strict judge and a failing agent look alike.
FEWEST_UNLABELLED = 3
#: Chains, and draws of each before and after the burn-in; where they do not agree, `MORE` times as many are tried once.
SERIES, BURN_IN, DRAWS, MORE = 4, 250, 500, 4
#: Part of the posterior's tails that intervals leave out. The plain ones cover truths drawn from the prior as often as
#: they say; fixed truths of the grid (tests/stats/latent/latent_table.py) they cover in .93 where .95 is said.
TAIL = 0.6

Sampler = Literal["gibbs", "nuts"]
SAMPLERS: tuple[Sampler, ...] = get_args(Sampler)


class NoModel(StrEnum):
    """Why the model says nothing at all."""

    NONE = ""
    NO_VERDICTS = "no verdict of a judge says whether an item fails"
    ONE_TASK = "one task: nothing shows how far tasks differ"
    NOT_CONVERGED = "the chains of the sampler do not agree"
    DIVERGED = "too many draws of the sampler diverged, so that a part of the posterior may be missing"


@dataclass(frozen=True)
class CellRate(Result):
    """One agent on one axis, over tasks like these; ``all`` means the plain mean over agents or axes.

    `failing` is the share of runs that fail, `called` the share that a judge of the panel calls incorrect.
    """

    agent: str
    axis: str
    failing: Estimate
    called: Estimate


@dataclass(frozen=True)
class JudgeRates(Result):
    """One judge: how often right where the item fails and where not, and what it says beyond the truth.

    `leniency` is the share of these items that fail less the share that it calls incorrect; `flips` how often a repeat
    departs from the judge's settled word.
    """

    judge: str
    sensitivity: Estimate
    specificity: Estimate
    leniency: Estimate
    flips: Estimate


@dataclass(frozen=True)
class VarianceShare(Result):
    """Which part of the variance of one 0/1 verdict comes from a source."""

    source: str
    share: Estimate


@dataclass(frozen=True, eq=False)
class LatentPanel(Result):
    """What one fit says. Everything is empty, or NaN with its reason, where the model cannot say it.

    `probabilities` (items,) are those of failing, 1 or 0 where labelled.
    """

    cells: tuple[CellRate, ...]
    judges: tuple[JudgeRates, ...]
    components: tuple[VarianceShare, ...]
    effective: Estimate
    probabilities: Floats
    convergence: Convergence | None
    sampler: Sampler
    refusal: NoModel
    n_items: int
    n_tasks: int
    n_labelled: int


def latent_panel(
    items: RatedItems,
    names: Mapping[str, Sequence[str]],
    judges: Sequence[str],
    *,
    ci_level: float = 0.95,
    seed: int = 0,
    sampler: Sampler = "gibbs",
) -> LatentPanel:
    """Fit the latent model (`axisjudge.stats.latent_sampler`) and say what it says, with intervals.

    Parameters
    ----------
    items : RatedItems
        Verdicts, labels and groups; ``task``, ``agent`` and ``axis`` must be among the groups.
    names : mapping
        Of ``agent`` and ``axis``: the names of the levels.
    judges : sequence of str, shape (n_judges,)
    ci_level : float
        Of intervals: posterior quantiles that leave out `TAIL` of what they say.
    seed : int
    sampler : {"gibbs", "nuts"}
        Our own, which takes a second; or numpyro's (the extra ``bayes``), which takes a minute and shares the priors
        with it, the quadrature and what is read off the draws, but no step of the sampling.

    Returns
    -------
    LatentPanel
        Without labels and with fewer than three judges only what the panel says (`called`) has an answer. Effective
        judges need labels.

    Raises
    ------
    InputError
        A group is missing, names do not fit, or numpyro is not installed.

    Notes
    -----
    Rates hold for tasks and runs like these: z scores of an agent and axis over sqrt(1 + variance of all other
    factors). Components are first-order: the variance of a verdict's expectation over one source alone.

    Coverage of the 95% intervals (4 agents x 5 axes, two judges, a quarter labelled, 24 to 30 studies a row, one chain
    each) at 5, 10, 20 tasks: failing .99, .97, .97 at widths .59, .45, .36 where labels alone have .92, .83, .71;
    called .98, .96, .97 at .42, .32, .25 where counts have .72, .54, .39; sensitivity .94 to 1.0, specificity .92 to
    .97. Without labels, five judges: failing .98 at 5 and 10 tasks; at 50 one chain covers .94 (plain intervals
    .92, 60 studies), and what is given, from four chains that agree, failing .97, called .98, sensitivity .98 and
    specificity .96 (36 studies of 37; the chains of one did not agree, and nothing was said).
    """
    for name in ("task", "agent", "axis"):
        if name not in items.groups:
            raise InputError("groups", f"must hold {name}", sorted(items.groups))
    one_each("judges", judges, items.n_judges, of="judges")
    draws_of = _draws_of(sampler)
    report = _Reported(items, names, judges, ci_level, sampler)
    if not items.given.any():
        return report.refused(NoModel.NO_VERDICTS)
    if report.n_tasks < 2:
        return report.refused(NoModel.ONE_TASK)
    rng = np.random.default_rng(seed)
    seen = Observed(items.incorrect[None], items.given[None], items.labels[None], items.factors)
    keep = tuple(name for name in items.factors if name in FIXED)
    for times in (1, MORE):
        drawn = draws_of(seen, series=SERIES, draws=times * DRAWS, burn_in=times * BURN_IN, keep=keep, rng=rng)
        quantities = Quantities.of(drawn, items)
        reported = [quantities.failing, quantities.sensitivity] if report.has_truth else [quantities.called]
        agreed = replace(convergence(reported), n_divergent=drawn.n_divergent)
        if agreed.converged and not agreed.diverged:
            return report.of(quantities, drawn.failing.mean(axis=0), agreed)
    return report.refused(NoModel.DIVERGED if agreed.converged else NoModel.NOT_CONVERGED, agreed)


class _DrawsOf(Protocol):
    def __call__(
        self, seen: Observed, *, series: int, draws: int, burn_in: int, keep: tuple[str, ...], rng: np.random.Generator
    ) -> Draws: ...


def _draws_of(sampler: Sampler) -> _DrawsOf:
    if one_of("sampler", sampler, SAMPLERS) == "gibbs":
        return sample
    try:
        from axisjudge.stats.latent_nuts import sample as sample_by_nuts
    except ModuleNotFoundError as error:
        cure = "pip install 'axisjudge[bayes]'"
        raise InputError("sampler", f"nuts needs {error.name}, which is not installed", cure=cure) from error
    return sample_by_nuts


class _Reported:
    """Turns draws into estimates with the sample that they rest on."""

    def __init__(
        self,
        items: RatedItems,
        names: Mapping[str, Sequence[str]],
        judges: Sequence[str],
        ci_level: float,
        sampler: Sampler,
    ) -> None:
        self.items, self.names, self.judges, self.ci_level, self.sampler = items, names, judges, ci_level, sampler
        self.n_tasks = len(np.unique(items.groups["task"]))
        self.n_labelled = int((~np.isnan(items.labels)).sum())
        self.sizes = {"n_items": items.n_items, "n_tasks": self.n_tasks, "n_labelled": self.n_labelled}
        self.has_truth = self.n_labelled > 0 or items.n_judges >= FEWEST_UNLABELLED
        self.no_truth = (
            ""
            if self.has_truth
            else f"no label and {many(items.n_judges, 'judge')}: a strict judge and a failing agent look alike"
        )

    def of(self, part: Quantities, probabilities: Floats, agreed: Convergence) -> LatentPanel:
        """The result where the chains agree."""
        effective = "" if self.n_labelled else "effective judges are defined against labels only"
        effective = "one judge" if self.items.n_judges < 2 else effective
        return LatentPanel(
            cells=self._cells(part.failing, part.called),
            judges=self._judges(part),
            components=tuple(
                VarianceShare(source, self._estimate(share, self.no_truth)) for source, share in part.components.items()
            ),
            effective=self._estimate(part.effective, effective),
            probabilities=probabilities if self.has_truth else np.full(self.items.n_items, np.nan),
            convergence=agreed,
            sampler=self.sampler,
            refusal=NoModel.NONE,
            **self.sizes,
        )

    def refused(self, refusal: NoModel, agreed: Convergence | None = None) -> LatentPanel:
        """The result where the model says nothing."""
        nothing = self._estimate(np.array([]), refusal.value)
        probabilities = np.full(self.items.n_items, np.nan)
        return LatentPanel((), (), (), nothing, probabilities, agreed, self.sampler, refusal, **self.sizes)

    def _cells(self, failing: Floats, called: Floats) -> tuple[CellRate, ...]:
        rows = []
        for agent, name in _levels(self.names["agent"]):
            for axis, question in _levels(self.names["axis"]):
                here = self._items_of("agent", agent) & self._items_of("axis", axis)
                of_failing, of_called = (
                    each[:, :, agent, axis].reshape(*each.shape[:2], -1).mean(axis=-1) for each in (failing, called)
                )
                rates = self._estimate(of_failing, self.no_truth, here), self._estimate(of_called, "", here)
                rows.append(CellRate(name, question, *rates))
        return tuple(rows)

    def _judges(self, part: Quantities) -> tuple[JudgeRates, ...]:
        failing = part.failing.mean(axis=(2, 3))[..., None]
        leniency = failing * (1 - part.sensitivity) - (1 - failing) * (1 - part.specificity)
        return tuple(
            JudgeRates(
                judge,
                self._estimate(part.sensitivity[..., at], self.no_truth),
                self._estimate(part.specificity[..., at], self.no_truth),
                self._estimate(leniency[..., at], self.no_truth),
                self._estimate(part.flips[..., at], "" if self.items.repeated else "no judge was asked again"),
            )
            for at, judge in enumerate(self.judges)
        )

    def _items_of(self, group: str, level: int | slice) -> NDArray[np.bool_]:
        if isinstance(level, slice):
            return np.ones(self.items.n_items, dtype=bool)
        return np.asarray(self.items.groups[group] == level)

    def _estimate(self, draws: Floats, reason: str, here: NDArray[np.bool_] | None = None) -> Estimate:
        """Posterior mean and interval of equal tails, or NaN with the reason."""
        here = np.ones(self.items.n_items, dtype=bool) if here is None else here
        low, high = (math.nan, math.nan) if reason else np.quantile(draws, tails(self.ci_level)).tolist()
        return Estimate(
            estimate=math.nan if reason else float(draws.mean()),
            ci_low=low,
            ci_high=high,
            ci_level=self.ci_level,
            n_items=int(here.sum()),
            n_raters=self.items.n_judges,
            n_missing=int((self.items.given[here] == 0).sum()),
            n_clusters=len(np.unique(self.items.groups["task"][here])),
            cluster_unit="task",
            method="" if reason else f"central {np.ptp(tails(self.ci_level)):.0%} of the latent model's posterior",
            reason=reason,
        )


def tails(ci_level: float) -> tuple[float, float]:
    """The posterior quantiles at the ends of an interval."""
    return TAIL * (1 - ci_level) / 2, 1 - TAIL * (1 - ci_level) / 2


def with_all(names: Sequence[str]) -> tuple[str, ...]:
    """The names, and ``all`` last where there are several."""
    return (*names, "all") if len(names) > 1 else tuple(names)


def _levels(names: Sequence[str]) -> list[tuple[int | slice, str]]:
    """Positions with names, and all of them last where there are several."""
    return [(slice(None) if at == len(names) else at, name) for at, name in enumerate(with_all(names))]
