"""Populations of judged items of which people labelled a few, with the failure rate known."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri


@dataclass(frozen=True)
class World:
    """`n_judged` items and `n_labelled` more that were labelled; how they were drawn, and how good the judge is.

    `sampling` ``by_human_label`` draws half of the labels from failures, ``by_judge_verdict`` half from the items that
    the judge calls incorrect, ``by_key`` half from a fifth of the items where failures are more frequent. With
    `per_task` items, those of a task share `icc` of the latent failure propensity and of the judge's (probit); at
    random whole tasks are labelled, or one item of each with `one_per_task`. Verdicts are `lost` twice as often on
    failures.
    """

    n_labelled: int = 50
    n_judged: int = 1000
    prevalence: float = 0.3
    sensitivity: float = 0.9
    specificity: float = 0.8
    sampling: str = "random"
    per_task: int = 1
    icc: float = 0.3
    one_per_task: bool = False
    lost: float = 0.0

    def draw(self, rng):
        """Verdicts, labels (NaN where none), tasks (None: independent), probabilities (None unless drawn by key)."""
        n = self.n_labelled + self.n_judged
        n_tasks = n // self.per_task
        n = n_tasks * self.per_task
        task = np.repeat(np.arange(n_tasks), self.per_task)
        icc = self.icc if self.per_task > 1 else 0.0
        latent = math.sqrt(icc) * rng.standard_normal(n_tasks)[task] + math.sqrt(1 - icc) * rng.standard_normal(n)
        failed = latent < ndtri(self.prevalence)
        share = math.sqrt(icc) * rng.standard_normal(n_tasks)[task] + math.sqrt(1 - icc) * rng.standard_normal(n)
        said = np.where(failed, share < ndtri(self.sensitivity), share >= ndtri(self.specificity)).astype(float)
        said[rng.random(n) < self.lost * np.where(failed, 2, 1)] = np.nan
        chosen, probability = self._chosen(rng, failed, said, task, latent)
        tasks = task if self.per_task > 1 else None
        return said, np.where(chosen, failed, np.nan), tasks, probability

    def _chosen(self, rng, failed, said, task, latent):
        chosen = np.zeros(failed.size, dtype=bool)
        if self.sampling == "random":
            n_tasks = self.n_labelled if self.one_per_task else self.n_labelled // self.per_task
            drawn = rng.choice(task.max() + 1, n_tasks, replace=False)
            if self.one_per_task:
                chosen[drawn * self.per_task + rng.integers(0, self.per_task, n_tasks)] = True
            else:
                chosen = np.isin(task, drawn)
            return chosen, None
        by = {
            "by_human_label": failed,
            "by_judge_verdict": said == 1,
            "by_key": latent + rng.standard_normal(failed.size) < np.sqrt(2) * ndtri(0.2),
        }[self.sampling]
        probability = np.empty(failed.size)
        for kind, n in ((True, self.n_labelled // 2), (False, self.n_labelled - self.n_labelled // 2)):
            there = np.flatnonzero(by == kind)
            n = min(n, there.size)
            probability[there] = n / there.size
            chosen[rng.choice(there, n, replace=False)] = True
        return chosen, probability if self.sampling == "by_key" else None


#: The seven settings of ../shared/spec/statistics.md; then labels enriched by verdict or key, and shared tasks.
WORLDS = {
    "S1 base": World(),
    "S2 rare": World(prevalence=0.05),
    "S3 coin": World(sensitivity=0.6, specificity=0.5),
    "S4 many labels": World(n_labelled=500, n_judged=100),
    "S5 worse than a coin": World(sensitivity=0.3, specificity=0.4),
    "S6 half failures": World(sampling="by_human_label"),
    "S7 near perfect": World(sensitivity=0.99, specificity=0.99),
    "judge-enriched": World(sampling="by_judge_verdict"),
    "judge-enriched, rare": World(sampling="by_judge_verdict", prevalence=0.05),
    "by a key": World(sampling="by_key"),
    "whole tasks": World(n_labelled=80, n_judged=400, per_task=4),
    "whole tasks, rare": World(n_labelled=80, n_judged=400, per_task=4, prevalence=0.1),
    "one run a task": World(n_labelled=60, n_judged=340, per_task=4, one_per_task=True),
    "lost verdicts": World(lost=0.1),
    "few labels, a coin": World(n_labelled=20, prevalence=0.05, sensitivity=0.5, specificity=0.5),
    "nearly constant": World(prevalence=0.05, sensitivity=0.1, specificity=0.99),
    "large": World(n_labelled=600, n_judged=3000),
}
