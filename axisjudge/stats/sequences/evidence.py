"""Evidence that may be looked at as often as one likes: e-values against no change, and against no drift.

An e-value is the capital of somebody who bets against the hypothesis, from 1: under it the capital ever reaches
1 / alpha with probability at most alpha, so that max(e) >= 20 is a finding at .05 whenever one stops.

References
----------
Vovk and Wang (2021), Annals of Statistics 49:1736-1754, doi:10.1214/20-AOS2020. Waudby-Smith and Ramdas (2024),
doi:10.1093/jrsssb/qkad009. Shin, Ramdas and Rinaldo (2024), doi:10.51387/23-NEJSDS51 (sums over
starting points).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, in_unit_interval
from axisjudge.results import Result
from axisjudge.stats.sequences.betting import by_task, capital, halfway, relative

Floats = NDArray[np.float64]

#: Occasions without a change that measure how far whole occasions differ: fewer leave two degrees of freedom or none.
FEWEST_NULL = 4
#: Shifts that bets on drift are made for, in standard deviations of an occasion.
EXPECTED_SHIFTS = (2.0, 8.0)


@dataclass(frozen=True, eq=False)
class SequenceEvidence(Result):
    """E-values after each unit, and the first unit after which they say stop at `level` (None: never).

    `p_value` holds at every look: 1 / the largest e-value so far.
    """

    e_values: Floats
    level: float
    unit: str

    @property
    def largest(self) -> float:
        """The largest e-value so far; 1 before the first unit."""
        return float(self.e_values.max(initial=1.0))

    @property
    def p_value(self) -> float:
        """Probability, at most, of ever seeing so much evidence where there is nothing."""
        return 1 / self.largest

    @property
    def stopped_at(self) -> int | None:
        """After how many units the evidence sufficed."""
        enough = np.flatnonzero(self.e_values >= (1 - 1e-12) / self.level)
        return int(enough[0]) + 1 if enough.size else None


def evidence_of_rate(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    rate: float,
    largest: int | None = None,
    cluster_unit: str = "task",
    level: float = 0.05,
) -> SequenceEvidence:
    """Evidence against the hypothesis that the rate of ones is `rate`, after each task.

    Half of the money bets on more and half on less: e = (K+ + K-) / 2.

    Parameters
    ----------
    values, clusters, largest, cluster_unit
        As in `betting_sequence`.
    rate : float
        The hypothesis, in [0, 1].
    level : float
        For which bets are sized.

    Examples
    --------
    >>> evidence_of_rate([1] * 20, rate=0.5).stopped_at
    10
    """
    in_unit_interval("rate", rate)
    in_open_unit_interval("level", level)
    x, w = relative(by_task(values, clusters), largest)
    up, down = capital(x, w, [rate], level)
    e_values = (np.exp(up[:, 0]) + np.exp(down[:, 0])) / 2
    return SequenceEvidence(e_values, level, "item" if clusters is None else cluster_unit)


def evidence_of_change(
    before: ArrayLike,
    after: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    largest: int | None = None,
    cluster_unit: str = "task",
    level: float = 0.05,
) -> SequenceEvidence:
    """Evidence against the hypothesis that two versions have one rate, after each task.

    Parameters
    ----------
    before, after : array in [0, 1] or NaN, shape (n_items,)
        Items that lack one of them do not count.
    clusters, largest, cluster_unit, level
        As in `evidence_of_rate`.
    """
    options = {"largest": largest, "level": level}
    return evidence_of_rate(halfway(before, after), clusters, rate=0.5, cluster_unit=cluster_unit, **options)  # type: ignore[arg-type]


def evidence_of_drift(rates: ArrayLike, *, resolution: float = 0.0, level: float = 0.05) -> SequenceEvidence:
    r"""Evidence that a judge's rate has left where it was, by more than occasions differ anyhow.

    The hypothesis: rates of occasions are independent and normal about one mean, with any standard deviation s. The bet
    for a change after occasion j expects a shift of d s for all that follow, d ~ N(0, T^2). With the mean and s given
    their right Haar prior under both, the ratio of the two after t occasions depends on neither:

    .. math:: B_{jt} = (1 + T^2 q)^{-1/2} \left(1 - \frac{T^2 c^2}{(1 + T^2 q) R}\right)^{-(t - 1)/2}

    with R the sum of squares about the mean, c the sum of the occasions after j about that mean, and q = j (t - j) / t.
    The money is spread evenly over T in `EXPECTED_SHIFTS` and over the beginnings j = 4, 5, ... as
    1 / ((j - 3) (j - 2)), since the first four occasions are taken as unchanged: they measure the noise. What is not
    bet yet stays as it is.

    Parameters
    ----------
    rates : array in [0, 1], shape (n_occasions,)
        The rate on one anchor set on each occasion, the first one first. Occasions are the units, since a whole
        occasion can be off: its tasks and its repeats do not count as so many looks.
    resolution : float
        The least standard deviation that is believed (one verdict among the items): rates that were equal by chance
        make no later change sure. It can only lower the evidence.
    level : float
        Probability of ever calling drift where there is none.

    Returns
    -------
    Evidence
        One e-value for each occasion after the first; 1 up to the fourth.

    Notes
    -----
    Simulated with 10 and 20 occasions of a judge that never changes (300 series a cell): called in .00 to .03 of series
    where deviations are normal, in .00 to .04 with t of 3 degrees of freedom. It fails over 20 occasions with a
    probit SD of .3 that are skewed (exponential, .10) or follow each other (autocorrelation .5, .17). These designs
    took part in choosing it; none was held back.

    References
    ----------
    Perez-Ortiz, Lardy, de Heide and Grunwald (2024), Annals of Statistics 52(4):1410-1432, doi:10.1214/24-AOS2394 (the
    ratio under the right Haar prior is an e-process). Shin, Ramdas and Rinaldo (2024), doi:10.51387/23-NEJSDS51.

    Examples
    --------
    The first occasion after the change (the fifth):

    >>> evidence_of_drift([0.20, 0.22, 0.19, 0.21, 0.40, 0.41, 0.40, 0.41]).stopped_at
    4
    """
    in_open_unit_interval("level", level)
    rate = np.asarray(rates, dtype=np.float64)
    if rate.ndim != 1 or rate.size < 2 or not ((rate >= 0) & (rate <= 1)).all():
        raise InputError("rates", "must be one row of two occasions or more within [0, 1]", rates)
    return SequenceEvidence(
        np.array([_drifted(rate[:t], resolution) for t in range(2, rate.size + 1)]), level, "occasion"
    )


def _drifted(rate: Floats, resolution: float) -> float:
    """The capital after these occasions."""
    t = rate.size
    if t <= FEWEST_NULL:
        return 1.0
    about = rate - rate.mean()
    squares = float(about @ about) + (t - 1) * resolution**2
    if not squares:
        return 1.0
    j = np.arange(FEWEST_NULL, t)
    q, c = j * (t - j) / t, about.sum() - np.cumsum(about)[j - 1]
    money = 1 / ((j - FEWEST_NULL + 1) * (j - FEWEST_NULL + 2))
    spread = 1 + np.array(EXPECTED_SHIFTS)[:, None] ** 2 * q
    left = np.maximum(1 - (spread - 1) / q * c**2 / (spread * squares), 1e-12)
    with np.errstate(over="ignore"):
        ratio = left ** (-(t - 1) / 2) / np.sqrt(spread)
    return float((ratio.mean(axis=0) * money).sum() + 1 / (t - FEWEST_NULL + 1))


def occasion_means(occasions: Sequence[ArrayLike]) -> Floats:
    """The mean of every occasion over the same items and the same number of runs; NaN for one without verdicts.

    An occasion of fewer runs has more noise, so that only the first runs of the others are taken; an item that lacks
    a verdict in one of them is left out of all.
    """
    judged = [np.asarray(each, dtype=np.float64).reshape(len(np.asarray(each)), -1) for each in occasions]
    given = [each[:, ~np.isnan(each).all(axis=0)] for each in judged]
    there = [each for each in given if each.shape[1]]
    if not there:
        return np.full(len(judged), float("nan"))
    fewest = min(each.shape[1] for each in there)
    complete = ~np.isnan(np.hstack([each[:, :fewest] for each in there])).any(axis=1)
    if not complete.any():
        return np.full(len(judged), float("nan"))
    return np.array([each[complete, :fewest].mean() if each.shape[1] else float("nan") for each in given])


def evidence_of_runs(occasions: Sequence[ArrayLike], *, level: float = 0.05) -> SequenceEvidence | None:
    """Evidence of drift from verdicts of repeated runs; None before a fifth occasion (noise of occasions not measured).

    Parameters
    ----------
    occasions : sequence of array of 1, 0 or NaN, each of shape (n_items, n_runs)
        Verdicts on the same items, the first occasion first (`occasion_means` says which of them count).
    """
    means = occasion_means(occasions)
    rates = means[~np.isnan(means)]
    if len(rates) <= FEWEST_NULL:
        return None
    return evidence_of_drift(rates, resolution=1 / len(np.asarray(occasions[0])), level=level)
