"""Evidence that may be looked at as often as one likes: e-values against no change, and against no drift.

An e-value is the capital of somebody who bets against the hypothesis, from 1: under it the capital ever reaches
1 / alpha with probability at most alpha, so that max(e) >= 20 is a finding at .05 whenever one stops.

References
----------
Vovk and Wang (2021), Annals of Statistics 49:1736-1754, doi:10.1214/20-AOS2020. Waudby-Smith and Ramdas (2024),
doi:10.1093/jrsssb/qkad009. Shin, Ramdas and Rinaldo (2024), doi:10.51387/23-NEJSDS51 (sums over
starting points). Robbins (1970), doi:10.1214/aoms/1177696786 (normal mixtures).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from axisjudge.checks import InputError, in_open_unit_interval, in_unit_interval
from axisjudge.results import Result
from axisjudge.stats.sequences.betting import by_task, capital, halfway, relative

Floats = NDArray[np.float64]

#: Shifts that a bet on drift is made for, in standard deviations of an occasion.
EXPECTED_SHIFT = 2.0


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


def evidence_of_drift(rates: ArrayLike, *, noise: float, level: float = 0.05) -> SequenceEvidence:
    """Evidence that a judge's rate has left where it was, by more than occasions differ anyhow.

    The hypothesis: rates of occasions are normal about one mean, with a standard deviation of `noise` or less. The bet
    for a change from occasion j on sets the n occasions since against the mean of the j before, with shifts spread
    as N(0, T^2), T = `EXPECTED_SHIFT` x noise; the money is spread over the beginnings as 1 / (j (j + 1)):

        I_j = n / (1 + n / j) / noise^2
        S_j = sum over the n occasions of (rate - mean before) / (1 + n / j) / noise^2
        e_t = sum_{j <= t} exp(S_j^2 T^2 / (2 (1 + T^2 I_j))) / sqrt(1 + T^2 I_j) / (j (j + 1)) + 1 / (t + 1)

    The last term is the money that is not bet yet.

    Parameters
    ----------
    rates : array in [0, 1], shape (n_occasions,)
        The rate on one anchor set on each occasion, the first one first. Occasions are the units, since a whole
        occasion can be off: its tasks do not count as so many looks.
    noise : float
        Standard deviation of a whole occasion's rate where nothing has changed, in (0, 1): the upper end of what
        repeats show, since too small a figure calls drift too often.
    level : float
        Probability of ever calling drift where there is none.

    Returns
    -------
    Evidence
        One e-value for each occasion after the first.

    Raises
    ------
    InputError
        Rates outside [0, 1], or fewer than two.

    Examples
    --------
    The third occasion after the first has left the others:

    >>> evidence_of_drift([0.2, 0.2, 0.2, 0.4, 0.4, 0.4], noise=0.04).stopped_at
    3
    """
    in_open_unit_interval("noise", noise)
    in_open_unit_interval("level", level)
    rate = np.asarray(rates, dtype=np.float64)
    if rate.ndim != 1 or rate.size < 2 or not ((rate >= 0) & (rate <= 1)).all():
        raise InputError("rates", "must be one row of two occasions or more within [0, 1]", rates)
    total = np.concatenate([[0.0], np.cumsum(rate)])
    e_values = np.empty(rate.size - 1)
    for t in range(1, rate.size):
        j = np.arange(1, t + 1)
        n = t + 1 - j
        shift = (total[t + 1] - total[j]) - n * total[j] / j
        information, score = (each / (1 + n / j) / noise**2 for each in (n, shift))
        spread = 1 + (EXPECTED_SHIFT * noise) ** 2 * information
        with np.errstate(over="ignore"):
            ratio = np.exp((EXPECTED_SHIFT * noise * score) ** 2 / (2 * spread)) / np.sqrt(spread)
        e_values[t - 1] = (ratio / (j * (j + 1))).sum() + 1 / (t + 1)
    return SequenceEvidence(e_values, level, "occasion")


def evidence_of_runs(occasions: Sequence[ArrayLike], *, level: float = 0.05) -> SequenceEvidence | None:
    """Evidence of drift from verdicts of repeated runs, with the noise of an occasion that the repeats show.

    Parameters
    ----------
    occasions : sequence of array of 1, 0 or NaN, each of shape (n_items, n_runs)
        Verdicts on the same items, the first occasion first; items without a verdict in some run are left out.

    Returns
    -------
    Evidence or None
        None where no repeats show any noise. It is taken at the upper end (99%) of what they show, for the fewest runs
        of any occasion.
    """
    from scipy.special import chdtri

    judged = [np.asarray(occasion, dtype=np.float64) for occasion in occasions]
    complete = ~np.isnan(np.hstack(judged)).any(axis=1)
    if not complete.any():
        return None
    runs = [each[complete].mean(axis=0) for each in judged]
    degrees = sum(each.size - 1 for each in runs)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in runs)
    if not degrees or not squares:
        return None
    noise = math.sqrt(squares / float(chdtri(degrees, 0.99)) / min(each.size for each in runs))
    return evidence_of_drift([each.mean() for each in runs], noise=noise, level=level) if noise < 1 else None
