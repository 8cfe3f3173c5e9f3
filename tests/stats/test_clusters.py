"""Clusters of any sizes: what they are worth, the variance between them and its degrees, by hand."""

import math

import numpy as np
import pytest

from axisjudge.stats.clusters import (
    Lean,
    clustered_variance,
    effective_clusters,
    effective_degrees,
    halved_degrees,
    joined_effect,
    lean_of,
    normal_part,
    normal_part_of,
    shared_by_chance,
)
from axisjudge.stats.proportions import cluster_codes, clustered_proportion


def test_effective_clusters_are_the_clusters_where_all_are_alike_and_near_one_where_one_holds_all():
    assert effective_clusters([7] * 13) == 13
    assert effective_clusters([1000, 1, 1]) == pytest.approx(1, abs=0.01)
    assert effective_clusters([]) == 0


def test_the_variance_is_that_of_a_cluster_robust_regression_on_a_constant():
    """statsmodels' cluster-robust error, without its own factors."""
    import statsmodels.regression.linear_model as linear_model

    rng = np.random.default_rng(3)
    task = np.repeat(np.arange(60), 10)
    value = (rng.random(600) < rng.beta(1, 1, 60)[task]).astype(float)
    found = clustered_variance((value - value.mean()) / 600, task)
    fit = linear_model.OLS(value, np.ones((600, 1))).fit(
        cov_type="cluster", cov_kwds={"groups": task, "use_correction": False, "df_correction": False}
    )
    assert found.variance == pytest.approx(60 / 59 * fit.bse[0] ** 2)


def test_clusters_of_one_size_lean_nowhere():
    assert lean_of(np.array([0.1, -0.2, 0.3, -0.2]), np.full(4, 5), 0.1) == Lean()


def test_a_lean_worked_by_hand():
    """Influences an item are -.8 three times and .48: parts .4 and .72, so t = .48 / (.16 / 2); skewness 2 / 3^.5."""
    lean = lean_of([-0.1, -0.1, -0.1, 0.3], [2, 2, 2, 10], 0.2)
    assert (lean.sizes_t, lean.upwards) == (pytest.approx(6), True)
    assert lean.skewed == pytest.approx(2 / 3**0.5 / (6 * 2))
    assert lean.unseen == pytest.approx((10 / 26) * 0.48 / (2 * 0.2))


def test_a_lean_of_sizes_that_differ_little_counts_in_part():
    """Sizes 9, 9, 11, 11: squared deviation .01, of 1/16 a part of .16; t of sizes 1.357, skewness 2 / 3^.5.

    Parts are -.1 x -4/9 twice, .1 x -4/11 and .1 x 12/11; skewness counts by its error sqrt(6 / 4), the larger claim.
    """
    for sign in (1, -1):
        lean = lean_of(sign * np.array([-0.1, -0.1, -0.1, 0.3]), [9, 9, 11, 11], 0.2)
        parts = np.array([0.4 / 9, 0.4 / 9, -0.4 / 11, 1.2 / 11])
        t_of_sizes = 0.040404 / (parts.std(ddof=1) / 2)
        assert (lean.sizes_t, lean.upwards) == (pytest.approx(sign * t_of_sizes, rel=1e-4), sign > 0)
        assert lean.skewed == pytest.approx(0.16 * (2 / 3**0.5) / 1.5**0.5 * (2 / 3**0.5) / (6 * 2))
        informative = 0.16 * (t_of_sizes - 0.5)
        assert lean.unseen == pytest.approx(informative * 11 / 51 * (12 / 11) / (2 * 0.2), rel=1e-4)
    assert lean_of([0.1, -0.1], [2, 5], 0.2) == lean_of([0.1, -0.1, 0.2], [2, 5, 9], 0.0) == Lean()
    for sign in (1, -1):  # where sizes show nothing skewness says to where; a cluster without items is none
        own = lean_of(sign * np.array([0.3, 0.3, *[-0.1] * 6, 0]), [9, 11] * 4 + [0], 0.2)
        assert (own.sizes_t, own.upwards, own.unseen) == (pytest.approx(0, abs=1e-9), sign > 0, 0)
        assert own.skewed == pytest.approx(0.16 * (2 / 3**0.5) / (6 * 8**0.5))


@pytest.mark.parametrize(
    ("effect", "largest", "degrees", "icc", "joined"),
    [  # expected 1 + (b - 1) r on 4 [d / (d - 1)]^2 degrees, 12 at most; it gives way from a correlation of 1/2 on
        (2.0, 4.0, 10.0, 0.3, (12 * 1.9 + 20) / 22),
        (3.7, 4.0, 10.0, 0.3, (2.4 * 1.9 + 37) / 12.4),  # correlation .9: a fifth of it counts
        (
            20.0,
            31.0,
            10.0,
            0.3,
            (4 * (10 / 9) ** 2 * 2 * (11 / 30) * 10 + 200) / (4 * (10 / 9) ** 2 * 2 * (11 / 30) + 10),
        ),
        (19.0, 31.0, 10.0, 0.8, (4 * (25 / 24) ** 2 * 25 + 190) / (4 * (25 / 24) ** 2 + 10)),  # seen is less: whole
        (1.0, 1.0, 10.0, 0.3, 1.0),
        (1.0, 5.0, 10.0, 0.0, 1.0),
    ],
)
def test_a_design_effect_joined_by_hand(effect, largest, degrees, icc, joined):
    found, both = joined_effect(effect, largest, degrees, icc)
    expected = 1 + (largest - 1) * icc
    held = 0 if expected == 1 else min(12, 4 * (expected / (expected - 1)) ** 2)
    assert (found, both) == (pytest.approx(joined), pytest.approx(held + degrees))


def test_degrees_of_rare_outcomes_and_few_clusters_by_hand():
    """Kurtosis of ones and zeros (1 - 3 v) / v with v = p (1 - p): at .05 a sixth; a half needs no help."""
    assert (normal_part(0.5), normal_part(0.05), normal_part(0)) == (1, pytest.approx(3 * 0.0475 / (1 - 3 * 0.0475)), 0)
    ones = np.r_[np.full(19, -0.05), 0.95]
    assert normal_part_of(ones, np.ones(20)) == pytest.approx(normal_part(0.05))
    assert normal_part_of([-0.05, 0.95], [19, 1]) == pytest.approx(normal_part(0.05))
    assert normal_part_of([0.0], [3]) == 0
    assert [halved_degrees(each) for each in (1.5, 4, 6, 10)] == [1.5, 3, 3, 5]
    assert (effective_degrees([5]), effective_degrees([2] * 7)) == (1, 6)


def test_many_clusters_take_their_variance_as_seen_and_few_join_it_with_what_is_expected():
    """Linearised K / (K - 1) sum U^2, no less than of independent items; below five clusters by `joined_effect`."""
    for n_clusters in (4, 5):
        task = np.repeat(np.arange(n_clusters), 3)
        y = (np.arange(3 * n_clusters) % 4 == 0) * 1.0
        part = (y - y.mean()) / y.size
        between = n_clusters / (n_clusters - 1) * (np.bincount(task, weights=part) ** 2).sum()
        independent = y.size / (y.size - 1) * (part**2).sum()
        found = clustered_variance(part, task)
        if n_clusters == 5:
            assert found.variance == pytest.approx(max(between, independent))
            assert found.degrees == 4
        else:
            seen = 3 * normal_part(y.mean())
            effect, degrees = joined_effect(max(1, between / independent), 3, seen, 0.3)
            assert (found.variance, found.degrees) == (pytest.approx(effect * independent), pytest.approx(degrees))
        assert found.variance == pytest.approx(found.design_effect * independent)
        expected = clustered_variance(part, task, prior=0.2)
        joined = joined_effect(max(1, between / independent), 3, (n_clusters - 1) * normal_part(y.mean()), 0.2)
        assert (expected.design_effect, expected.degrees) == pytest.approx(joined)


def test_entries_that_stand_for_several_items_count_as_these():
    rng = np.random.default_rng(2)
    task, times, y = np.repeat(np.arange(8), 3), rng.integers(1, 4, 24), (rng.random(24) < 0.4).astype(float)
    each = np.repeat(np.arange(24), times)
    counted = clustered_proportion(y, task, times=times)
    assert (counted.ci_low, counted.ci_high) == pytest.approx(
        (clustered_proportion(y[each], task[each]).ci_low, clustered_proportion(y[each], task[each]).ci_high)
    )
    part = (y - np.average(y, weights=times)) / times.sum()
    for rare in (False, True):
        one, other = (
            clustered_variance(*of, prior=0.1, rare=rare, times=number)
            for of, number in (((part, task), times), ((part[each], task[each]), None))
        )
        assert (one.variance, one.degrees, one.lean.skewed) == pytest.approx(
            (other.variance, other.degrees, other.lean.skewed)
        )


def test_chance_is_counted_from_the_deals_themselves():
    """Two tasks of two items on two days: by chance all deals are as far apart with probability 1/2."""
    days, tasks = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    assert shared_by_chance([1, 0, 1, 0], days, tasks) == pytest.approx(0.5, abs=0.2)  # ends at the 20th, about deal 40
    assert shared_by_chance([1, 0, 0, 1], days, tasks) == 1
    assert shared_by_chance([1.0, 0, 1, math.nan], days, tasks, draws=9) == 1  # one day of a task of one item
    assert shared_by_chance([math.nan] * 4, days, tasks) == 1


@pytest.mark.parametrize("t", [0.5, 2.0, 9.0])
def test_the_t_of_a_lean_is_where_its_longer_side_ends(t):
    for lean in (Lean(), Lean(2.0, True, 0.1, 0.3), Lean(-2.0, False, 0.05)):
        assert lean.t_of(max(lean.quantiles(t))) == pytest.approx(t)


def test_large_numbers_of_tasks_are_names_like_others():
    np.testing.assert_array_equal(cluster_codes([0, 10**13, 0], 3), [0, 1, 0])
    np.testing.assert_array_equal(cluster_codes([0, 2, 2], 3), [0, 1, 1])


def test_what_days_share_is_measured_by_their_sizes():
    """Two small days apart to either side of a large one: 2 of 29,070 ways to deal the values are as far."""
    values, days = [2, 2, -2, -2] + 16 * [0], [0, 0, 1, 1] + 16 * [2]
    assert shared_by_chance(values, np.array(days), np.zeros(20, dtype=int)) < 0.005
    assert shared_by_chance(values, np.array([0, 1, 0, 1] + 16 * [2]), np.zeros(20, dtype=int)) > 0.9
