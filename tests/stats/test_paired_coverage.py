"""Paired changes over ragged tasks: the interval covers, and does not contradict the test beside it."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from axisjudge.stats.comparisons.paired import paired_change

SIZES = {
    "60 items": [1] * 60,
    "12 x 4": [4] * 12,
    "12 x 12": [12] * 12,
    "12 of 60..2": [60, 20, 10, 5, 5, 3] + [2] * 6,
    "12 geometric": [round(size) for size in np.geomspace(60, 2, 12)],
    "25 of 40..4": [round(size) for size in np.geomspace(40, 4, 25)],
    "one of 40, 50 of 2": [40] + [2] * 50,
}


def studies(sizes, icc, worse, better, replicates):
    """Shares of intervals that hold the true mean change, of p values up to .05, and of contradictions.

    Changes of -1 and 1 happen with probabilities `worse` and `better`; they share a normal latent effect of the task.
    """
    rng = np.random.default_rng([len(sizes), round(100 * icc), round(100 * worse)])
    task = np.repeat(np.arange(len(sizes)), sizes)
    held, rejected, contradicted, widths = [], [], [], []
    for number in range(replicates):
        latent = math.sqrt(icc) * rng.standard_normal(len(sizes))[task]
        rank = ndtr(latent + math.sqrt(1 - icc) * rng.standard_normal(task.size))
        change = np.where(rank < worse, -1.0, np.where(rank > 1 - better, 1.0, 0.0))
        found = paired_change(np.zeros(task.size), change, clusters=task, rng=number)
        held.append(found.change.ci_low <= better - worse <= found.change.ci_high)
        rejected.append(found.p_value <= 0.05)
        contradicted.append(found.p_value > 0.05 and not found.change.ci_low <= 0 <= found.change.ci_high)
        widths.append(found.change.ci_high - found.change.ci_low)
    return tuple(float(np.mean(each)) for each in (held, rejected, contradicted, widths))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["60 items", "12 of 60..2"])
def test_null_studies(name):
    held, rejected, contradicted, _ = studies(SIZES[name], 0.3 if name != "60 items" else 0.0, 0.12, 0.12, 150)
    assert held >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / 150)
    assert rejected <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 150)
    assert contradicted == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_over_the_grid():
    cells = [
        (name, icc, *moved)
        for name in SIZES
        for icc in (0.02, 0.3)
        for moved in ((0.15, 0.2), (0.12, 0.12), (0.04, 0.06))
        if name != "60 items" or icc < 0.1
    ]
    found = {cell: studies(SIZES[cell[0]], *cell[1:], 500) for cell in cells}
    for cell, shares in found.items():
        print(*cell, *(f"{share:.3f}" for share in shares))
    held = [shares[0] for shares in found.values()]
    assert np.mean(held) >= 0.95
    assert min(held) >= 0.93 - 0.025  # 500 studies: two Monte Carlo errors
    assert not any(shares[2] for shares in found.values())
