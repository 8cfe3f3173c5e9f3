"""Rank sets: exact small cases, invariances, refusals and joint coverage by simulation."""

import math
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import norm, ttest_rel, wilcoxon
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests

from axisjudge.checks import InputError
from axisjudge.stats.comparisons.paired import holm, paired_sign_flip, sign_flips
from axisjudge.stats.comparisons.ranking import (
    RankSets,
    _all_alike,
    _not_first,
    count_contrast,
    expected_maximum,
    fewest_changes,
    optimism_bound,
    optimism_of_one,
    pooled_by_cluster,
    rank_sets,
    standard_error,
    worst_orders,
)
from axisjudge.stats.proportions import clustered_proportion


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def failures(
    source: np.random.Generator, tasks: int, rates: list[float], *, runs: int = 1, icc: float = 0.3
) -> NDArray[np.float64]:
    """Failure rates per task and alternative: a probit model with a task effect common to all alternatives."""
    task = source.normal(size=(tasks, 1, 1)) * np.sqrt(icc)
    run = source.normal(size=(tasks, len(rates), runs)) * np.sqrt(1 - icc)
    failed: NDArray[np.float64] = ((task + run) < norm.ppf(rates)[None, :, None]).mean(axis=2)
    return failed


def covers(sets: RankSets, rates: list[float]) -> bool:
    """Whether every set holds all ranks that the true rates allow (tied rates share a range of ranks)."""
    true = np.array(rates)
    low = 1 + (true[None, :] > true[:, None]).sum(axis=1)
    high = len(true) - (true[None, :] < true[:, None]).sum(axis=1)
    return bool(((sets.rank_low <= low) & (sets.rank_high >= high)).all())


def test_sign_flip_agrees_with_the_signed_rank_test_when_all_sizes_are_equal() -> None:
    """With differences of one size the sign flip and scipy's exact signed-rank test are the same sign test."""
    differences = np.array([1.0] * 9 + [-1.0] * 2)
    p_value, error = paired_sign_flip(differences, rng=rng())
    assert error == 0
    assert p_value == pytest.approx(2 * binomial_tail(2, 11))
    assert wilcoxon([1.0, 2, 3, 4, 5], method="exact").pvalue == paired_sign_flip([1, 2, 3, 4, 5], rng=rng())[0]


def binomial_tail(k: int, n: int) -> float:
    return sum(comb(n, j) for j in range(k + 1)) / 2**n


def test_five_tasks_cannot_show_a_difference() -> None:
    """The most extreme paired outcome of 0 against 2 failures in 5 tasks."""
    assert paired_sign_flip([1, 1, 0, 0, 0], rng=rng()) == (0.5, 0.0)


def test_no_contrast_of_two_or_fewer_of_five_is_below_p_44() -> None:
    """The project's definitions on the published table (5 tasks an agent)."""
    smallest = min(count_contrast(a, b, 5) for a in range(3) for b in range(3))
    assert smallest == pytest.approx(2 * comb(5, 2) / comb(10, 2))  # 0 against 2: .444
    with pytest.raises(InputError, match="between 0 and n = 5"):
        count_contrast(0, 6, 5)


def test_a_lead_that_varies_in_one_task_alone_is_as_unsure_as_resamples_without_that_task() -> None:
    values = np.zeros((30, 2))
    values[1:, 0] = 0.5
    assert rank_sets(values, rng=rng()).p_values[0, 1] == pytest.approx((29 / 30) ** 30, abs=0.03)


def test_no_difference_at_all_gives_p_one() -> None:
    assert paired_sign_flip([0, 0, np.nan], rng=rng()) == (1.0, 0.0)


def test_monte_carlo_p_value_lies_within_its_error_of_the_exact_one() -> None:
    differences = rng().normal(0.4, 1, size=12)
    exact, _ = paired_sign_flip(differences, rng=rng())
    flips, enumerated = sign_flips(12, rng(), draws=4_000)
    assert not enumerated
    drawn = (np.abs(flips @ differences) >= abs(differences.sum())).mean()
    assert drawn == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 4_000))


def test_two_alternatives_give_the_one_sided_sign_flip() -> None:
    """Step-down maxima over one pair in both directions are the two-sided test of that pair."""
    table = np.array([[1.0, 0.0]] * 8 + [[0.0, 1.0]] * 2 + [[1.0, 1.0]] * 4)
    expected, _ = paired_sign_flip(table[:, 0] - table[:, 1], rng=rng())
    assert rank_sets(table, rng=rng()).p_values[0, 1] == pytest.approx(expected)


def test_a_clear_loser_is_told_apart_and_the_rest_are_not() -> None:
    table = np.zeros((14, 3))
    table[:12, 0] = 1
    table[[1, 5], 1] = table[[2, 7], 2] = 1
    sets = rank_sets(table, rng=rng())
    assert sets.rank_low.tolist() == [1, 2, 2]
    assert sets.rank_high.tolist() == [1, 3, 3]
    assert sets.first == (0,)
    assert not sets.tied


@given(st.permutations(range(4)), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_order_of_alternatives_and_of_tasks_does_not_matter(order: list[int], seed: int) -> None:
    table = failures(np.random.default_rng(seed), 12, [0.1, 0.2, 0.5, 0.8])
    base = rank_sets(table, rng=rng())
    moved = rank_sets(table[::-1][:, order], rng=rng())
    assert moved.rank_low.tolist() == base.rank_low[order].tolist()
    assert moved.rank_high.tolist() == base.rank_high[order].tolist()


def test_too_few_tasks_are_refused_with_a_reason_and_no_p_value() -> None:
    sets = rank_sets(np.tile([1.0, 0.0, 0.0], (9, 1)), rng=rng())
    assert sets.tied
    assert np.isnan(sets.p_values).all()
    assert sets.refusal == "9 clusters; a ranking needs at least 10"


def test_missing_cells_are_counted_and_say_nothing() -> None:
    table = failures(rng(), 14, [0.1, 0.9, 0.5])
    table[0, 1] = np.nan
    empty = np.vstack([table, np.full((2, 3), np.nan)])
    assert rank_sets(table, rng=rng()).n_missing == 1
    assert rank_sets(empty, rng=rng()).n_clusters == 14
    assert rank_sets(empty, rng=rng()).rank_low.tolist() == rank_sets(table, rng=rng()).rank_low.tolist()


def test_a_table_without_alternatives_is_refused() -> None:
    with pytest.raises(InputError, match="clusters x alternatives"):
        rank_sets(np.zeros((12, 0)), rng=rng())


def test_one_alternative_is_not_ranked_and_it_is_said() -> None:
    sets = rank_sets(np.ones((12, 1)), rng=rng())
    assert sets.refusal == "one alternative has nothing to be ranked against"
    assert sets.rank_high.tolist() == [1]


FAST = [(12, [0.3] * 4, 1), (24, [0.05, 0.1, 0.2, 0.4], 4)]
GRID = [
    (tasks, rates, runs)
    for tasks in (10, 24, 50, 100)
    for rates in ([0.05] * 4, [0.3] * 5, [0.1, 0.1, 0.3, 0.3], [0.05, 0.05, 0.05, 0.05, 0.5])
    for runs in (1, 4)
]


@pytest.mark.parametrize(("tasks", "rates", "runs"), FAST)
@pytest.mark.slow
def test_all_rank_sets_cover_together(tasks: int, rates: list[float], runs: int) -> None:
    """Monte Carlo error of 400 replicates at .95 is .011."""
    source = rng()
    hits = [covers(rank_sets(failures(source, tasks, rates, runs=runs), rng=source), rates) for _ in range(400)]
    assert np.mean(hits) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "rates", "runs"), GRID)
def test_all_rank_sets_cover_together_full_grid(tasks: int, rates: list[float], runs: int) -> None:
    """Monte Carlo error of 1,000 replicates at .95 is .007; the rule asks for .93 at least everywhere."""
    source = rng()
    hits = [covers(rank_sets(failures(source, tasks, rates, runs=runs), rng=source), rates) for _ in range(1_000)]
    assert np.mean(hits) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("p_values", [[0.02], [0.01, 0.04, 0.03], [0.5, 0.01, 0.01, 1.0], [0.0, 0.2, 0.04, 0.04, 0.9]])
def test_holm_is_that_of_statsmodels(p_values):
    """Held against statsmodels; its import takes longer than the pages that need the six lines."""
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def unequal_runs(source: np.random.Generator, tasks: int, rate: float, runs: list[int | None]) -> NDArray[np.float64]:
    """Equal failure rates of means over different numbers of runs; None fails by whole tasks of its own."""
    shared = source.standard_normal(tasks)
    columns = []
    for many in runs:
        own = source.standard_normal((tasks, many or 1))
        latent = own if many is None else np.sqrt(0.3) * shared[:, None] + np.sqrt(0.7) * own
        columns.append((latent < norm.ppf(rate)).mean(axis=1))
    return np.column_stack(columns)


UNEQUAL = [
    (24, 0.05, [1, 1, 1, 8]),
    pytest.param(50, 0.15, [1, 1, 1, 8], marks=pytest.mark.slow),
    pytest.param(24, 0.15, [4, 4, 4, None], marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "rate", "runs"), UNEQUAL)
def test_equal_alternatives_of_unequal_runs_are_rarely_told_apart(tasks, rate, runs) -> None:
    """At most .07, so that all sets cover in .93; 100 replicates have a Monte Carlo error of .026."""
    source = rng()
    apart = [not rank_sets(unequal_runs(source, tasks, rate, runs), rng=source).tied for _ in range(100)]
    assert np.mean(apart) <= 0.07 + 2 * 0.026


@pytest.mark.slow
@pytest.mark.parametrize("runs", [[1, 1, 1, 8], [1, 2, 4, 16], [4, 4, 4, None]])
@pytest.mark.parametrize("rate", [0.05, 0.15, 0.3, 0.5])
@pytest.mark.parametrize("tasks", [10, 24, 50])
def test_equal_alternatives_of_unequal_runs_over_the_grid(tasks, rate, runs) -> None:
    source = rng()
    apart = [not rank_sets(unequal_runs(source, tasks, rate, runs), rng=source).tied for _ in range(500)]
    assert np.mean(apart) <= 0.07 + 2 * 0.0114


def shared_first(source: np.random.Generator, tasks: int) -> NDArray[np.float64]:
    """Five axes of which two share the first place, with effects of tasks on each."""
    level = ndtri(np.array([0.1, 0.15, 0.2, 0.45, 0.45]))
    shared = 0.5 * source.standard_normal((tasks, 1, 1)) + 0.5 * source.standard_normal((tasks, 4, 1))
    own = 0.5 * source.standard_normal((tasks, 1, 5)) + 0.5 * source.standard_normal((tasks, 4, 5))
    return (shared + own < level).astype(float).mean(axis=1)


def test_few_common_clusters_or_a_lead_of_nought_call_nobody_first() -> None:
    values = np.column_stack([np.ones(12), np.arange(12) % 2])
    assert _not_first(values, 0) < 0.05
    few = np.where(np.arange(12)[:, None] < 9, values, [1.0, np.nan])
    assert (_not_first(few, 0), _all_alike(few, rng())) == (1.0, 1.0)
    assert _not_first(np.ones((12, 2)), 0) == 1.0


@pytest.mark.parametrize("tasks", [12, 40])
def test_of_two_that_share_the_first_place_one_is_seldom_called_first(tasks: int) -> None:
    source = rng()
    tables = (shared_first(source, tasks) for _ in range(1000))
    called = [_not_first(table, int(table.mean(axis=0).argmax())) <= 0.05 for table in tables]
    assert np.mean(called) < 0.05 + 3 * 0.007


def test_the_first_is_called_where_best_against_each_paired_t_does() -> None:
    table = shared_first(rng(), 40)
    table[:, 4] = np.minimum(1.0, table[:, 4] + 0.3)
    sets = rank_sets(table, rng=rng())
    rivals = [ttest_rel(table[:, 4], table[:, k]).pvalue for k in range(4)]
    assert sets.first == (4,)
    assert sets.first_p == pytest.approx(max(rivals))


def test_few_differing_clusters_never_show_a_first() -> None:
    table = np.zeros((30, 3))
    table[:5, 0] = 1.0  # 5 against 0: 2 ^ -4 at the least
    sets = rank_sets(table, rng=rng())
    assert sets.first_p == 2.0**-4
    assert sets.tied


def test_that_some_differ_is_said_where_none_is_first() -> None:
    table = np.column_stack([shared_first(rng(), 60)[:, 3:], shared_first(np.random.default_rng(5), 60)[:, :2]])
    sets = rank_sets(table, rng=rng())
    assert sets.differ
    assert sets.alike_p < 0.01
    assert len(sets.first) > 1


def test_values_of_clusters_have_the_mean_of_all_items() -> None:
    counts = np.array([[1, 4], [9, 4], [0, 4]])
    values = pooled_by_cluster([[1, 1], [2, 0], [0, 1]], counts)
    assert np.nanmean(values, axis=0) == pytest.approx([3 / 10, 2 / 12])
    assert np.isnan(values[2, 0])
    one_each = np.array([[1, 0], [0, 0], [1, 1]])
    assert pooled_by_cluster(one_each, np.ones_like(one_each)).tolist() == one_each.tolist(), "exact for one run each"


# The fewest changes that overturn a conclusion: against every subset, and as a bound where orders decide.


def above_half(hits, clusters=None):
    """Whether the lower end of the share of hits lies above one half after some hits became misses."""

    def holds(changed):
        now = hits.copy()
        now[changed] = 0.0
        return bool(clustered_proportion(now, clusters).ci_low > 0.5)

    return holds


def by_every_subset(holds, candidates):
    for size in range(len(candidates) + 1):
        if any(not holds(np.array(some, dtype=np.intp)) for some in combinations(candidates, size)):
            return size
    return None


@pytest.mark.parametrize("n_hits", [11, 12, 13])
def test_of_independent_items_the_number_is_that_of_every_subset(n_hits):
    hits = np.array([1.0] * n_hits + [0.0] * (13 - n_hits))
    found = fewest_changes(above_half(hits), [range(n_hits)], exact=True)
    assert (found.changes, found.exact) == (by_every_subset(above_half(hits), range(n_hits)), True)


def test_of_clustered_items_it_is_a_bound_and_a_close_one():
    rng = np.random.default_rng(2)
    for _ in range(3):
        hits, task = (rng.random(15) < 0.95).astype(float), np.sort(rng.integers(0, 7, 15))
        holds, candidates = above_half(hits, task), np.flatnonzero(hits)
        if not holds(np.array([], dtype=np.intp)):
            continue
        least = by_every_subset(holds, candidates.tolist())
        found = fewest_changes(holds, worst_orders(candidates, task), exact=False)
        assert least <= found.changes <= least + 1
        assert not holds(worst_orders(candidates, task)[0][: found.changes]) or not holds(
            worst_orders(candidates, task)[1][: found.changes]
        )


def test_orders_change_each_candidate_once():
    together, spread = worst_orders([1, 2, 3, 5, 7], [0, 0, 1, 1, 1, 1, 1, 2])
    assert together.tolist() == [2, 3, 5, 1, 7]
    assert spread.tolist() == [1, 2, 7, 3, 5]


def test_what_no_change_overturns_and_what_does_not_hold():
    assert fewest_changes(lambda changed: True, [range(9)], exact=True).changes is None
    assert fewest_changes(lambda changed: len(changed) < 1, [range(0), range(4)], exact=False).exact  # one is the least
    with pytest.raises(InputError, match="as it stands"):
        fewest_changes(lambda changed: False, [range(3)], exact=True)


# The optimism of the best of several looks: published order statistics, the definition's own figures, simulation.


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


# Small cases counted out, and what each property says at its limit.


@pytest.mark.parametrize(
    ("first_p", "alike_p", "tied", "differ", "first"),
    [(0.05, 0.5, False, True, (1,)), (0.06, 0.05, True, True, (0, 1, 2)), (0.06, 0.06, True, False, (0, 1, 2))],
)
def test_what_ranks_that_nobody_is_parted_by_still_say(first_p, alike_p, tied, differ, first):
    sets = RankSets(
        np.array([0.2, 0.6, 0.4]),
        np.ones(3),
        np.full(3, 3),
        np.ones((3, 3)),
        0.95,
        20,
        0,
        "",
        0.0,
        "",
        first_p,
        alike_p,
    )
    assert (sets.tied, sets.differ, sets.first, sets.order.tolist()) == (tied, differ, first, [1, 2, 0])
    parted = RankSets(sets.means, np.array([2, 1, 1]), np.full(3, 3), sets.p_values, 0.95, 20, 0, "", 0.0)
    assert (parted.tied, parted.differ, parted.first) == (False, True, (1, 2))


def test_rivals_lend_each_other_half_of_their_variance_and_one_far_below_none():
    """Of one rival given twice the variance stays and the degrees are half as many again; of two by hand."""
    source, n = rng(), 24
    top, rival, other = (source.random(n) + lift for lift in (0.25, 0.0, 0.1))
    lead, less = top - rival, top - other
    t_of = [each.mean() / math.sqrt(each.var(ddof=1) / n) for each in (lead, less)]
    twice = _not_first(np.column_stack([top, rival, rival]), 0)
    assert twice == pytest.approx(2 * student.sf(t_of[0], 1.5 * (n - 1)))
    with_far = _not_first(np.column_stack([top, rival, rival - 100]), 0)
    assert with_far == pytest.approx(2 * student.sf(t_of[0], n - 1))
    variances = [each.var(ddof=1) for each in (lead, less)]
    joined = [(each + np.mean(variances)) / 2 for each in variances]
    both = [
        2 * student.sf(each.mean() / math.sqrt(v / n), 1.5 * (n - 1))
        for each, v in zip((lead, less), joined, strict=True)
    ]
    assert _not_first(np.column_stack([top, rival, other]), 0) == pytest.approx(max(both))
    assert _not_first(np.column_stack([rival, top]), 0) == 1.0  # it does not lead


def counted_out(statistic, table):
    """The share of all sign patterns of clusters whose statistic is as large as that of the clusters as they are."""
    flipped = [statistic(np.array(signs)[:, None] * table) for signs in product((1, -1), repeat=len(table))]
    return np.mean(np.array(flipped) >= statistic(table) - 1e-9)


def test_small_tables_have_the_p_values_of_all_sign_patterns():
    table = (rng().random((10, 3)) < [0.2, 0.5, 0.9]).astype(float)
    deviations = table - table.mean(axis=1, keepdims=True)
    alike = counted_out(lambda each: (each.sum(axis=0) ** 2).sum(), deviations)
    sets = rank_sets(table, rng=rng())
    assert (sets.alike_p, sets.monte_carlo_error) == (pytest.approx(alike), 0)
    pairs = [(j, k) for j in range(3) for k in range(3) if j != k]
    gaps = np.stack([table[:, j] - table[:, k] for j, k in pairs], axis=1)
    z = gaps.sum(axis=0) / np.sqrt((gaps**2).sum(axis=0))
    left, largest = sorted(range(6), key=lambda at: -z[at]), 0.0
    for step, at in enumerate(left):  # the maximum over the pairs still in play, never below that of a larger one
        own = gaps[:, left[step:]] / np.sqrt((gaps[:, left[step:]] ** 2).sum(axis=0))
        flipped = [(np.array(signs) @ own).max() for signs in product((1, -1), repeat=10)]
        largest = max(largest, np.mean(np.array(flipped) >= z[at] - 1e-9))
        assert sets.p_values[pairs[at]] == pytest.approx(largest), pairs[at]
    many = rank_sets(np.tile(table, (2, 1)), rng=rng())
    assert many.monte_carlo_error == pytest.approx(math.sqrt(0.05 * 0.95 / 9999))
    of_means = rank_sets(table + rng().random(table.shape), rng=rng())
    assert of_means.monte_carlo_error == pytest.approx(math.sqrt(0.05 * 0.95 / 1999))  # of the bootstrap-t beside them


def test_the_fewest_changes_are_found_wherever_they_lie():
    for n, falls_at in product(range(1, 18), repeat=2):
        found = fewest_changes(lambda changed, at=falls_at: len(changed) < at, [range(n)], exact=True)
        assert (found.changes, found.n_candidates) == (falls_at if falls_at <= n else None, n)


def test_a_standard_error_by_hand():
    """Mean .75, residuals of the two tasks -.5 and .5: sqrt(2 / 1 x .5) / 4."""
    assert standard_error([1, 0, 1, 1, np.nan], ["a", "a", "b", "b", "a"]) == pytest.approx(0.25)
