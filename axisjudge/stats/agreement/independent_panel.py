"""What a panel of judges would say if their errors were independent: any-judge and consensus failure rates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval
from axisjudge.stats.comparisons.paired import DRAWS, monte_carlo_p
from axisjudge.stats.estimate import Estimate, many
from axisjudge.stats.rates.proportions import FEWEST_CLUSTERS, clustered_proportion

_METHOD = "product of the judges' own rates; interval from their joint Bonferroni intervals"


def any_judge_rate(rates: ArrayLike) -> float:
    """Chance that at least one of several independent judges says incorrect: 1 - prod(1 - rate).

    Parameters
    ----------
    rates : array_like, shape (n_judges,)
        How often each judge says incorrect. With 1 - specificity for each judge, the result is the share of flawless
        runs that the panel calls failed.

    Examples
    --------
    >>> round(any_judge_rate([0.05] * 2), 3), round(any_judge_rate([0.05] * 6), 2)
    (0.098, 0.26)
    """
    return float(1 - np.prod(1 - _rates(rates)))


def consensus_rate(rates: ArrayLike) -> float:
    """Chance that several independent judges all say incorrect: prod(rate).

    Examples
    --------
    >>> round(consensus_rate([0.05] * 2), 4)
    0.0025
    """
    return float(np.prod(_rates(rates)))


@dataclass(frozen=True)
class IndependentPanel:
    """Any-judge and consensus failure rates that the judges' own rates give when their verdicts share nothing."""

    any_judge: Estimate
    consensus: Estimate


def independent_panel(
    incorrect: ArrayLike, clusters: ArrayLike, *, cluster_unit: str = "task", ci_level: float = 0.95
) -> IndependentPanel:
    """Any-judge and consensus rates if each judge said incorrect at its own rate, independently of the others.

    The rate of a judge is its share of incorrect verdicts. An item counts with the judges that gave a verdict on it:
    at least one for the any-judge rate, at least two for the consensus. What a panel shows beyond these rates is
    shared: real failures, or a bias that judges have in common.

    Parameters
    ----------
    incorrect : array_like, shape (n_items, n_judges)
        1 incorrect, 0 another verdict, NaN none.
    clusters : array_like, shape (n_items,)
        Which items belong to one task.

    Returns
    -------
    IndependentPanel
        The interval is conservative: both rates rise with each judge's rate, so the corners of the judges' intervals,
        each at level 1 - (1 - `ci_level`) / n_judges, bound them.

    Examples
    --------
    >>> panel = independent_panel([[1, 1], [1, 0], [0, 0], [0, 0]], ["a", "b", "c", "d"])
    >>> panel.any_judge.estimate, panel.consensus.estimate
    (0.625, 0.125)
    """
    verdicts = np.asarray(incorrect, dtype=float)
    if verdicts.ndim != 2 or verdicts.shape[1] == 0:
        raise InputError("incorrect", "must be items x judges", verdicts.shape)
    in_open_unit_interval("ci_level", ci_level)
    labels = np.asarray(clusters)
    given = ~np.isnan(verdicts)
    judges = [column for column in range(verdicts.shape[1]) if given[:, column].any()]
    level = 1 - (1 - ci_level) / max(len(judges), 1)
    own = [
        clustered_proportion(verdicts[:, judge], labels, cluster_unit=cluster_unit, ci_level=level) for judge in judges
    ]
    patterns, counts = np.unique(given[:, judges], axis=0, return_counts=True)
    corners = [np.array([getattr(rate, bound) for rate in own]) for bound in ("estimate", "ci_low", "ci_high")]

    def expected(rate_of: Callable[[NDArray[np.float64]], float], fewest: int) -> Estimate:
        enough = patterns.sum(axis=1) >= fewest
        kept, times = patterns[enough], counts[enough]
        values = [_mean_rate(kept, times, corner, rate_of) for corner in corners]
        counted = given.sum(axis=1) >= fewest
        reason = "" if counted.any() else f"no item has verdicts of {fewest} or more judges"
        return Estimate(
            estimate=values[0],
            ci_low=values[1],
            ci_high=values[2],
            ci_level=ci_level,
            n_items=int(counted.sum()),
            n_raters=len(judges),
            n_missing=int((~kept).sum(axis=1) @ times),
            n_clusters=len(set(labels[counted].tolist())),
            cluster_unit=cluster_unit,
            method=_METHOD,
            reason=reason or next((rate.reason for rate in own if math.isnan(rate.ci_low)), ""),
        )

    return IndependentPanel(expected(any_judge_rate, 1), expected(consensus_rate, 2))


@dataclass(frozen=True)
class Coincidence:
    """How often two judges say incorrect of one item, and how often they would if their verdicts shared nothing.

    `observed` and `expected` count pairs of judges over all items; `p_value` is one-sided. `refusal` says why there was
    no test, and is empty otherwise.
    """

    observed: int
    expected: float
    p_value: float
    monte_carlo_error: float
    n_clusters: int
    refusal: str = ""


def coincidence_test(incorrect: ArrayLike, *, rng: np.random.Generator) -> Coincidence:
    """Test that the judges' incorrect verdicts coincide no more often than chance would have it.

    The reference distribution deals each judge's verdicts out to the tasks anew, all verdicts of a task together, so
    that a judge's own rate and its habit of failing several runs of one task stay as they are.

    Parameters
    ----------
    incorrect : array_like, shape (n_tasks, n_runs, n_judges)
        1 incorrect, 0 another verdict, NaN none; the second axis is the place of the run (an agent, a trial).
    rng : numpy.random.Generator
        Source of the permutations.

    Returns
    -------
    Coincidence
        Refused with fewer than 10 tasks, fewer than 2 judges, or a judge without any incorrect verdict beside another.

    References
    ----------
    Phipson and Smyth (2010), doi:10.2202/1544-6115.1585 (Monte Carlo p values).
    """
    verdicts = np.nan_to_num(np.asarray(incorrect, dtype=float))
    if verdicts.ndim != 3:
        raise InputError("incorrect", "must be tasks x runs x judges", verdicts.shape)
    tasks = len(verdicts)
    judges = [judge for judge in range(verdicts.shape[2]) if verdicts[:, :, judge].any()]
    if tasks < FEWEST_CLUSTERS or len(judges) < 2:
        few = f"{many(tasks, 'task')}; the test needs at least {FEWEST_CLUSTERS}"
        refusal = few if tasks < FEWEST_CLUSTERS else "fewer than two judges say incorrect at all"
        return Coincidence(0, math.nan, math.nan, math.nan, tasks, refusal)
    dealt = rng.permuted(np.tile(np.arange(tasks), (len(judges), DRAWS, 1)), axis=2)
    reference, observed = np.zeros(DRAWS), 0.0
    for one, other in combinations(range(len(judges)), 2):
        # task of one judge x task of the other
        together = verdicts[:, :, judges[one]] @ verdicts[:, :, judges[other]].T
        reference += together[dealt[one], dealt[other]].sum(axis=1)
        observed += float(np.trace(together))
    p_value, error = monte_carlo_p(reference, observed, exact=False)
    return Coincidence(round(observed), float(reference.mean()), p_value, error, tasks)


def _mean_rate(
    patterns: NDArray[np.bool_],
    times: NDArray[np.intp],
    rates: NDArray[np.float64],
    rate_of: Callable[[NDArray[np.float64]], float],
) -> float:
    """Mean over items of the panel's rate among the judges that gave a verdict on the item; NaN without items.

    Each of `patterns` says which judges did, on as many items as `times` has.
    """
    if not len(patterns):
        return math.nan
    return float(np.average([rate_of(rates[pattern]) for pattern in patterns], weights=times))


def _rates(rates: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(rates, dtype=float)
    if values.ndim != 1 or values.size == 0 or not ((values >= 0) & (values <= 1) | np.isnan(values)).all():
        raise InputError("rates", "must be one rate in [0, 1] for each judge", rates)
    return values
