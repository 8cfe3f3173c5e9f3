"""Labels said to be drawn at random, compared with the other items by task."""

import numpy as np
import pytest

from axisjudge.stats.rates.uneven_draws import drawn_apart


@pytest.mark.parametrize(("how", "low", "high"), [("items", 0, 0.03), ("one a task", 0, 0.03), ("failures", 0.7, 1)])
def test_labels_drawn_by_verdict_show_and_labels_at_random_seldom_do(how, low, high):
    """60 tasks of 4: failures labelled three times as often, a share of all items, one item of each task."""

    rng, task, times = np.random.default_rng(3), np.repeat(np.arange(60), 4), 200
    found = 0
    for _ in range(times):
        failed = 0.6 * rng.normal(size=60)[task] + 0.8 * rng.normal(size=240) > 0.5
        chance = np.where(failed, 0.6, 0.2) if how == "failures" else np.full(240, 0.3)
        labelled = rng.random(240) < chance
        if how == "one a task":
            labelled = np.arange(240) == np.repeat(4 * np.arange(60) + rng.integers(0, 4, 60), 4)
        agents = {f"agent {k}": np.arange(240) % 4 == k for k in range(4)}
        found += "failed" in drawn_apart(labelled, {"failed": failed, **agents}, task)
    assert low <= found / times <= high
