"""The optimism of the best of several looks: published order statistics, the definition's own figures, simulation."""

import math

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.stats.comparisons.ranking import expected_maximum, optimism_bound, optimism_of_one, standard_error


@pytest.mark.parametrize(
    ("k", "expected"),
    # Harter (1961), table 1, doi:10.2307/2333139
    [(1, 0.0), (2, 0.56419), (3, 0.84628), (4, 1.02938), (5, 1.16296), (10, 1.53875), (20, 1.86748)],
)
def test_expected_maxima(k, expected):
    assert expected_maximum(k) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(("correlation", "expected"), [(0.8, 0.026), (0.1, 0.056)])
def test_the_figures_of_the_definition(correlation, expected):
    """n = 50, k = 5, agreement .85: .026 to .056, for versions whose errors correlate at .8 to .1."""
    spread = math.sqrt(2 * 0.85 * 0.15 * (1 - correlation))  # of one paired difference
    bound = expected_maximum(5) * spread / math.sqrt(50) / math.sqrt(2)
    assert bound == pytest.approx(expected, abs=0.0005)
    differences = np.tile([-spread, spread], 25)
    # the standard error of a mean has n - 1 below the line, the definition's formula n
    assert optimism_bound(differences, 5) == pytest.approx(bound * math.sqrt(50 / 49))


def test_it_bounds_what_selection_gains():
    """Five versions of equal worth on 50 items: the best one flatters by no more than the bound, and not far less."""
    rng = np.random.default_rng(5)
    gains, bounds = [], []
    for _ in range(2_000):
        shared, own = rng.standard_normal((1, 50)), rng.standard_normal((5, 50))
        right = (math.sqrt(0.5) * shared + math.sqrt(0.5) * own < 1.0364).astype(float)  # P = .85
        gains.append(right.mean(axis=1).max() - 0.85)
        bounds.append(optimism_bound(right[1] - right[0], 5))
    gain, error = np.mean(gains), np.std(gains) / math.sqrt(len(gains))
    assert gain - 3 * error < np.mean(bounds)
    assert np.mean(bounds) < 1.25 * gain


def test_nothing_is_selected():
    assert optimism_bound(np.zeros(20), 5) == 0
    assert optimism_bound(np.tile([0.0, 1.0], 10), 1) == 0


def test_without_a_pair_the_other_versions_count_as_independent():
    rng = np.random.default_rng(0)
    one, other = (rng.random((2, 20_000)) < 0.85).astype(float)
    assert optimism_of_one(one, 4) == pytest.approx(optimism_bound(one - other, 4), rel=0.05)


def test_runs_of_a_task_are_no_independent_items():
    values, tasks = np.repeat(np.tile([0.0, 1.0], 10), 4), np.repeat(np.arange(20), 4)
    assert standard_error(values, tasks) == pytest.approx(standard_error(values[::4]))
    assert optimism_of_one(values, 3, clusters=tasks) > 1.9 * optimism_of_one(values, 3)


def test_what_cannot_be_known():
    with pytest.raises(InputError, match="k: must be 1 or more; found 0"):
        expected_maximum(0)
    assert math.isnan(optimism_bound([0.0, 1.0], 3, clusters=["a", "a"]))
