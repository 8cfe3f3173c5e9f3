"""Coverage and width of the latent model's intervals beside design-based ones.

``python -m stats.latent.latent_table 60 5 10 20 50`` from tests/ prints it: number of studies, numbers of tasks.
Each row is a world, each study one series of the sampler; 95% intervals. Design-based are, for what judges call
incorrect, the share over items with tasks as clusters, and for what fails, the same share of the labelled items alone.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from stats.latent.latent_worlds import study, together

from axisjudge.stats.latent_panel import FIXED, Quantities, tails
from axisjudge.stats.latent_sampler import sample
from axisjudge.stats.proportions import bounded_share

WORLDS = {
    "ordinary": {},
    "no label, 5 judges": {"labelled": 0.0, "judges": ((0.85, 0.75, 0.8, 0.7, 0.9), (0.95, 0.9, 0.92, 0.97, 0.88))},
    "rare failures": {"mean": -1.9},
    "one agent apart": {"outlier": 1.2},
    "nothing varies": {
        "deviations": dict.fromkeys(("axis", "agent", "task", "agent x axis", "task x axis", "run"), 0.0)
    },
    "poor judges": {"judges": ((0.6, 0.7), (0.7, 0.8)), "shared": 1.0},
}


def simulated(n_studies, *, seed=0, draws=600, burn_in=250, **world):
    """The studies and the draws for each: (worlds, quantities with one series a study)."""
    rng = np.random.default_rng(seed)
    worlds = [study(rng, **world) for _ in range(n_studies)]
    keep = tuple(name for name in worlds[0].items.factors if name in FIXED)
    drawn = sample(together(worlds), series=n_studies, draws=draws, burn_in=burn_in, keep=keep, rng=rng)
    return worlds, Quantities.of(drawn, worlds[0].items), drawn


def by_model(worlds, draws, name):
    """Share covered and mean width of the model's intervals of one quantity."""
    low, high = np.quantile(draws, tails(0.95), axis=1)
    truth = np.array([getattr(world, name) for world in worlds])
    return ((low <= truth) & (truth <= high)).mean(), (high - low).mean()


def by_design(worlds, name):
    """Share covered, mean width and share answered of clustered shares, cell by cell."""
    covered, width, asked = [], [], 0
    for world in worlds:
        items = world.items
        said = items.labels if name == "failing" else items.incorrect.mean(axis=1)
        for (agent, axis), truth in np.ndenumerate(getattr(world, name)):
            here = (items.groups["agent"] == agent) & (items.groups["axis"] == axis)
            found = bounded_share(np.where(here, said, np.nan), items.groups["task"])
            asked += 1
            if not np.isnan(found.ci_low):
                covered.append(found.ci_low <= truth <= found.ci_high)
                width.append(found.ci_high - found.ci_low)
    return (np.mean(covered), np.mean(width), len(covered) / asked) if covered else (np.nan, np.nan, 0.0)


def main(n_studies, tasks):
    print(f"{n_studies} studies a row; cells are 4 agents x 5 axes; model / design-based (share answered)")
    for name, world in WORLDS.items():
        for n_tasks in tasks:
            start = time.process_time()
            worlds, found, _ = simulated(n_studies, tasks=n_tasks, **world)
            parts = []
            for what in ("failing", "called"):
                cover, width = by_model(worlds, getattr(found, what), what)
                beside, wide, answered = by_design(worlds, what)
                parts.append(f"{what} {cover:.3f} w {width:.2f} / {beside:.3f} w {wide:.2f} ({answered:.2f})")
            for what in ("sensitivity", "specificity", "effective"):
                cover, width = by_model(worlds, getattr(found, what), what)
                parts.append(f"{what} {cover:.3f} w {width:.2f}")
            print(f"{name:19} {n_tasks:3} tasks: {'; '.join(parts)}; {time.process_time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]] or [100, 5, 10, 20, 50]
    main(numbers[0], numbers[1:])
