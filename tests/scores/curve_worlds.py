"""Simulated runs with a known curve, for recovery and coverage.

People's scores: with eta = (ln raw - ln median) / sigma and u ~ N(0, noise^2) made of a task's share and a run's own,
y = Phi(eta sqrt(1 + noise^2) + u) has mean Phi(eta), so the planted median and sigma are the true ones whatever the
noise. Labels: Phi^-1 of the chance of the label or better is the line eta - cut, by the same argument.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

TASK_SHARE = 0.3


@dataclass(frozen=True)
class World:
    """Raw scores whose logarithm has the given centre and spread, judged by people along a planted curve."""

    n_tasks: int = 12
    runs: int = 4
    centre: float = math.log(0.5)
    spread: float = 0.4
    median: float = 0.5
    sigma: float = 0.4
    noise: float = 0.6
    sizes: tuple[int, ...] = ()  # runs of each task, where they differ

    @property
    def tasks(self) -> np.ndarray:
        sizes = self.sizes or (self.runs,) * self.n_tasks
        return np.repeat(np.arange(len(sizes)), sizes)

    def line(self, raw) -> np.ndarray:
        return (np.log(raw) - math.log(self.median)) / self.sigma

    def shared(self, rng: np.random.Generator) -> np.ndarray:
        """Standard normal, of which a part is common to the runs of a task."""
        tasks = self.tasks
        own = rng.normal(size=tasks.size)
        return math.sqrt(TASK_SHARE) * rng.normal(size=tasks.max() + 1)[tasks] + math.sqrt(1 - TASK_SHARE) * own

    def raw(self, rng: np.random.Generator) -> np.ndarray:
        return np.exp(np.minimum(self.centre + self.spread * self.shared(rng), 0.0))

    def human(self, rng: np.random.Generator, raw: np.ndarray) -> np.ndarray:
        latent = self.line(raw) * math.sqrt(1 + self.noise**2) + self.noise * self.shared(rng)
        return np.round(100 * ndtr(latent))

    def labels(self, rng: np.random.Generator, raw: np.ndarray, cuts=(-1.0, 0.0, 1.0)) -> np.ndarray:
        """Labels 0 to 3; the curve of the cut at 0 is the planted one."""
        latent = self.line(raw) + self.shared(rng)
        return np.digitize(latent, cuts)
