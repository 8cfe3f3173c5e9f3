"""Whether chains of a sampler agree, and how many independent draws they are worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from axisjudge.results import Result

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
