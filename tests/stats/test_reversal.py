"""The fewest changes that overturn a conclusion: against every subset, and as a bound where orders decide."""

from itertools import combinations

import numpy as np
import pytest

from axisjudge.checks import InputError
from axisjudge.stats.comparisons.ranking import fewest_changes, worst_orders
from axisjudge.stats.proportions import clustered_proportion


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
