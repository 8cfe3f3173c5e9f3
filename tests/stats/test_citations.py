"""Citations: existence, overlap beyond chance, distance."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axisjudge.checks import InputError
from axisjudge.stats.repeats import (
    chance_jaccard,
    citation_overlap,
    citation_validity,
    jaccard,
    same_verdict_other_evidence,
    step_distance,
)

STEPS = st.sets(st.integers(0, 12), min_size=1)


def test_the_published_citations():
    """The published run: both judges cite steps 19 and 22, steps 4, 6, 8, 15, 20, and step 15."""
    for steps in ([19, 22], [4, 6, 8, 15, 20], [15]):
        assert jaccard(steps, steps) == 1
        assert step_distance(steps, steps) == 0


@pytest.mark.parametrize(("n_first", "n_second", "n_steps"), [(1, 1, 4), (2, 3, 5), (4, 4, 6), (5, 2, 5), (0, 2, 5)])
def test_chance_is_the_mean_over_all_pairs_of_sets(n_first, n_second, n_steps):
    pairs = itertools.product(
        itertools.combinations(range(n_steps), n_first), itertools.combinations(range(n_steps), n_second)
    )
    assert chance_jaccard(n_first, n_second, n_steps) == pytest.approx(np.mean([jaccard(*pair) for pair in pairs]))


@given(STEPS, STEPS)
def test_overlap_and_distance_are_symmetric_and_bounded(first, second):
    assert jaccard(first, second) == jaccard(second, first)
    assert 0 <= jaccard(first, second) <= 1
    assert step_distance(first, second) == step_distance(second, first)
    assert (step_distance(first, second) == 0) == (first == second)


@given(st.integers(1, 20), st.integers(1, 20))
def test_chance_grows_with_what_is_cited(n_first, n_second):
    assert chance_jaccard(n_first, n_second, 20) <= chance_jaccard(min(20, n_first + 1), n_second, 20) + 1e-12
    assert chance_jaccard(20, 20, 20) == 1


def test_judges_that_cite_at_random_share_nothing_beyond_chance():
    rng = np.random.default_rng(1)
    first, second = ([rng.choice(15, size=4, replace=False).tolist() for _ in range(400)] for _ in range(2))
    found = citation_overlap(first, second, [15] * 400)
    assert found.overlap.estimate > 0.1  # which looks like something, and is chance
    assert found.excess.ci_low < 0 < found.excess.ci_high


def test_items_where_a_judge_cites_nothing_are_counted_apart():
    found = citation_overlap([[1], [2], [], [99]], [[1], [], [], [3]], [10, 10, 10, 10])
    assert (found.n_both, found.n_one, found.n_none) == (1, 2, 1)  # step 99 does not exist
    assert found.overlap.estimate == 1
    assert found.chance == pytest.approx(0.1)
    assert "too few" in found.excess.reason


def test_nothing_in_common_to_compare():
    found = citation_overlap([[]], [[]], [5])
    assert math.isnan(found.overlap.estimate)
    assert math.isnan(found.chance)


def test_validity_counts_citations_and_groups_them_by_item():
    cited = [[0, 1, 2, 50]] * 12
    invalid = [[50]] * 12
    found = citation_validity(cited, invalid)
    assert found.estimate == 0.75
    assert (found.n_items, found.n_clusters) == (48, 12)
    undefined = citation_validity([[]], [[]])
    assert "no value" in undefined.reason
    assert math.isnan(undefined.estimate)


def test_agreement_on_the_verdict_without_agreement_on_the_evidence_is_listed():
    verdicts = ["incorrect", "incorrect", "correct", None, "incorrect"]
    others = ["incorrect", "incorrect", "incorrect", None, "incorrect"]
    first, second = [[1], [1], [1], [1], []], [[1], [7], [9], [9], [2]]
    assert same_verdict_other_evidence(verdicts, others, first, second) == [1]


def test_lengths_must_match():
    with pytest.raises(InputError, match="second: needs one entry for each of the 2 items"):
        citation_overlap([[1], [2]], [[1]], [4, 4])
    with pytest.raises(InputError, match="between 0 and the 3 steps"):
        chance_jaccard(4, 1, 3)


def test_steps_are_counted_from_0_and_distances_taken_both_ways():
    """Of ten steps 0 and 9 exist and 10 does not; 1 and 5 lie 1 and 3 from 2, which lies 1 from them."""
    found = citation_overlap([[0], [9], [1, 5]], [[0], [10], [2]], [10, 10, 10])
    assert (found.n_both, found.n_one, found.n_none) == (2, 1, 0)
    assert found.distance.estimate == pytest.approx((0 + (2 + 1) / 2) / 2)
