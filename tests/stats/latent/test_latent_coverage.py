"""Calibration of the latent model: ranks are uniform, intervals cover, components come back."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest
from stats.latent.latent_table import by_design, by_model, simulated
from stats.latent.latent_worlds import ORDINARY, PAIR

THREE = (PAIR[0] + (0.8,), PAIR[1] + (0.92,))


def ranks(n_studies, seed=0, **world):
    """Rank of every truth among thinned draws, by quantity: uniform if the sampler draws from the posterior."""
    worlds, found, drawn = simulated(n_studies, seed=seed, draws=1000, from_prior=True, **world)
    truths = {
        "mean": (found.failing.mean(axis=(2, 3)), [each.failing.mean() for each in worlds]),
        "cell": (found.failing[..., 0, 0], [each.failing[0, 0] for each in worlds]),
        "called": (found.called[..., -1, -1], [each.called[-1, -1] for each in worlds]),
        "sensitivity": (found.sensitivity[..., 0], [each.sensitivity[0] for each in worlds]),
        "specificity": (found.specificity[..., -1], [each.specificity[-1] for each in worlds]),
        "effective": (found.effective, [each.effective for each in worlds]),
        **{
            f"deviation {name}": (drawn.deviations[..., at], [each.deviations[name] for each in worlds])
            for at, name in enumerate(worlds[0].items.factors)
        },
    }
    return {name: (draws[:, 9::10] < np.array(truth)[:, None]).mean(axis=1) for name, (draws, truth) in truths.items()}


@pytest.mark.slow
def test_intervals_cover_at_five_tasks_and_are_narrower_than_design_based_ones():
    worlds, found, _ = simulated(8, tasks=5, axes=3, draws=200, burn_in=100)
    cover, width = by_model(worlds, found.called, "called")
    beside, wide, _ = by_design(worlds, "called")
    assert cover > 0.88
    assert beside > 0.93
    assert width < 0.75 * wide


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "world",
    [
        {"tasks": 5},
        {"tasks": 5, "labelled": 0.0, "judges": THREE},
        {"tasks": 5, "repeats": 3, "flips": 0.08},
        {"tasks": 10},
        {"tasks": 20},
    ],
    ids=str,
)
def test_ranks_of_truths_drawn_from_the_prior_are_uniform(world):
    """By chi-square in 8 cells, and within the 99.9% band of their distribution (Kolmogorov)."""
    for name, rank in ranks(100 if world["tasks"] > 5 else 200, **world).items():
        counts = np.histogram(rank, bins=8, range=(0, 1))[0]
        assert chisquare(counts).pvalue > 1e-4, (name, counts)
        assert kstest((100 * rank + 0.5) / 101, "uniform").pvalue > 1e-3, (name, counts)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [5, 10, 20, 50])
def test_intervals_cover_on_the_grid(tasks):
    worlds, found, _ = simulated(60, tasks=tasks)
    for name in ("failing", "called", "sensitivity", "specificity"):
        cover, _ = by_model(worlds, getattr(found, name), name)
        assert cover > 0.90, (name, cover)


@pytest.mark.slow
def test_variance_components_come_back():
    worlds, _, drawn = simulated(30, tasks=40, labelled=0.5)
    for at, name in enumerate(worlds[0].items.factors):
        assert abs(drawn.deviations[..., at].mean() - ORDINARY[name]) < 0.12, name
        low, high = np.quantile(drawn.deviations[..., at], [0.025, 0.975], axis=1)
        assert ((low <= ORDINARY[name]) & (ORDINARY[name] <= high)).mean() > 0.85, name
